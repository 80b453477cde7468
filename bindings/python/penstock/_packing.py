"""The options that pack(), Writer, dask.pack() and ray.pack() take alike. penstock.pack tells what they mean; each has
them in its signature, so that users and type checkers see them there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

OPTIONS = (
    "format",
    "shard_size",
    "align",
    "labels",
    "classes",
    "jpeg",
    "max_side",
    "decode",
    "presample",
    "point_order",
    "point_attributes",
    "workers",
    "on_error",
    "overwrite",
)


def packing_options(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Those of a function's arguments, its `locals()` on its first line, that are options of packing: what
    _penstock.PackOptions is made of."""
    options = {name: arguments[name] for name in OPTIONS if name in arguments}
    options["classes"] = list(options["classes"])
    return options
