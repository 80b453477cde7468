#!/usr/bin/env python3
"""Usage: PYTHONPATH=build/dev/python python bench/studies/mixed_precision.py [--seconds 2] [--rounds 5] [--count 256]

Measures ways to get the inputs of a network in mixed precision, from JPEGs and from decoded images. The dtype is
float32, bfloat16, float16, or uint8 that the model normalizes. The memory format is planes, channels_last of the loader,
or .to(memory_format=...) after it. Measures all ways in turns, in one process. Prints samples per second and CPU time
per sample, both relative to float32 in planes of the same round. Needs PyTorch and penstock. PENSTOCK_COMMAND names the
command if it is not on PATH.
"""

import argparse
import os
import pathlib
import statistics
import subprocess
import tempfile

import beside
import torch

import penstock as ps

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
ROWS = 64
SETTLED = 6  # batches before a measurement, more than the loader prepares ahead

normalize = ps.image.normalize(MEAN, STD)
last = ps.image.channels_last()


def planes_of(images):
    """A view of (N, H, W, C) as (N, C, H, W), in torch's memory format channels_last."""
    return images.permute(0, 3, 1, 2)


def to_last(images):
    return images.to(memory_format=torch.channels_last)


def normalized(dtype):
    """The first step of a model that gets uint8."""
    mean, std = (torch.tensor(values).view(1, 3, 1, 1) * 255 for values in (MEAN, STD))
    return lambda images: images.to(torch.float32).sub_(mean).div_(std).to(dtype)


# The end of the chain, and the operation after the loader; (dtype, memory format, where).
WAYS = {
    "float32, planes": (normalize, None),
    "bfloat16, planes": (normalize | ps.image.cast("bfloat16"), None),
    "float16, planes": (normalize | ps.image.cast("float16"), None),
    "bfloat16, planes, converted after the loader": (normalize, lambda images: images.to(torch.bfloat16)),
    "uint8, planes": (None, None),
    "uint8, planes, float32 in the model": (None, normalized(torch.float32)),
    "uint8, planes, bfloat16 in the model": (None, normalized(torch.bfloat16)),
    "float32, channels_last of the loader": (normalize | last, planes_of),
    "float32, channels_last after the loader": (normalize, to_last),
    "bfloat16, channels_last of the loader": (normalize | ps.image.cast("bfloat16") | last, planes_of),
    "bfloat16, channels_last after the loader": (normalize | ps.image.cast("bfloat16"), to_last),
    "uint8, channels_last of the loader": (last, planes_of),
    "uint8, channels_last after the loader": (None, to_last),
}


def inputs(dataset, crop, end, after):
    """Endless batches in the form that the network gets."""
    chain = crop | ps.image.random_horizontal_flip()
    loader = ps.torch.Loader(
        dataset, batch_size=ROWS, shuffle=True, seed=0, workers=1, last_batch="drop", as_tuple=("image",),
        transforms={"image": ps.field("jpg|npy|png|raw") | (chain if end is None else chain | end)})  # fmt: skip
    while True:
        for (images,) in loader:
            yield images if after is None else after(images)


def measure(dataset, crop, options):
    """Way -> [(samples per second, CPU s per sample)], a pair for each round."""
    sources = {name: inputs(dataset, crop, *way) for name, way in WAYS.items()}
    found = {name: [] for name in WAYS}
    for _ in range(options.rounds):
        for name, batches in sources.items():
            for _ in range(SETTLED):
                next(batches)
            steps, seconds, cpu = beside.window(batches, options.seconds)
            found[name].append((steps * ROWS / seconds, cpu / (steps * ROWS)))
    return found


def print_table(title, found):
    base = found["float32, planes"]
    rate, cpu = (statistics.median(values) for values in zip(*base))
    print(f"\n{title}: float32 in planes has {rate:,.0f} samples/s and {1e6 * cpu:,.0f} us of CPU time a sample\n")
    print("| dtype and memory format | samples/s | CPU time |\n| --- | --: | --: |")
    for name, pairs in found.items():
        ratios = ([value[i] / reference[i] for value, reference in zip(pairs, base)] for i in range(2))
        print(f"| {name} | " + " | ".join(beside.middle(values, 2) for values in ratios) + " |")


def check(dataset, crop):
    """All ways give the same numbers, and channels_last costs no copy."""
    first = {name: next(inputs(dataset, crop, *way)) for name, way in WAYS.items()}
    expected = first["float32, planes"]
    for name, images in first.items():
        assert images.shape == expected.shape, name
        assert images.is_contiguous(memory_format=torch.channels_last) == ("channels_last" in name), name
        if not name.startswith("uint8") or "in the model" in name:
            assert torch.allclose(images.to(torch.float32), expected, atol=0.02), name


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--count", type=int, default=256, help="photographs")
    options = parser.parse_args()
    torch.set_num_threads(1)
    beside.begin_run()
    command = os.environ.get("PENSTOCK_COMMAND", "penstock")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for words in (
            ["synth", "images", folder / "photos", "-n", options.count],
            ["pack", folder / "photos", folder / "jpeg", "--format", "tar"],
            ["pack", folder / "photos", folder / "decoded", "--format", "tar", "--decode", "256"],
        ):
            subprocess.run([command, *map(str, words)], check=True, capture_output=True)
        sources = {
            "JPEGs, random_resized_crop(224)": (folder / "jpeg", ps.image.random_resized_crop(224)),
            "decoded images of 256 x 256, random_crop(224)": (folder / "decoded", ps.image.random_crop(224)),
        }
        for dataset, crop in sources.values():
            check(dataset, crop)
        tables = {title: measure(*source, options) for title, source in sources.items()}
    print(beside.machine())
    for title, found in tables.items():
        print_table(title, found)


if __name__ == "__main__":
    main()
