"""Chains of ps.from_torchvision() give torchvision's pixels: real photographs, with the largest and mean differences that
docs/spec/translations.md states for PIL images and for uint8 tensors."""

import os
import pathlib
import random
import re

import numpy as np
import penstock as ps
import pytest
from PIL import Image
from torchvision_package import require_torchvision

require_torchvision()

import torch  # after torchvision
import torchvision
import torchvision.transforms as v1
from torchvision.transforms import InterpolationMode, v2

PAGE = pathlib.Path(__file__).parents[2] / "docs/spec/translations.md"
PHOTOS = sorted((pathlib.Path(os.environ.get("PENSTOCK_TEST_DATA", "")) / "images/imagenet500").rglob("*.JPEG"))[::50]
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
BICUBIC = InterpolationMode.BICUBIC

pytestmark = pytest.mark.skipif(not PHOTOS, reason="PENSTOCK_TEST_DATA has no images; set it to a folder with images/")


def same(value):
    return (value, value)


CASES = {
    "Resize, bilinear": [lambda T: T.Resize(256), lambda T: T.Resize((300, 200)), lambda T: T.Resize([600])],
    "Resize, bicubic": [lambda T: T.Resize(256, BICUBIC), lambda T: T.Resize((500, 700), BICUBIC)],
    "Resize, nearest": [lambda T: T.Resize(256, InterpolationMode.NEAREST)],
    "Resize, box": [lambda T: T.Resize(256, InterpolationMode.BOX)],
    "RandomResizedCrop": [lambda T: T.RandomResizedCrop(100, scale=same(1.0), ratio=(0.01, 100))],
    "CenterCrop": [lambda T: T.CenterCrop(101), lambda T: T.CenterCrop((100, 33))],
    "Pad": [lambda T: T.Pad(20, padding_mode="reflect"), lambda T: T.Pad((3, 4), padding_mode="edge")]
    + [lambda T: T.Pad((3, 4, 5, 6), fill=7), lambda T: T.Pad(3, padding_mode="symmetric")],
    "RandomHorizontalFlip": [lambda T: T.RandomHorizontalFlip(1)],
    "RandomVerticalFlip": [lambda T: T.RandomVerticalFlip(1)],
    "RandomRotation": [lambda T: T.RandomRotation(same(17)), lambda T: T.RandomRotation(same(-60), BICUBIC, fill=9)],
    "RandomAffine": [
        lambda T: T.RandomAffine(same(17), scale=same(1.1), shear=same(7), interpolation=InterpolationMode.BILINEAR)
    ],
    "ColorJitter": [lambda T: T.ColorJitter(brightness=same(1.4)), lambda T: T.ColorJitter(contrast=same(0.6))]
    + [lambda T: T.ColorJitter(contrast=same(1.7)), lambda T: T.ColorJitter(saturation=same(0.5))],
    "ColorJitter, hue": [lambda T: T.ColorJitter(hue=same(0.1)), lambda T: T.ColorJitter(hue=same(-0.3))],
    "Grayscale": [lambda T: T.Grayscale(1), lambda T: T.Grayscale(3)],
    "RandomGrayscale": [lambda T: T.RandomGrayscale(1)],
    "RandomInvert": [lambda T: T.RandomInvert(1)],
    "RandomPosterize": [lambda T: T.RandomPosterize(3, 1)],
    "RandomSolarize": [lambda T: T.RandomSolarize(128, 1)],
    "RandomAdjustSharpness": [lambda T: T.RandomAdjustSharpness(2, 1), lambda T: T.RandomAdjustSharpness(0.3, 1)],
    "RandomAutocontrast": [lambda T: T.RandomAutocontrast(1)],
    "RandomEqualize": [lambda T: T.RandomEqualize(1)],
    "GaussianBlur": [lambda T: T.GaussianBlur((9, 5), same(1.3)), lambda T: T.GaussianBlur(23, same(2.0))],
}


def stated():
    """{row of the table: (on PIL images, on tensors)}, each (largest, mean) or None where it is refused."""

    def of(cell):
        return None if cell == "refused" else tuple(float(number) for number in cell.split(" / "))

    table = PAGE.read_text().split("<!-- begin of translations -->")[1].split("<!-- end of translations -->")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.strip().splitlines()[2:]]
    return {row[0].replace("`", ""): (of(row[3]), of(row[4])) for row in rows if row[3]}


@pytest.fixture(autouse=True)
def seeded():
    random.seed(0)  # for ps.decode()
    torch.manual_seed(0)  # RandomResizedCrop rounds one draw in thousands to a crop that lacks a column


def differences(transforms, chain, prepare):
    """(largest, mean) difference of levels over the photographs."""
    parts = []
    for path in PHOTOS:
        theirs = transforms(prepare(Image.open(path).convert("RGB")))
        if isinstance(theirs, Image.Image):
            theirs = v2.functional.pil_to_tensor(theirs)
        ours = ps.decode(path, chain)
        assert ours.shape == tuple(theirs.shape)
        parts.append(np.abs(ours.astype(int) - theirs.numpy().astype(int)))
    return max(part.max() for part in parts), np.mean([part.mean() for part in parts])


@pytest.mark.parametrize("library", [v1, v2], ids=["v1", "v2"])
@pytest.mark.parametrize("row", CASES)
def test_pixels_of_pil_images(row, library):
    most, mean = stated()[row][0]
    for make in CASES[row]:
        transform = make(library)
        largest, average = differences(transform, ps.from_torchvision(transform), lambda image: image)
        assert largest <= most and average <= mean, (transform, largest, average)


@pytest.mark.parametrize("library", [v1, v2], ids=["v1", "v2"])
@pytest.mark.parametrize("row", CASES)
def test_pixels_of_tensors(row, library):
    limits = stated()[row][1]
    for make in CASES[row]:
        transforms = [library.PILToTensor(), make(library)]
        if limits is None:
            with pytest.raises(ps.Error, match="other pixels from a tensor"):
                ps.from_torchvision(transforms)
            continue
        if re.match(r"Pad\(.*fill=\(", repr(transforms[1])):
            continue  # torchvision's v1 has no fill for each channel of a tensor
        largest, average = differences(transforms[1], ps.from_torchvision(transforms), v2.functional.pil_to_tensor)
        assert largest <= limits[0] and average <= limits[1], (transforms, largest, average)


def test_every_row_of_the_page_with_numbers_is_measured():
    assert sorted(stated()) == sorted(CASES)


TENSORS = {
    "ToTensor": v1.Compose([v1.ToTensor()]),
    "ToTensor, Normalize": v1.Compose([v1.ToTensor(), v1.Normalize(MEAN, STD)]),
    "v2": v2.Compose([v2.ToImage(), v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD)]),
    "not scaled": v2.Compose([v2.ToImage(), v2.ToDtype(torch.float32), v2.Normalize((120.0,), (60.0,))]),
    "flipped later": v1.Compose(
        [v1.ToTensor(), v1.Normalize(MEAN, STD), v1.RandomHorizontalFlip(1), v1.CenterCrop(99)]
    ),
    "padded later": v1.Compose([v1.ToTensor(), v1.Pad(3, fill=1), v1.Normalize(MEAN, STD)]),
    "gray": v1.Compose([v1.Grayscale(), v1.ToTensor(), v1.Normalize((0.5,), (0.25,))]),
    "half": v1.Compose([v1.ToTensor(), v1.Normalize(MEAN, STD), v1.ConvertImageDtype(torch.float16)]),
    "resized twice": v1.Compose([v1.Resize(256), v1.CenterCrop(224), v1.Resize(100), v1.ToTensor()]),
    "in another order": v1.Compose(
        [v1.Resize((256, 200)), v1.ColorJitter(contrast=same(1.3)), v1.Resize(99, BICUBIC), v1.CenterCrop(64)]
        + [v1.GaussianBlur(5, same(1.0)), v1.ToTensor(), v1.Normalize(MEAN, STD)]
    ),
    "weights": torchvision.models.ResNet50_Weights.DEFAULT.transforms(),
}


@pytest.mark.parametrize("name", TENSORS)
def test_numbers_of_whole_pipelines(name):
    transforms = TENSORS[name]
    chain = ps.from_torchvision(transforms)
    for path in PHOTOS[:4]:
        theirs = transforms(Image.open(path).convert("RGB"))
        ours = ps.decode(path, chain)
        assert ours.shape == tuple(theirs.shape) and str(ours.dtype) == str(theirs.dtype).removeprefix("torch.")
        difference = np.abs(ours.astype(np.float64) - theirs.numpy().astype(np.float64))
        level = 1 / 255 / min(STD) if "blur" in str(chain) else 0  # a blurred pixel may be one level apart
        assert difference.max() <= level + (2e-3 if name == "half" else 1e-5)
