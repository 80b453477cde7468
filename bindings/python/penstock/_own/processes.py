"""Runs the rows of batches in processes, for Loader(python_workers=N)."""

from __future__ import annotations

import collections
import io
import math
import pickle
import resource
import time
import types
import weakref
from collections.abc import Sequence
from typing import Any

from .._error import Error, made
from .._processes.child import unpacked_exception
from .._processes.memory import SharedMemory
from .._processes.pool import Pool, Task, Work
from .batch import BatchRows, Made
from .rows import RowWork

_TASK_S = 1e-3  # minimum duration of a task, if the time per row is known and all processes have a task
# approximate cost of a message on both sides: no task is shorter, even if one process then runs all rows
_MESSAGE_S = 2e-4
_BATCHES = 8  # the time per row is measured over this many batches
_FREE = 8  # at most this many memory blocks of an output wait for a batch
_ALIGNED = 64
_DEATHS = 2  # a row is an error after this many processes died on it

_DESCRIPTORS = 0.25  # at most this share of the process's descriptors is for results that the program holds

_LAYOUTS = 64  # cached at most
_COPIED = 512 << 10  # bytes per copy: one large copy was slower than several of this size

_Type = tuple[tuple[int, ...], Any]
_Place = tuple[int, int, Any, tuple[int, ...]]  # the arguments of a Column


def _in_the_program(thing: Any) -> bool:
    """Whether other processes cannot import it, because it is defined in the program."""
    module = getattr(thing, "__module__", None)
    return module == "__main__" or "<locals>" in thing.__qualname__ or "<lambda>" in thing.__qualname__


class _Plain(pickle.Pickler):
    """Names the function that cannot be pickled if cloudpickle is not installed."""

    def reducer_override(self, thing: Any) -> Any:
        if isinstance(thing, (types.FunctionType, type)) and _in_the_program(thing):
            raise made(
                "invalid_argument",
                f"python_workers: {thing.__qualname__} cannot be imported by other processes, because it is defined in "
                "the "
                "main program, in a notebook or in another function; pip install cloudpickle, or move it to a module",
            )
        return NotImplemented


def packed(work: RowWork) -> bytes:
    """Pickles the work for other processes. Raises Error: invalid_argument, naming the part that cannot be pickled."""
    try:
        import cloudpickle
    except ImportError:
        pickler = None
    else:
        pickler = cloudpickle.dumps
    try:
        if pickler is not None:
            return bytes(pickler(work))
        data = io.BytesIO()
        _Plain(data, pickle.HIGHEST_PROTOCOL).dump(work)
        return data.getvalue()
    except Error:
        raise
    except Exception as error:
        raise made(
            "invalid_argument",
            "python_workers: a function, or an object that it uses, cannot be pickled for other processes: "
            f"{type(error).__name__}: {error}",
        ) from error


def _copy(values: Any, into: Any, begin: int, end: int) -> None:
    """Copies the items from `begin` to `end` between arrays of the same shape and dtype."""
    size = max(1, _COPIED // max(1, values[:1].nbytes))
    for at in range(begin, end, size):
        into[at : min(at + size, end)] = values[at : min(at + size, end)]


def _aligned(size: int) -> int:
    return -(-size // _ALIGNED) * _ALIGNED


class Processes:
    """The processes of one loader."""

    def __init__(self, work: RowWork, workers: int) -> None:
        self.workers = workers
        self._work = work
        self._pool = Pool(workers, "penstock._own.worker:Worker", packed(work))
        self._input: SharedMemory | None = None
        self._free: list[SharedMemory] = []
        self._free_most = _FREE * len(work.outputs)
        self._spent: weakref.WeakSet[SharedMemory] = weakref.WeakSet()  # must not be used again
        self._open: weakref.WeakSet[SharedMemory] = weakref.WeakSet()  # done batches, whose memory can be used again
        limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        self._open_most: float = math.inf if limit == resource.RLIM_INFINITY else _DESCRIPTORS * limit
        self._layouts: dict[Any, bytes] = {}
        self.types: dict[str, _Type] = {}
        """Shape and dtype of the last batch's rows, which the next batch probably has too."""
        self._row_s: collections.deque[float] = collections.deque(maxlen=_BATCHES)

    def took(self, seconds: float, rows: int) -> None:
        if rows > 0:
            self._row_s.append(seconds / rows)

    @property
    def row_s(self) -> float:
        """Seconds per row, in the fastest of the last batches. Slower batches include waits for a core, which say
        nothing about the function."""
        return min(self._row_s, default=0.0)

    @property
    def pids(self) -> list[int]:
        return self._pool.pids

    @property
    def replaced(self) -> int:
        return self._pool.replaced

    def stop(self) -> None:
        self._pool.stop()

    def close(self) -> None:
        self._pool.close()

    def run(self, batch: BatchRows) -> dict[str, float]:
        """Replaces the columns that have functions. Returns the seconds that these took, summed over all processes."""
        if not batch.rows:
            batch.columns.update({output: batch.nothing(output) for output in self._work.outputs})
            return {}
        rows = _Rows(self, batch)
        try:
            self._pool.run(rows)
        except BaseException:  # processes may still run: their memory must not be used again
            self._spent.update(rows.memory())
            self._input = None
            raise
        for block in rows.results():
            self._spare(block)
        batch.columns.update(rows.columns())
        return rows.seconds

    def _spare(self, block: SharedMemory) -> None:
        """Closes the descriptor of a finished result if the program holds many. Its memory is then not used again."""
        if block in self._open or len(self._open) < self._open_most:
            self._open.add(block)
        else:
            self._pool.forget(block)
            block.close()

    def input(self, size: int) -> SharedMemory:
        """Memory for the inputs, used for one batch after another."""
        if self._input is None or self._input.size < size:
            if self._input is not None:
                self._pool.forget(self._input)
            self._input = SharedMemory(size)
        return self._input

    def layout(self, given: dict[str, _Place], results: dict[str, _Place]) -> bytes:
        """Returns the layout for message(), pickled. The cache saves pickling here and unpickling in the workers."""
        from .worker import Column, Layout

        known_as = tuple(given.items()), tuple(results.items())
        packed = self._layouts.get(known_as)
        if packed is None:
            if len(self._layouts) >= _LAYOUTS:
                self._layouts.clear()
            columns = [{output: Column(*place) for output, place in places.items()} for places in (given, results)]
            packed = self._layouts[known_as] = pickle.dumps(Layout(*columns))
        return packed

    def block(self, size: int) -> SharedMemory:
        for block in reversed(self._free):  # the most recent block is the likeliest to be in a CPU cache
            if size <= block.size <= 2 * size + _ALIGNED:
                self._free.remove(block)
                return block
        return SharedMemory(size)

    def lent(self, block: SharedMemory, dtype: Any, size: int) -> Any:
        """Returns an array over the block. The block is reused after this array and all its views are gone."""
        import numpy as np

        array = np.frombuffer(block.view[:size], dtype)  # NumPy keeps this array as the base of every view
        weakref.finalize(array, _give_back, weakref.ref(self), block).atexit = False
        return array

    def give_back(self, block: SharedMemory) -> None:
        if len(self._free) < self._free_most and block.descriptor >= 0 and block not in self._spent:
            self._free.append(block)
        else:
            self._pool.forget(block)


def _give_back(to: weakref.ref[Processes], block: SharedMemory) -> None:
    processes = to()
    if processes is not None:
        processes.give_back(block)


class _RowTask(Task):
    __slots__ = ("rows",)

    def __init__(self, body: bytes, memory: Sequence[SharedMemory], rows: list[int]) -> None:
        super().__init__(body, memory)
        self.rows = rows


class _Rows(Work):
    """The rows of one batch on their way through the processes."""

    def __init__(self, processes: Processes, batch: BatchRows) -> None:
        self._processes, self._batch = processes, batch
        self.seconds: dict[str, float] = {}
        self._left = list(reversed(batch.rows))  # the last entry is the next row
        self._again: list[list[int]] = []  # rows of processes that died
        self._under_way = 0
        self._deaths: dict[int, int] = {}
        self._strays: dict[str, dict[int, Any]] = {}
        self._failure: tuple[int, bytes] | None = None
        self._done = 0
        self._began = 0.0
        self._input: SharedMemory | None = None
        self._blocks: dict[str, tuple[SharedMemory, Any]] = {}
        self._given: dict[str, _Place] = {}
        self._results: dict[str, _Place] = {}
        self._into: dict[str, Any] = {}
        outputs = batch.work.outputs
        self._fixed = [output for output in outputs if not batch.ragged(output)]
        self._known = all(output in processes.types for output in self._fixed)
        self._place()

    def _place(self) -> None:
        """Places all rows in shared memory. If results have the shape and dtype of their inputs, both share one place.
        The workers then copy less and touch less memory."""
        if self._known:
            self._place_results()
        at = 0
        offsets = {}
        for output, given in self._batch.given.items():
            if not self._in_place(output):
                offsets[output] = at
                at = _aligned(at + given.values.nbytes)
        if offsets:
            self._place_given(offsets, at)
        self._layout = self._processes.layout(self._given, self._results)

    def _in_place(self, output: str) -> bool:
        """Whether the result may overwrite the input. Not if transforms write the row: their input, or the result of
        another output, may still be a view of the input row."""
        given = self._batch.given.get(output)  # None for lengths() and valid_mask()
        if (
            given is None
            or output not in self._blocks
            or given.offsets is not None
            or output in self._batch.work.written
        ):
            return False
        array = self._blocks[output][1]
        return bool(given.values.shape == array.shape and given.values.dtype == array.dtype)

    def _place_given(self, offsets: dict[str, int], size: int) -> None:
        import numpy as np

        self._input = self._processes.input(size)
        for output, offset in offsets.items():
            values = self._batch.given[output].values
            part = self._input.view[offset : offset + values.nbytes]
            into = np.frombuffer(part, values.dtype).reshape(values.shape) if values.nbytes else values
            self._into[output] = into
            self._given[output] = id(self._input), offset, values.dtype, values.shape[1:]

    def _place_results(self) -> None:
        count = len(self._batch.keys)
        for output in self._fixed:
            if output not in self._processes.types:  # the batch's first row lacks it
                continue
            shape, dtype = self._processes.types[output]
            size = count * dtype.itemsize * math.prod(shape)
            if dtype.hasobject or size == 0:
                continue
            block = self._processes.block(size)
            array = self._processes.lent(block, dtype, size).reshape(count, *shape)
            self._blocks[output] = block, array
            self._results[output] = id(block), 0, dtype, shape
            if self._in_place(output):
                self._into[output], self._given[output] = array, self._results[output]

    def results(self) -> list[SharedMemory]:
        return [block for block, _ in self._blocks.values()]

    def memory(self) -> list[SharedMemory]:
        return self.results() if self._input is None else [self._input, *self.results()]

    # ---- for the pool

    def next(self) -> Task | None:
        rows = self._next_rows()
        if not rows:
            return None
        from .worker import message

        batch, first, last = self._batch, rows[0], rows[-1]
        ragged = {}
        for output, given in batch.given.items():
            if given.offsets is None:
                _copy(given.values, self._into[output], first, last + 1)
            else:
                _copy(given.values, self._into[output], given.offsets[first], given.offsets[last + 1])
                shaped = given.shaped
                sizes = None if shaped is None else [shaped[row].shape for row in range(first, last + 1)]
                ragged[output] = given.offsets[first : last + 2], sizes
        keys, draws = [batch.keys[row] for row in rows], [batch.draws[row] for row in rows]
        self._under_way += 1
        if self._began == 0:
            self._began = time.perf_counter()
        absent = {row: batch.absent[row] for row in rows if row in batch.absent}
        body = message(self._layout, batch.seed, batch.epoch, first, rows, keys, draws, ragged, absent)
        return _RowTask(body, self.memory(), rows)

    def _next_rows(self) -> list[int]:
        # After a failure, only earlier rows matter: the error of the first failed row is raised, as in a single thread.
        if self._failure is not None and (not self._again or self._again[-1][0] > self._failure[0]):
            return []
        if self._again:
            return self._again.pop()
        if not self._left:
            return []
        if not self._known:  # the first row shows shape and dtype of the results
            if self._under_way:
                return []
            return [self._left.pop()]
        # Shares get smaller towards the end, so that all processes finish at about the same time. No share is smaller
        # than the cost of a message justifies.
        row_s, workers = self._processes.row_s, self._processes.workers
        least, worth = (int(_TASK_S / row_s), int(_MESSAGE_S / row_s)) if row_s > 0 else (1, 1)
        share = -(-len(self._left) // (2 * workers))
        size = max(share, min(least, -(-len(self._batch.rows) // workers)), worth)
        rows = self._left[-size:][::-1]
        del self._left[len(self._left) - len(rows) :]
        return rows

    def done(self, task: Task, reply: bytes | memoryview) -> None:
        from .worker import Strays

        assert isinstance(task, _RowTask)
        self._under_way -= 1
        view = memoryview(reply)
        size = int.from_bytes(view[:8], "little")
        seconds, told, failure = pickle.loads(view[8 : 8 + size])
        for name, spent in seconds.items():
            self.seconds[name] = self.seconds.get(name, 0.0) + spent
        for row, output, value in Strays.read(told, view[8 + size :]):
            self._strays.setdefault(output, {})[row] = value
        self._done += len(task.rows)
        if failure is not None and (self._failure is None or failure[0] < self._failure[0]):
            self._failure = failure
        if not self._known and failure is None:
            for output in self._fixed:
                if self._batch.has(output, task.rows[0]):
                    value = self._strays[output][task.rows[0]]
                    self._processes.types[output] = value.shape, value.dtype
            self._known = True
            self._place()

    def lost(self, task: Task, step: int | None, how: str) -> None:
        assert isinstance(task, _RowTask)
        self._under_way -= 1
        if step in task.rows:
            self._deaths[step] = self._deaths.get(step, 0) + 1
            if self._deaths[step] >= _DEATHS:
                error = made(
                    "resource",
                    f"{_DEATHS} processes for Python functions ended during this sample, the last one with {how}",
                    key=self._batch.keys[step],
                )
                if self._failure is None or step < self._failure[0]:
                    from .._processes.child import packed_exception

                    self._failure = step, packed_exception(error)
                return
            # Run this row by itself, so that no other row is blamed for the death of its process.
            rest = [row for row in task.rows if row != step]
            self._again += [rest] if rest else []
            self._again.append([step])
        else:
            self._again.append(task.rows)
        self._again.sort(key=lambda rows: -rows[0])

    # ---- after the run

    def columns(self) -> dict[str, Any]:
        self._processes.took(sum(self.seconds.values()), self._done)
        failed = self._failure[0] if self._failure is not None else None
        columns = {}
        for output in self._batch.work.outputs:
            columns[output] = self._column(output, failed)
        if self._failure is not None:
            error = unpacked_exception(self._failure[1])
            raise error
        return columns

    def _column(self, output: str, failed: int | None) -> Any:
        """Raises Error: shape, if a row differs from those before it, unless an earlier row has failed."""
        strays = self._strays.get(output, {})
        array: Any = self._blocks[output][1] if output in self._blocks else None
        rows = self._batch.rows if failed is None else [row for row in self._batch.rows if row < failed]
        if array is not None and (not strays or not any(row in strays for row in rows)):
            self._zero_others(array)
            return array
        column = Made(self._batch, output)
        rows = [row for row in rows if self._batch.has(output, row)]
        for row in rows:
            column.add(row, strays[row] if row in strays else self._blocks[output][1][row])
        if failed is not None:
            return None
        if output in self._fixed and rows:
            first = strays[rows[0]] if rows[0] in strays else self._blocks[output][1][rows[0]]
            self._processes.types[output] = first.shape, first.dtype
        return column.done()

    def _zero_others(self, array: Any) -> None:
        """Zeroes the invalid rows, because the memory held another batch before."""
        if len(self._batch.rows) < len(array):
            counts = set(self._batch.rows)
            for row in range(len(array)):
                if row not in counts:
                    array[row] = 0
