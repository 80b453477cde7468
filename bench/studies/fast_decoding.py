"""Measures the effect of image.decode(fast=True): differences of pixels, 0 to 255, and samples/s beside exact decoding.

    PYTHONPATH=build/dev/python python bench/studies/fast_decoding.py PHOTOGRAPHS [--rounds 5] [--workers 2] [--seed 1]

Photographs are packed as JPEG files and as `jpt` fields. Each chain runs with and without `fast`, in turns, over epochs
of all photographs. Speeds are medians of rounds; differences cover all photographs of one epoch. PENSTOCK_COMMAND names
the command if it is not on PATH. Needs the package penstock.
"""

import argparse
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

import numpy as np

import penstock as ps

COMMAND = os.environ.get("PENSTOCK_COMMAND", "penstock")
CHAINS = {
    "random_resized_crop(224)": ps.image.random_resized_crop(224),
    "random_resized_crop(128)": ps.image.random_resized_crop(128),
    "random_resized_crop(64)": ps.image.random_resized_crop(64),
    "resize((224, 224))": ps.image.resize((224, 224)),
    "resize((128, 128))": ps.image.resize((128, 128)),
    "resize((64, 64))": ps.image.resize((64, 64)),
    "resize((32, 32))": ps.image.resize((32, 32)),
}


def pack(source, folder):
    packed = {}
    for name, policy in [("JPEG", "keep"), ("jpt", "recode")]:
        packed[name] = folder / policy
        subprocess.run(
            [COMMAND, "pack", source, packed[name], "--format", "tar", "--jpeg", policy],
            check=True, capture_output=True,
        )  # fmt: skip
    return packed


def image_field(dataset):
    return next(name for name in ("jpg", "jpeg", "JPEG") if name in [field.name for field in dataset.fields])


def epoch(dataset, field, chain, options, keep):
    """Samples/s of one epoch. With `keep`, also returns its pixels, which come in the same order each time."""
    loader = ps.Loader(dataset, batch_size=64, transforms={field: chain}, workers=options.workers, seed=options.seed)
    pixels, count = [], 0
    begin = time.perf_counter()
    for batch in loader:
        count += batch[field].shape[0]
        if keep:
            pixels.append(np.array(batch[field]))
    return count / (time.perf_counter() - begin), pixels


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    decodes = {"exact": ps.image.decode(), "fast": ps.image.decode(fast=True)}
    print("| chain | stored as | mean difference | largest | exact, samples/s | fast | |")
    print("| --- | --- | --: | --: | --: | --: | --: |")
    with tempfile.TemporaryDirectory() as folder:
        packed = {name: ps.open(place) for name, place in pack(options.source, pathlib.Path(folder)).items()}
        for title, steps in CHAINS.items():
            speeds, pixels = {}, {}
            for number in range(options.rounds):
                for name, dataset in packed.items():
                    for how, decode in decodes.items():
                        speed, seen = epoch(dataset, image_field(dataset), decode | steps, options, number == 0)
                        speeds.setdefault((name, how), []).append(speed)
                        if number == 0:
                            pixels[name, how] = seen
            for name in packed:
                exact, fast = (np.concatenate(pixels[name, how]).astype(np.int16) for how in decodes)
                difference = np.abs(exact - fast)
                rates = {how: statistics.median(speeds[name, how]) for how in decodes}
                print(
                    f"| `{title}` | {name} | {difference.mean():.2f} "
                    f"| {difference.max()} | {rates['exact']:,.0f} | {rates['fast']:,.0f} "
                    f"| {rates['fast'] / rates['exact']:.2f} times |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
