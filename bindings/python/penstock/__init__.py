"""penstock brings training samples from packed files into batches, as fast as they can be decoded.

    import penstock as ps

    loader = ps.Loader("train.tar.d", batch_size=256, shuffle=True, seed=0, fields={
        "jpg": ps.image.random_resized_crop(224) | ps.image.random_flip() | ps.image.normalize(mean, stddev),
        "cls": ps.label()})
    for batch in loader:                      # one `for` is one epoch
        images = torch.from_dlpack(batch["jpg"])
    print(loader.stats())

`penstock.torch` has the dataset for PyTorch, `penstock.dask` packs on a Dask cluster; imported when first used.
"""

import atexit as _atexit
import importlib as _importlib
from typing import Any as _Any

from . import sources
from ._batch import Batch
from ._encode import encode
from ._error import Error
from ._loader import Loader
from ._own.step import SampleFunction, Transform, sample, transform
from ._pack import finish_pack, pack
from ._penstock import (
    Chain,
    Dataset,
    FieldSchema,
    LoaderIterator,
    Mix,
    Ragged,
    Sample,
    Tensor,
    __version__,
    array,
    boxes,
    cutmix,
    field,
    follow,
    image,
    key_points,
    label,
    lengths,
    mask,
    mixup,
    open,
    pad,
    points,
    raw,
)
from ._penstock import (
    close_all as _close_all,
)
from ._stage import stage
from ._stats import Stats
from ._tune import tune
from ._words import worded as _worded
from ._words import worded_step as _worded_step
from ._words import worded_steps as _worded_steps
from ._writer import Writer

__all__ = [
    "Batch",
    "Chain",
    "Dataset",
    "Error",
    "FieldSchema",
    "Loader",
    "LoaderIterator",
    "Mix",
    "Ragged",
    "Sample",
    "SampleFunction",
    "Stats",
    "Tensor",
    "Transform",
    "Writer",
    "__version__",
    "array",
    "boxes",
    "cutmix",
    "encode",
    "field",
    "finish_pack",
    "follow",
    "image",
    "key_points",
    "label",
    "lengths",
    "mask",
    "mixup",
    "open",
    "pack",
    "pad",
    "points",
    "raw",
    "sample",
    "sources",
    "stage",
    "transform",
    "tune",
]

cutmix = _worded("penstock.cutmix", cutmix)
field = _worded("penstock.field", field)
follow = _worded("penstock.follow", follow)
mixup = _worded("penstock.mixup", mixup)
open = _worded("penstock.open", open)
boxes = _worded_step("penstock.boxes", boxes)
key_points = _worded_step("penstock.key_points", key_points)
label = _worded_step("penstock.label", label)
raw = _worded_step("penstock.raw", raw)
array = _worded_steps(array)
image = _worded_steps(image)
points = _worded_steps(points)

_atexit.register(_close_all)  # threads must not outlive the interpreter


def __getattr__(name: str) -> _Any:
    if name in ("dask", "torch"):
        return _importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
