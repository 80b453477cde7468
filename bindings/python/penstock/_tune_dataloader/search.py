"""Chooses the next runs: successive halving over the number of workers, then one setting at a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence

from .setting import DEFAULT_PREFETCH, Grid, Setting, made

REPEATS = 3
"""Runs of each setting in a full sweep."""
_LAST = 3  # settings that are compared until the end


def full_sweep(grid: Grid) -> int:
    """Number of runs of a full sweep."""
    return REPEATS * len(grid.settings())


Seconds = Mapping[Setting, float]
"""Median loading time of each setting that was measured and did not fail."""


def planned(grid: Grid) -> int:
    """Number of runs of the search: at most a quarter of a full sweep, unless that is less than one."""
    return max(1, full_sweep(grid) // 4)


def rounds(grid: Grid, seconds: Callable[[], Seconds], left: int) -> Iterator[list[Setting]]:
    """Yields rounds of settings, each of which runs once, until `left` runs are used. seconds() has the results of the
    rounds before. Every round mixes settings, so that a slow minute of the machine does not hit all runs of one."""
    for wanted in _endless(grid, seconds):
        now = wanted[:left]
        left -= len(now)
        if not now:
            return
        yield now


def _endless(grid: Grid, seconds: Callable[[], Seconds]) -> Iterator[list[Setting]]:
    own = grid.own
    yield _unique([own, *(_with(own, num_workers=workers) for workers in grid.workers)])
    best = _best(seconds(), max(1, len(grid.workers) // 2))
    if not best:
        return
    base = best[0]
    yield _unique([*best, own, *_neighbours(grid, base)])
    yield _unique([_combined(grid, seconds(), base), *_best(seconds(), _LAST), own])
    while True:
        yield _best(seconds(), _LAST)


def _unique(settings: Sequence[Setting]) -> list[Setting]:
    return list(dict.fromkeys(settings))


def _best(seconds: Seconds, count: int) -> list[Setting]:
    return sorted(seconds, key=lambda setting: seconds[setting])[:count]


def _with(
    setting: Setting,
    *,
    num_workers: int | None = None,
    persistent: bool | None = None,
    prefetch: int | None = None,
    pin: bool | None = None,
) -> Setting:
    return made(
        setting.num_workers if num_workers is None else num_workers,
        setting.persistent_workers if persistent is None else persistent,
        (setting.prefetch_factor or DEFAULT_PREFETCH) if prefetch is None else prefetch,
        setting.pin_memory if pin is None else pin,
    )


def _neighbours(grid: Grid, best: Setting) -> list[Setting]:
    """The best setting with one other value each."""
    return [
        *(_with(best, persistent=value) for value in grid.persistent),
        *(_with(best, pin=value) for value in grid.pin),
        *(_with(best, prefetch=value) for value in grid.prefetch),
    ]


def _combined(grid: Grid, seconds: Seconds, base: Setting) -> Setting:
    """The best value of each setting, as the neighbours of `base` show it, in one."""

    def best(settings: list[Setting]) -> Setting:
        return min(settings, key=lambda setting: seconds.get(setting, math.inf))

    return made(
        base.num_workers,
        best([_with(base, persistent=value) for value in grid.persistent]).persistent_workers,
        best([_with(base, prefetch=value) for value in grid.prefetch]).prefetch_factor,
        best([_with(base, pin=value) for value in grid.pin]).pin_memory,
    )
