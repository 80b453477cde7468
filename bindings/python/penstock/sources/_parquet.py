"""Reads Parquet files as a source, a few rows in memory at a time."""

from __future__ import annotations

import bisect
import contextlib
import itertools
import json
import os
import pathlib
import posixpath
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from .._encodings import FIRST_BYTES, encoding_of
from .._error import made
from ._arrow_types import is_bytes, is_list, is_number, is_text, plain
from ._arrow_values import bytes_in, class_in
from ._columns import CLASS_NAMES, Column, Readers, Table, columns_of, rows_of, sample_of, tell_empty
from ._labels import Labels
from ._source import Items, Sample, Source, Told, item_error, number_key

_BATCH_BYTES = 16 << 20


def pyarrow_parquet() -> Any:
    try:
        import pyarrow.parquet
    except ImportError:
        raise ImportError("reading Parquet needs pyarrow: pip install pyarrow") from None
    return pyarrow.parquet


@contextlib.contextmanager
def _opened(path: pathlib.Path) -> Iterator[Any]:
    """A ParquetFile that reads a page at a time. Adds the file name to errors of pyarrow."""
    pq = pyarrow_parquet()
    import pyarrow as pa

    try:
        with pq.ParquetFile(path, pre_buffer=False, buffer_size=1 << 20, page_checksum_verification=True) as file:
            yield file
    except pa.ArrowException as error:
        raise made("corrupt", str(error), dataset=str(path)) from error
    except OSError as error:
        kind = "io" if error.errno else "corrupt"  # pyarrow raises OSError without errno for bad files
        raise made(kind, error.strerror or str(error), dataset=str(path)) from error


def parquet_files(path: pathlib.Path) -> list[pathlib.Path]:
    """The Parquet files in a folder and its subfolders, sorted by path. Names that begin with a dot or an underscore
    are skipped."""
    if path.is_file():
        return [path]
    found = []
    for folder, folders, names in os.walk(path):
        folders[:] = [name for name in folders if name[0] not in "._"]
        found += [pathlib.Path(folder, name) for name in names if name.endswith(".parquet") and name[0] not in "._"]
    if not found:
        raise made("invalid_argument", "there is no Parquet file", dataset=str(path))
    return sorted(found, key=lambda file: os.fsencode(file.relative_to(path)))


class parquet(Source):
    """The rows of a Parquet file, or of a folder of them (in the order of their paths), as samples.

        ps.pack(ps.sources.parquet("table", fields={"image": "jpg", "label": "cls"}, key="id"),
                "table.tar.d", format="tar")

    Without `fields`, every column is a field. Bytes get the extension of their content (jpg, png, npy, ..., else bin).
    Strings become txt, numbers and lists of numbers npy, other lists and structs json. Integers in a column named
    label, class, cls, target or category become cls. The only image or class column is named just `jpg` or `cls`,
    others `COLUMN.png`.

    Columns that do not fit are kept in another form or left out, and a RuntimeWarning says so once, after the last row.
    Lists with nulls or of different lengths become json. Bytes inside structs and lists become separate fields, such as
    `COLUMN.MEMBER.jpg` and `COLUMN.0.jpg`. Nulls leave the field out. Folders named `COLUMN=VALUE` are columns of
    strings.

    fields: maps columns to fields. Columns that it does not name are not read.
    key: the column of the keys. By default, the column `__key__` if there is one, else row numbers of 12 digits.
    classes: names for a `cls` column of strings. By default, all its values in all files, sorted.

    If all values of a `cls` column are whole numbers (also 10.0 or "10.0"), they are class numbers. "007" is a name.
    Rows with a null or an empty string have no label. A label such as 1.5 is an error.

    path_column: a column of paths. Their files become fields, which the extension names. The default key is the path
      without extension. `fields` need not name this column. A missing file is an invalid sample.
    root: the folder of relative paths. By default, the folder of the Parquet file.

        ps.pack(ps.sources.parquet("train.parquet", path_column="path", fields={"label": "cls"}), "train.tar.d")

    About 16 MiB of rows are in memory at a time, and pyarrow's buffers. Raises Error: invalid_argument.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        fields: Mapping[str, str] | None = None,
        key: str | None = None,
        classes: Sequence[str] = (),
        path_column: str | None = None,
        root: str | os.PathLike[str] | None = None,
    ) -> None:
        self._path = pathlib.Path(path)
        self._files = parquet_files(self._path)
        lengths, schemas = [], []
        for file in self._files:
            with _opened(file) as opened:
                lengths.append(opened.metadata.num_rows)
                schemas.append(opened.schema_arrow)
        super().__init__(str(path), classes, sum(lengths))
        self._starts = [0, *itertools.accumulate(lengths)]
        self._told = Told(self.name)
        self._schema = self._whole_schema(schemas)
        self._key = key or ("__key__" if "__key__" in self._schema.names else None)
        if self._key is not None and self._key not in self._schema.names:
            raise made("invalid_argument", f"unknown column {self._key!r} for the keys", dataset=self.name)
        if path_column is not None and path_column not in self._schema.names:
            names = ", ".join(self._schema.names)
            raise made(
                "invalid_argument", f"unknown column {path_column!r}; the columns are {names}", dataset=self.name
            )
        self._paths = path_column
        self._root = pathlib.Path(root) if root is not None else self._files[0].parent
        class_columns = self._class_columns(fields, schemas)
        self._columns = self._choose_columns(fields, class_columns)

    @property
    def columns(self) -> dict[str, str]:
        """{COLUMN: FIELD} of the columns that are read."""
        return {column.name: column.field for column in self._columns}

    def _choose_columns(self, fields: Mapping[str, str] | None, class_columns: Readers) -> list[Column]:
        skip = tuple(name for name in (self._key, self._paths) if name and not (fields and name in fields))
        table = Table(self._first_bytes, self._arrays, self._told)
        return columns_of(self._schema, fields, table, class_columns=class_columns, skip=skip)

    def _whole_schema(self, schemas: list[Any]) -> Any:
        """The first file's schema, plus a column for each folder named COLUMN=VALUE. If a column has no values in the
        first file, its type comes from the first file where it has some."""
        import pyarrow as pa

        schema = schemas[0]
        for path, later in zip(self._files[1:], schemas[1:]):
            for field in later:
                at = schema.get_field_index(field.name)
                if at >= 0 and pa.types.is_null(schema.field(at).type):
                    schema = schema.set(at, field)
                if field.name not in schema.names and field.name not in self._folder_columns(path):
                    self._told.say(field.name, f"is left out: {path.name} has it, but the first file lacks it")
        for name in self._folder_columns(self._files[0]):
            if name not in schema.names:
                schema = schema.append(pa.field(name, pa.string()))
        return schema

    def _folder_columns(self, file: pathlib.Path) -> dict[str, str]:
        if file == self._path:
            return {}
        parts = [part.partition("=") for part in file.relative_to(self._path).parts[:-1]]
        return {name: value for name, sign, value in parts if sign and name}

    def _class_columns(self, fields: Mapping[str, str] | None, schemas: list[Any]) -> Readers:
        """The columns of classes, and readers of their values. Sets self.classes."""
        named = _hugging_face_classes(self._schema.metadata)
        found: Readers = {}
        names: list[list[str]] = []
        for column in self._schema:
            if fields is not None and column.name not in fields:
                continue
            if column.name in named:
                found[column.name] = class_in
                names.append(named[column.name])
            elif self._holds_labels(column, fields):
                labels = self._labels(column.name, schemas)
                found[column.name] = _reader(labels)
                names.append(labels.names())
        if not self.classes:
            self.classes = next((one for one in names if one), [])
        return found

    def _holds_labels(self, column: Any, fields: Mapping[str, str] | None) -> bool:
        import pyarrow as pa

        kind, integer = plain(column.type), pa.types.is_integer(plain(column.type))
        if fields is not None:
            label = encoding_of(fields[column.name].rpartition(".")[2]).label
            return label and (integer or is_text(kind) or pa.types.is_floating(kind))
        label = encoding_of(column.name.rpartition(".")[2]).label
        return (integer and column.name.lower() in CLASS_NAMES) or (label and (integer or is_text(kind)))

    def _labels(self, column: str, schemas: list[Any]) -> Labels:
        """The labels of a column in all files. Only integers need not be read."""
        import pyarrow as pa

        labels = Labels(self.classes)
        stored = [schema.field(column).type for schema in schemas if column in schema.names]
        if stored and all(pa.types.is_integer(plain(kind)) for kind in stored):
            return labels
        for _, batch in self._batches([column]):
            for value in batch.column(0).unique().to_pylist():
                try:
                    labels.add(value)
                except ValueError as error:
                    cause = f'column {column!r}: {error}; fields={{COLUMN: "NAME.npy"}} keeps the numbers'
                    raise made("corrupt", cause, dataset=self.name) from error
        return labels

    def _arrays(self, column: str) -> Iterator[Any]:
        """A column's rows. Empty if it holds lists of numbers and the footers say that no number is null."""
        kind = plain(self._schema.field(column).type)
        if is_list(kind) and is_number(kind.value_type) and all(_has_no_null(file, column) for file in self._files):
            return
        for _, batch in self._batches([column]):
            yield rows_of(batch)[0]

    def _first_bytes(self, column: str) -> bytes | None:
        for _, batch in self._batches([column], rows=1):
            scalar = rows_of(batch)[0][0]
            if scalar.is_valid and not is_bytes(scalar.type):
                if not scalar["bytes"].is_valid:
                    path = scalar["path"].as_py()
                    suffix = pathlib.Path(path or "").suffix
                    if path and os.path.exists(path):
                        with open(path, "rb") as file:
                            return file.read(FIRST_BYTES)
                    if suffix:
                        return None
                    continue
                scalar = scalar["bytes"]
            if scalar.is_valid:
                return bytes(bytes_in(scalar)[:FIRST_BYTES])
        return None

    def _batches(self, columns: list[str], rows: int | None = None) -> Iterator[tuple[int, Any]]:
        """(number of the first row, batch), with the columns in the requested order."""
        import pyarrow as pa

        number = 0
        for path in self._files:
            folders = self._folder_columns(path)
            stored = [name for name in columns if name not in folders]
            before = number
            with _opened(path) as file:
                missing = [name for name in stored if name not in file.schema_arrow.names]
                if missing:
                    raise made("corrupt", f"lacks the column {missing[0]!r} of the first file", dataset=str(path))
                for batch in file.iter_batches(rows or _batch_rows(file.metadata), columns=stored):
                    arrays = [
                        pa.array([folders[name]] * batch.num_rows) if name in folders else batch.column(name)
                        for name in columns
                    ]
                    yield number, pa.RecordBatch.from_arrays(arrays, names=columns)
                    number += batch.num_rows
                if stored and number - before != file.metadata.num_rows:
                    cause = f"has {number - before} rows in its columns, but {file.metadata.num_rows} in its footer"
                    raise made("corrupt", cause, dataset=str(path))

    def __iter__(self) -> Iterator[Sample]:
        """Iterates over the samples."""
        return Items(self._rows(), self._sample)

    def _rows(self) -> Iterator[tuple[int, Any, Any, list[Any]]]:
        """(number, key, path, columns); Keys and paths are None if no column has them."""
        names = [column.name for column in self._columns]
        wanted = list(dict.fromkeys([*names, *(name for name in (self._key, self._paths) if name)]))
        for first, batch in self._batches(wanted):
            arrays = dict(zip(wanted, rows_of(batch)))
            keys, paths = (arrays[name] if name else None for name in (self._key, self._paths))
            for i in range(batch.num_rows):
                key, path = (None if array is None else array[i] for array in (keys, paths))
                yield first + i, key, path, [arrays[name][i] for name in names]
        tell_empty(self._columns, self._told)

    def _sample(self, task: tuple[int, Any, Any, list[Any]]) -> Sample:
        number, key, path, row = task
        # a broken file may have more rows than its footer says
        place = min(bisect.bisect_right(self._starts, number), len(self._files)) - 1
        file, at = str(self._files[place]), number - self._starts[place]
        if key is not None and not key.is_valid:
            null = f"the key column {self._key!r} is null"
            raise item_error(file, number_key(number), null, where=f"row {at}")
        name = number_key(number) if key is None else str(key.as_py())
        if path is None:
            return sample_of(file, at, name, self._columns, row, self._told)
        stem, field, found = self._listed(path, file, at, name)
        return sample_of(file, at, name if key is not None else stem, self._columns, row, self._told, {field: found})

    def _listed(self, path: Any, file: str, at: int, name: str) -> tuple[str, str, pathlib.Path]:
        """The key, the field and the file of a path in row `at`."""
        text = str(path.as_py() or "")
        stem, extension = posixpath.splitext(posixpath.normpath(text))
        if not extension:
            cause = f"the path {text!r} has no extension, which would name the field"
            raise item_error(file, name, cause, where=f"row {at}")
        while stem.startswith("../"):
            stem = stem[3:]
        found = self._root / text
        if not found.is_file():
            raise item_error(file, stem.lstrip("/"), f"there is no file {found}", extension[1:], where=f"row {at}")
        return stem.lstrip("/"), extension[1:], found


def _reader(labels: Labels) -> Callable[[Any], Any]:
    return lambda scalar: labels.value(scalar.as_py())


def _has_no_null(path: pathlib.Path, column: str) -> bool:
    """Whether the footer of a file says that a column, with all its children, has no null."""
    with _opened(path) as file:
        groups = [file.metadata.row_group(i) for i in range(file.metadata.num_row_groups)]
        chunks = [group.column(i) for group in groups for i in range(group.num_columns)]
        counts = [
            chunk.statistics.null_count if chunk.statistics is not None and chunk.statistics.has_null_count else None
            for chunk in chunks
            if chunk.path_in_schema.partition(".")[0] == column
        ]
    return all(count == 0 for count in counts)


def _batch_rows(metadata: Any) -> int:
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    largest = max((group.total_byte_size / max(group.num_rows, 1) for group in groups), default=1)
    return int(min(max(_BATCH_BYTES / max(largest, 1), 1), 4096))


def _hugging_face_classes(metadata: Mapping[bytes, bytes] | None) -> dict[str, list[str]]:
    """The names of class columns, as Hugging Face datasets write them into a schema's metadata."""
    try:
        features = json.loads((metadata or {})[b"huggingface"])["info"]["features"]
        return {
            name: list(feature["names"])
            for name, feature in features.items()
            if isinstance(feature, dict) and feature.get("_type") == "ClassLabel" and feature.get("names")
        }
    except (KeyError, ValueError, TypeError, AttributeError):
        return {}
