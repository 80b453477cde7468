"""Figures of all runs of a setting, and the noise of the measurement."""

from __future__ import annotations

import dataclasses
import math
import statistics
from collections.abc import Iterable, Sequence
from typing import Any

from .setting import Setting


@dataclasses.dataclass
class Row:
    """Figures of one setting: medians over its runs, and the largest memory."""

    setting: Setting
    runs: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    failure: str = ""

    def median(self, figure: str) -> float:
        return statistics.median(run[figure] for run in self.runs)

    @property
    def seconds(self) -> float:
        """Loading time of an epoch."""
        return self.median("epoch_s")

    @property
    def peak_bytes(self) -> int:
        return max(int(run["peak_bytes"]) for run in self.runs)


def noise_of(rows: Iterable[Row]) -> float | None:
    """Standard deviation of a run's loading time, as a share of it, pooled over all settings that ran more than once.
    Returns None if no setting ran more than once."""
    squares, freedom = 0.0, 0
    for row in rows:
        logarithms = [math.log(run["epoch_s"]) for run in row.runs]
        if len(logarithms) > 1:
            middle = statistics.fmean(logarithms)
            squares += sum((each - middle) ** 2 for each in logarithms)
            freedom += len(logarithms) - 1
    return math.sqrt(squares / freedom) if freedom else None


def equal_to(best: Row, rows: Sequence[Row], noise: float | None) -> list[Row]:
    """The rows whose difference to the best is at most twice the standard deviation of the difference."""
    if noise is None:
        return [best]
    return [
        row
        for row in rows
        if row.runs
        and math.log(row.seconds / best.seconds) <= 2 * noise * math.sqrt(1 / len(row.runs) + 1 / len(best.runs))
    ]


def cheapest(rows: Sequence[Row]) -> Row:
    """The row with the fewest workers, then with the least memory. The fastest row wins if the memory differs by less
    than a tenth."""
    fewest = min(row.setting.num_workers for row in rows)
    candidates = [row for row in rows if row.setting.num_workers == fewest]
    least = min(row.peak_bytes for row in candidates)
    return min((row for row in candidates if row.peak_bytes <= 1.1 * least), key=lambda row: row.seconds)
