"""Traces of penstock's loaders beside a recording of torch.profiler."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from typing import Any

from .._error import Error
from .._profile.about import own_loaders
from .._trace import Trace, merge_traces


class LoaderTraces:
    """Records the penstock loaders inside `loaders`. A loader that the program itself traces is left out."""

    def __init__(self, loaders: Iterable[Any], path: str) -> None:
        self._traces: list[Trace] = []
        own = {id(one): one for loader in loaders for one in own_loaders(loader)}
        for number, loader in enumerate(own.values()):
            with contextlib.suppress(Error):
                self._traces.append(loader.trace(f"{path}.{os.getpid()}.loader{number}.json"))

    def merge_into(self, path: str) -> None:
        """Ends the recordings and adds them to the file of torch.profiler, on its clock. Raises Error."""
        try:
            for trace in self._traces:
                trace.end()
            if self._traces:
                merge_traces(path, [trace.file for trace in self._traces], path)
        finally:
            self.remove()

    def remove(self) -> None:
        for trace in self._traces:
            with contextlib.suppress(OSError):
                os.unlink(trace.file)
        self._traces = []
