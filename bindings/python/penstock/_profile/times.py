"""Times of all loops over one loader."""

from __future__ import annotations

import dataclasses
import threading

from .._penstock import DurationCounter, Durations
from .batch import Delivered


@dataclasses.dataclass
class Times:
    """In nanoseconds. All time from an iter() to the last next() of its loop is in one of first, end, wait and step."""

    batches: int = 0
    loops: int = 0  # loops that took a batch
    errors: int = 0  # errors that next() raised, except its end
    first_batch: int = 0  # iter() and the first next() of the first loop
    first: int = 0  # iter() and the first next() of all loops
    end: int = 0  # next() that returned no batch
    wait: int = 0  # every other next()
    step: int = 0  # the program between two next()
    waits: Durations = dataclasses.field(default_factory=Durations)  # the single waits in `wait`
    steps: Durations = dataclasses.field(default_factory=Durations)  # between a batch and the following next()

    @property
    def wall(self) -> int:
        return self.first + self.end + self.wait + self.step

    @property
    def steady(self) -> int:
        """The wall time except before first batches and after last batches."""
        return self.wait + self.step

    @property
    def data_wait(self) -> float:
        """Share of steady() spent in `wait`."""
        return self.wait / self.steady if self.steady else 0.0


class Recorder:
    """Adds up the times that loops report, from any threads. Copies are consistent."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._begin()
        self.delivered = Delivered()  # the first batch of the last loop

    def began(self, took: int) -> None:
        """Records an iter()."""
        with self._lock:
            self._times.first += took

    def first(self, gap: int, wait: int, since_began: int) -> None:
        """Records the first batch of a loop, `gap` after the iter()."""
        with self._lock:
            times = self._times
            if times.loops == 0:
                times.first_batch = since_began
            times.batches += 1
            times.loops += 1
            times.step += gap
            times.first += wait

    def taken(self, step: int, wait: int) -> None:
        """Records a later batch, and the step before it."""
        with self._lock:
            times = self._times
            times.batches += 1
            times.step += step
            times.wait += wait
            self._steps.add(step)
            self._waits.add(wait)

    def ended(self, step: int, wait: int, of_batch: bool, failed: bool) -> None:
        """Records a next() without a batch. `of_batch`: the program had a batch before, so the time since then is a
        step."""
        with self._lock:
            times = self._times
            times.errors += failed
            times.step += step
            times.end += wait
            if of_batch:
                self._steps.add(step)

    def times(self) -> Times:
        with self._lock:
            return dataclasses.replace(self._times, waits=self._waits.get(), steps=self._steps.get())

    def reset(self) -> None:
        with self._lock:
            self._begin()

    def _begin(self) -> None:
        self._times = Times()  # guarded by the lock, as are the two counters
        self._waits, self._steps = DurationCounter(), DurationCounter()
