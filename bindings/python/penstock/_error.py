"""The one exception type of penstock."""

from __future__ import annotations


class Error(RuntimeError):
    """Something is wrong with an option, the data or the system; the text says where, as far as it is known.

    Parts of the context that are not known are empty strings, an unknown offset is None.
    """

    kind: str = ""
    """"invalid_argument", "io", "corrupt", "unsupported", "shape" or "resource"."""
    cause: str = ""
    """What went wrong, without where."""
    dataset: str = ""
    """Path, as it was opened."""
    shard: str = ""
    """File inside the dataset."""
    key: str = ""
    """Sample."""
    field: str = ""
    offset: int | None = None
    """Bytes from the start of the shard."""
