"""Tensors in nested inputs and outputs: tuples, lists, dicts and dataclasses."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch


def tensors_in(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from tensors_in(each)
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from tensors_in(each)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            yield from tensors_in(getattr(value, field.name))


def mapped(value: Any, change: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    """Copies the structure and changes its tensors. Objects of other types stay as they are."""
    if isinstance(value, torch.Tensor):
        return change(value)
    if type(value) is dict:
        return {name: mapped(each, change) for name, each in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(mapped(each, change) for each in value))
    if type(value) in (list, tuple):
        return type(value)(mapped(each, change) for each in value)
    return value


def fresh(value: Any) -> Any:
    """Copies of the tensors, because a model may write into its input."""

    def copied(tensor: torch.Tensor) -> torch.Tensor:
        return tensor.detach().clone().requires_grad_(tensor.requires_grad)

    return mapped(value, copied)


def arguments_of(value: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """A tuple holds positional arguments, a dict keyword arguments. Any other value is the only argument."""
    if type(value) is tuple:
        return value, {}
    if isinstance(value, Mapping):
        return (), dict(value)
    return (value,), {}
