"""Packing, with a progress bar."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from . import _penstock
from ._progress import Bar


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
    bar = Bar("packing") if progress is True else None
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
