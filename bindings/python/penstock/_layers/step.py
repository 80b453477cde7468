"""Latency of an optimizer step on the parameters of one module."""

from __future__ import annotations

import inspect
import statistics
from collections.abc import Callable
from typing import Any

import torch

from .clocks import Clock

Optimizer = Callable[[list[Any]], torch.optim.Optimizer]


def optimizer_of(given: Any) -> tuple[str, Optimizer]:
    """Returns name and maker. given: an optimizer of the class and defaults, or a function of a list of parameters."""
    if isinstance(given, torch.optim.Optimizer):
        kind = type(given)
        # `defaults` also has what the class itself sets
        options = {name: given.defaults[name] for name in inspect.signature(kind).parameters if name in given.defaults}
        return kind.__name__, lambda parameters: kind(parameters, **options)
    return getattr(given, "__name__", type(given).__name__), given


def seconds_of(module: torch.nn.Module, make: Optimizer, clock: Clock, repeats: int) -> float | None:
    """Median over `repeats` steps on copies of the module's own parameters. None: it has none that are trained."""
    copies = [
        torch.nn.Parameter(parameter.detach().clone())
        for parameter in module._parameters.values()
        if parameter is not None and parameter.requires_grad
    ]
    if not copies:
        return None
    for parameter in copies:
        parameter.grad = torch.full_like(parameter, 1e-3)
    optimizer = make(copies)
    optimizer.step()  # makes the optimizer's state
    points = []
    for _ in range(repeats):
        begin = clock.now()
        optimizer.step()
        points.append((begin, clock.now()))
    clock.finish()
    return statistics.median(clock.seconds(begin, end) for begin, end in points)
