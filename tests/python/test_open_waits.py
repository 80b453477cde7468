"""A sidecar's lock that another process holds: the wait is told, ends by Ctrl-C, and ends by itself."""

import fcntl
import os
import signal
import subprocess
import sys
import warnings

import penstock as ps
import pytest

from command import COMMAND

OPEN = "import sys, penstock as ps; print(len(ps.open(sys.argv[1])))"


@pytest.fixture(name="locked")
def locked_fixture(tmp_path):
    """A folder whose sidecar's lock is held, and the environment that keeps its index there."""
    folder = tmp_path / "data"
    folder.mkdir()
    for i in range(3):
        (folder / f"{i}.cls").write_bytes(b"1")
    with open(folder / ".penstock-idx.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield folder, {**os.environ, "PENSTOCK_INDEX_DIR": str(tmp_path / "indexes"), "PENSTOCK_INDEX_WAIT": "1000"}


def interrupted_once_told(words, environment):
    process = subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    told = process.stderr.readline()
    assert "waiting for another process" in told and ".penstock-idx.lock" in told
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


def test_ctrl_c_ends_the_wait_in_python(locked):
    folder, environment = locked
    code, out, err = interrupted_once_told([sys.executable, "-c", OPEN, folder], environment)
    assert code != 0 and out == "" and err.rstrip().endswith("KeyboardInterrupt")


def test_ctrl_c_ends_the_wait_in_the_command(locked):
    folder, environment = locked
    code, out, err = interrupted_once_told([COMMAND, "info", folder], environment)
    assert code == 130 and out == "" and "interrupted" in err


def test_the_wait_ends_by_itself(locked, monkeypatch):
    folder, environment = locked
    monkeypatch.setenv("PENSTOCK_INDEX_DIR", environment["PENSTOCK_INDEX_DIR"])
    monkeypatch.setenv("PENSTOCK_INDEX_WAIT", "2")
    with pytest.warns(RuntimeWarning, match="waiting for another process"):
        assert len(ps.open(folder)) == 3
    assert not (folder / ".penstock-idx").exists()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(ps.open(folder)) == 3  # of its own index


FAULT = """
import faulthandler, os, sys, threading
import numpy as np, penstock as ps
before, folder = sys.argv[1] == "before", sys.argv[2]
if before: faulthandler.enable()
loader = ps.Loader(folder, batch_size=1, read_options=ps.ReadOptions(engine="mmap"), transforms={"bin": ps.raw()})
batch = next(iter(loader))
if not before: faulthandler.enable()
for name in os.listdir(folder):
    if name.endswith(".bin"): os.truncate(os.path.join(folder, name), 1)
try:
    for batch in loader: pass
except ps.Error as error:
    print("error:", error)
"""


@pytest.mark.parametrize("when", ["before", "after"])
def test_faulthandler_and_the_guard_live_together(tmp_path, when):
    for i in range(20):
        (tmp_path / f"{i}.bin").write_bytes(b"x" * 100_000)
    done = subprocess.run([sys.executable, "-c", FAULT, when, tmp_path], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and done.stdout.startswith("error:"), done.stderr
    assert "Bus error" not in done.stderr
