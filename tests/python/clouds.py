"""Helpers of the tests of cloud files: clouds as penstock decodes them, through the program cloud_oracle."""

import os
import subprocess
from pathlib import Path

import numpy as np

ORACLE = os.environ["PENSTOCK_CLOUD_ORACLE"]
DATA = Path(os.environ.get("PENSTOCK_TEST_DATA", "")) / "pointcloud"


def decoded(path, numbers=None):
    """Origin, coordinates, and attributes by name, as penstock decodes them; its message where it refuses."""
    command = [ORACLE, str(path)] + ([",".join(map(str, numbers))] if numbers is not None else [])
    run = subprocess.run(command, capture_output=True, check=False, timeout=120)
    assert run.returncode in (0, 1), run.stderr
    if run.returncode == 1:
        return run.stderr.decode()
    head, rest = run.stdout.split(b"\n", 1)
    points, *origin, attributes = head.split()
    names = []
    for _ in range(int(attributes)):
        line, rest = rest.split(b"\n", 1)
        names.append(line.decode().split(" ", 1))
    at = int(points) * 12
    xyz = np.frombuffer(rest[:at], "<f4").reshape(-1, 3)
    values = {}
    for dtype, name in names:
        end = at + int(points) * np.dtype(dtype).itemsize
        values[name] = np.frombuffer(rest[at:end], dtype)
        at = end
    assert at == len(rest)
    return np.array(origin, float), xyz, values


def check_close(xyz, origin, exact):
    """Within one unit in the last place of float32, after the shift by the origin; NaN where NaN is. Of `exact` as float32,
    that of its numbers, which may be larger than what is left of them by the shift."""
    shifted = exact.astype(np.float64) - origin
    size = np.abs(exact) if exact.dtype == np.float32 else np.abs(shifted)
    assert xyz.shape == shifted.shape
    with np.errstate(invalid="ignore"):
        close = np.abs(xyz - shifted) <= np.spacing(size.astype(np.float32))
    assert (close | (np.isnan(xyz) & np.isnan(shifted)) | (xyz == shifted)).all()
