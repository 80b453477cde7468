"""What Python's functions of a loader make of one row, in whatever process that is."""

from __future__ import annotations

import inspect
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .._error import Error
from .._penstock import Chain, RowProgram
from .seeds import Seeds

_PROGRAMS = 64  # kept, of as many shapes that a function gives


def name_of(function: Callable[..., Any]) -> str:
    return getattr(function, "__qualname__", None) or type(function).__qualname__


def takes_random(function: Callable[..., Any]) -> bool:
    """Whether it has a second parameter to be given, one without a default."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # some builtins do not tell
        return False
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(p.kind in positional and p.default is p.empty for p in parameters) >= 2


def generator(seed: int, epoch: int, sample: int, transform: int) -> Any:
    from numpy.random import Generator, Philox

    return Generator(Philox(counter=[0, 0, sample, transform], key=[seed, epoch]))


def transform_number(output: str, place: int | str) -> int:
    return zlib.crc32(f"{output}\0{place}".encode("utf-8", "surrogateescape"))


def shape_error(output: str, key: str, cause: str) -> Error:
    error = Error(f"sample {key}: field {output}: shape: {cause}")
    error.kind, error.cause, error.key, error.field = "shape", cause, key, output
    return error


def misuse(output: str, cause: str) -> Error:
    error = Error(f'output "{output}": {cause}')
    error.kind, error.cause = "invalid_argument", error.args[0]
    return error


def add_note(error: BaseException, note: str) -> None:
    if hasattr(error, "add_note"):
        error.add_note(note)
    else:  # before Python 3.11 nothing shows it, but it is there
        error.__notes__ = [*getattr(error, "__notes__", []), note]  # type: ignore[attr-defined]


class Place:
    """Of a row: its sample, and what its draws are keyed by."""

    __slots__ = ("draws", "epoch", "key", "row", "seed")

    def __init__(self, seed: int, epoch: int, key: str, row: int, draws: int) -> None:
        self.seed, self.epoch, self.key, self.row, self.draws = seed, epoch, key, row, draws


def _fits(shape: tuple[int, ...], wanted: tuple[int | None, ...]) -> bool:
    return len(shape) == len(wanted) and all(w is None or w == size for size, w in zip(shape, wanted))


def empty_as(value: Any, wanted: tuple[int | None, ...]) -> Any:
    """Nothing at all does not tell what its items would be like: those of rows of different length."""
    if None not in wanted or (value.ndim > 0 and value.shape[0] != 0):
        return value
    return value.reshape(0, *(size or 0 for size in wanted[1:]))


def other_layout(value: Any, layout: str) -> Any:
    """An image (C, H, W) from (H, W, C), or the other way round; what is no image stays as it is."""
    import numpy as np

    if value.ndim != 3:
        return value
    return np.ascontiguousarray(np.moveaxis(value, 0, 2) if layout == "HWC" else np.moveaxis(value, 2, 0))


class Call:
    """A function of a chain."""

    __slots__ = ("dtype", "function", "layout", "moves", "number", "output", "shape")

    def __init__(
        self,
        output: str,
        number: int | None,
        function: Callable[..., Any],
        shape: tuple[int | None, ...] | None,
        dtype: Any,
        layout: str | None,
        moves: bool,
    ) -> None:
        self.output, self.number, self.function = output, number, function
        self.shape, self.dtype, self.layout, self.moves = shape, dtype, layout, moves

    def __repr__(self) -> str:
        return f"transform({name_of(self.function)})"

    def run(self, value: Any, place: Place, slot: Any) -> Any:
        import numpy as np

        if self.moves:
            assert self.layout is not None
            value = other_layout(value, self.layout)
        if self.number is None:
            value = self.function(value)
        else:
            value = self.function(value, generator(place.seed, place.epoch, place.draws, self.number))
        if value is None:
            raise TypeError(f"{self} returned None: it has to return the row")
        value = np.asarray(value)
        if self.dtype is not None and value.dtype != self.dtype:
            value = value.astype(self.dtype, casting="same_kind")
        if self.shape is not None and value.size == 0:
            value = empty_as(value, self.shape)
        if self.shape is not None and not _fits(value.shape, self.shape):
            raise shape_error(self.output, place.key, f"{self} gave {value.dtype} {value.shape}, not {self.shape}")
        return value


class Steps:
    """Steps of a chain behind a function, which the compiled part runs."""

    __slots__ = ("chain", "image", "moves", "output", "place", "programs")

    def __init__(self, output: str, chain: Chain, place: int, image: bool, moves: bool) -> None:
        self.output, self.chain, self.place, self.image, self.moves = output, chain, place, image, moves
        self.programs: dict[Any, RowProgram] = {}

    def __repr__(self) -> str:
        return repr(self.chain)

    def __reduce__(self) -> Any:
        return Steps, (self.output, self.chain, self.place, self.image, self.moves)

    def program(self, dtype: Any, shape: tuple[int, ...]) -> RowProgram:
        made = self.programs.get((dtype, shape))
        if made is None:
            if len(self.programs) >= _PROGRAMS:
                self.programs.clear()
            image = self.image and len(shape) in (2, 3)
            made = RowProgram(self.output, self.chain, self.place, dtype.name, shape, image)
            if made.dtype == "bfloat16":
                raise misuse(self.output, f"{self.chain}: NumPy has no bfloat16, which a chain with functions needs")
            self.programs[dtype, shape] = made
        return made

    def run(self, value: Any, place: Place, slot: Any) -> Any:
        import numpy as np

        value = other_layout(value, "HWC") if self.moves else np.ascontiguousarray(value)
        program = self.program(value.dtype, value.shape)
        if slot is None or slot.shape != program.shape or slot.dtype.name != program.dtype:
            slot = np.empty(program.shape, program.dtype)
        program.run(value, slot, place.seed, place.epoch, place.draws, place.key)
        return slot


class Column:
    """All functions of one output, and the steps behind them."""

    __slots__ = ("output", "parts")

    def __init__(self, output: str, parts: Sequence[Call | Steps]) -> None:
        self.output, self.parts = output, tuple(parts)

    @property
    def ragged(self) -> bool:
        last = self.parts[-1]
        return isinstance(last, Call) and last.shape is not None and None in last.shape

    def run(self, value: Any, place: Place, slot: Any) -> Any:
        for part in self.parts:
            try:
                value = part.run(value, place, slot)
            except Error as error:
                if error.kind == "shape" and error.field == self.output and isinstance(part, Call):
                    raise
                self._note(error, part, place)
                raise
            except BaseException as error:
                self._note(error, part, place)
                raise
        return value

    def _note(self, error: BaseException, part: Call | Steps, place: Place) -> None:
        add_note(error, f"penstock: {part} of output {self.output!r}, sample {place.key!r}, row {place.row}")

    def nothing(self) -> tuple[tuple[int, ...], Any] | None:
        """Shape and dtype of a row, where they are known without one."""
        import numpy as np

        known: tuple[tuple[int, ...], Any] | None = None
        for part in self.parts:
            if isinstance(part, Steps):
                if known is None:
                    return None
                shape, dtype = known
                if part.moves and len(shape) == 3:
                    shape = (*shape[1:], shape[0])
                program = part.program(dtype, shape)
                known = program.shape, np.dtype(program.dtype)
            elif part.shape is None or part.dtype is None:
                known = None
            else:
                known = tuple(size or 0 for size in part.shape), np.dtype(part.dtype)
        return known


class SampleCall:
    """The function of ps.sample()."""

    __slots__ = ("after", "dtypes", "function", "keywords", "number", "shapes")

    def __init__(
        self,
        function: Callable[..., Any],
        keywords: dict[str, str],
        shapes: dict[str, tuple[int | None, ...]],
        dtypes: dict[str, Any],
        number: int | None,
        after: dict[str, Steps],
    ) -> None:
        self.function, self.keywords, self.shapes, self.dtypes = function, keywords, shapes, dtypes
        self.number, self.after = number, after

    def __repr__(self) -> str:
        return f"sample({name_of(self.function)})"

    def ragged(self, output: str, was: bool) -> bool:
        if output in self.after:
            return False
        shape = self.shapes.get(output)
        return was if shape is None else None in shape

    def run(self, values: dict[str, Any], place: Place, slots: Mapping[str, Any]) -> dict[str, Any]:
        given = {keyword: values[output] for output, keyword in self.keywords.items()}
        try:
            if self.number is None:
                made = self.function(**given)
            else:
                random = generator(place.seed, place.epoch, place.draws, self.number)
                made = self.function(random, **given)
            if not isinstance(made, Mapping):
                raise TypeError(f"{self} returned {type(made).__name__}: return a dict of {list(given)}")
            missing = [keyword for keyword in given if keyword not in made]
            if missing:
                raise TypeError(f"{self} returned a dict without {missing[0]!r}: return all of {list(given)}")
            results = {o: self._result(o, made[keyword], values[o], place) for o, keyword in self.keywords.items()}
            for output, steps in self.after.items():
                results[output] = steps.run(results[output], place, slots.get(output))
        except BaseException as error:
            add_note(error, f"penstock: {self}, sample {place.key!r}, row {place.row}")
            raise
        return results

    def _result(self, output: str, made: Any, given: Any, place: Place) -> Any:
        import numpy as np

        array = isinstance(made, np.ndarray) or hasattr(made, "__array__")
        value = np.asarray(made)
        wanted = self.dtypes.get(output)
        if wanted is None and not array:  # numbers of a list take the dtype that they had
            wanted = given.dtype
            value = value.astype(wanted)
        elif wanted is not None and value.dtype != wanted:
            value = value.astype(wanted, casting="same_kind" if value.size else "unsafe")
        shape = self.shapes.get(output)
        if value.size == 0 and shape is not None:
            value = empty_as(value, shape)
        elif value.size == 0 and value.ndim == 1 and given.ndim > 1:
            value = value.reshape(0, *given.shape[1:])
        if shape is not None and not _fits(value.shape, shape):
            raise shape_error(output, place.key, f"{self} gave {value.dtype} {value.shape}, not {shape}")
        return value


class RowWork:
    """All that becomes of a row; taken to other processes by pickling."""

    def __init__(self, columns: Sequence[Column], sample: SampleCall | None, seeds: bool | None = None) -> None:
        self.columns, self.sample = tuple(columns), sample
        functions = [part.function for column in columns for part in column.parts if isinstance(part, Call)]
        self.seeds = Seeds([*functions, *([sample.function] if sample is not None else [])], seeds)
        by_columns = [column.output for column in columns]
        more = [] if sample is None else [output for output in sample.keywords if output not in by_columns]
        self.outputs = [*by_columns, *more]
        """Those that it makes."""
        self.seconds: dict[str, float] = {}
        self.reset()

    def __reduce__(self) -> Any:
        return RowWork, (self.columns, self.sample, self.seeds.wanted)

    @property
    def timed(self) -> list[str]:
        return [column.output for column in self.columns] + (["on_sample"] if self.sample is not None else [])

    def reset(self) -> None:
        self.seconds.update(dict.fromkeys(self.timed, 0.0))

    def ragged(self, output: str, was: bool) -> bool:
        """Whether the output's rows differ in length, which those that come in do or do not."""
        for column in self.columns:
            if column.output == output:
                was = column.ragged
        return was if self.sample is None or output not in self.sample.keywords else self.sample.ragged(output, was)

    def run(self, values: dict[str, Any], place: Place, slots: Mapping[str, Any]) -> dict[str, Any]:
        """What the outputs become. `slots`: where a result may be written that has its shape and dtype."""
        if not self.seeds.wanted:
            return self._run(values, place, slots)
        self.seeds.set(place.seed, place.epoch, place.draws)
        known = self.seeds.known()
        made = self._run(values, place, slots)
        if self.seeds.known() != known:  # the row imported one, which was not seeded for it
            self.seeds.look()
            self.seeds.set(place.seed, place.epoch, place.draws)
            made = self._run(values, place, slots)
        return made

    def _run(self, values: dict[str, Any], place: Place, slots: Mapping[str, Any]) -> dict[str, Any]:
        began = time.perf_counter()
        made = dict(values)
        last = self.sample is None
        for column in self.columns:
            output = column.output
            made[output] = column.run(values[output], place, slots.get(output) if last else None)
            now = time.perf_counter()
            self.seconds[output] += now - began
            began = now
        if self.sample is not None:
            made.update(self.sample.run(made, place, slots))
            self.seconds["on_sample"] += time.perf_counter() - began
        return made
