"""Transforms in a class of the program that only applies them, as the presets of torchvision's references do."""

from __future__ import annotations

import inspect
import types
from typing import Any


class _Preset:
    transforms: Any

    def __call__(self, image: Any) -> Any:
        return self.transforms(image)


_CODE = _Preset.__call__.__code__
_SPECIAL = (
    inspect.CO_VARARGS
    | inspect.CO_VARKEYWORDS
    | inspect.CO_GENERATOR
    | inspect.CO_COROUTINE
    | inspect.CO_ASYNC_GENERATOR
)


def applied_by(transform: Any) -> Any:
    """The attribute that __call__() of an object applies and returns, or the object if it does more. The bytecode must
    be that of `return self.NAME(image)`, with any names."""
    kind = type(transform)
    call = inspect.getattr_static(kind, "__call__", None)
    if not isinstance(call, types.FunctionType) or not _is_alike(call.__code__):
        return transform
    (name,) = call.__code__.co_names
    plain = type(kind) is type and kind.__getattribute__ is object.__getattribute__
    if not plain or inspect.getattr_static(kind, name, None) is not None:  # a property, for example
        return transform
    inner = getattr(transform, "__dict__", {}).get(name, transform)
    return inner if inner is transform else applied_by(inner)


def _is_alike(code: types.CodeType) -> bool:
    return (
        code.co_code == _CODE.co_code
        and len(code.co_names) == 1
        and (code.co_argcount, code.co_kwonlyargcount) == (2, 0)
        and not code.co_flags & _SPECIAL
    )
