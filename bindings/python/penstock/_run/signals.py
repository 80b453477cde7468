"""Reports before a signal ends the program."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable

from .._penstock import die_by_signal, signal_arrived, unwatch_signals, wake_signals, watch_signals


class Signals:
    """A thread calls report() when SIGTERM or SIGHUP would end the program, and then ends it by this signal. The training
    may be in a long call that runs no Python, so its own thread cannot do this."""

    def __init__(self, report: Callable[[], None]) -> None:
        self._report = report
        self._process = os.getpid()
        self._pipe = watch_signals([signal.SIGTERM, signal.SIGHUP])
        self._stopping = False
        self._start()
        # Python 3.12 and later warn when a process with several threads forks.
        os.register_at_fork(before=self._stop, after_in_parent=self._start)

    def die_if_arrived(self) -> None:
        """Does not return if a signal has arrived, because the program must not end otherwise."""
        if signal_arrived():
            time.sleep(60)

    def end(self) -> None:
        """Later signals end the process at once."""
        if unwatch_signals():
            time.sleep(60)

    def _start(self) -> None:
        if os.getpid() == self._process and not self._is_reporting():
            self._stopping = False
            self._thread = threading.Thread(target=self._wait, name="penstock-signals", daemon=True)
            self._thread.start()

    def _stop(self) -> None:
        if os.getpid() == self._process and not self._is_reporting():
            self._stopping = True
            wake_signals()
            self._thread.join()

    def _is_reporting(self) -> bool:
        """Whether the report itself forks."""
        return self._stopping is False and threading.current_thread() is getattr(self, "_thread", None)

    def _wait(self) -> None:
        while not self._stopping:
            number = os.read(self._pipe, 1)[0]
            if number:
                try:
                    self._report()
                finally:
                    die_by_signal(number)
