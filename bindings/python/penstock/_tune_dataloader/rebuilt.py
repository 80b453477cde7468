"""A DataLoader with the parts of another and other settings."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Iterator
from typing import Any

from torch.utils.data import DataLoader, IterableDataset

from .setting import Setting, made

_KEPT = (
    "collate_fn",
    "timeout",
    "worker_init_fn",
    "multiprocessing_context",
    "generator",
    "pin_memory_device",
    "in_order",
)


class First:
    """The first `count` items of a sampler. A pass that ends by itself leaves no batches that workers prepare in vain."""

    def __init__(self, sampler: Any, count: int) -> None:
        self._sampler, self._count = sampler, count

    def __iter__(self) -> Iterator[Any]:
        return itertools.islice(iter(self._sampler), self._count)

    def __len__(self) -> int:
        return min(self._count, len(self._sampler))


def is_iterable(loader: Any) -> bool:
    return isinstance(loader.dataset, IterableDataset)


def rebuilt(loader: Any, setting: Setting, batches: int) -> Any:
    """Does not change `loader`. An IterableDataset orders its own samples, so the caller must end the passes."""
    known = inspect.signature(DataLoader.__init__).parameters
    options = {name: getattr(loader, name) for name in _KEPT if name in known and hasattr(loader, name)}
    if setting.num_workers == 0:
        options.update(timeout=0, multiprocessing_context=None)
    else:
        options.update(persistent_workers=setting.persistent_workers, prefetch_factor=setting.prefetch_factor)
    if is_iterable(loader):
        options.update(batch_size=loader.batch_size)
        if loader.batch_size is not None:
            options.update(drop_last=loader.drop_last)
    elif loader.batch_sampler is not None:
        options.update(batch_sampler=First(loader.batch_sampler, batches))
    else:
        options.update(batch_size=None, sampler=First(loader.sampler, batches))
    return DataLoader(
        loader.dataset,
        num_workers=setting.num_workers,
        pin_memory=setting.pin_memory,
        **options,
    )


def own_setting(loader: Any) -> Setting:
    return made(loader.num_workers, loader.persistent_workers, loader.prefetch_factor, loader.pin_memory)
