"""What tests of penstock.Loader share: chains for the arrays of conftest.py, and the keys of an epoch."""

import penstock as ps

FIELDS = {"npy": ps.array.decode(), "cls": ps.label()}


def keys_of(loader):
    return [key for batch in loader for key in batch["__key__"]]
