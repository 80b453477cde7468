"""Programs whose loaders publish their metrics, for the tests of penstock top."""

import json
import subprocess
import sys

import numpy as np

# Takes a batch for each line that it reads, and tells the figures from before it.
PROGRAM = """
import json, sys
import penstock as ps
if len(sys.argv) > 3:
    open("/proc/self/comm", "w").write(sys.argv[3])
loader = ps.Loader(sys.argv[1], **{"batch_size": 4, "workers": 1, "rank": 1, "world_size": 2, **json.loads(sys.argv[2])})
batches = iter(loader)
for line in sys.stdin:
    stats = loader.stats()
    try:
        batch = next(batches)
    except StopIteration:
        batches = iter(loader)
    print(json.dumps({name: stats[name] for name in stats if name not in ("slowest", "levels", "bad")}), flush=True)
"""


class Killed:
    """A context. Its `process` does not outlive it."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()


class Program(Killed):
    """One that runs PROGRAM."""

    def __init__(self, data, options=None, name=None, **popen):
        words = [str(data), json.dumps(options or {}), *([name] if name else [])]
        self.process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, *words],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **popen)  # fmt: skip
        self.pid = self.process.pid

    def step(self):
        """A batch; the stats from before it."""
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


def make_data(folder):
    """Forty arrays in a new folder."""
    folder.mkdir()
    for number in range(40):
        np.save(folder / f"{number:03}.npy", np.full((3, 8), number, np.float32))
    return folder
