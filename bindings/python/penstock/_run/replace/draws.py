"""Repeats the draws of torch's transforms from its generators, without pixels. A loader without workers draws from the
program's own generator, whose later numbers must stay the same."""

from __future__ import annotations

from typing import Any

import torch

from ..._translate.torchvision import named

_NO_DRAWS = (
    *("ToTensor", "ToImage", "PILToTensor", "ToPILImage", "ToDtype", "ConvertImageDtype", "Normalize", "ToPureTensor"),
    *("RGB", "ImageClassification", "timm.MaybeToTensor", "timm.MaybePILToTensor"),
    *("open_clip.MaybeConvertMode", "open_clip.MaybeToTensor", "dinov2.MaybeToTensor"),
)
"""Conversions, which do not accept the stand-in."""


def repeat(transform: Any, path: str) -> None:
    """Draws the numbers that the transform draws for a file. The draws depend on the size of the image only."""
    from PIL import Image

    with open(path, "rb") as file, Image.open(file) as image:
        width, height = image.size
    stand_in = torch.empty((3, height, width), dtype=torch.uint8, device="meta")
    for name, part in named(transform):
        if name not in _NO_DRAWS:
            stand_in = part(stand_in)
