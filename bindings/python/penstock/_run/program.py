"""Runs a script or a module as `__main__`, as the interpreter itself does."""

from __future__ import annotations

import builtins
import importlib.machinery
import importlib.util
import io
import os
import pkgutil
import runpy
import sys
import types
from typing import Any

from . import frames


class CannotRun(Exception):
    """The script or module does not exist. str() is a sentence."""


def run_script(path: str, arguments: tuple[str, ...]) -> None:
    """Like `python PATH ARGUMENTS`. PATH may be a folder or a zip file with a __main__.py."""
    sys.argv = [path, *arguments]
    importer = pkgutil.get_importer(path)
    if importer is not None:  # of a folder or zip file
        _first_path(os.path.abspath(path))
        spec = importer.find_spec("__main__")
        if spec is None or spec.loader is None:
            raise CannotRun(f"{path}: has no __main__.py; pass a script")
        _run(spec.loader.get_code("__main__"), spec.origin, spec, spec.loader)  # type: ignore[attr-defined]
        return
    try:
        with io.open_code(os.path.abspath(path)) as file:
            source = file.read()
    except OSError as failure:
        raise CannotRun(f"{path}: cannot be opened: {failure.strerror}") from None
    _first_path(os.path.dirname(os.path.realpath(path)))
    name = os.path.abspath(path)
    loader = importlib.machinery.SourceFileLoader("__main__", name)
    _run(lambda: compile(source, name, "exec", dont_inherit=True), name, None, loader)


def run_module(name: str, arguments: tuple[str, ...]) -> None:
    """Like `python -m NAME ARGUMENTS`."""
    _first_path(os.getcwd())
    sys.argv = ["-m", *arguments]  # as Python sets it while it looks for the module
    try:
        _, spec, code = runpy._get_module_details(name)  # type: ignore[attr-defined]
    except ImportError as failure:
        raise CannotRun(f"{name}: {failure}") from None
    except Exception as failure:
        if type(failure).__name__ != "_Error":  # raised by a parent package, which runpy imports
            raise
        raise CannotRun(f"{name}: {failure}") from None
    sys.argv[0] = spec.origin
    _run(code, spec.origin, spec, spec.loader)


def _first_path(folder: str) -> None:
    if not getattr(sys.flags, "safe_path", False) and not sys.flags.isolated:
        sys.path[0] = folder  # instead of the folder of `python -m penstock` or of the penstock script


def _run(code: Any, file: str | None, spec: Any, loader: Any) -> None:
    # A new module, because pickle, worker processes and inspect look up the program's names in sys.modules["__main__"].
    main = types.ModuleType("__main__")
    vars(main).update(
        __builtins__=builtins,
        __file__=file,
        __loader__=loader,
        __spec__=spec,
        __package__=spec.parent if spec is not None else None,
        __cached__=spec.cached if spec is not None else None,
    )
    kept = sys.modules["__main__"]
    if "__annotations__" in vars(kept):  # up to Python 3.13
        vars(main)["__annotations__"] = {}
    sys.modules["__main__"] = main
    # The module that started us must outlive the program, because its globals are cleared with it.
    _started_by.append(kept)
    try:
        exec(code() if callable(code) else code, vars(main))
    except SystemExit:
        raise
    except BaseException:
        _show_without_our_frames()
        raise  # so that the interpreter ends as usual: exit code 1, or SIGINT after a KeyboardInterrupt


_started_by: list[types.ModuleType] = []


def _show_without_our_frames() -> None:
    """Lets the interpreter call the program's excepthook with a traceback that starts in the program."""
    hook = sys.excepthook

    def cut_first(kind: type[BaseException], raised: BaseException, traceback: Any) -> Any:
        frames.cut(raised, start=True)
        sys.last_traceback = raised.__traceback__
        sys.excepthook = hook
        return hook(kind, raised, raised.__traceback__)

    sys.excepthook = cut_first
