"""Measures penstock on the files that another loader reads, and predicts the training step."""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Mapping
from typing import Any

from .. import _error
from .. import _penstock as _compiled
from .._encodings import encoding_of_codec
from .._loader import Loader
from .about import About
from .batch import Delivered
from .files import Found, found, refused
from .text import duration, rate
from .times import Times

_CROP = 224
_MEAN, _STDDEV = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
_WAITS = 0.05  # a loop that waits for at least this share of its time runs at the loader's rate
_IMAGES = ("jpeg", "png", "webp")


@dataclasses.dataclass(frozen=True)
class Request:
    source: str | os.PathLike[str] | None
    fields: Mapping[str, Any] | None
    seconds: float
    workers: int | None


@dataclasses.dataclass(frozen=True)
class Comparison:
    """Another loader beside penstock on the same files; str() is the result and its assumptions."""

    loader_samples_per_s: float
    """Rate of the loader in the loop."""
    penstock_samples_per_s: float
    """Rate of penstock, with nothing else running."""
    times: float
    """penstock's rate divided by the loader's."""
    step_s: float
    """Seconds per step of the loop, including the wait for its batch."""
    step_with_penstock_s: float
    """The longer of the step without waiting and penstock's time per batch."""
    text: str
    """One sentence with its numbers."""
    assumed: tuple[str, ...]
    """Assumptions of the numbers."""

    def __str__(self) -> str:
        return f"{self.text}\nassumed: {'; '.join(self.assumed)}"


def compare_with(wrapped: Any, delivered: Delivered, times: Times, request: Request) -> Comparison:
    """Raises Error if the files cannot be found, or if there is no loop to compare with."""
    if times.waits.count == 0:
        raise _error.made(
            "invalid_argument", "ps.profile(): compare() requires the times of a loop; take two batches or more first"
        )
    about = About.of(wrapped)
    batch_size = about.batch_size or delivered.rows
    if not batch_size:
        raise refused("the number of samples in a batch is unknown")
    with found(wrapped, request.source) as files:
        chains, assumed = (dict(request.fields), []) if request.fields is not None else _chains(files, delivered)
        loader = Loader(
            files.dataset if files.subset is None else files.dataset.select(files.subset),
            batch_size=batch_size,
            shuffle=not about.in_order,
            transforms=chains,
            workers=request.workers,
        )
        try:
            measured = _measured(loader, request.seconds)
            workers = loader.stats()["workers"]
        finally:
            loader.close()
    assumed = [
        files.told,
        *assumed,
        f"batches of {batch_size} in {'their' if about.in_order else 'shuffled'} order",
        f"{workers} thread{'' if workers == 1 else 's'}, with nothing else running",
        "files in the page cache as the loop left them",
        "steps that overlap with loading",
    ]
    return _comparison(about, batch_size, times, measured, tuple(assumed))


def _comparison(about: About, batch_size: int, times: Times, measured: float, assumed: tuple[str, ...]) -> Comparison:
    step, wait = times.steps.mean * 1e-9, times.waits.mean * 1e-9
    # A loader without worker processes works only in next(), while the loop waits. Other loaders also work during the
    # step.
    theirs = batch_size / max(wait if about.num_workers == 0 else step + wait, 1e-9)
    now, then = step + wait, max(step, batch_size / measured)
    binds = times.data_wait >= _WAITS
    gives = f"penstock delivers {measured / theirs:.3g} times as many samples a second"
    if binds:
        text = f"{gives} from the same files ({rate(measured)} against {rate(theirs)}): a step of {duration(now)} becomes {duration(then)}"
    else:
        text = (
            f"{gives} as the loop takes from the same files ({rate(measured)} against {rate(theirs)}), but the loop "
            "hardly waits: a step "
            f"of {duration(now)} becomes {duration(then)}"
        )
    return Comparison(theirs, measured, measured / theirs, now, then, text, assumed)


def _measured(loader: Any, seconds: float) -> float:
    """Samples per second from the first batch on. Runs as many epochs as `seconds` requires."""
    rows, begun = 0, 0.0
    while True:
        empty = True
        for batch in loader:
            now = time.perf_counter()
            empty = False
            if begun == 0.0:
                begun = now
                continue
            rows += len(batch["__key__"])
            if now - begun >= seconds:
                return rows / (now - begun)
        if empty:
            raise refused("the files hold no samples")


# ---- Chains ----------------------------------------------------------------------------------------------------------


def _chains(files: Found, delivered: Delivered) -> tuple[dict[str, Any], list[str]]:
    """Chains for the image, or else for all arrays. Labels are left out: they may be text of any kind, and take no
    time."""
    known = {field.name: field for field in files.dataset.fields}
    chains: dict[str, Any] = {}
    assumed: list[str] = []
    images = [name for name, field in known.items() if field.codec in _IMAGES]
    named = {name: field for name, field in known.items() if not files.columns or name in files.columns}
    rows = [name for name, field in named.items() if _rgb_size(field) is not None and delivered.size is not None]
    if images or rows:
        chain = _image_chain(None if images else _rgb_size(named[rows[0]]), delivered, assumed)
        several = len(images) > 1
        chains[(images or rows)[0]] = _compiled.field("|".join(images)) | chain if several else chain
    for name, field in named.items() if not images else ():
        encoding = encoding_of_codec(field.codec)
        if name not in chains and encoding.kind == "array" and not encoding.tokens:
            chains[name] = _compiled.array.decode()
            assumed.append(f"{name} as it is")
    if not chains:
        fields = ", ".join(f"{name} ({field.codec})" for name, field in known.items())
        raise refused(
            f"the files hold neither images nor arrays ({fields}); pass your own chains: compare(fields={{...}})"
        )
    return chains, assumed


def _rgb_size(field: Any) -> tuple[int, ...] | None:
    """(height, width), if the rows are stored as RGB pixels."""
    rgb = (
        encoding_of_codec(field.codec).in_place
        and field.dtype == "uint8"
        and len(field.shape or ()) == 3
        and field.shape[2] == 3
    )
    return tuple(field.shape[:2]) if rgb else None


def _image_chain(stored: tuple[int, ...] | None, delivered: Delivered, assumed: list[str]) -> Any:
    """`stored`: the size of all images. None: they are encoded, and sizes differ."""
    size = delivered.size or (_CROP, _CROP)
    crop = _compiled.image.random_resized_crop(size) if stored != size else None
    normalize = _compiled.image.normalize(_MEAN, _STDDEV) if delivered.floats else None
    where = "as in the batches" if delivered.size else "the size in the batches is not known"
    told = [f"cropped at random to {size[0]} x {size[1]} ({where})"] if crop is not None else []
    assumed.append(", ".join(["images decoded", *told, *(["normalized"] if normalize is not None else [])]))
    if crop is None:
        return normalize if normalize is not None else _compiled.array.decode()
    return crop if normalize is None else crop | normalize
