#!/usr/bin/env python3
"""Usage: PYTHONPATH=build/release/python python bench/beside_torch.py FOLDER [options]

penstock beside PyTorch's own DataLoader on a folder of class folders of photographs (JPEG): random crop to 224, flip,
normalize, float32; the same number of workers, threads here and processes there. Every run is a process of its own, the two
in turns. Prints, for each: samples/s once all is warm; CPU time per sample, of all processes; seconds from making the
loader to the first batch (imports do not count); memory of all processes (PSS, which counts a shared page once)."""

import argparse
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import time

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def penstock_batches(options):
    import penstock as ps

    chain = ps.image.random_resized_crop(224) | ps.image.random_flip() | ps.image.normalize(MEAN, STD)
    loader = ps.torch.IterableDataset(
        options.folder,
        batch_size=options.batch_size,
        shuffle=True,
        workers=options.workers,
        drop_last=True,
        fields={"jpg": chain, "cls": ps.label()},
        columns=("jpg", "cls"),
    )
    while True:
        yield from loader


def torch_batches(options):
    import numpy
    import torch
    from PIL import Image

    mean, std = (torch.tensor(values).view(3, 1, 1) for values in (MEAN, STD))

    class Photographs(torch.utils.data.Dataset):
        """What torchvision's ImageFolder, RandomResizedCrop, RandomHorizontalFlip, ToTensor and Normalize do."""

        def __init__(self):
            classes = sorted(path for path in pathlib.Path(options.folder).iterdir() if path.is_dir())
            self.samples = [(path, label) for label, folder in enumerate(classes) for path in sorted(folder.iterdir())]

        def __len__(self):
            return len(self.samples)

        def __getitem__(self, number):
            path, label = self.samples[number]
            image = Image.open(path).convert("RGB")
            image = image.resize((224, 224), Image.Resampling.BILINEAR, box=self.box(*image.size))
            if random.random() < 0.5:
                image = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
            pixels = torch.from_numpy(numpy.array(image)).permute(2, 0, 1).contiguous().float().div_(255)
            return pixels.sub_(mean).div_(std), label

        @staticmethod
        def box(width, height):
            for _ in range(10):
                area = width * height * random.uniform(0.08, 1)
                aspect = (3 / 4) * (16 / 9) ** random.random()
                w, h = round((area * aspect) ** 0.5), round((area / aspect) ** 0.5)
                if 0 < w <= width and 0 < h <= height:
                    x, y = random.randint(0, width - w), random.randint(0, height - h)
                    return x, y, x + w, y + h
            return 0, 0, width, height

    loader = torch.utils.data.DataLoader(
        Photographs(),
        batch_size=options.batch_size,
        shuffle=True,
        num_workers=options.workers,
        drop_last=True,
        persistent_workers=True,
    )
    while True:
        yield from loader


def process_tree(pid=None):
    pid = pid or os.getpid()
    yield pid
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            yield from process_tree(int(child))


def cpu_seconds():
    ticks = 0
    for pid in process_tree():
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def pss_mib():
    lines = (line for pid in process_tree() for line in open(f"/proc/{pid}/smaps_rollup"))
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


def measure(options):
    """One run, in this process; prints its figures as JSON."""
    import torch

    torch.set_num_threads(1)
    if options.run == "penstock":
        import penstock.torch  # noqa: F401
    else:
        import PIL.Image  # noqa: F401
    began = time.perf_counter()
    batches = {"penstock": penstock_batches, "torch": torch_batches}[options.run](options)
    images, labels = next(batches)
    first = time.perf_counter() - began
    assert images.shape == (options.batch_size, 3, 224, 224) and labels.dtype == torch.int64
    warm_until = time.perf_counter() + options.seconds / 2
    while time.perf_counter() < warm_until:
        next(batches)
    steps, cpu, began = 0, cpu_seconds(), time.perf_counter()
    while time.perf_counter() - began < options.seconds:
        next(batches)
        steps += 1
    seconds, samples = time.perf_counter() - began, steps * options.batch_size
    told = {
        "samples/s": samples / seconds,
        "CPU ms/sample": 1e3 * (cpu_seconds() - cpu) / samples,
        "first batch s": first,
        "PSS MiB": pss_mib(),
    }
    print(json.dumps(told), flush=True)
    os._exit(0)  # neither is asked to end its workers in an orderly way


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--run", choices=("penstock", "torch"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run:
        return measure(options)
    runs = {"penstock": [], "torch": []}
    for _ in range(options.rounds):
        for name, told in runs.items():
            done = subprocess.run(
                [sys.executable, __file__, *sys.argv[1:], "--run", name], capture_output=True, text=True
            )
            if done.returncode:
                sys.exit(done.stderr)
            told.append(json.loads(done.stdout))
    print(
        f"{options.workers} workers, batches of {options.batch_size}; median of {options.rounds} runs (lowest to highest)"
    )
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    for figure in runs["penstock"][0]:
        line = f"{figure:>14}"
        for name, told in runs.items():
            values = [run[figure] for run in told]
            line += f"   {name} {statistics.median(values):8,.2f} ({min(values):,.2f} to {max(values):,.2f})"
        print(line)
    return None


if __name__ == "__main__":
    main()
