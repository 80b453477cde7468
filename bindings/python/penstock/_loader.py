"""The loader as programs see it: the compiled one, whose misuse is told in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _penstock
from ._words import known_keywords, no_keyword, python_signature, refuse

_NAME = "penstock.Loader"
_construct = _penstock.Loader.__init__

if TYPE_CHECKING:
    from ._penstock import Loader
else:

    class Loader(_penstock.Loader):
        __doc__ = _penstock.Loader.__doc__
        __slots__ = ()
        __signature__ = python_signature(_construct)

        def __init__(self, *source: Any, **options: Any) -> None:
            try:
                super().__init__(*source, **options)
            except TypeError as refusal:
                refuse(refusal, _NAME, _construct, source, options)

        __init__.__doc__ = _construct.__doc__

    Loader.__module__ = "penstock"


def require_options(function: str, options: dict[str, Any], *others: str) -> None:
    """Raises TypeError for one that is neither an option of Loader nor one of the others that `function` takes."""
    known = [*others, *known_keywords(_construct)]
    for option in options:
        if option not in known:
            raise TypeError(no_keyword(function, option, known))
