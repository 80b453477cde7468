"""Compares the distributions of random transforms with Kolmogorov-Smirnov tests of single pixels and of means.

The red of the pictures rises from left to right, and the green from top to bottom. Therefore pixels of a result show the
box of a crop, an angle or a flip. The blue is a texture, which shows changes of colors.
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from PIL import Image

from ..._decode import run_batch
from ..._penstock import Chain
from ...torch import _of_array
from .batches import threads_for

DRAWS = 400
_FALSE_ALARM = 1e-8  # of a single comparison; a check has a few dozen
_SIDE = 160  # Smaller pictures take less time.
_CHUNK = 40


def picture(width: int, height: int) -> Image.Image:
    y, x = np.mgrid[0:height, 0:width]
    planes = [x * 255 // max(width - 1, 1), y * 255 // max(height - 1, 1), (x * 7 + y * 13) % 200 + 30]
    return Image.fromarray(np.stack(planes, -1).astype(np.uint8))


def features(rows: Any) -> Any:
    """(draws, features) of tensors (draws, C, H, W): some pixels, the mean of each channel, and the spread. The distance
    of two corner pixels shows the size of a crop, and its ratio for two channels the aspect ratio."""
    rows = rows.double().numpy()
    count, _, height, width = rows.shape
    places = [(height * i // 6, width * j // 6) for i, j in ((0, 0), (1, 4), (3, 3), (4, 1), (5, 5))]
    pixels = np.stack([rows[:, :, y, x] for y, x in places], -1)
    across = pixels[..., -1] - pixels[..., 0]
    sides = np.log(np.abs(across) + 1e-3)
    aspect = sides[:, :1] - sides[:, 1:2]  # no columns for gray images
    means, spread = rows.mean((2, 3)), rows.std((1, 2, 3))[:, None]
    return np.concatenate([pixels.reshape(count, -1), across, aspect, means, spread], 1)


def distance(one: Any, other: Any) -> float:
    """The Kolmogorov-Smirnov distance: the largest difference of the distribution functions. Values that differ by
    rounding only are one value."""
    one, other = np.round(one, 3), np.round(other, 3)
    values = np.concatenate([one, other])
    below = [np.searchsorted(np.sort(sample), values, side="right") / len(sample) for sample in (one, other)]
    return float(np.abs(below[0] - below[1]).max())


def largest(draws: int) -> float:
    """The distance that equal distributions do not exceed: Smirnov's bound for two samples."""
    return math.sqrt(math.log(2 / _FALSE_ALARM) / 2) * math.sqrt(2 / draws)


def differ(theirs: Any, ours: Any) -> bool:
    """Whether the features come from different distributions."""
    most = largest(len(theirs))
    return any(distance(one, other) > most for one, other in zip(theirs.T, ours.T))


def transforms_differ(transform: Callable[[Any], Any], chain: Chain, size: tuple[int, int]) -> bool:
    """Whether the random results for a picture of this size have different distributions. The caller seeds torch."""
    shrunk = min(1.0, _SIDE / max(size))
    drawn = picture(*(max(1, round(side * shrunk)) for side in size))
    try:
        transform(drawn)
    except Exception:  # a crop that is larger than the picture
        drawn = picture(*size)
    theirs = np.concatenate([features(transform(drawn)[None]) for _ in range(DRAWS)])
    file = io.BytesIO()
    drawn.save(file, "PNG", compress_level=0)
    values = [file.getvalue()] * _CHUNK
    ours = np.concatenate(
        [features(run_batch(values, chain, None, seed, threads_for(0), _of_array)) for seed in range(DRAWS // _CHUNK)]
    )
    return differ(theirs, ours)
