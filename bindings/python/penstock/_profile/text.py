"""Numbers as a person reads them."""

from __future__ import annotations

from .._penstock import percent_text as percent
from .._penstock import time_text as duration

__all__ = ["counted", "duration", "percent", "rate"]


def rate(per_second: float) -> str:
    return f"{per_second:,.0f}" if per_second >= 100 else f"{per_second:.3g}"


def counted(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"
