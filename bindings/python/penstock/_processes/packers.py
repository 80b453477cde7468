"""Ways to pickle an object for another process."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any


def packers() -> list[Callable[[Any], bytes]]:
    """pickle first, then cloudpickle if it is installed, for functions and classes that are defined in the program."""
    found: list[Callable[[Any], bytes]] = [pickle.dumps]
    try:
        import cloudpickle

        found.append(cloudpickle.dumps)
    except ImportError:
        pass
    return found
