"""Packs datasets, with a progress bar."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from . import _penstock
from ._error import made
from ._items import pack_items
from ._packing import packing_options
from ._progress import Bar
from ._words import keywords_in_words, worded
from .sources import choose

_PackOptions = worded("penstock.pack", _penstock.PackOptions)
_pack = worded("penstock.pack", _penstock.pack)
_finish_pack = worded("penstock.finish_pack", _penstock.finish_pack)


@keywords_in_words
def pack(
    source: str | os.PathLike[str] | _penstock.Dataset | Iterable[Any],
    destination: str | os.PathLike[str],
    *,
    format: str = "tar",
    shard_size: int = 256 << 20,
    align: int = 1,
    labels: str = "",
    classes: Sequence[str] = (),
    jpeg: str = "keep",
    max_side: int = 0,
    decode: int | str | bool | None = None,
    presample: str = "",
    order: str = "keep",
    attributes: str = "none",
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
    spool: str | os.PathLike[str] | None = None,
) -> dict[str, Any]:
    """Packs a dataset of any packing, a folder of files, or any other source of samples, into shards; samples in
    bytewise order of their keys.

    Other sources are iterables of dicts (values as penstock.encode takes them; the key is `"__key__"`, else a running
    number of 12 digits) or of tuples, datasets of torch and of Hugging Face, Parquet files and folders of them, also
    Petastorm's, and CSV files of paths and labels; see penstock.sources. fields names the parts of tuples ("jpg", "cls"),
    or says which column is which field {"image": "jpg"}. Their samples are gathered in the folder `spool` first (see
    penstock.Writer), and nothing is left of an interrupted run, so there is nothing to resume; progress is told for both
    halves. A file that is compressed as a whole (`x.tar.gz`, `x.tgz`, TFRecord files of compression GZIP or ZLIB), a folder or a
    pattern of them, is unpacked first, into a hidden folder in `spool` (default: beside the destination) that is removed
    at the end. Where the destination is an address (s3://, gs://, az://), each shard waits in `spool` (default: $TMPDIR) until it
    is sent, penstock.json goes last, and `overwrite` removes the dataset there before the first shard comes. quality: of images that are encoded as jpg or webp.

    The bytes written depend on the source and the options alone. `destination` appears once it is complete; what a
    failure or Ctrl-C interrupts is continued by `resume=True`, after the last whole shard.

    format: "tar", "lmdb", "hdf5", "zip", "tfrecord" or "mds". labels: "FILE" or "FILE:COLUMN" (csv, txt, json) with labels kept apart.
    classes: names that class numbers must follow. align: where samples begin (tar; 4096 suits O_DIRECT).
    jpeg: "keep"; "recode", which stores the same coefficients in a code that decodes more than twice as fast, pixels identical
    and the files to be had back; "original", the files back; "baseline", which makes progressive files baseline ones of
    identical pixels that decode twice as fast; or "quality:Q". max_side: JPEG files whose longer side has more pixels are
    shrunk to it, with that quality or 90; 0: none.
    decode: images are stored as pixels, uint8 (height, width, 3), which load as fast as memory is copied: 256 or
    "HEIGHTxWIDTH" (resized to cover that, and the middle cut out), or True (all are of one size and stay as they are);
    "jpg=256" names the field where there are several images in a sample.
    presample: so many points of each cloud are kept, "fps:4096" or "voxel:0.05,fps:4096". order: of points, "keep",
    "progressive" (any run of them is a random sample, so a loader reads only what it delivers) or "stratified" (any run
    covers the cloud evenly). attributes: what points keep beside x, y, z when either makes them over: "none", "all", or
    names with commas between.
    on_error: "raise", or "skip" to leave out samples that cannot be read (what a generator raises ends it, and is raised
    in any case; so is a key that comes twice); they are listed in skipped.jsonl of the dataset, and in the file
    `report`, a line of JSON each. progress: True for a bar on stderr, or a
    function of (samples, total, bytes).

    rank and world: this process packs one of `world` parts, at the same time as others or not, and finish_pack() joins
    them; rank="env" takes both from what torchrun, MPI or Slurm set.

    Returns {"samples", "bytes", "skipped", "resumed", "bad": [...], "kept": {reason: count}, "renamed"}, of the part if
    there is one; kept counts the JPEG files that "recode" left as they are. If two shards share a key, each key gets the
    name of its shard in front ("s-0/0001"); renamed then shows one of them. Raises Error.
    """
    options = packing_options(locals())
    items = choose(source, fields, classes)
    if items is not None:
        if resume or report or rank is not None or world is not None:
            raise made(
                "invalid_argument",
                "only what is packed from files can be resumed, be packed by several ranks, or has a report",
                dataset=_penstock.shown_place(destination),
            )
        return pack_items(items, destination, progress=progress, quality=quality, spool=spool, **options)
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
            resume=resume,
            report=report,
            rank=rank,
            world=world,
            progress=tell if progress is True else progress or None,
            spool=spool or "",
            unpacking=bars[0] if progress is True else None,
        )
    finally:
        bars[-1].end()


@keywords_in_words
def finish_pack(
    destination: str | os.PathLike[str], *, overwrite: bool = False, report: str | os.PathLike[str] = ""
) -> dict[str, Any]:
    """Makes one dataset of the parts that pack(..., rank=, world=) made: `destination` appears, complete.

    Only renames, so it is quick, and may be repeated after a kill. `report` gets the samples that all ranks left out.

    Returns {"samples", "bytes", "skipped", "shards"}. Raises Error, naming the ranks, when parts are missing, not
    finished, or were made with other options or from another source.
    """
    return _finish_pack(destination, overwrite=overwrite, report=report)
