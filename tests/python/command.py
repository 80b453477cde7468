"""Helpers of the tests of the command penstock: running it, and comparing what it made."""

import os
import subprocess

COMMAND = os.environ.get("PENSTOCK_COMMAND", "penstock")
FORMATS = ["tar", "lmdb", "hdf5", "zip", "tfrecord", "mds"]


def run(*words, check=True, **options):
    result = subprocess.run([COMMAND, *map(str, words)], capture_output=True, check=False, timeout=300, **options)
    if check:
        assert result.returncode == 0, result.stderr.decode()
    return result


def fails(*words, code=1, **options):
    """Runs a command that must fail with `code` and one line on stderr, which is returned."""
    result = run(*words, check=False, **options)
    text = result.stderr.decode()
    assert result.returncode == code, (result.returncode, text)
    lines = [line for line in text.splitlines() if not line.startswith(("penstock: skipped", "penstock: left out"))]
    assert len(lines) == 1 and lines[0].startswith("penstock: error: "), text
    return lines[0]


def handles(pid, number):
    """Whether a process has a handler for a signal: before, the signal kills it. man 5 proc, SigCgt."""
    with open(f"/proc/{pid}/status") as file:
        (mask,) = [int(line.split()[1], 16) for line in file if line.startswith("SigCgt:")]
    return bool(mask >> (number - 1) & 1)


def bytes_of(folder):
    return {p.relative_to(folder): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}
