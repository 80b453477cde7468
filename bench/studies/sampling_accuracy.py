#!/usr/bin/env python3
"""Usage: PYTHONPATH=build/release/python PENSTOCK_COMMAND=build/release/bindings/cli/penstock \\
    python bench/studies/sampling_accuracy.py [options]

Does it matter which points of its clouds a network sees? Trains PointNet (bindings/python/examples/train_points.py) on
generated laser scans of trees. The species are the classes. Three ways differ only in the source of the points:

  fixed        some points of each cloud, chosen once while packing: the same ones in every epoch
  progressive  all points, packed in random order: every epoch reads the next run of them, and only that
  resampled    the LAS files as they are: every epoch draws from all points

Accuracy is that of the last epoch, on other clouds. All ways use the same points, drawn from the LAS files of these
clouds. Runs are interleaved, one seed after another. Prints for each way the mean, standard deviation and range of the
accuracy over the seeds. Prints for an epoch, as medians, the bytes read, and the seconds inside the loader's next() and
of training. Also prints the bytes from storage with an empty page cache (pages and the kernel's read-ahead). Prints the
size on disk.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import io
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "bindings/python/examples"))

import torch
import train_points
import training


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clouds", type=int, default=96, help="number of clouds to train on")
    parser.add_argument("--test-clouds", type=int, default=240, help="number of clouds to measure accuracy on")
    parser.add_argument("--classes", type=int, default=12)
    parser.add_argument("--stored", default="20k-50k", help="points of a cloud")
    parser.add_argument("--points", type=int, default=256, help="points of a cloud that the network gets")
    parser.add_argument(
        "--presample", default="random", choices=("random", "fps"), help="how the fixed points are chosen"
    )
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=0, help="first seed, to continue an earlier run")
    parser.add_argument("--width", type=int, default=16)
    parser.add_argument("--folder", help="folder that keeps the data for the next run; default: a temporary folder")
    return parser.parse_args()


@dataclasses.dataclass
class Run:
    accuracy: float
    epochs: list[training.Sums]


class Study:
    """The datasets, made once, and the training runs on them."""

    def __init__(self, options: argparse.Namespace, folder: pathlib.Path) -> None:
        self.options, self.folder = options, folder
        clouds = ["--num-classes", options.classes, "--points", options.stored]
        self.make("train", ["synth", "clouds"], ["-n", options.clouds, *clouds, "--seed", 1])
        self.make("test", ["synth", "clouds"], ["-n", options.test_clouds, *clouds, "--seed", 2])
        pack = ["pack", folder / "train"]
        self.make("fixed.tar.d", pack, ["--format", "tar", "--presample", f"{options.presample}:{options.points}"])
        self.make("progressive.tar.d", pack, ["--format", "tar", "--point-order", "progressive"])
        self.ways = {"fixed": "fixed.tar.d", "progressive": "progressive.tar.d", "resampled": "train"}

    def make(self, name: str, before: list[object], after: list[object]) -> None:
        destination = self.folder / name
        if destination.exists():
            return
        began = time.perf_counter()
        words = [os.environ.get("PENSTOCK_COMMAND", "penstock"), *before, destination, *after]
        subprocess.run([str(word) for word in words], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        print(f"{name}: made in {time.perf_counter() - began:.1f} s", flush=True)

    def files(self, way: str) -> list[pathlib.Path]:
        return [path for path in (self.folder / self.ways[way]).rglob("*") if path.is_file()]

    def megabytes(self, way: str) -> float:
        return sum(file.stat().st_size for file in self.files(way)) / 1e6

    def data(self, way: str, seed: int) -> tuple[argparse.Namespace, training.Data]:
        told = {"test": self.folder / "test", "seed": seed}
        told |= {name: getattr(self.options, name) for name in ("points", "epochs", "width", "batch_size")}
        words = [str(self.folder / self.ways[way])]
        words += [f"--{name.replace('_', '-')}={value}" for name, value in told.items()]
        options = train_points.parsed(words)
        return options, training.Data(options, *train_points.chains(options))

    def run(self, way: str, seed: int) -> Run:
        options, data = self.data(way, seed)
        torch.manual_seed(seed)
        trainer = train_points.trainer(options, data.classes)
        test, data.test = data.test, None  # measure accuracy only once, at the end
        with contextlib.redirect_stdout(io.StringIO()):
            progress = training.run(options, data, trainer, training.Stop())
        accuracy, _ = trainer.accuracy(test)
        data.close()
        test.close()
        return Run(accuracy, progress.epochs)

    def cold_megabytes(self, way: str) -> float:
        """Megabytes that an epoch reads from storage with a cold page cache."""
        for path in self.files(way):
            with open(path, "rb") as file:
                os.fsync(file.fileno())
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        before = storage_bytes()
        _, data = self.data(way, seed=0)
        for _ in data.train:
            pass
        read = storage_bytes() - before
        data.close()
        return read / 1e6


def storage_bytes() -> int:
    """Bytes that this process has read from storage; 0 for file systems in memory."""
    lines = pathlib.Path("/proc/self/io").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("read_bytes:"))


def median(runs: list[Run], name: str) -> float:
    # Skips the first epoch, in which the loader also counts its reads before the loop began.
    return statistics.median(getattr(epoch, name) for run in runs for epoch in run.epochs[1:])


def row(study: Study, way: str, runs: list[Run]) -> str:
    told = [100 * run.accuracy for run in runs]
    spread = statistics.stdev(told) if len(told) > 1 else 0.0
    accuracy = f"{statistics.mean(told):.1f} +- {spread:.1f} ({min(told):.1f}-{max(told):.1f})"
    read, loading, trained = (median(runs, name) for name in ("bytes_read", "loading", "training"))
    bytes_read = f"{read / 1e6:.2f} | {study.cold_megabytes(way):.1f}"
    return f"| {way} | {accuracy} | {bytes_read} | {loading:.3f} | {trained:.2f} | {study.megabytes(way):.1f} |"


def main() -> None:
    options = parsed()
    with contextlib.ExitStack() as stack:
        folder = options.folder or stack.enter_context(tempfile.TemporaryDirectory())
        os.makedirs(folder, exist_ok=True)
        study = Study(options, pathlib.Path(folder))
        runs: dict[str, list[Run]] = {way: [] for way in study.ways}
        for seed in range(options.first_seed, options.first_seed + options.seeds):
            for way in study.ways:
                runs[way].append(study.run(way, seed))
                print(f"seed {seed}, {way}: {runs[way][-1].accuracy:.3f}", flush=True)
        print("\n| points | accuracy, % | MB read | MB, cold | loading s | training s | MB on disk |")
        print("| --- | --: | --: | --: | --: | --: | --: |")
        for way in study.ways:
            print(row(study, way, runs[way]))


if __name__ == "__main__":
    main()
