"""Repeats the draws of torch's transforms from its generators, without pixels. A loader without workers draws from the
program's own generator, and its later numbers must stay the same."""

from __future__ import annotations

from typing import Any

import torch

from ..._translate.torchvision import named
from .transforms import CROPS, draws

_BY_SIZE = ("RandomCrop", "RandomErasing", "timm.RandomErasing", *CROPS)
"""Random transforms whose number of draws depends on the size of the image."""

_SIZED = ("Resize", "CenterCrop", "Pad", "Grayscale")
"""Other transforms that change the size or the channels."""


def repeat(transform: Any, size: tuple[int, int]) -> None:
    """Draws the numbers that the transform draws for an image. size: (width, height)."""
    width, height = size
    shape = torch.empty((3, height, width), dtype=torch.uint8, device="meta")
    for name, part in named(transform):
        if name in _SIZED or any(inner in _BY_SIZE for inner in _inner_names(name, part)):
            shape = part(shape)
        elif draws(name):
            part(torch.zeros((3, 2, 2), dtype=torch.uint8))


def _inner_names(name: str, part: Any) -> list[str]:
    return [inner for inner, _ in named(list(part.transforms))] if name == "RandomApply" else [name]
