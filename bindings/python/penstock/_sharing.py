"""Loaders of several processes that share one stream of batches."""

from __future__ import annotations

import contextlib
import pickle
from collections.abc import Mapping
from typing import Any

from . import _penstock
from ._error import made
from ._loader import Loader, require_options
from ._processes.packers import packers

_LONGEST_RECIPE = 32 << 20  # bytes
_OWN = ("delivery_log", "all_reduce")  # options that each loader needs for itself


def recipe_of(dataset: object, options: Mapping[str, Any]) -> bytes:
    """The arguments of a Loader as bytes, for attach(). Empty if they cannot be pickled."""
    given = {name: value for name, value in options.items() if name not in _OWN}
    for packer in packers():
        with contextlib.suppress(Exception):  # whatever an object raises
            recipe = packer((dataset, given))
            return recipe if len(recipe) <= _LONGEST_RECIPE else b""
    return b""


def share(
    name: str,
    dataset: Any,
    *,
    consumers: int = 1,
    lag: int = 8,
    behind: str = "wait",
    patience: float = 30.0,
    **options: Any,
) -> Loader:
    """Makes a loader that shares its batches with the loaders of other processes.

        loader = ps.share("search", "train.tar.d", consumers=8, batch_size=64, shuffle=True, transforms={...})

    Every training runs the same line. Each batch is built once, in the process that came first. The others use it from
    that memory. If this process ends, even if it is killed, another one takes over. Each loader has its own position
    and state, and gets the bytes that a loader without sharing gets.

    name: loaders of this user on this machine with the same name share batches. They must have the same dataset, seed,
      transforms, batch size and rank. Their own functions (batch_transform, ps.transform()) may differ: each runs its
      own. Different names for training and validation.
    dataset: a path, a Dataset, or a Mixture.
    consumers: loaders that the first batch waits for. Later loaders begin where the slowest one is.
    lag: limit in batches between fastest and slowest.
    behind: "wait": the others wait for a loader that is `lag` batches behind. "build": it builds for itself the batches
      that the others have passed.
    patience: seconds that the others wait for a loader that takes no batch. A loader waits equally long for the process
      that builds. Then they continue, with the same bytes.
    options: of Loader. Not `device`: copy batches to the device in your loop.

    You may change the values of a batch in place: no other process sees it. Raises Error: invalid_argument, if the
    loaders with that name have other options; resource, if the name belongs to another user.
    """
    require_options("penstock.share", options, "name", "dataset", "consumers", "lag", "behind", "patience")
    sharing = _penstock.SharingOptions(name, consumers=consumers, lag=lag, behind=behind, patience=patience)
    return Loader(dataset, sharing=sharing, **options)


def attach(name: str, **changes: Any) -> Loader:
    """Makes a loader like those that share batches under this name, and shares with them.

        loader = ps.attach("search")

    The process that builds the batches passes its arguments of share() on. They are pickled, so functions must be
    importable, or cloudpickle installed. Only processes of the same user are asked.

    changes: options that are different here, such as batch_transform or prefetch.

    Raises Error: invalid_argument, if no loader shares batches under this name, or if its arguments cannot be pickled;
    call share() with the same arguments instead.
    """
    recipe = _penstock.sharing_recipe(name)
    if recipe is None:
        raise made("invalid_argument", f'no loader of this user shares batches as "{name}" on this machine')
    if not recipe:
        raise made(
            "invalid_argument",
            f'the loader that shares batches as "{name}" has arguments that cannot be pickled; call ps.share() with the '
            "same arguments",
        )
    dataset, options = pickle.loads(recipe)
    return Loader(dataset, **{**options, **changes})
