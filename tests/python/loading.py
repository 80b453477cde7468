"""What tests of penstock.Loader share: chains for the arrays of conftest.py, the keys of an epoch, and a small folder
with its options and batches."""

import numpy as np
import penstock as ps

FIELDS = {"npy": ps.array.decode(), "cls": ps.label()}


def keys_of(loader):
    return [key for batch in loader for key in batch["__key__"]]


def write_numbers(folder, count):
    """Writes samples s000, s001, ...: arrays of five times their number, and three classes. Returns the folder."""
    folder.mkdir()
    for number in range(count):
        np.save(folder / f"s{number:03}.npy", np.full(5, number, np.float32))
        (folder / f"s{number:03}.cls").write_text(str(number % 3))
    return folder


def shuffled(**more):
    """Options of a loader of that folder."""
    return {"batch_size": 4, "shuffle": True, "seed": 3, "transforms": FIELDS, **more}


def lines_of(loader, epochs=2):
    """A line for each batch: its keys, and the sum of its arrays."""
    return [
        f"{','.join(batch['__key__'])} {float(np.asarray(batch['npy']).sum())}"
        for _ in range(epochs)
        for batch in loader
    ]
