"""Seeds the generators that a process shares (random, NumPy's, torch's, Albumentations') before each row."""

from __future__ import annotations

import builtins
import functools
import hashlib
import random
import struct
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any

_LIBRARIES = ("torch", "albumentations")  # seeded once imported; `random` and NumPy always are
# Builtins through which a function reaches objects that its code does not name.
_DOORS = {"__import__", "breakpoint", "compile", "eval", "exec", "getattr", "globals", "locals", "open", "vars"}
_DEEP = 8  # maximum nesting depth in the search for generators
_MANY = 10_000


def _names(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names(constant)


def _imports(code: types.CodeType) -> bool:
    import dis  # imported late, so that importing penstock does not wait for it

    return any(step.opname == "IMPORT_NAME" for step in dis.get_instructions(code)) or any(
        _imports(constant) for constant in code.co_consts if isinstance(constant, types.CodeType)
    )


def _of_numpy(thing: Any) -> bool:
    """Whether it is an array, number or function of NumPy that draws nothing. Excludes numpy.random, vectorize and
    object arrays, which may call foreign functions."""
    module = getattr(thing, "__module__", None) or type(thing).__module__
    if module.split(".")[0] != "numpy" or module.startswith("numpy.random") or isinstance(thing, types.ModuleType):
        return False
    if getattr(getattr(thing, "dtype", None), "hasobject", False) is True:
        return False
    return type(thing).__name__ != "vectorize" and "(vectorized)" not in getattr(thing, "__name__", "")


class _Looked:
    """Functions that were examined. Each is examined once, so recursion ends."""

    def __init__(self) -> None:
        self.seen: set[int] = set()

    def draws_nothing(self, thing: Any) -> bool:
        """Whether a function is known not to use a shared generator of the process. False if unknown."""
        if id(thing) in self.seen:
            return True
        self.seen.add(id(thing))
        if thing is None or isinstance(thing, (bool, int, float, complex, str, bytes)):
            return True
        if isinstance(thing, (tuple, list)):
            return len(thing) < _MANY and all(self.draws_nothing(each) for each in thing)
        if isinstance(thing, types.FunctionType):
            return self._function(thing)
        if isinstance(thing, functools.partial):
            return all(self.draws_nothing(part) for part in (thing.func, thing.args, tuple(thing.keywords.values())))
        if _of_numpy(thing):
            return True
        if getattr(thing, "__module__", None) == "builtins" and isinstance(thing, (types.BuiltinFunctionType, type)):
            return getattr(thing, "__self__", builtins) is builtins and thing.__name__ not in _DOORS
        return False

    def _function(self, function: types.FunctionType) -> bool:
        names = set(_names(function.__code__))
        uses_numpy = False
        for name in names:
            if name in function.__globals__:
                thing = function.__globals__[name]
                if isinstance(thing, types.ModuleType):
                    if thing.__name__ not in ("numpy", "math", "time"):
                        return False
                    uses_numpy |= thing.__name__ == "numpy"
                elif not self.draws_nothing(thing):
                    return False
            elif name in _DOORS:
                return False
        if (uses_numpy and "random" in names) or _imports(function.__code__):
            return False
        held = [cell.cell_contents for cell in function.__closure__ or () if _filled(cell)]
        held += [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
        return all(self.draws_nothing(each) for each in held)


def _filled(cell: Any) -> bool:
    try:
        cell.cell_contents
    except ValueError:
        return False
    return True


def _parts(thing: Any) -> Iterator[Any]:
    if isinstance(thing, types.FunctionType):
        yield from (cell.cell_contents for cell in thing.__closure__ or () if _filled(cell))
        yield from (thing.__globals__[name] for name in set(_names(thing.__code__)) if name in thing.__globals__)
        yield from thing.__defaults__ or ()
    elif isinstance(thing, types.MethodType):
        yield thing.__self__
        yield thing.__func__
    elif isinstance(thing, functools.partial):
        yield from (thing.func, *thing.args, *thing.keywords.values())
    elif isinstance(thing, dict):
        yield from thing.values()
    elif isinstance(thing, (list, tuple, set)):
        yield from thing
    elif hasattr(thing, "__dict__") and not isinstance(thing, (type, types.ModuleType)):
        yield from vars(thing).values()
        call = getattr(type(thing), "__call__", None)
        if isinstance(call, types.FunctionType):
            yield call


def _augmentations(functions: Sequence[Any]) -> list[Any]:
    """Albumentations objects that the functions hold, each with its own generator. If they are nested, only the
    outermost."""
    if "albumentations" not in sys.modules:
        return []
    found: list[Any] = []
    seen: set[int] = set()
    left = [(function, 0) for function in functions]
    while left and len(seen) < _MANY:
        thing, depth = left.pop()
        if id(thing) in seen or depth > _DEEP:
            continue
        seen.add(id(thing))
        if type(thing).__module__.split(".")[0] == "albumentations" or hasattr(thing, "set_random_seed"):
            if hasattr(thing, "set_random_seed") and not isinstance(thing, type):
                found.append(thing)
            continue
        left += [(part, depth + 1) for part in _parts(thing)]
    return found


class Seeds:
    """Seeds the process's generators for the functions of a loader, from (seed, epoch, sample), before each row. Does
    nothing if the functions are known to draw from none of these generators."""

    def __init__(self, functions: Sequence[Callable[..., Any]], wanted: bool | None = None) -> None:
        self._functions = list(functions)
        looked = _Looked()
        self.wanted = not all(map(looked.draws_nothing, self._functions)) if wanted is None else wanted
        self._augmentations: list[Any] = []
        if self.wanted:
            self.look()

    def look(self) -> None:
        """Searches again, because a library may have been imported in the meantime."""
        self._augmentations = _augmentations(self._functions)

    @staticmethod
    def known() -> tuple[bool, ...]:
        return tuple(library in sys.modules for library in _LIBRARIES)

    def set(self, seed: int, epoch: int, sample: int) -> None:
        drawn = hashlib.blake2b(struct.pack("<3Q", seed, epoch, sample), digest_size=8, person=b"penstock").digest()
        number = int.from_bytes(drawn, "little") >> 1
        random.seed(number)
        sys.modules["numpy"].random.seed(number & 0xFFFFFFFF)
        torch = sys.modules.get("torch")
        if torch is not None and hasattr(torch, "default_generator"):
            torch.default_generator.manual_seed(number)
        for each in self._augmentations:
            each.set_random_seed(number & 0x7FFFFFFF)

    @staticmethod
    def taken() -> Any:
        """State of the generators, for put_back()."""
        torch: Any = sys.modules.get("torch")
        of_torch = torch.default_generator.get_state() if hasattr(torch, "default_generator") else None
        return random.getstate(), sys.modules["numpy"].random.get_state(), of_torch

    @staticmethod
    def put_back(taken: Any) -> None:
        of_random, of_numpy, of_torch = taken
        random.setstate(of_random)
        sys.modules["numpy"].random.set_state(of_numpy)
        if of_torch is not None:
            sys.modules["torch"].default_generator.set_state(of_torch)
