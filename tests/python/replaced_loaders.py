"""Runs loaders as `penstock run --replace` does, and records everything that a training sees."""

import contextlib
import os
import random
import subprocess
import sys

import numpy as np
import torch
from penstock._run.replace import rates
from penstock._run.replace.replacer import Replacer
from torch.utils.data import DataLoader
from torch.utils.data import dataloader as module
from torchvision_package import HERE


@contextlib.contextmanager
def replacing():
    """The patches of `penstock run --replace`, without its times. Yields the lines that it prints. The rates, which no
    test reads, are those of one batch. The programs that execute() runs measure all batches."""
    lines = []
    batches, rates._BATCHES = rates._BATCHES, 1
    kept = {name: vars(DataLoader)[name] for name in ("__init__", "__iter__", "_get_iterator")}
    replacer = Replacer(lines.append)
    replacer._patch(module)

    def __iter__(loader):
        replacer.decide(loader)
        return kept["__iter__"](loader)

    DataLoader.__iter__ = __iter__
    try:
        yield lines
    finally:
        rates._BATCHES = batches
        for name, method in kept.items():
            setattr(DataLoader, name, method)


def seed():
    torch.manual_seed(7)
    random.seed(7)
    np.random.seed(7)


def drawn(loader):
    """Numbers of the program's own generators."""
    generators = {"generator": loader.generator} if loader.generator is not None else {}
    return torch.rand(1, **generators).item(), torch.rand(1).item(), random.random(), np.random.rand()


def epochs(make, dataset, count=2):
    """All that a training sees: batches, lengths, and its own random numbers between the batches."""
    seed()
    loader = make(dataset)
    seen = []
    for epoch in range(count):
        if hasattr(loader.sampler, "set_epoch"):
            loader.sampler.set_epoch(epoch)
        seen.append((len(loader), drawn(loader)))
        iterator = iter(loader)
        seen.append((len(iterator), drawn(loader)))
        for batch in iterator:
            seen.append((batch, drawn(loader)))
    return loader, seen


def same_but_images(one, other, image=0):
    """image: the place of the images in a batch."""
    assert len(one) == len(other)
    for (batch, numbers), (their_batch, their_numbers) in zip(one, other):
        assert numbers == their_numbers
        assert type(batch) is type(their_batch)
        if not isinstance(batch, (list, dict)):
            assert batch == their_batch
            continue
        keys = list(batch) if isinstance(batch, dict) else range(len(batch))
        assert not isinstance(batch, dict) or list(their_batch) == keys
        for key in keys:
            ours, theirs = batch[key], their_batch[key]
            assert (type(ours), ours.dtype, ours.shape, ours.stride()) == (
                type(theirs), theirs.dtype, theirs.shape, theirs.stride()
            )  # fmt: skip
            assert ours.is_pinned() == theirs.is_pinned() and ours.device == theirs.device
            assert key == image or torch.equal(ours, theirs)


def largest_difference(one, other, image=0):
    pairs = [(ours[image], theirs[image]) for (ours, _), (theirs, _) in zip(one, other) if not isinstance(ours, int)]
    return max(float((ours.double() - theirs.double()).abs().max()) for ours, theirs in pairs)


def execute(words, folder):
    """Runs a program that imports torchvision."""
    added = str(HERE.parents[1] / ".venv/torchvision"), str(HERE / "peers"), str(HERE)
    return subprocess.run(
        [str(word) for word in words],
        check=False,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([os.environ.get("PYTHONPATH", ""), *added])},
    )


def run_both(words, folder, *options):
    """Runs a script alone and with `penstock run --replace`. Both must end and print alike. Returns the exit code, and
    what penstock printed."""
    alone = execute([sys.executable, *words], folder)
    replaced = execute([sys.executable, "-m", "penstock", "run", "--replace", *options, *words], folder)
    assert (replaced.returncode, replaced.stdout) == (alone.returncode, alone.stdout)
    assert alone.stdout.count("\n") == 2
    return alone.returncode, replaced.stderr


def line_with(program, word):
    return next(number for number, line in enumerate(program.splitlines(), 1) if word in line)
