"""Seeds the random generators of the program for a check."""

from __future__ import annotations

import contextlib
import random
import sys
from collections.abc import Iterator
from typing import Any

import torch

from ..._generators import restored


@contextlib.contextmanager
def kept(seed: int) -> Iterator[None]:
    """Seeds Python, torch's CPU generator and NumPy inside, and restores their states afterwards."""
    with restored():
        random.seed(seed)
        torch.default_generator.manual_seed(seed)
        numpy: Any = sys.modules.get("numpy")
        if numpy is not None:
            numpy.random.seed(seed % 2**32)
        yield
