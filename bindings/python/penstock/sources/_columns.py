"""Converts columns of Arrow tables to fields: what each is called, and how a value of it becomes one of penstock.encode's."""

from __future__ import annotations

import math
import pathlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from .._encodings import FIRST_BYTES, encoding_of, extension_of
from .._error import made
from ._source import Sample, Told, item_error

_CLASS_NAMES = {"label", "labels", "class", "cls", "target", "category"}


class Column(NamedTuple):
    name: str
    field: str
    value: Callable[[Any], Any]
    """Of a pyarrow.Scalar that is not null; None leaves the field out, Parts are fields of their own."""


class Table(NamedTuple):
    """What columns_of asks a table beyond its schema."""

    first: Callable[[str], bytes | None]
    """The first value of a column of bytes."""
    arrays: Callable[[str], Iterator[Any]]
    """The rows of a column, as far as they can be read before packing."""
    told: Told


def columns_of(
    schema: Any,
    fields: Mapping[str, str] | None,
    table: Table,
    *,
    class_columns: Mapping[str, list[str]],
    skip: tuple[str, ...] = (),
) -> list[Column]:
    """The columns of `schema` that become fields, in its order: those that `fields` ({COLUMN: FIELD}) names, else all
    that can; the others are told.

    `class_columns` are those of known class names. Raises Error: invalid_argument, for a column in `fields` that is not
    there, comes twice, or is of a type that cannot be a field.
    """
    if fields is not None and not isinstance(fields, Mapping):
        raise made("invalid_argument", 'fields maps columns to fields: {"image": "jpg", "label": "cls"}')
    missing = [name for name in fields or () if name not in schema.names]
    if missing:
        raise made("invalid_argument", f"there is no column {missing[0]!r}; there are {', '.join(schema.names)}")
    found, seen = [], set()
    for column in schema:
        if column.name in seen or column.name in skip or (fields is not None and column.name not in fields):
            continue
        seen.add(column.name)
        why = _why_not(column, schema.names)
        form = None if why else _kind(column, fields, table, class_columns)
        if form is None:
            why = why or f"{column.type} cannot be a field"
            if fields is not None and not _is_null(column.type):
                raise made("invalid_argument", f"column {column.name}: {why}; name the others in fields=")
            table.told.say(column.name, f"is left out: {why}")
            continue
        found.append((column, *form))
    if fields is not None:
        return [Column(column.name, fields[column.name], value) for column, _, value in found]
    return _named(found, table.told)


def _why_not(column: Any, names: list[str]) -> str:
    """Why a column cannot be a field, whatever it holds; "" where it can."""
    if names.count(column.name) > 1:
        return f"{names.count(column.name)} columns have this name"
    return "it has no values" if _is_null(column.type) else ""


def _named(found: list[tuple[Any, str, Callable[[Any], Any]]], told: Told) -> list[Column]:
    """Names the fields. A name that cannot be a field's, and one that another column has, leaves the column out."""
    extensions = [extension for _, extension, _ in found]
    columns: list[Column] = []
    for stored, extension, value in found:
        name = stored.name
        column = Column(name, _name(name, extension, extensions, is_pixels=_is_nested(stored.type)), value)
        other = next((one.name for one in columns if one.field == column.field), None)
        if other is not None:
            told.say(name, f"is left out: column {other!r} is the field {column.field} already")
        elif name[:1] == "_" or "/" in name or "\0" in name:
            told.say(name, 'is left out: a field has no slash in its name and no underscore before it; fields={...} renames it')
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
        if isinstance(array, pa.ChunkedArray):  # of no chunk, or too long for one
            array = array.chunk(0) if array.num_chunks == 1 else pa.concat_arrays(array.chunks)
        if isinstance(array, pa.ExtensionArray):
            array = array.storage
        if pa.types.is_dictionary(array.type):
            array = array.dictionary_decode()
        arrays.append(array)
    return arrays


def sample_of(source: str, number: int, key: str, columns: list[Column], row: list[Any], told: Told) -> Sample:
    """Row `number` of `source`, its scalars in the order of `columns`. Raises ItemError."""
    sample: Sample = {"__key__": key}
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
        raise item_error(source, key, ValueError("all columns of the row are null"), where=f"row {number}")
    return sample


def tell_empty(columns: list[Column], told: Told) -> None:
    """After all rows: says which columns had no value, and whatever else was to be said."""
    for column in columns:
        if column.name not in told.with_values:
            told.say(column.name, "is left out: it has no values")
    told.warn()


def bytes_in(scalar: Any) -> Any:
    """Without a copy, as long as the scalar lives."""
    return memoryview(scalar.as_buffer())


def number_in(dtype: Any) -> Callable[[Any], Any]:
    return lambda scalar: dtype.type(scalar.as_py())


_AS_JSON = '; fields={COLUMN: "NAME.json"} keeps it as JSON'


def array_in(scalar: Any) -> Any:
    """A list, of lists of equal length maybe, as an array. A null among floating point numbers is NaN."""
    import pyarrow as pa
    import pyarrow.compute as pc

    values = scalar.values
    shape = [len(values)]
    while _is_list(values.type):
        if values.null_count:
            raise ValueError(f"a null among lists has no place in an array{_AS_JSON}")
        lengths = pc.unique(pc.list_value_length(values)).to_pylist()
        if len(lengths) > 1:
            raise ValueError(f"lists of different length are no array{_AS_JSON}")
        shape.append(lengths[0] if lengths else 0)
        values = values.flatten()
    if values.null_count and not pa.types.is_floating(values.type):
        raise ValueError(f"a null inside a list cannot be a whole number of an array{_AS_JSON}")
    dtype = values.type.to_pandas_dtype()
    return values.to_numpy(zero_copy_only=False).astype(dtype, copy=False).reshape(shape)


def _is_array(arrays: Iterator[Any]) -> bool:
    """Whether array_in can read every row."""
    for array in arrays:
        if not _is_list(array.type.value_type):
            if array.flatten().null_count:
                return False
            continue
        for scalar in array:
            if scalar.is_valid:
                try:
                    array_in(scalar)
                except ValueError:
                    return False
    return True


def _json_in(scalar: Any) -> Any:
    """Times as text, numbers that JSON lacks (NaN, infinities) as null."""
    import pyarrow as pa

    if not scalar.is_valid:
        return None
    types, kind = pa.types, scalar.type
    if types.is_dictionary(kind) or isinstance(kind, pa.BaseExtensionType):
        return _json_in(scalar.value)
    if types.is_struct(kind):
        return {kind.field(i).name: _json_in(scalar[i]) for i in range(kind.num_fields)}
    if types.is_map(kind):
        return [(_json_in(pair[0]), _json_in(pair[1])) for pair in scalar.values]
    if _is_list(kind):
        return [_json_in(one) for one in scalar.values]
    if types.is_temporal(kind):
        return text_of_time(scalar, "T")
    if types.is_floating(kind):
        value = float(scalar.as_py())
        return value if math.isfinite(value) else None
    return scalar.as_py()


class Parts(dict):  # type: ignore[type-arg]
    """Values of one column that are fields of their own: {END OF THE NAME: VALUE}."""


_MOST_PARTS = 256


def _parts() -> Callable[[Any], Any]:
    """Reads structs and lists that hold bytes: each value of bytes is a field, what is left of the rest is JSON."""
    extensions: dict[tuple[str, ...], str] = {}

    def parts_in(scalar: Any) -> Any:
        parts = Parts()
        rest = apart(scalar, (), (), parts)
        if len(parts) > _MOST_PARTS:
            raise ValueError(f"{len(parts)} values of bytes are more than the {_MOST_PARTS} fields that a row may become")
        if _has_value(rest):
            parts["json"] = rest
        return parts or None

    def apart(scalar: Any, place: tuple[str, ...], members: tuple[str, ...], parts: Parts) -> Any:
        """Moves the bytes to `parts`; `members` is the place without the numbers of lists. Returns the rest."""
        if not scalar.is_valid:
            return None
        kind = scalar.type
        if _is_bytes(kind) or _is_file(kind):
            value = _file_in(scalar) if _is_file(kind) else bytes_in(scalar)
            if value is not None:
                if members not in extensions:
                    extensions[members] = _extension_of_value(value)
                parts[".".join((*place, extensions[members]))] = value
            return None
        if _is_list(kind):
            return [apart(one, (*place, str(i)), members, parts) for i, one in enumerate(scalar.values)]
        if hasattr(kind, "num_fields") and hasattr(scalar, "keys"):
            names = [kind.field(i).name for i in range(kind.num_fields)]
            return {one: apart(scalar[one], (*place, one), (*members, one), parts) for one in names}
        return _json_in(scalar)

    return parts_in


def _extension_of_value(value: Any) -> str:
    if isinstance(value, pathlib.Path):
        return value.suffix[1:].lower() or "bin"
    return extension_of(bytes(value[:FIRST_BYTES]))


def _has_value(rest: Any) -> bool:
    if isinstance(rest, (dict, list)):
        return any(map(_has_value, rest.values() if isinstance(rest, dict) else rest))
    return rest is not None


def text_of_time(scalar: Any, between: str = " ") -> str:
    """A date, time or duration of any unit and range, without pandas: as Python's str() and isoformat() (`between` is
    "T") print it, nine digits where there are nanoseconds."""
    import pyarrow as pa

    kind = scalar.type
    if pa.types.is_duration(kind):
        return _text_of_duration(scalar.value, kind.unit, between)
    if pa.types.is_date(kind) or not (pa.types.is_timestamp(kind) or pa.types.is_time(kind)):
        return _text_of_calendar(scalar, between)
    micros, nanos = scalar.value, 0
    if kind.unit == "ns":
        micros, nanos = divmod(scalar.value, 1000)
        kind = pa.time64("us") if pa.types.is_time(kind) else pa.timestamp("us", kind.tz)
        scalar = pa.scalar(micros, kind)
    text = _text_of_calendar(scalar, between)
    if nanos == 0:
        return text
    day, separator, clock = text.rpartition(between)
    fraction = f"{micros % 1_000_000:06}{nanos:03}"
    return f"{day}{separator}{clock[:8]}.{fraction}{clock[15:] if clock[8:9] == '.' else clock[8:]}"


def _text_of_calendar(scalar: Any, between: str) -> str:
    import numpy
    import pyarrow as pa

    try:
        value = scalar.as_py()
        return str(value) if between == " " else str(value.isoformat())
    except (OverflowError, ValueError):  # years that Python does not have
        unit = scalar.type.unit if pa.types.is_timestamp(scalar.type) else "D"
        count = scalar.value // 86_400_000 if pa.types.is_date64(scalar.type) else scalar.value
        return str(numpy.datetime64(count, unit)).replace("T", between)


def _text_of_duration(count: int, unit: str, between: str) -> str:
    """As Python prints a timedelta, as pandas does where the unit is nanoseconds; in JSON as in ISO 8601."""
    per_second = {"s": 1, "ms": 1000, "us": 1_000_000, "ns": 1_000_000_000}[unit]
    seconds, part = divmod(count, per_second)
    days, seconds = divmod(seconds, 86400)
    hours, minutes, seconds = seconds // 3600, seconds // 60 % 60, seconds % 60
    nanos = part * (1_000_000_000 // per_second)
    if between == "T":
        fraction = f".{nanos:09}".rstrip("0").rstrip(".")
        return f"P{days}DT{hours}H{minutes}M{seconds}{fraction}S"
    fraction = "" if nanos == 0 else f".{nanos:09}" if nanos % 1000 else f".{nanos // 1000:06}"
    if unit == "ns":
        return f"{days} days {'+' if days < 0 else ''}{hours:02}:{minutes:02}:{seconds:02}{fraction}"
    whole = f"{days} day{'' if abs(days) == 1 else 's'}, " if days else ""
    return f"{whole}{hours}:{minutes:02}:{seconds:02}{fraction}"


def _file_in(scalar: Any) -> Any:
    """Of a struct of `bytes` and `path`, as Hugging Face stores images and sounds."""
    if scalar["bytes"].is_valid:
        return bytes_in(scalar["bytes"])
    if not scalar["path"].is_valid:
        return None
    path = pathlib.Path(scalar["path"].as_py())
    if not path.is_file():
        raise ValueError(f"its bytes are null, and there is no file {path}")
    return path


def _class_in(scalar: Any) -> Any:
    value = scalar.as_py()
    return None if value == -1 else value  # as Hugging Face says that nobody knows


def _kind(
    column: Any, fields: Mapping[str, str] | None, table: Table, class_columns: Mapping[str, list[str]]
) -> tuple[str, Callable[[Any], Any]] | None:
    """The extension that suits a column, and how its values are read; None where no field can hold them."""
    import numpy as np
    import pyarrow as pa

    types, kind = pa.types, _plain(column.type)
    wanted = (fields or {}).get(column.name, "").rpartition(".")[2].lower()
    if column.name in class_columns:
        return "cls", _class_in
    if _is_bytes(kind):
        return extension_of(table.first(column.name)), bytes_in
    if _is_file(kind):
        return extension_of(table.first(column.name)), _file_in
    if is_text(kind):
        # as it is stored, but where an error is to say that text is no image
        return "txt", bytes_in if not wanted or encoding_of(wanted).kind in ("text", "other") else _text_in
    if types.is_integer(kind) and column.name.lower() in _CLASS_NAMES:
        return "cls", _class_in
    if types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind):
        return "npy", number_in(np.dtype(kind.to_pandas_dtype()))
    if _is_list(kind) and _is_number(_element(kind)) and wanted != "json":
        if _is_surely_array(kind) or _is_array(table.arrays(column.name)):
            return "npy", _array_told(column.name, table.told)
        table.told.say(column.name, "is kept as JSON: its lists are of different length, or hold nulls")
        return "json", _json_in
    if _is_list(kind) or types.is_struct(kind) or types.is_map(kind):
        if wanted == "json" or not _holds(kind, _is_bytes) or all(map(_is_utf8, table.arrays(column.name))):
            return "json", _json_told(column.name, table.told)
        if _holds(kind, types.is_map):
            table.told.say(column.name, "is left out: bytes inside a map have no field")
            return None
        table.told.say(column.name, "is several fields: one for each value of bytes in it, and JSON for the rest")
        return _PARTS, _parts()
    if types.is_temporal(kind) and not types.is_interval(kind):
        return "txt", text_of_time
    if types.is_decimal(kind):
        return "txt", lambda scalar: str(scalar.as_py())
    return None


_PARTS = ""
"""In place of an extension: the column is several fields."""


def _array_told(column: str, told: Told) -> Callable[[Any], Any]:
    def array_with_nan(scalar: Any) -> Any:
        array = array_in(scalar)
        if array.dtype.kind == "f" and _has_null(scalar.values):
            told.say(column, "has NaN where its lists hold nulls")
        return array

    return array_with_nan


def _has_null(values: Any) -> bool:
    while _is_list(values.type):
        values = values.flatten()
    return bool(values.null_count)


def _json_told(column: str, told: Told) -> Callable[[Any], Any]:
    import pyarrow as pa

    def json_with_nulls(scalar: Any) -> Any:
        value = _json_in(scalar)
        if _holds(scalar.type, pa.types.is_floating) and _has_no_json(scalar.as_py()):
            told.say(column, "has null where JSON has no number: for NaN and infinities")
        return value

    return json_with_nulls


def _has_no_json(value: Any) -> bool:
    if isinstance(value, float):
        return not math.isfinite(value)
    if isinstance(value, dict):
        return any(map(_has_no_json, value.values()))
    return isinstance(value, (list, tuple)) and any(map(_has_no_json, value))


def _text_in(scalar: Any) -> Any:
    return scalar.as_py()


def _element(kind: Any) -> Any:
    while _is_list(kind):
        kind = kind.value_type
    return kind


def _is_number(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind))


def _is_surely_array(kind: Any) -> bool:
    """Whether any values of this type of lists are an array."""
    import pyarrow as pa

    return bool(not _is_list(kind.value_type) and pa.types.is_floating(kind.value_type))


def _is_nested(kind: Any) -> bool:
    kind = _plain(kind)
    return _is_list(kind) and _is_list(kind.value_type)


def _holds(kind: Any, what: Callable[[Any], bool]) -> bool:
    """Whether a type, or one inside it, is `what`."""
    kind = _plain(kind)
    if what(kind):
        return True
    return any(_holds(kind.field(i).type, what) for i in range(kind.num_fields))


def _is_file(kind: Any) -> bool:
    """Whether a type is a struct of `bytes` and `path`, as Hugging Face stores images and sounds."""
    import pyarrow as pa

    if not pa.types.is_struct(kind):
        return False
    members = {kind.field(i).name: _plain(kind.field(i).type) for i in range(kind.num_fields)}
    if not {"bytes", "path"} <= members.keys():
        return False
    return (_is_bytes(members["bytes"]) or is_text(members["bytes"])) and is_text(members["path"])


def _is_utf8(array: Any) -> bool:
    """Whether all bytes in an array, however deep, are UTF-8."""
    import pyarrow as pa

    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    kind = array.type
    if pa.types.is_dictionary(kind):
        return _is_utf8(array.dictionary)
    if _is_bytes(kind):
        return all(_is_text_in(value) for value in array if value.is_valid)
    if pa.types.is_map(kind):
        return _is_utf8(array.keys) and _is_utf8(array.items)
    if pa.types.is_struct(kind):
        return all(map(_is_utf8, array.flatten()))
    return _is_utf8(array.flatten()) if _is_list(kind) else True


def _is_text_in(scalar: Any) -> bool:
    try:
        str(bytes_in(scalar), "utf-8")
        return True
    except UnicodeDecodeError:
        return False


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


def _name(column: str, extension: str, extensions: list[str], is_pixels: bool = False) -> str:
    """A column that is named like a field keeps its name; the only image, cloud or class is `jpg`, `las` or `cls`."""
    if extension == _PARTS or _is_field_name(column.rpartition(".")[2].lower(), extension, is_pixels):
        return column
    alone = extension == "cls" or encoding_of(extension).kind in ("image", "cloud")
    if alone and extensions.count(extension) == 1:
        return extension
    return f"{column}.{extension}"


def _is_field_name(last: str, extension: str, is_pixels: bool) -> bool:
    """Whether a column's name says how its values, which call for `extension`, are encoded. Only bytes are a cloud, and
    only bytes or rows of numbers an image: a column `off` or `jpg` of numbers is neither."""
    known = encoding_of(last)
    if known.kind == "cloud":
        return extension == "bin" or extension in known.extensions
    if known.kind == "image":
        return extension not in ("txt", "json", "cls") and (extension != "npy" or is_pixels)
    if last == "cls":
        return extension == "cls"
    return known.kind != "other" or last in ("bin", "npz")
