"""Usage: python bench/studies/orders.py DATASET [--workers 2] [--rounds 21] [--seconds 0.7]

Compares each order with a full shuffle, on one dataset of small images with labels (icons). The orders take turns.
Prints the medians of two ratios to the shuffle of the same round: the rate, and the CPU time of the process. `penstock
synth icons` and `pack` make DATASET.
"""

import argparse
import statistics
import time

import penstock as ps


def orders_of(dataset):
    """Name: (source, options)."""
    n = len(dataset)
    parts = {f"part{i}": dataset.skip(i * n // 8).take(n // 8) for i in range(8)}
    weights = dict(zip(parts, (5, 3, 2, 7, 1, 1, 9, 4)))
    scheduled = [(n * i // 4, weights) for i in (1, 2, 3)]
    return {
        "shuffle": (dataset, {}),
        "shuffle again": (dataset, {}),
        "view": (dataset.skip(1), {}),
        "mixture of 8": (ps.mixture(parts, weights, stop=n), {}),
        "mixture of 8, scheduled": (ps.mixture(parts, weights, stop=n, schedule=scheduled), {}),
        "shuffle_window": (dataset, {"shuffle": ps.shuffle.window(1000)}),
        "weights": (dataset, {"sampler": ps.sampler.weighted([1 + i % 7 for i in range(n)])}),
        "weights, no replacement": (
            dataset,
            {"sampler": ps.sampler.weighted([1 + i % 7 for i in range(n)], replacement=False)},
        ),
        "repeats": (dataset, {"sampler": ps.sampler.repeated([1 + i % 2 / 2 for i in range(n)], num_samples=n)}),
        "balance": (dataset, {"sampler": ps.sampler.balanced("cls")}),
        "bucket_by": (dataset, {"batching": ps.batching.by_length("bytes:png")}),
    }


def window(loader, seconds):
    """Samples per second, and CPU seconds per sample."""
    rows, began, worked = 0, time.perf_counter(), time.process_time()
    while True:
        for batch in loader:
            rows += len(batch["__key__"])
            if time.perf_counter() - began >= seconds:
                return rows / (time.perf_counter() - began), (time.process_time() - worked) / rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--seconds", type=float, default=0.7)
    given = parser.parse_args()
    dataset = ps.open(given.dataset)
    fields = {"png": ps.image.normalize((0.5, 0.5, 0.5), (0.5, 0.5, 0.5)), "cls": ps.label()}
    loaders = {
        name: ps.Loader(
            source,
            batch_size=256,
            shuffle=True,
            workers=given.workers,
            transforms=fields,
            read_options=ps.ReadOptions(engine="mmap"),
            **options,
        )
        for name, (source, options) in orders_of(dataset).items()
    }
    measured = {name: [] for name in loaders}
    for loader in loaders.values():
        window(loader, given.seconds)  # warm-up: slabs and page cache
    for _ in range(given.rounds):
        for name, loader in loaders.items():
            measured[name].append(window(loader, given.seconds))
    print(f"{'':24}{'samples/s':>10}{'rate':>8}{'processor time':>16}")
    for name, windows in measured.items():
        rate = statistics.median(own[0] for own in windows)
        ratios = [
            statistics.median(own[i] / first[i] for own, first in zip(windows, measured["shuffle"])) for i in range(2)
        ]
        print(f"{name:24}{rate:10,.0f}{ratios[0]:8.3f}{ratios[1]:16.3f}")


if __name__ == "__main__":
    main()
