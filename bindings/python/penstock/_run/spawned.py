"""Times the work inside worker processes of a DataLoader that are started by spawn or forkserver."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any

from .workers import Meter, time_fetches


class WorkerLoop:
    """Replaces torch's _worker_loop() while a DataLoader starts its workers. The new process unpickles it, which imports
    this package, and opens the page of the meter."""

    def __init__(self, meter: Meter) -> None:
        self._path, self._workers = meter.path, meter.workers

    def __call__(self, *arguments: Any) -> Any:
        from torch.utils.data._utils import worker

        with contextlib.suppress(OSError, ValueError):  # The worker then loads without being timed.
            time_fetches(Meter.opened(self._path, self._workers))
        return worker._worker_loop(*arguments)


def inherit_memory(loader: Any) -> bool:
    """Whether the workers inherit the memory of this process, because they are forked."""
    context = getattr(loader, "multiprocessing_context", None)
    if context is not None:
        return bool(context.get_start_method() == "fork")
    # Not before the program: the module keeps the `__main__` that it finds.
    import multiprocessing

    # Without allow_none, the call would forbid a later set_start_method().
    method = multiprocessing.get_start_method(allow_none=True) or multiprocessing.get_all_start_methods()[0]
    return method == "fork"


@contextlib.contextmanager
def timed_workers(meter: Meter | None) -> Iterator[None]:
    """Within it, workers that a DataLoader spawns are timed."""
    module: Any = sys.modules.get("torch.utils.data._utils.worker")
    if meter is None or not meter.path or not hasattr(module, "_worker_loop"):
        yield
        return
    original = module._worker_loop
    module._worker_loop = WorkerLoop(meter)
    try:
        yield
    finally:
        module._worker_loop = original
