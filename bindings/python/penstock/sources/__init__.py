"""Sources of samples for penstock.pack beyond packed datasets and folders of files.

Each source is an iterable of dicts with a key (`"__key__"`) and values as penstock.encode takes them. A source with a
known number of samples has a `len()`. For a Parquet file, a folder of Parquet files or of Petastorm, and a dataset of
Hugging Face or torch, penstock.pack chooses the source. Name the source to give it options. penstock.open opens
CSV and JSON tables of paths.
"""

from __future__ import annotations

import os
import pathlib
from collections.abc import Sequence
from typing import Any

from .. import _penstock
from ._huggingface import huggingface, is_hugging_face
from ._parquet import parquet
from ._petastorm import petastorm, unischema_of
from ._source import ItemError, Plain, Source
from ._torch import torch

__all__ = ["ItemError", "Source", "choose", "huggingface", "parquet", "petastorm", "torch"]


def choose(source: Any, fields: Any = None, classes: Sequence[str] = ()) -> Source | None:
    """Returns the source that suits `source`, with its defaults. None for a packed dataset or a folder of files, which
    penstock opens itself. `fields` names the parts of tuples, or maps columns to fields. `classes` are for a torch
    dataset without class names."""
    if isinstance(source, _penstock.Dataset):
        return None
    if isinstance(source, Source):
        return source
    if isinstance(source, (str, os.PathLike)):
        return _of_path(pathlib.Path(source), fields)
    if is_hugging_face(source):
        return huggingface(source, fields=fields)
    if hasattr(source, "__iter__"):
        return Plain(source, fields)
    if hasattr(source, "__getitem__") and hasattr(source, "__len__"):
        own = getattr(source, "classes", ())
        return torch(source, fields=fields, classes=() if own else classes)
    if isinstance(source, _penstock.Mixture):
        raise TypeError("a mixture is an order for a Loader; pass its .dataset to pack the samples of all sources")
    raise TypeError(f"{type(source).__qualname__} is neither a path nor an iterable of samples")


def _of_path(path: pathlib.Path, fields: Any) -> Source | None:
    if path.suffix.lower() == ".parquet" and path.is_file():
        return parquet(path, fields=fields)
    if not path.is_dir():
        return None
    if (path / "state.json").is_file() and (path / "dataset_info.json").is_file():
        return huggingface(path, fields=fields)
    if (path / "_common_metadata").is_file() and unischema_of(path) is not None:
        return petastorm(path, fields=fields)
    return parquet(path, fields=fields) if _only_parquet(path) else None


def _only_parquet(folder: pathlib.Path) -> bool:
    """Whether the files in a folder, or in its first subfolder, are Parquet files."""
    for path, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name[0] not in "._")[:1]
        samples = [name for name in names if name[0] not in "._"]
        if samples:
            return any(name.endswith(".parquet") for name in samples)
    return False
