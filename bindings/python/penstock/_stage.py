"""Copies a dataset to node-local storage, and shows the progress."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from . import _penstock
from ._progress import Bar
from ._words import keywords_in_words, worded

_stage = worded("penstock.stage", _penstock.stage)


@keywords_in_words
def stage(
    source: str | os.PathLike[str] | _penstock.Dataset,
    destination: str | os.PathLike[str],
    *,
    workers: int = 0,
    engine: str = "auto",
    overwrite: bool = False,
    verify: bool | None = None,
    within: float | None = None,
    progress: bool | Callable[[int, int, int], object] = True,
) -> dict[str, Any]:
    """Copies a dataset or a folder of files to the node's own storage, as `penstock stage` does.

        local = ps.stage("/shared/train.tar.d", "/local/train.tar.d")["opens"]
        loader = ps.Loader(local, ...)

    All ranks of a node may call it: one copies, the others wait. The copy has indexes and sidecars, so that it opens at
    once, and appears when it is complete. The next call continues an interrupted one: it keeps complete files with the
    right size and CRC-32C. If a complete copy is staged again, files whose source did not change are kept.

    A dataset of one file becomes the file `destination`, or a file in it if that is a folder. Every other dataset
    becomes the folder `destination`.

    workers: threads that write and check. 0: usable cores, at most 8.
    engine: the read engine, "auto", "io_uring", "pread", "inline" or "mmap".
    overwrite: copies everything again, and replaces the destination.
    verify: True reads each copy again and compares its CRC-32C. None does so for files without a checksum in
      penstock.json. False compares nothing.
    within: time limit in seconds. Files that are not copied in time become symbolic links to the source, so a loader
      reads them from there. The next call copies them. Not for stores.
    progress: True for a bar on stderr, or a function of (bytes, total bytes, bytes copied so far).

    Returns {"opens": the path to open, "files", "bytes", "kept_files", "kept_bytes", "linked_files", "linked_bytes",
    "seconds", "mb_per_s", "engine", "engine_reason"}. `engine` is None if nothing was read. Raises Error: io, with file
    and offset (a full disk); corrupt, with shard, key, field and offset if they are known.
    """
    bar = Bar("staging", unit="bytes") if progress is True else None
    try:
        return _stage(
            source,
            destination,
            workers=workers,
            engine=engine,
            overwrite=overwrite,
            verify=verify,
            within=within,
            progress=bar or progress or None,
        )
    finally:
        if bar is not None:
            bar.end()
