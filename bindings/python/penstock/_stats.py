"""Counters and times of a loader."""

from __future__ import annotations

from typing import Any


class Stats(dict[str, Any]):
    """Plain numbers and strings, times in seconds; str() is the table that says which stage made the loop wait."""

    def __init__(self, values: dict[str, Any], table: str) -> None:
        super().__init__(values)
        self._table = table

    def __str__(self) -> str:
        return self._table
