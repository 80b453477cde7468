"""Helpers of the tests of functions that a program adds to a loader."""

import os

import penstock as ps

FIELDS = {"npy": ps.array.decode(), "cls": ps.label()}


def same(batch):
    return batch


def thread_count():
    return len(os.listdir("/proc/self/task"))
