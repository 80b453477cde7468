"""What is known of values by an extension: the compiled module's table of encodings, which every list here asks."""

from __future__ import annotations

from typing import NamedTuple

from . import _penstock


class Encoding(NamedTuple):
    codec: str
    """"" where penstock has none."""
    kind: str
    """"image", "cloud", "array", "text" or "other"."""
    extensions: tuple[str, ...]
    """The first one names the encoding's fields."""


_BY_EXTENSION: dict[str, Encoding] = {}
for _row in _penstock.encodings():
    for _extension in _row[2]:
        _BY_EXTENSION.setdefault(_extension, Encoding(*_row))

FIRST_BYTES = 4096
"""So many bytes of a value tell what it is."""


def encoding_of(extension: str) -> Encoding:
    """Of an extension in lower case, without dots; an unknown one is a kind of its own."""
    return _BY_EXTENSION.get(extension) or Encoding("", "other", (extension,))


def extension_of(first_bytes: bytes | None) -> str:
    """What these bytes are, as an extension; "bin" where they do not tell."""
    return _penstock.extension_of(first_bytes or b"") or "bin"
