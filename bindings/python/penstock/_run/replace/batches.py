"""Makes the batches of a recipe with penstock's decoder."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch

from ..._penstock import usable_cores
from ...torch import decode_batch
from .recognize import Recipe
from .source import Unmade


class Form(NamedTuple):
    """The form of an image, the same in all batches."""

    shape: tuple[int, ...]
    dtype: torch.dtype


class Batches:
    """Has no reference to the loader or its iterator, because threads use it."""

    def __init__(self, recipe: Recipe, form: Form, pin_memory: bool, folder: str = "") -> None:
        """folder: of relative paths."""
        self.recipe, self._form, self._pin_memory, self._folder = recipe, form, pin_memory, folder
        self._device = _accelerator().current_device_index() if pin_memory and _accelerator() is not None else None

    def make(self, indices: Sequence[Any], seed: int, threads: int) -> Any:
        """A batch, as the collate function makes it. Raises Unmade."""
        try:
            return self._make(indices, seed, threads)
        except Unmade:
            raise
        except Exception as failure:
            raise Unmade(f"{type(failure).__name__}: {failure}") from failure

    def _make(self, indices: Sequence[Any], seed: int, threads: int) -> Any:
        source = self.recipe.source
        samples = self.recipe.samples(indices, self._folder)
        for sample in samples:
            for number in sample.numbers:
                if type(number) is not int:
                    raise Unmade(f"{sample.name}: the label {number!r} is not an int")
            source.require_plain(sample)
        if self._device is not None:  # else pinning would use the first device from this thread
            _accelerator().set_device_index(self._device)
        form, pinned = self._form, self._pin_memory
        images = torch.empty((len(samples), *form.shape), dtype=form.dtype, device="cpu", pin_memory=pinned)
        values = [sample.value for sample in samples]
        decode_batch(values, self.recipe.chain, out=images, seed=seed, workers=threads)
        numbers = [
            torch.tensor(column, dtype=torch.int64, device="cpu") for column in zip(*(one.numbers for one in samples))
        ]
        return source.batch(images, [column.pin_memory() if pinned else column for column in numbers])


def threads_for(workers: int) -> int:
    """One thread for each usable core of this rank, and at least one for each worker that the program wants: they may
    wait for storage."""
    ranks = os.environ.get("LOCAL_WORLD_SIZE", "")
    share = (os.cpu_count() or 1) // max(1, int(ranks) if ranks.isdecimal() else 1)
    return max(1, workers, min(usable_cores(), share))


def _accelerator() -> Any:
    """torch.accelerator, from PyTorch 2.6 on; torch.cuda before."""
    found: Any = getattr(torch, "accelerator", None)
    return found if found is not None else _Cuda if "torch.cuda" in sys.modules else None


class _Cuda:
    @staticmethod
    def current_device_index() -> int:
        return torch.cuda.current_device()

    @staticmethod
    def set_device_index(index: int) -> None:
        torch.cuda.set_device(index)
