"""The settings of a DataLoader, and the grid of a full sweep."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

PREFETCH_FACTORS = (2, 4, 8)
DEFAULT_PREFETCH = 2  # as in torch


@dataclasses.dataclass(frozen=True)
class Setting:
    num_workers: int
    persistent_workers: bool = False
    prefetch_factor: int | None = None
    """Is None if num_workers is 0."""
    pin_memory: bool = False

    def arguments(self) -> str:
        """The keywords for DataLoader()."""
        parts = [f"num_workers={self.num_workers}"]
        if self.num_workers > 0:
            parts.append(f"persistent_workers={self.persistent_workers}")
            parts.append(f"prefetch_factor={self.prefetch_factor}")
        if self.pin_memory:
            parts.append("pin_memory=True")
        return ", ".join(parts)


def made(num_workers: int, persistent: bool, prefetch: int | None, pin: bool) -> Setting:
    """A setting that DataLoader accepts: without workers, two of the options do not exist."""
    if num_workers == 0:
        return Setting(0, pin_memory=pin)
    return Setting(num_workers, persistent, prefetch or DEFAULT_PREFETCH, pin)


def setting_of(values: dict[str, Any]) -> Setting:
    return made(values["num_workers"], values["persistent_workers"], values["prefetch_factor"], values["pin_memory"])


@dataclasses.dataclass(frozen=True)
class Grid:
    """Values of each setting; a full sweep runs all combinations."""

    own: Setting
    workers: tuple[int, ...]
    persistent: tuple[bool, ...]
    prefetch: tuple[int, ...]
    pin: tuple[bool, ...]

    def settings(self) -> list[Setting]:
        every = [
            made(workers, persistent, prefetch, pin)
            for workers in self.workers
            for persistent in self.persistent
            for prefetch in self.prefetch
            for pin in self.pin
        ]
        return list(dict.fromkeys([self.own, *every]))


def grid_of(own: Setting, workers: Iterable[int] | None, cores: int, *, gpu: bool, one_pass: bool) -> Grid:
    """workers: None for 0, powers of two, and all cores. one_pass: later passes cannot be measured, so
    persistent_workers has no effect."""
    if workers is None:
        workers = [0, *(2**power for power in range(cores.bit_length()) if 2**power < cores), cores]
    prefetch = (*PREFETCH_FACTORS, own.prefetch_factor or DEFAULT_PREFETCH)
    return Grid(
        own=own,
        workers=tuple(sorted({*workers, own.num_workers})),
        persistent=(own.persistent_workers,) if one_pass else (False, True),
        prefetch=tuple(sorted(set(prefetch))),
        pin=(False, True) if gpu else (own.pin_memory,),
    )
