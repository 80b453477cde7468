"""A data loader for ML training, with a C++ core and a Python API.

    import penstock as ps

    loader = ps.Loader("train.tar.d", batch_size=256, shuffle=True, seed=0, transforms={
        "jpg": ps.image.random_resized_crop(224) | ps.image.random_horizontal_flip() | ps.image.normalize(mean, std),
        "cls": ps.label()})
    for batch in loader:                      # one `for` is one epoch
        images = torch.from_dlpack(batch["jpg"])
    print(loader.stats())

`penstock.torch` has the loader for PyTorch. `penstock.dask` and `penstock.ray` pack on a Dask or Ray cluster. These
modules are imported when you first use them.
"""

import atexit as _atexit
import importlib as _importlib
from typing import Any as _Any

from . import batching, sampler, shuffle, sources
from ._audit import Audit, audit
from ._batch import Batch
from ._decode import decode, decode_batch, decoder
from ._encode import encode
from ._error import Error
from ._habits import here as _here
from ._layers.layers import layers
from ._layers.result import Layer, Layers
from ._loader import Loader
from ._overview import Overview, overview
from ._own.functions import SampleFunction, Transform, sample_transform, transform
from ._pack import finish_pack, pack
from ._penstock import (
    CacheOptions,
    Chain,
    Dataset,
    DeviceOptions,
    DiskCacheOptions,
    FieldSchema,
    LoaderIterator,
    MemoryOptions,
    Mix,
    Mixture,
    Ragged,
    ReadOptions,
    Sample,
    Schedule,
    ServersOptions,
    SharingOptions,
    Tensor,
    array,
    boxes,
    concat,
    cutmix,
    field,
    follow,
    image,
    keypoints,
    label,
    lengths,
    mixture,
    mixup,
    open,
    pad,
    points,
    raw,
    token_blocks,
    valid_mask,
    window,
    window_valid,
)
from ._penstock import (
    close_all as _close_all,
)
from ._penstock import (
    version as __version__,
)
from ._profile.compare import Comparison
from ._profile.profile import Profile, profile
from ._profile.steps import Steps, schedule
from ._profile.verdict import Verdict
from ._ranks import RankTable, rank_table
from ._sharing import attach, share
from ._stage import stage
from ._stats import Stats
from ._trace import Trace, merge_traces
from ._translate.albumentations import from_albumentations
from ._translate.torchvision import from_torchvision
from ._tune import tune
from ._words import worded as _worded
from ._words import worded_step as _worded_step
from ._words import worded_steps as _worded_steps
from ._writer import Writer

__all__ = [
    "Audit",
    "Batch",
    "CacheOptions",
    "Chain",
    "Comparison",
    "Dataset",
    "DeviceOptions",
    "DiskCacheOptions",
    "Error",
    "FieldSchema",
    "Layer",
    "Layers",
    "Loader",
    "LoaderIterator",
    "MemoryOptions",
    "Mix",
    "Mixture",
    "Overview",
    "Profile",
    "Ragged",
    "RankTable",
    "ReadOptions",
    "Sample",
    "SampleFunction",
    "Schedule",
    "ServersOptions",
    "SharingOptions",
    "Stats",
    "Steps",
    "Tensor",
    "Trace",
    "Transform",
    "Verdict",
    "Writer",
    "__version__",
    "array",
    "attach",
    "audit",
    "batching",
    "boxes",
    "concat",
    "cutmix",
    "decode",
    "decode_batch",
    "decoder",
    "encode",
    "field",
    "finish_pack",
    "follow",
    "from_albumentations",
    "from_torchvision",
    "image",
    "keypoints",
    "label",
    "layers",
    "lengths",
    "merge_traces",
    "mixture",
    "mixup",
    "open",
    "overview",
    "pack",
    "pad",
    "points",
    "profile",
    "rank_table",
    "raw",
    "sample_transform",
    "sampler",
    "schedule",
    "shuffle",
    "sources",
    "share",
    "stage",
    "token_blocks",
    "transform",
    "tune",
    "valid_mask",
    "window",
    "window_valid",
]

concat = _worded("penstock.concat", concat)
cutmix = _worded("penstock.cutmix", cutmix)
field = _worded("penstock.field", field)
follow = _worded("penstock.follow", follow)
mixup = _worded("penstock.mixup", mixup)
mixture = _worded("penstock.mixture", mixture)
open = _worded("penstock.open", open)
token_blocks = _worded("penstock.token_blocks", token_blocks)
window = _worded("penstock.window", window)
boxes = _worded_step("penstock.boxes", boxes)
keypoints = _worded_step("penstock.keypoints", keypoints)
label = _worded_step("penstock.label", label)
lengths = _worded_step("penstock.lengths", lengths)
pad = _worded_step("penstock.pad", pad)
raw = _worded_step("penstock.raw", raw)
valid_mask = _worded_step("penstock.valid_mask", valid_mask)
window_valid = _worded_step("penstock.window_valid", window_valid)
array = _worded_steps(array)
image = _worded_steps(image)
points = _worded_steps(points)

_atexit.register(_close_all)  # threads must not outlive the interpreter


def __getattr__(name: str) -> _Any:
    if name in ("dask", "ray", "torch"):
        return _importlib.import_module(f".{name}", __name__)
    raise AttributeError(_here(__name__, name))
