"""The loader as programs see it: the compiled one, whose misuse is told in words."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from . import _penstock
from ._html import of_loader
from ._warn import warn
from ._words import known_keywords, no_keyword, python_signature, refuse, worded_methods

_NAME = "penstock.Loader"
_construct = _penstock.Loader.__init__

_told_of_ranks = False  # once in a process: its loaders are alike in that


def warn_of_ranks(options: Mapping[str, Any]) -> None:
    """Of a process among several that torchrun started, whose loader is not told so."""
    global _told_of_ranks
    if _told_of_ranks or "rank" in options or "world" in options:
        return
    rank, world = os.environ.get("RANK", ""), os.environ.get("WORLD_SIZE", "")
    if not rank.isdecimal() or not world.isdecimal() or int(world) < 2:
        return
    _told_of_ranks = True
    warn(
        f"penstock: RANK and WORLD_SIZE say that this is process {rank} of {world}, but the loader was given neither rank "
        'nor world, so every process reads all samples: rank="env" gives each its share, and rank=0, world=1 says that '
        "all is meant"
    )


if TYPE_CHECKING:
    from ._penstock import Loader
else:

    class Loader(_penstock.Loader):
        __module__ = "penstock"
        __doc__ = _penstock.Loader.__doc__
        __slots__ = ()
        __signature__ = python_signature(_construct)

        def __init__(self, *source: Any, **options: Any) -> None:
            try:
                super().__init__(*source, **options)
            except TypeError as refusal:
                refuse(refusal, _NAME, _construct, source, options)
            warn_of_ranks(options)

        vars().update(worded_methods(_NAME, _penstock.Loader))

        def _repr_html_(self) -> str:
            return of_loader(self)

        __init__.__doc__ = _construct.__doc__


def require_options(function: str, options: dict[str, Any], *others: str) -> None:
    """Raises TypeError for one that is neither an option of Loader nor one of the others that `function` takes."""
    known = [*others, *known_keywords(_construct)]
    for option in options:
        if option not in known:
            raise TypeError(no_keyword(function, option, known))
