#!/usr/bin/env python3
"""Usage: PYTHONPATH=build/release/python python bench/studies/own_step_cost.py [--seconds 3] [--rounds 3]

Measures the overhead of Python functions of a loader, with functions that return their input, on batches of 64 icons.
Prints the CPU time of the one thread that runs them, which other work on the machine hardly changes. Needs NumPy,
Pillow and penstock.
"""

import argparse
import pathlib
import statistics
import tempfile
import time

import beside
import numpy as np

import penstock as ps

ROWS = 64
KINDS = {
    "on_batch": {"batch_transform": lambda batch: batch},
    "transform": {"step": lambda row: row},
    "transform, random": {"step": lambda row, random: row},
}


def make_icons(folder):
    draw = np.random.default_rng(0)
    with ps.Writer(folder, format="tar", progress=False) as writer:
        for number in range(100 * ROWS):
            writer.add(f"{number:06d}", {"png": draw.integers(0, 256, (32, 32, 3), np.uint8)})


def thread_cpu_seconds():
    """CPU time of the thread that runs a loader's Python functions. The thread takes that name when the loader begins."""
    for task in pathlib.Path("/proc/self/task").iterdir():
        if (task / "comm").read_text().strip() == "penstock-batch":
            return int((task / "schedstat").read_text().split()[0]) / 1e9
    raise RuntimeError("the loader has no thread for Python functions")


def cost(folder, seconds, step=None, on_batch=None):
    """CPU us per batch."""
    chain = ps.image.decode() if step is None else ps.image.decode() | ps.transform(step)
    with ps.Loader(
        folder, batch_size=ROWS, shuffle=True, transforms={"png": chain}, batch_transform=on_batch
    ) as loader:

        def endless():
            while True:
                yield from loader

        batches = endless()
        for _ in range(50):
            next(batches)
        before, taken, until = thread_cpu_seconds(), 0, time.perf_counter() + seconds
        while time.perf_counter() < until:
            next(batches)
            taken += 1
        return 1e6 * (thread_cpu_seconds() - before) / taken


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    beside.begin_run()
    with tempfile.TemporaryDirectory() as folder:
        make_icons(f"{folder}/icons")
        found = {name: [] for name in KINDS}
        for _ in range(options.rounds):
            for name, kind in KINDS.items():
                found[name].append(cost(f"{folder}/icons", options.seconds, **kind))
    print(beside.machine())
    for name, costs in found.items():
        print(f"{name:20}{beside.middle(costs, 1)} us of CPU a batch of {ROWS}")
    batch, row, random = (statistics.median(found[name]) for name in KINDS)
    print(f"a row costs {(row - batch) / ROWS:.1f} us, with random numbers {(random - row) / ROWS:.1f} us more")


if __name__ == "__main__":
    main()
