"""The compiled module's table of encodings: the meaning of each file extension. All lists of extensions here come from
it.
"""

from __future__ import annotations

from typing import NamedTuple

from . import _penstock


class Encoding(NamedTuple):
    codec: str
    """"" if penstock has none."""
    kind: str
    """"image", "cloud", "array", "text" or "other"."""
    extensions: tuple[str, ...]
    """The first one names the encoding's fields."""
    label: bool = False
    """Whether it is a class number as text."""
    members: bool = False
    """Whether it is text with objects that have named members."""
    in_place: bool = False
    """Whether elements are delivered as they are stored."""
    tokens: bool = False
    """Whether elements are delivered as int64."""


_BY_CODEC: dict[str, Encoding] = {}
_BY_EXTENSION: dict[str, Encoding] = {}
for _row in _penstock.encodings():
    if _row[0]:
        _BY_CODEC.setdefault(_row[0], Encoding(*_row))
    for _extension in _row[2]:
        _BY_EXTENSION.setdefault(_extension, Encoding(*_row))

FIRST_BYTES = 4096
"""Number of first bytes that suffice to identify a value."""

UNKNOWN = "bin"
"""The extension if the first bytes match no encoding."""


def encoding_of(extension: str) -> Encoding:
    """Row of an extension in lower case, without dots. An unknown extension gets a row with a kind named after it."""
    return _BY_EXTENSION.get(extension) or Encoding("", "other", (extension,))


def encoding_of_codec(codec: str) -> Encoding:
    """Finds the row of a codec. A codec that penstock does not have gets a row of kind "other"."""
    return _BY_CODEC.get(codec) or Encoding(codec, "other", ())


def extension_of(first_bytes: bytes | None) -> str:
    """Returns the extension that suits a value with these bytes."""
    return _penstock.extension_of(first_bytes or b"") or UNKNOWN
