"""What a process of Processes does with the rows that it is given."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .._processes.child import packed_exception
from .rows import Place, RowWork


class Column:
    """Where an output's rows stand in shared memory."""

    __slots__ = ("dtype", "memory", "offset", "shape", "sizes", "starts")

    def __init__(self, memory: int, offset: int, dtype: Any, shape: tuple[int, ...], starts: list[int] | None) -> None:
        self.memory, self.offset, self.dtype, self.shape = memory, offset, dtype, shape
        self.starts = starts
        """Of a ragged output: where each row of the task begins, and the last one ends, in items of `shape`."""
        self.sizes: list[tuple[int, ...]] | None = None
        """Of rows with sizes of their own: these."""

    def __reduce__(self) -> Any:
        return Column, (self.memory, self.offset, self.dtype, self.shape, self.starts)

    def rows(self, memory: Mapping[int, memoryview], first: int, count: int, written: bool) -> Callable[[int], Any]:
        """What gives row `first + i` for i; where it is to be written, an array also for a single number."""
        size = self.dtype.itemsize * int(np.prod(self.shape, dtype=np.int64))
        starts = self.starts
        if starts is None:
            begin, items = self.offset + first * size, count
        else:
            begin, items = self.offset + starts[0] * size, starts[-1] - starts[0]
        block = memory[self.memory][begin : begin + items * size]
        array = np.frombuffer(block, self.dtype).reshape(items, *self.shape) if size * items else None
        if array is None:
            array = np.zeros((items, *self.shape), self.dtype)
        if starts is None and written and self.shape == ():
            return lambda row: array[row : row + 1].reshape(())
        if starts is None:
            return array.__getitem__
        sizes = self.sizes
        if sizes is not None:
            return lambda row: array[starts[row] - starts[0] : starts[row + 1] - starts[0]].reshape(sizes[row])
        return lambda row: array[starts[row] - starts[0] : starts[row + 1] - starts[0]]


class Chunk:
    """Neighbouring rows of a batch, for one process."""

    __slots__ = ("draws", "first", "keys", "rows")

    def __init__(self, first: int, rows: list[int], keys: list[str], draws: list[int]) -> None:
        self.first = first
        """Row of the batch that the memory's views begin at."""
        self.rows = rows
        """Those of them that count."""
        self.keys, self.draws = keys, draws

    def __reduce__(self) -> Any:
        return Chunk, (self.first, self.rows, self.keys, self.draws)


class Strays:
    """Results that no place was kept for, one behind the other."""

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
                found.append((row, output, np.frombuffer(part, dtype).reshape(shape) if size else np.zeros(shape, dtype)))
        return found


class Worker:
    """Called with each task; for a Pool."""

    def __init__(self, setup: memoryview) -> None:
        self._work: RowWork = pickle.loads(setup)
        self._quiet: set[str] = set()

    def _one_thread(self) -> None:
        """Of libraries that a function may have imported since: the program asked for so many processes."""
        for library in ("cv2", "torch"):
            module = sys.modules.get(library)
            if library in self._quiet or module is None:
                continue
            if library == "cv2" and hasattr(module, "setNumThreads"):
                module.setNumThreads(1)
            elif library == "torch" and hasattr(module, "set_num_threads"):
                module.set_num_threads(1)
            self._quiet.add(library)

    def __call__(self, body: bytes, memory: Mapping[int, memoryview], at: Callable[[int], None]) -> bytes:
        (seed, epoch, given, results), chunk, starts = _read(body)
        self._one_thread()
        work = self._work
        work.reset()
        count = chunk.rows[-1] + 1 - chunk.first
        for output, of_output in starts.items():
            given[output].starts, given[output].sizes = of_output
        sources = {output: column.rows(memory, chunk.first, count, False) for output, column in given.items()}
        targets = {output: column.rows(memory, chunk.first, count, True) for output, column in results.items()}
        in_place = {output for output, column in results.items() if given[output].memory == column.memory}
        strays = Strays()
        failure: tuple[int, bytes] | None = None
        for row, key, draws in zip(chunk.rows, chunk.keys, chunk.draws):
            at(row)
            place = Place(seed, epoch, key, row, draws)
            here = row - chunk.first
            slots = {output: target(here) for output, target in targets.items()}
            values = {output: source(here) for output, source in sources.items()}
            try:
                made = work.run(dict(values), place, slots)
            except BaseException as error:
                failure = row, packed_exception(error)
                break
            for output in work.outputs:
                value, slot = made[output], slots.get(output)
                if slot is None or value.shape != slot.shape or value.dtype != slot.dtype:
                    strays.add(row, output, value)
                elif value is not slot and not (output in in_place and value is values[output]):
                    slot[...] = value
        told = pickle.dumps((dict(work.seconds), strays.told, failure))
        return b"".join([len(told).to_bytes(8, "little"), told, *strays.parts])


def message(common: bytes, chunk: Chunk, starts: dict[str, tuple[list[int], list[tuple[int, ...]] | None]]) -> bytes:
    return len(common).to_bytes(8, "little") + common + pickle.dumps((chunk, starts))


def _read(body: bytes | memoryview) -> Any:
    view = memoryview(body)
    size = int.from_bytes(view[:8], "little")
    return (pickle.loads(view[8 : 8 + size]), *pickle.loads(view[8 + size :]))
