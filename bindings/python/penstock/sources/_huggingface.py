"""Reads datasets of Hugging Face's `datasets` as a source. Images stay as they are stored."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .._encodings import FIRST_BYTES
from .._error import made
from ._arrow_types import is_file, plain
from ._arrow_values import bytes_in, class_in
from ._columns import Readers, Table, columns_of, rows_of, sample_of, tell_empty
from ._source import Items, Sample, Source, Told, item_error, number_key

_BATCH_ROWS = 64


def is_hugging_face(source: Any) -> bool:
    """Whether it is a datasets.Dataset, IterableDataset or DatasetDict. Does not import datasets."""
    return any(kind.__module__.partition(".")[0] == "datasets" for kind in type(source).__mro__)


class huggingface(Source):
    """The rows of a `datasets.Dataset` or `IterableDataset`, or of a folder that save_to_disk made, as samples.

        ps.pack(datasets.load_dataset("mnist", split="train"), "mnist.tar.d", format="tar")

    Images are not decoded: their stored bytes are packed. The names of a ClassLabel become the dataset's classes. Rows
    without a class (-1) have no `cls`. A transform set by set_transform is not applied.

    fields, key: as for penstock.sources.parquet.

    Raises Error: invalid_argument.
    """

    def __init__(
        self,
        dataset: Any,
        *,
        fields: Mapping[str, str] | None = None,
        key: str | None = None,
        classes: Sequence[str] = (),
    ) -> None:
        name = type(dataset).__qualname__
        if isinstance(dataset, (str, os.PathLike)):
            name, dataset = os.fspath(dataset), _loaded(dataset)
        if isinstance(dataset, Mapping):
            splits = ", ".join(map(str, dataset))
            raise made("invalid_argument", f"choose one of its splits: {splits}", dataset=name)
        features = dict(dataset.features or {})
        told = {column: list(kind.names) for column, kind in features.items() if hasattr(kind, "str2int")}
        length = len(dataset) if hasattr(dataset, "__len__") else None
        super().__init__(name, classes or next(iter(told.values()), []), length)
        self._told = Told(name)
        self._dataset = dataset.with_format("arrow")
        self._fields = fields
        self._class_names = told
        self._key = key or ("__key__" if "__key__" in features else None)
        if key is not None and features and key not in features:
            raise made("invalid_argument", f"unknown column {key!r} for the keys", dataset=name)

    def __iter__(self) -> Iterator[Sample]:
        """Iterates over the samples."""
        return Items(self._rows(), self._sample)

    def _rows(self) -> Iterator[tuple[int, Any, Any, list[Any]]]:
        number, columns, at = 0, None, []
        for table in self._dataset.iter(batch_size=_BATCH_ROWS):
            if columns is None:
                columns = self._columns(table)
                at = [table.schema.get_field_index(column.name) for column in columns]
            arrays = rows_of(table)
            keys = arrays[table.schema.get_field_index(self._key)] if self._key else None
            for i in range(table.num_rows):
                yield number, keys[i] if keys is not None else None, columns, [arrays[place][i] for place in at]
                number += 1
        tell_empty(columns or [], self._told)

    def _columns(self, table: Any) -> Any:
        told: Readers = {column: class_in for column in self._class_names if not self._fields or column in self._fields}
        skip = (self._key,) if self._key and not (self._fields and self._key in self._fields) else ()
        asked = Table(lambda name: _first(table, name), lambda name: self._arrays(table, name), self._told)
        return columns_of(table.schema, self._fields, asked, class_columns=told, skip=skip)

    def _arrays(self, table: Any, column: str) -> Iterator[Any]:
        """A column's rows; for a stream, only the first ones."""
        whole = self._dataset.select_columns([column]).iter(_BATCH_ROWS) if self._length is not None else [table]
        for some in whole:
            yield rows_of(some.select([column]))[0]

    def _sample(self, task: tuple[int, Any, Any, list[Any]]) -> Sample:
        number, key, columns, row = task
        if key is not None and not key.is_valid:
            null = f"the key column {self._key!r} is null"
            raise item_error(self.name, number_key(number), null, where=f"row {number}")
        name = number_key(number) if key is None else str(key.as_py())
        return sample_of(self.name, number, name, columns, row, self._told)


def _loaded(path: Any) -> Any:
    try:
        import datasets
    except ImportError:
        raise ImportError(
            "reading a dataset from save_to_disk needs the package datasets: pip install datasets"
        ) from None
    return datasets.load_from_disk(os.fspath(path))


def _first(table: Any, column: str) -> bytes | None:
    """The first bytes of a column's first value, in the first rows."""
    for scalar in rows_of(table.select([column]))[0]:
        if not scalar.is_valid:
            continue
        if is_file(plain(scalar.type)):
            if not scalar["bytes"].is_valid:
                path = scalar["path"].as_py()
                if not (path and os.path.exists(path)):
                    return None
                with open(path, "rb") as file:
                    return file.read(FIRST_BYTES)
            scalar = scalar["bytes"]
        return bytes(bytes_in(scalar)[:FIRST_BYTES])
    return None
