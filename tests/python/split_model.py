"""Where a group's hash puts it, as docs/spec/views.md has it for split()."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

from order_model import mix

MOST = 2**64


def hash_of(group: str, seed: int) -> int:
    x = 0xCBF29CE484222325
    for byte in group.encode():
        x = (x ^ byte) * 0x100000001B3 % MOST
    return mix(mix(x) + seed * 0x9E3779B97F4A7C15)


def part_below(place: float, parts: Mapping[str, float]) -> str:
    """The part in whose stretch of 0 to 1 a place lies."""
    total = sum(parts.values())
    ends = itertools.accumulate(parts.values())
    return next(name for name, end in zip(parts, ends) if place < end / total)
