"""Runs the custom transforms of a loader: functions of single rows and samples, and one of whole batches."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .._warn import warn
from .batch import BatchRows, in_this_thread
from .functions import SampleFunction
from .plan import parted
from .rows import RowWork, add_note, generator, takes_random, transform_number

if TYPE_CHECKING:
    from .processes import Processes


class OwnStep:
    """All functions of one loader. The loader's thread calls it with each batch in order, and Loader.at() calls it too."""

    def __init__(self, work: RowWork | None, on_batch: Callable[..., Any] | None, processes: Processes | None) -> None:
        self._work = work
        self._on_batch = on_batch
        self._on_batch_number = (
            transform_number("", "on_batch") if on_batch is not None and takes_random(on_batch) else None
        )
        self._processes = processes
        self._one_at_a_time = threading.Lock()  # serialises batches whose rows are seeded
        self.seconds: dict[str, float] = {}
        """Seconds inside each output's functions, on_sample and on_batch, summed over all processes."""
        self.reset()

    @property
    def filled(self) -> list[str]:
        """Outputs in which it fills the rows of samples without the field."""
        return [] if self._work is None else list(self._work.fills)

    def stats(self) -> dict[str, Any]:
        processes = self._processes
        return {
            "python_s": dict(self.seconds),
            "python_workers": 0 if processes is None else processes.workers,
            "python_workers_replaced": 0 if processes is None else processes.replaced,
        }

    def reset(self) -> None:
        names = [] if self._work is None else self._work.timed
        self.seconds.update(dict.fromkeys(names + (["batch_transform"] if self._on_batch is not None else []), 0.0))

    def stop(self) -> None:
        """Called before the loader ends. Batches that are not finished are given up."""
        if self._processes is not None:
            self._processes.stop()

    def close(self) -> None:
        """Called after the loader has ended."""
        if self._processes is not None:
            self._processes.close()

    def __call__(
        self, batch: dict[str, Any], seed: int, epoch: int, number: int, draws: list[int], rows: list[int]
    ) -> Any:
        """`rows`: the rows that have data. They include padding."""
        try:
            return self._run(batch, seed, epoch, draws, rows)
        except StopIteration as error:  # would look like the end of the epoch
            raised = RuntimeError("a function of a loader raised StopIteration")
            add_note(raised, f"penstock: epoch {epoch}, batch {number}")
            raise raised from error
        except BaseException as error:
            add_note(error, f"penstock: epoch {epoch}, batch {number}")
            raise

    def _run(self, batch: dict[str, Any], seed: int, epoch: int, draws: list[int], rows: list[int]) -> Any:
        if self._work is not None:
            self._rows(self._work, BatchRows(batch, seed, epoch, draws, rows, self._work))
        if self._on_batch is None:
            return batch
        began = time.perf_counter()
        if self._on_batch_number is None:
            made = self._on_batch(batch)
        else:
            made = self._on_batch(batch, generator(seed, epoch, draws[0], self._on_batch_number))
        self.seconds["batch_transform"] += time.perf_counter() - began
        if made is None:
            raise TypeError("batch_transform returned None; it must return the batch or another object to deliver")
        return made

    def _rows(self, work: RowWork, batch: BatchRows) -> None:
        if self._processes is not None:
            seconds = self._processes.run(batch)
        else:
            with self._one_at_a_time if work.seeds.wanted else contextlib.nullcontext():
                seconds = in_this_thread(work, batch)
        for name, spent in seconds.items():
            self.seconds[name] += spent
        batch.fill_missing()


def own_step(
    fields: dict[str, Any] | None,
    on_sample: SampleFunction | None,
    on_batch: Callable[..., Any] | None,
    python_workers: int,
    missing: Any = None,
) -> tuple[dict[str, Any] | None, OwnStep | None]:
    """Returns the chains that the loader's workers run, and the object that runs all Python functions."""
    if on_batch is not None and not callable(on_batch):
        raise TypeError(f"batch_transform must be a function, not {on_batch!r}")
    if on_sample is not None and not isinstance(on_sample, SampleFunction):
        raise TypeError(f"sample_transform must be ps.sample_transform(function, outputs), not {on_sample!r}")
    chains, work = parted(fields, on_sample)
    if work is not None:
        work.fill_missing(missing)
    processes = None
    if python_workers > 0:
        if work is None:
            warn("penstock: python_workers has no effect without ps.transform() or ps.sample_transform()")
        else:
            from .processes import Processes

            processes = Processes(work, python_workers)
    step = OwnStep(work, on_batch, processes) if work is not None or on_batch is not None else None
    return chains, step
