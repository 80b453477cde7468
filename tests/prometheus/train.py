"""Usage: train.py DATA RANK WORLD SECONDS FILE

Loads the arrays in DATA until it is killed. From the time that FILE exists, every batch takes the loader SECONDS longer.
Invalid samples are replaced."""

import pathlib
import sys
import time

import penstock as ps

data, rank, world, seconds, file = sys.argv[1:]
pathlib.Path("/proc/self/comm").write_text(pathlib.Path(data).name)  # the label "program"


def delayed(batch):
    if pathlib.Path(file).exists():
        time.sleep(float(seconds))
    return batch


loader = ps.Loader(data, batch_size=4, workers=1, prefetch=1, rank=int(rank), world_size=int(world),
                   batch_transform=delayed, on_error="replace", max_errors=1.0)  # fmt: skip
while True:
    for _ in loader:
        time.sleep(0.05)  # the training step
