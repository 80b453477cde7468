"""Packing, with a progress bar."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from . import _penstock
from ._error import made
from ._items import pack_items
from ._progress import Bar
from .sources import choose


def pack(
    source: str | os.PathLike[str] | _penstock.Dataset | Iterable[Any],
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
    fields: Sequence[str] | Mapping[str, str] | None = None,
    quality: int = 95,
    spool: str | os.PathLike[str] | None = None,
) -> dict[str, Any]:
    """Packs a dataset of any packing, a folder of files, or any other source of samples, into shards; samples in
    bytewise order of their keys.

    Other sources are iterables of dicts (values as penstock.encode takes them; the key is `"__key__"`, else a running
    number of 12 digits) or of tuples, datasets of torch and of Hugging Face, Parquet files and folders of them, also
    Petastorm's, and CSV files of paths and labels; see penstock.sources. fields names the parts of tuples ("jpg", "cls"),
    or says which column is which field {"image": "jpg"}. Their samples are gathered in the folder `spool` first (see
    penstock.Writer), and nothing is left of an interrupted run, so there is nothing to resume; progress is told for both
    halves. quality: of images that are encoded as jpg or webp.

    The bytes written depend on the source and the options alone. `destination` appears once it is complete; what a
    failure or Ctrl-C interrupts is continued by `resume=True`, after the last whole shard.

    format: "tar", "lmdb" or "hdf5". labels: "FILE" or "FILE:COLUMN" (csv, txt, json) with labels kept apart.
    classes: names that class numbers must follow. align: where samples begin (tar; 4096 suits O_DIRECT).
    on_error: "raise", or "skip" to leave out samples that cannot be read (what a generator raises ends it, and is raised
    in any case; so is a key that comes twice). progress: True for a bar on stderr, or a
    function of (samples, total, bytes).

    Returns {"samples", "bytes", "skipped", "resumed", "bad": [...]}. Raises Error.
    """
    items = choose(source, fields, classes)
    if items is not None:
        if resume:
            raise made(
                "invalid_argument", "only what is packed from files can be resumed", dataset=os.fspath(destination)
            )
        return pack_items(
            items,
            destination,
            format=format,
            shard_size=shard_size,
            align=align,
            labels=labels,
            classes=list(classes),
            workers=workers,
            on_error=on_error,
            overwrite=overwrite,
            progress=progress,
            quality=quality,
            spool=spool,
        )
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
