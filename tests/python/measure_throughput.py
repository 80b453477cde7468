"""Usage: PYTHONPATH=build/release/python PENSTOCK_COMMAND=.../penstock python tests/python/measure_throughput.py DATASET [ROUNDS]

The same loader from Python and from C++ (`penstock bench`), in turns: images, random crop to 224, flip and normalize, or as
they are where they are icons; batches of 64, two workers. Prints samples/s of every round, medians and their ratio."""

import json
import os
import statistics
import subprocess
import sys
import time

import penstock as ps

BATCH, WORKERS, SECONDS = 64, 2, 6
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def from_cpp(dataset):
    command = [os.environ["PENSTOCK_COMMAND"], "bench", dataset, "--workers", str(WORKERS), "--prefetch", "2"]
    command += ["--batch-size", str(BATCH), "--seconds", str(SECONDS), "--json", "/dev/stdout"]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    row = json.loads(out[out.index("{\n") :])["rows"][0]
    return row["samples_per_s"], row["task"]


def from_python(dataset, task):
    scaled = ps.image.normalize(MEAN, STD)
    chain = (
        ps.image.random_resized_crop(224) | ps.image.random_horizontal_flip() | scaled
        if task == "image-train"
        else scaled
    )
    fields = {"image": ps.field("jpg|png") | chain, "cls": ps.label()}
    with ps.Loader(dataset, batch_size=BATCH, shuffle=True, workers=WORKERS, transforms=fields) as loader:
        warm_until = time.perf_counter() + 2
        samples, began = 0, None
        while began is None or time.perf_counter() - began < SECONDS:
            for batch in loader:
                now = time.perf_counter()
                if began is None and now >= warm_until:
                    began, samples = now, 0
                samples += len(batch["__key__"])
        return samples / (time.perf_counter() - began)


def main():
    dataset, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 5
    cpp, python = [], []
    for _ in range(rounds):
        rate, task = from_cpp(dataset)
        cpp.append(rate)
        python.append(from_python(dataset, task))
    for name, rates in (("C++", cpp), ("Python", python)):
        print(f"{name:8}{statistics.median(rates):10,.0f}   " + " ".join(f"{rate:,.0f}" for rate in rates))
    ratios = [p / c for p, c in zip(python, cpp)]
    print(f"Python / C++, pair by pair: median {statistics.median(ratios):.3f}, {min(ratios):.3f} to {max(ratios):.3f}")


if __name__ == "__main__":
    main()
