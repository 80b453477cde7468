"""Converts columns of Arrow tables to fields: what each is called, and how a value of it becomes one of penstock.encode's."""

from __future__ import annotations

import pathlib
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from .._encodings import encoding_of, extension_of
from .._error import made
from ._source import Sample, item_error

_CLASS_NAMES = {"label", "labels", "class", "cls", "target", "category"}


class Column(NamedTuple):
    name: str
    field: str
    value: Callable[[Any], Any]
    """Of a pyarrow.Scalar that is not null; None leaves the field out."""


def columns_of(
    schema: Any,
    fields: Mapping[str, str] | None,
    *,
    first: Callable[[str], bytes | None],
    class_columns: Mapping[str, list[str]],
    skip: tuple[str, ...] = (),
) -> list[Column]:
    """The columns of `schema` that become fields, in its order: those that `fields` ({COLUMN: FIELD}) names, else all.

    `first(column)` is the first value of a column of bytes. `class_columns` are those of known class names. Raises
    Error: invalid_argument, for a column that is not there or of a type that cannot be a field.
    """
    if fields is not None and not isinstance(fields, Mapping):
        raise made("invalid_argument", 'fields maps columns to fields: {"image": "jpg", "label": "cls"}')
    missing = [name for name in fields or () if schema.get_field_index(name) < 0]
    if missing:
        raise made("invalid_argument", f"there is no column {missing[0]!r}; there are {', '.join(schema.names)}")
    found = []
    for column in schema:
        if column.name in skip or (fields is not None and column.name not in fields) or _is_null(column.type):
            continue
        extension, value = _kind(column, first, class_columns)
        found.append((column.name, extension, value))
    if fields is not None:
        return [Column(name, fields[name], value) for name, _, value in found]
    extensions = [extension for _, extension, _ in found]
    return [Column(name, _name(name, extension, extensions), value) for name, extension, value in found]


def rows_of(batch: Any) -> list[Any]:
    """The columns of a RecordBatch or Table, as arrays whose elements are scalars of plain types."""
    import pyarrow as pa

    arrays = []
    for array in batch.columns:
        if isinstance(array, pa.ChunkedArray):
            array = array.combine_chunks()
        if isinstance(array, pa.ChunkedArray):  # of no chunk, or too long for one
            array = array.chunk(0) if array.num_chunks == 1 else pa.concat_arrays(array.chunks)
        if isinstance(array, pa.ExtensionArray):
            array = array.storage
        if pa.types.is_dictionary(array.type):
            array = array.dictionary_decode()
        arrays.append(array)
    return arrays


def sample_of(source: str, key: str, columns: list[Column], row: list[Any]) -> Sample:
    """One row, its scalars in the order of `columns`. Raises ItemError."""
    sample: Sample = {"__key__": key}
    for column, scalar in zip(columns, row):
        if not scalar.is_valid:
            continue
        try:
            value = column.value(scalar)
        except Exception as error:
            raise item_error(source, key, error, column.field) from error
        if value is not None:
            sample[column.field] = value
    if len(sample) == 1:
        raise item_error(source, key, ValueError("all columns of the row are null"))
    return sample


def bytes_in(scalar: Any) -> Any:
    """Without a copy, as long as the scalar lives."""
    return memoryview(scalar.as_buffer())


def number_in(dtype: Any) -> Callable[[Any], Any]:
    return lambda scalar: dtype.type(scalar.as_py())


def array_in(scalar: Any) -> Any:
    """A list, of lists of equal length maybe, as an array."""
    import pyarrow.compute as pc

    values = scalar.values
    shape = [len(values)]
    while True:
        if values.null_count:
            raise ValueError("a null inside a list cannot be a number of an array")
        if not _is_list(values.type):
            return values.to_numpy(zero_copy_only=False).reshape(shape)
        lengths = pc.unique(pc.list_value_length(values)).to_pylist()
        if len(lengths) > 1:
            raise ValueError("lists of different length are no array")
        shape.append(lengths[0] if lengths else 0)
        values = values.flatten()


def _json_in(scalar: Any) -> Any:
    return scalar.as_py()


def _file_in(scalar: Any) -> Any:
    """Of a struct of `bytes` and `path`, as Hugging Face stores images and sounds."""
    if scalar["bytes"].is_valid:
        return bytes_in(scalar["bytes"])
    if not scalar["path"].is_valid:
        return None
    return pathlib.Path(scalar["path"].as_py())


def _class_in(scalar: Any) -> Any:
    value = scalar.as_py()
    return None if value == -1 else value  # as Hugging Face says that nobody knows


def _kind(
    column: Any, first: Callable[[str], bytes | None], class_columns: Mapping[str, list[str]]
) -> tuple[str, Callable[[Any], Any]]:
    """The extension that suits a column, and how its values are read."""
    import numpy as np
    import pyarrow as pa

    types, kind = pa.types, _plain(column.type)
    if column.name in class_columns:
        return "cls", _class_in
    if _is_bytes(kind):
        return extension_of(first(column.name)), bytes_in
    if types.is_struct(kind) and {"bytes", "path"} <= {kind.field(i).name for i in range(kind.num_fields)}:
        return extension_of(first(column.name)), _file_in
    if is_text(kind):
        return "txt", lambda scalar: scalar.as_py()
    if types.is_integer(kind) and column.name.lower() in _CLASS_NAMES:
        return "cls", _class_in
    if types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind):
        return "npy", number_in(np.dtype(kind.to_pandas_dtype()))
    if _is_list(kind):
        element = kind
        while _is_list(element):
            element = element.value_type
        if types.is_integer(element) or types.is_floating(element) or types.is_boolean(element):
            return "npy", array_in
        return "json", _json_in
    if types.is_struct(kind) or types.is_map(kind):
        return "json", _json_in
    if types.is_temporal(kind) or types.is_decimal(kind):
        return "txt", lambda scalar: str(scalar.as_py())
    raise made("invalid_argument", f"column {column.name}: {column.type} cannot be a field; name the others in fields=")


def _plain(kind: Any) -> Any:
    import pyarrow as pa

    if isinstance(kind, pa.BaseExtensionType):
        kind = kind.storage_type
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _is_null(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_null(kind))


def _is_bytes(kind: Any) -> bool:
    import pyarrow as pa

    types = pa.types
    whole = types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind)
    return bool(whole or types.is_binary_view(kind))


def is_text(kind: Any) -> bool:
    """Whether an Arrow type is one of strings."""
    import pyarrow as pa

    types = pa.types
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def _is_list(kind: Any) -> bool:
    import pyarrow as pa

    types = pa.types
    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def _name(column: str, extension: str, extensions: list[str]) -> str:
    """A column that is named like a field keeps its name; the only image, cloud or class is `jpg`, `las` or `cls`."""
    if _is_field_name(column.rpartition(".")[2].lower(), extension):
        return column
    alone = extension == "cls" or encoding_of(extension).kind in ("image", "cloud")
    if alone and extensions.count(extension) == 1:
        return extension
    return f"{column}.{extension}"


def _is_field_name(last: str, extension: str) -> bool:
    """Whether a column's name says how its values, which call for `extension`, are encoded. Bytes alone are a cloud:
    a column `off` of numbers is not one."""
    known = encoding_of(last)
    if known.kind == "cloud":
        return extension == "bin" or extension in known.extensions
    return known.kind != "other" or last in ("bin", "npz")
