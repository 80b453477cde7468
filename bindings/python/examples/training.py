"""Shared by the training examples: options, data, the loop with its table, Ctrl-C, and a measurement of loading by
itself.

The learning rate falls towards zero along a cosine. Every line is a moving average over the last 50 steps. "loading" is
the time inside the loader's next(), "training" the time of forward, backward and optimizer. --mock-loader repeats one
batch, which measures the trainer's limit. --mock-trainer only loads, which measures the loader's limit. --profile FILE
writes a trace of torch.profiler, in which waits for batches count as DataLoader time, and prints their share. --layers
prints at the end the cost of each layer of the network, beside the time of loading.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import dataclasses
import itertools
import math
import signal
import time
from collections.abc import Callable, Iterator
from typing import Any

import layers
import penstock as ps
import torch

WINDOW = 50  # the averages are over this many steps
WAIT = "enumerate(DataLoader)#PenstockLoader.__next__"


def parser(about: str, dataset: str, *, epochs: int, batch_size: int, learning_rate: float) -> argparse.ArgumentParser:
    """The options that all examples share, with defaults from the example."""
    text = about + "\n" + (__doc__ or "").partition("\n\n")[2]
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset", help=dataset)
    parser.add_argument("--epochs", type=int, default=epochs)
    parser.add_argument("--batch-size", type=int, default=batch_size)
    parser.add_argument("--workers", type=int, default=0, help="decoding threads; 0: usable cores")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--every", type=int, default=20, help="steps between lines")
    parser.add_argument("--learning-rate", type=float, default=learning_rate)
    parser.add_argument("--held-out", type=float, default=0.1, help="share of the samples that only measure accuracy")
    parser.add_argument("--test", help="a dataset that measures accuracy, instead of --held-out")
    parser.add_argument("--mock-loader", action="store_true", help="repeat one batch, to measure the trainer's limit")
    parser.add_argument("--mock-trainer", action="store_true", help="load only, to measure the loader's limit")
    parser.add_argument("--profile", metavar="FILE", help="write a trace of torch.profiler to FILE")
    parser.add_argument("--layers", action="store_true", help="parameters, MACs and latency of each layer, at the end")
    return parser


def is_held_out(key: str, share: float) -> bool:
    """Splits by a hash of the key (FNV-1a, 64 bits), so that a sample is on the same side in every format and every
    program."""
    number = 0xCBF29CE484222325
    for byte in key.encode(errors="surrogateescape"):
        number = (number ^ byte) * 0x100000001B3 % 2**64
    return number % 1000 < round(1000 * share)


def class_count(dataset: ps.Dataset) -> int:
    if dataset.classes:
        return len(dataset.classes)
    return 1 + max(int(bytes(dataset[n]["cls"])) for n in range(len(dataset)))


class Data:
    """The loaders: one for training, one for accuracy. Their batches have "input" and "cls"."""

    def __init__(self, options: argparse.Namespace, learn: ps.Chain, check: ps.Chain) -> None:
        dataset = ps.open(options.dataset)
        self.classes = class_count(dataset)
        share = 0 if options.test else options.held_out
        sides = [is_held_out(key, share) for key in dataset.keys]
        held_out = [n for n, out in enumerate(sides) if out]
        kept = [n for n, out in enumerate(sides) if not out]
        common: dict[str, Any] = {"batch_size": options.batch_size, "workers": options.workers or None}
        fields = {"input": learn, "cls": ps.label()}
        self.train = ps.Loader(dataset.select(kept), shuffle=True, seed=options.seed, transforms=fields, **common)
        self.test = None
        if options.test or held_out:
            source = options.test or dataset.select(held_out)
            fields = {"input": check, "cls": ps.label()}
            self.test = ps.Loader(source, transforms=fields, prefetch=1, **common)

    def close(self) -> None:
        self.train.close()
        if self.test is not None:
            self.test.close()


class Trainer:
    """A network and its optimization step. `penalty`, if any, is added to the loss after each forward pass."""

    def __init__(
        self,
        model: torch.nn.Module,
        optimizer: torch.optim.Optimizer,
        penalty: Callable[[], torch.Tensor] | None = None,
    ) -> None:
        self.model, self.optimizer, self.penalty = model, optimizer, penalty
        self.rates = [group["lr"] for group in optimizer.param_groups]

    def begin_epoch(self, epoch: int, epochs: int) -> None:
        """Lowers the learning rates from their initial values towards zero, along a cosine."""
        for group, rate in zip(self.optimizer.param_groups, self.rates):
            group["lr"] = rate * (1 + math.cos(math.pi * epoch / epochs)) / 2

    def step(self, batch: dict[str, Any]) -> tuple[float, float]:
        """Learns from the batch. Returns the loss and accuracy before the step."""
        inputs, labels, valid = batch["input"], batch["cls"], batch["__valid__"]
        self.model.train()
        scores = self.model(inputs)[valid]
        count = max(len(scores), 1)  # if no row of the batch is valid, both are 0
        loss = torch.nn.functional.cross_entropy(scores, labels[valid], reduction="sum") / count
        if self.penalty is not None:
            loss = loss + self.penalty()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item(), (scores.argmax(1) == labels[valid]).sum().item() / count

    @torch.no_grad()
    def accuracy(self, loader: ps.Loader) -> tuple[float, int]:
        """Share of samples classified correctly, and their number."""
        self.model.eval()
        right = count = 0
        for batch in map(ps.torch.tensors, loader):
            hits = self.model(batch["input"]).argmax(1) == batch["cls"]
            right += int(hits[batch["__valid__"]].sum())
            count += int(batch["__valid__"].sum())
        return right / max(count, 1), count


@dataclasses.dataclass
class Sums:
    """Sums over some steps."""

    samples: int = 0
    loading: float = 0.0  # seconds
    training: float = 0.0
    bytes_read: int = 0

    def __sub__(self, other: Sums) -> Sums:
        return Sums(*(mine - its for mine, its in zip(dataclasses.astuple(self), dataclasses.astuple(other))))


class Progress:
    """Averages over the last steps, as lines of a table, and sums over the run."""

    def __init__(self) -> None:
        self.steps: collections.deque[tuple[int, float | None, float | None, float, float]] = collections.deque(
            maxlen=WINDOW
        )
        self.count = 0
        self.sums = Sums()
        self.epochs: list[Sums] = []  # one for each completed epoch
        self.last_end = Sums()
        self.began = time.perf_counter()
        columns = ("epoch", "step", "loss", "accuracy", "samples/s", "loading ms", "training ms")
        print("%5s %6s %8s %9s %10s %11s %12s" % columns, flush=True)

    def add(self, samples: int, told: tuple[float, float] | None, loading: float, training: float) -> None:
        self.steps.append((samples, *(told or (None, None)), loading, training))
        self.count += 1
        self.sums.samples += samples
        self.sums.loading += loading
        self.sums.training += training

    def line(self, epoch: int) -> None:
        samples, losses, accuracies, loading, training = zip(*self.steps)

        def mean(values: tuple[float, ...]) -> float:
            return sum(values) / len(values)

        told = ("-", "-") if losses[-1] is None else (f"{mean(losses):.4f}", f"{mean(accuracies):.3f}")
        rate = sum(samples) / max(sum(loading) + sum(training), 1e-9)
        times = (1e3 * mean(loading), 1e3 * mean(training))
        print("%5d %6d %8s %9s %10.0f %11.2f %12.2f" % (epoch, self.count, *told, rate, *times), flush=True)

    def end_epoch(self, bytes_read: int) -> None:
        """`bytes_read` counts from the start of the run. A loader reads ahead, so the bytes of one epoch are a mean
        over several."""
        self.sums.bytes_read = bytes_read
        self.epochs.append(self.sums - self.last_end)
        self.last_end = dataclasses.replace(self.sums)

    def end(self, bytes_read: int) -> None:
        seconds = time.perf_counter() - self.began
        sums = self.sums
        print(f"{sums.samples} samples in {seconds:.2f} s: {sums.samples / max(seconds, 1e-9):.0f} samples/s, ", end="")
        print(
            f"loading {sums.loading:.2f} s, training {sums.training:.2f} s, {bytes_read / 1e6:.1f} MB read", flush=True
        )


class Stop:
    """Ctrl-C finishes the current step; a second Ctrl-C ends the program at once."""

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
        trainer.begin_epoch(epoch, options.epochs)
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
        progress.end_epoch(data.train.stats()["bytes_read"])
        if data.test is not None and not (options.mock_loader or options.mock_trainer):
            share, count = trainer.accuracy(data.test)
            print(f"held out: {share:.3f} of {count} samples correct after epoch {epoch}", flush=True)
    progress.end(data.train.stats()["bytes_read"])
    return progress


def profiler(options: argparse.Namespace) -> Any:
    if not options.profile:
        return contextlib.nullcontext()
    return torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU])


def print_layers(data: Data, trainer: Trainer, progress: Progress) -> None:
    batch = ps.torch.tensors(data.train.at(0, 0))["input"]
    measured = layers.measure(trainer.model, batch)
    layers.table(measured, len(batch))
    count = max(progress.count, 1)
    forward = 1e3 * sum(layer.seconds for layer in measured)
    print(
        f"a step: loading {1e3 * progress.sums.loading / count:.2f} ms, training {1e3 * progress.sums.training / count:.2f} ms, "
        f"forward pass of the layers {forward:.2f} ms"
    )


Chains = Callable[[argparse.Namespace], tuple[ps.Chain, ps.Chain]]  # training chains, and chains for measuring accuracy
MakeTrainer = Callable[[argparse.Namespace, int], Trainer]  # the number is that of the classes


def main(options: argparse.Namespace, chains: Chains, make_trainer: MakeTrainer) -> int:
    """The whole program, from its options to its exit code."""
    stop = Stop()
    data = Data(options, *chains(options))
    torch.manual_seed(options.seed)
    trainer = make_trainer(options, data.classes)
    began = time.perf_counter()
    with profiler(options) as profile:
        progress = run(options, data, trainer, stop)
        seconds = time.perf_counter() - began
    if profile is not None:
        profile.export_chrome_trace(options.profile)
        waited = sum(event.cpu_time_total for event in profile.key_averages() if event.key == WAIT) / 1e6
        print(f"data wait: {waited:.2f} s of {seconds:.2f} s, {waited / seconds:.1%}; trace in {options.profile}")
    if options.layers:
        print_layers(data, trainer, progress)
    data.close()
    return 130 if stop.asked else 0
