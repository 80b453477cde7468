"""Random generators of the program. Importing this module imports torch."""

from __future__ import annotations

import contextlib
import random
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import torch


@contextlib.contextmanager
def restored(devices: Sequence[int] = ()) -> Iterator[None]:
    """Restores the states of Python, NumPy and torch afterwards. devices: numbers of the GPUs that belong to them."""
    numpy: Any = sys.modules.get("numpy")
    of_python, of_numpy = random.getstate(), numpy.random.get_state() if numpy is not None else None
    try:
        with torch.random.fork_rng(devices=devices):
            yield
    finally:
        random.setstate(of_python)
        if numpy is not None:
            numpy.random.set_state(of_numpy)
