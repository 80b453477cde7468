"""Errors for members that arrays and modules of other libraries have. Each names the replacement."""

from __future__ import annotations

import sys
from typing import NoReturn

from ._penstock import Ragged, Tensor

# Of tensors of torch, which may not be imported; NumPy is asked for its own.
_OF_TORCH = frozenset(
    "bfloat16 bool byte chunk clamp clone contiguous cuda detach dim double expand expand_as flatten float gather half "
    "index_select int is_cuda item long masked_select mul narrow norm numel one_hot permute pin_memory requires_grad "
    "requires_grad_ scatter short softmax split stack sub to type type_as unbind unfold unsqueeze view view_as".split()
)

_ELSEWHERE = {
    "Compose": "a chain for each output in transforms, as ps.image.resize(256) | ps.image.center_crop(224)",
    "DataLoader": "ps.Loader, or ps.torch.Loader, whose batches are tensors of torch",
    "DatasetFolder": "ps.open(folder), with one folder for each class",
    "DistributedSampler": 'rank="env" of ps.Loader',
    "FakeData": "penstock synth, a command",
    "ImageFolder": "ps.open(folder), with one folder for each class",
    "IterableDataset": "ps.torch.Loader",
    "StreamingDataLoader": "ps.Loader, or ps.torch.Loader",
    "StreamingDataset": "ps.open(path)",
    "Subset": "ps.open(path).select(indices)",
    "TarWriter": "ps.Writer, or ps.pack",
    "TensorDataset": "ps.pack(samples, folder), of an iterable of dicts",
    "WebDataset": "ps.open(path), of tar files",
    "WebLoader": "ps.Loader, or ps.torch.Loader",
    "WeightedRandomSampler": "ps.sampler.weighted(weights), or give it to ps.Loader(sampler=...) as it is",
    "inside": "ps.window_valid()",
    "key_points": "ps.keypoints()",
    "load": "ps.open(path)",
    "load_dataset": "ps.open(path)",
    "mask": "ps.valid_mask(), True for items of a row; or ps.follow(output), for masks stored with images",
    "read": "ps.open(path)",
    "sample": "ps.sample_transform(function, outputs)",
    "transforms": "ps.image, ps.points and ps.array",
}


def here(module: str, name: str) -> str:
    """That `module` has no `name`, and what to take instead where that is known."""
    sentence = f"module {module!r} has no attribute {name!r}"
    return f"{sentence}: here it is {_ELSEWHERE[name]}" if name in _ELSEWHERE else sentence


def _known(name: str) -> bool:
    """Whether arrays of NumPy or tensors of torch have it."""
    if name[0] == "_":
        return False
    if name in _OF_TORCH:
        return True
    loaded = (("numpy", "ndarray"), ("torch", "Tensor"))
    return any(hasattr(getattr(sys.modules.get(module), kind, None), name) for module, kind in loaded)


def no_member_of_tensor(tensor: Tensor, name: str) -> NoReturn:
    """Raises AttributeError; the compiled Tensor.__getattr__ calls it."""
    if name == "size":
        raise AttributeError("a penstock.Tensor has no size: t.shape, len(t) and t.nbytes tell it")
    if name in ("to", "cuda"):
        raise AttributeError(
            f't.torch().{name}(...) moves a penstock.Tensor; device="cuda:0" of the loader does, ahead of the program'
        )
    if _known(name):
        raise AttributeError(
            f"a penstock.Tensor has no {name}, it only holds values: take t.torch().{name} or t.numpy().{name}"
        )
    raise AttributeError(f"'penstock.Tensor' object has no attribute {name!r}")


def no_member_of_ragged(ragged: Ragged, name: str) -> NoReturn:
    """Raises AttributeError; the compiled Ragged.__getattr__ calls it."""
    if name in ("shape", "dtype", "ndim", "numpy", "torch", "tolist") or _known(name):
        raise AttributeError(
            f"a penstock.Ragged has no {name}, its rows differ in length: r.values and r.offsets are tensors, and so is a "
            "row, r[i]; ps.torch.rows(r) makes a list"
        )
    raise AttributeError(f"'penstock.Ragged' object has no attribute {name!r}")
