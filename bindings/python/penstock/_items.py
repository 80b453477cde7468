"""Packs the samples of a source one by one. penstock.pack does so for all sources that are not files."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from ._error import Error, made
from ._progress import Bar
from ._writer import Writer
from .sources import ItemError, Source

_MOST_TOLD = 1000


def pack_items(
    source: Source,
    destination: str | os.PathLike[str],
    *,
    progress: bool | Callable[[int, int, int], object],
    quality: int,
    **options: Any,
) -> dict[str, Any]:
    """`options` are those of _penstock.PackOptions. Its classes are names that class numbers must follow."""
    classes = options["classes"]
    failures = _Failures(options["on_error"] == "skip")
    bar = Bar("gathering") if progress is True else None
    tell: Callable[[int, int, int], object] = bar or (progress if callable(progress) else _tell_nobody)
    options["classes"] = classes if source.classes else []
    with Writer._made(destination, options, source.classes or classes, quality, progress) as writer:
        try:
            written = _gather(source, writer, failures, tell)
        finally:
            if bar is not None:
                bar.end()
        if written == 0:
            left_out = f", {failures.count} were left out" if failures.count else ""
            raise made(
                "invalid_argument", f"nothing to pack: the source gave no samples{left_out}", dataset=source.name
            )
        result = writer.finish()
    result["skipped"] += failures.count
    result["bad"] = (failures.first + result["bad"])[:_MOST_TOLD]
    return result


class _Failures:
    """Skipped items: their number, and the first of them."""

    def __init__(self, skip: bool) -> None:
        self._skip = skip
        self.count = 0
        self.first: list[dict[str, Any]] = []

    def take(self, error: Error, number: int) -> bool:
        """Records a skipped item. Returns False if the error must be raised: a duplicate key, or a key that no format
        can hold, is a fault of the whole source and is never skipped."""
        of_one_item = isinstance(error, ItemError) or (bool(error.field) and error.kind != "io")
        if not self._skip or not of_one_item:
            return False
        self.count += 1
        if len(self.first) < _MOST_TOLD:
            told = {"key": error.key, "field": error.field, "cause": error.cause, "sample": number, "epoch": 0}
            self.first.append(told)
        return True


def _tell_nobody(samples: int, total: int, nbytes: int) -> None:
    pass


def _gather(source: Source, writer: Writer, failures: _Failures, tell: Callable[[int, int, int], object]) -> int:
    """Adds all samples, and returns their number."""
    total, written = _length(source), 0
    items = iter(source)
    number = 0
    while True:
        try:
            try:
                sample = next(items)
            except StopIteration:
                return written
            writer.write(sample)
            written += 1
        except Error as error:
            if not failures.take(error, number):
                raise
        number += 1
        tell(number, total, writer.bytes)


def _length(source: Source) -> int:
    try:
        return len(source)
    except TypeError:
        return 0
