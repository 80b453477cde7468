"""Packing the samples of a source, one by one: what penstock.pack does for everything that is not files."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from ._error import Error, made
from ._progress import Bar
from ._writer import Writer
from .sources import ItemError, Source


def pack_items(
    source: Source,
    destination: str | os.PathLike[str],
    *,
    classes: Sequence[str],
    on_error: str,
    progress: bool | Callable[[int, int, int], object],
    quality: int,
    **options: Any,
) -> dict[str, Any]:
    """`classes` are names that class numbers must follow, as for penstock.pack."""
    if on_error not in ("raise", "skip"):
        raise made("invalid_argument", f'on_error is "raise" or "skip", not "{on_error}"')
    follow = list(classes) if source.classes else []
    bad: list[dict[str, Any]] = []
    bar = Bar("gathering") if progress is True else None
    tell: Callable[[int, int, int], object] = bar or (progress if callable(progress) else _tell_nobody)
    with Writer(
        destination,
        classes=source.classes or classes,
        follow_classes=follow,
        on_error=on_error,
        quality=quality,
        progress=progress,
        **options,
    ) as writer:
        try:
            _gather(source, writer, bad if on_error == "skip" else None, tell)
        finally:
            if bar is not None:
                bar.end()
        result = writer.finish()
    result["skipped"] += len(bad)
    result["bad"] = bad + result["bad"]
    return result


def _tell_nobody(samples: int, total: int, nbytes: int) -> None:
    pass


def _gather(
    source: Source, writer: Writer, bad: list[dict[str, Any]] | None, tell: Callable[[int, int, int], object]
) -> None:
    """Adds all samples; those that fail are told in `bad`, or raise where that is None."""
    total = _length(source)
    items = iter(source)
    number = -1
    while True:
        number += 1
        try:
            try:
                sample = next(items)
            except StopIteration:
                return
            writer.write(sample)
        except Error as error:
            if bad is None or not _of_one_item(error):
                raise
            bad.append({"key": error.key, "field": error.field, "cause": error.cause, "sample": number, "epoch": 0})
        tell(number + 1, total, writer.bytes)


def _length(source: Source) -> int:
    try:
        return len(source)
    except TypeError:
        return 0


def _of_one_item(error: Error) -> bool:
    """A key that comes twice, or that no format can hold, is a fault of the whole source and never left out."""
    return isinstance(error, ItemError) or (bool(error.field) and error.kind != "io")
