"""Classifies Arrow types of columns that are to become fields."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def plain(kind: Any) -> Any:
    import pyarrow as pa

    if isinstance(kind, pa.BaseExtensionType):
        kind = kind.storage_type
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def element(kind: Any) -> Any:
    while is_list(kind):
        kind = kind.value_type
    return kind


def is_null(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_null(kind))


def is_bytes(kind: Any) -> bool:
    import pyarrow as pa

    types = pa.types
    whole = types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind)
    return bool(whole or types.is_binary_view(kind))


def is_text(kind: Any) -> bool:
    """Whether an Arrow type is one of strings."""
    import pyarrow as pa

    types = pa.types
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def is_list(kind: Any) -> bool:
    import pyarrow as pa

    types = pa.types
    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def is_number(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind))


def is_nested(kind: Any) -> bool:
    kind = plain(kind)
    return is_list(kind) and is_list(kind.value_type)


def is_surely_array(kind: Any) -> bool:
    """Whether lists of this type always form an array, with any values."""
    import pyarrow as pa

    return bool(not is_list(kind.value_type) and pa.types.is_floating(kind.value_type))


def is_file(kind: Any) -> bool:
    """Whether a type is a struct of `bytes` and `path`, in which Hugging Face stores images and sounds."""
    import pyarrow as pa

    if not pa.types.is_struct(kind):
        return False
    members = {kind.field(i).name: plain(kind.field(i).type) for i in range(kind.num_fields)}
    if not {"bytes", "path"} <= members.keys():
        return False
    return (is_bytes(members["bytes"]) or is_text(members["bytes"])) and is_text(members["path"])


def holds(kind: Any, what: Callable[[Any], bool]) -> bool:
    """Whether `what` is true for a type, or for one inside it."""
    kind = plain(kind)
    if what(kind):
        return True
    return any(holds(kind.field(i).type, what) for i in range(kind.num_fields))
