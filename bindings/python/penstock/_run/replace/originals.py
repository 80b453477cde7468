"""Whether the program has replaced code of the libraries."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

_LIBRARIES = ("torch", "torchvision", "timm", "open_clip", "dinov2", "datasets")


def is_original(thing: Any, besides: tuple[str, ...] = ()) -> bool:
    """Whether a function, or the functions of a class and its bases, come from the files of the libraries. A program may
    have replaced them. besides: names of methods that may come from the program."""
    functions: list[Callable[..., Any]] = [thing]
    if isinstance(thing, type):
        functions = []
        for base in thing.__mro__:
            if base.__module__ not in ("builtins", "typing", "abc"):
                functions += [value for name, value in vars(base).items() if name not in besides and callable(value)]
    folders = tuple(_folder(name) for name in _LIBRARIES)
    for function in functions:
        code = getattr(getattr(function, "__func__", function), "__code__", None)
        if code is not None and not code.co_filename.startswith(folders):
            return False
    return True


def changed_method(thing: Any) -> str | None:
    """A method of this object that the program replaced."""
    names = [name for name, value in vars(thing).items() if name in dir(type(thing)) and callable(value)]
    return min(names, default=None)


def name_of(thing: Any) -> str:
    return getattr(thing, "__name__", type(thing).__name__)


def _folder(library: str) -> str:
    file = getattr(sys.modules.get(library), "__file__", None)
    return os.path.dirname(file) + os.sep if isinstance(file, str) else "\0"
