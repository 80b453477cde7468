"""Copies a dataset to node-local storage, with a progress bar."""

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
    progress: bool | Callable[[int, int, int], object] = True,
) -> dict[str, Any]:
    """Copies a dataset of any packing, or a folder of files, to storage of the node's own; what `penstock stage` does.

        local = ps.stage("/shared/train.tar.d", "/local/train.tar.d")["opens"]
        loader = ps.Loader(local, ...)

    All ranks of a node may call it: one copies, the others wait and find it done. The copy comes with indexes and
    sidecars, so that it opens at once, and appears when it is complete. What a failure, a kill or Ctrl-C interrupts is
    continued by the next call: files that are staged already, with the right size and CRC-32C, are kept; so are the
    files whose source did not change, when a complete copy is staged again.

    A dataset of one file becomes the file `destination`, or a file of its name where that is a folder; every other one
    the folder `destination`. overwrite: copies everything anew, and replaces what was staged there.

    workers: threads that check and write; 0: usable cores, 8 at most. engine: what reads the source: "auto" (io_uring,
    and pread threads where it cannot be had), "io_uring", "pread", "direct" or "gather". verify: True reads every copy
    again from the disk and compares its CRC-32C; None only those whose checksum penstock.json does not have; False
    compares nothing. progress: True for a bar on stderr, or a function of (bytes, total bytes, bytes copied by now).

    Returns {"opens": the path to open, "files", "bytes", "kept_files", "kept_bytes", "seconds", "mb_per_s", "engine",
    "engine_reason"}; engine is None where nothing had to be read. Raises Error: io, with file and offset (a full disk);
    corrupt, with shard, key, field and offset where they are known.
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
            progress=bar or progress or None,
        )
    finally:
        if bar is not None:
            bar.end()
