"""The running loops: assigns the time between calls of next() to the loaders."""

from __future__ import annotations

import threading
import time
from typing import Any

from .._profile.scheduling import waited
from .steps import StepTimes

_now = time.perf_counter_ns
_process_time = time.process_time_ns
_thread_time = time.thread_time_ns
# Nanoseconds between two looks at the CPU time of this process. After a sleep, a look takes about 0.3 ms.
_LOOK_EVERY, _LOOK_SELDOM = 50_000_000, 1_000_000_000
_DENSE_LOOKS = 20


class Totals:
    """Sums over the whole process, in nanoseconds. They only grow, so a loop needs only differences."""

    def __init__(self) -> None:
        self.optimizer = 0
        self.optimizer_steps = 0
        self.collections = 0  # of the garbage collector
        self.collection_count = 0


class Clock:
    """One for each thread. A validation inside an epoch counts for its own loader, and the enclosing loop subtracts it.
    Therefore `counted` is the time that loops of this thread have counted already."""

    __slots__ = ("counted", "inside")

    def __init__(self) -> None:
        self.counted = 0
        self.inside = False  # iter() or next() of a loader is running


class Clocks(threading.local):
    """A loop keeps the clock itself, because an attribute of a threading.local costs more than a look at the time."""

    def __init__(self) -> None:
        self.mine = Clock()


class Loop:
    """The loop over one iterator."""

    __slots__ = (
        "_asked",
        "_began",
        "_collections",
        "_counted",
        "_cpu",
        "_ended",
        "_first",
        "_got",
        "_iter",
        "_load",
        "_look_due",
        "_optimizer",
        "_skipped",
        "_thread",
        "_totals",
        "_waited",
        "clock",
        "reference",
        "steps",
    )

    def __init__(self, steps: StepTimes, totals: Totals, clock: Clock) -> None:
        self.steps = steps
        self.reference: Any = None  # to the iterator
        self._totals, self.clock = totals, clock
        self._got = 0  # when next() returned the current batch; 0 without a batch
        self._ended = 0  # when next() raised
        self._counted = 0
        self._look_due = 0
        self._first = True  # The next batch is the first one of its epoch, or the current batch was it.
        self._skipped = False  # The current step is recorded by a profiler, which slows it.
        self._began = self._iter = 0  # End and length of iter().
        self._asked = self._load = 0
        # CPU time of this process and of this thread when next() returned, and the time in which this thread was ready for
        # a core. Only set in some steps.
        self._cpu = self._thread = self._waited = 0
        # Sums of Totals when next() returned. For collections, when it was called.
        self._optimizer = self._collections = 0

    def begin(self, began: int, now: int, previous: Loop | None) -> None:
        """An epoch begins, with an iter() from `began` to `now`. previous: the loop of the epoch before."""
        if previous is not None and (end := previous._leave()):
            nested = self.clock.counted - previous._counted
            self.steps.between += max(began - end - nested, 0)
        self._iter = now - began
        self.clock.counted += self._iter
        self._first = True
        self._got = 0
        self._ended = 0
        self._began = now
        self._counted = self.clock.counted

    def _leave(self) -> int:
        """The end of the epoch, or the last batch if the program left the epoch before its end."""
        end = self._ended or self._got
        self._got = self._ended = 0
        return end

    def asked(self, now: int) -> None:
        """The program asks for a batch, which ends the step of the batch before."""
        totals = self._totals
        if self._got:
            rest = now - self._got
            nested = self.clock.counted - self._counted
            optimizer = totals.optimizer - self._optimizer
            own = rest - nested
            if own < 0:
                own = 0
            if optimizer > own:
                optimizer = own
            if self._skipped:
                pass
            elif self._first:
                self.steps.add_first(own - optimizer, optimizer)
            else:
                self.steps.add(self._load, own - optimizer, optimizer, totals.collections - self._collections)
            self.clock.counted += own
            if self._cpu:
                self.steps.busy += _process_time() - self._cpu
                self.steps.thread_busy += _thread_time() - self._thread
                self.steps.thread_ready += waited() - self._waited
                self.steps.busy_of += rest
                self.steps.cpu_looks += 1
            self._got = 0
            self._first = False
        self._collections = totals.collections
        self._asked = now

    def restart(self) -> int:
        """Work of ours after asked() does not count as loading. Returns the time."""
        self._asked = _now()
        return self._asked

    def got(self, now: int, skipped: bool) -> None:
        """next() has returned a batch."""
        totals, clock = self._totals, self.clock
        load = now - self._asked
        steps = self.steps
        if self._first:
            clock.counted += load
            if steps.epochs == 0:
                steps.first_batch = self._iter + load
            else:
                steps.starts += self._iter + load
                gap = self._asked - self._began - (self.clock.counted - load - self._counted)
                if gap > 0:
                    steps.between += gap
            steps.epochs += 1
            steps.in_epoch = True
        else:
            clock.counted += load
            if totals.collections != self._collections:
                steps.collections_in_load += totals.collections - self._collections
        self._load = load
        self._skipped = skipped
        self._optimizer = totals.optimizer
        self._counted = clock.counted
        self._got = now
        if now >= self._look_due:
            self._look_due = now + (_LOOK_EVERY if steps.cpu_looks < _DENSE_LOOKS else _LOOK_SELDOM)
            self._cpu = _process_time()
            self._thread = _thread_time()
            self._waited = waited()
        else:
            self._cpu = 0

    def ended(self, now: int) -> None:
        """next() has raised: StopIteration, or an error after which the program may continue."""
        wait = now - self._asked
        self.steps.in_epoch = False
        self.steps.ends += wait
        self.clock.counted += wait
        self._counted = self.clock.counted
        self._ended = now

    @property
    def is_first(self) -> bool:
        return self._first
