"""Runs what a program adds to a loader in Python: functions of single rows, and one of whole batches."""

from __future__ import annotations

import inspect
import time
import zlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ._error import Error
from ._penstock import Chain, Ragged


class Transform:
    """The end of a chain that Python computes; made by transform()."""

    __slots__ = ("chain", "steps")

    def __init__(self, chain: Chain | None, steps: tuple[_Step, ...]) -> None:
        self.chain = chain
        """What the loader's workers do before; None: what the field's codec gives."""
        self.steps = steps

    def __ror__(self, before: Chain) -> Transform:
        if not isinstance(before, Chain):
            return NotImplemented
        return Transform(before if self.chain is None else before | self.chain, self.steps)

    def __or__(self, after: object) -> Transform:
        if isinstance(after, Transform) and after.chain is None:
            return Transform(self.chain, self.steps + after.steps)
        if isinstance(after, (Chain, Transform)):
            raise TypeError(f"{after} cannot follow {self}: transform() comes last in a chain")
        return NotImplemented

    def __repr__(self) -> str:
        return " | ".join([str(part) for part in (self.chain, *self.steps) if part is not None])


def transform(function: Callable[..., Any], shape: Sequence[int] | None = None, dtype: Any = None) -> Transform:
    """The last step of a chain: `function(row)` in Python, for what the workers cannot do. Slow: see below.

        fields = {"jpg": ps.image.resize((64, 64)) | ps.transform(lambda image: image[::-1].copy())}

    `row` is a NumPy array, a view of the batch's memory (float32 (3, 64, 64), ...; of a ragged output, uint8 (n,)).
    What the function returns becomes that row of a new NumPy array, which the batch then holds in place of a Tensor.
    All rows of a batch must come out with one shape and dtype; `shape` and `dtype`, where they are given, say which, and
    dtype then converts ("same_kind", as NumPy calls it).

    A function with a second parameter, one without a default, also gets a numpy.random.Generator that is a function of
    the loader's seed, the epoch, the sample, and the output's name: whatever is drawn from it is drawn again by a
    restored loader, and by Loader.at().

    All such functions of a loader run in one thread, ahead of the program, one row after the other, and hold Python's
    lock as they do so. An exception of one is what the loop gets, with a note on output, sample, epoch and batch,
    whatever `on_error` says; with on_error="mark", rows that do not count are zeros, and no function sees them.
    """
    if not callable(function):
        raise TypeError(f"transform() takes a function, not {function!r}")
    return Transform(None, (_Step(function, shape, dtype),))


class _Step:
    __slots__ = ("dtype", "function", "shape")

    def __init__(self, function: Callable[..., Any], shape: Sequence[int] | None, dtype: Any) -> None:
        self.function = function
        self.shape = None if shape is None else tuple(int(size) for size in shape)
        self.dtype = dtype

    def __repr__(self) -> str:
        return f"transform({_name(self.function)})"


def _name(function: Callable[..., Any]) -> str:
    return getattr(function, "__qualname__", None) or repr(function)


def _takes_random(function: Callable[..., Any]) -> bool:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # some builtins do not tell
        return False
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(p.kind in positional and p.default is p.empty for p in parameters) >= 2


def _generator(seed: int, epoch: int, sample: int, transform: int) -> Any:
    from numpy.random import Generator, Philox

    return Generator(Philox(counter=[0, 0, sample, transform], key=[seed, epoch]))


def _transform_number(output: str, place: int | str) -> int:
    return zlib.crc32(f"{output}\0{place}".encode("utf-8", "surrogateescape"))


def _shape_error(output: str, key: str, cause: str) -> Error:
    error = Error(f"sample {key}: field {output}: shape: {cause}")
    error.kind, error.cause, error.key, error.field = "shape", cause, key, output
    return error


def _add_note(error: BaseException, note: str) -> None:
    if hasattr(error, "add_note"):
        error.add_note(note)
    else:  # before Python 3.11 nothing shows it, but it is there
        error.__notes__ = [*getattr(error, "__notes__", []), note]  # type: ignore[attr-defined]


class _Rows:
    """The transforms of one output."""

    def __init__(self, output: str, steps: Iterable[_Step]) -> None:
        self.output = output
        self.steps = [
            (step, _transform_number(output, place) if _takes_random(step.function) else None)
            for place, step in enumerate(steps)
        ]

    def __call__(self, values: Any, batch: _Place, valid: Sequence[bool] | None) -> Any:
        import numpy as np

        ragged = isinstance(values, Ragged)
        rows = None if ragged else np.asarray(values)
        made = None
        for row in range(len(values)):
            if valid is not None and not valid[row]:
                continue
            result = self._run(np.asarray(values[row]) if ragged else rows[row], row, batch)
            if made is None:
                made = np.zeros((len(values), *result.shape), result.dtype)
            if result.shape != made.shape[1:] or result.dtype != made.dtype:
                raise _shape_error(
                    self.output,
                    batch.keys[row],
                    f"{self.steps[-1][0]} gave {result.dtype} {result.shape}, "
                    f"and {made.dtype} {made.shape[1:]} for the rows before it",
                )
            made[row] = result
        if made is None:
            made = self._nothing(len(values), batch)
        return made

    def _run(self, value: Any, row: int, batch: _Place) -> Any:
        import numpy as np

        for step, number in self.steps:
            try:
                if number is None:
                    value = step.function(value)
                else:
                    value = step.function(value, _generator(batch.seed, batch.epoch, batch.draws[row], number))
            except BaseException as error:
                _add_note(error, f"penstock: {step} of output {self.output!r}, sample {batch.keys[row]!r}, row {row}")
                raise
            value = np.asarray(value)
            if step.dtype is not None and value.dtype != step.dtype:
                value = value.astype(step.dtype, casting="same_kind")
            if step.shape is not None and value.shape != step.shape:
                raise _shape_error(
                    self.output, batch.keys[row], f"{step} gave {value.dtype} {value.shape}, not {step.shape}"
                )
        return value

    def _nothing(self, rows: int, batch: _Place) -> Any:
        import numpy as np

        step = self.steps[-1][0]
        if step.shape is None or step.dtype is None:
            raise _shape_error(
                self.output, batch.keys[0], f"no row of the batch counts: give {step} shape= and dtype= for its zeros"
            )
        return np.zeros((rows, *step.shape), step.dtype)


class _Place:
    __slots__ = ("draws", "epoch", "keys", "number", "seed")

    def __init__(self, keys: list[str], seed: int, epoch: int, number: int, draws: list[int]) -> None:
        self.keys, self.seed, self.epoch, self.number, self.draws = keys, seed, epoch, number, draws


class OwnStep:
    """All functions of one loader; called by its thread, with each batch in order."""

    def __init__(self, outputs: list[_Rows], on_batch: Callable[..., Any] | None, marks: bool) -> None:
        self._outputs = outputs
        self._on_batch = on_batch
        self._on_batch_number = (
            _transform_number("", "on_batch") if on_batch is not None and _takes_random(on_batch) else None
        )
        self._marks = marks
        self.seconds: dict[str, float] = {}
        """Inside each output's functions, and in on_batch."""
        self.reset()

    def reset(self) -> None:
        names = [rows.output for rows in self._outputs] + (["on_batch"] if self._on_batch is not None else [])
        self.seconds.update(dict.fromkeys(names, 0.0))

    def __call__(self, batch: dict[str, Any], seed: int, epoch: int, number: int, draws: list[int]) -> Any:
        place = _Place(batch["__key__"], seed, epoch, number, draws)
        try:
            return self._run(batch, place)
        except StopIteration as error:  # would pass for the end of the epoch
            raised = RuntimeError("a function of a loader raised StopIteration")
            _add_note(raised, f"penstock: epoch {epoch}, batch {number}")
            raise raised from error
        except BaseException as error:
            _add_note(error, f"penstock: epoch {epoch}, batch {number}")
            raise

    def _run(self, batch: dict[str, Any], place: _Place) -> Any:
        valid = None
        if self._marks and self._outputs:
            valid = [byte != 0 for byte in batch["__valid__"].tobytes()]
        for rows in self._outputs:
            began = time.perf_counter()
            batch[rows.output] = rows(batch[rows.output], place, valid)
            self.seconds[rows.output] += time.perf_counter() - began
        if self._on_batch is None:
            return batch
        began = time.perf_counter()
        if self._on_batch_number is None:
            made = self._on_batch(batch)
        else:
            made = self._on_batch(batch, _generator(place.seed, place.epoch, place.draws[0], self._on_batch_number))
        self.seconds["on_batch"] += time.perf_counter() - began
        if made is None:
            raise TypeError("on_batch returned None: return the batch, or what the loop should get in its place")
        return made


def own_step(fields: dict[str, Any], on_batch: Callable[..., Any] | None, marks: bool) -> OwnStep | None:
    if on_batch is not None and not callable(on_batch):
        raise TypeError(f"on_batch is a function, not {on_batch!r}")
    outputs = [_Rows(name, value.steps) for name, value in fields.items() if isinstance(value, Transform)]
    return OwnStep(outputs, on_batch, marks) if outputs or on_batch is not None else None
