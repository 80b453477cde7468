"""Measures the modules of a torch model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._error import made
from .._words import keywords_in_words
from .result import Layers


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
