"""The one exception type of penstock."""

from __future__ import annotations


class Error(RuntimeError):
    """An option, the data or the system is at fault. The text says where, as far as known.

    Parts of the context that are not known are empty strings; an unknown offset is None.
    """

    kind: str = ""
    """"invalid_argument", "io", "corrupt", "unsupported", "shape" or "resource"."""
    cause: str = ""
    """The problem, without its place."""
    dataset: str = ""
    """Path of the dataset, as it was opened."""
    shard: str = ""
    """File inside the dataset."""
    key: str = ""
    """Key of the sample."""
    field: str = ""
    """Name of the field."""
    offset: int | None = None
    """Bytes from the start of the shard."""


def made(kind: str, cause: str, *, dataset: str = "", key: str = "", field: str = "") -> Error:
    """An Error whose text is composed in the same way as in the compiled part."""
    cause = " ".join(cause.splitlines())
    where = [dataset, f"sample {key}" if key else "", f"field {field}" if field else ""]
    error = Error(": ".join([part for part in where if part] + [kind.replace("_", " "), cause]))
    error.kind, error.cause, error.dataset, error.key, error.field = kind, cause, dataset, key, field
    return error
