#!/usr/bin/env python3
"""penstock beside h5py with PyTorch's DataLoader on the same HDF5 files: samples per second of whole epochs.

Usage: PYTHONPATH=build/release/python bench/beside_h5py.py [--samples 4096] [--rounds 3] [--workers 2] [--folder DIR]

Images (uint8, 96 x 96 x 3) and a label each, in gzip chunks of many samples and of one, in random order, warm page cache.
Rounds are interleaved: each loader reads one epoch in turn. Printed are median and range, and how often chunks were
decompressed. Needs h5py, numpy, torch and penstock.
"""

import argparse
import os
import statistics
import tempfile
import time

import h5py
import numpy as np
import torch

import penstock as ps

SIDE = 96
STORAGE = {  # name: rows per chunk, filters
    "gzip, 32 samples a chunk": (32, {"compression": "gzip", "compression_opts": 4}),
    "gzip, 1 sample a chunk": (1, {"compression": "gzip", "compression_opts": 4}),
    "shuffle + lzf, 32 samples a chunk": (32, {"compression": "lzf", "shuffle": True}),
}


def images(count):
    """Smooth pictures with a little noise, which shrink to about a half, as photographs without loss do."""
    random = np.random.default_rng(0)
    y, x = np.mgrid[0:SIDE, 0:SIDE] / SIDE
    for _ in range(count):
        waves = [np.sin(random.uniform(2, 20) * x + random.uniform(2, 20) * y + c) for c in range(3)]
        yield np.clip(np.stack(waves, -1) * 90 + 128 + random.normal(0, 2, (SIDE, SIDE, 3)), 0, 255).astype(np.uint8)


def write(path, count, rows, filters):
    with h5py.File(path, "w") as file:
        data = file.create_dataset("images", (count, SIDE, SIDE, 3), "u1", chunks=(rows, SIDE, SIDE, 3), **filters)
        stack = np.stack(list(images(min(count, 512))))
        for first in range(0, count, len(stack)):
            data[first : first + len(stack)] = stack[: count - first]
        file["labels"] = np.arange(count) % 10


class Rows(torch.utils.data.Dataset):
    """A row of each dataset; the file is opened where it is read, in the worker process."""

    def __init__(self, path, count):
        self.path, self.count, self.file = path, count, None

    def __len__(self):
        return self.count

    def __getitem__(self, row):
        if self.file is None:
            self.file = h5py.File(self.path, "r")
        return self.file["images"][row], int(self.file["labels"][row])


def epoch(batches):
    begin, rows = time.perf_counter(), 0
    for batch in batches:
        rows += len(batch)
    return rows / (time.perf_counter() - begin)


def h5py_batches(loader):
    for pictures, _ in loader:
        yield pictures


def penstock_batches(loader):
    for batch in loader:
        yield np.asarray(batch["images"])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--samples", type=int, default=4096)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--block-cache", type=int, default=32 << 20, help="bytes; less than the data, as in real life")
    parser.add_argument("--folder", default=None)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        os.environ.setdefault("PENSTOCK_INDEX_DIR", folder)
        print("| storage | penstock | h5py + DataLoader | ratio | chunks undone per epoch |")
        print("| --- | --: | --: | --: | --: |")
        for number, (name, (rows, filters)) in enumerate(STORAGE.items()):
            path = os.path.join(folder, f"{number}.h5")
            write(path, options.samples, rows, filters)
            ours = ps.Loader(path, batch_size=options.batch_size, shuffle=True, workers=options.workers,
                             block_cache=options.block_cache)  # fmt: skip
            theirs = torch.utils.data.DataLoader(Rows(path, options.samples), batch_size=options.batch_size,
                                                 shuffle=True, num_workers=options.workers,
                                                 persistent_workers=True)  # fmt: skip
            epoch(penstock_batches(ours)), epoch(h5py_batches(theirs))  # warm: page cache, workers started
            undone = ours.stats()["blocks_undone"]
            rates = {"ours": [], "theirs": []}
            for _ in range(options.rounds):
                rates["ours"].append(epoch(penstock_batches(ours)))
                rates["theirs"].append(epoch(h5py_batches(theirs)))
            undone = (ours.stats()["blocks_undone"] - undone) / options.rounds
            ours.close()
            text = {
                who: f"{statistics.median(found):,.0f} [{min(found):,.0f}-{max(found):,.0f}]"
                for who, found in rates.items()
            }
            ratio = statistics.median(rates["ours"]) / statistics.median(rates["theirs"])
            chunks = -(-options.samples // rows)
            print(
                f"| {name} | {text['ours']} | {text['theirs']} | {ratio:.1f} | {undone:,.0f} of {chunks:,} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
