"""Times the work inside worker processes of a DataLoader.

Each worker adds to its own row of a page of shared memory. Forked workers inherit it. See spawned.py for the others.
"""

from __future__ import annotations

import mmap
import os
import resource
import sys
import time
from typing import Any

from . import frames

_now = time.perf_counter_ns
_cpu = time.process_time_ns  # of all threads, because decoders may use several

_FIELDS = ("batches", "samples", "fetch", "collate", "cpu", "read_blocks", "faults")
_ROW = 8  # numbers; one cache line for each worker


class Meter:
    """Sums over all workers of a loader. Times are in nanoseconds."""

    def __init__(self, workers: int, inherited: bool = True) -> None:
        """inherited: the workers inherit the memory of this process. Others open it by `path`."""
        self.workers = workers
        file = -1 if inherited else os.memfd_create("penstock-meter")
        if not inherited:
            os.truncate(file, 8 * _ROW * workers)
        self.path = "" if inherited else f"/proc/{os.getpid()}/fd/{file}"
        self._map(file)

    @classmethod
    def opened(cls, path: str, workers: int) -> Meter:
        meter = cls.__new__(cls)
        meter.workers, meter.path = workers, path
        file = os.open(path, os.O_RDWR)
        try:
            meter._map(file)
        finally:
            os.close(file)
        return meter

    def _map(self, file: int) -> None:
        self._page = memoryview(mmap.mmap(file, 8 * _ROW * self.workers)).cast("q")

    def row(self, worker: int) -> memoryview:
        at = worker % self.workers * _ROW
        return self._page[at : at + _ROW]

    def sums(self) -> dict[str, int]:
        """fetch: reading, decoding and collating. cpu: CPU time of the fetch. read_blocks: of 512 bytes, from disks.
        faults: page faults that needed a disk."""
        return {
            name: sum(self._page[worker * _ROW + place] for worker in range(self.workers))
            for place, name in enumerate(_FIELDS)
        }


class Forks:
    """Prepares each forked process that starts while a DataLoader starts its workers."""

    def __init__(self) -> None:
        self.starting: Meter | None = None  # of the DataLoader that starts its workers now
        os.register_at_fork(after_in_child=self._in_child)

    def _in_child(self) -> None:
        meter, self.starting = self.starting, None
        if meter is not None:
            time_fetches(meter)


def time_fetches(meter: Meter) -> None:
    """Times all fetches of this worker process."""
    fetch: Any = sys.modules.get("torch.utils.data._utils.fetch")
    for name in ("_MapDatasetFetcher", "_IterableDatasetFetcher"):
        kind = getattr(fetch, name, None)
        if kind is not None:
            _time_fetch(kind, meter)


def _time_fetch(kind: Any, meter: Meter) -> None:
    original = kind.fetch
    row: list[memoryview] = []

    def fetch(self: Any, index: Any) -> Any:
        if not row:
            worker: Any = sys.modules["torch.utils.data"].get_worker_info()
            row.append(meter.row(worker.id if worker is not None else 0))
            self.collate_fn = timed_collate(self.collate_fn, lambda spent: _add(row[0], 3, spent))
        before, begun, spent = resource.getrusage(resource.RUSAGE_SELF), _now(), _cpu()
        try:
            return original(self, index)
        except BaseException as raised:
            frames.drop_frame(raised)
            raise
        finally:
            after = resource.getrusage(resource.RUSAGE_SELF)
            mine = row[0]
            mine[0] += 1
            mine[1] += len(index) if isinstance(index, (list, tuple)) else 1
            mine[2] += _now() - begun
            mine[4] += _cpu() - spent
            mine[5] += after.ru_inblock - before.ru_inblock
            mine[6] += after.ru_majflt - before.ru_majflt

    kind.fetch = fetch


def _add(row: memoryview, place: int, amount: int) -> None:
    row[place] += amount


def timed_collate(collate: Any, add: Any) -> Any:
    """The collate function of a fetcher, which only the fetcher calls; the loader keeps its own."""

    def timed(samples: Any) -> Any:
        begun = _now()
        try:
            batch = collate(samples)
        except BaseException as raised:
            frames.drop_frame(raised)
            raise
        add(_now() - begun)
        return batch

    return timed
