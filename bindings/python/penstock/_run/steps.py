"""The times of the steps of one loader."""

from __future__ import annotations

import array
import weakref
from typing import Any, NamedTuple

from .._penstock import DurationCounter, Durations, LivePage
from .._profile.about import About, own_verdict
from .._profile.batch import Delivered, delivered
from .._profile.scheduling import Scheduling
from .device import DeviceTimes
from .workers import Meter

KEPT = 65_536  # the last steps; a power of two
_MASK = KEPT - 1
_DENSE_LOOKS = 40


class Sums(NamedTuple):
    """The parts of one step, or of several."""

    load: int
    compute: int
    optimizer: int
    collections: int  # of the garbage collector, within the other parts


class StepTimes:
    """Times in nanoseconds. The wait for the first batch of an epoch counts as the start of the epoch, not as a load. The
    first epoch's start and first step are kept apart, because they contain one-time work such as torch.compile()."""

    def __init__(self, loader: Any, about: About) -> None:
        self.about = about
        self.loader: weakref.ref[Any] | None = None
        self.dataset = type(getattr(loader, "dataset", loader)).__name__
        self.renew(loader)
        self.scheduling = Scheduling()
        self.meter: Meter | None = None  # Filled by worker processes.
        self.page: LivePage | None = None  # Shown by `penstock top`.
        self.delivered = Delivered()
        self.said: dict[str, Any] | None = None  # The diagnosis of a penstock loader.
        self.device: DeviceTimes | None = None  # None without CUDA.
        self._looks = 0
        self.epochs = 0  # The number of begun epochs.
        self.in_epoch = False
        self.batches = 0  # All except the first one, whose step is kept apart.
        self.steps = 0  # Batches except the first one of each epoch.
        self.collections_in_load = 0
        self.collate = 0  # In this process.
        self.starts = self.ends = self.between = 0  # Starts and ends of epochs, and the time between them.
        self.first_batch = 0  # The first epoch's iter() and first next().
        self.first_step = 0  # With this batch.
        self.busy = 0  # CPU time of all threads of this process outside next(), in some steps.
        self.thread_busy = 0  # The part of the loop's own thread.
        self.thread_ready = 0  # Time for which this thread waited for a core.
        self.busy_of = 0  # Time in these steps outside next().
        self.cpu_looks = 0  # The number of these steps.
        self._first_compute = self._first_optimizer = 0  # Sums over the steps with the first batches of epochs.
        # The last steps, at number % KEPT. A step adds no sums, because additions would double its cost.
        self._loads, self._computes, self._optimizers, self._collections = self._columns = [
            array.array("q", bytes(8 * KEPT)) for _ in range(4)
        ]
        self._summed = 0  # The number of steps that _sums contains.
        self._sums = [0, 0, 0, 0]

    def renew(self, loader: Any) -> None:
        """A loader that the program makes again for each epoch continues the records of the old one."""
        try:
            self.loader = weakref.ref(loader)
        except TypeError:
            self.loader = None

    def alive(self) -> Any | None:
        return self.loader() if self.loader is not None else None

    def thin(self, now: int) -> None:
        """Call it after a look of `scheduling`. The first looks cost 1/500 of the time, later ones 1/4,000."""
        self._looks += 1
        if self._looks > _DENSE_LOOKS:
            self.scheduling.due = now + 8 * (self.scheduling.due - now)

    def add_collate(self, spent: int) -> None:
        if self.epochs:  # The wait for the first batch is not a load.
            self.collate += spent

    def delivered_by(self, batch: Any) -> None:
        self.delivered = delivered(batch)

    def ask(self) -> None:
        """Keeps the diagnosis of a penstock loader, which may be closed before the end of the program."""
        loader = self.alive()
        if loader is not None:
            self.said = own_verdict(loader) or self.said

    def add_first(self, compute: int, optimizer: int) -> None:
        """Adds the step with the first batch of an epoch."""
        if self.first_step == 0:
            self.first_step = max(compute + optimizer, 1)
            return
        self.batches += 1
        self._first_compute += compute
        self._first_optimizer += optimizer

    def add(self, load: int, compute: int, optimizer: int, collections: int) -> None:
        """Adds another step; the parts are its load, compute and optimizer. collections: of the garbage collector, within
        them."""
        place = self.steps & _MASK
        self._loads[place] = load
        self._computes[place] = compute
        self._optimizers[place] = optimizer
        self._collections[place] = collections
        self.steps += 1
        self.batches += 1
        if place == _MASK:  # before the columns are written again
            self._sum_up()

    def _sum_up(self) -> None:
        first = self._summed & _MASK
        last = first + self.steps - self._summed
        self._sums = [before + sum(column[first:last]) for before, column in zip(self._sums, self._columns)]
        self._summed = self.steps

    def sums(self) -> Sums:
        """Over all steps."""
        self._sum_up()
        load, compute, optimizer, collections = self._sums
        return Sums(load, compute + self._first_compute, optimizer + self._first_optimizer, collections)

    @property
    def trains(self) -> bool:
        """Whether optimizers make steps with the batches of this loader, unlike in a validation."""
        return self.sums().optimizer > 0

    @property
    def wall(self) -> int:
        sums = self.sums()
        return sums.load + sums.compute + sums.optimizer + self.starts + self.ends + self.between

    def lengths(self) -> list[int]:
        """The last steps, in their order."""
        first, kept = self.steps & _MASK, min(self.steps, KEPT)
        steps = [sum(parts) for parts in zip(*(column[:kept] for column in self._columns[:3]))]
        return steps[first:] + steps[:first] if self.steps > KEPT else steps

    def longest_collections(self) -> int:
        """In one of the last steps."""
        return max(self._collections[: min(self.steps, KEPT)], default=0)

    def waits(self) -> Durations:
        """The loads of the last steps."""
        counter = DurationCounter()
        for load in self._loads[: min(self.steps, KEPT)]:
            counter.add(load)
        return counter.get()
