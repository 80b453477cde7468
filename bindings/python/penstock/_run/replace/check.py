"""Compares a sample of the data: torch's dataset and collate function with penstock's batches."""

from __future__ import annotations

import contextlib
import os
import random
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

from ..._error import Error
from ..._penstock import Chain
from ...torch import decode
from . import distributions, draws, randomness, transforms
from .batches import Batches, Form
from .image_folder import is_default_collate
from .originals import name_of
from .places import Place, Refused
from .recognize import Recipe
from .source import Sample, Unmade

SAMPLES = 64
_BATCH = 8
_SEED = 20_201


class Check:
    """The comparison of one loader. All methods raise Refused."""

    def __init__(self, loader: Any, recipe: Recipe, made: Place | None) -> None:
        self._loader, self._recipe, self._made = loader, recipe, made
        self.indices: list[int] = []
        """The compared indices of the dataset, after run()."""
        self._samples: list[Sample] = []

    def run(self) -> Form:
        with warnings.catch_warnings(), _one_thread(), randomness.kept(_SEED):
            warnings.simplefilter("ignore")
            theirs = self._items()
            form = self._form(theirs)
            self._compare_fixed(theirs)
            if self._recipe.random:
                self._compare_random(theirs, form)
            if self._recipe.random and self._loader.num_workers == 0:
                self._compare_draws()
        return form

    def _refused(self, what: str, reason: str) -> Refused:
        return Refused(self._made, what, reason)

    # ---- Samples and batches ----

    def _items(self) -> list[Any]:
        """Torch's items. Files that Pillow cannot decode are left out: torch raises an exception for them later, too."""
        items, source = [], self._recipe.source
        for index in _spread(len(self._loader.dataset), self._recipe):
            try:
                items.append(self._loader.dataset[index])
            except Exception as failure:
                last = failure
                continue
            self.indices.append(index)
        if not items:
            raise self._refused(source.kind, f"no sample can be loaded: {last}")
        self._samples = [self._recipe.samples([index])[0] for index in self.indices]
        for item, sample in zip(items, self._samples):
            self._made_by_penstock(source.require_plain, sample)
            _, numbers = source.of_item(item)
            if list(map(type, numbers)) != [int] * len(numbers) or numbers != sample.numbers:
                label, expected = (", ".join(map(repr, some)) for some in (numbers, sample.numbers))
                raise self._refused(source.kind, f"{sample.name} has the label {label} instead of {expected}")
        return items

    def _form(self, items: list[Any]) -> Form:
        """Compares a collated batch, except its pixels."""
        collate, image = self._loader.collate_fn, self._recipe.source.image_key()
        try:
            theirs = collate(items[:_BATCH])
            images = theirs[image]
        except Exception as failure:
            raise self._refused(name_of(collate), str(failure).partition("\n")[0]) from None
        if type(images) is not torch.Tensor or images.dim() != 4:
            raise self._refused(name_of(collate), "makes no tensor of images")
        form = Form(tuple(images.shape[1:]), images.dtype)
        ours = self._batch(form, self.indices[:_BATCH])
        if type(theirs) is not type(ours) or _keys(theirs) != _keys(ours):
            raise self._refused(name_of(collate), f"makes a {type(theirs).__name__}")
        if self._loader.num_workers and is_default_collate(collate):  # workers copy into a contiguous tensor
            theirs[image] = images.contiguous()
        for key in _keys(ours):
            their, our = theirs[key], ours[key]
            if (their.dtype, their.shape, their.stride()) != (our.dtype, our.shape, our.stride()):
                raise self._refused(name_of(collate), f"makes {_shown(their)}, and penstock {_shown(our)}")
            if key != image and not torch.equal(their, our):
                raise self._refused(self._recipe.source.kind, "has other labels")
        return form

    def _batch(self, form: Form, indices: list[int], seed: int = 0) -> Any:
        return self._made_by_penstock(Batches(self._recipe, form, False).make, indices, seed, 1)

    def _made_by_penstock(self, function: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return function(*arguments)
        except Unmade as reason:
            raise self._refused("penstock", str(reason)) from None

    # ---- Pixels ----

    def _compare_fixed(self, items: list[Any]) -> None:
        """Compares the pixels of the transforms that are not random."""
        source = self._recipe.source
        fixed = transforms.fixed(self._recipe.transform)
        try:
            chain, translation = transforms.chain_of(fixed)
        except Error as failure:
            raise self._refused("the transforms without the random ones", failure.cause) from None
        chain = transforms.upright(chain, source.upright) if self._recipe.random else self._recipe.chain
        for item, sample in zip(items, self._samples):
            theirs, _ = source.of_item(item)
            if self._recipe.random:
                theirs = source.opened(sample)
                for transform in fixed:
                    theirs = transform(theirs)
            if not isinstance(theirs, torch.Tensor):
                theirs = torch.from_numpy(np.asarray(theirs)).permute(2, 0, 1)
            ours = self._decoded(sample.value, chain)
            dtype = str(theirs.dtype).rpartition(".")[2]
            difference = _difference(theirs, ours, transforms.tolerance(fixed, translation, dtype))
            if difference is not None:
                raise self._refused(os.path.basename(sample.name), f"penstock computes other pixels: {difference}")

    def _decoded(self, value: str | bytes, chain: Chain) -> torch.Tensor:
        try:
            decoded: torch.Tensor = decode(value, chain, seed=0)
        except Error as failure:
            raise self._refused("penstock", str(failure)) from None
        return decoded

    def _compare_random(self, items: list[Any], form: Form) -> None:
        recipe = self._recipe
        source, image = recipe.source, recipe.source.image_key()
        ours = torch.cat([self._batch(form, [index], seed)[image] for seed, index in enumerate(self.indices)])
        theirs = torch.stack([torch.as_tensor(source.of_item(item)[0]) for item in items])
        names = ", ".join(recipe.random)
        if distributions.differ(distributions.features(theirs), distributions.features(ours)):
            raise self._refused(names, "penstock's results for the sample have another distribution")
        for size in {source.size(self._samples[place]) for place in (0, len(self._samples) // 2)}:
            if distributions.transforms_differ(recipe.transform, recipe.chain, size):
                raise self._refused(names, "penstock's results have another distribution")

    def _compare_draws(self) -> None:
        """Without workers, the transforms draw from the program's generator. draws.repeat() must leave it in the same
        state."""
        for index, sample in zip(self.indices, self._samples):
            before = random.getstate(), torch.get_rng_state()
            self._loader.dataset[index]
            after = random.getstate(), torch.get_rng_state()
            random.setstate(before[0])
            torch.set_rng_state(before[1])
            try:
                draws.repeat(self._recipe.transform, self._recipe.source.size(sample))
                same = random.getstate() == after[0] and torch.equal(torch.get_rng_state(), after[1])
            except Exception:
                same = False
            if not same:
                raise self._refused(
                    "DataLoader(num_workers=0)",
                    f"{self._recipe.random[0]} draws from the program's own generator, and penstock cannot repeat "
                    "the draws; pass num_workers=1 or more",
                )


@contextlib.contextmanager
def _one_thread() -> Iterator[None]:
    """Workers also use one thread. On a busy machine, several threads wait for each other in each operator."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _spread(count: int, recipe: Recipe) -> list[int]:
    """Indices over the whole dataset, and the first file of each extension."""
    if count <= SAMPLES:
        return list(range(count))
    chosen = {round(place * (count - 1) / (SAMPLES - 1)) for place in range(SAMPLES)}
    extensions: dict[str, int] = {}
    for index, path in enumerate(recipe.paths()):
        extensions.setdefault(os.path.splitext(path or "")[1].lower(), index)
    return sorted(chosen | set(list(extensions.values())[:SAMPLES]))


def _keys(batch: Any) -> list[Any]:
    return list(batch) if isinstance(batch, dict) else list(range(len(batch)))


def _difference(theirs: torch.Tensor, ours: torch.Tensor, allowed: transforms.Tolerance) -> str | None:
    """Describes pixels that differ by more than allowed; None if there are none."""
    if theirs.shape != ours.shape or theirs.dtype != ours.dtype:
        return f"{_shown(theirs)} and {_shown(ours)}"
    exact, other = theirs.double(), ours.double()
    differences = (exact - other).abs() - allowed.relative * exact.abs()
    for channel, most, mean in zip(differences, allowed.largest, allowed.mean):
        if float(channel.max()) > most or float(channel.clamp(min=0).mean()) > mean:
            return f"the largest difference is {float(channel.max()):.3g}, the mean one {float(channel.mean()):.3g}"
    return None


def _shown(tensor: torch.Tensor) -> str:
    return f"{str(tensor.dtype).rpartition('.')[2]} {tuple(tensor.shape)} with strides {tensor.stride()}"
