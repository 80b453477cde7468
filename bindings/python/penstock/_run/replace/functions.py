"""Reads functions of the program: the one of set_transform(), and a collate function. Each statement has a known form, or
the function is refused: others may have effects that penstock would not repeat."""

from __future__ import annotations

import ast
import inspect
import types
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, Union

import torch

from .definitions import definition_of
from .originals import name_of
from .places import Place, Refused, is_own, of_object


class Transformed(NamedTuple):
    """[transform(image.convert("RGB")) for image in batch[column]]"""

    column: str
    transform: Any
    converts: bool
    """Whether images are converted to RGB."""


Value = Union[str, Transformed]
"""The name of an unchanged column, or images."""


class Joined(NamedTuple):
    """torch.stack() or torch.tensor() of a key of all items."""

    key: str
    of_images: bool


class Function:
    """A function with one parameter, and its statements."""

    def __init__(self, function: Any, option: str, made: Place | None) -> None:
        """option: where the program passes it. Raises Refused."""
        self._option = f"{option}({name_of(function)})"
        if not isinstance(function, types.FunctionType):
            raise Refused(of_object(function, made), self._option, "is not a function with a def statement")
        self._function, self._code = function, function.__code__
        if not is_own(self._code.co_filename):
            raise Refused(made, self._option, "is a function of a library that penstock does not know")
        place = Place(self._code.co_filename, self._code.co_firstlineno)
        found = definition_of(self._code, self._code.co_filename)
        if found is None:
            raise Refused(place, self._option, "has no source in its file, or is a lambda")
        arguments = found.args
        one = len(arguments.args) == 1 and not (arguments.posonlyargs or arguments.kwonlyargs or arguments.defaults)
        if not one or arguments.vararg or arguments.kwarg or function.__defaults__:
            raise Refused(place, self._option, "does not have one parameter")
        self.parameter = arguments.args[0].arg
        self.definition = found
        self.body = found.body[1:] if ast.get_docstring(found) is not None else found.body

    def refused(self, node: ast.AST, reason: str = "may have effects that penstock does not repeat") -> Refused:
        shown = ast.unparse(node).splitlines()[0]
        shown = shown if len(shown) <= 60 else f"{shown[:57]}..."
        return Refused(Place(self._code.co_filename, getattr(node, "lineno", 0)), f"{self._option}: {shown}", reason)

    def is_parameter(self, node: ast.AST) -> bool:
        return isinstance(node, ast.Name) and node.id == self.parameter

    def outer(self, node: ast.AST, inside: str = "") -> Any:
        """The value of a name from outside the function. inside: the name of a variable of a comprehension."""
        if not isinstance(node, ast.Name) or node.id == inside:
            raise self.refused(node)
        if node.id in self._code.co_freevars:
            cell = (self._function.__closure__ or ())[self._code.co_freevars.index(node.id)]
            try:
                return cell.cell_contents
            except ValueError:
                raise self.refused(node, "has no value yet") from None
        is_own = node.id in self._code.co_varnames or node.id in self._code.co_cellvars
        if is_own or node.id not in self._function.__globals__:
            raise self.refused(node)
        return self._function.__globals__[node.id]

    def text(self, node: ast.AST, inside: str = "") -> str:
        """A string: a constant, a name, or an attribute such as args.image_column."""
        value: Any = None
        if isinstance(node, ast.Constant):
            value = node.value
        elif isinstance(node, ast.Attribute):
            owner = self.outer(node.value, inside)
            if type(owner).__getattribute__ in (object.__getattribute__, types.ModuleType.__getattribute__):
                value = inspect.getattr_static(owner, node.attr, None)
        else:
            value = self.outer(node, inside)
        if type(value) is not str:
            raise self.refused(node, "is not the name of a column")
        return value

    def item_of(self, node: ast.AST, owner: str) -> str | None:
        """The key of `owner[key]`."""
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id == owner:
            return self.text(node.slice, inside=owner)
        return None


def _each(function: Function, node: ast.AST) -> tuple[str, ast.AST, ast.AST] | None:
    """(name, iterable, element) of [element for name in iterable]."""
    if not isinstance(node, ast.ListComp) or len(node.generators) != 1:
        return None
    loop = node.generators[0]
    if loop.ifs or loop.is_async or not isinstance(loop.target, ast.Name):
        raise function.refused(node)
    return loop.target.id, loop.iter, node.elt


# ---- set_transform() -------------------------------------------------------------------------------------------------


def transformed(function: Function, columns: Iterable[str]) -> dict[str, Value]:
    """The values of the dict that it makes of a batch with these columns. Raises Refused."""
    batch = _Batch(function, {name: name for name in columns})
    for statement in function.body:
        if isinstance(statement, ast.Return) and statement.value is not None:
            return batch.returned(statement.value)
        batch.run(statement)
    raise function.refused(function.definition, "does not return a dict")


class _Batch:
    """The batch of a function, and its local variables."""

    def __init__(self, function: Function, values: dict[str, Value]) -> None:
        self._function, self._values = function, values
        self._local: dict[str, Value] = {}
        self._images: Transformed | None = None

    def run(self, statement: ast.stmt) -> None:
        function = self._function
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target, value = statement.targets[0], self._value(statement.value)
            key = function.item_of(target, function.parameter)
            if key is not None:
                self._values[key] = value
                return
            if isinstance(target, ast.Name) and target.id != function.parameter:
                self._local[target.id] = value
                return
        if isinstance(statement, ast.Delete) and len(statement.targets) == 1:
            key = function.item_of(statement.targets[0], function.parameter)
            if key is not None and self._values.pop(key, None) is not None:
                return
        raise function.refused(statement)

    def returned(self, node: ast.AST) -> dict[str, Value]:
        if self._function.is_parameter(node):
            return self._values
        return {key: self._value(value) for key, value in _display(self._function, node)}

    def _value(self, node: ast.AST) -> Value:
        if isinstance(node, ast.Name) and node.id in self._local:
            return self._local[node.id]
        key = self._function.item_of(node, self._function.parameter)
        if key is None:
            return self._transformed(node)
        if key not in self._values:
            raise self._function.refused(node, f"the dataset has no column {key!r}")
        return self._values[key]

    def _transformed(self, node: ast.AST) -> Transformed:
        function = self._function
        each = _each(function, node)
        if each is None:
            raise function.refused(node)
        name, images, made = each
        column = self._value(images)
        if not isinstance(column, str) or not isinstance(made, ast.Call) or made.keywords or len(made.args) != 1:
            raise function.refused(node)
        image, converts = made.args[0], _is_conversion(made.args[0])
        if converts:
            image = image.func.value  # type: ignore[attr-defined]
        if not isinstance(image, ast.Name) or image.id != name:
            raise function.refused(node)
        if self._images is not None:  # it would also draw random numbers
            raise function.refused(node, "is a second list of images")
        self._images = Transformed(column, function.outer(made.func, inside=name), converts)
        return self._images


def _is_conversion(node: ast.AST) -> bool:
    """Whether it is `X.convert("RGB")`."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr != "convert":
        return False
    return not node.keywords and len(node.args) == 1 and getattr(node.args[0], "value", None) == "RGB"


def _display(function: Function, node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    if not isinstance(node, ast.Dict):
        raise function.refused(node)
    for key, value in zip(node.keys, node.values):
        if key is None:
            raise function.refused(node)
        yield function.text(key), value


# ---- Collate functions -----------------------------------------------------------------------------------------------


def collated(function: Function) -> dict[str, Joined]:
    """The tensors of the dict that it makes of items. Raises Refused."""
    items = _Items(function)
    for statement in function.body:
        if isinstance(statement, ast.Return) and statement.value is not None:
            return {key: items.joined(value) for key, value in _display(function, statement.value)}
        items.run(statement)
    raise function.refused(function.definition, "does not return a dict")


class _Items:
    """The items of a collate function, and its local variables."""

    def __init__(self, function: Function) -> None:
        self._function = function
        self._lists: dict[str, str | None] = {}  # the key of each list; None for an empty one
        self._tensors: dict[str, Joined] = {}

    def run(self, statement: ast.stmt) -> None:
        if isinstance(statement, ast.For) and self._function.is_parameter(statement.iter) and not statement.orelse:
            self._append(statement)
            return
        target = statement.targets[0] if isinstance(statement, ast.Assign) and len(statement.targets) == 1 else None
        if not isinstance(target, ast.Name) or target.id == self._function.parameter:
            raise self._function.refused(statement)
        value = statement.value  # type: ignore[attr-defined]
        is_list = isinstance(value, (ast.List, ast.ListComp))
        made: Any = self._keys(value) if is_list else self.joined(value)
        self._lists.pop(target.id, None)
        self._tensors.pop(target.id, None)
        (self._lists if is_list else self._tensors)[target.id] = made

    def joined(self, node: ast.AST) -> Joined:
        if isinstance(node, ast.Name) and node.id in self._tensors:
            return self._tensors[node.id]
        function = self._function
        called = node.func if isinstance(node, ast.Call) and not node.keywords and len(node.args) == 1 else None
        if not isinstance(called, ast.Attribute) or called.attr not in ("stack", "tensor"):
            raise function.refused(node)
        if function.outer(called.value) is not torch:
            raise function.refused(node)
        key = self._keys(node.args[0])  # type: ignore[attr-defined]
        if key is None or not isinstance(getattr(torch, called.attr), types.BuiltinFunctionType):
            raise function.refused(node)
        return Joined(key, called.attr == "stack")

    def _keys(self, node: ast.AST) -> str | None:
        """The key of a list with a value of each item; None for an empty list."""
        if isinstance(node, ast.Name) and node.id in self._lists:
            return self._lists[node.id]
        if isinstance(node, ast.List) and not node.elts:
            return None
        each = _each(self._function, node)
        key = None
        if each is not None and self._function.is_parameter(each[1]):
            key = self._function.item_of(each[2], each[0])
        if key is None:
            raise self._function.refused(node)
        return key

    def _append(self, loop: ast.For) -> None:
        """A loop that appends a value of each item to empty lists."""
        name = loop.target.id if isinstance(loop.target, ast.Name) else ""
        if not name or name in (*self._lists, *self._tensors, self._function.parameter):
            raise self._function.refused(loop)
        found: dict[str, str] = {}
        for statement in loop.body:
            call = statement.value if isinstance(statement, ast.Expr) else None
            if not isinstance(call, ast.Call) or call.keywords or len(call.args) != 1:
                raise self._function.refused(statement)
            method, key = call.func, self._function.item_of(call.args[0], name)
            owner = method.value if isinstance(method, ast.Attribute) and method.attr == "append" else None
            if key is None or not isinstance(owner, ast.Name) or owner.id in found:
                raise self._function.refused(statement)
            if self._lists.get(owner.id, "") is not None:
                raise self._function.refused(statement)
            found[owner.id] = key
        self._lists.update(found)
