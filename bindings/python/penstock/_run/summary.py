"""The figures of a run, as plain numbers."""

from __future__ import annotations

import dataclasses
import math
import os
import sys
import time
from collections.abc import Sequence
from typing import Any

from .._penstock import rank_of_launcher, usable_cores
from .._profile.scheduling import Shares
from .steps import StepTimes
from .watch import Watch

_GROUPS = 20  # of consecutive steps, for the uncertainty of the mean


@dataclasses.dataclass(frozen=True)
class LoaderFigures:
    """Times in seconds, as a mean over the steps if nothing else is said. step_s is the sum of load_s, compute_s,
    optimizer_s and other_s."""

    kind: str  # "DataLoader", "Loader" of penstock
    dataset: str
    num_workers: int | None
    persistent: bool
    batch_size: int | None
    steps: int
    epochs: int
    step_s: float
    plus_minus_s: float  # Half of the 95 % interval of the mean.
    load_s: float  # Inside next().
    compute_s: float
    optimizer_s: float
    other_s: float  # Starts and ends of epochs after the first, and the time between epochs.
    load_longest_s: float  # The longest of the last 65,536 steps.
    epoch_starts_s: float  # Part of other_s.
    collections_s: float  # Garbage collection, part of the other times.
    collections_load_s: float  # Its part in load_s.
    collections_longest_s: float  # In one of the last 65,536 steps.
    collate_s: float  # In this process, part of load_s.
    first_batch_s: float  # The wait for the first batch of the run, which is in no other figure.
    first_step_s: float  # The step with this batch, also in no other figure.
    total_s: float  # Sum over all steps.
    thread_on_core: float | None  # Shares of load_s in which the training's thread was on a core, or ready for one.
    thread_runnable: float
    workers_on_core: float | None  # Shares of all time, for the worker processes.
    workers_runnable: float
    compute_cores: float | None  # Cores that this process uses between the batches.
    compute_thread: float | None  # Shares of the time between the batches in which the training's thread was on a core,
    compute_runnable: float  # or ready for one.
    device_idle_s: float | None  # A GPU between two steps, by CUDA events. None without CUDA.
    device_copy_s: float  # Copies of tensors to the GPU.
    device_work_s: float  # The other work of the GPU.
    fetch_s: float | None  # The time of a worker for a batch; None if it was not measured.
    fetch_collate_s: float
    fetch_cpu: float  # Share of fetch_s on a core.
    fetch_disk_bytes: float  # Read from disks for a batch, also by page faults.
    penstock: dict[str, Any] | None  # The diagnosis of a penstock loader.


@dataclasses.dataclass(frozen=True)
class RunFigures:
    program: str
    loaders: tuple[LoaderFigures, ...]  # the one with optimizer steps and the most time first
    wall_s: float
    cores: int
    idle_cores: float | None  # of the machine, mean over the run
    rank: int | None
    world: int | None
    cuda: bool
    torch_threads: int | None  # that an operator uses; None without torch
    optimizer_hooks: bool
    steps_traced: int
    replacing: bool  # the user asked for --replace

    @property
    def main(self) -> LoaderFigures | None:
        return self.loaders[0] if self.loaders else None


class Start:
    """Keeps what a report needs from the start of a run. The program may change the variables that name its rank."""

    def __init__(self, program: str) -> None:
        self.program = program
        named: tuple[int | None, int | None] = rank_of_launcher() or (None, None)
        self.rank, self.world = named
        self._before = _idle_and_all()

    def idle_cores(self) -> float | None:
        """Returns the mean number of idle cores of the machine since then, or None if it is unknown."""
        now = _idle_and_all()
        if now is None or self._before is None or now[1] - self._before[1] < 20:
            return None
        idle = (now[0] - self._before[0]) / (now[1] - self._before[1])
        return max(0.0, min(idle, 1.0)) * (os.cpu_count() or 1)


def _idle_and_all() -> tuple[int, int] | None:
    """Ticks of all cores: idle, and the sum."""
    try:
        with open("/proc/stat", "rb") as file:
            numbers = [int(number) for number in file.readline().split()[1:9]]
        return numbers[3] + numbers[4], sum(numbers)
    except (OSError, ValueError, IndexError):
        return None


def figures_of(watch: Watch, start: Start, only: list[StepTimes] | None = None) -> RunFigures:
    """only: these loaders instead of all."""
    torch: Any = sys.modules.get("torch")
    try:
        cuda = bool(torch.cuda.is_initialized())
        threads = int(torch.get_num_threads())
    except Exception:  # torch is missing, or only partly imported
        cuda, threads = False, None
    used = [record for record in (watch.records if only is None else only) if record.steps > 0]
    # A validation may take longer than the training, but has no optimizer steps.
    records = sorted(used, key=lambda record: (record.trains, record.wall), reverse=True)
    return RunFigures(
        program=start.program,
        loaders=tuple(_of(record) for record in records),
        wall_s=(time.perf_counter_ns() - watch.began) * 1e-9,
        cores=usable_cores(),
        idle_cores=start.idle_cores(),
        rank=start.rank,
        world=start.world,
        cuda=cuda,
        torch_threads=threads,
        optimizer_hooks=watch.optimizer_hooks,
        steps_traced=watch.recorder.recorded if watch.recorder is not None else 0,
        replacing=watch.replacer is not None,
    )


def _of(record: StepTimes) -> LoaderFigures:
    record.ask()
    steps, batches = record.steps, max(record.batches, 1)
    second = 1e-9
    sums, waits = record.sums(), record.waits()
    load = sums.load * second / steps
    compute, optimizer = sums.compute * second / batches, sums.optimizer * second / batches
    other = (record.starts + record.ends + record.between) * second / batches
    here, workers = record.scheduling.here(waits), record.scheduling.workers
    device = record.device if record.device is not None and record.device.steps else None
    told = record.meter.sums() if record.meter is not None else None
    fetched = told["batches"] if told is not None else 0
    fetch = told["fetch"] if told is not None else 0
    return LoaderFigures(
        kind=record.about.kind,
        dataset=record.dataset,
        num_workers=record.about.num_workers,
        persistent=record.about.persistent,
        batch_size=record.about.batch_size or record.delivered.rows,
        steps=steps,
        epochs=record.epochs,
        step_s=load + compute + optimizer + other,
        plus_minus_s=plus_minus(record.lengths()) * second,
        load_s=load,
        compute_s=compute,
        optimizer_s=optimizer,
        other_s=other,
        load_longest_s=waits.max * second,
        epoch_starts_s=(record.starts + record.ends) * second / batches,
        collections_s=sums.collections * second / steps,
        collections_load_s=record.collections_in_load * second / steps,
        collections_longest_s=record.longest_collections() * second,
        collate_s=record.collate * second / batches,
        first_batch_s=record.first_batch * second,
        first_step_s=record.first_step * second,
        total_s=record.wall * second,
        thread_on_core=_share(here),
        thread_runnable=here.runnable,
        workers_on_core=_share(workers),
        workers_runnable=workers.runnable,
        compute_cores=record.busy / record.busy_of if record.busy_of else None,
        compute_thread=min(record.thread_busy / record.busy_of, 1.0) if record.busy_of else None,
        compute_runnable=min(record.thread_ready / record.busy_of, 1.0) if record.busy_of else 0.0,
        device_idle_s=device.idle * 1e-3 / device.steps if device is not None else None,
        device_copy_s=device.copy * 1e-3 / device.steps if device is not None else 0.0,
        device_work_s=device.work * 1e-3 / device.steps if device is not None else 0.0,
        fetch_s=fetch * second / fetched if told is not None and fetched else None,
        fetch_collate_s=told["collate"] * second / fetched if told is not None and fetched else 0.0,
        fetch_cpu=min(told["cpu"] / fetch, 1.0) if told is not None and fetch else 0.0,
        fetch_disk_bytes=(told["read_blocks"] * 512) / fetched if told is not None and fetched else 0.0,
        penstock=record.said,
    )


def _share(shares: Shares) -> float | None:
    return shares.on_core if shares.observed else None


def plus_minus(steps: Sequence[float]) -> float:
    """Half of the 95 % interval of the mean, from means of consecutive steps, because neighbouring steps are alike. inf
    for fewer than four steps."""
    groups = min(_GROUPS, len(steps) // 2)
    if groups < 2:
        return math.inf
    length = len(steps) // groups
    means = [sum(steps[at * length : (at + 1) * length]) / length for at in range(groups)]
    mean = sum(means) / groups
    variance = sum((value - mean) ** 2 for value in means) / (groups - 1)
    # Student's t for 95 %, approximated within 3 % from 3 degrees of freedom on
    freedom = groups - 1
    student = {1: 12.71, 2: 4.30}.get(freedom, 1.96 + 2.4 / freedom + 3.6 / freedom**2)
    return student * math.sqrt(variance / groups)
