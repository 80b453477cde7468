"""Reads scalars and arrays of Arrow as values that penstock.encode takes."""

from __future__ import annotations

import importlib
import math
import pathlib
from collections.abc import Callable, Iterator
from typing import Any

from .._encodings import FIRST_BYTES, extension_of
from .._error import Error, made
from ._arrow_types import is_bytes, is_file, is_list


def bytes_in(scalar: Any) -> Any:
    """Bytes of a scalar, without a copy. They are valid as long as the scalar lives."""
    return memoryview(scalar.as_buffer())


def _is_text_in(scalar: Any) -> bool:
    try:
        str(bytes_in(scalar), "utf-8")
        return True
    except UnicodeDecodeError:
        return False


def is_utf8(array: Any) -> bool:
    """Whether all bytes in an array, however deep, are UTF-8."""
    import pyarrow as pa

    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    kind = array.type
    if pa.types.is_dictionary(kind):
        return is_utf8(array.dictionary)
    if is_bytes(kind):
        return all(_is_text_in(value) for value in array if value.is_valid)
    if pa.types.is_map(kind):
        return is_utf8(array.keys) and is_utf8(array.items)
    if pa.types.is_struct(kind):
        return all(map(is_utf8, array.flatten()))
    return is_utf8(array.flatten()) if is_list(kind) else True


def number_in(dtype: Any) -> Callable[[Any], Any]:
    return lambda scalar: dtype.type(scalar.as_py())


def text_in(scalar: Any) -> Any:
    return scalar.as_py()


def class_in(scalar: Any) -> Any:
    value = scalar.as_py()
    return None if value == -1 else value  # Hugging Face writes -1 for an unknown class


def file_in(scalar: Any) -> Any:
    """Content of a struct of `bytes` and `path`, in which Hugging Face stores images and sounds."""
    if scalar["bytes"].is_valid:
        return bytes_in(scalar["bytes"])
    if not scalar["path"].is_valid:
        return None
    path = pathlib.Path(scalar["path"].as_py())
    if not path.is_file():
        raise made("shape", f"its bytes are null, and the file {path} does not exist")
    return path


_AS_JSON = '; fields={COLUMN: "NAME.json"} keeps it as JSON'


def array_in(scalar: Any) -> Any:
    """A list, also of lists of equal length, as an array. A null among floating point numbers is NaN."""
    import pyarrow as pa

    # its functions are created at import, so type checkers do not see them
    compute: Any = importlib.import_module("pyarrow.compute")

    values = scalar.values
    shape = [len(values)]
    while is_list(values.type):
        if values.null_count:
            raise made("shape", f"an array cannot hold a null among lists{_AS_JSON}")
        lengths = compute.unique(compute.list_value_length(values)).to_pylist()
        if len(lengths) > 1:
            raise made("shape", f"lists of different length cannot become an array{_AS_JSON}")
        shape.append(lengths[0] if lengths else 0)
        values = values.flatten()
    if values.null_count and not pa.types.is_floating(values.type):
        raise made("shape", f"an array of whole numbers cannot hold a null{_AS_JSON}")
    dtype = values.type.to_pandas_dtype()
    return values.to_numpy(zero_copy_only=False).astype(dtype, copy=False).reshape(shape)


def is_array(arrays: Iterator[Any]) -> bool:
    """Whether array_in() can read every row."""
    for array in arrays:
        if not is_list(array.type.value_type):
            if array.flatten().null_count:
                return False
            continue
        for scalar in array:
            if scalar.is_valid:
                try:
                    array_in(scalar)
                except Error:
                    return False
    return True


def has_null(values: Any) -> bool:
    while is_list(values.type):
        values = values.flatten()
    return bool(values.null_count)


def json_in(scalar: Any) -> Any:
    """A value as JSON. Times become text; numbers that JSON lacks (NaN, infinities) become null."""
    import pyarrow as pa

    if not scalar.is_valid:
        return None
    types, kind = pa.types, scalar.type
    if types.is_dictionary(kind) or isinstance(kind, pa.BaseExtensionType):
        return json_in(scalar.value)
    if types.is_struct(kind):
        return {kind.field(i).name: json_in(scalar[i]) for i in range(kind.num_fields)}
    if types.is_map(kind):
        return [(json_in(pair[0]), json_in(pair[1])) for pair in scalar.values]
    if is_list(kind):
        return [json_in(one) for one in scalar.values]
    if types.is_temporal(kind):
        return text_of_time(scalar, "T")
    if types.is_floating(kind):
        value = float(scalar.as_py())
        return value if math.isfinite(value) else None
    return scalar.as_py()


def has_no_json(value: Any) -> bool:
    if isinstance(value, float):
        return not math.isfinite(value)
    if isinstance(value, dict):
        return any(map(has_no_json, value.values()))
    return isinstance(value, (list, tuple)) and any(map(has_no_json, value))


class Parts(dict):  # type: ignore[type-arg]
    """Values of one column that become separate fields: {END OF THE NAME: VALUE}."""


_MOST_PARTS = 256


def parts_reader() -> Callable[[Any], Any]:
    """Reads structs and lists that hold bytes. Each bytes value becomes a field; the rest is JSON."""
    extensions: dict[tuple[str, ...], str] = {}

    def parts_in(scalar: Any) -> Any:
        parts = Parts()
        rest = apart(scalar, (), (), parts)
        if len(parts) > _MOST_PARTS:
            most = f"the {_MOST_PARTS} fields that a row can have"
            raise made("shape", f"{len(parts)} values of bytes are more than {most}")
        if _has_value(rest):
            parts["json"] = rest
        return parts or None

    def apart(scalar: Any, place: tuple[str, ...], members: tuple[str, ...], parts: Parts) -> Any:
        """Moves the bytes to `parts`, and returns the rest. `members` is the place without list indexes."""
        if not scalar.is_valid:
            return None
        kind = scalar.type
        if is_bytes(kind) or is_file(kind):
            value = file_in(scalar) if is_file(kind) else bytes_in(scalar)
            if value is not None:
                if members not in extensions:
                    extensions[members] = _extension_of_value(value)
                parts[".".join((*place, extensions[members]))] = value
            return None
        if is_list(kind):
            return [apart(one, (*place, str(i)), members, parts) for i, one in enumerate(scalar.values)]
        if hasattr(kind, "num_fields") and hasattr(scalar, "keys"):
            names = [kind.field(i).name for i in range(kind.num_fields)]
            return {one: apart(scalar[one], (*place, one), (*members, one), parts) for one in names}
        return json_in(scalar)

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
    """A date, time or duration of any unit and range as text, without pandas. The format is that of Python's str(), or
    of isoformat() if `between` is "T". Nanoseconds have nine digits."""
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
    except (OverflowError, ValueError):  # a year beyond Python's range
        unit: Any = scalar.type.unit if pa.types.is_timestamp(scalar.type) else "D"
        count = scalar.value // 86_400_000 if pa.types.is_date64(scalar.type) else scalar.value
        return str(numpy.datetime64(count, unit)).replace("T", between)


def _text_of_duration(count: int, unit: str, between: str) -> str:
    """A duration as Python prints a timedelta, or as pandas does for nanoseconds. In JSON: ISO 8601."""
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
