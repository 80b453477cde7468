"""Reads the options of a DataLoader. Each option that could change a batch is either known or refused."""

from __future__ import annotations

import dataclasses
import operator
import os
import sys
import types
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch.utils import data

from ..._penstock import Chain
from ..._translate.torchvision import named, translation_of
from ..._translate.translation import Translation, shown
from . import transforms
from .places import Place, Places, call_of, of_object

_SAMPLERS: tuple[Any, ...] = (
    data.SequentialSampler,
    data.RandomSampler,
    data.SubsetRandomSampler,
    data.WeightedRandomSampler,
    data.distributed.DistributedSampler,
)
_LIBRARIES = ("torch", "torchvision", "timm", "open_clip", "dinov2")
_READS = ("__getitem__", "__getitems__", "__len__", "__getattr__", "__getattribute__")
_INERT = ("__init__", "__repr__", "extra_repr")


class Refused(Exception):
    """str() is "train.py:31: Lambda(): calls a function of your own"."""

    def __init__(self, place: Place | None, what: str, reason: str) -> None:
        super().__init__(f"{place}: {what}: {reason}" if place is not None else f"{what}: {reason}")


@dataclasses.dataclass(frozen=True)
class Recipe:
    """Everything that determines the batches of a loader, except the order."""

    folder: Any  # ImageFolder
    subsets: tuple[Any, ...]  # The indices of each Subset, the outermost first.
    transform: Any
    chain: Chain
    translation: Translation
    random: tuple[str, ...]  # Names of the transforms that draw random numbers.
    key: tuple[Any, ...]  # Equal for recipes whose batches have the same form and pixels.

    def copied(self) -> Recipe:
        """With lists that the program does not change."""
        folder = types.SimpleNamespace(root=self.folder.root, samples=list(self.folder.samples))
        return dataclasses.replace(self, folder=folder, subsets=tuple(map(_listed, self.subsets)))

    def sample_at(self, index: Any) -> tuple[str, int]:
        """(path, label) of an index of the sampler."""
        for indices in self.subsets:
            index = indices[index]
        path, label = self.folder.samples[operator.index(index)]
        return path, label


def _listed(indices: Any) -> list[Any]:
    return indices.tolist() if hasattr(indices, "tolist") else list(indices)


def recognize(loader: Any, places: Places) -> Recipe:
    """Raises Refused for a loader whose batches penstock cannot make."""
    made = places.of(loader)
    folder, subsets = _folder_of(loader.dataset, made)
    _check_loader(loader, made)
    _check_sampler(loader, made)
    transform = folder.transform
    translation = _translation_of(transform, made)
    chain = translation.chain("from_torchvision")
    names = [name for name, _ in named(transform)]
    lengths = len(folder.samples), *map(len, subsets)
    key = (str(chain), *names, str(folder.root), *lengths, loader.num_workers, torch.get_default_dtype())
    random = tuple(name for name in names if transforms.draws(name))
    return Recipe(folder, subsets, transform, chain, translation, random, key)


# ---- The loader ------------------------------------------------------------------------------------------------------


def _check_loader(loader: Any, made: Place | None) -> None:
    kind = type(loader)
    if kind is not data.DataLoader:
        raise Refused(made, kind.__name__, "is a subclass of DataLoader, which may change the batches")
    for name, value in vars(loader).items():
        if name in vars(kind) and callable(value):
            raise Refused(made, f"DataLoader.{name}", "is replaced by the program")
    collate = torch.utils.data._utils.collate.default_collate
    if loader.batch_sampler is None:
        raise Refused(made, "DataLoader(batch_size=None)", "delivers samples, not batches")
    if loader.collate_fn is not collate or not _is_original(collate):
        raise Refused(made, f"DataLoader(collate_fn={_name(loader.collate_fn)})", "may change the batches")
    if loader.worker_init_fn is not None:
        raise Refused(
            made, f"DataLoader(worker_init_fn={_name(loader.worker_init_fn)})", "may change the dataset in each worker"
        )
    if not getattr(loader, "in_order", True):
        raise Refused(made, "DataLoader(in_order=False)", "delivers batches in the order of their completion")
    if _default_device() != "cpu":
        raise Refused(made, "torch.set_default_device()", "moves the labels to another device")
    modules: Any = torch.nn.modules.module
    if modules._global_forward_hooks or modules._global_forward_pre_hooks:
        raise Refused(made, "torch.nn", "has global forward hooks, which also see the transforms")


def _default_device() -> str:
    return torch.empty(0).device.type


def _check_sampler(loader: Any, made: Place | None) -> None:
    batches = loader.batch_sampler
    if type(batches) is not data.BatchSampler or not _is_original(type(batches)):
        raise _sampler_refused(batches, "batch_sampler", made)
    sampler = batches.sampler
    if isinstance(sampler, (list, tuple, range)):
        return
    if type(sampler) not in _SAMPLERS or not _is_original(type(sampler)):
        raise _sampler_refused(sampler, "sampler", made)


def _sampler_refused(sampler: Any, option: str, made: Place | None) -> Refused:
    name = type(sampler).__name__
    reason = f"is a {option} of your own, which may have a state"
    if name in ("BatchSampler", *(kind.__name__ for kind in _SAMPLERS)):
        reason = "has a changed method"
    return Refused(of_object(sampler, made), name, reason)


# ---- The dataset -----------------------------------------------------------------------------------------------------


def _folder_of(dataset: Any, made: Place | None) -> tuple[Any, tuple[Any, ...]]:
    """The ImageFolder, and the indices of the Subsets around it."""
    subsets = []
    while type(dataset) is data.Subset and _is_original(data.Subset):
        subsets.append(dataset.indices)
        dataset = dataset.dataset
    kind = type(dataset)

    def refused(what: str, reason: str) -> Refused:
        return Refused(of_object(dataset, made), what, reason)

    module: Any = sys.modules.get("torchvision.datasets.folder")
    if module is None or not isinstance(dataset, module.DatasetFolder):
        if kind.__module__.startswith("datasets."):
            raise _of_hugging_face(dataset, made)
        raise refused(kind.__name__, "is not an ImageFolder of torchvision")
    same = all(getattr(kind, name, None) is getattr(module.DatasetFolder, name, None) for name in _READS)
    if not same or not _is_original(kind):
        own = kind.__module__.partition(".")[0] != "torchvision"
        reason = "is a subclass of ImageFolder, which may change the samples" if own else "has a changed method"
        raise refused(kind.__name__, reason)
    changed = sorted(name for name, value in vars(dataset).items() if name in dir(kind) and callable(value))
    if changed:
        raise refused(f"{kind.__name__}.{changed[0]}", "is replaced by the program")
    if dataset.loader not in (module.default_loader, module.pil_loader) or not _is_original(dataset.loader):
        raise refused(f"{kind.__name__}(loader={_name(dataset.loader)})", "is a loader of your own")
    if sys.modules["torchvision"].get_image_backend() != "PIL":
        raise refused("torchvision.set_image_backend()", "chooses another decoder than Pillow")
    if dataset.target_transform is not None:
        raise refused(f"{kind.__name__}(target_transform={_name(dataset.target_transform)})", "changes labels")
    return dataset, tuple(subsets)


def _of_hugging_face(dataset: Any, made: Place | None) -> Refused:
    function = getattr(dataset, "format", {}).get("format_kwargs", {}).get("transform")
    what = f"set_transform({_name(function)})" if function is not None else type(dataset).__name__
    reason = "penstock replaces only ImageFolder, no dataset of Hugging Face"
    return Refused(of_object(function or dataset, made), what, reason)


def check_samples(recipe: Recipe, made: Place | None) -> None:
    """Refuses samples that are not pairs of a path and a number."""
    for path, label in _pairs(recipe.folder.samples, made):
        if not isinstance(path, str) or type(label) is not int:
            raise Refused(made, "ImageFolder.samples", f"has {path!r} with the label {label!r}, not a path with an int")


def _pairs(samples: Iterable[Any], made: Place | None) -> Iterable[tuple[Any, Any]]:
    for entry in samples:
        if type(entry) is not tuple or len(entry) != 2:
            raise Refused(made, "ImageFolder.samples", f"has {entry!r}, not a pair of a path and a label")
        yield entry


# ---- The transforms --------------------------------------------------------------------------------------------------


def _translation_of(transform: Any, made: Place | None) -> Translation:
    if transform is None:
        raise Refused(made, "ImageFolder(transform=None)", "default_collate cannot collate PIL images")
    translation = translation_of(transform)
    for _, refused, reason in translation.refused:
        raise Refused(of_object(refused, made), shown(refused), reason)
    for _, part in named(transform):
        kind = type(part)
        if not isinstance(part, types.FunctionType) and not _is_original(kind, _INERT):
            raise Refused(call_of(kind.__name__, made) or made, shown(part), "has a changed method")
    return translation


# ---- Unchanged code --------------------------------------------------------------------------------------------------


def _is_original(thing: Any, besides: tuple[str, ...] = ()) -> bool:
    """Whether a function, or the functions of a class and its bases, come from the files of the libraries. A program may
    have replaced them. besides: names of methods that may come from the program."""
    functions: list[Callable[..., Any]] = [thing]
    if isinstance(thing, type):
        functions = []
        for base in thing.__mro__:
            if base.__module__ not in ("builtins", "typing", "abc"):
                functions += [value for name, value in vars(base).items() if name not in besides and callable(value)]
    folders = tuple(_folder(name) for name in _LIBRARIES)
    for function in functions:
        code = getattr(getattr(function, "__func__", function), "__code__", None)
        if code is not None and not code.co_filename.startswith(folders):
            return False
    return True


def _folder(library: str) -> str:
    file = getattr(sys.modules.get(library), "__file__", None)
    return os.path.dirname(file) + os.sep if isinstance(file, str) else "\0"


def _name(thing: Any) -> str:
    return getattr(thing, "__name__", type(thing).__name__)
