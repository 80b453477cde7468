"""penstock for PyTorch: batches of torch tensors, in the form that torch's own DataLoader and trainers use."""

from __future__ import annotations

import functools
import multiprocessing.sharedctypes
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from multiprocessing.context import get_spawning_popen
from typing import TYPE_CHECKING, Any, NoReturn, cast

import torch
from torch.utils.data import Dataset as _TorchDataset
from torch.utils.data import IterableDataset as _IterableDataset
from torch.utils.data import get_worker_info

from . import Chain, Dataset, Error, Ragged, RankTable, Schedule, Stats, Steps, Tensor, Trace, _decode, _image_folder
from . import Loader as _Loader
from . import rank_table as _rank_table
from ._decode import Value
from ._habits import here
from ._loader import require_options, warn_of_ranks
from ._translate.translator import chain_of

__all__ = [
    "ImageFolder",
    "Loader",
    "decode",
    "decode_batch",
    "decoder",
    "nested",
    "rank_table",
    "rows",
    "sum_over_ranks",
    "tensor",
    "tensors",
]


# GPU rows up to this size are copied, as penstock does on the host, so that kept labels do not hold a batch buffer
_COPIED_ROW_BYTES = 256
# whether DLPack imports bool; "__valid__" is bool
_TAKES_BOOL = tuple(int(n) for n in torch.__version__.split(".")[:2]) >= (2, 2)


def tensors(batch: dict[str, Any]) -> dict[str, Any]:
    """Converts a loader's batch to torch tensors. Zero-copy, except for outputs of at most 256 bytes per row.

    A Ragged becomes a pair (values, offsets), which rows() and nested() convert to other forms. A Ragged of images with
    different sizes becomes a list of tensors, one for each row. The NumPy array of a ps.transform() becomes a tensor
    too, as do the arrays of "__present__"; "__key__" stays a list.
    """
    return {name: _torch(value) for name, value in batch.items()}


def tensor(value: Tensor) -> torch.Tensor:
    """Converts one tensor of a batch to torch. Zero-copy, except on a GPU for outputs of at most 256 bytes per row."""
    if value.dtype == "bool" and not _TAKES_BOOL:
        return torch.frombuffer(bytearray(value.tobytes()), dtype=torch.bool).reshape(value.shape)
    taken = torch.from_dlpack(value)
    small = taken.is_cuda and value.nbytes <= _COPIED_ROW_BYTES * len(value)
    return taken.clone() if small else taken


def decode(
    value: Value | Mapping[str, Value],
    chain: Chain | Mapping[str, Chain] | None = None,
    out: torch.Tensor | None = None,
    *,
    seed: int | None = None,
) -> Any:
    """penstock.decode(), with a tensor, or a dict of tensors, as the result."""
    return _decode.run(value, chain, out, seed, _of_array)


def decode_batch(
    values: Sequence[Value],
    chain: Chain | None = None,
    out: torch.Tensor | None = None,
    *,
    seed: int | None = None,
    workers: int = 0,
) -> torch.Tensor:
    """penstock.decode_batch(), with a tensor as the result."""
    return cast("torch.Tensor", _decode.run_batch(values, chain, out, seed, workers, _of_array))


class decoder(_decode.decoder):
    """penstock.decoder() with tensors as results.

    ImageFolder("photos", loader=ps.torch.decoder(ps.image.random_resized_crop(224)))
    """

    def __call__(self, value: Value) -> torch.Tensor:
        """Decodes one value."""
        return cast("torch.Tensor", decode(value, self.chain))


def _of_array(array: Any, dtype: str) -> torch.Tensor:
    made = torch.from_numpy(array)
    return made.view(torch.bfloat16) if dtype == "bfloat16" else made


def rows(value: Ragged | tuple[torch.Tensor, torch.Tensor]) -> list[torch.Tensor]:
    """The rows of a Ragged, or of its pair (values, offsets), as a list of tensors in the same memory."""
    if isinstance(value, Ragged) and value.shapes is not None:
        starts, shapes = value.offsets.tolist(), value.shapes.tolist()
        values = tensor(value.values)
        return [values[begin:end].view(shape) for begin, end, shape in zip(starts[:-1], starts[1:], shapes)]
    values, offsets = (tensor(value.values), tensor(value.offsets)) if isinstance(value, Ragged) else value
    starts = offsets.tolist()
    return [values[begin:end] for begin, end in zip(starts[:-1], starts[1:])]


def nested(value: Ragged | tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
    """Converts a Ragged, or its pair (values, offsets), to a nested tensor of the jagged layout, (rows, n, ...),
    without copying the values. Its values() and offsets() are the pair again, and torch.nested.to_padded_tensor() pads
    the rows."""
    if isinstance(value, Ragged) and value.shapes is not None:
        raise ValueError(
            "images of different sizes cannot become a jagged tensor, whose rows differ along one dimension only; "
            "rows() returns a list"
        )
    values, offsets = (tensor(value.values), tensor(value.offsets)) if isinstance(value, Ragged) else value
    made = getattr(getattr(torch, "nested", None), "nested_tensor_from_jagged", None)
    if made is None:
        raise RuntimeError(
            f"nested tensors of the jagged layout need a newer PyTorch than {torch.__version__}; rows() returns a list"
        )
    return made(values, offsets.to(values.device))


def _of_numpy(array: Any) -> torch.Tensor:
    try:
        return torch.from_numpy(array)
    except RuntimeError:  # this PyTorch was built for another NumPy
        if array.dtype.kind == "b" and not _TAKES_BOOL:
            return torch.frombuffer(bytearray(array.tobytes()), dtype=torch.bool).reshape(array.shape)
        return torch.from_dlpack(array)


def _torch(value: Any) -> Any:
    if isinstance(value, Tensor):
        return tensor(value)
    if isinstance(value, Ragged):
        return (tensor(value.values), tensor(value.offsets)) if value.shapes is None else rows(value)
    if isinstance(value, dict):  # "__present__"
        return {name: _torch(each) for name, each in value.items()}
    numpy = sys.modules.get("numpy")  # ps.transform() makes NumPy arrays
    if numpy is not None and isinstance(value, numpy.ndarray) and value.dtype.kind in "biufc":
        return _of_numpy(value)
    return value


def sum_over_ranks(group: Any = None) -> Callable[[int], int]:
    """Returns a function for the option all_reduce, which sums a number over the ranks of a torch.distributed process
    group.

        loader = ps.Loader(..., rank="env", on_error="mark", all_reduce=ps.torch.sum_over_ranks())

    group: the process group; None: the default group. A separate group of backend "gloo" is best
      (torch.distributed.new_group(backend="gloo")), so that the sums do not wait between the collectives of the
      training step.
    """

    def summed(number: int) -> int:
        distributed = torch.distributed
        on_gpu = distributed.get_backend(group) == "nccl"
        value = torch.tensor([number], dtype=torch.int64, device="cuda" if on_gpu else "cpu")
        distributed.all_reduce(value, group=group)
        return int(value.item())

    return summed


def rank_table(stats: Mapping[str, Any], group: Any = None) -> RankTable:
    """Returns penstock.rank_table() of the stats of all ranks. This is a collective of torch.distributed, so every rank
    must call it.

        table = ps.torch.rank_table(loader.stats())  # at the end of an epoch
        if table.slow is not None and rank == 0: print(table)

    group: as for sum_over_ranks().
    """
    distributed = torch.distributed
    gathered: list[Any] = [None] * distributed.get_world_size(group)
    distributed.all_gather_object(gathered, stats, group=group)
    return _rank_table(gathered)


class _SharedEpoch:
    """The epoch of DataLoader's worker processes, in shared memory, where all workers that start and end over a run
    find it.

    A single number, so that it is read and written atomically. The number has 31 bits of the seed that DataLoader draws
    for each iteration over it, and 32 bits of that iteration's epoch + 1.
    """

    def __init__(self) -> None:
        self._tag_and_next = multiprocessing.sharedctypes.RawValue("q", 0)

    def of(self, iteration_seed: int) -> int:
        """The epoch of an iteration: one more than the last one's. Workers that call this concurrently compute the
        same."""
        tag_and_next = self._tag_and_next.value
        if tag_and_next >> 32 != self._tag(iteration_seed):
            self.set(tag_and_next & 0xFFFFFFFF, iteration_seed)
        return (self._tag_and_next.value & 0xFFFFFFFF) - 1

    def set(self, epoch: int, iteration_seed: int | None = None) -> None:
        """Sets the epoch of the given iteration, or else of the next one."""
        tagged = (self._tag(iteration_seed) << 32) + epoch + 1 if iteration_seed is not None else epoch
        self._tag_and_next.value = tagged

    @staticmethod
    def _tag(iteration_seed: int) -> int:
        return 1 + iteration_seed % 0x7FFFFFFE


def _iteration_seed() -> int | None:
    """A value that all worker processes of one iteration over a DataLoader share; None in other processes."""
    worker = get_worker_info()
    return worker.seed - worker.id if worker is not None else None


def _place_in_group() -> tuple[int, int] | None:
    """Rank and world size in the default process group; None without a group, or if RANK names the rank."""
    distributed = torch.distributed
    if "RANK" in os.environ or not distributed.is_available() or not distributed.is_initialized():
        return None
    return distributed.get_rank(), distributed.get_world_size()


def _on_tensors(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def on_batch(batch: dict[str, Any], *random: Any) -> Any:
        return function(tensors(batch), *random)

    return on_batch


def _require_outputs(names: Iterable[str], known: dict[str, Any]) -> None:
    for name in names:
        if name not in known:
            raise ValueError(f'as_tuple: unknown output "{name}"; the outputs are {", ".join(known)}')


class ImageFolder(_TorchDataset):
    """torchvision.datasets.ImageFolder with penstock's decoder and transforms: a map-style Dataset for a DataLoader.

        dataset = ps.torch.ImageFolder("photos", transforms.Compose([
            transforms.RandomResizedCrop(224), transforms.ToTensor(), transforms.Normalize(mean, std)]))

    An item is (image, number of its class): a tensor (C, H, W), and an int or the result of target_transform. Classes,
    samples and their order are torchvision's. Random transforms draw their seeds from torch's generator, which
    DataLoader seeds in each worker.

    transform: a chain, or a transform for ps.from_torchvision() or ps.from_albumentations(), which is translated once.
      Default: the pixels, uint8. An assignment to the attribute `transform`, which is a chain, translates too.
    is_valid_file: a function of a path that chooses files. Default: by the extensions that torchvision lists. penstock
      decodes JPEG, PNG and WebP.
    allow_empty: accepts classes without files.

    Raises Error: io, invalid_argument; unsupported, with each transform that has no translation. Items raise Error as
    decode() does, with the path.
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        transform: Any = None,
        target_transform: Callable[[int], Any] | None = None,
        *,
        is_valid_file: Callable[[str], bool] | None = None,
        allow_empty: bool = False,
    ) -> None:
        self.root = os.path.expanduser(os.fspath(root))
        self.transform = transform
        self.target_transform = target_transform
        self.extensions = _image_folder.EXTENSIONS if is_valid_file is None else None
        self.classes = _image_folder.classes_of(self.root)
        self.class_to_idx = {name: number for number, name in enumerate(self.classes)}
        is_valid = _image_folder.is_image if is_valid_file is None else is_valid_file
        self.samples = _image_folder.samples_of(self.root, self.classes, is_valid, allow_empty)
        self.imgs = self.samples
        self.targets = [number for _, number in self.samples]

    @property
    def transform(self) -> Chain:
        """The chain of the images."""
        return self._chain

    @transform.setter
    def transform(self, transform: Any) -> None:
        self._chain = chain_of(transform)

    def __len__(self) -> int:
        """The number of images."""
        return len(self.samples)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, Any]:
        """The image and its target."""
        path, number = self.samples[index]
        return decode(path, self._chain, seed=_draw_seed()), self._target(number)

    def __getitems__(self, indices: Sequence[int]) -> list[tuple[torch.Tensor, Any]]:
        """The items of a batch. A DataLoader without workers decodes them on all cores."""
        if type(self).__getitem__ is not ImageFolder.__getitem__:  # a subclass changes the items
            return [self[index] for index in indices]
        samples = [self.samples[index] for index in indices]
        try:
            threads = 0 if get_worker_info() is None else 1
            images = decode_batch([path for path, _ in samples], self._chain, seed=_draw_seed(), workers=threads)
        except Error as error:
            if error.kind != "shape":
                raise
            return [self[index] for index in indices]  # images of different sizes, for a collate_fn that accepts them
        return [(image, self._target(number)) for image, (_, number) in zip(images, samples)]

    def _target(self, number: int) -> Any:
        return number if self.target_transform is None else self.target_transform(number)

    def __repr__(self) -> str:
        return (
            f"penstock.torch.ImageFolder({self.root!r}, {self._chain}): {len(self)} images, {len(self.classes)} classes"
        )


def _draw_seed() -> int:
    return int(torch.randint(2**63 - 1, ()).item())


class Loader(_IterableDataset):
    """A penstock.Loader whose batches are torch tensors; takes the same options. `batch_transform` receives and returns
    tensors.

        loader = ps.torch.Loader("train.tar.d", batch_size=256, shuffle=True, transforms={...}, as_tuple=("jpg", "cls"))
        for images, labels in loader: ...

    This class is an IterableDataset of whole batches, for programs that want a DataLoader around it:
    torch.utils.data.DataLoader(loader, batch_size=None). Without batch_size=None, iteration raises TypeError, because a
    DataLoader would make batches of batches.

    A batch is a dict as penstock.Loader gives it, or with `as_tuple` a tuple of these outputs: as_tuple=("jpg", "cls")
    gives (images, labels). A name that is not an output raises ValueError. If rows may pad the batch or be marked
    invalid, include "__valid__", and leave out the rows for which it is False. Without it, a warning says so once.

    The loader has its own threads: leave DataLoader's num_workers at 0. Worker processes are served correctly, each
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
            raise TypeError(f'as_tuple must be a sequence of names: ("{as_tuple}",)')
        transforms = options.get("transforms")
        if as_tuple is not None and isinstance(transforms, dict) and options.get("batch_transform") is None:
            # "__key__" and the like need no transform
            _require_outputs([name for name in as_tuple if not name.startswith("__")], transforms)
        self._source = dataset
        self._as_tuple = as_tuple
        self._options = options
        self._loader: _Loader | None = None
        self._process: int | None = None
        self._epoch = 0  # first epoch of a loader that is created later
        self._state: dict[str, Any] | None = None  # the last restored state
        self._from_state = False  # whether a loader that is created later starts at that state
        self._restored = False  # whether no batch was taken since the restore
        self._shared_epoch: _SharedEpoch | None = _SharedEpoch()
        self._warns = as_tuple is not None and "__valid__" not in as_tuple

    @property
    def loader(self) -> _Loader:
        """The penstock.Loader of this process, made when first needed."""
        if self._loader is None or self._process != os.getpid():
            warn_of_ranks(self._options, _place_in_group())  # worker processes split the share of their rank
            options = self._shared_out()
            if options.get("batch_transform") is not None:
                options = {**options, "batch_transform": _on_tensors(options["batch_transform"])}
            loader = _Loader(self._source, **options)
            try:
                self._go_to_start(loader)
            except BaseException:  # the loader stands at the very first batch, which may not be the wanted start
                loader.close()
                raise
            self._loader, self._process = loader, os.getpid()
        return self._loader

    def _go_to_start(self, loader: _Loader) -> None:
        iteration = _iteration_seed()
        epoch = self._epoch
        if iteration is not None and self._shared_epoch is not None:
            epoch = self._shared_epoch.of(iteration)
        if self._state is not None:  # the state's seed also applies to later epochs
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
            raise ValueError(
                'rank="env" cannot be combined with several worker processes; pass rank and world_size, or '
                "num_workers=0"
            )
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
                "a penstock.torch.Loader returns whole batches, and this DataLoader would batch them again; iterate "
                "over "
                "the loader itself, or pass batch_size=None to DataLoader"
            )
        return self.loader._iterate(self._taken)  # type: ignore[attr-defined]  # a batch counts as delivered once it is converted

    def _taken(self, batch: Any) -> Any:
        if not isinstance(batch, dict):  # the result of batch_transform
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
            f"{rows} of the {len(valid)} rows of a batch of {os.fspath(self.loader.dataset.path)} are padding or "
            'invalid samples, and as_tuple does not show which; add "__valid__" to as_tuple and count only the rows '
            "with "
            'True, or pass last_batch="drop"',
            stacklevel=4,
        )

    def __len__(self) -> int:
        """Batches of a full epoch for this rank."""
        return len(self.loader)

    def stats(self) -> Stats:
        """Statistics of this process's loader; str() of it is the stage table. DataLoader's worker processes have their
        own loaders; their times are not included."""
        return self.loader.stats()

    def reset_stats(self) -> None:
        """Sets the counters and times of this process's loader to zero."""
        self.loader.reset_stats()

    def metrics(self, prefix: str = "penstock/") -> dict[str, float]:
        """stats() as a flat dict of floats, for wandb, TensorBoard and Lightning's log_dict()."""
        return self.loader.metrics(prefix)

    def steps(self, schedule: Schedule | None = None) -> Steps:
        """Time of each training step of this process; see `ps.Loader.steps`."""
        return self.loader.steps(schedule)

    def mark_step(self) -> None:
        """Ends a training step; see `ps.Loader.mark_step`."""
        self.loader.mark_step()

    def gains(self) -> list[dict[str, Any]]:
        """Predicts the speed-up of other options; see `ps.Loader.gains`."""
        return self.loader.gains()

    def explain(self, epoch: int, batch: int, row: int) -> dict[str, Any]:
        """The origin of a row; see `ps.Loader.explain`."""
        return self.loader.explain(epoch, batch, row)

    def trace(
        self, file: str | os.PathLike[str], *, max_events: int = 200000, schedule: Schedule | None = None
    ) -> Trace:
        """Records this process's loader for Perfetto; see `ps.Loader.trace`."""
        return self.loader.trace(file, max_events=max_events, schedule=schedule)

    def end_trace(self) -> dict[str, Any]:
        """Ends the trace: {"file", "events", "dropped"}."""
        return self.loader.end_trace()

    def set_epoch(self, epoch: int) -> None:
        """Makes the next batch the first of that epoch. For worker processes, this applies to those that start from now
        on.

        After load_state_dict(), set_epoch() with the epoch of the state does not move the position. A training loop
        that calls set_epoch() at the top of every epoch therefore continues in the middle of it.
        """
        if self._restored and epoch == self._epoch:
            return
        self._go_to(epoch)
        if self._loader is not None and self._process == os.getpid():
            self._loader.set_epoch(epoch)

    @property
    def sampler(self) -> Loader:
        """The loader itself: Lightning calls `sampler.set_epoch` to announce an epoch."""
        return self

    @property
    def batch_sampler(self) -> None:
        """Always None. Frameworks that look for `sampler` also look for this."""
        return None

    def _go_to(self, epoch: int, from_state: bool = False) -> None:
        self._epoch, self._from_state, self._restored = epoch, from_state, from_state
        if self._shared_epoch is not None:
            self._shared_epoch.set(epoch, _iteration_seed())

    def state_dict(self) -> dict[str, Any]:
        """The position after the last batch that the program received; see `ps.Loader.state_dict`."""
        return self.loader.state_dict()

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restores a position: the next batch is the first that had not been delivered when the state was saved."""
        if self._loader is not None and self._process == os.getpid():
            self._loader.load_state_dict(state_dict)
        self._state = state_dict
        self._go_to(int(state_dict.get("epoch", 0)), from_state=True)

    def __getstate__(self) -> dict[str, Any]:
        kept = {**self.__dict__, "_loader": None, "_process": None}
        if get_spawning_popen() is None:  # only a process that is being started can share memory
            kept["_shared_epoch"] = None
        return kept


if not TYPE_CHECKING:  # type checkers report unknown names by themselves

    def __getattr__(name: str) -> NoReturn:
        raise AttributeError(here(__name__, name))
