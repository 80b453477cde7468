"""A worker_init_fn that only seeds random generators, as PyTorch's notes on reproducibility advise."""

from __future__ import annotations

import argparse
import builtins
import dis
import functools
import sys
import types
from typing import Any

_FUNCTIONS = {
    "torch": {"initial_seed", "manual_seed"},
    "numpy": {"random"},
    "numpy.random": {"seed"},
    "random": {"seed"},
}
"""The functions that it may call, by module."""

_STEPS = (
    *("RESUME", "NOP", "CACHE", "PRECALL", "PUSH_NULL", "KW_NAMES", "CALL", "POP_TOP", "RETURN_", "STORE_FAST"),
    *("LOAD_FAST", "LOAD_CONST", "LOAD_SMALL_INT", "BINARY_", "COPY_FREE_VARS"),
)
"""Bytecode that changes local variables only, by the begin of its names."""

_NOTHING = object()


def only_seeds(function: Any) -> bool:
    """Whether a function seeds the generators, and does nothing else. Reads its bytecode."""
    given: tuple[Any, ...] = ()
    if isinstance(function, functools.partial):
        given, function = (*function.args, *function.keywords.values()), function.func
    if not isinstance(function, types.FunctionType):
        return False
    given += (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values())
    return all(type(value) is int for value in given) and _seeds_only(function)


def _seeds_only(function: types.FunctionType) -> bool:
    outer: dict[str, Any] = {**vars(builtins), **function.__globals__}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
        outer[name] = cell.cell_contents
    loaded: Any = _NOTHING  # the object whose attribute the next step may load
    for step in dis.get_instructions(function):
        if step.opname in ("LOAD_GLOBAL", "LOAD_DEREF"):
            loaded = outer.get(step.argval, _NOTHING)
            if not _is_known(loaded):
                return False
        elif step.opname in ("LOAD_ATTR", "LOAD_METHOD"):
            loaded = _attribute(loaded, step.argval)
            if loaded is _NOTHING:
                return False
        elif step.opname.startswith(_STEPS):
            loaded = _NOTHING
        else:
            return False
    return True


def _is_known(thing: Any) -> bool:
    return thing is int or type(thing) in (int, argparse.Namespace) or _module(thing) is not None


def _attribute(thing: Any, name: str) -> Any:
    if type(thing) is argparse.Namespace:
        value = vars(thing).get(name, _NOTHING)
        return value if type(value) is int else _NOTHING
    module = _module(thing)
    return getattr(thing, name) if module is not None and name in _FUNCTIONS[module] else _NOTHING


def _module(thing: Any) -> str | None:
    return next((name for name in _FUNCTIONS if thing is sys.modules.get(name, _NOTHING)), None)
