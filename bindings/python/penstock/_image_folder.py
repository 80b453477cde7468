"""Lists the classes and files of a folder as torchvision.datasets.ImageFolder does."""

from __future__ import annotations

import os
from collections.abc import Callable

from ._error import made

EXTENSIONS = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp")
"""Torchvision's list. Files whose format penstock cannot decode keep their numbers, and raise an error when decoded."""


def is_image(path: str) -> bool:
    return path.lower().endswith(EXTENSIONS)


def classes_of(root: str) -> list[str]:
    """Names of the folders in root, sorted. Raises Error: io, or invalid_argument if there is none."""
    try:
        with os.scandir(root) as entries:
            names = sorted(entry.name for entry in entries if entry.is_dir())
    except OSError as error:
        raise made("io", error.strerror or str(error), dataset=root) from error
    if not names:
        raise made("invalid_argument", "has no class folders; an ImageFolder has one for each class", dataset=root)
    return names


def samples_of(
    root: str, classes: list[str], is_valid_file: Callable[[str], bool], allow_empty: bool
) -> list[tuple[str, int]]:
    """(path, number of the class) of each valid file, sorted by class and path. Follows links.

    Raises Error: invalid_argument, unless allow_empty, for classes without files."""
    samples: list[tuple[str, int]] = []
    empty = []
    for number, name in enumerate(classes):
        before = len(samples)
        for folder, _, files in sorted(os.walk(os.path.join(root, name), followlinks=True)):
            paths = [os.path.join(folder, file) for file in sorted(files)]
            samples += [(path, number) for path in paths if is_valid_file(path)]
        if len(samples) == before:
            empty.append(name)
    if empty and not allow_empty:
        raise made(
            "invalid_argument",
            f"no valid file for the classes {', '.join(empty)}; pass allow_empty=True to keep them",
            dataset=root,
        )
    return samples
