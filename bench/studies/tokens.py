#!/usr/bin/env python3
"""Compares tokens per second, on one core, of penstock and other loaders of token blocks, in turns on the same tokens.

    python bench/studies/tokens.py [--tokens 2e8] [--rounds 3] [--folder DIR] [--padding]

The tokens are documents of about 1,000 (log-normal) in Megatron's .bin and .idx, uint16, in the page cache. Each loader
returns batches of 64 blocks of 2,048 as int64. Each runs in a separate process on one core, with the number of workers
that is fastest there: one for penstock, none for the others. The timed part begins after the first 100 batches. Loaders
that are not installed are skipped.

    penstock cut, penstock shuffled, penstock best fit   ps.token_blocks(); the last with positions and segment ids
    memory map                                           torch's DataLoader over a numpy.memmap of blocks, shuffled
    litdata                                              TokensLoader over an optimized copy, in order and shuffled
    grain cut, grain best fit                            its packing of documents that are slices of a numpy.memmap

--padding compares, on the same documents, how much of the blocks is padding: penstock's best fit and Grain's. Grain has
as many bins open as a window has room for.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import statistics
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

LENGTH, BATCH, WARM = 2048, 64, 100
NAMES = (
    "penstock cut",
    "penstock shuffled",
    "penstock best fit",
    "memory map",
    "litdata",
    "litdata shuffled",
    "grain cut",
    "grain best fit",
)


def lengths_of(tokens: int) -> np.ndarray:
    """Document lengths that add up to `tokens`."""
    draw = np.random.default_rng(1)
    lengths = np.clip(draw.lognormal(6.4, 1.0, tokens // 500), 8, 100_000).astype(np.int64)
    return lengths[: int(np.searchsorted(np.cumsum(lengths), tokens))]


def make(folder: pathlib.Path, tokens: int) -> None:
    """corpus.bin and corpus.idx, and LitData's copy if it is installed."""
    lengths = lengths_of(tokens)
    total = int(lengths.sum())
    values = np.random.default_rng(0).integers(0, 50_000, total, dtype=np.uint16)
    values.tofile(folder / "corpus.bin")
    begins = np.concatenate([[0], np.cumsum(lengths)[:-1]]) * 2
    with open(folder / "corpus.idx", "wb") as file:
        file.write(b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, 8, len(lengths), len(lengths) + 1))
        file.write(lengths.astype("<i4").tobytes() + begins.astype("<i8").tobytes())
        file.write(np.arange(len(lengths) + 1, dtype="<i8").tobytes())


PART = 1 << 22


def part_of(item: tuple[str, int]) -> Iterator[Any]:
    """A part of the tokens, in the form that LitData's workers request."""
    import torch

    values = np.memmap(item[0], np.uint16, "r")[item[1] : item[1] + PART]
    yield torch.from_numpy(values.astype(np.int32))


def optimize(folder: pathlib.Path) -> None:
    """LitData's copy of the tokens."""
    import litdata

    corpus = folder / "corpus.bin"
    litdata.optimize(
        part_of,
        [(str(corpus), begin) for begin in range(0, corpus.stat().st_size // 2, PART)],
        str(folder / "litdata"),
        num_workers=1,
        chunk_size=LENGTH * 8192,
        item_loader=litdata.TokensLoader(block_size=LENGTH),
    )


def penstock(folder: pathlib.Path, way: str) -> Iterator[Any]:
    """Tensors of (64, 2048) int64."""
    import penstock as ps

    packing = "best_fit" if way == "best fit" else "cut"
    blocks = ps.token_blocks(folder / "corpus.idx", LENGTH, packing=packing)
    for batch in ps.Loader(blocks, batch_size=BATCH, workers=1, shuffle=way != "cut", seed=1, last_batch="drop"):
        yield batch["tokens"].torch()


def memory_map(folder: pathlib.Path, _: str) -> Iterator[Any]:
    """The usual few lines of a training script."""
    import torch
    from torch.utils.data import DataLoader, Dataset

    class Blocks(Dataset):  # type: ignore[type-arg]
        def __init__(self) -> None:
            self.values = np.memmap(folder / "corpus.bin", np.uint16, "r")

        def __len__(self) -> int:
            return len(self.values) // LENGTH

        def __getitem__(self, i: int) -> torch.Tensor:
            return torch.from_numpy(self.values[i * LENGTH : (i + 1) * LENGTH].astype(np.int64))

    yield from DataLoader(Blocks(), batch_size=BATCH, shuffle=True, drop_last=True)


def litdata_blocks(folder: pathlib.Path, way: str) -> Iterator[Any]:
    """StreamingDataset of tokens."""
    import litdata

    dataset = litdata.StreamingDataset(
        str(folder / "litdata"), item_loader=litdata.TokensLoader(block_size=LENGTH), shuffle=way == "shuffled"
    )
    for batch in litdata.StreamingDataLoader(dataset, batch_size=BATCH, num_workers=0, drop_last=True):
        yield batch.long()


class Documents:
    """A random-access source of documents for Grain."""

    def __init__(self, folder: pathlib.Path) -> None:
        index = (folder / "corpus.idx").read_bytes()
        count = struct.unpack_from("<Q", index, 18)[0]
        self.lengths = np.frombuffer(index, "<i4", count, 34)
        self.begins = np.frombuffer(index, "<i8", count, 34 + 4 * count) // 2
        self.values = np.memmap(folder / "corpus.bin", np.uint16, "r")

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, i: Any) -> dict[str, np.ndarray]:
        begin = self.begins[int(i)]
        return {"tokens": self.values[begin : begin + min(int(self.lengths[int(i)]), LENGTH)].astype(np.int64)}


def grain_blocks(folder: pathlib.Path, way: str) -> Iterator[Any]:
    """Grain's packing. Documents are cut to a block, as its best fit requires."""
    import grain
    import torch

    dataset = grain.MapDataset.source(Documents(folder)).to_iter_dataset(
        grain.ReadOptions(num_threads=0, prefetch_buffer_size=0)
    )
    if way == "best fit":
        packed = grain.experimental.BestFitPackIterDataset(
            dataset, length_struct={"tokens": LENGTH}, num_packing_bins=64
        )
    else:
        packed = grain.experimental.ConcatThenSplitIterDataset(dataset, length_struct={"tokens": LENGTH})
    for batch in packed.batch(BATCH, drop_remainder=True):
        yield torch.from_numpy(batch["tokens"])


WAYS = {"penstock": penstock, "memory": memory_map, "litdata": litdata_blocks, "grain": grain_blocks}


def measure(folder: pathlib.Path, name: str, seconds: float) -> float:
    """Tokens per second of one loader, over as many epochs as necessary."""
    import torch

    torch.set_num_threads(1)
    kind, _, way = name.partition(" ")

    def endless() -> Iterator[Any]:
        while True:
            yield from WAYS[kind](folder, way)

    batches = endless()
    for _ in range(WARM if kind != "grain" else 5):
        batch = next(batches)
    assert tuple(batch.shape) == (BATCH, LENGTH) and batch.dtype == torch.int64, (batch.shape, batch.dtype)
    begin, taken = time.perf_counter(), 0
    while time.perf_counter() - begin < seconds:
        next(batches)
        taken += 1
    return taken * BATCH * LENGTH / (time.perf_counter() - begin)


def padding(folder: pathlib.Path, documents: int, window: int) -> dict[str, int]:
    """Number of blocks that each packing needs, window by window, for the same first documents, cut to a block's
    length."""
    import grain

    import penstock as ps

    source = Documents(folder)
    lengths = np.minimum(source.lengths[:documents], LENGTH)
    short = folder / "short"
    short.mkdir(exist_ok=True)
    begins = source.begins[:documents] * 2
    with open(short / "corpus.idx", "wb") as file:
        file.write(b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, 8, documents, documents + 1))
        file.write(
            lengths.astype("<i4").tobytes()
            + begins.astype("<i8").tobytes()
            + np.arange(documents + 1, dtype="<i8").tobytes()
        )
    if not (short / "corpus.bin").exists():
        os.link(folder / "corpus.bin", short / "corpus.bin")
    blocks = {
        "penstock": len(ps.token_blocks(short / "corpus.idx", LENGTH, packing="best_fit", window=window)),
        "grain": 0,
    }
    for begin in range(0, documents, window):
        part = [{"tokens": np.zeros(n, np.uint8)} for n in lengths[begin : begin + window]]
        packed = grain.experimental.BestFitPackIterDataset(
            grain.MapDataset.source(part).to_iter_dataset(grain.ReadOptions(num_threads=0, prefetch_buffer_size=0)),
            length_struct={"tokens": LENGTH},
            num_packing_bins=len(part),
        )
        blocks["grain"] += sum(1 for _ in packed)
    blocks["tokens"] = int(lengths.sum())
    return blocks


def installed(name: str) -> bool:
    """Whether the loader can be imported."""
    package = {"memory": "torch"}.get(name.split()[0], name.split()[0])
    return subprocess.run([sys.executable, "-c", f"import {package}"], check=False, capture_output=True).returncode == 0


def main() -> None:
    """Runs all loaders in turns."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tokens", type=float, default=2e8)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("/tmp/penstock-tokens"))
    parser.add_argument("--only", help="names of loaders, separated by commas")
    parser.add_argument("--padding", action="store_true")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        print(json.dumps(measure(asked.folder, asked.one, asked.seconds)))
        return
    asked.folder.mkdir(parents=True, exist_ok=True)
    if not (asked.folder / "corpus.idx").exists():
        make(asked.folder, int(asked.tokens))
    if asked.padding:
        for window in (1000, 4000):
            blocks = padding(asked.folder, 8000, window)
            for name in ("penstock", "grain"):
                empty = 1 - blocks["tokens"] / (blocks[name] * LENGTH)
                print(f"{name:9} windows of {window:5,}: {blocks[name]:6,} blocks, {empty:.3%} padding")
        return
    names = [name for name in (asked.only.split(",") if asked.only else NAMES) if installed(name)]
    if any(name.startswith("litdata") for name in names) and not (asked.folder / "litdata").exists():
        optimize(asked.folder)
    rates: dict[str, list[float]] = {name: [] for name in names}
    core = max(os.sched_getaffinity(0))
    for _ in range(asked.rounds):
        for name in names:
            command = [
                sys.executable,
                __file__,
                "--one",
                name,
                "--folder",
                str(asked.folder),
                "--seconds",
                str(asked.seconds),
            ]
            told = subprocess.run(
                command, capture_output=True, text=True, check=False, preexec_fn=lambda: os.sched_setaffinity(0, {core})
            )
            if told.returncode != 0:
                print(name, told.stderr[-600:], file=sys.stderr)
                continue
            rates[name].append(json.loads(told.stdout.splitlines()[-1]))
    for name, each in rates.items():
        if each:
            print(
                f"{name:18} {statistics.median(each) / 1e6:8.1f} million tokens/s   ({min(each) / 1e6:.1f} to {max(each) / 1e6:.1f})"
            )


if __name__ == "__main__":
    main()
