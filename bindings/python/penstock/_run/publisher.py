"""Shows a training to `penstock top`."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable

from .._penstock import LivePage
from .._profile.about import is_own
from .device import copy_time
from .steps import StepTimes

_APART = 100_000_000  # ns between two updates
_SHARE = 1000  # at most a thousandth of the time is spent on updates
_CAUSE_EVERY = 10_000_000_000  # ns
# The bottlenecks of `penstock top` that correspond to the causes of a diagnosis.
_BINDS = {
    "decoding": "cores",
    "workers": "cores",
    "storage": "storage latency",
    "collate": "custom transform",
    **dict.fromkeys(("compute", "threads", "cores", "waiting", "garbage collection"), "consumer"),
}


class Publisher:
    """Penstock's own loaders publish themselves."""

    def __init__(self, rank: int | None, world: int | None, cause: Callable[[StepTimes], str]) -> None:
        self._who = {"rank": rank or 0, "world": world or 1}
        self._cause = cause
        self._causes: dict[int, tuple[int, str]] = {}  # by id(StepTimes): when it is due again, and the bottleneck
        self._records: list[StepTimes] = []
        self.due = sys.maxsize if os.environ.get("PENSTOCK_PUBLISH") == "0" else 0

    def publish(self, record: StepTimes, now: int) -> None:
        """Called by the training thread. Never raises, because it must not end a training."""
        begun = time.thread_time_ns()
        self.due = now + _APART
        try:
            if record.batches == 0 or is_own(record.alive()):
                return
            if record.page is None:
                record.page = LivePage()
                self._records.append(record)
            binds = self._binds(record, now)
            cost = time.thread_time_ns() - begun
            self.due = now + max(_APART, _SHARE * cost)
            record.page.show({**self._who, **_counts(record)}, _step(record), binds, now, self.due)
        except Exception:
            self.end()

    def end(self) -> None:
        """Removes the pages."""
        self.due = sys.maxsize
        for record in self._records:
            record.page = None
        self._records.clear()

    def _binds(self, record: StepTimes, now: int) -> str:
        due, binds = self._causes.get(id(record), (0, "unknown"))
        if now >= due:
            with contextlib.suppress(Exception):
                binds = _BINDS.get(self._cause(record), "unknown")
            self._causes[id(record)] = (now + _CAUSE_EVERY, binds)
        return binds


def _counts(record: StepTimes) -> dict[str, int]:
    """Counters with the names of Loader.stats(). Times are in nanoseconds."""
    sums, workers = record.sums(), record.about.num_workers or 0
    return {
        "samples": record.batches * (record.about.batch_size or record.delivered.rows or 0),
        "batches": record.batches,
        "batches_taken": record.batches,
        "epochs": record.epochs - record.in_epoch,
        "wall_s": record.wall,
        "first_batch_s": record.first_batch,
        "data_wait_s": sums.load + record.starts + record.ends,
        "step_s": sums.compute + sums.optimizer,
        "workers": workers,
        "workers_now": workers,
    }


def _step(record: StepTimes) -> dict[str, int]:
    sums = record.sums()
    copy = min(copy_time(record.device, record.batches), sums.compute)
    return {
        "load": sums.load,
        "copy": copy,
        "compute": sums.compute - copy,
        "optimizer": sums.optimizer,
        "other": record.starts + record.ends + record.between,
    }
