"""Usage: python bench/studies/sharing.py DATASET [--folder FOLDER] [--consumers 8] [--epochs 10] [--rounds 3]

In turns, runs one loader, several loaders that share batches (ps.share), and as many loaders that do not. Each has its own
process. DATASET has photographs in the field jpg. Prints the samples per second of the slowest process, the CPU time of all
processes, and the ratio of each CPU time to that of the one loader. All count from the second epoch on.

--folder: the same photographs in class folders. The program then also runs DataLoaders with one worker each. With
tensorsocket installed, it runs its producer around a DataLoader with a worker per core, and around a penstock loader.
The producer collects eight batches before it sends (--collected), so an epoch needs more: --batch-size 16 for 500
photographs. Each of its messages to a consumer contains all of them, because tensors in host memory are pickled with
their whole storage.
"""

import argparse
import importlib.util
import math
import multiprocessing
import os
import pathlib
import queue
import random
import statistics
import time

import beside
import penstock as ps


def penstock_loader(given, name=None):
    sharing = ps.SharingOptions(name, consumers=given.consumers) if name else None
    return ps.Loader(
        given.dataset,
        batch_size=given.batch_size,
        shuffle=True,
        seed=1,
        last_batch="drop",
        transforms={"jpg": ps.image.random_resized_crop(224) | ps.image.random_horizontal_flip()},
        sharing=sharing,
    )


class Photographs:
    """A Dataset as most people write it: Pillow reads, crops, resizes and flips."""

    def __init__(self, folder):
        self.paths = sorted(pathlib.Path(folder).glob("*/*.*"))

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, number):
        import numpy as np
        import torch
        from PIL import Image

        picture = Image.open(self.paths[number]).convert("RGB")
        box = crop_of(*picture.size)
        picture = picture.resize((224, 224), Image.Resampling.BILINEAR, box=box)
        if random.random() < 0.5:
            picture = picture.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
        return (torch.from_numpy(np.asarray(picture).transpose(2, 0, 1).copy()),)


def crop_of(width, height):
    """The draw of torchvision's RandomResizedCrop."""
    for _ in range(10):
        area = width * height * random.uniform(0.08, 1)
        ratio = math.exp(random.uniform(math.log(3 / 4), math.log(4 / 3)))
        across, down = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if 0 < across <= width and 0 < down <= height:
            left, top = random.randint(0, width - across), random.randint(0, height - down)
            return left, top, left + across, top + down
    return 0, 0, width, height


def torch_loader(given, workers):
    import torch

    return torch.utils.data.DataLoader(
        Photographs(given.folder),
        batch_size=given.batch_size,
        shuffle=True,
        drop_last=True,
        num_workers=workers,
        persistent_workers=True,
    )


class Tuples:
    """A penstock loader for TensorProducer, which wants tuples of tensors."""

    def __init__(self, loader, batch_size):
        self.loader, self.batch_size = loader, batch_size

    def __len__(self):
        return len(self.loader)

    def __iter__(self):
        for batch in self.loader:
            yield (batch["jpg"].torch().clone(),)


def produce(given, kind):
    from tensorsocket import TensorProducer

    cores = len(os.sched_getaffinity(0))
    loader = torch_loader(given, cores) if kind == "torch" else Tuples(penstock_loader(given), given.batch_size)
    producer = TensorProducer(loader, producer_batch_size=given.collected)
    for _ in range(given.epochs + 2):
        for _ in producer:
            pass
    producer.join()


def consumed(given, kind, name):
    """The loader of a consumer, and the number of rows in one of its batches."""
    if kind == "penstock":
        return penstock_loader(given, name), lambda batch: len(batch["jpg"])
    if kind == "torch":
        return torch_loader(given, 1), lambda batch: len(batch[0])
    from tensorsocket import TensorConsumer

    return TensorConsumer(batch_size=given.batch_size), lambda batch: len(batch[0])


def train(given, kind, name, ready, results):
    loader, rows = consumed(given, kind, name)
    samples = 0
    for epoch in range(given.epochs + 1):
        if epoch == 1:
            ready.wait()
            began, cpu = time.monotonic(), beside.cpu_seconds()
        for batch in loader:
            samples += rows(batch) if epoch else 0
    results.put((samples / (time.monotonic() - began), beside.cpu_seconds() - cpu))
    ready.wait()  # the process that builds lives until all are done


def figures_of(results, processes, maker):
    """The figures of all processes, or fewer if the producer has failed."""
    for _ in range(processes):
        while True:
            try:
                yield results.get(timeout=2)
                break
            except queue.Empty:
                if maker is not None and not maker.is_alive():
                    return


def run(given, processes, kind, name=None, producer=None):
    """The samples per second of the slowest process, and the CPU time of all of them; NaN if the producer failed."""
    context = multiprocessing.get_context("spawn")
    ready, results = context.Barrier(processes), context.Queue()
    maker = context.Process(target=produce, args=(given, producer)) if producer else None
    if maker:
        maker.start()
    workers = [context.Process(target=train, args=(given, kind, name, ready, results)) for _ in range(processes)]
    for worker in workers:
        worker.start()
    figures = list(figures_of(results, processes, maker))
    for worker in workers:
        if len(figures) < processes:
            worker.kill()
        worker.join()
    if maker:
        maker.kill()
        maker.join()
    if len(figures) < processes:
        return math.nan, math.nan
    return min(rate for rate, _ in figures), sum(used for _, used in figures)


def subjects_of(given):
    count = given.consumers
    subjects = {
        "one loader": lambda number: run(given, 1, "penstock"),
        f"{count} that share": lambda number: run(given, count, "penstock", f"bench-{os.getpid()}-{number}"),
        f"{count} that do not": lambda number: run(given, count, "penstock"),
    }
    if given.folder:
        subjects[f"{count} DataLoaders"] = lambda number: run(given, count, "torch")
    if given.folder and importlib.util.find_spec("tensorsocket"):
        subjects["TensorSocket, DataLoader"] = lambda number: run(given, count, "socket", producer="torch")
        subjects["TensorSocket, penstock"] = lambda number: run(given, count, "socket", producer="penstock")
    return subjects


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset")
    parser.add_argument("--folder")
    for name, default in {"consumers": 8, "epochs": 10, "rounds": 3, "batch-size": 64, "collected": 8}.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    given = parser.parse_args()
    subjects = subjects_of(given)
    figures = {name: [] for name in subjects}
    for number in range(given.rounds):
        for name, measure in subjects.items():
            figures[name].append(measure(number))
    # The CPU time of a DataLoader and of a producer is that of other processes.
    print(f"{'':26}{'samples/s':>12}{'CPU s':>10}{'CPU ratio':>12}")
    one = figures["one loader"]
    for name, rounds in figures.items():
        rate = statistics.median(rate for rate, _ in rounds)
        used = statistics.median(used for _, used in rounds)
        ratio = statistics.median(used / alone for (_, used), (_, alone) in zip(rounds, one))
        cpu = f"{used:10.2f}{ratio:12.2f}" if "DataLoader" not in name and "Socket" not in name else ""
        print(f"{name:26}{rate:12.0f}{cpu}")


if __name__ == "__main__":
    main()
