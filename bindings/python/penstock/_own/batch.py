"""The rows of a batch that custom transforms receive, and the arrays made of their results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._penstock import Ragged, ragged_of
from .rows import Place, RowWork, misuse, no_items, shape_error
from .seeds import Seeds


class Given:
    """An output's rows as the loader's workers left them."""

    __slots__ = ("offsets", "shaped", "values")

    def __init__(self, values: Any) -> None:
        import numpy as np

        self.offsets: list[int] | None = None
        self.shaped: Any = None  # set if each row has its own shape
        if isinstance(values, Ragged):
            self.shaped = values if values.shapes is not None else None
            self.offsets = np.asarray(values.offsets).tolist()
            values = values.values
        self.values = np.asarray(values)

    def row(self, row: int) -> Any:
        if self.offsets is None:
            return self.values[row]
        if self.shaped is not None:
            start, end = self.offsets[row : row + 2]
            return self.values[start:end].reshape(self.shaped[row].shape)
        return self.values[self.offsets[row] : self.offsets[row + 1]]


class BatchRows:
    """One batch on its way through the functions."""

    def __init__(
        self,
        columns: dict[str, Any],
        seed: int,
        epoch: int,
        draws: Sequence[int],
        rows: list[int],
        work: RowWork,
    ) -> None:
        self.columns = columns
        self.keys: list[str] = columns["__key__"]
        self.seed, self.epoch, self.draws = seed, epoch, draws
        self.rows = rows
        """The rows that have data, in order. The others are zeros."""
        for output in work.changed:
            if output not in columns:
                known = ", ".join(name for name in columns if not name.startswith("__"))
                raise misuse(output, f"sample_transform requires it, but the batch has {known}")
        self.given = {output: Given(columns[output]) for output in work.changed}
        self.absent: dict[int, tuple[str, ...]] = {}
        """For rows of samples that lack fields: the outputs to fill there."""
        for output in work.fills:
            marks = columns.get("__present__", {}).get(output)
            for row, present in enumerate([] if marks is None else marks.tolist()):
                if not present:
                    self.absent[row] = (*self.absent.get(row, ()), output)
        self.work = work
        for output, count in work.counts.items():
            if not self.ragged(count.leader) and work.padded(count.leader) is None:
                raise misuse(output, no_items(count.leader, work.step_of(count.leader)))
        self._put_in_order()

    def _put_in_order(self) -> None:
        """Puts outputs that are not made yet at their place in the order of `transforms=`."""
        if self.work.counts:
            others = dict(self.columns)
            self.columns.clear()
            self.columns.update((output, others.pop(output, None)) for output in self.work.order)
            self.columns.update(others)

    def has(self, output: str, row: int) -> bool:
        """Whether the functions make the output's row."""
        return output not in self.absent.get(row, ())

    def fill_missing(self) -> None:
        """Fills the rows that the functions have not made."""
        for output, number in self.work.fills.items():
            rows = [row for row in self.rows if not self.has(output, row)]
            if not rows:
                continue
            values = self.columns[output]
            if self.ragged(output):
                cause = 'its rows differ in length, and a number cannot fill them; use "empty"'
                raise misuse(output, f"missing = {number}: {cause}")
            if not fits(number, values.dtype):
                cause = f"its rows are {values.dtype}, which cannot represent the number; use another number"
                raise misuse(output, f"missing = {number}: {cause}")
            values[rows] = number

    def place(self, row: int) -> Place:
        return Place(self.seed, self.epoch, self.keys[row], row, self.draws[row])

    def ragged(self, output: str) -> bool:
        given = self.given.get(output)  # rows with shapes of their own become arrays of one shape
        return self.work.ragged(output, given is not None and given.offsets is not None and given.shaped is None)

    def mismatch(self, output: str, row: int, shape: Any, dtype: Any, wanted: Any, of: Any) -> Exception:
        step: Any = self.work.sample
        for column in self.work.columns:
            if column.output == output and (step is None or output not in step.keywords):
                step = column.parts[-1]
        cause = f"{step} gave {dtype} {shape}, and {of} {wanted} for the rows before it"
        given = self.given.get(output)
        if given is not None and given.shaped is not None:
            cause += "; after a function, images of different sizes must have one shape; add image.resize() after it"
        return shape_error(output, self.keys[row], cause)

    def nothing(self, output: str) -> Any:
        """The value to deliver if no row of the batch has data."""
        import numpy as np

        if output in self.work.counts:
            none = self.work.counts[output].of(0)
            return self.filled(output, {}, none.shape[1:] if self.ragged(output) else none.shape, none.dtype)
        sample = self.work.sample
        known: Any = None
        step: Any = sample
        if sample is not None and output in sample.keywords:
            if output not in sample.after and output in sample.shapes and output in sample.dtypes:
                known = tuple(size or 0 for size in sample.shapes[output]), np.dtype(sample.dtypes[output])
        else:
            column = next(column for column in self.work.columns if column.output == output)
            known, step = column.nothing(), column.parts[-1]
        given = self.given[output]
        if known is None and self.ragged(output) and given.offsets is not None:
            known = (0, *given.values.shape[1:]), given.values.dtype
        if known is None:
            raise shape_error(
                output,
                self.keys[0],
                f"no sample of the batch has a valid value; pass shape= and dtype= to {step}, which the zeros of the batch require",
            )
        shape, dtype = known
        return self.filled(output, {}, shape[1:] if self.ragged(output) else shape, dtype)

    def filled(self, output: str, rows: dict[int, Any], shape: Any, dtype: Any) -> Any:
        """Rows of different lengths, or zeros. `shape`: the shape of a row, or of an item if lengths differ."""
        import numpy as np

        if not self.ragged(output):
            return np.zeros((len(self.keys), *shape), dtype)
        padding = self.work.padding(output)
        if padding is not None:
            return padding.filled(rows, len(self.keys), shape, dtype)
        return ragged(rows, len(self.keys), shape, dtype)


def fits(number: Any, dtype: Any) -> bool:
    """Whether the dtype can represent the number: integers and bool exactly, floats without becoming infinite."""
    import numpy as np

    try:
        with np.errstate(all="ignore"):
            made = np.array(number).astype(dtype)
    except (OverflowError, TypeError, ValueError):
        return False
    if dtype.kind in "biu":
        return bool(made == number)
    return bool(dtype.kind == "f" and (np.isinf(made) == np.isinf(np.float64(number))))


def ragged(rows: dict[int, Any], count: int, shape: Any, dtype: Any) -> Ragged:
    """Makes a Ragged of the rows in `rows`; the others are empty."""
    import numpy as np

    offsets = np.zeros(count + 1, np.int64)
    for row, value in rows.items():
        offsets[row + 1] = len(value)
    np.cumsum(offsets, out=offsets)
    values = np.concatenate(list(rows.values())) if rows else np.zeros((0, *shape), dtype)
    return ragged_of(np.ascontiguousarray(values), offsets, values.dtype.name)


class Made:
    """Collects an output's new rows, which arrive in order."""

    def __init__(self, batch: BatchRows, output: str) -> None:
        self._batch, self._output = batch, output
        self._ragged = batch.ragged(output)
        self._rows: dict[int, Any] = {}  # rows of a ragged output
        self._array: Any = None
        self._type: Any = None

    def add(self, row: int, value: Any) -> None:
        import numpy as np

        if self._ragged and value.ndim == 0:
            raise shape_error(
                self._output, self._batch.keys[row], "a row of a ragged output must be an array, not a number"
            )
        shape = value.shape[1:] if self._ragged else value.shape
        if self._type is None:
            self._type = shape, value.dtype
            if not self._ragged:
                self._array = np.zeros((len(self._batch.keys), *shape), value.dtype)
        elif self._type != (shape, value.dtype):
            raise self._batch.mismatch(self._output, row, value.shape, value.dtype, *self._type)
        if self._ragged:
            self._rows[row] = value
        else:
            self._array[row] = value

    def done(self) -> Any:
        if self._type is None:
            return self._batch.nothing(self._output)
        return self._batch.filled(self._output, self._rows, *self._type) if self._ragged else self._array


def in_this_thread(work: RowWork, batch: BatchRows) -> dict[str, float]:
    """Replaces the columns that have functions. Returns the seconds that each function took."""
    before = dict(work.seconds)
    made = {output: Made(batch, output) for output in work.outputs}
    taken = Seeds.taken() if work.seeds.wanted else None
    try:
        for row in batch.rows:
            values = {output: given.row(row) for output, given in batch.given.items()}
            results = work.run(values, batch.place(row), {}, batch.absent.get(row, ()))
            for output, column in made.items():
                if batch.has(output, row):
                    column.add(row, results[output])
    finally:
        if taken is not None:
            Seeds.put_back(taken)
    for output, column in made.items():
        batch.columns[output] = column.done()
    return {name: spent - before[name] for name, spent in work.seconds.items()}
