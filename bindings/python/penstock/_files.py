"""Checks and writes files that the user names."""

from __future__ import annotations

import contextlib
import gzip
import os
from collections.abc import Iterator
from typing import IO, Any


def is_special_file(path: str) -> bool:
    """Whether the path exists and is not a regular file. A read of a FIFO may never begin, one of a device never end."""
    return os.path.exists(path) and not os.path.isfile(path)


def same_file(one: str, other: str) -> bool:
    """Whether two names are those of one file, also by links. The file may be missing."""
    try:
        return os.path.samefile(one, other)
    except OSError:
        return os.path.realpath(one) == os.path.realpath(other)


@contextlib.contextmanager
def new_text(path: str) -> Iterator[IO[str]]:
    """A file that replaces `path` once it is complete, compressed if the name ends with ".gz". A device or a pipe is not
    replaced: it gets the text at once. Raises OSError."""
    special = is_special_file(path)
    growing = path if special else f"{path}.{os.getpid()}.tmp"
    opened: Any = gzip.open if path.endswith(".gz") else open
    file = opened(growing, "wt", encoding="utf-8")
    try:
        with file:
            yield file
        if not special:
            os.replace(growing, path)
    except BaseException:
        if not special:
            os.unlink(growing)
        raise
