"""The worker side of Processes: runs the rows that a process is given."""

from __future__ import annotations

import math
import pickle
import sys
from collections.abc import Callable, Mapping
from typing import Any, Optional

import numpy as np

from .._processes.child import packed_exception
from .rows import Place, RowWork

_LAYOUTS = 64  # cached at most

# For a ragged output, in items: where each row of the task begins, and where the last one ends. Then the shapes of the
# rows, if each has its own.
RaggedRows = tuple[list[int], Optional[list[tuple[int, ...]]]]


class Column:
    """Location of an output's rows in shared memory."""

    __slots__ = ("dtype", "item", "memory", "offset", "shape")

    def __init__(self, memory: int, offset: int, dtype: Any, shape: tuple[int, ...]) -> None:
        self.memory, self.offset, self.dtype, self.shape = memory, offset, dtype, shape
        self.item: int = dtype.itemsize * math.prod(shape)
        """Bytes of a row; for a ragged output, of one item."""

    def __reduce__(self) -> Any:
        return Column, (self.memory, self.offset, self.dtype, self.shape)

    def _array(self, memory: Mapping[int, memoryview], first: int, count: int) -> Any:
        size = self.item * count
        if size == 0:
            return np.zeros((count, *self.shape), self.dtype)
        begin = self.offset + first * self.item
        return np.frombuffer(memory[self.memory][begin : begin + size], self.dtype).reshape(count, *self.shape)

    def rows(self, memory: Mapping[int, memoryview], first: int, count: int) -> Callable[[int], Any]:
        """Returns a function that maps i to row `first + i`."""
        of: Callable[[int], Any] = self._array(memory, first, count).__getitem__
        return of

    def slots(self, memory: Mapping[int, memoryview], first: int, count: int) -> Callable[[int], Any]:
        """Like rows(), but writable: a single number is an array too."""
        array = self._array(memory, first, count)
        if self.shape == ():
            return lambda row: array[row : row + 1].reshape(())
        of: Callable[[int], Any] = array.__getitem__
        return of

    def ragged_rows(self, memory: Mapping[int, memoryview], of_rows: RaggedRows) -> Callable[[int], Any]:
        starts, sizes = of_rows
        begin = starts[0]
        array = self._array(memory, begin, starts[-1] - begin)
        if sizes is not None:
            return lambda row: array[starts[row] - begin : starts[row + 1] - begin].reshape(sizes[row])
        return lambda row: array[starts[row] - begin : starts[row + 1] - begin]


class Layout:
    """Locations of a batch's rows: the inputs, and the places reserved for results. Batches of the same types share a
    layout as long as the memory is the same."""

    __slots__ = ("given", "in_place", "results")

    def __init__(self, given: dict[str, Column], results: dict[str, Column]) -> None:
        self.given, self.results = given, results
        self.in_place = {
            output for output, column in results.items() if output in given and given[output].memory == column.memory
        }
        """Outputs whose results overwrite their inputs."""

    def __reduce__(self) -> Any:
        return Layout, (self.given, self.results)


class Strays:
    """Results without a reserved place, one after another."""

    def __init__(self) -> None:
        self.told: list[tuple[int, str, Any, tuple[int, ...], int]] = []
        self.parts: list[bytes] = []

    def add(self, row: int, output: str, value: Any) -> None:
        data = pickle.dumps(value) if value.dtype.hasobject else np.ascontiguousarray(value).tobytes()
        self.told.append((row, output, value.dtype, value.shape, len(data)))
        self.parts.append(data)

    @staticmethod
    def read(told: Any, data: memoryview) -> list[tuple[int, str, Any]]:
        found, at = [], 0
        for row, output, dtype, shape, size in told:
            part = data[at : at + size]
            at += size
            if dtype.hasobject:
                found.append((row, output, pickle.loads(part)))
            else:
                found.append(
                    (row, output, np.frombuffer(part, dtype).reshape(shape) if size else np.zeros(shape, dtype))
                )
        return found


def _take_apart(made: dict[str, Any], given: Mapping[str, Any], in_place: set[str]) -> None:
    """Copies a result that is a view of another output's row, before that output's own result overwrites the row."""
    for output, value in made.items():
        if value is given.get(output):
            continue
        if any(other != output and np.may_share_memory(value, given[other]) for other in in_place):
            made[output] = value.copy()


class Worker:
    """Called with each task by a Pool."""

    def __init__(self, setup: memoryview) -> None:
        self._work: RowWork = pickle.loads(setup)
        self._quiet: set[str] = set()
        self._layouts: dict[bytes, Layout] = {}

    def _one_thread(self) -> None:
        """Limits libraries to one thread, because the program asked for a number of processes. Repeated, because a
        function may have imported a library since."""
        for library in ("cv2", "torch"):
            module = sys.modules.get(library)
            if library in self._quiet or module is None:
                continue
            if library == "cv2" and hasattr(module, "setNumThreads"):
                module.setNumThreads(1)
            elif library == "torch" and hasattr(module, "set_num_threads"):
                module.set_num_threads(1)
            self._quiet.add(library)

    def _layout(self, packed: bytes) -> Layout:
        layout = self._layouts.get(packed)
        if layout is None:
            if len(self._layouts) >= _LAYOUTS:
                self._layouts.clear()
            layout = self._layouts[packed] = pickle.loads(packed)
        return layout

    def __call__(self, body: bytes, memory: Mapping[int, memoryview], at: Callable[[int], None]) -> bytes:
        packed, seed, epoch, first, rows, keys, draws, ragged, absences = pickle.loads(body)
        layout = self._layout(packed)
        self._one_thread()
        work = self._work
        work.reset()
        count = rows[-1] + 1 - first
        sources = [
            (o, column.ragged_rows(memory, ragged[o]) if o in ragged else column.rows(memory, first, count))
            for o, column in layout.given.items()
        ]
        targets = {output: column.slots(memory, first, count) for output, column in layout.results.items()}
        early = [(output, target) for output, target in targets.items() if output in work.written]
        strays = Strays()
        failure: tuple[int, bytes] | None = None
        values: dict[str, Any] = {}
        slots: dict[str, Any] = {}
        place = Place(seed, epoch, "", 0, 0)
        for row, place.key, place.draws in zip(rows, keys, draws):
            at(row)
            place.row = row
            here = row - first
            for output, source in sources:
                values[output] = source(here)
            for output, target in early:
                slots[output] = target(here)
            absent = absences.get(row, ())
            try:
                made = work.run(values, place, slots, absent)
            except BaseException as error:
                failure = row, packed_exception(error)
                break
            if len(made) > 1 and layout.in_place:
                _take_apart(made, values, layout.in_place)
            for output in work.outputs:
                if output in absent:
                    continue
                value, column = made[output], layout.results.get(output)
                if column is None or value.shape != column.shape or value.dtype != column.dtype:
                    strays.add(row, output, value)
                elif value is not slots.get(output) and not (output in layout.in_place and value is values[output]):
                    targets[output](here)[...] = value
        told = pickle.dumps((work.seconds, strays.told, failure))
        return b"".join([len(told).to_bytes(8, "little"), told, *strays.parts])


def message(
    layout: bytes,
    seed: int,
    epoch: int,
    first: int,
    rows: list[int],
    keys: list[str],
    draws: list[int],
    ragged: dict[str, RaggedRows],
    absent: dict[int, tuple[str, ...]],
) -> bytes:
    """Builds the message for a Worker: neighbouring rows of a batch. `layout`: a pickled Layout. `first`: the batch row
    where the memory's views begin. `rows`: the valid rows from there on. `absent`: the outputs that a row lacks."""
    return pickle.dumps((layout, seed, epoch, first, rows, keys, draws, ragged, absent))
