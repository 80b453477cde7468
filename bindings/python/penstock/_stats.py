"""Counters and times of a loader."""

from __future__ import annotations

from typing import Any, NoReturn

from . import _penstock


class Stats(dict[str, Any]):
    """Plain numbers and strings, times in seconds; str() is the table that shows which stage made the loop wait.

    "verdict" names the bottleneck: {"binds", "stage", "output", "data_wait", "text"}. "binds" is "nothing", "consumer",
    "cores", "storage bandwidth", "storage latency", "files", "prefetch", "memory", "custom transform", "copy", "plan",
    "servers", "sharing", "start-up" or "unknown". "percentiles" has count, mean, p50, p90, p99 and max of waits, steps, samples and reads.
    "slowest" lists the samples that took a worker longest, and "levels" the fill of the queues over the last minutes.

    A dataset in an object store adds "store": requests, received bytes, retries, hedges, connections, "waited_s"
    (summed over requests), "requests_per_s" and "mb_per_s".

    The option disk_cache adds "disk_cache". Its counts of blocks are "hits" (read from the disk), "misses" (read from
    the store), "bad" (damaged ones among the misses) and "bypassed" (not kept). "disk_cache" also has the bytes and
    seconds of reads, writes and evictions, the folder as "dir", and its "used_bytes" and "limit_bytes".

    The option sharing adds "sharing": its "name", the batches "received" from the process that builds them, and those
    "built_alone" here. In the process that builds, "built_for_all", "consumers" and "left_behind" are not 0.

    The option servers adds "servers": the number that is "ready", the "batches" and "bytes" from them, and the batches
    "filled_without_server". For each server since the loader was made, "each" has "address", "ready", the last
    "problem", "batches" and "bytes".
    """

    def __init__(self, values: dict[str, Any], table: str, figures: bytes) -> None:
        super().__init__(values)
        self._table = table
        self._figures = figures  # the numbers of a live page

    def __missing__(self, key: str) -> NoReturn:
        raise KeyError(f"{key!r} is not in stats(){_penstock.hint_for('stats', key)}")

    def metrics(self, prefix: str = "penstock/") -> dict[str, float]:
        """A flat dict of floats, for wandb.log(), Lightning's log_dict() and TensorBoard's add_scalar().

        Times count from the creation of the loader, or from reset_stats(). "samples_per_s" and "mb_per_s" (10^6 stored
        bytes) are rates. "data_wait" and "data_wait/STAGE" are shares, 0 to 1, of the loop's time. "busy/STAGE" is the
        share of the time of the stage's threads. "data_wait_s/p50", "/p90", "/p99" and "/max" are seconds, as are those
        of "step_s", "sample_s" and "request_s". "ready" is the share of batches that were finished before next() was
        called. Memory is in bytes. "workers" is the number of threads that may decode now. A dataset in a store adds
        "store/requests_per_s", "store/mb_per_s" and "store/retries". disk_cache adds "disk_cache/hits" (share of the
        blocks), "disk_cache/read_mb_per_s" and "disk_cache/used" (bytes).
        """
        wall = self["wall_s"]
        flat: dict[str, float] = {
            "samples": self["samples"],
            "batches": self["batches"],
            "samples_per_s": _share(self["samples"], wall),
            "mb_per_s": _share(self["stored_bytes"] / 1e6, wall),
            "data_wait": _share(self["data_wait_s"], wall),
            "ready": _share(self["batches_ready"], self["batches_taken"]),
            "bad_samples": self["bad_samples"],
            "workers": self["workers_now"],
            "memory/slabs": self["slab_bytes"],
            "memory/read_window": self["window_bytes"],
            "memory/blocks": self["cache_bytes"],
            "memory/cache": self["cache"]["used_bytes"],
            "memory/device": self["device_bytes"],
        }
        if "store" in self:
            flat.update({f"store/{name}": self["store"][name] for name in ("requests_per_s", "mb_per_s", "retries")})
        if "disk_cache" in self:
            cache = self["disk_cache"]
            flat["disk_cache/hits"] = _share(cache["hits"], cache["hits"] + cache["misses"])
            flat["disk_cache/read_mb_per_s"] = _share(cache["read_bytes"] / 1e6, wall)
            flat["disk_cache/used"] = cache["used_bytes"]
        for stage, spent in self["data_wait_by_stage_s"].items():
            flat[f"data_wait/{stage}"] = _share(spent, wall)
        for stage, times in self["stages"].items():
            flat[f"busy/{stage}"] = _share(times["busy_s"], wall * times["threads"])
        for what in ("data_wait", "step", "sample", "request"):
            for point in ("p50", "p90", "p99", "max"):
                flat[f"{what}_s/{point}"] = self["percentiles"][what][point]
        return {prefix + name: float(value) for name, value in flat.items()}

    def prometheus(self, **labels: object) -> str:
        """The loader's metrics as OpenMetrics text, as `penstock top --metrics` serves it, for an endpoint of your own.

        Each sample has rank and world as labels, and yours: stats.prometheus(job="resnet50"). Raises Error:
        invalid_argument, for label names that the format does not allow or that penstock uses itself.
        """
        named = {"rank": self["rank"], "world": self["world"], **labels}
        return _penstock.openmetrics(self._figures, [(label, str(value)) for label, value in named.items()])

    def add(self, of_python: dict[str, Any]) -> None:
        """Adds the times of the program's custom transforms."""
        self.update(of_python)
        processes = of_python["python_workers"]
        if processes > 0:
            busy = sum(spent for name, spent in of_python["python_s"].items() if name != "batch_transform")
            self._table += (
                f"python      {processes} process{'es' if processes > 1 else ''}, {busy:.3f} s in functions of "
                f"{processes * self['wall_s']:.3f} s, {of_python['python_workers_replaced']} replaced\n"
            )

    def __str__(self) -> str:
        return self._table


def _share(part: float, whole: float) -> float:
    return part / whole if whole > 0 else 0.0
