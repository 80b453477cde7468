"""A batch as a loop gets it: a dict whose repr describes its contents."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any, Literal, NoReturn, overload

from ._penstock import Ragged, Tensor


class Batch(dict[str, Any]):
    """One batch: {OUTPUT: Tensor}, with the names of `transforms=`. An output whose rows differ in length is a Ragged.
    An output of a custom transform holds that transform's results. "__key__": the samples' keys. "__valid__": bool
    (rows,), False for rows that pad the batch or are marked invalid. "__present__": {OUTPUT: bool (rows,)} for outputs
    that `missing=` fills or leaves empty, False for rows without the sample's value. Further columns such as
    "__origin__" may be present."""

    __module__ = "penstock"
    __slots__ = ()

    if TYPE_CHECKING:

        @overload
        def __getitem__(self, output: Literal["__key__"]) -> list[str]: ...
        @overload
        def __getitem__(self, output: Literal["__valid__"]) -> Tensor: ...
        @overload
        def __getitem__(self, output: Literal["__present__"]) -> dict[str, Tensor]: ...
        @overload
        def __getitem__(self, output: str) -> Any: ...
        def __getitem__(self, output: str) -> Any: ...

    def __missing__(self, output: object) -> NoReturn:
        if isinstance(output, (int, slice)):
            raise KeyError(
                f"a batch is a dict of outputs ({', '.join(self)}), and each output has rows: batch[output][0]"
            )
        raise KeyError(f"the batch has no output {output!r}, it has {', '.join(self)}")

    def __repr__(self) -> str:
        told = ", ".join(f"{name} {described(values)}" for name, values in self.items())
        return f"penstock.Batch({told})"

    def _repr_html_(self) -> str:
        """Plain HTML without scripts: the first pictures of each output that looks like images, and all outputs."""
        grids = "".join(map(_grid, self.items()))
        rows = "".join(
            f'<tr><td style="text-align:left">{html.escape(name)}</td>'
            f'<td style="text-align:left">{html.escape(described(values))}</td></tr>'
            for name, values in self.items()
        )
        return f'{grids}<table style="border-spacing:6px 2px">{rows}</table>'


def described(values: Any) -> str:
    """Dtype and shape of arrays of any kind, in a few words."""
    if isinstance(values, Ragged):
        return f"{len(values)} rows of different length, {described(values.values)}"
    if hasattr(values, "shape") and hasattr(values, "dtype"):
        device = str(getattr(values, "device", "cpu"))
        shape = "(" + ", ".join(map(str, values.shape)) + (",)" if len(values.shape) == 1 else ")")
        return f"{str(values.dtype).rpartition('.')[2]} {shape}" + (f" on {device}" if device != "cpu" else "")
    if isinstance(values, dict):
        return "{" + ", ".join(f"{name}: {described(each)}" for name, each in values.items()) + "}"
    return f"{type(values).__name__} of {len(values)}" if hasattr(values, "__len__") else type(values).__name__


_MOST_PICTURES = 16
_SIDE = 96  # pixels


def _grid(output: tuple[str, Any]) -> str:
    """Pictures of an output of shape (rows, 1 or 3 channels, height, width). Empty for other outputs, and without
    Pillow."""
    import base64

    from ._encode import encode

    try:
        pictures = [bytes(encode("png", picture)) for picture in _pictures(output[1])]  # type: ignore[arg-type]
    except ImportError:
        return ""
    images = "".join(
        f'<img style="margin:1px" src="data:image/png;base64,{base64.b64encode(picture).decode()}">'
        for picture in pictures
    )
    return f"<div>{images}</div>" if images else ""


def _pictures(values: Any) -> list[Any]:
    """Small uint8 arrays (H, W) or (H, W, 3). Values that are not uint8 are scaled from their minimum to their maximum."""
    import numpy

    shape: tuple[int, ...] = tuple(getattr(values, "shape", ()))
    if len(shape) != 4 or shape[1] not in (1, 3) or str(getattr(values, "device", "cpu")) != "cpu":
        return []
    if str(values.dtype) == "bfloat16":
        return []
    step = max(1, -(-max(shape[2:]) // _SIDE))
    first = numpy.asarray(values)[:_MOST_PICTURES, :, ::step, ::step].transpose(0, 2, 3, 1)
    return [_bytes_of(picture.squeeze(2) if shape[1] == 1 else picture) for picture in first]


def _bytes_of(picture: Any) -> Any:
    import numpy

    if picture.dtype == numpy.uint8:
        return picture
    shown = numpy.nan_to_num(picture.astype(numpy.float64))
    low, high = shown.min(), shown.max()
    return ((shown - low) * (255 / (high - low) if high > low else 0)).astype(numpy.uint8)
