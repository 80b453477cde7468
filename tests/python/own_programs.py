"""Programs whose loaders run functions in processes."""

import os
import pathlib
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).parent


def gone(pids, seconds=20):
    ends = time.monotonic() + seconds
    while any(pathlib.Path(f"/proc/{pid}").exists() for pid in pids) and time.monotonic() < ends:
        time.sleep(0.02)
    return not any(pathlib.Path(f"/proc/{pid}").exists() for pid in pids)


PROGRAM = """
import os, sys, time, penstock as ps
import own_functions
loader = ps.Loader(sys.argv[1], batch_size=4, python_workers=2, transforms={
    "npy": ps.array.decode() | ps.transform(own_functions.slow), "cls": ps.label()})
iterator = iter(loader)
next(iterator)
"""


def program(code, arrays, **options):
    environment = {**os.environ, "PYTHONPATH": f"{os.environ['PYTHONPATH']}:{HERE}"}
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM + code, str(arrays)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        **options,
    )
