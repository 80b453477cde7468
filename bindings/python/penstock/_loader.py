"""The public Loader: the compiled loader, with error messages for wrong arguments."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NoReturn

from . import _penstock
from ._html import of_loader
from ._own.functions import ChainState, Transform
from ._warn import warn
from ._words import known_keywords, no_keyword, python_signature, refuse, require_no_bools, text_of, worded_methods
from .sampler import sampler_of

_NAME = "penstock.Loader"
_construct = _penstock.Loader.__init__

_told_of_ranks = False  # warn once per process, because all its loaders have the same problem


def warn_of_ranks(options: Mapping[str, Any], group: tuple[int, int] | None = None) -> None:
    """Warns if a launcher started several processes and this loader was not given its rank.

    group: rank and world size in a process group. Launchers such as Lightning's do not set RANK. None: the variables of
      torchrun.
    """
    global _told_of_ranks
    if _told_of_ranks or "rank" in options or "world_size" in options:
        return
    if group is not None:
        (rank, world), source = group, "torch.distributed says"
        own = "rank=torch.distributed.get_rank(), world_size=torch.distributed.get_world_size()"
    else:
        named = os.environ.get("RANK", ""), os.environ.get("WORLD_SIZE", "")
        if not all(number.isdecimal() for number in named):
            return
        (rank, world), source, own = map(int, named), "RANK and WORLD_SIZE say", 'rank="env"'
    if world < 2:
        return
    _told_of_ranks = True
    warn(
        f"penstock: {source} that this is process {rank} of {world}, but the loader was given neither rank nor "
        f"world_size, so every process reads all samples. Pass {own} to give each process its share, or rank=0, "
        "world_size=1 if every process shall read all samples"
    )


def warn_of_items_left(transforms: Mapping[str, Any] | None) -> None:
    """Warns if boxes are dropped while other lists, which may belong to them, do not follow them."""
    dropping: str | None = None
    left: list[str] = []
    for output, value in (transforms or {}).items():
        chain = value.chain if isinstance(value, Transform) else value
        if not isinstance(chain, _penstock.Chain):
            continue
        follows = ChainState.of(chain).followed is not None
        for first in _penstock.steps_of(chain)[:1]:
            if follows and first.drops_items:
                dropping = dropping or output
            elif not follows and first.lists_items:
                left.append(output)
    if dropping is not None and left:
        warn(
            f'penstock: "{dropping}" drops boxes, but "{left[0]}" keeps all its items; if they belong to the boxes, '
            f'use ps.follow("{dropping}") | ps.array.decode(...), which drops them too'
        )


if TYPE_CHECKING:
    from ._penstock import Loader
else:

    class Loader(_penstock.Loader):
        __module__ = "penstock"
        __doc__ = _penstock.Loader.__doc__
        __slots__ = ()
        __signature__ = python_signature(_construct)

        def __init__(self, *dataset: Any, **options: Any) -> None:
            require_no_bools(_NAME, _construct, dataset, options)
            if options.get("sampler") is not None:
                given, options["sampler"] = options["sampler"], sampler_of(options["sampler"])
                # torch samplers that map to "weighted" are random
                if options["sampler"].kind == "weighted" or options["sampler"] is not given:
                    options.setdefault("shuffle", True)
            try:
                super().__init__(*dataset, **options)
            except TypeError as refusal:
                refuse(refusal, _NAME, _construct, dataset, options)
            warn_of_ranks(options)
            warn_of_items_left(options.get("transforms"))

        vars().update(worded_methods(_NAME, _penstock.Loader))

        def __getitem__(self, place: object) -> NoReturn:
            """Raises TypeError: use at() for a batch, and loader.dataset[i] for a sample."""
            raise TypeError(
                f"a {_NAME} is not a list of samples: `for batch in loader` is an epoch, loader.at(epoch, batch) is one "
                "batch, and loader.dataset[i] is one sample; pass a ps.torch.Loader to torch's DataLoader"
            )

        def _repr_html_(self) -> str:
            return of_loader(self)

        __init__.__doc__ = text_of(_construct)


def require_options(function: str, options: dict[str, Any], *others: str) -> None:
    """Raises TypeError for a keyword that is neither a Loader option nor one of `others`, which `function` takes."""
    known = [*others, *known_keywords(_construct)]
    for option in options:
        if option not in known:
            raise TypeError(no_keyword(function, option, known))
