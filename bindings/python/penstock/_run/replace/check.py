"""Compares a sample of the data: torch's dataset and collate function with penstock's batches."""

from __future__ import annotations

import contextlib
import os
import random
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from ..._error import Error
from ..._penstock import Chain
from ...torch import decode
from . import distributions, draws, randomness, transforms
from .batches import Batches, Form, Unmade
from .places import Place
from .recognize import Recipe, Refused

SAMPLES = 64
_BATCH = 8
_SEED = 20_201


class Check:
    """The comparison of one loader. All methods raise Refused."""

    def __init__(self, loader: Any, recipe: Recipe, made: Place | None) -> None:
        self._loader, self._recipe, self._made = loader, recipe, made
        self.indices: list[int] = []
        """The compared indices of the dataset, after run()."""

    def run(self) -> Form:
        with warnings.catch_warnings(), _one_thread(), randomness.kept(_SEED):
            warnings.simplefilter("ignore")
            theirs = self._items()
            form = self._form(theirs)
            self._compare_fixed()
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
        items = []
        for index in _spread(len(self._loader.dataset), self._recipe):
            try:
                items.append(self._loader.dataset[index])
            except Exception as failure:
                last = failure
                continue
            self.indices.append(index)
        if not items:
            raise self._refused("ImageFolder", f"no sample can be loaded: {last}")
        for (_, label), index in zip(items, self.indices):
            path, expected = self._recipe.sample_at(index)
            if type(label) is not int or label != expected:
                raise self._refused("ImageFolder", f"{path} has the label {label!r} instead of {expected}")
        return items

    def _form(self, items: list[Any]) -> Form:
        """Compares a collated batch, except its pixels."""
        try:
            theirs = self._loader.collate_fn(items[:_BATCH])
        except Exception as failure:
            raise self._refused("default_collate", str(failure).partition("\n")[0]) from None
        images = theirs[0]
        if type(images) is not torch.Tensor or images.dim() != 4:
            raise self._refused("default_collate", "makes no tensor of images")
        form = Form(tuple(images.shape[1:]), images.dtype)
        ours = self._batch(form, self.indices[:_BATCH])
        if type(theirs) is not type(ours) or len(theirs) != len(ours):
            raise self._refused("default_collate", f"makes a {type(theirs).__name__}")
        if self._loader.num_workers:  # workers copy into a contiguous tensor
            theirs[0] = images.contiguous()
        for their, our in zip(theirs, ours):
            if (their.dtype, their.shape, their.stride()) != (our.dtype, our.shape, our.stride()):
                raise self._refused("default_collate", f"makes {_shown(their)}, and penstock {_shown(our)}")
        if not torch.equal(theirs[1], ours[1]):
            raise self._refused("ImageFolder", "has other labels")
        return form

    def _batch(self, form: Form, indices: list[int], seed: int = 0) -> list[torch.Tensor]:
        try:
            return Batches(self._recipe, form, False).make(indices, seed, 1)
        except Unmade as reason:
            raise self._refused("penstock", str(reason)) from None

    # ---- Pixels ----

    def _compare_fixed(self) -> None:
        """Compares the pixels of the transforms that are not random."""
        fixed = transforms.fixed(self._recipe.transform)
        try:
            chain, translation = transforms.chain_of(fixed)
        except Error as failure:
            raise self._refused("the transforms without the random ones", failure.cause) from None
        if not self._recipe.random:
            chain = self._recipe.chain
        for index in self.indices:
            path, _ = self._recipe.sample_at(index)
            theirs: Any = self._recipe.folder.loader(path)
            for transform in fixed:
                theirs = transform(theirs)
            if not isinstance(theirs, torch.Tensor):
                theirs = torch.from_numpy(np.asarray(theirs)).permute(2, 0, 1)
            ours = self._decoded(path, chain)
            dtype = str(theirs.dtype).rpartition(".")[2]
            difference = _difference(theirs, ours, transforms.tolerance(fixed, translation, dtype))
            if difference is not None:
                raise self._refused(os.path.basename(path), f"penstock computes other pixels: {difference}")

    def _decoded(self, path: str, chain: Chain) -> torch.Tensor:
        try:
            decoded: torch.Tensor = decode(path, chain, seed=0)
        except Error as failure:
            raise self._refused("penstock", str(failure)) from None
        return decoded

    def _compare_random(self, items: list[Any], form: Form) -> None:
        recipe = self._recipe
        ours = torch.cat([self._batch(form, [index], seed)[0] for seed, index in enumerate(self.indices)])
        theirs = torch.stack([torch.as_tensor(image) for image, _ in items])
        names = ", ".join(recipe.random)
        if distributions.differ(distributions.features(theirs), distributions.features(ours)):
            raise self._refused(names, "penstock's results for the sample have another distribution")
        for path, _ in {recipe.sample_at(self.indices[0]), recipe.sample_at(self.indices[len(self.indices) // 2])}:
            size = recipe.folder.loader(path).size
            if distributions.transforms_differ(recipe.transform, recipe.chain, size):
                raise self._refused(names, "penstock's results have another distribution")

    def _compare_draws(self) -> None:
        """Without workers, the transforms draw from the program's generator. draws.repeat() must leave it in the same
        state."""
        for index in self.indices:
            path, _ = self._recipe.sample_at(index)
            before = random.getstate(), torch.get_rng_state()
            self._loader.dataset[index]
            after = random.getstate(), torch.get_rng_state()
            random.setstate(before[0])
            torch.set_rng_state(before[1])
            try:
                draws.repeat(self._recipe.transform, path)
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
    for index in range(count):
        extensions.setdefault(os.path.splitext(recipe.sample_at(index)[0])[1].lower(), index)
    return sorted(chosen | set(list(extensions.values())[:SAMPLES]))


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
