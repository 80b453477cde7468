"""Restores a model after runs that change it: parameters, buffers, gradients, attributes and random generators."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch

from .._generators import restored

# Restored entry by entry, because optimizers and other modules may hold them.
_TABLES = ("_parameters", "_buffers", "_modules")


@contextlib.contextmanager
def unchanged(model: torch.nn.Module, devices: list[int]) -> Iterator[None]:
    """devices: numbers of the GPUs whose random generators are restored."""
    with restored(devices), _gradients(model), _attributes(model), _tensors(model):
        yield


@contextlib.contextmanager
def _tensors(model: torch.nn.Module) -> Iterator[None]:
    copies = {
        id(tensor): (tensor, tensor.detach().clone())
        for module in model.modules()
        for table in (module._parameters, module._buffers)
        for tensor in table.values()
        if tensor is not None
    }
    tables = [(vars(module)[name], dict(vars(module)[name])) for module in model.modules() for name in _TABLES]
    try:
        yield
    finally:
        for table, before in tables:
            table.clear()
            table.update(before)
        with torch.no_grad():
            for tensor, copy in copies.values():
                # A copy into an equal tensor would invalidate graphs of the program that saved it.
                if not tensor.is_meta and not torch.equal(tensor, copy):
                    tensor.copy_(copy)


@contextlib.contextmanager
def _gradients(model: torch.nn.Module) -> Iterator[None]:
    kept = [(parameter, parameter.grad) for parameter in model.parameters()]
    for parameter, _ in kept:
        parameter.grad = None
    try:
        yield
    finally:
        for parameter, gradient in kept:
            parameter.grad = gradient


@contextlib.contextmanager
def _attributes(model: torch.nn.Module) -> Iterator[None]:
    """Attributes that forward() assigns. Changes inside of lists and other objects remain."""
    kept = [(vars(module), dict(vars(module))) for module in model.modules()]
    try:
        yield
    finally:
        for now, before in kept:
            for name in [name for name in now if name not in before]:
                del now[name]
            for name, value in before.items():
                if name not in _TABLES and now.get(name) is not value:
                    now[name] = value
