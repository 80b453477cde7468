"""Reads the options of a DataLoader. Each option that could change a batch is either known or refused."""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Sequence
from typing import Any

import torch
from torch.utils import data

from ..._penstock import Chain
from ..._translate.torchvision import named, translation_of
from ..._translate.translation import Translation, shown
from ...sources import is_hugging_face
from . import hugging_face, image_folder, transforms
from .originals import is_original, name_of
from .places import Place, Places, Refused, call_of, of_object
from .presets import applied_by
from .seeding import only_seeds
from .source import Sample, Source

_SAMPLERS: tuple[Any, ...] = (
    data.SequentialSampler,
    data.RandomSampler,
    data.SubsetRandomSampler,
    data.WeightedRandomSampler,
    data.distributed.DistributedSampler,
)
_INERT = ("__init__", "__repr__", "extra_repr")


@dataclasses.dataclass(frozen=True)
class Recipe:
    """Everything that determines the batches of a loader, except the order."""

    source: Source
    subsets: tuple[Any, ...]  # The indices of each Subset, the outermost first.
    transform: Any
    chain: Chain
    translation: Translation
    random: tuple[str, ...]  # Names of the transforms that draw random numbers.
    key: tuple[Any, ...]  # Equal for recipes whose batches have the same form and pixels.

    def copied(self) -> Recipe:
        """With lists that the program does not change."""
        return dataclasses.replace(self, source=self.source.copied(), subsets=tuple(map(_listed, self.subsets)))

    def samples(self, indices: Sequence[Any], folder: str = "") -> list[Sample]:
        """Samples of indices of the sampler. folder: of relative paths."""
        return self.source.samples([self._inner(index) for index in indices], folder)

    def paths(self) -> Sequence[str | None]:
        paths = self.source.paths()
        return [paths[self._inner(index)] for index in range(len(self.subsets[0]))] if self.subsets else paths

    def _inner(self, index: Any) -> Any:
        for indices in self.subsets:
            index = indices[index]
        return index


def _listed(indices: Any) -> list[Any]:
    return indices.tolist() if hasattr(indices, "tolist") else list(indices)


def recognize(loader: Any, places: Places) -> Recipe:
    """Raises Refused for a loader whose batches penstock cannot make."""
    made = places.of(loader)
    dataset, subsets = _without_subsets(loader.dataset)
    table = is_hugging_face(dataset)
    source: Any = None if table else image_folder.source_of(dataset, made)
    _check_loader(loader, made)
    if table:
        source, transform = hugging_face.source_of(dataset, loader, made)
    else:
        image_folder.require_default_collate(loader.collate_fn, made)
        transform = applied_by(dataset.transform)
    _check_sampler(loader, made)
    translation = _translation_of(transform, type(dataset).__name__, made)
    chain = transforms.upright(translation.chain("from_torchvision"), source.upright)
    names = [name for name, _ in named(transform)]
    lengths = tuple(map(len, subsets))
    key = (str(chain), *names, *source.key, *lengths, loader.num_workers, torch.get_default_dtype())
    random = tuple(name for name in names if transforms.draws(name))
    return Recipe(source, subsets, transform, chain, translation, random, key)


def _without_subsets(dataset: Any) -> tuple[Any, tuple[Any, ...]]:
    """The dataset inside, and the indices of the Subsets around it."""
    subsets = []
    while type(dataset) is data.Subset and is_original(data.Subset):
        subsets.append(dataset.indices)
        dataset = dataset.dataset
    return dataset, tuple(subsets)


# ---- The loader ------------------------------------------------------------------------------------------------------


def _check_loader(loader: Any, made: Place | None) -> None:
    kind = type(loader)
    if kind is not data.DataLoader:
        raise Refused(made, kind.__name__, "is a subclass of DataLoader, which may change the batches")
    for name, value in vars(loader).items():
        if name in vars(kind) and callable(value):
            raise Refused(made, f"DataLoader.{name}", "is replaced by the program")
    if loader.batch_sampler is None:
        raise Refused(made, "DataLoader(batch_size=None)", "delivers samples, not batches")
    if loader.num_workers and loader.worker_init_fn is not None and not only_seeds(loader.worker_init_fn):
        raise Refused(
            made,
            f"DataLoader(worker_init_fn={name_of(loader.worker_init_fn)})",
            "may change the dataset in each worker",
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
    if type(batches) is not data.BatchSampler or not is_original(type(batches)):
        raise _sampler_refused(batches, "batch_sampler", made)
    sampler = batches.sampler
    if isinstance(sampler, (list, tuple, range)):
        return
    if type(sampler) not in _SAMPLERS or not is_original(type(sampler)):
        raise _sampler_refused(sampler, "sampler", made)


def _sampler_refused(sampler: Any, option: str, made: Place | None) -> Refused:
    name = type(sampler).__name__
    reason = f"is a {option} of your own, which may have a state"
    if name in ("BatchSampler", *(kind.__name__ for kind in _SAMPLERS)):
        reason = "has a changed method"
    return Refused(of_object(sampler, made), name, reason)


# ---- The transforms --------------------------------------------------------------------------------------------------


def _translation_of(transform: Any, kind: str, made: Place | None) -> Translation:
    if transform is None:
        raise Refused(made, f"{kind}(transform=None)", "default_collate cannot collate PIL images")
    translation = translation_of(transform)
    for _, refused, reason in translation.refused:
        raise Refused(of_object(refused, made), shown(refused), reason)
    for _, part in named(transform):
        each = type(part)
        if not isinstance(part, types.FunctionType) and not is_original(each, _INERT):
            raise Refused(call_of(each.__name__, made) or made, shown(part), "has a changed method")
    return translation
