"""Keeps what the steps of a loop over another loader took: what record/time/step_log.cpp does for penstock's own."""

from __future__ import annotations

import collections
import threading
from typing import Any

from .steps import KEPT, Steps, no_time, sum_of

_SECONDS = 1e-9


class StepLog:
    """Points of time in nanoseconds. Any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._marked = False
        self.reset()

    def reset(self) -> None:
        with self._lock:
            self._current = no_time()
            self._sum = no_time()
            self._kept: collections.deque[dict[str, Any]] = collections.deque(maxlen=KEPT)
            self._count = 0
            self._unmarked = 0  # steps that next() ended, the last ones, of this epoch
            self._since = 0  # 0: not begun
            self._has_batch = False

    def next(self, asked: int, got: int, batch: bool) -> None:
        """A next() between these points; `batch`: not the end of the epoch, nor an error."""
        with self._lock:
            self._works(asked)
            if not self._marked and self._current["batches"]:
                self._end()
                self._unmarked += 1
            self._current["DataLoader"]["wait"] += (got - asked) * _SECONDS
            self._current["batches"] += batch
            self._has_batch = batch or (self._marked and self._has_batch)
            self._since = got
            if not batch and not self._marked:
                self._unmarked = 0

    def mark(self, now: int) -> None:
        with self._lock:
            self._works(now)
            if not self._marked:
                self._take_back_unmarked()
            self._marked = True
            self._has_batch = False
            if self._current["batches"]:
                self._end()

    def _works(self, now: int) -> None:
        if self._since:
            self._current["Compute" if self._has_batch else "Other"] += max(now - self._since, 0) * _SECONDS
        self._since = now

    def _take_back_unmarked(self) -> None:
        """What the epoch's batches so far were taken for, a step each, becomes one with the first mark."""
        if self._count > KEPT:
            return
        for _ in range(self._unmarked):
            self._current = sum_of((self._current, self._kept.pop()))
            self._count -= 1
        self._unmarked = 0
        self._sum = sum_of(self._kept)

    def _end(self) -> None:
        self._kept.append(self._current)
        self._sum = sum_of((self._sum, self._current))
        self._count += 1
        self._current = no_time()

    def steps(self, schedule: Any) -> Steps:
        with self._lock:
            return Steps(self._count - len(self._kept), list(self._kept), self._sum, schedule)
