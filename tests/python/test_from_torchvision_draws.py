"""Random transforms of ps.from_torchvision() have torchvision's distributions (distributions.py)."""

import penstock as ps
import pytest
from distributions import DRAWS, LARGEST, SQUARE, WIDE, distances
from PIL import Image
from torchvision_package import require_torchvision

require_torchvision()

import torch  # after torchvision
import torchvision.transforms as T
from torchvision.transforms import v2

torch.set_num_threads(1)  # the pictures are small
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def rows_of(transforms, image):
    torch.manual_seed(0)
    rows = [transforms(image) for _ in range(DRAWS)]
    if isinstance(rows[0], Image.Image):
        rows = [v2.functional.pil_to_tensor(row) for row in rows]
    return torch.stack(rows).numpy()


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
    found = distances(rows_of(transforms, image), ps.from_torchvision(transforms), image)
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
    assert distances(rows_of(transforms, SQUARE), ps.from_torchvision(other), SQUARE).max() > LARGEST
