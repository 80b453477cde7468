"""Measures the rates of both loaders on the sample. The check has read its files into the page cache."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from torch import Generator
from torch.utils.data import DataLoader

from . import randomness

_BATCH = 16
_BATCHES = 4  # for each worker


class Rates(NamedTuple):
    """Samples per second."""

    torch: float
    penstock: float


def measure(loader: Any, indices: list[int], replaced: Callable[[Any], Iterator[Any]]) -> Rates:
    """replaced: makes the iterator that replaces that of a DataLoader."""
    size = min(loader.batch_size or _BATCH, _BATCH)
    count = size * _BATCHES * max(loader.num_workers, 1)
    order = [indices[place % len(indices)] for place in range(count)]
    workers = bool(loader.num_workers)
    options = {"prefetch_factor": loader.prefetch_factor, "persistent_workers": True} if workers else {}
    with warnings.catch_warnings(), randomness.kept(0):
        warnings.simplefilter("ignore")
        like: DataLoader[Any] = DataLoader(
            loader.dataset,
            size,
            sampler=order,
            num_workers=loader.num_workers,
            pin_memory=loader.pin_memory,
            timeout=loader.timeout,
            collate_fn=loader.collate_fn,
            multiprocessing_context=loader.multiprocessing_context,
            generator=Generator().manual_seed(0),
            **options,
        )
        theirs = _rate(like, count)
        like._iterator = None  # ends the workers
        ours = _rate_of(lambda: replaced(like), count)
    return Rates(theirs, ours)


def _rate(loader: DataLoader[Any], count: int) -> float:
    if loader.num_workers:  # the first epoch starts the workers
        for _ in loader:
            pass
    return _rate_of(lambda: iter(loader), count)


def _rate_of(iterate: Callable[[], Iterator[Any]], count: int) -> float:
    began = time.perf_counter()
    for _ in iterate():
        pass
    return count / (time.perf_counter() - began)
