"""Checks files that the user names."""

from __future__ import annotations

import os


def is_special_file(path: str) -> bool:
    """Whether the path exists and is not a regular file. A read of a FIFO may never begin, one of a device never end."""
    return os.path.exists(path) and not os.path.isfile(path)
