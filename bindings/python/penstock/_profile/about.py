"""The kind of the wrapped loader, as far as it matters for advice."""

from __future__ import annotations

import contextlib
import dataclasses
import sys
from collections.abc import Iterator
from typing import Any

from .. import _error
from .._loader import Loader


def layers(wrapped: Any) -> Iterator[Any]:
    """The loader and its inner loaders: WebDataset's WebLoader contains a DataLoader, as do torchdata's and
    Accelerate's loaders."""
    seen: set[int] = set()
    ahead = [wrapped]
    while ahead and len(seen) < 32:
        layer = ahead.pop(0)
        if layer is None or id(layer) in seen:
            continue
        seen.add(id(layer))
        yield layer
        pipeline = getattr(layer, "pipeline", None)
        ahead += [getattr(layer, "base_dataloader", None), *(pipeline if isinstance(pipeline, list) else [])]


@dataclasses.dataclass(frozen=True)
class About:
    kind: str  # "DataLoader"
    num_workers: int | None = None  # set for a DataLoader
    persistent: bool = False  # whether the worker processes stay for the next epoch
    batch_size: int | None = None
    in_order: bool = False  # whether samples come in the dataset's order

    @staticmethod
    def of(wrapped: Any) -> About:
        for layer in layers(wrapped):
            workers = getattr(layer, "num_workers", None)
            if isinstance(workers, int) and hasattr(layer, "dataset"):
                persistent = getattr(layer, "persistent_workers", False) is True
                in_order = type(getattr(layer, "sampler", None)).__name__ == "SequentialSampler"
                return About(type(wrapped).__name__, workers, persistent, _batch_size(layer), in_order)
        return About(type(wrapped).__name__, batch_size=_batch_size(wrapped))


def _batch_size(layer: Any) -> int | None:
    for has in (layer, getattr(layer, "batch_sampler", None)):
        size = getattr(has, "batch_size", None)
        if isinstance(size, int) and size > 0:
            return size
    return None


def own_loaders(wrapped: Any) -> Iterator[Any]:
    """The penstock loaders inside, also inside a DataLoader without worker processes."""
    torch: Any = sys.modules.get(f"{__package__.split('.')[0]}.torch")
    kinds = (Loader, *([torch.Loader] if torch is not None else []))
    for layer in layers(wrapped):
        if isinstance(layer, kinds):
            yield layer  # Its dataset is not asked for: the loader may be closed.
        elif not getattr(layer, "num_workers", 0) and isinstance(dataset := getattr(layer, "dataset", None), kinds):
            yield dataset


def is_own(wrapped: Any) -> bool:
    return next(own_loaders(wrapped), None) is not None


def reset_own(wrapped: Any) -> None:
    """Resets the statistics of penstock loaders inside."""
    for loader in own_loaders(wrapped):
        with contextlib.suppress(_error.Error):  # closed in the meantime
            loader.reset_stats()


def own_verdict(wrapped: Any) -> dict[str, Any] | None:
    """The diagnosis of a penstock loader inside, if its stats have one."""
    for loader in own_loaders(wrapped):
        try:
            said = loader.stats().get("verdict")
        except _error.Error:  # closed in the meantime
            return None
        return said if isinstance(said, dict) else None
    return None
