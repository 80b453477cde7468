"""Restores the random states of the program after a check."""

from __future__ import annotations

import contextlib
import random
import sys
from collections.abc import Iterator
from typing import Any

import torch


@contextlib.contextmanager
def kept(seed: int) -> Iterator[None]:
    """Seeds Python, torch's CPU generator and NumPy inside, and restores their states afterwards."""
    numpy: Any = sys.modules.get("numpy")
    states = random.getstate(), torch.get_rng_state(), numpy.random.get_state() if numpy is not None else None
    random.seed(seed)
    torch.default_generator.manual_seed(seed)
    if numpy is not None:
        numpy.random.seed(seed % 2**32)
    try:
        yield
    finally:
        random.setstate(states[0])
        torch.set_rng_state(states[1])
        if states[2] is not None:
            numpy.random.set_state(states[2])
