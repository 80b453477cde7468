#!/usr/bin/env python3
"""Trains a small convolutional network on the images of a dataset, and says whether loading or training is the limit.

    penstock synth icons icons -n 4000 && penstock pack icons icons.tar.d --format tar
    python train.py icons.tar.d --epochs 3

Every line is a moving average over the last 50 steps; "loading" is the time inside the loader's next(), "training" that of
forward, backward and optimizer. --mock-loader gives the same batch again and again: what the trainer could do at most.
--mock-trainer only loads: what the loader could do at most. --profile FILE writes a trace of torch.profiler, in which the
waits for batches count as DataLoader time, and prints their share.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import itertools
import signal
import sys
import time
from collections.abc import Iterator
from typing import Any

import penstock as ps
import torch

WINDOW = 50  # steps that the averages are over
WAIT = "enumerate(DataLoader)#PenstockLoader.__next__"


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset", help="any packing, or a folder of class folders; fields jpg or png, and cls")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--workers", type=int, default=0, help="decoding threads; 0: usable cores")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--size", type=int, default=32, help="pixels; images are square")
    parser.add_argument("--every", type=int, default=20, help="steps between lines")
    parser.add_argument("--learning-rate", type=float, default=0.05)
    parser.add_argument("--held-out", type=float, default=0.1, help="share of the samples that only measure accuracy")
    parser.add_argument("--test", help="a dataset that measures accuracy, instead of --held-out")
    parser.add_argument("--mock-loader", action="store_true", help="the same batch again: the trainer's limit")
    parser.add_argument("--mock-trainer", action="store_true", help="load only: the loader's limit")
    parser.add_argument("--profile", metavar="FILE", help="write a trace of torch.profiler there")
    return parser.parse_args()


class Data:
    """The loaders: one for training, one for accuracy."""

    def __init__(self, options: argparse.Namespace) -> None:
        dataset = ps.open(options.dataset)
        numbers = range(len(dataset))
        every = round(1 / options.held_out) if options.held_out > 0 and options.test is None else 0
        held_out = list(numbers[::every]) if every else []
        kept = [n for n in numbers if n % every] if every else None
        self.classes = (
            1 + max(int(bytes(dataset[n]["cls"])) for n in numbers) if not dataset.classes else len(dataset.classes)
        )
        normalize = ps.image.normalize((0.5, 0.5, 0.5), (0.25, 0.25, 0.25))
        size = options.size
        learn = (
            ps.field("jpg|png")
            | ps.image.random_resized_crop(size, scale=(0.5, 1.0))
            | ps.image.random_flip()
            | normalize
        )
        check = ps.field("jpg|png") | ps.image.resize((size, size)) | normalize
        common = {"batch_size": options.batch_size, "workers": options.workers}
        self.train = ps.Loader(
            dataset, shuffle=True, seed=options.seed, subset=kept, fields={"image": learn, "cls": ps.label()}, **common
        )
        self.test = None
        if options.test or held_out:
            source = options.test or dataset
            fields = {"image": check, "cls": ps.label()}
            self.test = ps.Loader(source, subset=held_out or None, fields=fields, prefetch=1, **common)

    def close(self) -> None:
        self.train.close()
        if self.test is not None:
            self.test.close()


class Trainer:
    """A network, and how it learns from one batch."""

    def __init__(self, options: argparse.Namespace, classes: int) -> None:
        torch.manual_seed(options.seed)

        def layer(inputs: int, outputs: int) -> list[torch.nn.Module]:
            convolution = torch.nn.Conv2d(inputs, outputs, 3, padding=1, bias=False)
            return [convolution, torch.nn.BatchNorm2d(outputs), torch.nn.ReLU()]

        body = [*layer(3, 16), torch.nn.MaxPool2d(2), *layer(16, 32), torch.nn.MaxPool2d(2), *layer(32, 64)]
        head = [torch.nn.AdaptiveMaxPool2d(1), torch.nn.Flatten(), torch.nn.Linear(64, classes)]
        self.model = torch.nn.Sequential(*body, *head)
        self.optimizer = torch.optim.SGD(self.model.parameters(), options.learning_rate, momentum=0.9)

    def step(self, batch: dict[str, Any]) -> tuple[float, float]:
        """Learns from the batch. Returns its loss and accuracy, before the step."""
        images, labels, valid = batch["image"], batch["cls"], batch["__valid__"]
        self.model.train()
        scores = self.model(images)[valid]
        loss = torch.nn.functional.cross_entropy(scores, labels[valid])
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item(), (scores.argmax(1) == labels[valid]).float().mean().item()

    @torch.no_grad()
    def accuracy(self, loader: ps.Loader) -> tuple[float, int]:
        """Share of samples told right, and their number."""
        self.model.eval()
        right = count = 0
        for batch in map(ps.torch.tensors, loader):
            hits = self.model(batch["image"]).argmax(1) == batch["cls"]
            right += int(hits[batch["__valid__"]].sum())
            count += int(batch["__valid__"].sum())
        return right / max(count, 1), count


class Progress:
    """Averages over the last steps, as lines of a table, and sums over the run."""

    def __init__(self) -> None:
        self.steps: collections.deque[tuple[int, float | None, float | None, float, float]] = collections.deque(
            maxlen=WINDOW
        )
        self.count = self.samples = 0
        self.loading = self.training = 0.0
        self.began = time.perf_counter()
        columns = ("epoch", "step", "loss", "accuracy", "samples/s", "loading ms", "training ms")
        print("%5s %6s %8s %9s %10s %11s %12s" % columns, flush=True)

    def add(self, samples: int, told: tuple[float, float] | None, loading: float, training: float) -> None:
        self.steps.append((samples, *(told or (None, None)), loading, training))
        self.count += 1
        self.samples += samples
        self.loading += loading
        self.training += training

    def line(self, epoch: int) -> None:
        samples, losses, accuracies, loading, training = zip(*self.steps)

        def mean(values: tuple[float, ...]) -> float:
            return sum(values) / len(values)

        told = ("-", "-") if losses[-1] is None else (f"{mean(losses):.4f}", f"{mean(accuracies):.3f}")
        rate = sum(samples) / max(sum(loading) + sum(training), 1e-9)
        times = (1e3 * mean(loading), 1e3 * mean(training))
        print("%5d %6d %8s %9s %10.0f %11.2f %12.2f" % (epoch, self.count, *told, rate, *times), flush=True)

    def end(self) -> None:
        seconds = time.perf_counter() - self.began
        rate = self.samples / max(seconds, 1e-9)
        print(f"{self.samples} samples in {seconds:.2f} s: {rate:.0f} samples/s, ", end="")
        print(f"loading {self.loading:.2f} s, training {self.training:.2f} s", flush=True)


class Stop:
    """Ctrl-C finishes the step under way; a second one ends the program at once."""

    asked = False

    def __init__(self) -> None:
        signal.signal(signal.SIGINT, self)

    def __call__(self, *_: object) -> None:
        self.asked = True
        signal.signal(signal.SIGINT, signal.default_int_handler)


def batches_of(data: Data, mock: bool) -> Iterator[dict[str, Any]]:
    """One epoch of batches, of torch tensors."""
    if not mock:
        return map(ps.torch.tensors, data.train)
    first = ps.torch.tensors(data.train.at(0, 0))
    return itertools.repeat(first, len(data.train))


def run(options: argparse.Namespace, data: Data, trainer: Trainer, stop: Stop) -> Progress:
    progress = Progress()
    for epoch in range(options.epochs):
        batches = batches_of(data, options.mock_loader)
        while not stop.asked:
            began = time.perf_counter()
            batch = next(batches, None)
            loaded = time.perf_counter()
            if batch is None:
                break
            told = None if options.mock_trainer else trainer.step(batch)
            trained = time.perf_counter()
            progress.add(int(batch["__valid__"].sum()), told, loaded - began, trained - loaded)
            if progress.count % options.every == 0 or progress.count % len(data.train) == 0:
                progress.line(epoch)
        if stop.asked:
            break
        if data.test is not None and not (options.mock_loader or options.mock_trainer):
            share, count = trainer.accuracy(data.test)
            print(f"held out: {share:.3f} of {count} samples right after epoch {epoch}", flush=True)
    progress.end()
    return progress


def profiler(options: argparse.Namespace) -> Any:
    if not options.profile:
        return contextlib.nullcontext()
    return torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU])


def main() -> int:
    options = parsed()
    stop = Stop()
    data = Data(options)
    trainer = Trainer(options, data.classes)
    began = time.perf_counter()
    with profiler(options) as profile:
        run(options, data, trainer, stop)
        seconds = time.perf_counter() - began
    if profile is not None:
        profile.export_chrome_trace(options.profile)
        waited = sum(event.cpu_time_total for event in profile.key_averages() if event.key == WAIT) / 1e6
        print(f"DataLoader: {waited:.2f} s of {seconds:.2f} s, {waited / seconds:.1%}; trace in {options.profile}")
    data.close()
    return 130 if stop.asked else 0


if __name__ == "__main__":
    sys.exit(main())
