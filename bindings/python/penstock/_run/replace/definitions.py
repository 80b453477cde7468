"""The source of functions of the program."""

from __future__ import annotations

import ast
import functools
import types
from collections.abc import Iterator

_CODE = ("co_code", "co_names", "co_varnames", "co_freevars", "co_cellvars", "co_flags", "co_firstlineno", "co_name")
_COUNTS = ("co_argcount", "co_posonlyargcount", "co_kwonlyargcount")


@functools.lru_cache(maxsize=64)
def definition_of(code: types.CodeType, file: str) -> ast.FunctionDef | None:
    """None if the file does not contain this code: the program made it in another way, or someone edited the file."""
    try:
        with open(file, "rb") as opened:
            source = opened.read()
        tree, compiled = ast.parse(source), compile(source, file, "exec", dont_inherit=True)
    except (OSError, SyntaxError, ValueError):
        return None
    if not any(_is_same(code, other) for other in _codes(compiled)):
        return None
    defined = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == code.co_name]
    return next((node for node in defined if _first_line(node) == code.co_firstlineno), None)


def _first_line(node: ast.FunctionDef) -> int:
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def _is_same(one: types.CodeType, other: types.CodeType) -> bool:
    """Unlike ==, ignores what the interpreter changes while it runs the code."""
    if any(getattr(one, name) != getattr(other, name) for name in (*_CODE, *_COUNTS)):
        return False
    if len(one.co_consts) != len(other.co_consts):
        return False
    for mine, their in zip(one.co_consts, other.co_consts):
        if type(mine) is not type(their):
            return False
        if not (_is_same(mine, their) if isinstance(mine, types.CodeType) else mine == their):
            return False
    return True
