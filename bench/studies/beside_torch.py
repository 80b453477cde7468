#!/usr/bin/env python3
"""Usage: PYTHONPATH=build/release/python python bench/studies/beside_torch.py FOLDER [options]

Compares penstock with PyTorch's DataLoader on a folder of class folders of photographs (JPEG): random crop to 224,
flip, normalize, float32. Both have the same number of workers: threads in penstock, processes in DataLoader. Every run
is a separate process, and the two take turns. Prints samples/s in the warm state; CPU time per sample, of all
processes. Also prints the seconds from making the loader to the first batch, without imports, and the memory of all
processes (PSS, which counts a shared page once).
"""

import argparse
import pathlib
import sys
import time

import beside

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def penstock_batches(options):
    import penstock as ps

    chain = ps.image.random_resized_crop(224) | ps.image.random_horizontal_flip() | ps.image.normalize(MEAN, STD)
    loader = ps.torch.Loader(
        options.folder,
        batch_size=options.batch_size,
        shuffle=True,
        workers=options.workers,
        drop_last=True,
        transforms={"jpg": chain, "cls": ps.label()},
        as_tuple=("jpg", "cls"),
    )
    while True:
        yield from loader


def torch_batches(options):
    import numpy
    import torch

    mean, std = (torch.tensor(values).view(3, 1, 1) for values in (MEAN, STD))

    class Photographs(torch.utils.data.Dataset):
        """The transforms of torchvision's ImageFolder, RandomResizedCrop, RandomHorizontalFlip, ToTensor and Normalize."""

        def __init__(self):
            classes = sorted(path for path in pathlib.Path(options.folder).iterdir() if path.is_dir())
            self.samples = [(path, label) for label, folder in enumerate(classes) for path in sorted(folder.iterdir())]

        def __len__(self):
            return len(self.samples)

        def __getitem__(self, number):
            path, label = self.samples[number]
            image = beside.crop_with_pillow(path, 224)
            pixels = torch.from_numpy(numpy.array(image)).permute(2, 0, 1).contiguous().float().div_(255)
            return pixels.sub_(mean).div_(std), label

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


def measure(options):
    """One run, in this process."""
    beside.begin_run()
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
    beside.window(batches, options.seconds / 2)
    steps, seconds, cpu = beside.window(batches, options.seconds)
    samples = steps * options.batch_size
    beside.end_run(
        {
            "samples/s": samples / seconds,
            "CPU ms/sample": 1e3 * cpu / samples,
            "first batch s": first,
            "PSS MiB": beside.pss_mib(),
        }
    )


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
            told.append(beside.run_apart(sys.argv[1:], name))
    print(
        f"{options.workers} workers, batches of {options.batch_size}; median of {options.rounds} runs (lowest to highest)"
    )
    print(beside.machine())
    for figure in runs["penstock"][0]:
        line = f"{figure:>14}"
        for name, told in runs.items():
            values = [run[figure] for run in told]
            line += f"   {name} {beside.middle(values, 2)}"
        print(line)
    return None


if __name__ == "__main__":
    main()
