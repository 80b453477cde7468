#!/usr/bin/env python3
"""Usage: PYTHONPATH=build/release/python python bench/studies/python_workers.py [--seconds 3] [--rounds 3] [--rows 64]

Measures Loader(python_workers=N): samples/s with 1 and 2 processes, for a function of pure Python and for one that
sleeps. Also measures the CPU time of a row of 224 x 224 in addition to its function, in the program and in the
processes. Compares samples/s with PyTorch's DataLoader with the same workers and function. Needs NumPy, Pillow and
penstock. The last part needs PyTorch.
"""

import argparse
import io
import os
import pathlib
import statistics
import sys
import tempfile
import time

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

SIDE = 224


def pure(image):
    """About a millisecond of Python."""
    total = 0
    for number in range(10_000):
        total += number * number
    image[0, 0, 0] = total & 255
    return image


def sleeps(image):
    time.sleep(0.004)
    return image


def same(image):
    return image


def write_images(folder, count):
    from PIL import Image

    draw = np.random.default_rng(0)
    for number in range(count):
        small = Image.fromarray(draw.integers(0, 256, (16, 16, 3), np.uint8))
        encoded = io.BytesIO()
        small.resize((SIDE, SIDE), Image.Resampling.BICUBIC).save(encoded, "jpeg", quality=90)
        (folder / f"{number:04}.jpg").write_bytes(encoded.getvalue())
        (folder / f"{number:04}.cls").write_text(str(number % 10))


def write_pixels(folder, count):
    import penstock as ps

    draw = np.random.default_rng(0)
    with ps.Writer(folder, format="hdf5", progress=False) as writer:
        for number in range(count):
            writer.add(f"{number:04}", {"npy": draw.integers(0, 256, (SIDE, SIDE, 3), np.uint8)})


def chain(function, ends):
    import penstock as ps

    made = ps.image.decode() | ps.transform(function, layout="HWC")
    return made | ps.image.normalize((0.5, 0.5, 0.5), (0.5, 0.5, 0.5)) if ends else made


def loader_of(folder, function, workers, rows, ends=False, threads=1):
    import penstock as ps

    fields = {"image": ps.field("npy|jpg") | chain(function, ends)}
    return ps.Loader(
        folder,
        batch_size=rows,
        shuffle=True,
        transforms=fields,
        workers=threads,
        python_workers=workers,
        memory_options=ps.MemoryOptions(reserved_batches=2),
    )


def endless(loader):
    while True:
        yield from loader


def rate(batches, seconds, rows):
    for _ in range(3):
        next(batches)
    taken, began = 0, time.perf_counter()
    while time.perf_counter() - began < seconds:
        next(batches)
        taken += 1
    return rows * taken / (time.perf_counter() - began)


def penstock_rate(folder, function, workers, arguments, **options):
    with loader_of(folder, function, workers, arguments.rows, **options) as loader:
        return rate(endless(loader), arguments.seconds, arguments.rows)


class Files:
    """A dataset for PyTorch's DataLoader."""

    def __init__(self, folder, function):
        self.files, self.function = sorted(pathlib.Path(folder).glob("*.jpg")), function

    def __len__(self):
        return len(self.files)

    def __getitem__(self, number):
        import torch
        from PIL import Image

        with Image.open(self.files[number]) as image:
            pixels = np.array(image.convert("RGB"))
        return torch.from_numpy(self.function(pixels))


def torch_rate(folder, function, workers, arguments):
    import torch

    dataset = Files(folder, function)
    loader = torch.utils.data.DataLoader(
        dataset, arguments.rows, shuffle=True, num_workers=workers, persistent_workers=True, drop_last=True
    )
    return rate(endless(loader), arguments.seconds, arguments.rows)


def processor_s(task):
    return int((task / "schedstat").read_text().split()[0]) / 1e9


def own_tasks():
    """System tasks: the loader's thread that hands out the rows, and all processes."""
    threads = [
        task for task in pathlib.Path("/proc/self/task").iterdir() if "penstock-batch" in (task / "comm").read_text()
    ]
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            father = (process / "stat").read_text().rpartition(")")[2].split()[1]
        except OSError:
            continue
        if int(father) == os.getpid():
            threads += (process / "task").iterdir()
    return threads


def cost(folder, arguments):
    """CPU us per row, for a function that returns its input."""
    with loader_of(folder, same, 2, arguments.rows) as loader:
        batches = endless(loader)
        for _ in range(5):
            next(batches)
        tasks = own_tasks()
        before, taken, began = sum(map(processor_s, tasks)), 0, time.perf_counter()
        while time.perf_counter() - began < arguments.seconds:
            next(batches)
            taken += 1
        return 1e6 * (sum(map(processor_s, tasks)) - before) / (taken * arguments.rows)


def told(what, values, unit):
    print(
        f"{what:60} {statistics.median(values):10.2f} {unit}   ({', '.join(f'{value:.2f}' for value in values)})",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rows", type=int, default=64)
    arguments = parser.parse_args()
    rounds = range(arguments.rounds)
    with tempfile.TemporaryDirectory() as folder:
        images, pixels = pathlib.Path(folder) / "images", pathlib.Path(folder) / "pixels"
        images.mkdir()
        write_images(images, 512)
        write_pixels(pixels, 512)
        for function in (pure, sleeps):
            pairs = [[penstock_rate(pixels, function, workers, arguments) for workers in (1, 2)] for _ in rounds]
            told(f"{function.__name__}: samples/s with 1 process", [one for one, _ in pairs], "")
            told(f"{function.__name__}: samples/s with 2 processes", [two for _, two in pairs], "")
            told(f"{function.__name__}: 2 processes beside 1", [two / one for one, two in pairs], "times")
        told("processor time of a row beside its function", [cost(pixels, arguments) for _ in rounds], "us")
        try:
            import torch  # noqa: F401
        except ImportError:
            print("PyTorch is not installed: nothing beside it")
            return
        for function in (pure, same):
            pairs = [
                (penstock_rate(images, function, 2, arguments), torch_rate(images, function, 2, arguments))
                for _ in rounds
            ]
            told(f"{function.__name__}, JPEGs: samples/s of 2 processes", [ours for ours, _ in pairs], "")
            told(f"{function.__name__}, JPEGs: samples/s of DataLoader, 2 workers", [theirs for _, theirs in pairs], "")
            told(f"{function.__name__}, JPEGs: beside DataLoader", [ours / theirs for ours, theirs in pairs], "times")


if __name__ == "__main__":
    main()
