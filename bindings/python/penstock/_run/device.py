"""Splits the work of a CUDA device by events on the program's streams. Nothing waits for an event, so the device and the
program run as without them. No GPU has run this module yet."""

from __future__ import annotations

import collections
import contextlib
import functools
import sys
from typing import Any, NamedTuple

_MOST_PENDING = 64  # steps that the device has not finished


class _Step(NamedTuple):
    before: Any  # the end of the step before, or None
    begin: Any
    copies: list[tuple[Any, Any]]
    end: Any


class DeviceTimes:
    """Sums over the finished steps of one loader, in milliseconds."""

    def __init__(self, cuda: Any) -> None:
        """cuda: the module torch.cuda."""
        self.steps = 0
        self.idle = 0.0  # Between two steps: the device waits for the next batch.
        self.copy = 0.0  # Copies of tensors from the host.
        self.work = 0.0  # The rest of a step on the device.
        self._cuda = cuda
        self._pending: collections.deque[_Step] = collections.deque(maxlen=_MOST_PENDING)
        self._end: Any = None
        self._begin: Any = None
        self._copies: list[tuple[Any, Any]] = []

    def asked(self) -> None:
        """The program asks for the next batch, so the step ends."""
        if self._begin is None:
            return
        end = self.event()
        self._pending.append(_Step(self._end, self._begin, self._copies, end))
        self._end, self._begin, self._copies = end, None, []
        while self._pending and self._pending[0].end.query():
            self._add(self._pending.popleft())

    def got(self) -> None:
        """The program has a batch, so a step begins."""
        self._begin = self.event()

    def copied(self, begin: Any, end: Any) -> None:
        if self._begin is not None:
            self._copies.append((begin, end))

    def event(self) -> Any:
        event = self._cuda.Event(enable_timing=True)
        event.record()
        return event

    def _add(self, step: _Step) -> None:
        copy = sum(begin.elapsed_time(end) for begin, end in step.copies)
        self.steps += 1
        self.copy += copy
        self.work += max(step.begin.elapsed_time(step.end) - copy, 0.0)
        if step.before is not None:
            self.idle += step.before.elapsed_time(step.begin)


def copy_time(times: DeviceTimes | None, steps: int) -> int:
    """Nanoseconds of copies in this number of steps. The times of some steps may be missing."""
    return round(times.copy / times.steps * steps * 1e6) if times is not None and times.steps else 0


class Devices:
    """Times the copies of all tensors, and assigns them to the running step."""

    def __init__(self) -> None:
        self.running: DeviceTimes | None = None
        self._patched = False

    def times(self) -> DeviceTimes | None:
        """Returns None if the program does not use CUDA yet. Never initializes CUDA."""
        torch: Any = sys.modules.get("torch")
        try:
            if not torch.cuda.is_initialized():
                return None
        except Exception:  # torch is missing, or only partly imported
            return None
        if not self._patched:
            self._patched = True
            for name in ("to", "cuda"):
                setattr(torch.Tensor, name, self._timed(torch, getattr(torch.Tensor, name)))
        return DeviceTimes(torch.cuda)

    def _timed(self, torch: Any, original: Any) -> Any:
        plain = (torch.Tensor, torch.nn.Parameter)

        @functools.wraps(original)
        def copying(tensor: Any, *arguments: Any, **keywords: Any) -> Any:
            times = self.running
            if times is None or type(tensor) not in plain or tensor.is_cuda or torch.cuda.is_current_stream_capturing():
                return original(tensor, *arguments, **keywords)
            begin = times.event()
            copy = original(tensor, *arguments, **keywords)
            with contextlib.suppress(Exception):
                if copy.is_cuda:
                    times.copied(begin, times.event())
            return copy

        return copying
