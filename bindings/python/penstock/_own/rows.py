"""Runs the custom transforms of a loader on one row, in this or another process."""

from __future__ import annotations

import inspect
import time
import zlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from .._error import Error, made
from .._penstock import Chain, RowProgram, steps_of
from .seeds import Seeds

_PROGRAMS = 64  # programs cached at most, one for each shape and dtype that a function returns
_CHANNELS = (1, 3, 4)  # channels that an image may have


def name_of(function: Callable[..., Any]) -> str:
    return getattr(function, "__qualname__", None) or type(function).__qualname__


def needed_places(function: Callable[..., Any]) -> list[str]:
    """Names of its positional parameters without a default."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # some builtins have no signature
        return []
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [p.name for p in parameters if p.kind in positional and p.default is p.empty]


def takes_random(function: Callable[..., Any]) -> bool:
    """Whether it has a second required parameter, which receives the generator."""
    return len(needed_places(function)) >= 2


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
    else:  # before Python 3.11, tracebacks do not print notes, but programs can read them
        error.__notes__ = [*getattr(error, "__notes__", []), note]  # type: ignore[attr-defined]


def layout_told(error: BaseException, values: Iterable[Any]) -> str:
    """A note about image layout, which is a likely cause of an error that Albumentations raised."""
    if not any(value.ndim == 3 and value.shape[0] in _CHANNELS and value.shape[2] not in _CHANNELS for value in values):
        return ""
    trace = error.__traceback__
    while trace is not None:
        if str(trace.tb_frame.f_globals.get("__name__")).partition(".")[0] == "albumentations":
            return '; the images were (C, H, W); with layout="HWC" the function gets and returns (H, W, C)'
        trace = trace.tb_next
    return ""


class Place:
    """A row's sample, and the key of its random draws."""

    __slots__ = ("draws", "epoch", "key", "row", "seed")

    def __init__(self, seed: int, epoch: int, key: str, row: int, draws: int) -> None:
        self.seed, self.epoch, self.key, self.row, self.draws = seed, epoch, key, row, draws


def _fits(shape: tuple[int, ...], wanted: tuple[int | None, ...]) -> bool:
    return len(shape) == len(wanted) and all(w is None or w == size for size, w in zip(shape, wanted))


def empty_as(value: Any, wanted: tuple[int | None, ...]) -> Any:
    """Gives an empty result the shape (0, items...). An empty list has no item shape, so it comes from `wanted`."""
    if None not in wanted or (value.ndim > 0 and value.shape[0] != 0):
        return value
    return value.reshape(0, *(size or 0 for size in wanted[1:]))


def other_layout(value: Any, layout: str) -> Any:
    """Converts an image between (C, H, W) and (H, W, C); other arrays stay as they are."""
    import numpy as np

    if value.ndim != 3:
        return value
    return np.ascontiguousarray(np.moveaxis(value, 0, 2) if layout == "HWC" else np.moveaxis(value, 2, 0))


class Call(NamedTuple):
    """A call of a function in a chain."""

    output: str
    number: int | None
    """Stream number of its generator; None: it takes no generator."""
    function: Callable[..., Any]
    shape: tuple[int | None, ...] | None
    dtype: Any
    layout: str | None
    moves: bool
    """Whether the image must be converted to `layout`."""

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
            raise TypeError(f"{self} returned None; it must return the row")
        value = np.asarray(value)
        if self.dtype is not None and value.dtype != self.dtype:
            value = value.astype(self.dtype, casting="same_kind")
        if self.shape is not None and value.size == 0:
            value = empty_as(value, self.shape)
        if self.shape is not None and not _fits(value.shape, self.shape):
            raise shape_error(self.output, place.key, f"{self} gave {value.dtype} {value.shape}, not {self.shape}")
        return value


class Padding(NamedTuple):
    """How pad() extends rows of different lengths."""

    length: int
    """Length of every row; 0: that of the batch's longest row."""
    multiple: int
    value: float

    @classmethod
    def of(cls, chain: Chain) -> Padding | None:
        """Returns None unless pad() ends the chain."""
        steps = steps_of(chain)
        pad = steps[-1].padding if steps else None
        return None if pad is None else cls(*pad)

    def counted(self, items: int) -> int:
        return min(items, self.length) if self.length else items

    def filled(self, rows: Mapping[int, Any], count: int, shape: Any, dtype: Any) -> Any:
        """Returns the rows of the batch as one array. Absent rows have no items."""
        import numpy as np

        longest = max((len(row) for row in rows.values()), default=0)
        length = -(-longest // self.multiple) * self.multiple
        array = np.full((count, length, *shape), self.value, dtype)
        for row, value in rows.items():
            array[row, : len(value)] = value
        return array


def is_image(chain: Chain | None) -> bool:
    """Whether the chain has image transforms."""
    return any(step.domain == "image" for step in steps_of(chain))


class Steps:
    """Transforms after a function, which the compiled part runs."""

    __slots__ = ("behind", "chain", "image", "items", "moves", "needs_image", "output", "padding", "place", "programs")

    def __init__(
        self, output: str, chain: Chain, place: int, image: bool, moves: bool, items: bool = False, behind: str = ""
    ) -> None:
        self.output, self.chain, self.place, self.image, self.moves = output, chain, place, image, moves
        self.needs_image = is_image(chain)
        self.behind = behind
        """The function before these transforms."""
        self.items = items
        """Whether rows are lists of items, with a different number in each row."""
        self.padding = Padding.of(chain)
        self.programs: dict[Any, RowProgram] = {}

    @property
    def ragged(self) -> bool:
        return self.items and (self.padding is None or self.padding.length == 0)

    def __repr__(self) -> str:
        return repr(self.chain)

    def __reduce__(self) -> Any:
        return Steps, (self.output, self.chain, self.place, self.image, self.moves, self.items, self.behind)

    def takes_image(self, dtype: Any, shape: tuple[int, ...]) -> bool:
        """Whether the transforms treat the value as an image. A function may have turned an image into something else."""
        if self.items or not self.image or len(shape) not in (2, 3):
            return False
        return self.needs_image or not self.moves or bool(dtype == "uint8")

    def program(self, dtype: Any, shape: tuple[int, ...], key: str = "") -> RowProgram:
        """Returns the compiled program for values of this dtype and shape."""
        program = self.programs.get((dtype, shape))
        if program is None:
            if len(self.programs) >= _PROGRAMS:
                self.programs.clear()
            image = self.takes_image(dtype, shape)
            taken = (*shape[1:], shape[0]) if image and self.moves and len(shape) == 3 else shape
            try:
                program = RowProgram(self.output, self.chain, self.place, dtype.name, taken, image, self.items)
            except Error as error:
                raise self._misfit(error, dtype, shape, key) from None
            if program.dtype == "bfloat16":
                raise misuse(
                    self.output, f"{self.chain}: a chain with functions cannot return bfloat16, which NumPy lacks"
                )
            self.programs[dtype, shape] = program
        return program

    def _misfit(self, error: Error, dtype: Any, shape: tuple[int, ...], key: str) -> Error:
        chain = f"{self.chain}: "
        at = error.cause.find(chain)
        cause = error.cause if at < 0 else error.cause[at + len(chain) :]
        # the cause describes the array as it is stored, with a name that is not a field
        if " is a " in cause and "not an image" in cause:
            cause = f"that is not an image; {self._image_wanted(dtype, shape)}"
        cause = f'output "{self.output}": {self.behind} gave {dtype} {shape} to {self.chain}: {cause}'
        return made(error.kind, cause, key=key, field=self.output)

    def _image_wanted(self, dtype: Any, shape: tuple[int, ...]) -> str:
        wanted = "(C, H, W)" if self.moves else "(H, W, C)"
        text = f"an image must be uint8 {wanted} with 1, 3 or 4 channels, or (H, W)"
        if dtype != "uint8" and any(step.scales for step in steps_of(self.chain)):
            text += "; normalize() itself divides by 255"
        if len(shape) == 3 and self.moves and shape[0] not in _CHANNELS and shape[2] in _CHANNELS:
            text += '; with layout="HWC" the function gets and returns (H, W, C)'
        if len(shape) == 3 and not self.moves and shape[2] not in _CHANNELS and shape[0] in _CHANNELS:
            text += '; without layout="HWC" and channels_last() the function gets and returns (C, H, W)'
        return text

    def run(self, value: Any, place: Place, slot: Any) -> Any:
        import numpy as np

        if self.items and value.ndim == 0:
            cause = f"the function before {self.chain} gave a single number, not a list of items"
            raise shape_error(self.output, place.key, cause)
        program = self.program(value.dtype, value.shape, place.key)
        moves = self.moves and self.takes_image(value.dtype, value.shape)
        value = other_layout(value, "HWC") if moves else np.ascontiguousarray(value)
        if slot is None or slot.shape != program.shape or slot.dtype.name != program.dtype:
            slot = np.empty(program.shape, program.dtype)
        program.run(value, slot, place.seed, place.epoch, place.draws, place.key)
        return slot


class Column:
    """All functions of one output, and the transforms after them."""

    __slots__ = ("output", "parts")

    def __init__(self, output: str, parts: Sequence[Call | Steps]) -> None:
        self.output, self.parts = output, tuple(parts)

    @property
    def ragged(self) -> bool:
        last = self.parts[-1]
        return last.ragged if isinstance(last, Steps) else last.shape is not None and None in last.shape

    @property
    def padding(self) -> Padding | None:
        """The padding, if rows differ in length until the batch pads them."""
        last = self.parts[-1]
        return last.padding if isinstance(last, Steps) and last.ragged else None

    @property
    def padded(self) -> Padding | None:
        """Padding of the last pad() in the chain, even if later functions keep its length."""
        if self.ragged:
            return self.padding
        found = [part.padding for part in self.parts if isinstance(part, Steps) and part.padding is not None]
        return found[-1] if found else None

    def run(self, value: Any, place: Place, slot: Any, counts: dict[str, int]) -> Any:
        """Runs the parts on one row. Stores the row's number of items, if it has items, in `counts`."""
        for part in self.parts:
            if isinstance(part, Steps) and part.padding is not None and value.ndim > 0:
                counts[self.output] = part.padding.counted(len(value))
            try:
                value = part.run(value, place, slot)
            except Error as error:
                if error.kind == "shape" and error.field == self.output and isinstance(part, Call):
                    raise
                self._note(error, part, place)
                raise
            except BaseException as error:
                self._note(error, part, place, layout_told(error, [value]))
                raise
        if self.ragged and value.ndim > 0:
            counts[self.output] = len(value)
        return value

    def _note(self, error: BaseException, part: Call | Steps, place: Place, told: str = "") -> None:
        add_note(error, f"penstock: {part} of output {self.output!r}, sample {place.key!r}, row {place.row}{told}")

    def nothing(self) -> tuple[tuple[int, ...], Any] | None:
        """Shape and dtype of a row, if they are known without a row."""
        import numpy as np

        known: tuple[tuple[int, ...], Any] | None = None
        for part in self.parts:
            if isinstance(part, Steps):
                if known is None:
                    return None
                shape, dtype = known
                if part.items and not shape:
                    return None
                program = part.program(dtype, shape)
                known = program.shape, np.dtype(program.dtype)
            elif part.shape is None or part.dtype is None:
                known = None
            else:
                known = tuple(size or 0 for size in part.shape), np.dtype(part.dtype)
        return known


class SampleCall(NamedTuple):
    """The function of ps.sample_transform()."""

    function: Callable[..., Any]
    keywords: dict[str, str]
    shapes: dict[str, tuple[int | None, ...]]
    dtypes: dict[str, Any]
    number: int | None
    """As in Call."""
    after: dict[str, Steps]

    def __repr__(self) -> str:
        return f"sample_transform({name_of(self.function)})"

    def ragged(self, output: str, was: bool) -> bool:
        if output in self.after:
            return self.after[output].ragged
        shape = self.shapes.get(output)
        return was if shape is None else None in shape

    def run(
        self, values: dict[str, Any], place: Place, slots: Mapping[str, Any], counts: dict[str, int]
    ) -> dict[str, Any]:
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
            for output, value in results.items():
                counts.pop(output, None)
                if value.ndim > 0:
                    steps = self.after.get(output)
                    padding = None if steps is None else steps.padding
                    counts[output] = len(value) if padding is None else padding.counted(len(value))
            for output, steps in self.after.items():
                results[output] = steps.run(results[output], place, slots.get(output))
        except BaseException as error:
            told = layout_told(error, values.values())
            add_note(error, f"penstock: {self}, sample {place.key!r}, row {place.row}{told}")
            raise
        return results

    def _result(self, output: str, made: Any, given: Any, place: Place) -> Any:
        import numpy as np

        array = isinstance(made, np.ndarray) or hasattr(made, "__array__")
        value = np.asarray(made)
        wanted = self.dtypes.get(output)
        if wanted is None and not array:  # numbers in a list get the dtype of the input
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


class Count(NamedTuple):
    """lengths() or valid_mask() of an output that functions have changed."""

    output: str
    leader: str
    padding: Padding | None
    """For a mask: the padding of the leader. None: lengths()."""
    made_before: bool
    """The workers computed it from the output of pad(), so the functions must keep the row's length."""

    @property
    def ragged(self) -> bool:
        return self.padding is not None and self.padding.length == 0

    def of(self, items: int) -> Any:
        import numpy as np

        if self.padding is None:
            return np.array(items, np.int64)
        mask = np.zeros(self.padding.length or items, np.bool_)
        mask[:items] = True
        return mask

    def check(self, before: int, after: Any, place: Place) -> None:
        if after.ndim > 0 and len(after) == before:
            return
        raise shape_error(
            self.output,
            place.key,
            f'counts items of "{self.leader}", which pad() made {before} items long, but a function after it '
            f"gave {after.dtype} {after.shape}; put pad() after the function",
        )


def no_items(leader: str, step: object) -> str:
    return (
        f'counts items of "{leader}", whose rows all have the same length after {step}; pass shape=(None, ...) if they '
        "differ, "
        "add pad() after the function, or count the rows before the function in another output"
    )


class RowWork:
    """All Python work on a row. Other processes receive it by pickling."""

    def __init__(
        self,
        columns: Sequence[Column],
        sample: SampleCall | None,
        seeds: bool | None = None,
        counts: Sequence[Count] = (),
        order: Sequence[str] = (),
    ) -> None:
        self.columns, self.sample = tuple(columns), sample
        self.checks = tuple(count for count in counts if count.made_before)
        self.counts = {count.output: count for count in counts if not count.made_before}
        self.order = tuple(order)
        """All outputs of a batch, if some of them need the functions' results."""
        functions = [part.function for column in columns for part in column.parts if isinstance(part, Call)]
        self.seeds = Seeds([*functions, *([sample.function] if sample is not None else [])], seeds)
        by_columns = [column.output for column in columns]
        more = [] if sample is None else [output for output in sample.keywords if output not in by_columns]
        self.changed = [*by_columns, *more]
        """Outputs of the workers that the functions change."""
        self.outputs = [*self.changed, *self.counts]
        """All outputs that it makes."""
        of_steps = [column.output for column in self.columns if isinstance(column.parts[-1], Steps)]
        self.written = set(of_steps if sample is None else sample.after)
        """Outputs that run() writes into slots of the right shape and dtype."""
        self.fills: dict[str, int | float] = {}
        """Numbers for rows of samples without the field, by output. The functions do not make these rows."""
        self.seconds: dict[str, float] = {}
        self.reset()

    def fill_missing(self, missing: Any) -> None:
        """Sets `fills` from the loader's option `missing`. The compiled part applies the policies in it."""
        by_output = missing if isinstance(missing, Mapping) else {"*": missing}
        for output in self.counts:
            if output in by_output:
                raise misuse(output, f'missing: it counts items of "{self.counts[output].leader}", and so has its rows')
        for output in self.changed:
            rows = by_output.get(output, by_output.get("*"))
            if rows is not None and not isinstance(rows, str):
                self.fills[output] = rows

    def __reduce__(self) -> Any:
        counts = (*self.counts.values(), *self.checks)
        return RowWork, (self.columns, self.sample, self.seeds.wanted, counts, self.order)

    @property
    def timed(self) -> list[str]:
        return [column.output for column in self.columns] + (["on_sample"] if self.sample is not None else [])

    def reset(self) -> None:
        self.seconds.update(dict.fromkeys(self.timed, 0.0))

    def ragged(self, output: str, was: bool) -> bool:
        """Whether the output's rows differ in length. `was`: whether the rows of its input do."""
        if output in self.counts:
            return self.counts[output].ragged
        for column in self.columns:
            if column.output == output:
                was = column.ragged
        return was if self.sample is None or output not in self.sample.keywords else self.sample.ragged(output, was)

    def padded(self, output: str) -> Padding | None:
        """Padding of an output that a pad() after a function has made."""
        if self.sample is not None and output in self.sample.keywords:
            steps = self.sample.after.get(output)
            return None if steps is None else steps.padding
        return next((column.padded for column in self.columns if column.output == output), None)

    def step_of(self, output: str) -> object:
        """The function or transform that made the output's rows last."""
        if self.sample is not None and output in self.sample.keywords:
            return self.sample
        return next(column.parts[-1] for column in self.columns if column.output == output)

    def padding(self, output: str) -> Padding | None:
        """Padding of an output whose rows differ in length until the batch pads them."""
        if output in self.counts:
            count = self.counts[output]
            return count.padding._replace(value=0) if count.ragged and count.padding is not None else None
        if self.sample is not None and output in self.sample.keywords:
            steps = self.sample.after.get(output)
            return steps.padding if steps is not None and steps.ragged else None
        return next((column.padding for column in self.columns if column.output == output), None)

    def run(
        self, values: dict[str, Any], place: Place, slots: Mapping[str, Any], absent: Collection[str] = ()
    ) -> dict[str, Any]:
        """Returns the new values of the outputs. `slots`: memory for a result that has the slot's shape and dtype.
        `absent`: outputs that the sample lacks; their results mean nothing."""
        if not self.seeds.wanted:
            return self._run(values, place, slots, absent)
        self.seeds.set(place.seed, place.epoch, place.draws)
        known = self.seeds.known()
        kept = {} if all(known) else {output: value.copy() for output, value in values.items()}
        made = self._run(values, place, slots, absent)
        if self.seeds.known() != known:  # the row imported a library, whose generator was not seeded
            self.seeds.look()
            for output, value in kept.items():  # restore the inputs, which the function may have changed
                if value.ndim > 0:
                    values[output].reshape(value.shape)[...] = value
            self.seeds.set(place.seed, place.epoch, place.draws)
            made = self._run(values, place, slots, absent)
        return made

    def _run(
        self, values: dict[str, Any], place: Place, slots: Mapping[str, Any], absent: Collection[str]
    ) -> dict[str, Any]:
        began = time.perf_counter()
        made = dict(values)
        counts: dict[str, int] = {}
        last = self.sample is None
        for column in self.columns:
            output = column.output
            if output in absent:
                continue
            made[output] = column.run(values[output], place, slots.get(output) if last else None, counts)
            now = time.perf_counter()
            self.seconds[output] += now - began
            began = now
        if self.sample is not None and not all(output in absent for output in self.sample.keywords):
            made.update(self.sample.run(made, place, slots, counts))
            self.seconds["on_sample"] += time.perf_counter() - began
        for output in absent:
            counts[output] = 0
        for count in self.checks:
            if count.leader in absent:
                continue
            count.check(len(values[count.leader]), made[count.leader], place)
        for output, count in self.counts.items():
            if count.leader not in counts:
                cause = f'"{count.leader}", which it follows, is a single number and has no items'
                raise shape_error(output, place.key, cause)
            padding = self.padded(count.leader)
            whole = padding is not None and padding.length and not self.ragged(count.leader, False)
            if whole and count.leader not in absent:
                assert padding is not None
                count.check(padding.length, made[count.leader], place)
            made[output] = count.of(counts[count.leader])
        return made
