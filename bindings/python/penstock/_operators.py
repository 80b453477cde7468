"""Implements ==, < and + on the values of a batch. Tensors do not compute: NumPy or torch does."""

from __future__ import annotations

import operator
import sys
from typing import Any

from ._penstock import Ragged, Tensor

_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")


def applied(name: str, tensor: Tensor, other: Any) -> Any:
    """Result of an operator: `tensor == other` is "eq", `other + tensor` is "radd". torch computes it if `other` is a
    torch tensor, else NumPy."""
    # Lists can be compared but not added: `numbers += tensor` would extend the list.
    if not _computes(other) and not (name in _COMPARISONS and isinstance(other, (list, tuple))):
        return NotImplemented
    torch = getattr(sys.modules.get("torch"), "Tensor", None)
    array = tensor.torch() if torch is not None and isinstance(other, torch) else tensor.numpy()
    if name[0] == "r":
        return getattr(operator, f"__{name[1:]}__")(other, array)
    return getattr(operator, f"__{name}__")(array, other)


def alone(name: str, tensor: Tensor) -> Any:
    """Result of a unary operator: `-tensor` is "neg"."""
    return getattr(operator, f"__{name}__")(tensor.numpy())


def chosen(tensor: Tensor, index: Any) -> Any:
    """Result of `tensor[index]`, an array. torch computes it if the index is a torch tensor, else NumPy."""
    torch = getattr(sys.modules.get("torch"), "Tensor", None)
    if torch is not None and isinstance(index, torch):
        return tensor.torch()[index]
    return tensor.numpy()[index.numpy() if isinstance(index, Tensor) else index]


def truth(tensor: Tensor) -> bool:
    """Truth value of a tensor of one element. Raises ValueError for other tensors."""
    if tensor.shape.count(1) == len(tensor.shape):
        number = tensor.tolist()
        while isinstance(number, list):
            number = number[0]
        return bool(number)
    raise ValueError(
        f"the truth value of a penstock.Tensor of shape {tensor.shape} is ambiguous; use t.numpy().any() or .all(), or "
        "len(t)"
    )


def refused(name: str, ragged: Ragged, other: Any) -> Any:
    """Refuses `ragged == other` and the like, because no array library has rows of different lengths."""
    if not _computes(other) and not isinstance(other, (Ragged, list, tuple)):
        return NotImplemented
    sign = {"eq": "==", "ne": "!="}[name]
    raise TypeError(f"a penstock.Ragged has no {sign}: compare r.values and r.offsets, or a row, r[i]")


def _computes(other: Any) -> bool:
    return isinstance(other, (int, float, complex, Tensor)) or hasattr(type(other), "__array__")
