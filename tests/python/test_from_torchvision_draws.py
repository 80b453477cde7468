"""Random transforms of ps.from_torchvision() have torchvision's distributions: two-sample Kolmogorov-Smirnov tests of
single pixels and of means over many draws. Seeds are fixed. Of other seeds, one in 10,000 runs would fail by chance.

The picture's red rises from left to right and its green from top to bottom, so pixels of the result show where they come
from: the box of a crop, an angle, a flip. Its blue is a texture, so colors show, too.
"""

import io
import math

import numpy as np
import penstock as ps
import pytest
from PIL import Image
from torchvision_package import require_torchvision

require_torchvision()

import torch  # after torchvision
import torchvision.transforms as T
from torchvision.transforms import v2

DRAWS = 2000
torch.set_num_threads(1)  # the pictures are small
FALSE_ALARM = 1e-8  # of a single comparison; there are a few hundred
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


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


def theirs(transforms, image):
    torch.manual_seed(0)
    rows = [transforms(image) for _ in range(DRAWS)]
    if isinstance(rows[0], Image.Image):
        rows = [v2.functional.pil_to_tensor(row) for row in rows]
    return features(torch.stack(rows).numpy().astype(np.float64))


def ours(chain, image):
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


LARGEST = math.sqrt(math.log(2 / FALSE_ALARM) / 2) * math.sqrt(2 / DRAWS)  # Smirnov's bound


def distances(transforms, chain, image):
    samples = zip(theirs(transforms, image).T, ours(chain, image).T, strict=True)
    return np.array([distance(one, other) for one, other in samples])


TENSOR = [T.ToTensor(), T.Normalize(MEAN, STD)]
BILINEAR = T.InterpolationMode.BILINEAR
CASES = {
    "crop": (T.RandomResizedCrop(24), WIDE),
    "crop of v2, scale and ratio": (v2.RandomResizedCrop((20, 30), scale=(0.3, 0.6), ratio=(1.0, 2.0)), WIDE),
    "crop that rarely fits": (T.RandomResizedCrop(24, scale=(0.8, 1.0), ratio=(0.2, 4.0)), WIDE),
    "random crop": (T.RandomCrop(32, padding=(2, 8), fill=(9, 99, 199)), SQUARE),
    "random crop of v2": (v2.RandomCrop((40, 50), padding=[1, 2, 3, 4], padding_mode="reflect"), SQUARE),
    "random crop of a small image": (T.RandomCrop((50, 70), pad_if_needed=True), SQUARE),
    "flips": (T.Compose([T.RandomHorizontalFlip(0.3), T.RandomVerticalFlip(0.8)]), SQUARE),
    "rotation": (T.RandomRotation((-20, 70), interpolation=BILINEAR, fill=200), SQUARE),
    "affine": (T.RandomAffine(25, translate=(0.1, 0.3), scale=(0.8, 1.3), shear=(-5, 20, 0, 10)), SQUARE),
    "jitter": (T.ColorJitter(0.4, 0.5, 0.6, 0.1), SQUARE),
    "jitter of some": (T.RandomApply([T.ColorJitter((0.5, 0.9), (1.1, 1.5))], p=0.7), SQUARE),
    "blur of some": (T.RandomApply([T.GaussianBlur((9, 3), (0.5, 3.0))], p=0.4), SQUARE),
    "gray": (T.RandomGrayscale(0.35), SQUARE),
    "colors": (
        T.Compose(
            [
                T.RandomInvert(0.2),
                T.RandomPosterize(3, 0.3),
                T.RandomSolarize(100, 0.4),
                T.RandomAdjustSharpness(2.5, 0.6),
                T.RandomAutocontrast(0.7),
                T.RandomEqualize(0.2),
            ]
        ),
        SQUARE,
    ),
    "rand augment": (T.RandAugment(3, 15), SQUARE),
    "trivial augment": (v2.TrivialAugmentWide(interpolation=BILINEAR, fill=100), SQUARE),
    "erasing": (T.Compose([*TENSOR, T.RandomErasing(0.6, (0.1, 0.5), (0.4, 3.0), value=(1, 2, 3))]), SQUARE),
    "erasing before normalizing": (
        T.Compose([T.ToTensor(), T.RandomErasing(0.9, value=0.5), T.Normalize(MEAN, STD)]),
        SQUARE,
    ),
    "erasing with noise": (v2.Compose([*TENSOR, T.RandomErasing(1, (0.3, 0.6), value="random")]), SQUARE),
    "a whole recipe": (
        T.Compose(
            [
                T.RandomResizedCrop(24, (0.2, 1.0)),
                T.RandomApply([T.ColorJitter(0.4, 0.4, 0.4, 0.1)], p=0.8),
                T.RandomGrayscale(0.2),
                T.RandomHorizontalFlip(),
                *TENSOR,
            ]
        ),
        WIDE,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_distributions_are_torchvisions(name):
    transforms, image = CASES[name]
    found = distances(transforms, ps.from_torchvision(transforms), image)
    assert found.max() < LARGEST, found.round(3)


@pytest.mark.parametrize(
    "transforms, other",
    [
        (T.RandomHorizontalFlip(0.5), T.RandomHorizontalFlip(0.7)),
        (T.RandomResizedCrop(24), T.RandomResizedCrop(24, scale=(0.2, 1.0))),
        (T.RandomRotation(20), T.RandomRotation(26)),
        (T.ColorJitter(0.4), T.ColorJitter(0.3)),
        (T.ColorJitter(hue=0.1), T.ColorJitter(hue=0.07)),
        (T.RandomAffine(0, translate=(0.1, 0)), T.RandomAffine(0, translate=(0.13, 0))),
        (T.RandAugment(2, 9), T.RandAugment(2, 14)),
    ],
    ids=str,
)
def test_other_distributions_are_found(transforms, other):
    assert distances(transforms, ps.from_torchvision(other), SQUARE).max() > LARGEST
