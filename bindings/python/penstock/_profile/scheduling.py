"""Whether those that load were on a core, ready for one, or waiting for something else: as the kernel counts it."""

from __future__ import annotations

import dataclasses
import functools
import os
import random
import threading
import time
from typing import Any, NamedTuple

from .._penstock import Durations

_now = time.perf_counter_ns
_spent = time.thread_time_ns  # by the thread's own clock, as the kernel's files count whole ticks
_THREAD = "/proc/thread-self"
_SHARE = 500  # one part in so many of the time goes into looking
_SELDOM = 250_000_000  # ns between two looks at worker processes at the least


@dataclasses.dataclass(frozen=True)
class Shares:
    """Of some time that was observed, in nanoseconds."""

    observed: int = 0
    core: int = 0
    waiting: int = 0  # ready, while others had the cores
    processes: int = 0  # those that were looked at last

    @property
    def on_core(self) -> float:
        return min(self.core / self.observed, 1.0) if self.observed else 0.0

    @property
    def runnable(self) -> float:
        return min(self.waiting / self.observed, 1.0 - self.on_core) if self.observed else 0.0

    @property
    def computing(self) -> float:
        """What would be computing, were there cores enough."""
        return self.on_core + self.runnable

    def plus(self, observed: int, core: int, waiting: int) -> Shares:
        return dataclasses.replace(
            self, observed=self.observed + observed, core=self.core + core, waiting=self.waiting + waiting
        )


class Look(NamedTuple):
    """At the loop's own thread, before a next(); in nanoseconds."""

    passed: int  # since the next() was asked for
    cost: int  # of the look, in the time of this thread: a look that others interrupted cost no more
    core: int
    waiting: int


class Scheduling:
    """Looks now and then: at the loop's own thread around a next(), and at the worker processes of a DataLoader. Nothing that
    lies before a loop's first batch is in it, so no start of a process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.reset()

    def reset(self) -> None:
        with self._lock:
            self.looked: dict[int, Shares] = {}  # of waits in next() of so many bits, in the thread that asked
            self.workers = Shares()
            self.due = 0  # when the next look is
            self._workers_due = 0
            self._seen: dict[int, tuple[int, int, int]] = {}  # of each worker process: when, on a core, ready
            self._skip = 0  # calls of next(), once a look is due
            self._chance = random.Random(0)

    def here(self, waits: Durations) -> Shares:
        """Of the loop's own thread, in all those waits: short and long ones count as much as they come to, and where none was
        looked at, those of half and twice as long stand for them. Nothing where the rest comes to more than that."""
        seen, sums = Shares(), waits.sums_by_width()
        with self._lock:
            for bits, whole in sums.items():
                shares = self._like(bits)
                if shares.observed:
                    seen = seen.plus(whole, round(whole * shares.on_core), round(whole * shares.runnable))
        return seen if seen.observed > sum(sums.values()) / 2 else Shares()

    def _like(self, bits: int) -> Shares:
        """Of looks at waits of so many bits, or else of one bit more or less: like waits lie on both sides of a power of two."""
        if (own := self.looked.get(bits, Shares())).observed:
            return own
        near = [self.looked[beside] for beside in (bits - 1, bits + 1) if beside in self.looked]
        return functools.reduce(lambda sum, one: sum.plus(one.observed, one.core, one.waiting), near, Shares())

    def before(self, iterator: Any, now: int) -> Look | None:
        """Once a look is due, before a next(); nothing where this one is not looked at. `now`: of time.perf_counter_ns()."""
        begun = _spent()
        if now >= self._workers_due and self._lock.acquire(blocking=False):
            try:
                self._look_at_workers(iterator)
            finally:
                self._lock.release()
        if self._skip > 0:
            self._skip -= 1
            return None
        waiting, core = _waiting(_THREAD), _spent()
        return Look(_now() - now, core - begun, core, waiting)

    def after(self, look: Look, took: int) -> None:
        """Behind that next(), which took so many nanoseconds."""
        core, waiting = _spent(), _waiting(_THREAD)
        with self._lock:
            bits = took.bit_length()
            seen = self.looked.get(bits, Shares())
            self.looked[bits] = seen.plus(max(took - look.passed, 0), core - look.core, waiting - look.waiting)
            self.due = _now() + _SHARE * (look.cost + _spent() - core)
            # It falls due in a long wait more often than in a short one, and behind a long one often come short ones: which
            # next() is looked at is drawn.
            self._skip = self._chance.randrange(2 * max(len(self._seen), 4))

    def _look_at_workers(self, iterator: Any) -> None:
        begun = _spent()
        try:
            read = {worker.pid: _of_process(worker.pid) for worker in getattr(iterator, "_workers", None) or ()}
        except Exception:  # a look must never end a training; what it missed is missing in the figures
            read = {}
        for pid, after in read.items():
            before = self._seen.get(pid)
            if before is not None and after is not None:
                self.workers = self.workers.plus(*(max(now - then, 0) for now, then in zip(after, before)))
        self._seen = {pid: of for pid, of in read.items() if of is not None}
        if self._seen:
            self.workers = dataclasses.replace(self.workers, processes=len(self._seen))
        self._workers_due = _now() + max(_SELDOM, _SHARE * (_spent() - begun))


def _of_process(pid: int | None) -> tuple[int, int, int] | None:
    """When, and until then: on a core, with all its threads, and ready for one; None of a process that is gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()  # from the third on: man 5 proc
        core = (int(fields[11]) + int(fields[12])) * 1_000_000_000 // os.sysconf("SC_CLK_TCK")
        waiting = sum(_waiting(f"/proc/{pid}/task/{thread}") for thread in os.listdir(f"/proc/{pid}/task"))
        return _now(), core, waiting
    except (OSError, IndexError, ValueError):
        return None


def _waiting(thread: str) -> int:
    try:
        with open(f"{thread}/schedstat", "rb") as file:
            return int(file.read().split()[1])
    except (OSError, IndexError, ValueError):  # a kernel without it, or a thread that has ended
        return 0
