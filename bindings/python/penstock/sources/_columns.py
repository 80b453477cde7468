"""Converts columns of Arrow tables to fields: their names, and the conversion of their values for penstock.encode."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from .._encodings import UNKNOWN, encoding_of, extension_of
from .._error import made
from ._arrow_types import (
    element,
    holds,
    is_bytes,
    is_file,
    is_list,
    is_nested,
    is_null,
    is_number,
    is_surely_array,
    is_text,
    plain,
)
from ._arrow_values import (
    Parts,
    array_in,
    bytes_in,
    class_in,
    file_in,
    has_no_json,
    has_null,
    is_array,
    is_utf8,
    json_in,
    number_in,
    parts_reader,
    text_in,
    text_of_time,
)
from ._source import Sample, Told, item_error

CLASS_NAMES = {"label", "labels", "class", "cls", "target", "category"}


Readers = dict[str, Callable[[Any], Any]]
"""Columns, and functions that convert their pyarrow.Scalars."""


class Column(NamedTuple):
    name: str
    field: str
    value: Callable[[Any], Any]
    """Converts a pyarrow.Scalar that is not null. None leaves the field out; Parts become separate fields."""


class Table(NamedTuple):
    """Access to a table beyond its schema, for columns_of()."""

    first: Callable[[str], bytes | None]
    """The first value of a column of bytes."""
    arrays: Callable[[str], Iterator[Any]]
    """The rows of a column, as far as they are readable before packing."""
    told: Told


def columns_of(
    schema: Any,
    fields: Mapping[str, str] | None,
    table: Table,
    *,
    class_columns: Readers,
    skip: tuple[str, ...] = (),
) -> list[Column]:
    """The columns of `schema` that become fields, in its order: the columns that `fields` ({COLUMN: FIELD}) names, else
    all possible ones. Columns that are left out are reported.

    `class_columns` maps the columns of classes to readers of their values. Raises Error: invalid_argument, if a column
    in `fields` is missing, comes twice, or has a type that cannot be a field.
    """
    if fields is not None and not isinstance(fields, Mapping):
        raise made("invalid_argument", 'fields must be a dict from columns to fields: {"image": "jpg", "label": "cls"}')
    missing = [name for name in fields or () if name not in schema.names]
    if missing:
        raise made("invalid_argument", f"unknown column {missing[0]!r}; the columns are {', '.join(schema.names)}")
    found, seen = [], set()
    for column in schema:
        if column.name in seen or column.name in skip or (fields is not None and column.name not in fields):
            continue
        seen.add(column.name)
        why = _why_not(column, schema.names)
        form = None if why else _kind(column, fields, table, class_columns)
        if form is None:
            why = why or f"{column.type} cannot be a field"
            if fields is not None and not is_null(column.type):
                raise made("invalid_argument", f"column {column.name}: {why}; name the others in fields=")
            table.told.say(column.name, f"is left out: {why}")
            continue
        found.append((column, *form))
    if fields is not None:
        return [Column(column.name, fields[column.name], value) for column, _, value in found]
    return _named(found, table.told)


def _why_not(column: Any, names: list[str]) -> str:
    """Reason why a column can never be a field, with any values; "" if it can."""
    if names.count(column.name) > 1:
        return f"{names.count(column.name)} columns have this name"
    return "it has no values" if is_null(column.type) else ""


def _named(found: list[tuple[Any, str, Callable[[Any], Any]]], told: Told) -> list[Column]:
    """Names the fields. Leaves out a column whose name cannot be a field's, or is taken by another column."""
    extensions = [extension for _, extension, _ in found]
    columns: list[Column] = []
    for stored, extension, value in found:
        name = stored.name
        column = Column(name, field_name(name, extension, extensions, is_pixels=is_nested(stored.type)), value)
        other = next((one.name for one in columns if one.field == column.field), None)
        if other is not None:
            told.say(name, f"is left out: column {other!r} is already the field {column.field}")
        elif name[:1] == "_" or "/" in name or "\0" in name:
            told.say(
                name,
                "is left out: the name of a field cannot contain a slash or begin with an underscore; fields={...} "
                "renames it",
            )
        else:
            columns.append(column)
    return columns


def rows_of(batch: Any) -> list[Any]:
    """The columns of a RecordBatch or Table, as arrays whose elements are scalars of plain types."""
    import pyarrow as pa

    arrays = []
    for array in batch.columns:
        if isinstance(array, pa.ChunkedArray):
            array = array.combine_chunks()
        if isinstance(array, pa.ChunkedArray):  # the array has no chunk, or is too long for one
            array = array.chunk(0) if array.num_chunks == 1 else pa.concat_arrays(array.chunks)
        if isinstance(array, pa.ExtensionArray):
            array = array.storage
        if pa.types.is_dictionary(array.type):
            array = array.dictionary_decode()
        arrays.append(array)
    return arrays


def sample_of(
    source: str, number: int, key: str, columns: list[Column], row: list[Any], told: Told, files: Sample | None = None
) -> Sample:
    """Row `number` of `source`, with the fields `files`. Its scalars are in the order of `columns`. Raises
    ItemError."""
    sample: Sample = {"__key__": key, **(files or {})}
    for column, scalar in zip(columns, row):
        if not scalar.is_valid:
            continue
        told.with_values.add(column.name)
        try:
            value = column.value(scalar)
        except Exception as error:
            where = f"row {number}, column {column.name!r}"
            raise item_error(source, key, error, column.field, where=where) from error
        if isinstance(value, Parts):
            sample.update((f"{column.field}.{name}", part) for name, part in value.items())
        elif value is not None:
            sample[column.field] = value
    if len(sample) == 1:
        raise item_error(source, key, "all columns of the row are null", where=f"row {number}")
    return sample


def tell_empty(columns: list[Column], told: Told) -> None:
    """Called after all rows: warns of columns without any value, and of everything else to report."""
    for column in columns:
        if column.name not in told.with_values:
            told.say(column.name, "is left out: it has no values")
    told.warn()


def _kind(
    column: Any, fields: Mapping[str, str] | None, table: Table, class_columns: Readers
) -> tuple[str, Callable[[Any], Any]] | None:
    """The extension that suits a column, and a reader for its values. None if no field can hold them."""
    import numpy as np
    import pyarrow as pa

    types, kind = pa.types, plain(column.type)
    wanted = (fields or {}).get(column.name, "").rpartition(".")[2].lower()
    if column.name in class_columns:
        return "cls", class_columns[column.name]
    if is_bytes(kind):
        return extension_of(table.first(column.name)), bytes_in
    if is_file(kind):
        return extension_of(table.first(column.name)), file_in
    if is_text(kind):
        # text is kept as stored; if the wanted field is not text, text_in makes the error say that text is not an image
        return "txt", bytes_in if not wanted or encoding_of(wanted).kind in ("text", "other") else text_in
    if types.is_integer(kind) and column.name.lower() in CLASS_NAMES:
        return "cls", class_in
    if types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind):
        return "npy", number_in(np.dtype(kind.to_pandas_dtype()))
    if is_list(kind) and is_number(element(kind)) and not encoding_of(wanted).members:
        if is_surely_array(kind) or is_array(table.arrays(column.name)):
            return "npy", _array_told(column.name, table.told)
        table.told.say(column.name, "is kept as JSON: its lists are of different length, or hold nulls")
        return "json", json_in
    if is_list(kind) or types.is_struct(kind) or types.is_map(kind):
        if encoding_of(wanted).members or not holds(kind, is_bytes) or all(map(is_utf8, table.arrays(column.name))):
            return "json", _json_told(column.name, table.told)
        if holds(kind, types.is_map):
            table.told.say(column.name, "is left out: bytes inside a map cannot be a field")
            return None
        table.told.say(column.name, "is several fields: one for each value of bytes in it, and JSON for the rest")
        return _PARTS, parts_reader()
    if types.is_temporal(kind) and not types.is_interval(kind):
        return "txt", text_of_time
    if types.is_decimal(kind):
        return "txt", lambda scalar: str(scalar.as_py())
    return None


_PARTS = ""
"""Used instead of an extension: the column becomes several fields."""


def _array_told(column: str, told: Told) -> Callable[[Any], Any]:
    def array_with_nan(scalar: Any) -> Any:
        array = array_in(scalar)
        if array.dtype.kind == "f" and has_null(scalar.values):
            told.say(column, "has NaN where its lists hold nulls")
        return array

    return array_with_nan


def _json_told(column: str, told: Told) -> Callable[[Any], Any]:
    import pyarrow as pa

    def json_with_nulls(scalar: Any) -> Any:
        value = json_in(scalar)
        if holds(scalar.type, pa.types.is_floating) and has_no_json(scalar.as_py()):
            told.say(column, "has null where JSON has no number: for NaN and infinities")
        return value

    return json_with_nulls


def field_name(column: str, extension: str, extensions: list[str], is_pixels: bool = False) -> str:
    """A column that is named like a field keeps its name. The only image, cloud or class is `jpg`, `las` or `cls`."""
    if extension == _PARTS or _is_field_name(column.rpartition(".")[2].lower(), extension, is_pixels):
        return column
    encoding = encoding_of(extension)
    if (encoding.label or encoding.kind in ("image", "cloud")) and extensions.count(extension) == 1:
        return extension
    return f"{column}.{extension}"


def _is_field_name(last: str, extension: str, is_pixels: bool) -> bool:
    """Whether a column's name states the encoding of its values, which suggest `extension`. Only bytes can be a cloud,
    and only bytes or rows of numbers an image. A column of numbers called `off` or `jpg` is neither."""
    known, values = encoding_of(last), encoding_of(extension)
    if known.kind == "cloud":
        return extension == UNKNOWN or extension in known.extensions
    if known.kind == "image":
        return values.kind != "text" and (values.kind != "array" or is_pixels)
    if known.label:
        return values.label
    return known.kind != "other" or last in ("bin", "npz")
