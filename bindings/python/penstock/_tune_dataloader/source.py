"""Calls the function of a script that returns its DataLoader."""

from __future__ import annotations

import importlib.util
import os
import sys
from typing import Any


class WrongSource(Exception):
    """str() is a sentence for the user."""


def loader_of(file: str, name: str) -> Any:
    """Imports the file as a module, not as `__main__`, and calls the function without arguments. `name` may also be a
    DataLoader. Raises WrongSource, and errors of the script."""
    sys.path[0] = os.path.dirname(os.path.realpath(file))
    sys.argv = [file]
    stem = os.path.splitext(os.path.basename(file))[0]
    spec = importlib.util.spec_from_file_location(stem, os.path.abspath(file))
    if spec is None or spec.loader is None:
        raise WrongSource(f"{file} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[stem] = module  # worker processes that are spawned import it by this name
    spec.loader.exec_module(module)
    if not hasattr(module, name):
        functions = sorted(each for each, value in vars(module).items() if callable(value) and value.__module__ == stem)
        raise WrongSource(f"{file} has no {name}; its functions are {', '.join(functions) or 'none'}")
    value = getattr(module, name)
    from torch.utils.data import DataLoader

    loader = value() if callable(value) and not isinstance(value, DataLoader) else value
    if not isinstance(loader, DataLoader):
        kind = type(loader)
        raise WrongSource(
            f"{name} of {file} returned a {kind.__module__}.{kind.__qualname__}; it must return a "
            "torch.utils.data.DataLoader"
        )
    if type(loader).__iter__ is not DataLoader.__iter__:
        raise WrongSource(
            f"{type(loader).__qualname__} has an __iter__ that differs from DataLoader's; return a DataLoader"
        )
    return loader
