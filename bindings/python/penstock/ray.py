"""penstock on a Ray cluster: many workers pack one dataset."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Sequence
from typing import Any

try:
    import ray
except ImportError as failure:
    raise ImportError("penstock.ray needs Ray: pip install ray") from failure

from . import Dataset, Error, finish_pack
from . import pack as _pack
from ._packing import with_options
from ._parts import NOT_RETRIED, PATIENCE, TELL_EVERY, Stopped, absolute, joins, naming, part_options, prepare
from ._progress import Bar

__all__ = ["pack"]


@with_options("clusters")
def pack(
    source: str | os.PathLike[str] | Dataset,
    destination: str | os.PathLike[str],
    *,
    format: str = "tar",
    parts: int | None = None,
    shard_size: int | str = 256 << 20,
    align: int | str = 1,
    labels: str = "",
    classes: Sequence[str] = (),
    jpeg: str = "keep",
    max_side: int = 0,
    decode: int | str | bool | None = None,
    presample: str = "",
    point_order: str = "keep",
    point_attributes: str = "none",
    workers: int = 1,
    on_error: str = "raise",
    overwrite: bool = False,
    resume: bool = False,
    report: str | os.PathLike[str] = "",
    retries: int = 2,
    progress: bool | Callable[[int, int, int], object] = True,
) -> dict[str, Any]:
    """Packs on a Ray cluster: one task per part, then another task joins the parts. Initialises Ray if the program has
    not done so.

    The nodes need penstock, and see source and destination under the same absolute paths. The files are the same as
    those of penstock.pack, for any number of parts.

    {options}

    A failure or Ctrl-C stops all parts. `resume=True` continues later, `overwrite=True` starts again.

    Returns {"samples", "bytes", "skipped", "shards", "parts"}. Raises Error, which names the part and the machine.
    """
    options = part_options(locals())
    source, destination = absolute(source, destination)
    if not ray.is_initialized():
        ray.init()
    total, world = _told(_elsewhere(prepare, source, destination, resume, overwrite))
    cores = int(ray.cluster_resources().get("CPU", 1))
    world = parts or world or max(1, cores // max(1, workers))
    bar = Bar("packing") if progress is True else None
    try:
        if not _told(_elsewhere(joins, destination)):
            _Run(world, total, bar, progress).pack(source, destination, options, retries)
    finally:
        if bar is not None:
            bar.end()
    joined = _told(_elsewhere(finish_pack, destination, overwrite=overwrite, report=os.fspath(report)))
    return {**joined, "parts": world}


def _elsewhere(function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """Runs a short function in a process of the cluster."""
    return ray.remote(num_cpus=0, max_retries=0)(function).remote(*arguments, **named)


def _told(reference: Any) -> Any:
    try:
        return ray.get(reference)
    except ray.exceptions.RayTaskError as failure:
        raise failure.cause from None


class _Watch:
    """An actor that holds the progress of the parts, and whether they must stop."""

    def __init__(self) -> None:
        self._told: dict[int, tuple[int, int]] = {}  # samples and bytes of each rank
        self._stop = False

    def tell(self, rank: int, samples: int, nbytes: int) -> bool:
        """Records progress. Returns whether the part should continue."""
        self._told[rank] = (samples, nbytes)
        return not self._stop

    def goes_on(self) -> bool:
        return not self._stop

    def stop(self) -> None:
        self._stop = True

    def sums(self) -> tuple[int, int]:
        return sum(t[0] for t in self._told.values()), sum(t[1] for t in self._told.values())


class _Run:
    """The tasks of one call, and their progress."""

    def __init__(
        self, world: int, total: int, bar: Bar | None, progress: bool | Callable[[int, int, int], object]
    ) -> None:
        self._world = world
        self._total = total
        self._bar = bar
        self._show = bar or (progress if callable(progress) else None)
        self._done = 0

    def pack(self, source: str | Dataset, destination: str, options: dict[str, Any], retries: int) -> None:
        remote: Any = ray.remote  # Ray's own types refuse a list of exceptions, and hide the methods of actors
        watch = remote(num_cpus=0)(_Watch).remote()
        task = remote(num_cpus=max(1, options["workers"]), max_retries=retries, retry_exceptions=[Error])(_pack_part)
        ranks = {
            task.remote(source, destination, rank, self._world, options, watch): rank for rank in range(self._world)
        }
        try:
            self._wait(ranks, watch)
        except BaseException:
            ray.get(watch.stop.remote())  # running parts see it soon; parts that wait for a core then end at once
            _, running = ray.wait(list(ranks), num_returns=len(ranks), timeout=PATIENCE)
            for reference in running:  # Ray may abort this process if a task that ends is cancelled
                ray.cancel(reference)
            raise
        finally:
            ray.kill(watch)

    def _wait(self, ranks: dict[Any, int], watch: Any) -> None:
        waiting = list(ranks)
        while waiting:
            done, waiting = ray.wait(waiting, timeout=TELL_EVERY)
            for reference in done:
                self._take(reference, ranks[reference])
            if self._bar is not None:
                self._bar.doing = f"packing, {self._done} of {self._world} parts done"
            if self._show is not None:
                samples, nbytes = ray.get(watch.sums.remote())
                self._show(samples, self._total, nbytes)

    def _take(self, reference: Any, rank: int) -> None:
        failure: BaseException | None
        where = ""
        try:
            result = ray.get(reference)
            failure, where = result["failure"], f" on {result['host']}"
        except ray.exceptions.RayTaskError as raised:
            failure = raised.cause
        except ray.exceptions.RayError as raised:
            failure = raised
        if failure is not None:
            raise naming(f"part {rank} of {self._world}{where}", failure) from failure
        self._done += 1


# Functions that run on the workers


def _pack_part(
    source: str | Dataset, destination: str, rank: int, world: int, options: dict[str, Any], watch: Any
) -> dict[str, Any]:
    host = f"{socket.gethostname()} (process {os.getpid()})"
    told = 0.0

    def tell(samples: int, _total: int, nbytes: int) -> None:
        nonlocal told
        if time.monotonic() - told < TELL_EVERY:
            return
        told = time.monotonic()
        if not ray.get(watch.tell.remote(rank, samples, nbytes)):
            raise Stopped

    failure: Error | None = None
    try:
        if not ray.get(watch.goes_on.remote()):
            raise Stopped
        result = _pack(source, destination, rank=rank, world=world, progress=tell, **options)
        ray.get(watch.tell.remote(rank, result["resumed"] + result["samples"], result["bytes"]))
    except Error as raised:
        if raised.kind not in NOT_RETRIED:
            raise
        failure = raised
    except Stopped:
        failure = Error("stopped")
    return {"failure": failure, "host": host}
