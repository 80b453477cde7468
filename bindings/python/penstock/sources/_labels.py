"""Decides whether the labels of a column are class numbers or class names."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_PADDED = re.compile(r"[+-]?0\d", re.ASCII)
_MOST = 2.0**53


class Labels:
    """The labels of a column, over all its rows. If all are whole numbers ("10.0" is one), they are class numbers.
    Otherwise they are class names. Blanks around a label are not part of it, and an empty label is missing.

    A number with leading zeros ("007") is a name. All labels are names if `classes` contains all of them.
    """

    def __init__(self, classes: Iterable[str] = ()) -> None:
        self._classes = set(classes)
        self._seen: set[str] = set()
        self._are_numbers = True

    def add(self, label: Any) -> None:
        """Adds a label of the column. Raises ValueError, if it is a number but not a whole one."""
        text = _text(label)
        if isinstance(label, float) and not math.isfinite(label):
            raise ValueError(f"the label {label} is not a whole number")
        if text and text not in self._seen:
            self._seen.add(text)
            if text not in self._classes and _whole_number(text) is None:
                self._are_numbers = False

    @property
    def are_numbers(self) -> bool:
        """Whether the labels are class numbers."""
        return self._are_numbers and not (self._seen and self._seen <= self._classes)

    def names(self) -> list[str]:
        """The class names in bytewise order; empty if the labels are class numbers."""
        return [] if self.are_numbers else sorted(self._seen, key=str.encode)

    def value(self, label: Any) -> int | str | None:
        """The number or the name of a label; None if it is missing."""
        text = _text(label)
        return (_whole_number(text) if self.are_numbers else text) if text else None


def _text(label: Any) -> str:
    return "" if label is None else str(label).strip()


def _whole_number(text: str) -> int | None:
    """The value of a whole number; None for a text that is not a number. Raises ValueError for other numbers."""
    number = _NUMBER.fullmatch(text)
    if number is None or _PADDED.match(text):
        return None
    if text.lstrip("+-").isdigit():
        return int(text)
    value = float(text)
    if not value.is_integer() or abs(value) > _MOST:
        raise ValueError(f"the label {text!r} is not a whole number")
    return int(value)
