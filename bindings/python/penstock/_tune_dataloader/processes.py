"""Starts each run in its own process, and measures the memory of it and of its workers."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from typing import Any

_INTERVAL = 0.05  # seconds between two measurements of memory
_SHARE = 20  # a measurement takes at most this part of the time, because it delays the run

ENDS = (signal.SIGINT, signal.SIGTERM)
"""Signals that end the command. Each run begins with them blocked."""


class RunFailed(Exception):
    """The last line that the run printed."""


class WrongScript(Exception):
    """str() is a sentence for the user."""


def run(request: dict[str, Any]) -> dict[str, Any]:
    """Runs trial.py. Returns its result with "peak_bytes". Ends the process and its workers also after an exception.

    Raises RunFailed; WrongScript, if the script has no such DataLoader."""
    with tempfile.TemporaryDirectory(prefix="penstock-") as folder:
        result, errors = os.path.join(folder, "result"), os.path.join(folder, "errors")
        theirs, ours = os.pipe()  # closes when this process ends, in whatever way
        try:
            signal.pthread_sigmask(signal.SIG_BLOCK, ENDS)  # an exception within Popen() would lose the process
            with open(errors, "wb") as stderr:
                child = subprocess.Popen(
                    [
                        sys.executable,
                        "-m",
                        "penstock._tune_dataloader.trial",
                        json.dumps({**request, "result": result}),
                        str(theirs),
                    ],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=stderr,
                    pass_fds=(theirs,),
                    start_new_session=True,
                )
            try:
                signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDS)
                peak = _wait(child)
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(child.pid, signal.SIGKILL)
                child.wait()
            if child.returncode != 0 or not os.path.exists(result):
                raise RunFailed(_last_line(errors, child.returncode))
            with open(result, encoding="utf-8") as file:
                found: dict[str, Any] = json.load(file)
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDS)
            os.close(theirs)
            os.close(ours)
    if "wrong" in found:
        raise WrongScript(found["wrong"])
    return {**found, "peak_bytes": peak}


def _wait(child: subprocess.Popen[bytes]) -> int:
    """Waits for the end. Returns the largest memory that was measured."""
    peak, pause = 0, _INTERVAL
    while True:
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(pause)
            return peak
        begin = time.perf_counter()
        peak = max(peak, memory_of(child.pid))
        pause = max(_INTERVAL, _SHARE * (time.perf_counter() - begin))


def memory_of(session: int) -> int:
    """Sums the bytes of all processes of a session. Memory that several of them share counts once (PSS)."""
    return sum(_pss(pid) for pid in map(int, filter(str.isdecimal, os.listdir("/proc"))) if _session(pid) == session)


def _session(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[3])
    except (OSError, IndexError, ValueError):
        return -1


def _pss(pid: int) -> int:
    with contextlib.suppress(OSError), open(f"/proc/{pid}/smaps_rollup", "rb") as file:
        for line in file:
            if line.startswith(b"Pss:"):
                return int(line.split()[1]) * 1024
    return 0


def _last_line(errors: str, code: int) -> str:
    with open(errors, encoding="utf-8", errors="replace") as file:
        lines = [line.strip() for line in file if line.strip()]
    ended = f"the run was ended by signal {-code}" if code < 0 else f"the run ended with {code}"
    return lines[-1] if lines else ended
