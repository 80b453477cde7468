#!/usr/bin/env python3
"""Usage: PYTHONPATH=build/release/python python bench/studies/beside_packings.py [--images DIR] [options]

Compares penstock with the usual readers of several formats on the same files (beside_files.py). gzip-compressed HDF5 is
compared with h5py in PyTorch's DataLoader, LMDB with py-lmdb in DataLoader, tar with webdataset in its WebLoader. Both
sides make the same batches of torch tensors in random order (webdataset: shards shuffled, then through a buffer of
1,000 samples). Both have the same number of workers: threads in penstock, processes in the others. Every run is a
separate process, and the two sides take turns. A run reads one epoch, or --seconds of it, from a cold page cache,
including the construction of the loader. Then a new loader runs warm for --seconds in the middle of an endless stream.

The files are made once, in --folder: small ones of synthetic pictures, and photographs from --images (JPEG), which are
left out without --images. Needs h5py, lmdb, numpy, pillow, torch, webdataset and penstock.
"""

import argparse
import io
import pathlib
import random
import statistics
import sys
import time
from collections.abc import Callable
from typing import NamedTuple

import beside
import h5py
import lmdb
import numpy as np
import torch
from beside_files import CHUNK, ICON, SAMPLES, make
from PIL import Image
from torch.utils.data import DataLoader

CROP = 224  # pixels
WINDOW = 16  # blocks of samples that penstock's block shuffle mixes


# --- the other readers ---


def as_array(value):
    return np.frombuffer(value, np.uint8).reshape(ICON, ICON, 3)


def decoded(value):
    return np.asarray(Image.open(io.BytesIO(value)).convert("RGB"))


def cropped(value):
    return np.asarray(beside.crop_with_pillow(io.BytesIO(value), CROP))


def stacked(batch):
    arrays, labels = zip(*batch)
    return torch.from_numpy(np.stack(arrays)), torch.tensor([int(label) for label in labels])


def joined(batch):
    """Values of different lengths: one after another, with their start offsets."""
    stored, labels = zip(*batch)
    ends = np.cumsum([0] + [len(value) for value in stored])
    return (
        torch.frombuffer(bytearray().join(stored), dtype=torch.uint8),
        torch.from_numpy(ends),
        torch.tensor([int(label) for label in labels]),
    )


class Endless:
    """One permutation after another. With `block`, permutes blocks of that many samples, and mixes them within windows
    of blocks."""

    def __init__(self, count, block):
        self.count, self.block = count, block

    def __iter__(self):
        while True:
            if self.block == 1:
                yield from torch.randperm(self.count).tolist()
                continue
            order = torch.randperm(self.count // self.block).tolist()
            for first in range(0, len(order), WINDOW):
                mixed = [b * self.block + i for b in order[first : first + WINDOW] for i in range(self.block)]
                random.shuffle(mixed)
                yield from mixed


class Hdf5Rows:
    """Opens the file at the first read, in the worker process, with that worker's share of the chunk cache."""

    def __init__(self, path, cache):
        self.path, self.cache, self.images = path, cache, None

    def __getitem__(self, row):
        if self.images is None:
            file = h5py.File(self.path, "r", rdcc_nbytes=self.cache)
            self.images, self.labels = file["images"], file["labels"]
        return self.images[row], self.labels[row]


class LmdbValues:
    """Reads a batch in one transaction, without copying values."""

    def __init__(self, path, kind, decode):
        self.path, self.kind, self.decode, self.file = path, kind, decode, None

    def __getitems__(self, numbers):
        if self.file is None:
            self.file = lmdb.open(str(self.path), readonly=True, lock=False, readahead=False)
        with self.file.begin(buffers=True) as read:
            return [self.one(read, f"{number:08d}") for number in numbers]

    def one(self, read, key):
        return self.decode(read.get(f"{key}.{self.kind}".encode())), bytes(read.get(f"{key}.cls".encode()))


def data_loader(dataset, collate, count, options, block=1):
    return DataLoader(dataset, options.batch_size, sampler=Endless(count, block), collate_fn=collate,
                      num_workers=options.workers)  # fmt: skip


def with_h5py(path, options, block=1):
    rows = Hdf5Rows(path, options.block_cache // options.workers)
    return data_loader(rows, stacked, SAMPLES["rows"], options, block)


def with_py_lmdb(path, options, kind, decode, collate):
    return data_loader(LmdbValues(path, kind, decode), collate, SAMPLES[kind], options)


def with_webdataset(path, options, kind, decode, collate):
    import webdataset

    shards = sorted(str(shard) for shard in path.glob("*.tar"))
    stream = webdataset.WebDataset(shards, shardshuffle=len(shards)).repeat().shuffle(1000)
    stream = stream.to_tuple(kind, "cls").map_tuple(decode, bytes)
    stream = stream.batched(options.batch_size, collation_fn=collate, partial=False)
    return webdataset.WebLoader(stream, batch_size=None, num_workers=options.workers)


# --- penstock ---


def with_penstock(path, options, columns, fields, **more):
    import penstock as ps

    loader = ps.torch.Loader(str(path), batch_size=options.batch_size, shuffle=True, workers=options.workers,
                                      drop_last=True, memory_options=ps.MemoryOptions(block_cache_bytes=options.block_cache), as_tuple=columns,
                                      transforms=fields(ps), **more)  # fmt: skip
    while True:
        yield from loader


def rows_by_penstock(path, options, **more):
    fields = lambda ps: {"images": ps.array.decode(), "labels": ps.label()}
    return with_penstock(path, options, ("images", "labels"), fields, **more)


def values_by_penstock(path, options, kind, chain):
    fields = lambda ps: {kind: chain(ps), "cls": ps.label()}
    for images, labels in with_penstock(path, options, (kind, "cls"), fields):
        if not isinstance(images, tuple):
            yield images, labels
        elif kind == "raw":
            yield images[0].view(-1, ICON, ICON, 3), labels
        else:
            yield *images, labels


# --- the cases ---


class Case(NamedTuple):
    title: str
    data: str
    count: int
    ours: Callable
    other: str
    theirs: Callable


KINDS = {  # processing of a value: title, kind, penstock's chain, the others' decode and collate
    "raw": ("3 KB of raw pixels", "raw", lambda ps: ps.raw(), as_array, stacked),
    "png": ("PNG of 32 x 32, decoded", "png", lambda ps: ps.image.decode() | ps.image.channels_last(), decoded, stacked),
    "jpg": ("photographs, stored bytes", "jpg", lambda ps: ps.raw(), bytes, joined),
    "crop": ("photographs, random crop to 224", "jpg", lambda ps: ps.image.random_resized_crop(CROP) | ps.image.random_horizontal_flip()
             | ps.image.channels_last(), cropped, stacked),
}  # fmt: skip


def cases():
    by_blocks = lambda path, options: rows_by_penstock(path, options, shuffle_block=CHUNK)
    blocks = lambda path, options: with_h5py(path, options, block=CHUNK)
    found = {
        "chunks": Case("HDF5, gzip, 32 samples a chunk, penstock by blocks", "chunks.h5", SAMPLES["rows"], by_blocks,
                       "h5py + DataLoader", with_h5py),
        "chunks-full": Case("the same, both in full shuffle", "chunks.h5", SAMPLES["rows"], rows_by_penstock, "h5py + DataLoader", with_h5py),
        "chunks-blocks": Case("the same, both by blocks", "chunks.h5", SAMPLES["rows"], by_blocks, "h5py + DataLoader", blocks),
        "single": Case("HDF5, gzip, 1 sample a chunk", "single.h5", SAMPLES["rows"], rows_by_penstock, "h5py + DataLoader", with_h5py),
    }  # fmt: skip
    readers = {"lmdb": ("LMDB", "lmdb", "py-lmdb + DataLoader", with_py_lmdb),
               "tar": ("tar", "tars", "webdataset + WebLoader", with_webdataset)}  # fmt: skip
    for packing, (title, ending, other, reader) in readers.items():
        for name, (what, kind, chain, decode, collate) in KINDS.items():
            ours = lambda path, options, kind=kind, chain=chain: values_by_penstock(path, options, kind, chain)
            theirs = lambda path, options, reader=reader, rest=(kind, decode, collate): reader(path, options, *rest)
            found[f"{packing}-{name}"] = Case(
                f"{title}, {what}", f"{kind}.{ending}", SAMPLES[kind], ours, other, theirs
            )
    return found


# --- single runs, and all runs ---


def measure(case, options):
    """Measures cold, then warm, in this process."""
    beside.begin_run()
    torch.set_num_threads(1)
    side = case.ours if options.run.endswith("/ours") else case.theirs
    path = options.folder / case.data
    if case.ours is side:
        import penstock.torch  # noqa: F401
    if options.cold:
        beside.drop_page_cache(beside.files_of(path))
    began = time.perf_counter()
    batches = iter(side(path, options))
    steps, _, _ = beside.window(batches, options.seconds, case.count // options.batch_size)
    cold = steps * options.batch_size / (time.perf_counter() - began)
    del batches  # ends its workers here
    for file in beside.files_of(path):
        file.read_bytes()
    batches = iter(side(path, options))
    told = [(list(part.shape[1:]), str(part.dtype)) for part in next(batches)]
    beside.window(batches, options.seconds / 2)
    steps, seconds, cpu = beside.window(batches, options.seconds)
    taken = steps * options.batch_size
    beside.end_run({"cold": cold, "warm": taken / seconds, "cpu": 1e3 * cpu / taken, "batch": told})


def row(case, ours, theirs):
    assert all(run["batch"] == ours[0]["batch"] for run in ours + theirs), (ours, theirs)
    cells = [f"{case.title}; {case.other}"]
    for state in ("warm", "cold"):
        mine, other = ([run[state] for run in runs] for runs in (ours, theirs))
        pairs = [a / b for a, b in zip(mine, other)]
        ratio = statistics.median(mine) / statistics.median(other)
        cells += [beside.middle(mine), beside.middle(other), f"**{ratio:.1f}** ({min(pairs):.1f}-{max(pairs):.1f})"]
    cells.append(" / ".join(f"{statistics.median(run['cpu'] for run in runs):.3f}" for runs in (ours, theirs)))
    return "| " + " | ".join(cells) + " |"


def main():
    known = cases()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=pathlib.Path, help="a folder of photographs")
    parser.add_argument(
        "--folder", type=pathlib.Path, default=pathlib.Path("build/beside"), help="folder for the generated files"
    )
    parser.add_argument("--only", nargs="*", choices=known, default=list(known), help="cases to run; default: all")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=1.5, help="length of each window")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--block-cache", type=int, default=32 << 20, help="memory for decompressed chunks of all workers, in bytes"
    )
    parser.add_argument("--cold", action=argparse.BooleanOptionalAction, default=True, help="drop the page cache first")
    parser.add_argument("--run", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run:
        return measure(known[options.run.split("/")[0]], options)

    import penstock as ps

    only = [name for name in options.only if options.images or "jpg" not in known[name].data]
    for name in sorted({known[case].data for case in only}):
        path, began = make(name, options.folder, options.images), time.perf_counter()
        found = len(ps.open(str(path)))
        print(f"{name}: {found:,} samples opened in {time.perf_counter() - began:.3f} s", file=sys.stderr)
    runs = {name: ([], []) for name in only}
    try:
        for _ in range(options.rounds):
            for name, (ours, theirs) in runs.items():
                pair = [beside.run_apart(sys.argv[1:], f"{name}/{side}") for side in ("ours", "theirs")]
                ours.append(pair[0])
                theirs.append(pair[1])
    except KeyboardInterrupt:
        print("interrupted: some cases have fewer runs", file=sys.stderr)
    print(
        f"{options.workers} workers, batches of {options.batch_size}; samples/s, median of up to {options.rounds} runs (lowest-highest)"
    )
    print(f"{beside.machine()}; cold: the files' pages dropped")
    print("\n| what; beside | warm: penstock | other | ratio | cold: penstock | other | ratio | CPU ms a sample |")
    print("| --- | --: | --: | --: | --: | --: | --: | --: |")
    for name, (ours, theirs) in runs.items():
        if ours:
            print(row(known[name], ours, theirs))
    return None


if __name__ == "__main__":
    main()
