"""Functions that tests give to Loader(python_workers=N): other processes import them from here."""

import os
import pathlib
import random
import re
import signal
import sys
import time
import types

import numpy as np


class OwnError(Exception):
    """Cannot be made again from its args alone."""

    def __init__(self, number, why):
        super().__init__(f"{why} {number}")
        self.number = number

    def __reduce__(self):
        return OwnError, (self.number, "again")


class Unpicklable(Exception):
    def __init__(self, needed, also_needed):
        super().__init__("only this")


def same(row):
    return row


def halved(row):
    return row[::2]


def as_float(row):
    if (row == 0).all() or (row == 255).all():
        raise ValueError("a row without a value came to a function")
    return row.astype(np.float32)


def flipped_sideways(image, mask):
    return {"image": image[:, :, ::-1], "mask": mask[:, ::-1]}


def first_bytes(row):
    return np.resize(row, 4).astype(np.int16)


def noisy(row, generator):
    return row + generator.integers(0, 9, row.shape).astype(row.dtype)


def drawn(row):
    return row + np.float32(random.random()) + np.random.random(row.shape).astype(np.float32)


def of_sample(npy, cls):
    return {"npy": npy * 2 + np.float32(random.random()), "cls": list(range(int(cls)))}


def where(row):
    return np.array([os.getpid(), int(os.environ.get("OMP_NUM_THREADS", "0")), len(row)])


def slow(row):
    time.sleep(0.005)
    return row


def holds_the_interpreter(row):
    pathlib.Path(os.environ["PENSTOCK_TEST_MARK"]).write_text(str(os.getpid()))
    re.match("(a+)+b", "a" * 40)  # minutes, without releasing the interpreter
    return row


def fails_at_eleven(row):
    if row[0] == 11:
        raise OwnError(11, "the row is")
    if row[0] == 30:
        raise Unpicklable(1, 2)
    return row


def changes_what_it_gets(row):
    row += 1
    return row


def swapped(one, other):
    one += 1
    return {"one": other, "other": one}


def turned(one, other):
    return {"one": other[::-1], "other": one[1:]}


def mirrored(one, other):
    return {"one": one, "other": one[:, ::-1]}


def imports_late(row):
    sys.modules.setdefault("albumentations", types.ModuleType("albumentations"))
    row += 1
    return row


class Dies:
    """Ends its process by signal 9 at the given rows, the first time that each of them comes, or each time."""

    def __init__(self, folder, rows, always=False):
        self.folder, self.rows, self.always = pathlib.Path(folder), rows, always

    def __call__(self, row):
        row += 1  # in place: a row that is done again must begin from what it was
        if int(row[0]) - 1 in self.rows:
            mark = self.folder / str(int(row[0]))
            if self.always or not mark.exists():
                mark.touch()
                os.kill(os.getpid(), signal.SIGKILL)
        return row


class FailsOnce:
    """Raises at the given row, the first time that it comes in any process."""

    def __init__(self, mark, row):
        self.mark, self.row = pathlib.Path(mark), row

    def __call__(self, row):
        if int(row[0]) == self.row and not self.mark.exists():
            self.mark.touch()
            raise KeyError("once")
        return row


def large(row):
    return np.zeros((100, 100)) + row[0]


def slowly(row):
    time.sleep(0.3)
    return row + 1


def processes(parent=None):
    """Of this test's process, or of another one: those that run Python's functions."""
    parent, found = parent or os.getpid(), []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            state, father = (folder / "stat").read_text().rpartition(")")[2].split()[:2]
            command = (folder / "cmdline").read_bytes()
        except OSError:
            continue
        if int(father) == parent and state != "Z" and b"penstock._processes" in command:
            found.append(int(folder.name))
    return found


def windows_put_together(npy, png):
    return {"npy": npy.sum(0) + np.float32(random.random()), "png": png[::-1]}
