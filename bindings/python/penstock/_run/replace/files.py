"""Headers of image files: forms that penstock decodes to other pixels than Pillow, sizes, and orientations."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import Any

from .source import Sample, Unmade

_PNG_HEADER = 29
_ORIENTATION = 0x112
_ENTRY = re.compile(rb"\x01\x12\x00\x03\x00\x00\x00\x01\x00(.)|\x12\x01\x03\x00\x01\x00\x00\x00(.)\x00", re.DOTALL)
"""The usual entry of an orientation in EXIF, of both byte orders."""
_PNG_METADATA = (b"eXIf", b"Raw profile type", b"XML:com.adobe.xmp")


def require_usual_png(sample: Sample) -> None:
    """Raises Unmade if Pillow makes other pixels of a PNG: it clips gray ones of 16 bits, for example."""
    if isinstance(sample.value, bytes):
        header = sample.value[:_PNG_HEADER]
    elif sample.value.lower().endswith(".png"):
        with open(sample.value, "rb") as file:
            header = file.read(_PNG_HEADER)
    else:
        return
    if header[1:4] == b"PNG" and len(header) == _PNG_HEADER and (header[24] != 8 or header[28] != 0):
        raise Unmade(f"{sample.name}: an interlaced PNG, or one without 8 bits, becomes other pixels than with Pillow")


def require_usual_orientation(sample: Sample) -> None:
    """Raises Unmade if penstock may read another orientation than Pillow. Pillow also reads XMP and unusual EXIF."""
    value = sample.value
    assert isinstance(value, bytes)
    if not _has_metadata(value):
        return
    with _image_of(sample) as image:
        theirs = _orientation(image)
        entries = {(big or little)[0] for big, little in _ENTRY.findall(image.info.get("exif") or b"")}
    if entries - {0, 1} != ({theirs} if theirs > 1 else set()):
        raise Unmade(f"{sample.name}: its orientation may be another than with Pillow")


def require_rgb(sample: Sample) -> None:
    """Raises Unmade for an image that Pillow does not open as RGB."""
    with _image_of(sample) as image:
        mode = image.mode
    if mode != "RGB":
        raise Unmade(f"{sample.name}: has the mode {mode}, not RGB")


def size(sample: Sample, *, upright: bool) -> tuple[int, int]:
    """(width, height). upright: after a rotation by the orientation."""
    with _image_of(sample) as image:
        width, height = image.size
        turned = upright and _orientation(image) in range(5, 9)
    return (height, width) if turned else (width, height)


def _image_of(sample: Sample) -> Any:
    from PIL import Image

    return Image.open(io.BytesIO(sample.value) if isinstance(sample.value, bytes) else sample.value)


def _orientation(image: Any) -> int:
    found = image.getexif().get(_ORIENTATION)
    return found if isinstance(found, int) else 0


# ---- Metadata --------------------------------------------------------------------------------------------------------


def _has_metadata(value: bytes) -> bool:
    """Whether a file may have EXIF or XMP. Pillow would take longer."""
    if value[:2] == b"\xff\xd8":
        return any(marker == 0xE1 for marker in _jpeg_markers(value))
    if value[:8] == b"\x89PNG\r\n\x1a\n":
        return any(word in value for word in _PNG_METADATA)
    return True


def _jpeg_markers(value: bytes) -> Iterator[int]:
    """Yields the markers before the pixels, and 0xE1 for a malformed file."""
    place = 2
    while len(value) > place + 3 and value[place] == 0xFF:
        marker = value[place + 1]
        yield marker
        if marker == 0xDA:
            return
        place += 2 + int.from_bytes(value[place + 2 : place + 4], "big")
    yield 0xE1
