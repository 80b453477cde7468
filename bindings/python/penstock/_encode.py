"""Encodes Python values as the bytes of a field. NumPy, Pillow and torch objects are recognised by their methods."""

from __future__ import annotations

import io
import json
import numbers
import operator
import os
import struct
from collections.abc import Mapping, Sequence
from typing import Any, Union

from ._encodings import encoding_of
from ._words import keywords_in_words

Encoded = Union[bytes, bytearray, memoryview, "os.PathLike[str]"]
"""Bytes, or the path of a file with the bytes."""

_TEXTS = ("txt", "text")
_MODES = {"I": "int32", "F": "float32", "I;16": "uint16", "I;16L": "uint16", "I;16B": "uint16", "I;16N": "uint16"}
"""The dtypes of Pillow's modes with more than 8 bits."""
_BYTE_FORMATS = ("JPEG", "WEBP", "GIF")
"""Formats with 8 bits per channel for which Pillow would clip other numbers."""


@keywords_in_words
def encode(field: str, value: Any, *, quality: int = 95, classes: Sequence[str] | Mapping[str, int] = ()) -> Encoded:
    """Encodes `value` as the bytes of the field `field`. If the value leaves a choice, the field's last extension
    decides.

    bytes, bytearray, memoryview    as they are; os.PathLike: the bytes of that file
    cls                             an integer (Python, NumPy, torch), or a name among `classes`: ASCII decimal
    jpg, png, webp, bmp, tif, ...   a Pillow image, turned upright by its EXIF orientation, or an array (H, W),
                                    (H, W, 3) or (H, W, 4), encoded by Pillow. JPEG, WebP and GIF store only uint8 and
                                    bool. PNG also stores uint16 (H, W).
    str                             UTF-8
    txt                             also numbers, as Python prints them
    json                            values of json.dumps; in them arrays (as lists), dates, decimals and UTF-8 (as text)
    any other: arrays, tensors      .npy (objects with __array__ or __dlpack__, of numbers or bool)
               numbers, bool        .npy of shape (), int64, float64 or bool
               dict, list, tuple    JSON; a list in a field `npy` is an array

    Raises TypeError or ValueError; ImportError if Pillow is needed and not installed.
    """
    if isinstance(value, (bytes, bytearray, os.PathLike)):
        return value
    if isinstance(value, memoryview):
        return value if value.c_contiguous else bytes(value)
    if value is None:
        raise TypeError("a field cannot be None; leave it out of the sample")
    extension = field.rpartition(".")[2].lower()
    encoding = encoding_of(extension)
    if encoding.kind == "image":
        return _image(value, extension, quality)
    if _is_pillow(value):
        raise TypeError(f"the name of the field does not name an encoding for the image; use jpg, png or {field}.png")
    if encoding.label:
        return _class_number(value, classes)
    if isinstance(value, str):
        return value.encode()
    if encoding.members:
        return _json(value)
    if _is_array(value):
        array = _numpy_array(value)
        return str(array.item()).encode() if extension in _TEXTS and array.ndim == 0 else _npy(array)
    if isinstance(value, (bool, int, float)):
        return str(value).encode() if extension in _TEXTS else _npy_of_number(value)
    if isinstance(value, (list, tuple)) and encoding.kind == "array":
        import numpy

        return _npy(numpy.asarray(value))
    if isinstance(value, (dict, list, tuple)):
        return _json(value)
    raise TypeError(f"a value of type {type(value).__module__}.{type(value).__qualname__} cannot be stored in a field")


def _is_pillow(value: Any) -> bool:
    return all(hasattr(value, name) for name in ("save", "convert", "mode", "size"))


def _is_array(value: Any) -> bool:
    return hasattr(value, "__array__") or hasattr(value, "__dlpack__")


def _class_number(value: Any, classes: Sequence[str] | Mapping[str, int]) -> bytes:
    if isinstance(value, str) and value in classes:
        number = classes[value] if isinstance(classes, Mapping) else classes.index(value)
        return str(number).encode()
    if isinstance(value, str) and not (value.isascii() and value.isdigit()):
        known = (
            f"is not one of the {len(classes)} classes"
            if classes
            else "requires classes=[...], which gives it a number"
        )
        raise ValueError(f"class {value!r} {known}")
    try:
        number = int(value) if isinstance(value, str) else operator.index(value)
    except TypeError:
        raise TypeError(f"a class must be an integer or a name, not {type(value).__qualname__}") from None
    if classes and not 0 <= number < len(classes):
        raise ValueError(f"class {number} is not one of the {len(classes)} classes")
    return str(number).encode()


def _image(value: Any, extension: str, quality: int) -> bytes:
    if not _is_pillow(value) and not _is_array(value):
        raise TypeError(f"an image must be bytes, a Pillow image or an array, not {type(value).__qualname__}")
    try:
        from PIL import Image, ImageOps
    except ImportError:
        raise ImportError("encoding an array as an image needs Pillow: pip install pillow") from None
    format = Image.registered_extensions().get("." + extension)
    if format not in Image.SAVE:
        raise ValueError(f"Pillow cannot write {extension} files; pass the bytes of the encoded image")
    if _is_pillow(value):
        _require_levels(_MODES.get(value.mode, "uint8"), format)
        value = ImageOps.exif_transpose(value)  # encoding drops the EXIF block
    else:
        pixels = _pixels(value)
        _require_levels(pixels.dtype.name, format)
        value = Image.fromarray(pixels)
    if format == "JPEG" and value.mode not in ("L", "RGB", "CMYK"):
        value = value.convert("L" if value.mode == "1" else "RGB")  # JPEG has no palette and no alpha
    out = io.BytesIO()
    value.save(out, format=format, **({"quality": quality} if format in ("JPEG", "WEBP") else {}))
    return out.getvalue()


def _require_levels(dtype: str, format: str) -> None:
    if dtype not in ("uint8", "bool") and (format in _BYTE_FORMATS or (format == "PNG" and dtype.startswith("float"))):
        levels = "8 bits per channel" if format in _BYTE_FORMATS else "8 or 16 bits per channel"
        raise ValueError(
            f"{format} stores {levels}, not {dtype}; name the field png for uint16 (H, W), or npy, or convert to uint8"
        )


def _pixels(value: Any) -> Any:
    array = _numpy_array(value)
    if array.ndim == 3 and array.shape[2] == 1:
        array = array[:, :, 0]
    if not (array.ndim == 2 or (array.ndim == 3 and array.shape[2] in (3, 4))):
        raise ValueError(f"the shape of an image must be (H, W), (H, W, 3) or (H, W, 4), not {array.shape}")
    return array


def _numpy_array(value: Any) -> Any:
    import numpy

    if hasattr(value, "detach"):  # a torch tensor, maybe with a gradient, maybe on a device
        value = value.detach().cpu()
    if not hasattr(value, "__array__"):
        return numpy.from_dlpack(value)
    try:
        return numpy.asarray(value)
    except RuntimeError:  # this PyTorch was built for another NumPy
        return numpy.from_dlpack(value)


def _npy(array: Any) -> bytes:
    import numpy

    if array.dtype.kind not in "biuf":
        raise TypeError(f"an array of {array.dtype} cannot be stored in a field; use numbers or bool")
    out = io.BytesIO()
    numpy.lib.format.write_array(out, numpy.asarray(array, order="C"), allow_pickle=False)
    return out.getvalue()


def _npy_of_number(value: bool | int | float) -> bytes:
    """Source: NumPy NEP 1, version 1.0."""
    descr, code = ("|b1", "?") if isinstance(value, bool) else ("<i8", "q") if isinstance(value, int) else ("<f8", "d")
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': (), }}".encode()
    padded = header + b" " * (-(len(header) + 11) % 64) + b"\n"
    try:
        return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(padded)) + padded + struct.pack("<" + code, value)
    except struct.error:
        raise ValueError(f"{value} does not fit into 64 bits") from None


def _json(value: Any) -> bytes:
    def plain(part: Any) -> Any:
        if _is_array(part):
            return _numpy_array(part).tolist()
        if isinstance(part, (bytes, bytearray, memoryview)):  # unmarked string columns arrive as bytes
            try:
                return str(part, "utf-8")
            except UnicodeDecodeError:
                raise ValueError(
                    "JSON cannot hold bytes that are not UTF-8; name the other columns in fields="
                ) from None
        if hasattr(part, "isoformat"):  # a date or a time
            return part.isoformat()
        if isinstance(part, numbers.Number):  # a decimal or a fraction, which a JSON number would round
            return str(part)
        raise TypeError(f"JSON cannot hold a value of type {type(part).__qualname__}")

    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=plain).encode()
