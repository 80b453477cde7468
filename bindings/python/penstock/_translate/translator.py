"""Chooses the translation of a transform by its library."""

from __future__ import annotations

from typing import Any

from .._decode import decoder
from .._penstock import Chain
from .albumentations import from_albumentations
from .torchvision import from_torchvision


def chain_of(transform: Any) -> Chain:
    """A chain, or the translation of a transform. None: all pixels. Raises TypeError for chains with functions."""
    library = type(transform).__module__.partition(".")[0]
    if transform is None or library == "penstock":
        return decoder(transform).chain
    return from_albumentations(transform) if library == "albumentations" else from_torchvision(transform)
