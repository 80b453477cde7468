"""The transforms of a dataset: their chain, which of them are random, and how much pixels may differ."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

from ..._penstock import Chain, image
from ..._translate.torchvision import interpolation_name, named, translation_of
from ..._translate.translation import Translation

CROPS = ("RandomResizedCrop", "timm.RandomResizedCropAndInterpolation")
_DRAWS = ("ColorJitter", "GaussianBlur", "RandAugment", "TrivialAugmentWide", "timm.RandomErasing", *CROPS)
_TO_TENSOR = ("ToImage", "PILToTensor", "timm.MaybePILToTensor")

# The largest and mean difference of levels, 0 to 255, on tensors. docs/spec/translations.md has the same numbers. On PIL
# images, these transforms have no difference.
ON_TENSORS = {
    "Resize": {"bilinear": (2.0, 0.2), "bicubic": (15.0, 0.2)},
    "RandomResizedCrop": {"bilinear": (2.0, 0.2), "bicubic": (15.0, 0.2)},
    "Grayscale": (1.0, 0.7),
}


class Tolerance(NamedTuple):
    """Differences of the result's numbers."""

    largest: list[float]  # for each channel
    mean: list[float]
    relative: float  # of 16-bit numbers


def draws(name: str) -> bool:
    """Whether a transform takes numbers from a random generator."""
    return name.startswith("Random") or name in _DRAWS


def fixed(transforms: Any) -> list[Any]:
    """The transforms without random ones. A random crop that resizes becomes a resize of the whole image."""
    kept = []
    for name, transform in named(transforms):
        if name in CROPS:
            kept.append(_resize_like(transform))
        elif not draws(name):
            kept.append(transform)
    return kept


def _resize_like(crop: Any) -> Any:
    v2 = ".v2." in f"{type(crop).__module__}."
    library: Any = sys.modules["torchvision.transforms.v2" if v2 else "torchvision.transforms"]
    return library.Resize(tuple(crop.size), interpolation=crop.interpolation, antialias=True)


def chain_of(transforms: list[Any]) -> tuple[Chain, Translation]:
    """Raises Error for transforms without a translation."""
    translation = translation_of(transforms)
    return translation.chain("from_torchvision"), translation


def upright(chain: Chain, turns: bool) -> Chain:
    """The chain, after a rotation by the orientation of EXIF if `turns`."""
    if not turns:
        return chain
    decode = image.decode(apply_exif_orientation=True)
    return decode if repr(chain) == repr(image.decode()) else decode | chain


def tolerance(transforms: list[Any], translation: Translation, dtype: str) -> Tolerance:
    """The documented differences of transforms that are not random."""
    largest = mean = 0.0
    on_tensors = False
    for name, transform in named(transforms):
        on_tensors = name in _TO_TENSOR or (on_tensors and name != "ToPILImage")
        allowed: Any = ON_TENSORS.get(name, (0.0, 0.0)) if on_tensors else (0.0, 0.0)
        if isinstance(allowed, dict):
            allowed = allowed.get(interpolation_name(transform.interpolation), (0.0, 0.0))
        largest, mean = largest + allowed[0], mean + allowed[1]
    levels = translation.levels()
    relative = {"float16": 2**-10, "bfloat16": 2**-7}.get(dtype, 0.0)
    return Tolerance([1e-5 + largest * level for level in levels], [1e-5 + mean * level for level in levels], relative)
