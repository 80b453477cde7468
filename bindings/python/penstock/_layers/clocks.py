"""Points of time on the CPU, and on a GPU without synchronisation."""

from __future__ import annotations

import time
from typing import Any, Protocol

import torch


class Clock(Protocol):
    def now(self) -> Any:
        """A point of time. On a GPU, the time when the work queued so far is done."""

    def finish(self) -> None:
        """Waits for all points of time. Call it before seconds()."""

    def seconds(self, begin: Any, end: Any) -> float: ...


class HostClock:
    def now(self) -> int:
        return time.perf_counter_ns()

    def finish(self) -> None:
        pass

    def seconds(self, begin: int, end: int) -> float:
        return (end - begin) * 1e-9


class CudaClock:
    """Events in the current stream."""

    def now(self) -> torch.cuda.Event:
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def finish(self) -> None:
        torch.cuda.synchronize()

    def seconds(self, begin: torch.cuda.Event, end: torch.cuda.Event) -> float:
        return begin.elapsed_time(end) * 1e-3


def clock_of(kind: str) -> Clock:
    """kind: the type of a torch device, "cpu" or "cuda"."""
    return CudaClock() if kind == "cuda" else HostClock()
