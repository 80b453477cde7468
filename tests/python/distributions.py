"""Compares the distributions of random transforms of two libraries: Kolmogorov-Smirnov tests of single pixels and of
means over many draws. Seeds are fixed. With other seeds, 5 runs in a million would fail by chance.

The pictures' red rises from left to right and their green from top to bottom, so pixels of a result show where they come
from: the box of a crop, an angle, a flip. Their blue is a texture, which shows changes of colors.
"""

import io
import math

import numpy as np
import penstock as ps
from PIL import Image

DRAWS = 2000
FALSE_ALARM = 1e-8  # of a single comparison; there are a few hundred


def picture(width, height):
    y, x = np.mgrid[0:height, 0:width]
    planes = [x * 255 // (width - 1), y * 255 // (height - 1), (x * 7 + y * 13) % 200 + 30]
    return Image.fromarray(np.stack(planes, -1).astype(np.uint8))


WIDE, SQUARE = picture(96, 64), picture(48, 48)


def features(rows):
    """(draws, features): some pixels of the result, their distance from corner to corner, which is the size of a crop,
    the mean of each channel, and the spread."""
    count, channels, height, width = rows.shape
    places = [(height * i // 6, width * j // 6) for i, j in ((0, 0), (1, 4), (3, 3), (4, 1), (5, 5))]
    pixels = np.stack([rows[:, :, y, x] for y, x in places], -1)
    across = pixels[..., -1] - pixels[..., 0]
    return np.concatenate([pixels.reshape(count, -1), across, rows.mean((2, 3)), rows.std((1, 2, 3))[:, None]], 1)


def ours(chain, image):
    """The features of the draws of a chain."""
    file = io.BytesIO()
    image.save(file, "PNG")
    return features(
        np.stack([ps.decode(file.getvalue(), chain, seed=seed) for seed in range(DRAWS)]).astype(np.float64)
    )


def distance(one, other):
    """The Kolmogorov-Smirnov distance of two samples: the largest difference of their distribution functions. Values that
    differ by rounding alone are one value."""
    one, other = np.round(one, 4), np.round(other, 4)
    values = np.concatenate([one, other])
    below = [np.searchsorted(np.sort(sample), values, side="right") / len(sample) for sample in (one, other)]
    return np.abs(below[0] - below[1]).max()


def distances(theirs, chain, image):
    """The distance of each feature, between the rows of another library, (draws, C, H, W), and those of a chain."""
    samples = zip(features(theirs.astype(np.float64)).T, ours(chain, image).T, strict=True)
    return np.array([distance(one, other) for one, other in samples])


LARGEST = math.sqrt(math.log(2 / FALSE_ALARM) / 2) * math.sqrt(2 / DRAWS)  # Smirnov's bound
