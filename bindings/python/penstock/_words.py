"""Explains in one sentence why the arguments of a call are wrong; the compiled part would list its whole signature."""

from __future__ import annotations

import ast
import difflib
import functools
import inspect
import operator
import re
import types
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NoReturn, TypeVar

from . import _penstock
from ._steps import called, taken

_Type = TypeVar("_Type")


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


def no_keyword(function: str, unknown: str, known: Iterable[str]) -> str:
    """Says that `function` has no keyword `unknown`, and suggests the closest known one."""
    known = list(known)
    sentence = f"{function}() has no keyword {unknown}"
    for where in ("parameter", "Loader"):
        ours, note = _penstock.hints(where).get(unknown, (None, ""))
        if ours == "":
            return f"{sentence}, and needs none: {note}"
        if ours in known:
            return sentence + _penstock.hint_for(where, unknown)
    if not known:
        return f"{sentence}; it has no keywords"
    close = difflib.get_close_matches(unknown, known, n=1, cutoff=0.6)
    if close:
        return f"{sentence}: did you mean {close[0]}?"
    return (
        f"{sentence}; expected {_listed(known)}"
        if len(known) <= 8
        else f"{sentence}; help({function}) lists its keywords"
    )


class _Signature:
    """Signature of a compiled function: its parameters, and the values that each accepts."""

    def __init__(self, function: Any) -> None:
        # Example: "def open(path: str, *, progress: object | None = \0) -> Dataset". \0 refers to the first of the
        # values beside it. A number after "\=" refers to a value that is given as text.
        text, _, values = function.__nb_signature__[0]
        text = re.sub(r"\\=\d+", "None", text)
        definition = ast.parse(re.sub(r"\\(\d+)", r"_\1", text) + ": ...").body[0]
        assert isinstance(definition, ast.FunctionDef)
        by_place = [argument for argument in definition.args.args if argument.arg != "self"]
        self.places = [argument.arg for argument in by_place]
        self.types = {argument.arg: argument.annotation for argument in (*by_place, *definition.args.kwonlyargs)}
        of_places = definition.args.defaults
        written = dict(zip(self.places[len(self.places) - len(of_places) :], of_places))
        for argument, default in zip(definition.args.kwonlyargs, definition.args.kw_defaults):
            if default is not None:
                written[argument.arg] = default
        self.defaults = {
            name: values[int(default.id[1:])] if isinstance(default, ast.Name) else ast.literal_eval(default)
            for name, default in written.items()
        }

    def python(self) -> inspect.Signature:
        parameters = []
        for name in self.types:
            kind = inspect.Parameter.POSITIONAL_OR_KEYWORD if name in self.places else inspect.Parameter.KEYWORD_ONLY
            default = self.defaults.get(name, inspect.Parameter.empty)
            parameters.append(inspect.Parameter(name, kind, default=default))
        return inspect.Signature(parameters)


@functools.lru_cache
def _signature(function: Any) -> _Signature:
    return _Signature(function)


def _whole(value: Any) -> int | None:
    """The value as an int, or None if it is not a whole number. Arrays have an __index__ that may raise."""
    try:
        return operator.index(value)
    except TypeError:
        return None


def _fits(value: Any, kind: ast.expr | None) -> bool:
    """Whether the compiled part accepts the value, judged by its type. True if unknown."""
    if kind is None:
        return True
    if isinstance(kind, ast.BinOp):
        return _fits(value, kind.left) or _fits(value, kind.right)
    if isinstance(kind, ast.Constant):
        return value is None
    if isinstance(kind, ast.Subscript):
        if _name(kind) == "Sequence":
            if isinstance(value, (str, bytes)) or not hasattr(value, "__len__") or not hasattr(value, "__getitem__"):
                return False
            return isinstance(value, Sequence) is False or all(_fits(entry, kind.slice) for entry in value)
        if _name(kind) in ("Mapping", "Iterable"):
            wanted = Mapping if _name(kind) == "Mapping" else Iterable
            return isinstance(value, wanted) and not isinstance(value, (str, bytes))
        return isinstance(value, dict) if _name(kind) == "dict" else callable(value)
    name = _name(kind)
    if isinstance(value, bool) and name in ("int", "float"):
        return False
    if name == "int":
        number = _whole(value)
        return number is not None and 0 <= number < 1 << 64
    if name == "float":
        return hasattr(value, "__float__")
    if name in ("bool", "str", "dict"):
        return isinstance(value, {"bool": bool, "str": str, "dict": dict}[name])
    if name == "PathLike":
        return hasattr(value, "__fspath__")
    return name == "object" or any(each.__name__ == name for each in type(value).__mro__)


def _name(kind: ast.expr | None) -> str:
    while isinstance(kind, ast.Subscript):
        kind = kind.value
    return kind.attr if isinstance(kind, ast.Attribute) else getattr(kind, "id", "")


_KINDS = {
    "int": "a whole number of 0 or more",
    "float": "a number",
    "bool": "True or False",
    "str": "a str",
    "dict": "a dict",
    "Callable": "a function",
    "PathLike": "a path",
}


# Descriptions of options whose type says too little.
_VALUES = {
    "batching": "ps.batching.by_length(), or None",
    "cache": '"encoded", "decoded", a penstock.CacheOptions or None',
    "delivery_log": "a path, or None",
    "finish_on": '"auto", "host" or "device"',
    "last_batch": '"keep", "drop" or "pad"',
    "max_errors": "a count such as 10, or a share such as 0.05",
    "missing": '"raise", "exclude", "empty", a number, or a dict of these by output',
    "shuffle": "True, False, ps.shuffle.blocks() or ps.shuffle.window()",
    "unreadable": "a list of keys of samples, or None",
    "workers": 'a whole number of 1 or more, "auto" or None',
    "mixture.datasets": 'a dict of datasets by names, {"web": dataset, ...}, or the path of a mixture\'s file',
    "mixture.weights": "a dict of a number for each source, {source: weight}",
    "mixture.stop": '"first_exhausted", "all_exhausted" or a number of samples',
    "mixture.sampling": '"shares" or "random"',
    "mixture.on_change": '"raise" or "carry"',
    "token_blocks.shuffle_documents": "a seed, a whole number of 0 or more, or None",
    "window.offsets": "a list, a number for each step of a row, such as range(-3, 1)",
}


# Their results go into a loader. Programs may pass the loader's options here by mistake.
_FOR_A_LOADER = ("penstock.mixture", "penstock.token_blocks", "penstock.window")


def _wanted(kind: ast.expr | None) -> str:
    if isinstance(kind, ast.BinOp):
        left, right = _wanted(kind.left), _wanted(kind.right)
        return f"{left} or {right}" if " or " not in left or left.endswith("more") else f"{left}, or {right}"
    if isinstance(kind, ast.Constant) or kind is None:
        return "None"
    if isinstance(kind, ast.Subscript) and _name(kind) == "Sequence":
        return f"a sequence, each entry {_wanted(kind.slice)}"
    if isinstance(kind, ast.Subscript) and _name(kind) == "dict":
        return "a dict of names and chains"
    name = _name(kind)
    return _KINDS.get(name, f"a penstock.{name}")


def misuse(name: str, function: Any, places: Sequence[Any], keywords: Mapping[str, Any]) -> str:
    """Explains why the compiled `function`, which is public as `name`, refuses these arguments."""
    signature = _signature(function)
    for keyword in keywords:
        if keyword not in signature.types:
            if name in _FOR_A_LOADER and keyword in known_keywords(_penstock.Loader.__init__):
                return f"{name}() has no keyword {keyword}: it is an option of penstock.Loader()"
            return no_keyword(name, keyword, signature.types)
    if len(places) > len(signature.places):
        few = len(signature.places)
        return (
            f"{name}() takes {few} positional argument{'s' if few != 1 else ''}, {_listed(signature.places)}, not "
            f"{len(places)}; pass the others by keyword"
        )
    given = dict(zip(signature.places, places))
    for keyword, value in keywords.items():
        if keyword in given:
            return f"{name}() was given {keyword} twice, by position and by keyword"
        given[keyword] = value
    for required in signature.types:
        if required not in given and required not in signature.defaults:
            return f"{name}() needs {required}"
    for keyword, value in given.items():
        if not _fits(value, signature.types[keyword]):
            kind = signature.types[keyword]
            wanted = _VALUES.get(f"{name.rpartition('.')[2]}.{keyword}") or _VALUES.get(keyword)
            wanted = wanted if wanted and _name(kind) != "int" else _wanted(kind)
            return f"{name}(): {keyword} must be {wanted}, not {called(value)}"
    for keyword, value in given.items():  # some numbers have 32 bits
        if (_whole(value) or 0) >= 1 << 32:
            return f"{name}(): {keyword} cannot be as large as {called(value)}"
    told = ", ".join(f"{keyword}={called(value)}" for keyword, value in given.items())
    return f"{name}() cannot take {told}"


def require_no_bools(name: str, function: Any, places: Sequence[Any], keywords: Mapping[str, Any]) -> None:
    """Raises TypeError for True or False where a number is expected. The compiled `function` would accept them as
    numbers."""
    if not any(isinstance(value, bool) for value in (*places, *keywords.values())):
        return
    signature = _signature(function)
    for keyword, value in (*zip(signature.places, places), *keywords.items()):
        if isinstance(value, bool) and keyword in signature.types and not _fits(value, signature.types[keyword]):
            raise TypeError(misuse(name, function, places, keywords))


def refuse(
    refusal: TypeError, name: str, function: Any, places: Sequence[Any], keywords: Mapping[str, Any]
) -> NoReturn:
    """Raises the TypeError of a compiled function again. If it is about the arguments, the new text explains it."""
    if str(refusal).startswith(f"{function.__name__}(): incompatible function arguments"):
        raise TypeError(misuse(name, function, places, keywords)) from None
    raise refusal


def text_of(compiled: Any) -> str:
    """The docstring of a compiled function, without the signature at its start."""
    text = compiled.__doc__ or ""
    return text.partition("\n\n")[2] if text.startswith(f"{compiled.__name__}(") else text


def _sign(wrapper: Any, signature: inspect.Signature) -> None:
    del wrapper.__wrapped__  # its signature is text in nanobind's own form
    wrapper.__signature__ = signature


def worded(name: str, function: _Type) -> _Type:
    """Wraps a compiled function or class, which is public as `name`, so that wrong arguments are explained."""
    compiled: Any = function
    described = vars(compiled)["__init__"] if isinstance(compiled, type) else compiled

    @functools.wraps(compiled)
    def call(*places: Any, **keywords: Any) -> Any:
        require_no_bools(name, described, places, keywords)
        try:
            return compiled(*places, **keywords)
        except TypeError as refusal:
            refuse(refusal, name, described, places, keywords)

    call.__module__ = "penstock"
    call.__name__ = call.__qualname__ = name.rsplit(".", 1)[1]
    _sign(call, python_signature(described))
    return call  # type: ignore[return-value]


def worded_methods(name: str, compiled: type) -> dict[str, Any]:
    """The public methods of a compiled class, for a Python subclass that is public as `name`. Their wrong arguments are
    explained."""
    methods = {method: each for method, each in vars(compiled).items() if type(each).__name__ == "nb_method"}
    return {method: _worded_method(f"{name}.{method}", each) for method, each in methods.items() if method[0] != "_"}


def _worded_method(name: str, compiled: Any) -> Any:
    @functools.wraps(compiled)
    def call(self: Any, *places: Any, **keywords: Any) -> Any:
        try:
            return compiled(self, *places, **keywords)
        except TypeError as refusal:
            refuse(refusal, name, compiled, places, keywords)

    call.__doc__ = text_of(compiled)
    call.__module__, _, call.__qualname__ = name.partition(".")
    _sign(call, python_signature(compiled, "self"))
    return call


def worded_steps(compiled: _Type) -> _Type:
    """Wraps a compiled module of transforms, such as penstock.image. The error for an unknown transform or argument
    suggests the closest one."""
    source: Any = compiled
    module = types.ModuleType(f"penstock.{source.__name__.rpartition('.')[2]}", source.__doc__)
    steps = {step: each for step, each in vars(source).items() if type(each).__name__ == "nb_func"}
    for step, each in steps.items():
        setattr(module, step, worded_step(f"{module.__name__}.{step}", each))

    def unknown(step: str) -> NoReturn:
        theirs = step.lower().replace("_", "")
        if _penstock.hints("step").get(theirs, ("", ""))[0] in steps:
            raise AttributeError(f"{module.__name__} has no step {step!r}{_penstock.hint_for('step', theirs)}")
        close = difflib.get_close_matches(step, steps, n=1, cutoff=0.6)
        meant = f"did you mean {close[0]}?" if close else f"it has {', '.join(sorted(steps))}"
        raise AttributeError(f"{module.__name__} has no step {step!r}: {meant}")

    module.__getattr__ = unknown  # type: ignore[method-assign]
    return module  # type: ignore[return-value]


def worded_step(name: str, step: _Type) -> _Type:
    compiled: Any = step
    known = known_keywords(compiled)

    @functools.wraps(compiled)
    def call(*places: Any, **keywords: Any) -> Any:
        for keyword in keywords:
            if keyword not in known:
                raise TypeError(no_keyword(name, keyword, known))
        names = [*known, *(f"argument {place + 1}" for place in range(len(known), len(places)))]
        return compiled(
            *(taken(name, parameter, value) for parameter, value in zip(names, places)),
            **{keyword: taken(name, keyword, value) for keyword, value in keywords.items()},
        )

    call.__module__ = name.rpartition(".")[0]
    call.__qualname__ = call.__name__ = name.rpartition(".")[2]
    _sign(call, python_signature(compiled))
    return call  # type: ignore[return-value]


def python_signature(function: Any, *first: str) -> inspect.Signature:
    """Signature of a compiled function, for help() and for editors, after the parameters `first`."""
    signature = _Signature(function).python()
    before = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in first]
    return signature.replace(parameters=[*before, *signature.parameters.values()])


def known_keywords(function: Any) -> list[str]:
    """Keywords of a compiled function."""
    return list(_Signature(function).types)


def keywords_in_words(function: _Type) -> _Type:
    """Wraps a Python function so that the error for an unknown keyword suggests the closest one."""
    plain: Any = function
    known = [parameter for parameter in inspect.signature(plain).parameters if parameter != "self"]
    module = plain.__module__ if "._" not in plain.__module__ else "penstock"
    name = f"{module}.{plain.__qualname__.replace('.__init__', '')}"

    @functools.wraps(plain)
    def call(*places: Any, **keywords: Any) -> Any:
        for keyword in keywords:
            if keyword not in known:
                raise TypeError(no_keyword(name, keyword, known))
        return plain(*places, **keywords)

    return call  # type: ignore[return-value]
