"""Packing, with a progress bar."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from . import _penstock


class _Bar:
    """A bar on a terminal, now and then a plain line otherwise; both on stderr."""

    def __init__(self) -> None:
        self._terminal = sys.stderr.isatty()
        self._began = self._shown = time.monotonic()
        self._drawn = False

    def __call__(self, samples: int, total: int, nbytes: int) -> None:
        now = time.monotonic()
        last = samples >= total
        if now - self._shown < (0.1 if self._terminal else 5.0) and not (last and (self._drawn or self._terminal)):
            return
        self._shown = now
        seconds = max(now - self._began, 1e-3)
        share = samples / max(total, 1)
        text = f"packing  {samples:,}/{total:,} samples  {share:.0%}  {nbytes / seconds / 1e6:,.0f} MB/s"
        if not last and samples:
            text += f"  {seconds * (total - samples) / samples:,.0f} s left"
        if self._terminal:
            full = int(30 * share)
            print(f"\r[{'=' * full}{' ' * (30 - full)}] {text}\x1b[K", end="", file=sys.stderr, flush=True)
            self._drawn = True
        else:
            print(f"penstock: {text}", file=sys.stderr)

    def end(self) -> None:
        if self._drawn:
            print(file=sys.stderr)


def pack(
    source: str | os.PathLike[str] | _penstock.Dataset,
    destination: str | os.PathLike[str],
    *,
    format: str,
    shard_size: int = 256 << 20,
    align: int = 1,
    labels: str = "",
    classes: Sequence[str] = (),
    workers: int = 0,
    on_error: str = "raise",
    overwrite: bool = False,
    resume: bool = False,
    progress: bool | Callable[[int, int, int], object] = True,
) -> dict[str, Any]:
    """Packs a dataset of any packing, or a folder of files, into shards; samples in bytewise order of their keys.

    The bytes written depend on the source and the options alone. `destination` appears once it is complete; what a
    failure or Ctrl-C interrupts is continued by `resume=True`, after the last whole shard.

    format: "tar", "lmdb" or "hdf5". labels: "FILE" or "FILE:COLUMN" (csv, txt, json) with labels kept apart.
    classes: names that class numbers must follow. align: where samples begin (tar; 4096 suits O_DIRECT).
    on_error: "raise", or "skip" to leave out samples that cannot be read. progress: True for a bar on stderr, or a
    function of (samples, total, bytes).

    Returns {"samples", "bytes", "skipped", "resumed", "bad": [...]}. Raises Error.
    """
    bar = _Bar() if progress is True else None
    try:
        return _penstock.pack(
            source,
            destination,
            format=format,
            shard_size=shard_size,
            align=align,
            labels=labels,
            classes=list(classes),
            workers=workers,
            on_error=on_error,
            overwrite=overwrite,
            resume=resume,
            progress=bar or progress or None,
        )
    finally:
        if bar is not None:
            bar.end()
