"""penstock for PyTorch: batches of torch tensors, in the shape that torch's own DataLoader and trainers take."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import torch
from torch.utils.data import IterableDataset as _IterableDataset
from torch.utils.data import get_worker_info

from . import Dataset, Loader, Ragged, Tensor

__all__ = ["IterableDataset", "tensors"]


def tensors(batch: dict[str, Any]) -> dict[str, Any]:
    """A loader's batch with torch tensors in place of penstock's, without a copy.

    A Ragged becomes a pair (values, offsets); "__key__" stays a list of str.
    """
    return {name: _torch(value) for name, value in batch.items()}


def _torch(value: Any) -> Any:
    if isinstance(value, Tensor):
        return torch.from_dlpack(value)
    if isinstance(value, Ragged):
        return torch.from_dlpack(value.values), torch.from_dlpack(value.offsets)
    return value


class IterableDataset(_IterableDataset):
    """Whole batches as dicts of torch tensors; takes the options of penstock.Loader.

        dataset = ps.torch.IterableDataset("train.tar.d", batch_size=256, shuffle=True, fields={...})
        for batch in torch.utils.data.DataLoader(dataset, batch_size=None): ...

    The loader has threads of its own: leave DataLoader's num_workers at 0. Worker processes are served correctly, each
    with a share of the epoch as if it were a rank, but they copy every batch, and they begin at the epoch of the last
    set_epoch(): call it before each one.

    Pickling keeps path and options, not the loader: each process makes its own when it first iterates.
    """

    def __init__(self, source: str | os.PathLike[str] | Dataset, **options: Any) -> None:
        super().__init__()
        self._source = source
        self._options = options
        self._loader: Loader | None = None
        self._process: int | None = None
        self._epoch: int | None = None
        self._state: dict[str, Any] | None = None

    @property
    def loader(self) -> Loader:
        """The penstock.Loader of this process, made when first needed."""
        if self._loader is None or self._process != os.getpid():
            self._loader = Loader(self._source, **self._shared_out())
            self._process = os.getpid()
            if self._state is not None:
                self._loader.load_state_dict(self._state)
            elif self._epoch is not None:
                self._loader.set_epoch(self._epoch)
        return self._loader

    def _shared_out(self) -> dict[str, Any]:
        worker = get_worker_info()
        if worker is None or worker.num_workers == 1:
            return self._options
        rank, world = self._options.get("rank", 0), self._options.get("world", 1)
        if rank == "env":
            raise ValueError('rank="env" and several worker processes: give rank and world, or set num_workers=0')
        return {**self._options, "rank": rank * worker.num_workers + worker.id, "world": world * worker.num_workers}

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for batch in self.loader:
            yield tensors(batch)

    def __len__(self) -> int:
        """Batches of a full epoch, of this rank."""
        return len(self.loader)

    def set_epoch(self, epoch: int) -> None:
        self._epoch, self._state = epoch, None
        if self._loader is not None and self._process == os.getpid():
            self._loader.set_epoch(epoch)

    def state_dict(self) -> dict[str, Any]:
        return self.loader.state_dict()

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self._state = state_dict
        if self._loader is not None and self._process == os.getpid():
            self._loader.load_state_dict(state_dict)

    def __getstate__(self) -> dict[str, Any]:
        source = os.fspath(self._source.path) if isinstance(self._source, Dataset) else self._source
        return {**self.__dict__, "_source": source, "_loader": None, "_process": None}
