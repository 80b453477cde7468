"""The options of packing. pack/option_table.cpp describes them. pack(), Writer, dask.pack() and ray.pack() have them in
their signatures, where editors and type checkers see them. A test compares the signatures with the table."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from . import _penstock
from ._words import known_keywords

_OPTIONS = known_keywords(_penstock.PackOptions.__init__)
_HELP = dict(_penstock.pack_help())
_Type = TypeVar("_Type")


def packing_options(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Selects the keywords of _penstock.PackOptions from a function's arguments, its `locals()` on its first line."""
    options = {name: arguments[name] for name in _OPTIONS if name in arguments}
    options["classes"] = list(options["classes"])
    return options


def with_options(api: str) -> Callable[[_Type], _Type]:
    """Replaces the line {options} of a docstring with the help of the options that `api` has."""

    def fill(documented: _Type) -> _Type:
        text = documented.__doc__ or ""
        helped = re.sub(
            r"^( *)\{options\}$", lambda line: textwrap.indent(_HELP[api].rstrip(), line[1]), text, flags=re.M
        )
        documented.__doc__ = helped
        return documented

    return fill
