"""Measures the modules of a torch model."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from typing import Any

from .._error import made
from .._words import keywords_in_words
from .result import Layer, Layers

_WARMUP = 2  # runs, which allocate memory and choose algorithms


@keywords_in_words
def layers(
    model: Any,
    input: Any,
    *,
    loss: Callable[[Any], Any] | None = None,
    optimizer: Any = None,
    repeats: int = 10,
) -> Layers:
    """Measures each module of a torch model: parameters, FLOPs, and the latency of forward, backward and optimizer step.

        table = ps.layers(torchvision.models.resnet18(), torch.randn(8, 3, 224, 224))
        print(table.table(depth=2))
        table["layer1.0.conv1"].forward_ms

    model: a torch.nn.Module on the CPU or a GPU, in the mode in which it is: train() or eval(). A model of
      torch.compile() is measured without the compilation.
    input: a tensor; a tuple of positional arguments; or a dict of keyword arguments. Values may be nested. Write
      `(value,)` for a model whose only argument is a tuple or a dict.
    loss: a function of the output that returns a scalar. Default: every output gets gradients of one.
    optimizer: an optimizer of the wanted class and options, or a function of a list of parameters. Default:
      torch.optim.AdamW. The times are those of copies, module by module.
    repeats: number of timed runs. The latency is their median. 0 counts only parameters and FLOPs.

    FLOPs are those of torch.utils.flop_counter: matrix products, convolutions and attention, with two for each
    multiply-add. Other operators count 0. Latency includes small costs of the hooks, which the parents add up; `totals`
    has the times without them. Backward times are sums over the autograd nodes that a module's calls created.
    A module is timed only if its call runs hooks, so a direct call of forward() is not.

    Parameters, buffers, gradients, the attributes of modules, and the random generators of torch, Python and NumPy are
    restored. Hooks of the model run in each pass.

    Raises Error: unsupported, if torch is older than 2.1, or the model is on another device or has lazy parameters.
    """
    if not isinstance(repeats, int) or repeats < 0:
        raise made("invalid_argument", f"ps.layers(): repeats must be a number from 0, not {repeats!r}")
    from . import measure

    return measure.measured(model, input, loss, optimizer, repeats)


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
