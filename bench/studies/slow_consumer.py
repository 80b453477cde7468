"""Usage: python bench/studies/slow_consumer.py DATASET [--workers 2] [--step 0.005] [--seconds 2] [--rounds 5]

The loop takes a batch, then sleeps for a step, as if a GPU trained. Prints the samples per second, and the CPU time of
a sample with the step and without it. DATASET has images in the field jpg or png, or arrays in the field npy. To compare
two builds, run the program in turns with PYTHONPATH set to each.
"""

import argparse
import statistics
import time

import beside
import penstock as ps

BATCH = 64
CHAINS = {
    "jpg": ps.image.random_resized_crop(224) | ps.image.random_horizontal_flip(),
    "png": ps.image.random_crop(32, padding=4) | ps.image.random_horizontal_flip(),
    "npy": ps.array.decode(),
}


def batches_of(loader, step):
    while True:
        for batch in loader:
            yield batch
            time.sleep(step)


def measure(loader, step, seconds):
    """The samples per second, and the seconds of CPU time of a sample."""
    steps, wall, cpu = beside.window(batches_of(loader, step), seconds)
    return steps * BATCH / wall, cpu / (steps * BATCH)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--step", type=float, default=0.005)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    dataset = ps.open(given.dataset)
    chains = {field: chain for field, chain in CHAINS.items() if field in dataset.fields}
    options = {"batch_size": BATCH, "shuffle": True, "seed": 1, "last_batch": "drop"}
    loader = ps.Loader(dataset, transforms=chains, workers=given.workers, **options)
    measure(loader, 0, 1)
    found = [
        (measure(loader, given.step, given.seconds), measure(loader, 0, given.seconds)) for _ in range(given.rounds)
    ]
    for name, rounds in (("with steps", [one for one, _ in found]), ("without", [other for _, other in found])):
        rate = statistics.median(rate for rate, _ in rounds)
        used = statistics.median(used for _, used in rounds)
        print(f"{name:12}{rate:10,.0f} samples/s{used * 1e6:10.1f} us of CPU time each")


if __name__ == "__main__":
    main()
