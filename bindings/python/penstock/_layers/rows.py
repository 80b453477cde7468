"""The figures of all runs, as the rows of the result."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

from .result import Layer


def rows_of(
    model: Any,
    flops: tuple[dict[int, float], dict[int, float]],
    calls: dict[int, int],
    times: Sequence[tuple[dict[int, float], dict[int, float]]],
    steps: dict[int, float],
) -> list[Layer]:
    """times: of each run."""
    names: dict[int, list[str]] = {}
    for name, module in model.named_modules(remove_duplicate=False):
        names.setdefault(id(module), []).append(name)
    rows = []
    for module in model.modules():
        own = id(module)
        first, *others = names[own]
        parameters = list(module.parameters())
        inside = {id(each) for each in module.modules()}
        stepped = [seconds for each, seconds in steps.items() if each in inside]
        rows.append(
            Layer(
                name=first,
                type=type(module).__name__,
                depth=first.count(".") + 1 if first else 0,
                calls=calls.get(own, 0),
                parameters=sum(each.numel() for each in parameters),
                own_parameters=sum(each.numel() for each in module.parameters(recurse=False)),
                trained_parameters=sum(each.numel() for each in parameters if each.requires_grad),
                forward_flops=int(flops[0].get(own, 0)),
                backward_flops=int(flops[1].get(own, 0)),
                forward_ms=_median(own, [run[0] for run in times]),
                backward_ms=_median(own, [run[1] for run in times]) if calls.get(own) else None,
                step_ms=1e3 * sum(stepped) if stepped else None,
                also=tuple(others),
            )
        )
    return rows


def _median(own: int, runs: list[dict[int, float]]) -> float | None:
    values = [run[own] for run in runs if own in run]
    return 1e3 * statistics.median(values) if values else None


def spread_of(values: Sequence[float]) -> float:
    """Half of the range from the first to the third quartile, as a share of the median."""
    if len(values) < 2:
        return 0.0
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return (high - low) / 2 / middle if middle else 0.0
