"""penstock for PyTorch: batches of torch tensors, in the shape that torch's own DataLoader and trainers take."""

from __future__ import annotations

import functools
import multiprocessing.sharedctypes
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from multiprocessing.context import get_spawning_popen
from typing import TYPE_CHECKING, Any, NoReturn

import torch
from torch.utils.data import IterableDataset as _IterableDataset
from torch.utils.data import get_worker_info

from . import Dataset, Ragged, RankTable, Stats, Tensor
from . import Loader as _Loader
from . import rank_table as _rank_table
from ._habits import here
from ._loader import require_options, warn_of_ranks

__all__ = ["Loader", "nested", "rank_table", "rows", "sum_over_ranks", "tensor", "tensors"]


_COPIED_ROW_BYTES = 256  # as penstock copies it on the host, so that labels which a program keeps hold no slab
_TAKES_BOOL = tuple(int(n) for n in torch.__version__.split(".")[:2]) >= (2, 2)  # by DLPack; "__valid__" is bool


def tensors(batch: dict[str, Any]) -> dict[str, Any]:
    """A loader's batch with torch tensors in place of penstock's, without a copy but of at most 256 bytes a row.

    A Ragged becomes a pair (values, offsets), of which rows() and nested() make other forms, and one of images with sizes of
    their own a list of tensors, one for each row; the numpy array of a ps.transform() a tensor too; "__key__" stays a list.
    """
    return {name: _torch(value) for name, value in batch.items()}


def tensor(value: Tensor) -> torch.Tensor:
    """One of a batch's tensors as torch's, without a copy but of at most 256 bytes a row on a GPU."""
    if value.dtype == "bool" and not _TAKES_BOOL:
        return torch.frombuffer(bytearray(value.tobytes()), dtype=torch.bool).reshape(value.shape)
    taken = torch.from_dlpack(value)
    small = taken.is_cuda and value.nbytes <= _COPIED_ROW_BYTES * len(value)
    return taken.clone() if small else taken


def rows(value: Ragged | tuple[torch.Tensor, torch.Tensor]) -> list[torch.Tensor]:
    """The rows of a Ragged, or of the pair that it became, as tensors in the same memory, one for each."""
    if isinstance(value, Ragged) and value.shapes is not None:
        starts, shapes = value.offsets.tolist(), value.shapes.tolist()
        values = tensor(value.values)
        return [values[begin:end].view(shape) for begin, end, shape in zip(starts[:-1], starts[1:], shapes)]
    values, offsets = (tensor(value.values), tensor(value.offsets)) if isinstance(value, Ragged) else value
    starts = offsets.tolist()
    return [values[begin:end] for begin, end in zip(starts[:-1], starts[1:])]


def nested(value: Ragged | tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
    """A Ragged, or the pair that it became, as a nested tensor of the jagged layout, (rows, n, ...), without a copy of the
    values. Its values() and offsets() are the pair again, and torch.nested.to_padded_tensor() fills rows up."""
    if isinstance(value, Ragged) and value.shapes is not None:
        raise ValueError(
            "images with sizes of their own are no jagged tensor, which differs along one dimension: rows() "
            "gives a list of them"
        )
    values, offsets = (tensor(value.values), tensor(value.offsets)) if isinstance(value, Ragged) else value
    made = getattr(getattr(torch, "nested", None), "nested_tensor_from_jagged", None)
    if made is None:
        raise RuntimeError(
            f"nested tensors of the jagged layout need a newer PyTorch than {torch.__version__}; rows() gives a list"
        )
    return made(values, offsets.to(values.device))


def _of_numpy(array: Any) -> torch.Tensor:
    try:
        return torch.from_numpy(array)
    except RuntimeError:  # a PyTorch that was built for another NumPy
        if array.dtype.kind == "b" and not _TAKES_BOOL:
            return torch.frombuffer(bytearray(array.tobytes()), dtype=torch.bool).reshape(array.shape)
        return torch.from_dlpack(array)


def _torch(value: Any) -> Any:
    if isinstance(value, Tensor):
        return tensor(value)
    if isinstance(value, Ragged):
        return (tensor(value.values), tensor(value.offsets)) if value.shapes is None else rows(value)
    numpy = sys.modules.get("numpy")  # what ps.transform() made
    if numpy is not None and isinstance(value, numpy.ndarray) and value.dtype.kind in "biufc":
        return _of_numpy(value)
    return value


def sum_over_ranks(group: Any = None) -> Callable[[int], int]:
    """For the option of that name: sums a number over the ranks of a process group of torch.distributed.

        loader = ps.Loader(..., rank="env", on_error="mark", all_reduce=ps.torch.sum_over_ranks())

    group: a group of its own, best one of backend "gloo" (torch.distributed.new_group(backend="gloo")), so that it does not
    stand between the collectives of the training step; None: the default group.
    """

    def summed(number: int) -> int:
        distributed = torch.distributed
        on_gpu = distributed.get_backend(group) == "nccl"
        value = torch.tensor([number], dtype=torch.int64, device="cuda" if on_gpu else "cpu")
        distributed.all_reduce(value, group=group)
        return int(value.item())

    return summed


def rank_table(stats: Mapping[str, Any], group: Any = None) -> RankTable:
    """penstock.rank_table() of the stats of all ranks: a collective of torch.distributed, so every rank calls it.

        table = ps.torch.rank_table(loader.stats())  # at the end of an epoch
        if table.slow is not None and rank == 0: print(table)

    group: as for sum_over_ranks().
    """
    distributed = torch.distributed
    gathered: list[Any] = [None] * distributed.get_world_size(group)
    distributed.all_gather_object(gathered, stats, group=group)
    return _rank_table(gathered)


class _SharedEpoch:
    """The epoch that DataLoader's worker processes are in, kept where all that come and go over a run find it.

    One number, so that it is read and written at once: 31 bits made of the seed that DataLoader draws for each iteration
    over it, and 32 bits of that iteration's epoch + 1.
    """

    def __init__(self) -> None:
        self._tag_and_next = multiprocessing.sharedctypes.RawValue("q", 0)

    def of(self, iteration_seed: int) -> int:
        """The epoch of an iteration: one more than the last one's. Workers that ask together compute the same."""
        tag_and_next = self._tag_and_next.value
        if tag_and_next >> 32 != self._tag(iteration_seed):
            self.set(tag_and_next & 0xFFFFFFFF, iteration_seed)
        return (self._tag_and_next.value & 0xFFFFFFFF) - 1

    def set(self, epoch: int, iteration_seed: int | None = None) -> None:
        """`epoch` is that of the given iteration, or else of the next one."""
        tagged = (self._tag(iteration_seed) << 32) + epoch + 1 if iteration_seed is not None else epoch
        self._tag_and_next.value = tagged

    @staticmethod
    def _tag(iteration_seed: int) -> int:
        return 1 + iteration_seed % 0x7FFFFFFE


def _iteration_seed() -> int | None:
    """What all worker processes of one iteration over a DataLoader have in common; None in other processes."""
    worker = get_worker_info()
    return worker.seed - worker.id if worker is not None else None


def _on_tensors(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def on_batch(batch: dict[str, Any], *random: Any) -> Any:
        return function(tensors(batch), *random)

    return on_batch


def _require_outputs(names: Iterable[str], known: dict[str, Any]) -> None:
    for name in names:
        if name not in known:
            raise ValueError(f'as_tuple: there is no output "{name}", there are {", ".join(known)}')


class Loader(_IterableDataset):
    """A penstock.Loader whose batches are torch tensors; takes the same options. `batch_transform` gets and gives tensors.

        loader = ps.torch.Loader("train.tar.d", batch_size=256, shuffle=True, transforms={...}, as_tuple=("jpg", "cls"))
        for images, labels in loader: ...

    It is an IterableDataset of whole batches, for programs that want a DataLoader around it:
    torch.utils.data.DataLoader(loader, batch_size=None). Without batch_size=None, iteration raises TypeError, because a
    DataLoader would make batches of batches.

    A batch is a dict as penstock.Loader gives it, or with `as_tuple` a tuple of these outputs: as_tuple=("jpg", "cls")
    gives (images, labels). A name that is no output is a ValueError. Where rows may pad or be marked bad, name
    "__valid__" among them too, and leave out the rows that it is False for; without it a warning says so once.

    The loader has threads of its own: leave DataLoader's num_workers at 0. Worker processes are served correctly, each
    with a share of the epoch as if it were a rank, but they copy every batch.

    With several ranks, an on_error that counts invalid samples, and torch.distributed initialized, all_reduce is
    sum_over_ranks() unless it is given.

    Pickling keeps path and options, not the loader: each process makes its own when it first iterates.
    """

    def __init__(
        self, dataset: str | os.PathLike[str] | Dataset, *, as_tuple: Sequence[str] | None = None, **options: Any
    ) -> None:
        super().__init__()
        require_options("penstock.torch.Loader", options, "as_tuple")
        if isinstance(as_tuple, str):
            raise TypeError(f'as_tuple is a sequence of names: ("{as_tuple}",)')
        transforms = options.get("transforms")
        if as_tuple is not None and isinstance(transforms, dict) and options.get("batch_transform") is None:
            # "__key__" and the like come by themselves
            _require_outputs([name for name in as_tuple if not name.startswith("__")], transforms)
        self._source = dataset
        self._as_tuple = as_tuple
        self._options = options
        self._loader: _Loader | None = None
        self._process: int | None = None
        self._epoch = 0  # where a loader that is made later begins
        self._state: dict[str, Any] | None = None  # the last that was restored
        self._from_state = False  # a loader that is made later begins where it says
        self._restored = False  # and no batch was taken since
        self._shared_epoch: _SharedEpoch | None = _SharedEpoch()
        self._warns = as_tuple is not None and "__valid__" not in as_tuple

    @property
    def loader(self) -> _Loader:
        """The penstock.Loader of this process, made when first needed."""
        if self._loader is None or self._process != os.getpid():
            warn_of_ranks(self._options)  # worker processes share out what their rank is given
            options = self._shared_out()
            if options.get("batch_transform") is not None:
                options = {**options, "batch_transform": _on_tensors(options["batch_transform"])}
            loader = _Loader(self._source, **options)
            try:
                self._go_to_start(loader)
            except BaseException:  # it stands at the first batch of all, which is not where this is to begin
                loader.close()
                raise
            self._loader, self._process = loader, os.getpid()
        return self._loader

    def _go_to_start(self, loader: _Loader) -> None:
        iteration = _iteration_seed()
        epoch = self._epoch
        if iteration is not None and self._shared_epoch is not None:
            epoch = self._shared_epoch.of(iteration)
        if self._state is not None:  # its seed is also that of the epochs behind it
            loader.load_state_dict(self._state)
            if self._from_state and self._epoch == epoch:
                return
        if self._state is not None or epoch > 0:
            loader.set_epoch(epoch)

    def _shared_out(self) -> dict[str, Any]:
        worker = get_worker_info()
        if worker is None:
            return self._with_all_reduce()
        if worker.num_workers == 1:
            return self._options
        rank, world = self._options.get("rank", 0), self._options.get("world_size", 1)
        if rank == "env":
            raise ValueError('rank="env" and several worker processes: give rank and world_size, or set num_workers=0')
        return {
            **self._options,
            "rank": rank * worker.num_workers + worker.id,
            "world_size": world * worker.num_workers,
        }

    def _with_all_reduce(self) -> dict[str, Any]:
        distributed = torch.distributed
        counts = self._options.get("on_error", "raise") != "raise" and "all_reduce" not in self._options
        if not counts or not distributed.is_available() or not distributed.is_initialized():
            return self._options
        several = self._options.get("rank") == "env" or self._options.get("world_size") == distributed.get_world_size()
        return {**self._options, "all_reduce": sum_over_ranks()} if several else self._options

    def __iter__(self) -> Iterator[Any]:
        """Begins an epoch and iterates over its batches."""
        fetcher = sys._getframe(1).f_locals.get("self")
        if getattr(fetcher, "auto_collation", False) and getattr(fetcher, "dataset", None) is self:
            raise TypeError(
                "a penstock.torch.Loader gives whole batches, and this DataLoader would make batches of them: iterate over "
                "the loader itself, or give DataLoader batch_size=None"
            )
        return self.loader._iterate(self._taken)  # type: ignore[attr-defined]  # a batch counts as delivered once it is converted

    def _taken(self, batch: Any) -> Any:
        if not isinstance(batch, dict):  # what batch_transform made
            taken = batch
        elif self._as_tuple is None:
            taken = tensors(batch)
        else:
            if self._warns:
                self._warn_of_rows_that_do_not_count(batch)
            _require_outputs(self._as_tuple, batch)
            taken = tuple(_torch(batch[name]) for name in self._as_tuple)
        self._restored = False
        return taken

    def _warn_of_rows_that_do_not_count(self, batch: dict[str, Any]) -> None:
        valid = batch.get("__valid__")
        if valid is None:
            return
        valid = _torch(valid)
        rows = len(valid) - int(valid.sum())
        if rows == 0:
            return
        self._warns = False
        warnings.warn(
            f"{rows} of the {len(valid)} rows of a batch of {os.fspath(self.loader.dataset.path)} pad it or are marked "
            'bad, and as_tuple does not tell which: name "__valid__" among them and count the rows that it is True for '
            '(or give last_batch="drop")',
            stacklevel=4,
        )

    def __len__(self) -> int:
        """Batches of a full epoch, of this rank."""
        return len(self.loader)

    def stats(self) -> Stats:
        """Counters and times of this process's loader; str() of it is the stage table. Worker processes of a DataLoader
        have loaders of their own, whose times it does not hold."""
        return self.loader.stats()

    def reset_stats(self) -> None:
        """Sets the counters and times of this process's loader to zero."""
        self.loader.reset_stats()

    def metrics(self, prefix: str = "penstock/") -> dict[str, float]:
        """stats() as a flat dict of floats, for wandb, TensorBoard and Lightning's log_dict()."""
        return self.loader.metrics(prefix)

    def set_epoch(self, epoch: int) -> None:
        """The next batch is the first of that epoch; for worker processes, those that are started from now on.

        After load_state_dict(), the epoch that the state was made in does not move the position: a training loop that
        calls set_epoch() at the top of every epoch continues in the middle of it.
        """
        if self._restored and epoch == self._epoch:
            return
        self._go_to(epoch)
        if self._loader is not None and self._process == os.getpid():
            self._loader.set_epoch(epoch)

    @property
    def sampler(self) -> Loader:
        """Itself: Lightning tells `sampler.set_epoch` of a loader which epoch begins."""
        return self

    @property
    def batch_sampler(self) -> None:
        """None, as of a DataLoader without one: what asks for `sampler` asks for this too."""
        return None

    def _go_to(self, epoch: int, from_state: bool = False) -> None:
        self._epoch, self._from_state, self._restored = epoch, from_state, from_state
        if self._shared_epoch is not None:
            self._shared_epoch.set(epoch, _iteration_seed())

    def state_dict(self) -> dict[str, Any]:
        """The position behind the last batch that the program got; see `ps.Loader.state_dict`."""
        return self.loader.state_dict()

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """The next batch is the first that had not been delivered when the state was saved."""
        if self._loader is not None and self._process == os.getpid():
            self._loader.load_state_dict(state_dict)
        self._state = state_dict
        self._go_to(int(state_dict.get("epoch", 0)), from_state=True)

    def __getstate__(self) -> dict[str, Any]:
        kept = {**self.__dict__, "_loader": None, "_process": None}
        if get_spawning_popen() is None:  # only a process that is being started can share memory
            kept["_shared_epoch"] = None
        return kept


if not TYPE_CHECKING:  # which tells of other names itself

    def __getattr__(name: str) -> NoReturn:
        raise AttributeError(here(__name__, name))
