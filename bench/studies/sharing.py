"""Usage: python bench/studies/sharing.py DATASET [--consumers 8] [--epochs 10] [--rounds 3]

In turns, runs one loader, several loaders that share batches (ps.share), and as many loaders that do not. Each has its
own process. DATASET has photographs in the field jpg. Prints the samples per second of the slowest process, the CPU time
of all processes, and the ratio of each CPU time to that of the one loader. Both count from the second epoch on.
"""

import argparse
import multiprocessing
import os
import resource
import statistics
import time

import penstock as ps


def options_of(given):
    return {
        "batch_size": given.batch_size,
        "shuffle": True,
        "seed": 1,
        "last_batch": "drop",
        "transforms": {"jpg": ps.image.random_resized_crop(224) | ps.image.random_horizontal_flip()},
    }


def cpu_time():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def train(given, name, ready, results):
    sharing = ps.SharingOptions(name, consumers=given.consumers) if name else None
    loader = ps.Loader(given.dataset, sharing=sharing, **options_of(given))
    samples = 0
    for epoch in range(given.epochs + 1):
        if epoch == 1:
            ready.wait()
            began, cpu = time.monotonic(), cpu_time()
        for batch in loader:
            samples += len(batch["jpg"]) if epoch else 0
    seconds, used = time.monotonic() - began, cpu_time() - cpu
    results.put((samples / seconds, used))
    ready.wait()  # the process that builds lives until all are done


def run(given, processes, name):
    """The samples per second of the slowest process, and the CPU time of all of them."""
    context = multiprocessing.get_context("spawn")
    ready, results = context.Barrier(processes), context.Queue()
    workers = [context.Process(target=train, args=(given, name, ready, results)) for _ in range(processes)]
    for worker in workers:
        worker.start()
    figures = [results.get() for _ in workers]
    for worker in workers:
        worker.join()
    return min(rate for rate, _ in figures), sum(used for _, used in figures)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset")
    for name, default in {"consumers": 8, "epochs": 10, "rounds": 3, "batch-size": 64}.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    given = parser.parse_args()
    subjects = {
        "one loader": lambda number: run(given, 1, None),
        f"{given.consumers} that share": lambda number: run(given, given.consumers, f"bench-{os.getpid()}-{number}"),
        f"{given.consumers} that do not": lambda number: run(given, given.consumers, None),
    }
    figures = {name: [] for name in subjects}
    for number in range(given.rounds):
        for name, measure in subjects.items():
            figures[name].append(measure(number))
    print(f"{'':20}{'samples/s':>12}{'CPU s':>10}{'CPU ratio':>12}")
    one = figures["one loader"]
    for name, rounds in figures.items():
        rate = statistics.median(rate for rate, _ in rounds)
        used = statistics.median(used for _, used in rounds)
        ratio = statistics.median(used / alone for (_, used), (_, alone) in zip(rounds, one))
        print(f"{name:20}{rate:12.0f}{used:10.2f}{ratio:12.2f}")


if __name__ == "__main__":
    main()
