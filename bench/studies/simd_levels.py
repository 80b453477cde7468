"""Compares the SIMD levels of this processor with each other, as PENSTOCK_SIMD limits them.

    PYTHONPATH=build/dev/python python bench/studies/simd_levels.py PHOTOGRAPHS [--rounds 7]

Packs 500 of the photographs in several ways, and makes icons and clouds. Everything is in the page cache. One worker
reads. In each round, all levels of a task follow each other in random order, in a process each. Prints the median CPU
time for a sample at each level, and the median of the ratios to the first level. PENSTOCK_COMMAND names the command if
it is not on PATH.
"""

import argparse
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile

import beside

import penstock as ps

COMMAND = os.environ.get("PENSTOCK_COMMAND", "penstock")
LEVELS = ("avx512", "avx2", "sse4", "scalar")
UNIT = ps.image.normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
TRAIN = ps.image.random_resized_crop(224) | ps.image.random_horizontal_flip() | UNIT
TASKS = {  # name: dataset, field, chain, batch size
    "crops of JPEG files": ("tar", "jpg", TRAIN, 64),
    "crops, re-coded": ("recode", "jpg", TRAIN, 64),
    "evaluation, JPEG files": ("tar", "jpg", ps.image.resize(256) | ps.image.center_crop(224) | UNIT, 64),
    "PNG icons": ("icons", "png", UNIT, 256),
    "pixels to float32": ("pixels", "jpg", UNIT, 64),
    "pixels as stored": ("pixels", "jpg", ps.raw(), 64),
    "clouds, random points": ("clouds", "las", ps.points.sample(4096) | ps.points.center(), 16),
    "clouds, farthest points": ("clouds", "las", ps.points.sample(16384) | ps.points.sample(1024, "fps"), 16),
}


def make(photographs, folder):
    def run(*words):
        subprocess.run([COMMAND, *map(str, words)], check=True, capture_output=True)

    files = sorted(path for path in photographs.rglob("*") if path.suffix.lower() in (".jpg", ".jpeg"))[:500]
    (folder / "photographs").mkdir()
    for number, file in enumerate(files):
        (folder / f"photographs/{number:06}.jpg").write_bytes(file.read_bytes())
    run("pack", folder / "photographs", folder / "tar", "--format", "tar")
    run("pack", folder / "photographs", folder / "recode", "--format", "tar", "--jpeg", "recode")
    run("pack", folder / "photographs", folder / "pixels", "--format", "hdf5", "--decode", "224")
    run("synth", "icons", folder / "icon_files", "-n", "5000")
    run("pack", folder / "icon_files", folder / "icons", "--format", "hdf5")
    run("synth", "clouds", folder / "cloud_files", "-n", "32", "--points", "100k")
    run("pack", folder / "cloud_files", folder / "clouds", "--format", "tar")


def epochs(loader):
    while True:
        yield from loader


def measure(folder, task, seconds):
    """Prints microseconds of CPU time for a sample."""
    beside.begin_run()
    place, field, chain, batch_size = TASKS[task]
    loader = ps.Loader(folder / place, batch_size=batch_size, shuffle=True, workers=1, transforms={field: chain})
    batches = epochs(loader)
    beside.window(batches, seconds / 4)
    steps, _, cpu = beside.window(batches, seconds)
    beside.end_run({"cpu": 1e6 * cpu / (steps * batch_size)})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("photographs", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--level", action="append", choices=LEVELS, help="default: all")
    parser.add_argument("--run", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.run:
        return measure(arguments.photographs, arguments.run, arguments.seconds)
    levels = arguments.level or LEVELS
    print(beside.machine())
    print("| CPU time for a sample, us |", " | ".join(f"{level} | ratio" for level in levels), "|")
    print("| --- |" + " --: | --: |" * len(levels))
    with tempfile.TemporaryDirectory() as made:
        folder = pathlib.Path(made)
        make(arguments.photographs, folder)
        for task in TASKS:
            times = {level: [] for level in levels}
            for _ in range(arguments.rounds):
                for level in random.sample(levels, len(levels)):
                    os.environ["PENSTOCK_SIMD"] = level
                    told = beside.run_apart([str(folder), "--seconds", str(arguments.seconds)], task)
                    times[level].append(told["cpu"])
            cells = []
            for level in levels:
                ratio = statistics.median(a / b for a, b in zip(times[levels[0]], times[level], strict=True))
                cells.append(f"{statistics.median(times[level]):,.1f} | {ratio:.2f}")
            print(f"| {task} |", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    sys.exit(main())
