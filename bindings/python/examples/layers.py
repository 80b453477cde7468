"""Measures the cost of a network's layers: parameters, multiply-accumulates and latency of each module without
submodules.

Multiply-accumulates (MACs) are counted for Linear, Conv1d, Conv2d and Conv3d. Each output counts the inputs that its
sum includes. Other modules (normalization, activations, pooling) are not counted. A product of two tensors outside any
module is not seen.
"""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

KINDS = (nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d)


@dataclasses.dataclass
class Layer:
    """Cost of one module: the sum of all its calls in one forward pass."""

    name: str
    kind: str
    parameters: int
    macs: int = 0
    seconds: float = 0.0
    calls: int = 0


def macs(module: nn.Module, output: torch.Tensor) -> int:
    """Multiply-accumulates of the call that returned this output; 0 for modules that are not counted."""
    if isinstance(module, nn.Linear):
        return output.numel() * module.in_features
    if isinstance(module, KINDS):
        return output.numel() * (module.in_channels // module.groups) * math.prod(module.kernel_size)
    return 0


def measure(model: nn.Module, *inputs: torch.Tensor, rounds: int = 5) -> list[Layer]:
    """Measures forward passes as in validation (eval mode, no gradients), after one pass that is not measured. Latency
    is the mean of the rounds. On a GPU, every module waits until its work is done. Modules therefore do not overlap, as
    they would in training."""
    layers = {
        module: Layer(name, type(module).__name__, sum(each.numel() for each in module.parameters()))
        for name, module in model.named_modules()
        if next(module.children(), None) is None
    }
    counting = False
    began: dict[nn.Module, float] = {}

    def now() -> float:
        if inputs[0].is_cuda:
            torch.cuda.synchronize()
        return time.perf_counter()

    def before(module: nn.Module, _: Any) -> None:
        began[module] = now()

    def after(module: nn.Module, _: Any, output: torch.Tensor) -> None:
        if counting:
            layer = layers[module]
            layer.seconds += now() - began[module]
            layer.macs += macs(module, output)
            layer.calls += 1

    handles = [
        handle
        for module in layers
        for handle in (module.register_forward_pre_hook(before), module.register_forward_hook(after))
    ]
    was_training = model.training
    try:
        model.eval()
        with torch.no_grad():
            model(*inputs)
            counting = True
            for _ in range(rounds):
                model(*inputs)
    finally:
        model.train(was_training)
        for handle in handles:
            handle.remove()
    for layer in layers.values():
        layer.macs //= rounds
        layer.seconds /= rounds
        layer.calls //= rounds
    return list(layers.values())


def table(layers: list[Layer], samples: int, say: Callable[[str], None] = print) -> None:
    """Prints a line for each layer that has parameters or takes 1 % of the time, and their sum. MACs are per sample."""
    whole = sum(layer.seconds for layer in layers)
    width = max([12, *(len(layer.name) for layer in layers)])

    def line(name: str, kind: str, parameters: int, count: int, seconds: float) -> None:
        share = seconds / whole if whole else 0.0
        say(f"{name:<{width}} {kind:<12} {parameters:>11,} {count // samples:>14,} {1e3 * seconds:>9.3f} {share:>6.1%}")

    say(f"{'layer':<{width}} {'kind':<12} {'parameters':>11} {'MACs a sample':>14} {'ms':>9} {'share':>6}")
    for layer in layers:
        if layer.parameters or (whole and layer.seconds >= 0.01 * whole):
            line(layer.name, layer.kind, layer.parameters, layer.macs, layer.seconds)
    sums = [sum(getattr(layer, name) for layer in layers) for name in ("parameters", "macs")]
    line("all", "", sums[0], sums[1], whole)
