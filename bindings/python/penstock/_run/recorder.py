"""Records some steps with torch.profiler."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

from .loader_traces import LoaderTraces
from .loops import Loop
from .steps import StepTimes

_BEFORE = 10  # steps


class Recorder:
    """Records the first loop that trains and reaches its tenth step. These steps are left out of the
    figures, because the profiler slows them. Errors of the profiler are kept as text: they must not end a training."""

    def __init__(
        self, steps: int, path: str, trains: Callable[[StepTimes], bool], loaders: Callable[[], list[Any]]
    ) -> None:
        self.path = path
        self.running = False
        self.recorded = 0  # whole steps
        self.failure: str | None = None
        self.written = False
        self.wanted = steps
        self._warm = False  # The profiler records only after its first step.
        self._trains = trains  # whether optimizers make steps in this loop
        self._loaders = loaders  # all loaders of the program
        self._loader_traces: LoaderTraces | None = None
        self._loop: Loop | None = None
        self._profiler: Any = None
        self._done = False
        self._process = os.getpid()

    def step(self, loop: Loop) -> None:
        """A loop asks for its next batch."""
        if self._done or os.getpid() != self._process:
            return
        if self._loop is None:
            if loop.steps.steps >= _BEFORE and self._trains(loop.steps):
                self._loop = loop
                self._start()
            return
        if loop.steps is not self._loop.steps:
            return
        if self._warm:
            self.recorded += 1
        self._warm = True
        if self.recorded == self.wanted:
            self.finish()
        else:
            self._try(self._profiler.step)

    def _start(self) -> None:
        profiler: Any = sys.modules["torch"].profiler
        self.running = True

        def start() -> None:
            self._profiler = profiler.profile(
                schedule=profiler.schedule(wait=0, warmup=1, active=self.wanted, repeat=1),
                record_shapes=False,
            )
            self._profiler.start()
            self._loader_traces = LoaderTraces(self._loaders(), self.path)

        self._try(start)

    def finish(self) -> None:
        """Writes the file. May be called repeatedly."""
        if self._done or self._profiler is None or os.getpid() != self._process:
            return
        self._done = True
        self.running = False

        def stop() -> None:
            self._profiler.stop()
            self._profiler.export_chrome_trace(self.path)
            self.written = True
            if self._loader_traces is not None:
                self._loader_traces.merge_into(self.path)

        self._try(stop)
        self._profiler = None

    def _try(self, call: Any) -> None:
        try:
            call()
        except Exception as failure:
            self.failure = f"{type(failure).__name__}: {failure}"
            self._done = True
            self.running = False
