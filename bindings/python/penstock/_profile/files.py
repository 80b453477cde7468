"""Finds the files that a loader reads, as penstock would open them."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import tempfile
from collections.abc import Iterator, Sequence
from typing import Any

from .. import _error
from .._penstock import Dataset, shown_place
from .._penstock import open as _open
from .about import is_own, layers

_DEEP = 8


@dataclasses.dataclass(frozen=True)
class Found:
    """An open dataset, and the part of it that the loader reads."""

    dataset: Dataset
    subset: list[int] | None = None  # sample numbers; None: all
    columns: tuple[str, ...] = ()  # fields that the loader names; empty: all
    told: str = ""  # description for people


def refused(cause: str) -> _error.Error:
    return _error.made("unsupported", f"ps.profile(): compare() cannot see the files of this loader: {cause}")


@contextlib.contextmanager
def found(wrapped: Any, source: str | os.PathLike[str] | None) -> Iterator[Found]:
    """Raises Error if nothing is found. If the loader found the data itself, no index file is left beside them."""
    with contextlib.ExitStack() as stack:
        if source is not None:
            yield Found(_open(source), told=shown_place(source))
            return
        if is_own(wrapped):
            raise refused("it is a penstock loader already; name other files with compare(path)")
        for dataset in _datasets(wrapped):
            for look in (_samples, _tars, _hdf5):
                seen = look(dataset, stack)
                if seen is not None:
                    yield seen
                    return
        raise refused(
            f"{type(wrapped).__name__} has neither a dataset with .samples or .imgs of (path, class), as ImageFolder, nor urls "
            "of tar shards, as WebDataset, nor an h5py file. Pass any path that ps.open() accepts: "
            'compare("train.tar.d")'
        )


def _datasets(wrapped: Any) -> Iterator[Any]:
    """The datasets that the layers of a loader hold, and the layers themselves."""
    for layer in layers(wrapped):
        dataset = getattr(layer, "dataset", None)
        if dataset is not None:
            yield from layers(dataset)
        yield layer


def _inside(dataset: Any) -> tuple[Any, list[int] | None]:
    """Unwraps torch's Subset, also nested: returns the dataset and the numbers of its samples."""
    numbers: list[int] | None = None
    for _ in range(_DEEP):
        inner, indices = getattr(dataset, "dataset", None), getattr(dataset, "indices", None)
        if inner is None or indices is None:
            break
        indices = [int(index) for index in indices]
        numbers = indices if numbers is None else [indices[number] for number in numbers]
        dataset = inner
    return dataset, numbers


# ---- Files of one sample each ----------------------------------------------------------------------------------------


def _samples(dataset: Any, stack: contextlib.ExitStack) -> Found | None:
    dataset, numbers = _inside(dataset)
    for name in ("samples", "imgs"):
        listed = getattr(dataset, name, None)
        if isinstance(listed, Sequence) and len(listed) > 0 and _is_sample(listed[0]):
            paths = [os.path.abspath(sample[0]) for sample in listed]
            return _folder(paths if numbers is None else [paths[number] for number in numbers], _root(dataset, paths))
    return None


def _is_sample(listed: Any) -> bool:
    return isinstance(listed, (tuple, list)) and len(listed) > 0 and isinstance(listed[0], (str, os.PathLike))


def _root(dataset: Any, paths: list[str]) -> str:
    told = getattr(dataset, "root", None)
    if isinstance(told, (str, os.PathLike)) and all(path.startswith(os.path.abspath(told) + os.sep) for path in paths):
        return os.path.abspath(told)
    return os.path.commonpath([os.path.dirname(path) for path in paths])


def _folder(paths: list[str], root: str) -> Found:
    dataset = _open(root)
    numbers = {key: number for number, key in enumerate(dataset.keys)}
    subset, lost = [], []
    for path in paths:
        number = _number(numbers, os.path.relpath(path, root))
        if number is None:
            lost.append(path)
        else:
            subset.append(number)
    if lost:
        raise refused(
            f"{len(lost):,} of its {len(paths):,} files are not samples of {root} as penstock opens it, such as "
            f"{lost[0]}"
        )
    everything = len(subset) == len(numbers) == len(set(subset))
    return Found(dataset, None if everything else subset, told=f"{len(paths):,} files of {root}")


def _number(numbers: dict[str, int], path: str) -> int | None:
    """Number of the sample whose key is the path without one or more extensions."""
    folder, name = os.path.split(path)
    while "." in name:
        name = name.rpartition(".")[0]
        number = numbers.get(f"{folder}/{name}" if folder else name)
        if number is not None:
            return number
    return None


# ---- Tar shards ------------------------------------------------------------------------------------------------------


def _tars(dataset: Any, stack: contextlib.ExitStack) -> Found | None:
    listed = getattr(dataset, "urls", None)
    if not isinstance(listed, (list, tuple)) or not listed:
        return None
    urls = [url.get("url") if isinstance(url, dict) else url for url in listed]
    paths = []
    for url in urls:
        path = str(url).removeprefix("file:")
        if not os.path.isfile(path):
            raise refused(f"{url} is not a file on this machine")
        if not path.endswith(".tar"):
            raise refused(f"{url} is not an uncompressed tar; convert it with `penstock pack`")
        paths.append(os.path.abspath(path))
    folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="penstock-profile-"))  # also holds the indexes
    for number, path in enumerate(dict.fromkeys(paths)):
        os.symlink(path, os.path.join(folder, f"{number:06}.tar"))
    return Found(_open(folder), told=f"{len(set(paths)):,} tar shards, {paths[0]} first")


# ---- HDF5 ------------------------------------------------------------------------------------------------------------


def _hdf5(dataset: Any, stack: contextlib.ExitStack) -> Found | None:
    dataset, numbers = _inside(dataset)
    path, columns = "", []
    for value in list(getattr(dataset, "__dict__", {}).values()):
        if type(value).__module__.split(".")[0] == "h5py":
            file, column = _of_h5py(value)
            path = file or path
            columns += [column] if column else []
        elif (
            isinstance(value, (str, os.PathLike))
            and os.fspath(value).endswith((".h5", ".hdf5"))
            and os.path.isfile(value)
        ):
            path = path or os.fspath(value)
    return Found(_open(path), numbers, tuple(columns), path) if path else None


def _of_h5py(value: Any) -> tuple[str, str]:
    """The file, and the field if the value is a dataset in it."""
    try:
        return value.file.filename, value.name.strip("/") if hasattr(value, "dtype") else ""
    except Exception:  # the file was closed
        return "", ""
