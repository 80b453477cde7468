"""Calls a function right after a module was imported, without importing it."""

from __future__ import annotations

import contextlib
import importlib.abc
import importlib.util
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

Hook = Callable[[ModuleType], None]


def after_import(hooks: dict[str, Hook]) -> None:
    """Calls hooks[name](module) now for imported modules, and later for the others. Errors of hooks are dropped: the
    program must run also with versions whose internals differ."""
    waiting = dict(hooks)
    for name in list(waiting):
        if name in sys.modules:
            _call(waiting.pop(name), sys.modules[name])
    if waiting:
        sys.meta_path.insert(0, _Finder(waiting))


def _call(hook: Hook, module: ModuleType) -> None:
    with contextlib.suppress(Exception):
        hook(module)


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, waiting: dict[str, Hook]) -> None:
        self._waiting = waiting

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> Any:
        if name not in self._waiting:
            return None
        hook = self._waiting.pop(name)
        if not self._waiting:
            with contextlib.suppress(ValueError):
                sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)  # asks the other finders: the name is not waiting any more
        if spec is None or spec.loader is None or not hasattr(spec.loader, "exec_module"):
            return spec
        loader, execute = spec.loader, spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            with contextlib.suppress(AttributeError):
                del loader.exec_module  # type: ignore[attr-defined]
            execute(module)
            _call(hook, module)

        # An attribute of this loader instead of another loader: resources and inspect need the original type.
        loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec
