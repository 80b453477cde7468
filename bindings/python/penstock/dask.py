"""penstock on a Dask cluster: many workers pack one dataset."""

from __future__ import annotations

import os
import socket
import time
import uuid
from collections.abc import Callable, Sequence
from typing import Any

try:
    import distributed
except ImportError as failure:
    raise ImportError("penstock.dask needs Dask: pip install dask distributed") from failure

from . import Dataset, Error, finish_pack
from . import pack as _pack
from ._packing import with_options
from ._parts import NOT_RETRIED, PATIENCE, TELL_EVERY, Stopped, absolute, joins, naming, part_options, prepare
from ._progress import Bar

__all__ = ["pack"]


@with_options("clusters")
def pack(
    client: distributed.Client,
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
    """Packs on the workers of a Dask cluster: one task per part, then one worker joins the parts.

    The workers need penstock, and see source and destination under the same absolute paths. The files are the same as
    those of penstock.pack, for any number of parts.

    {options}

    A failure or Ctrl-C stops all parts. `resume=True` continues later, `overwrite=True` starts again.

    Returns {"samples", "bytes", "skipped", "shards", "parts"}. Raises Error, which names the part and the machine.
    """
    options = part_options(locals())
    if client.asynchronous:
        raise TypeError("penstock.dask.pack requires a Client that is not asynchronous")
    source, destination = absolute(source, destination)
    total, world = client.submit(prepare, source, destination, resume, overwrite, pure=False).result()
    client.wait_for_workers(1)
    threads: Any = client.nthreads()
    world = parts or world or sum(threads.values())
    bar = Bar("packing") if progress is True else None
    try:
        if not _joining(client, destination):
            _Run(client, world, total, bar, progress).pack(source, destination, options, retries)
    finally:
        if bar is not None:
            bar.end()
    joined = client.submit(finish_pack, destination, overwrite=overwrite, report=os.fspath(report), pure=False)
    return {**joined.result(), "parts": world}


class _Run:
    """The tasks of one call, and their progress."""

    def __init__(
        self,
        client: distributed.Client,
        world: int,
        total: int,
        bar: Bar | None,
        progress: bool | Callable[[int, int, int], object],
    ) -> None:
        self._client = client
        self._world = world
        self._total = total
        self._bar = bar
        self._show = bar or (progress if callable(progress) else None)
        self._name = f"penstock-pack-{uuid.uuid4().hex}"
        self._told: dict[int, tuple[int, int]] = {}  # samples and bytes of each rank
        self._done = 0

    def pack(self, source: str | Dataset, destination: str, options: dict[str, Any], retries: int) -> None:
        client = self._client
        client.subscribe_topic(self._name, self._hear)
        stop = distributed.Event(f"{self._name}-stop", client=client)
        ranks = {
            client.submit(
                _pack_part,
                source,
                destination,
                rank,
                self._world,
                options,
                self._name,
                key=f"{self._name}-{rank}",
                retries=retries,
                pure=False,
            ): rank
            for rank in range(self._world)
        }
        try:
            self._wait(ranks)
        except BaseException:
            stop.set()  # running parts see it soon; parts that wait for a thread then end at once
            distributed.wait(list(ranks), timeout=PATIENCE)
            raise
        finally:
            client.cancel(list(ranks))
            client.unsubscribe_topic(self._name)

    def _wait(self, ranks: dict[distributed.Future, int]) -> None:
        waiting = set(ranks)
        while waiting:
            try:
                waited: Any = distributed.wait(list(waiting), timeout=TELL_EVERY, return_when="FIRST_COMPLETED")
                done = waited.done
            except distributed.TimeoutError:
                done = set()
            for future in done:
                waiting.discard(future)
                self._take(future, ranks[future])
            if self._bar is not None:
                self._bar.doing = f"packing, {self._done} of {self._world} parts done"
            if self._show is not None:
                told = list(self._told.values())
                self._show(sum(t[0] for t in told), self._total, sum(t[1] for t in told))

    def _take(self, future: distributed.Future, rank: int) -> None:
        failure: Any = future.exception()
        where = ""
        if failure is None:
            result = future.result()
            failure, where = result.get("failure"), f" on {result['host']}"
            if failure is None:
                self._told[rank] = (result["samples"], result["bytes"])
                self._done += 1
                return
        raise naming(f"part {rank} of {self._world}{where}", failure) from failure

    def _hear(self, event: tuple[float, Any]) -> None:
        rank, samples, nbytes = event[1]
        self._told[rank] = (samples, nbytes)


# Functions that run on the workers


def _joining(client: distributed.Client, destination: str) -> bool:
    """Whether an earlier run was stopped while it joined the parts."""
    return bool(client.submit(joins, destination, pure=False).result())


def _pack_part(
    source: str | Dataset, destination: str, rank: int, world: int, options: dict[str, Any], name: str
) -> dict[str, Any]:
    worker = distributed.get_worker()
    stop = distributed.Event(f"{name}-stop")
    host = f"{socket.gethostname()} ({worker.address})"
    told = 0.0

    def tell(samples: int, _total: int, nbytes: int) -> None:
        nonlocal told
        if time.monotonic() - told < TELL_EVERY:
            return
        told = time.monotonic()
        if stop.is_set():
            raise Stopped
        worker.log_event(name, (rank, samples, nbytes))

    try:
        if stop.is_set():
            raise Stopped
        result = _pack(source, destination, rank=rank, world=world, progress=tell, **options)
    except Error as failure:
        if failure.kind not in NOT_RETRIED:
            raise
        return {"failure": failure, "host": host}
    except Stopped:
        return {"failure": Error("stopped"), "host": host}
    return {"samples": result["resumed"] + result["samples"], "bytes": result["bytes"], "host": host}
