"""Runs functions in a few threads. An executor of concurrent.futures would run all queued calls before Python exits."""

from __future__ import annotations

import atexit
import os
import queue
import threading
import weakref
from collections.abc import Callable
from typing import Any

_pools: weakref.WeakSet[Threads] = weakref.WeakSet()


class Call:
    """A queued call and its result."""

    def __init__(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        self._function: Callable[..., Any] | None = function
        self._arguments = arguments
        self._done = threading.Event()
        self._result: Any = None
        self._raised: BaseException | None = None

    def run(self) -> None:
        function, self._function = self._function, None
        if function is None:  # cancelled
            return
        try:
            self._result = function(*self._arguments)
        except BaseException as raised:
            self._raised = raised
        self._done.set()

    def cancel(self) -> None:
        self._function = None

    def result(self, timeout: float | None) -> Any:
        """Raises TimeoutError, or the exception of the call."""
        if not self._done.wait(timeout):
            raise TimeoutError
        if self._raised is not None:
            raise self._raised
        return self._result


class Threads:
    def __init__(self, count: int) -> None:
        self._queue: queue.SimpleQueue[Call | None] = queue.SimpleQueue()
        self._threads = [threading.Thread(target=_work, args=(self._queue,), daemon=True) for _ in range(count)]
        self._process = os.getpid()
        for thread in self._threads:
            thread.start()
        _pools.add(self)

    def call(self, function: Callable[..., Any], *arguments: Any) -> Call:
        call = Call(function, arguments)
        self._queue.put(call)
        return call

    def close(self, wait: bool = False) -> None:
        """Cancel the queued calls before. wait: for the running ones."""
        threads, self._threads = self._threads, []
        if self._process != os.getpid():  # threads do not survive a fork
            return
        for _ in threads:
            self._queue.put(None)
        for thread in threads if wait else []:
            thread.join()

    def drain(self) -> None:
        """Drops the queued calls."""
        try:
            while True:
                call = self._queue.get_nowait()
                if call is not None:
                    call.cancel()
        except queue.Empty:
            pass


def _work(calls: queue.SimpleQueue[Call | None]) -> None:
    while True:
        call = calls.get()
        if call is None:
            return
        call.run()
        del call


@atexit.register
def _close_all() -> None:
    """Python must not end while a thread decodes."""
    for pool in list(_pools):
        pool.drain()
        pool.close(wait=True)
