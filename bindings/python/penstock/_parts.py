"""Shared by penstock.dask and penstock.ray: the workers of a cluster pack one dataset in parts."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from typing import Any

from . import Dataset, Error
from . import open as _open
from ._packing import packing_options
from ._penstock import is_address as _is_address
from ._penstock import shown_place as _shown_place

TELL_EVERY = 0.5  # seconds between progress reports of a part to the client
PATIENCE = 30  # seconds to wait for parts to stop
NOT_RETRIED = ("invalid_argument", "corrupt", "unsupported", "shape")  # a retry would fail again

_PART = re.compile(r"part-\d{5,}-of-(\d{5,})(\.partial)?")


class Stopped(Exception):
    """The client asked all parts to stop."""


def naming(part: str, failure: BaseException) -> Error:
    """The failure with the part in front of it."""
    named = Error(f"{part}: {failure if str(failure) else type(failure).__name__}")
    named.__dict__.update(getattr(failure, "__dict__", {}))
    return named


def absolute(
    source: str | os.PathLike[str] | Dataset, destination: str | os.PathLike[str]
) -> tuple[str | Dataset, str]:
    """Makes paths absolute, so that workers in other folders find them. Addresses and datasets stay as they are."""
    if _is_address(destination):
        raise _refusal(
            f"{_shown_place(destination)}: a cluster cannot pack to an object store; pack to a disk that all workers "
            "share, "
            "then copy the dataset with penstock stage"
        )
    if not isinstance(source, Dataset):
        source = os.fspath(source) if _is_address(source) else os.path.abspath(source)
    return source, os.path.abspath(destination)


def part_options(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The options of packing for each part, from the arguments of pack(). A part always resumes, because it may be a
    retry. finish_pack() writes the report."""
    return {**packing_options(arguments), "resume": True, "report": ""}


def prepare(source: str | Dataset, destination: str, resume: bool, overwrite: bool) -> tuple[int, int | None]:
    """Returns the number of samples in the source, and the number of parts of an interrupted run, if any. Builds the
    index now if there is none."""
    if os.path.lexists(destination) and not overwrite:
        raise _refusal(f"{destination} already exists; pass overwrite=True to replace it")
    partial = _partial(destination)
    there = [match for match in map(_PART.fullmatch, _names(partial)) if match]
    left = there or joins(destination)
    if left and not resume and not overwrite:
        raise _refusal(
            f"{partial} is left from a run that did not finish; pass resume=True to continue it, or overwrite=True to "
            "start again"
        )
    if left and not resume:
        shutil.rmtree(partial)
        there = []
    return len(_open(source)), int(there[0][1]) if there else None


def joins(destination: str) -> bool:
    """Whether an earlier run was stopped while it joined the parts."""
    return os.path.exists(os.path.join(_partial(destination), "joining.json"))


def _partial(destination: str) -> str:
    return destination + ".partial"


def _refusal(text: str) -> Error:
    error = Error(text)
    error.kind, error.cause = "invalid_argument", text
    return error


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except FileNotFoundError:
        return []
