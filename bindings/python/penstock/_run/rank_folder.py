"""Exchanges figures between the ranks of one machine when they end."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import pathlib
import shutil
import stat
import tempfile
import time
from typing import Any

_LAUNCH = ("TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT", "MASTER_ADDR", "MASTER_PORT", "SLURM_JOB_ID",
           "SLURM_STEP_ID", "PMIX_NAMESPACE")  # fmt: skip
PATIENCE = 5.0  # seconds to wait for the figures of running ranks
_LOOK_EVERY = 0.02  # seconds
_KEPT = 24 * 3600  # seconds after which the folder of another launch counts as left behind


class RankFolder:
    """A folder with a file for each rank. A rank locks its file while it runs. The system releases the lock when the
    process ends, however it ends, so no rank waits for a killed one. Raises OSError if the folder cannot be used."""

    def __init__(self, rank: int) -> None:
        self._rank = rank
        shared = _private(pathlib.Path(tempfile.gettempdir()) / f"penstock-run-{os.geteuid()}")
        _remove_old(shared)
        launch = "\n".join(os.environ.get(name, "") for name in _LAUNCH)
        self._folder = shared / hashlib.sha256(launch.encode()).hexdigest()[:16]
        self._folder.mkdir(mode=0o700, exist_ok=True)
        self._figures(rank).unlink(missing_ok=True)  # of an earlier launch with the same names
        self._lock = open(self._folder / f"{rank}.lock", "w")  # noqa: SIM115 - locked until the process ends
        # Unlike flock(), lockf() does not pass its lock on to forked workers.
        fcntl.lockf(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def publish(self, figures: dict[str, Any]) -> None:
        growing = self._folder / f"{self._rank}.tmp"
        growing.write_text(json.dumps(figures), encoding="utf-8")
        growing.replace(self._figures(self._rank))

    def leads(self) -> bool:
        """Whether this rank reports for all ranks of this machine: the lowest rank that runs or has published."""
        return not any(rank < self._rank and self._counts(rank) for rank in self._ranks())

    def gather(self, patience: float = PATIENCE) -> dict[int, dict[str, Any]]:
        """The figures of all ranks that have published. Waits at most `patience` seconds for the others that run."""
        deadline = time.monotonic() + patience
        while any(self._runs(rank) and not self._figures(rank).exists() for rank in self._ranks()):
            if time.monotonic() >= deadline:
                break
            time.sleep(_LOOK_EVERY)
        found = {}
        for rank in self._ranks():
            with contextlib.suppress(OSError, ValueError):
                found[rank] = json.loads(self._figures(rank).read_text(encoding="utf-8"))
        return found

    def remove(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)

    def _figures(self, rank: int) -> pathlib.Path:
        return self._folder / f"{rank}.json"

    def _ranks(self) -> list[int]:
        return sorted(int(path.stem) for path in self._folder.glob("*.lock"))

    def _counts(self, rank: int) -> bool:
        return self._figures(rank).exists() or self._runs(rank)

    def _runs(self, rank: int) -> bool:
        """Not for this rank itself: closing its file would release its lock."""
        if rank == self._rank:
            return False
        try:
            return _is_locked(self._folder / f"{rank}.lock")
        except OSError:
            return False


def _private(folder: pathlib.Path) -> pathlib.Path:
    """Other users must not be able to change the files. The folder for temporary files belongs to all."""
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077:
        raise PermissionError(f"{folder} is not a private folder of this user")
    return folder


def _remove_old(shared: pathlib.Path) -> None:
    oldest = time.time() - _KEPT
    for folder in shared.iterdir():
        with contextlib.suppress(OSError):
            if folder.stat().st_mtime < oldest and not any(_is_locked(path) for path in folder.glob("*.lock")):
                shutil.rmtree(folder, ignore_errors=True)


def _is_locked(path: pathlib.Path) -> bool:
    try:
        with open(path, "r+") as file:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    return False
