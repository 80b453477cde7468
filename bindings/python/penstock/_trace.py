"""Traces: recordings of a loader's work, and their merging with traces of PyTorch's profiler."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import time
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any

from . import _error
from ._files import new_text
from ._warn import warn
from ._words import keywords_in_words

if TYPE_CHECKING:
    from ._penstock import Loader


class Trace:
    """Result of `loader.trace()`: a running recording, which ends at the end of a `with`, by end(), or when the loader
    is closed."""

    def __init__(self, loader: Loader, file: str) -> None:
        self._loader: Loader | None = loader
        self.file = file
        """Path of the trace."""
        self.events: int | None = None
        """Number of kept events: samples, groups of rows, reads, batches and looks at the queues. Set at the end."""
        self.dropped: int | None = None
        """Number of events beyond max_events, which are left out."""

    def end(self) -> None:
        """Writes the file. May be called repeatedly. Raises Error: io, if the file cannot be written."""
        loader, self._loader = self._loader, None
        if loader is None or not loader._tracing():  # type: ignore[attr-defined]
            return
        summary = loader.end_trace()
        self.events, self.dropped = summary["events"], summary["dropped"]

    def __enter__(self) -> Trace:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, where: TracebackType | None
    ) -> None:
        self.end()

    def __repr__(self) -> str:
        said = "recording" if self._loader is not None else f"{self.events} events, {self.dropped} dropped"
        return f"penstock.Trace({self.file!r}, {said})"


def warn_of_dropped(file: str, dropped: int, max_events: int) -> None:
    warn(
        f"penstock: the trace {file} is full and lacks {dropped:,} later events; pass a max_events of more than "
        f"{max_events:,}, or "
        "a schedule"
    )


_DAY = 24 * 3600 * 1_000_000_000

# ---- Merging ---------------------------------------------------------------------------------------------------------


@keywords_in_words
def merge_traces(
    torch_trace: str | os.PathLike[str],
    penstock_trace: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    out: str | os.PathLike[str],
) -> None:
    """Merges a trace of PyTorch's profiler (export_chrome_trace(), tensorboard_trace_handler()) and traces of one or
    several loaders, on one clock. For Perfetto, TensorBoard's plug-in and HolisticTraceAnalysis.

    Files whose names end in .gz are compressed. `out` appears once it is complete. Raises Error: io; corrupt, if a file
    is not a trace.
    """
    several = not isinstance(penstock_trace, (str, os.PathLike))
    traces = [torch_trace, *(penstock_trace if several else [penstock_trace])]  # type: ignore[misc, list-item]
    merged = _read(traces[0])
    if "baseTimeNanoseconds" not in merged:  # old profilers count from 1970, in numbers with few decimals
        _move(merged, time.time_ns() // _DAY * _DAY)
    used = {event.get("pid") for event in merged["traceEvents"]}
    for path in traces[1:]:
        trace = _read(path)
        if "penstock" not in trace:
            raise _error.made("invalid_argument", f"{os.fspath(path)} is not a trace of a penstock loader")
        used |= _add(merged, trace, used)
    with _new_text(os.fspath(out)) as file:
        json.dump(merged, file, separators=(",", ":"))


def _read(path: str | os.PathLike[str]) -> dict[str, Any]:
    name = os.fspath(path)
    try:
        opened: IO[str] = (
            gzip.open(name, "rt", encoding="utf-8") if name.endswith(".gz") else open(name, encoding="utf-8")
        )
        with opened as file:
            trace = json.load(file)
    except OSError as failure:
        raise _error.made("io", f"cannot read the trace {name}: {failure.strerror or failure}") from None
    except ValueError as failure:
        raise _error.made("corrupt", f"{name} is not a trace: {failure}") from None
    if isinstance(trace, list):  # the other form of such files
        trace = {"traceEvents": trace}
    if not isinstance(trace, dict) or not isinstance(trace.get("traceEvents"), list):
        raise _error.made("corrupt", f"{name} is not a trace: it has no traceEvents")
    return trace


def _add(merged: dict[str, Any], trace: dict[str, Any], used: set[Any]) -> set[Any]:
    """Adds the events of `trace` on the clock of `merged`, under process ids that are not in `used`. Returns the new
    ids."""
    _move(trace, merged["baseTimeNanoseconds"])
    mine = {event["pid"] for event in trace["traceEvents"]}
    apart = 0
    while any(pid + apart in used for pid in mine):
        apart += 4  # a loader's trace has this many processes
    flows = 1 + max((int(event["id"]) for event in merged["traceEvents"] if _is_number(event.get("id"))), default=0)
    for event in trace["traceEvents"]:
        event["pid"] += apart
        if "id" in event:
            event["id"] += flows
        merged["traceEvents"].append(event)
    merged.setdefault("penstock", []).append(trace["penstock"])
    return {pid + apart for pid in mine}


def _move(trace: dict[str, Any], base: int) -> None:
    """Moves its times, so that they count from `base`, in nanoseconds since 1970."""
    # Integers, because a float of microseconds since 1970 has no room for nanoseconds.
    microseconds, rest = divmod(trace.get("baseTimeNanoseconds", 0) - base, 1000)
    for event in trace["traceEvents"]:
        if event.get("ph") != "M" and "ts" in event:  # metadata (names) have no time
            event["ts"] = round(event["ts"] + microseconds + rest / 1000, 3)
    trace["baseTimeNanoseconds"] = base


def _is_number(value: Any) -> bool:
    return isinstance(value, int) or (isinstance(value, str) and value.isdecimal())


@contextlib.contextmanager
def _new_text(path: str) -> Iterator[IO[str]]:
    """The file of a trace. Raises Error: io."""
    try:
        with new_text(path) as file:
            yield file
    except OSError as failure:
        raise _error.made("io", f"cannot write the trace {path}: {failure.strerror or failure}") from None
