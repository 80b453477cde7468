"""The path of a dataset, for who opens it in another process."""

from __future__ import annotations

import os

from ._error import made
from ._penstock import Dataset


def path_of(source: str | os.PathLike[str] | Dataset, who: str) -> str | os.PathLike[str]:
    """Where `source` stands. Raises Error for a view, which stands nowhere; `who` wanted the path."""
    if not isinstance(source, Dataset):
        return source
    if source.is_view:
        raise made(
            "invalid_argument",
            f"{who} opens a dataset by its path, and a view has none of its own: pack it first ({source!r})",
        )
    return os.fspath(source.path)
