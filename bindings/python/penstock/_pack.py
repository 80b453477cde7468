"""Packs datasets, and shows the progress."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from . import _penstock
from ._error import made
from ._items import pack_items
from ._packing import packing_options, with_options
from ._progress import Bar
from ._words import keywords_in_words, worded
from .sources import choose

_PackOptions = worded("penstock.pack", _penstock.PackOptions)
_pack = worded("penstock.pack", _penstock.pack)
_finish_pack = worded("penstock.finish_pack", _penstock.finish_pack)


@keywords_in_words
@with_options("pack")
def pack(
    source: str | os.PathLike[str] | _penstock.Dataset | Iterable[Any],
    destination: str | os.PathLike[str],
    *,
    format: str = "tar",
    shard_size: int | str = 256 << 20,
    align: int | str = 1,
    labels: str = "",
    classes: Sequence[str] = (),
    jpeg: str = "keep",
    max_side: int = 0,
    decode: int | str | bool | None = None,
    presample: str = "",
    point_order: str = "keep",
    point_attributes: str = "none",
    workers: int = 0,
    on_error: str = "raise",
    overwrite: bool = False,
    resume: bool = False,
    report: str | os.PathLike[str] = "",
    rank: int | str | None = None,
    world: int | None = None,
    progress: bool | Callable[[int, int, int], object] = True,
    fields: Sequence[str] | Mapping[str, str] | None = None,
    quality: int = 95,
    temp_dir: str | os.PathLike[str] | None = None,
) -> dict[str, Any]:
    """Converts a dataset, a folder of files, or samples from another source to shards.

    Samples are in bytewise order of their keys. The bytes written depend only on the source and the options.
    `destination` appears once it is complete. `resume=True` continues an interrupted run after its last complete shard.

    Other sources are iterables of dicts or tuples, datasets of torch and of Hugging Face, and Parquet files and folders
    (also Petastorm's); see penstock.sources. In a dict, values are as penstock.encode takes them. The key is
    `"__key__"`, by default a running number of 12 digits. Other sources cannot be resumed or packed by several ranks.
    If an iterable raises, or a key comes twice, the call ends with that error. Compressed files (`x.tar.gz`, `x.tgz`,
    TFRecord files with GZIP or ZLIB) are decompressed first. If the destination is a store (s3://, gs://, az://),
    penstock.json is written last, and `overwrite` removes the dataset there before the first shard is sent.

    {options}

    Returns {"samples", "bytes", "skipped", "resumed", "bad": [...], "kept": {reason: count}, "renamed"}. `kept` counts
    the JPEG files that "recode" left as they are. If two shards share a key, each key gets the name of its shard in
    front ("s-0/0001"); `renamed` then shows one of them. Raises Error.
    """
    options = packing_options(locals())
    items = choose(source, fields, classes)
    if items is not None:
        if resume or report or rank is not None or world is not None:
            raise made(
                "invalid_argument",
                "resume, rank, world and report require a source of files, not one of Python objects",
                dataset=_penstock.shown_place(destination),
            )
        return pack_items(items, destination, progress=progress, quality=quality, **options)
    bars = [Bar("unpacking", "bytes")]

    def tell(samples: int, total: int, nbytes: int) -> None:
        if len(bars) == 1:
            bars[0].end()
            bars.append(Bar("packing" if rank is None else f"packing rank {rank}"))
        bars[1](samples, total, nbytes)

    try:
        return _pack(
            source,
            destination,
            _PackOptions(**options),
            rank=rank,
            progress=tell if progress is True else progress or None,
            unpacking=bars[0] if progress is True else None,
        )
    finally:
        bars[-1].end()


@keywords_in_words
def finish_pack(
    destination: str | os.PathLike[str], *, overwrite: bool = False, report: str | os.PathLike[str] = ""
) -> dict[str, Any]:
    """Joins the parts of pack(..., rank=, world=) to one dataset. `destination` appears once it is complete.

    Only renames files. You may call it again after a kill.

    overwrite: replaces a dataset at the destination.
    report: a file for the samples that all ranks skipped.

    Returns {"samples", "bytes", "skipped", "shards"}. Raises Error, which names the ranks, if parts are missing,
    incomplete, or were made with other options or from another source.
    """
    return _finish_pack(destination, overwrite=overwrite, report=report)
