"""Accepts NumPy's and torch's own objects where a transform or its arguments are expected, and explains other errors."""

from __future__ import annotations

import sys
import types
from typing import Any, NoReturn

from ._penstock import Mix

_SIZES = {float: '"float32" or "float64"', int: '"int32" or "int64"'}


def taken(step: str, parameter: str, value: Any) -> Any:
    """Converts a value for the compiled transform: dtypes to names, arrays to lists. Raises TypeError for values that
    are not allowed."""
    if isinstance(value, type) and value in _SIZES:
        raise TypeError(f"{step}(): {parameter} {value.__name__} does not name its size; pass {_SIZES[value]}")
    name = _dtype_name(value)
    if name is not None:
        return name
    if hasattr(value, "tolist") and not isinstance(value, type):
        value = value.tolist()
    if value is None or _is_single(value) or _is_list(value):
        return value
    own = callable(value) and not isinstance(value, type)
    hint = "; ps.transform(function) turns a function into a step" if own else ""
    raise TypeError(f"{step}(): {parameter} cannot be {called(value)}{hint}")


def _is_single(value: Any) -> bool:
    return isinstance(value, str) or hasattr(value, "__float__") or hasattr(value, "__index__")


def _is_list(value: Any) -> bool:
    if isinstance(value, (dict, type)) or not hasattr(value, "__len__") or not hasattr(value, "__getitem__"):
        return False
    return all(_is_single(value[place]) for place in range(len(value)))


def torch_dtype_name(value: Any) -> str | None:
    """Name of a torch dtype."""
    dtype = getattr(sys.modules.get("torch"), "dtype", None)
    return str(value).rpartition(".")[2] if dtype is not None and isinstance(value, dtype) else None


def _dtype_name(value: Any) -> str | None:
    """Name of a dtype of NumPy, torch or JAX, or of a NumPy type. None for any other value."""
    name = torch_dtype_name(value)
    if name is not None or value is bool:
        return name or "bool"
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return None
    if isinstance(value, type) and issubclass(value, numpy.generic):
        return str(numpy.dtype(value).name)
    dtype: Any = getattr(value, "dtype", None) if callable(value) else value  # JAX's types have a dtype
    return str(dtype.name) if isinstance(dtype, numpy.dtype) else None


def called(value: Any) -> str:
    """The value as source code, at most about 60 characters."""
    text = value.__name__ if isinstance(value, types.FunctionType) else " ".join(repr(value).split())
    return text if len(text) <= 60 else f"{text[:57]}..."


def no_step(value: Any) -> str:
    """A hint for a value that is not a transform."""
    if isinstance(value, (list, tuple)):
        return "join steps with |, as in ps.image.decode() | ps.image.resize(256)"
    if isinstance(value, str):
        return "a step must be a call such as ps.image.resize(256), not its text"
    if isinstance(value, Mix):
        return "ps.mixup() and ps.cutmix() are for Loader(mix=...)"
    if type(value).__name__ == "SampleFunction":
        return "ps.sample_transform() is for Loader(sample_transform=...)"
    module, name = getattr(value, "__module__", None) or "", getattr(value, "__name__", "")
    if callable(value) and module.partition(".")[0] == "penstock" and name:
        return f"a step must be a call, {module.partition('._')[0].replace('penstock', 'ps', 1)}.{name}(...)"
    library = type(value).__module__.partition(".")[0]
    if library in ("torchvision", "albumentations"):
        return f"ps.from_{library}() translates it into a chain"
    if callable(value):
        return "ps.transform(function) turns a function into a step"
    return "a step must be a call such as ps.image.resize(256)"


def unjoined(chain: object, other: Any, before: bool) -> Any:
    """Handles `chain | other` (or `other | chain` if `before`), where `other` is not a Chain."""
    kind = type(other)
    if not before and kind.__module__ != "builtins" and any("__ror__" in vars(each) for each in kind.__mro__):
        return NotImplemented  # Transform handles it
    refuse_step(chain, other, before)


def refuse_step(chain: object, other: Any, before: bool) -> NoReturn:
    told = f"{called(other)} | {chain}" if before else f"{chain} | {called(other)}"
    raise TypeError(f"{told}: {no_step(other)}")
