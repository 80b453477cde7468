"""Lines of the program: where it makes a loader, and where it calls a class."""

from __future__ import annotations

import ast
import functools
import inspect
import os
import sys
import sysconfig
import types
import weakref
from collections.abc import Iterator
from typing import Any, NamedTuple

from .. import frames

_LIBRARIES = ("torch", "torchvision", "penstock")
_FOLDERS = tuple(
    {os.path.realpath(path) + os.sep for name, path in sysconfig.get_paths().items() if name.endswith("lib")}
)

_INSTALLED = {"site-packages", "dist-packages"}
"""Names of folders with libraries. Some are not in sysconfig, such as those of `pip install --user`."""


class Place(NamedTuple):
    file: str
    line: int

    def __str__(self) -> str:
        shown = os.path.relpath(self.file)
        return f"{self.file if shown.startswith(os.pardir) else shown}:{self.line}"


class Refused(Exception):
    """str() is "train.py:31: Lambda(): calls a function of your own"."""

    def __init__(self, place: Place | None, what: str, reason: str) -> None:
        super().__init__(f"{place}: {what}: {reason}" if place is not None else f"{what}: {reason}")


class Places:
    """Remembers where the program made each DataLoader."""

    def __init__(self) -> None:
        self._made: weakref.WeakKeyDictionary[Any, Place] = weakref.WeakKeyDictionary()

    def watch(self, kind: Any) -> None:
        make = kind.__init__

        @functools.wraps(make)
        def __init__(loader: Any, *arguments: Any, **keywords: Any) -> None:
            try:
                make(loader, *arguments, **keywords)
            except BaseException as raised:
                frames.drop_frame(raised)
                raise
            place = _caller()
            if place is not None:
                try:
                    self._made.setdefault(loader, place)
                except TypeError:  # a class without a hash
                    pass

        kind.__init__ = __init__

    def of(self, loader: Any) -> Place | None:
        try:
            return self._made.get(loader)
        except TypeError:
            return None


def _caller() -> Place | None:
    """The innermost frame of the program's own files, or else of a library that is not torch."""
    frame: types.FrameType | None = sys._getframe(2)
    other: Place | None = None
    while frame is not None:
        module = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        file = frame.f_code.co_filename
        if module not in _LIBRARIES and os.path.isfile(file):
            place = Place(file, frame.f_lineno)
            if is_own(file):
                return place
            other = other or place
        frame = frame.f_back
    return other


def is_own(file: str) -> bool:
    path = os.path.realpath(file)
    return not path.startswith(_FOLDERS) and _INSTALLED.isdisjoint(path.split(os.sep))


def call_of(name: str, near: Place | None) -> Place | None:
    """A line of the program that calls `name`, such as RandomPerspective: the last one before `near` in its file, or
    else the first one of any file."""
    files = list(_program_files())
    if near is not None:
        lines = [line for line in _calls(near.file).get(name, []) if line <= near.line]
        if lines:
            return Place(near.file, lines[-1])
        files.insert(0, near.file)
    for file in files:
        lines = _calls(file).get(name, [])
        if lines:
            return Place(file, lines[0])
    return None


def of_object(thing: Any, near: Place | None) -> Place | None:
    """The line of a function, of the call that made an object, or of its class."""
    if isinstance(thing, types.FunctionType):
        return Place(thing.__code__.co_filename, thing.__code__.co_firstlineno)
    kind = thing if isinstance(thing, type) else type(thing)
    found = call_of(kind.__name__, near)
    if found is not None:
        return found
    try:
        file = inspect.getsourcefile(kind)
        place = Place(file or "", inspect.getsourcelines(kind)[1])
    except (OSError, TypeError):
        return near
    return place if file and is_own(file) else near


def _program_files() -> Iterator[str]:
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        library = name.partition(".")[0] in _LIBRARIES
        if isinstance(file, str) and file.endswith(".py") and not library and is_own(file):
            yield file


@functools.lru_cache(maxsize=256)
def _calls(file: str) -> dict[str, list[int]]:
    """The lines of all calls, by the last part of the called name."""
    try:
        with open(file, "rb") as source:
            tree = ast.parse(source.read())
    except (OSError, SyntaxError, ValueError):
        return {}
    found: dict[str, list[int]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "attr", None) or getattr(node.func, "id", None)
            if name is not None:
                found.setdefault(name, []).append(node.lineno)
    return {name: sorted(lines) for name, lines in found.items()}
