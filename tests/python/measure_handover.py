"""Usage: PYTHONPATH=build/dev/python .venv/bin/python tests/python/measure_handover.py [--torch]

What handing a ready batch over to Python costs: icons (uint8, 3 x 32 x 32) and labels from a folder that the penstock
command makes. Prints the median and the 90th percentile of CPU time per batch, and ready batches a second."""

import os
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import penstock as ps

BATCHES = 60


def ready_loader(folder, rows):
    """A loader with BATCHES batches waiting: their slabs are all that it has beside what is being filled and held."""
    fields = {"png": ps.image.decode(), "cls": ps.label()}
    loader = ps.Loader(folder, batch_size=rows, prefetch=BATCHES, transforms=fields)
    iterator = iter(loader)
    next(iterator)
    before = -1.0
    while (busy := loader.stats()["stages"]["decode"]["busy_s"]) != before:
        before = busy
        time.sleep(0.3)
    return iterator


def cost(folder, rows, take):
    iterator, spent = ready_loader(folder, rows), []
    for _ in range(BATCHES - 5):
        began = time.thread_time_ns()
        take(next(iterator))
        spent.append((time.thread_time_ns() - began) / 1e3)
    return f"{statistics.median(spent):7.1f} {statistics.quantiles(spent, n=10)[-1]:7.1f}"


def rate(folder, rows):
    iterator, began = ready_loader(folder, rows), time.perf_counter()
    for _ in range(BATCHES - 5):
        next(iterator)
    return (BATCHES - 5) / (time.perf_counter() - began)


def main():
    takers = {
        "next()": lambda batch: None,
        "next(), numpy.asarray of 2": lambda batch: (np.asarray(batch["png"]), np.asarray(batch["cls"])),
    }
    if "--torch" in sys.argv:
        import torch  # from here on, waits are marked for its profiler

        takers = {
            "next(), torch imported": lambda batch: None,
            "next(), torch.from_dlpack of 2": lambda b: (torch.from_dlpack(b["png"]), torch.from_dlpack(b["cls"])),
        }
    command = os.environ.get("PENSTOCK_COMMAND", "penstock")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([command, "synth", "icons", f"{folder}/icons", "-n", "16500"], check=True, capture_output=True)
        print("CPU us per batch: median, 90th percentile")
        for rows in (64, 256):
            for name, take in takers.items():
                print(f"{rows:4} rows  {name:32}" + "  |".join(cost(f"{folder}/icons", rows, take) for _ in range(3)))
            print(
                f"{rows:4} rows  ready batches/s   "
                + "  ".join(f"{rate(f'{folder}/icons', rows):,.0f}" for _ in range(3))
            )


if __name__ == "__main__":
    main()
