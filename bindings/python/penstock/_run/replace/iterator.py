"""The iterator of a replaced DataLoader. PyTorch's own base class asks the sampler, draws the seeds and times next()."""

from __future__ import annotations

import collections
import hashlib
import os
import random
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch.utils.data import _utils
from torch.utils.data.dataloader import _BaseDataLoaderIter

from . import draws, randomness
from .batches import Batches, Form, threads_for
from .recognize import Recipe
from .source import Unmade
from .threads import Call, Threads


class _Task(NamedTuple):
    number: int  # of the batch
    indices: list[Any]
    seed: int
    call: Call


class ReplacedIterator(_BaseDataLoaderIter):
    """Asks the sampler when PyTorch's iterator would: with workers, prefetch_factor batches for each worker ahead;
    without, one batch in next(). Therefore the states of all generators are PyTorch's at every moment."""

    def __init__(
        self, loader: Any, recipe: Recipe, form: Form, still: Callable[[], bool], unmade: Callable[[str], None]
    ) -> None:
        """still: whether the recipe holds. unmade: called with the reason when PyTorch makes a batch instead."""
        self._pool: Threads | None = None
        super().__init__(loader)
        self._still, self._unmade = still, unmade
        self._of_torch = _utils.fetch._MapDatasetFetcher(loader.dataset, True, loader.collate_fn, loader.drop_last)
        self._ahead = loader.prefetch_factor * self._num_workers if self._num_workers else 0
        folder = ""
        if self._ahead:  # worker processes would have their own list and working directory
            recipe, folder = recipe.copied(), os.getcwd()
        self._batches = Batches(recipe, form, bool(self._pin_memory), folder)
        self._epoch = 0
        self._started = 0
        self._waiting: collections.deque[_Task] = collections.deque()
        threads = threads_for(self._num_workers)
        most = max(2, self._num_workers) if recipe.source.reads else 2  # as many wait for storage as in the program
        self._at_once = min(most, threads) if self._ahead else 1
        self._threads = -(-threads // self._at_once)
        if self._ahead:
            self._reset(loader, first_iter=True)

    def _reset(self, loader: Any, first_iter: bool = False) -> None:
        super()._reset(loader, first_iter)
        self._forget()
        self._epoch, self._started = self._epoch + 1, 0
        for _ in range(self._ahead):
            self._start_next()

    def _start_next(self) -> None:
        try:
            indices = self._next_index()
        except StopIteration:
            return
        self._waiting.append(self._start(indices))

    def _start(self, indices: list[Any]) -> _Task:
        if self._pool is None:
            self._pool = Threads(self._at_once)
        named = f"{self._base_seed} {self._epoch} {self._started}"
        seed = int.from_bytes(hashlib.blake2b(named.encode(), digest_size=8).digest(), "little")
        call = self._pool.call(self._batches.make, indices, seed, self._threads)
        self._started += 1
        return _Task(self._started - 1, indices, seed, call)

    def _next_data(self) -> Any:
        if self._num_workers == 0:
            return self._next_inline()
        if not self._waiting:
            if not self._persistent_workers:
                self._close()
            raise StopIteration
        task = self._waiting.popleft()
        try:
            made = task.call.result(self._timeout or None)
        except TimeoutError:
            raise RuntimeError(f"DataLoader timed out after {self._timeout} seconds") from None
        except Unmade as reason:
            made = None
            self._unmade(str(reason))
        self._start_next()
        return made if made is not None else self._by_torch_apart(task)

    def _by_torch_apart(self, task: _Task) -> Any:
        """A batch that a worker would have made: its draws and exceptions are those of another process."""
        with randomness.kept(task.seed):
            try:
                return self._pinned(self._of_torch.fetch(task.indices))
            except Exception:
                worker = task.number % self._num_workers
                raised = torch._utils.ExceptionWrapper(where=f"in DataLoader worker process {worker}")
        raised.reraise()

    def _next_inline(self) -> Any:
        indices = self._next_index()
        if not self._still():
            return self._pinned(self._of_torch.fetch(indices))
        call = self._start(indices).call
        recipe = self._batches.recipe
        before = (random.getstate(), torch.get_rng_state()) if recipe.random else None
        try:
            if before is not None:
                for sample in recipe.samples(indices):
                    draws.repeat(recipe.transform, recipe.source.size(sample))
            return call.result(None)
        except Exception as reason:  # Unmade, or no draws because the file is not an image
            if before is not None:
                random.setstate(before[0])
                torch.set_rng_state(before[1])
            self._unmade(str(reason))
        return self._pinned(self._of_torch.fetch(indices))

    def _pinned(self, batch: Any) -> Any:
        return _utils.pin_memory.pin_memory(batch, self._pin_memory_device) if self._pin_memory else batch

    def _forget(self) -> None:
        for task in self._waiting:
            task.call.cancel()
        self._waiting.clear()

    def _close(self) -> None:
        pool, self._pool = self._pool, None
        if pool is not None:
            self._forget()
            pool.close()

    def __del__(self) -> None:
        self._close()
