"""Samples whether loading threads and processes were on a core, ready for one, or waiting for something else, by the
kernel's counters."""

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
_spent = time.thread_time_ns  # the thread's clock, because the kernel's files count whole ticks
_SHARE = 500  # at most 1/500 of the time is spent on looks
_SELDOM = 250_000_000  # minimum ns between two looks at worker processes


@dataclasses.dataclass(frozen=True)
class Shares:
    """Sums over the observed time, in nanoseconds."""

    observed: int = 0
    core: int = 0
    waiting: int = 0  # ready, while others had the cores
    processes: int = 0  # number of processes at the last look

    @property
    def on_core(self) -> float:
        return min(self.core / self.observed, 1.0) if self.observed else 0.0

    @property
    def runnable(self) -> float:
        return min(self.waiting / self.observed, 1.0 - self.on_core) if self.observed else 0.0

    @property
    def computing(self) -> float:
        """The share that would compute if there were enough cores."""
        return self.on_core + self.runnable

    def plus(self, observed: int, core: int, waiting: int) -> Shares:
        return dataclasses.replace(
            self, observed=self.observed + observed, core=self.core + core, waiting=self.waiting + waiting
        )


class Look(NamedTuple):
    """A look at the loop's own thread before a next(); in nanoseconds."""

    passed: int  # since the next() was requested
    cost: int  # CPU time of the look by this thread, so that interruptions by others do not count
    core: int
    waiting: int


class Scheduling:
    """Looks now and then at the loop's own thread around a next(), and at the worker processes of a DataLoader. Time
    before a loop's first batch is not included, so the start of processes is not either."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.reset()

    def reset(self) -> None:
        with self._lock:
            # by the bit length of the wait in next(), for the thread that called it
            self.looked: dict[int, Shares] = {}
            self.workers = Shares()
            self.due = 0  # time of the next look
            self._workers_due = 0
            self._seen: dict[int, tuple[int, int, int]] = {}  # for each worker process: time, ns on a core, ns ready
            self._skip = 0  # calls of next() to skip once a look is due
            self._chance = random.Random(0)

    def here(self, waits: Durations) -> Shares:
        """Shares of the loop's own thread over all waits. Each wait length counts with its total time. If waits of some
        length were never observed, those of half and twice that length are used. Returns empty Shares if less than half
        of the time is covered."""
        seen, sums = Shares(), waits.sums_by_width()
        with self._lock:
            for bits, whole in sums.items():
                shares = self._like(bits)
                if shares.observed:
                    seen = seen.plus(whole, round(whole * shares.on_core), round(whole * shares.runnable))
        return seen if seen.observed > sum(sums.values()) / 2 else Shares()

    def _like(self, bits: int) -> Shares:
        """Looks at waits of this bit length, or else of one bit more or less, because similar waits may be just below
        and just above a power of two."""
        if (own := self.looked.get(bits, Shares())).observed:
            return own
        near = [self.looked[beside] for beside in (bits - 1, bits + 1) if beside in self.looked]
        return functools.reduce(lambda sum, one: sum.plus(one.observed, one.core, one.waiting), near, Shares())

    def before(self, iterator: Any, now: int) -> Look | None:
        """Takes a look before a next(), if one is due; returns None if this call is skipped. `now`: from
        time.perf_counter_ns()."""
        begun = _spent()
        if now >= self._workers_due and self._lock.acquire(blocking=False):
            try:
                self._look_at_workers(iterator)
            finally:
                self._lock.release()
        if self._skip > 0:
            self._skip -= 1
            return None
        waiting, core = waited(), _spent()
        return Look(_now() - now, core - begun, core, waiting)

    def after(self, look: Look, took: int) -> None:
        """Ends the look after that next(), which took `took` nanoseconds."""
        core, waiting = _spent(), waited()
        with self._lock:
            bits = took.bit_length()
            seen = self.looked.get(bits, Shares())
            self.looked[bits] = seen.plus(max(took - look.passed, 0), core - look.core, waiting - look.waiting)
            self.due = _now() + _SHARE * (look.cost + _spent() - core)
            # Without a random skip the sample would be biased. A look falls due during a long wait more often than
            # during a short one, and short waits often follow a long one.
            self._skip = self._chance.randrange(2 * max(len(self._seen), 4))

    def _look_at_workers(self, iterator: Any) -> None:
        begun = _spent()
        try:
            read = {worker.pid: _of_process(worker.pid) for worker in getattr(iterator, "_workers", None) or ()}
        except Exception:  # a look must never end a training; its data are then missing
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
    """Current time, and until then the time on a core (all threads) and the time ready for one. None if the process is
    gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()  # starts with field 3 of man 5 proc
        core = (int(fields[11]) + int(fields[12])) * 1_000_000_000 // os.sysconf("SC_CLK_TCK")
        waiting = sum(waited(f"/proc/{pid}/task/{thread}") for thread in os.listdir(f"/proc/{pid}/task"))
        return _now(), core, waiting
    except (OSError, IndexError, ValueError):
        return None


def waited(thread: str = "/proc/thread-self") -> int:
    """Nanoseconds for which a thread was ready but had no core. 0 if the kernel does not count them."""
    try:
        with open(f"{thread}/schedstat", "rb") as file:
            return int(file.read().split()[1])
    except (OSError, IndexError, ValueError):  # the kernel lacks the file, or the thread has ended
        return 0
