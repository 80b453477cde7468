#!/usr/bin/env python3
"""Usage: windows.py [--frames N] [--rounds N] [--seconds S] [--workers N] [--batch-size N]

Compares frames per second of windows of 16 frames with those of single samples, from the same files, in turns. A pair
has the same chain and the same number of frames per batch: --batch-size single samples, or a sixteenth as many rows.
Prints medians and quartiles of the rounds. Frames are PNG icons of 32 x 32 and JPEGs of 128 x 128 in episodes of 200,
in tar shards of a temporary folder. "frames" counts delivered frames: in consecutive rows, most frames occur in 16 of
them.
"""

import argparse
import io
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
import penstock as ps
from PIL import Image

STEPS = 16
EPISODE = 200  # frames


def write(folder, kind, frames):
    draw = np.random.default_rng(0)
    side = 32 if kind == "png" else 128
    with ps.Writer(folder, format="tar", progress=False) as writer:
        for number in range(frames):
            small = Image.fromarray(draw.integers(0, 256, (side // 8, side // 8, 3), np.uint8))
            out = io.BytesIO()
            small.resize((side, side), Image.BICUBIC).save(out, "png" if kind == "png" else "jpeg")
            writer.add(f"e{number // EPISODE:05}/{number % EPISODE:05}", {kind: out.getvalue()})
    return ps.open(folder)


def measured(loader, output, seconds):
    """Delivered frames per second, and microseconds of CPU time per frame, without the first batches."""
    frames, end = 0, None
    while end is None or time.perf_counter() < end:
        for number, batch in enumerate(loader):
            shape = batch[output].shape
            if end is None:
                if number >= 3:
                    began, spent = time.perf_counter(), time.process_time()
                    end = began + seconds
                continue
            frames += shape[0] * (shape[1] if len(shape) == 5 else 1)
            if time.perf_counter() > end:
                break
    return frames / (time.perf_counter() - began), 1e6 * (time.process_time() - spent) / frames


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frames", type=int, default=20000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=256)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="penstock-windows-") as home:
        for kind in ("png", "jpg"):
            dataset = write(Path(home) / kind, kind, given.frames)
            window = ps.window(kind, offsets=range(1 - STEPS, 1), group=r"^(.*)/", edge="drop")
            plain = ps.image.decode() if kind == "png" else ps.image.resize((112, 112))
            crop = ps.image.random_crop(28) if kind == "png" else ps.image.random_resized_crop(112)
            numbers = ps.image.normalize((0.5,) * 3, (0.25,) * 3)
            for name, steps, shuffle in (
                ("in order", plain, False),
                ("shuffled", plain, True),
                ("shuffled, random crop", crop, True),
                ("in order, random crop", crop, False),
            ):
                options = {"workers": given.workers, "shuffle": shuffle, "publish": False}
                single = {"clip": ps.field(kind) | steps | numbers}
                loaders = {
                    "single": ps.Loader(dataset, batch_size=given.batch_size, transforms=single, **options),
                    "windows": ps.Loader(
                        dataset,
                        batch_size=given.batch_size // STEPS,
                        transforms={"clip": window | steps | numbers},
                        **options,
                    ),
                }
                rounds = {which: [] for which in loaders}
                for _ in range(given.rounds):
                    for which, loader in loaders.items():
                        rounds[which].append(measured(loader, "clip", given.seconds))
                ratios = [row[0] / one[0] for one, row in zip(rounds["single"], rounds["windows"])]
                low, _, high = statistics.quantiles(ratios, n=4)
                rate, spent = (
                    {which: statistics.median(each[i] for each in told) for which, told in rounds.items()}
                    for i in (0, 1)
                )
                print(
                    f"{kind} {name}: single {rate['single']:,.0f} frames/s, windows {rate['windows']:,.0f}, "
                    f"ratio {statistics.median(ratios):.2f} [{low:.2f} .. {high:.2f}]; "
                    f"processor {spent['single']:.1f} and {spent['windows']:.1f} us a frame",
                    flush=True,
                )
                del loaders, loader


if __name__ == "__main__":
    main()
