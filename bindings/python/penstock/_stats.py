"""Counters and times of a loader."""

from __future__ import annotations

from typing import Any


class Stats(dict[str, Any]):
    """Plain numbers and strings, times in seconds; str() is the table that says which stage made the loop wait."""

    def __init__(self, values: dict[str, Any], table: str) -> None:
        super().__init__(values)
        self._table = table

    def add(self, of_python: dict[str, Any]) -> None:
        """What a program's own functions in Python took."""
        self.update(of_python)
        processes = of_python["python_workers"]
        if processes > 0:
            busy = sum(spent for name, spent in of_python["python_s"].items() if name != "on_batch")
            self._table += (
                f"python      {processes} process{'es' if processes > 1 else ''}, {busy:.3f} s in functions of "
                f"{processes * self['wall_s']:.3f} s, {of_python['python_workers_replaced']} replaced\n"
            )

    def __str__(self) -> str:
        return self._table
