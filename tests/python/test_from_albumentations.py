"""ps.from_albumentations(): pixels within the differences that docs/spec/translations.md states, and refusals."""

import io
import os
import pathlib
import re

import numpy as np
import penstock as ps
import pytest
from distributions import DRAWS, LARGEST, SQUARE, WIDE, distances
from penstock._translate.albumentations import TRANSLATED
from PIL import Image

A = pytest.importorskip("albumentations", reason="Albumentations is not installed; run scripts/python_environment.sh")

import cv2
from albumentations.pytorch import ToTensorV2

PAGE = pathlib.Path(__file__).parents[2] / "docs/spec/translations.md"
PHOTOS = sorted((pathlib.Path(os.environ.get("PENSTOCK_TEST_DATA", "")) / "images/imagenet500").rglob("*.JPEG"))[::50]
NO_JITTER = {"brightness": (1, 1), "contrast": (1, 1), "saturation": (1, 1), "hue": (0, 0)}


def same(value):
    return (value, value)


def jitter(**factors):
    return A.ColorJitter(**{**NO_JITTER, **factors}, p=1)


CASES = {
    "RandomResizedCrop": [
        A.RandomResizedCrop((90, 80), scale=same(1.0), ratio=(0.01, 100), interpolation=cv2.INTER_NEAREST_EXACT)
    ],
    "Resize": [A.Resize(100, 120, interpolation=cv2.INTER_NEAREST_EXACT)],
    "HorizontalFlip": [A.HorizontalFlip(p=1)],
    "VerticalFlip": [A.VerticalFlip(p=1)],
    "ColorJitter": [jitter(brightness=same(1.4)), jitter(contrast=same(0.6)), jitter(saturation=same(1.5))],
    "ToGray": [A.ToGray(p=1), A.ToGray(1, p=1)],
    "InvertImg": [A.InvertImg(p=1)],
    "Posterize": [A.Posterize(3, p=1)],
    "Solarize": [A.Solarize(same(0.4), p=1)],
    "GaussianBlur": [A.GaussianBlur(same(9), same(1.3), p=1)],
}
APPROXIMATE = {
    "RandomResizedCrop": [A.RandomResizedCrop((90, 80), scale=same(1.0), ratio=(0.01, 100))],
    "Resize": [A.Resize(224, 224), A.Resize(128, 128, interpolation=cv2.INTER_CUBIC)]
    + [A.Resize(128, 128, interpolation=cv2.INTER_AREA), A.Resize(128, 128, area_for_downscale="image")],
    "ColorJitter": [jitter(hue=same(0.1)), A.ColorJitter(p=0)],
}


def stated():
    table = PAGE.read_text().split("<!-- begin of Albumentations -->")[1].split("<!-- end of Albumentations -->")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.strip().splitlines()[2:]]
    return {name: row for row in rows for name in re.findall(r"`(\w+)`", row[0])}


def test_the_page_lists_what_is_translated():
    assert set(stated()) == set(TRANSLATED)


def differences(transform, chain):
    parts, seeded = [], A.Compose([transform], seed=1)
    for path in PHOTOS:
        theirs = seeded(image=np.asarray(Image.open(path).convert("RGB")))["image"]
        theirs = theirs.reshape(*theirs.shape[:2], -1)
        ours = ps.decode(path, chain, seed=1)
        assert ours.shape == theirs.shape and ours.dtype == theirs.dtype
        parts.append(np.abs(ours.astype(float) - theirs))
    return max(part.max() for part in parts), np.mean([part.mean() for part in parts])


needs_photos = pytest.mark.skipif(
    not PHOTOS, reason="PENSTOCK_TEST_DATA has no images; set it to a folder with images/"
)


@needs_photos
@pytest.mark.parametrize("name", CASES)
def test_pixels(name):
    limits = (0, 0) if "EXACT" in stated()[name][3] else [float(cell) for cell in stated()[name][4].split(" / ")]
    for transform in CASES[name]:
        largest, mean = differences(transform, ps.from_albumentations(transform))
        assert largest <= limits[0] and mean <= limits[1], (transform, largest, mean)


@needs_photos
@pytest.mark.parametrize("name", APPROXIMATE)
def test_approximate_pixels(name):
    limits = (15, 0.6) if name == "ColorJitter" else [float(cell) for cell in stated()[name][4].split(" / ")]
    for transform in APPROXIMATE[name]:
        with pytest.raises(ps.Error, match="approximate=True"):
            ps.from_albumentations(transform)
        largest, mean = differences(transform, ps.from_albumentations(transform, approximate=True))
        assert largest <= limits[0] and mean <= limits[1], (transform, largest, mean)


@needs_photos
@pytest.mark.parametrize("inner", [[], [A.RandomCrop(50, 60)], [A.ToFloat(), ToTensorV2()]])
def test_numbers_and_layouts(inner):
    transform = A.Compose([*(inner or [A.Normalize(max_pixel_value=200), ToTensorV2()])])
    path = PHOTOS[0]
    theirs = transform(image=np.asarray(Image.open(path).convert("RGB")))["image"]
    ours = ps.decode(path, ps.from_albumentations(transform))
    assert ours.shape == tuple(theirs.shape) and str(ours.dtype) == str(theirs.dtype).removeprefix("torch.")
    if not isinstance(theirs, np.ndarray):
        assert np.abs(ours - theirs.numpy()).max() < 1e-5


@pytest.mark.parametrize(
    "transforms, image",
    [
        ([A.RandomResizedCrop((24, 20), (0.2, 0.8), interpolation=cv2.INTER_NEAREST_EXACT)], WIDE),
        ([A.RandomCrop(20, 30), A.HorizontalFlip(p=0.3), A.VerticalFlip(p=0.7)], SQUARE),
        ([A.ColorJitter((0.6, 1.3), (0.5, 1.6), (0.2, 2.0), (0, 0), p=0.8)], SQUARE),
        ([A.InvertImg(p=0.4), A.Posterize(3, p=0.6), A.Solarize(same(0.4), p=0.2)], SQUARE),
        ([A.GaussianBlur(same(5), (0.5, 3.0), p=0.6)], SQUARE),
    ],
    ids=str,
)
def test_distributions(transforms, image):
    compose, pixels = A.Compose(transforms, seed=1), np.asarray(image)
    theirs = np.stack([compose(image=pixels)["image"].transpose(2, 0, 1) for _ in range(DRAWS)])
    found = distances(theirs, ps.from_albumentations([*transforms, ToTensorV2()]), image)
    assert found.max() < LARGEST, found.round(3)


def test_a_share_of_the_images_is_gray():  # a level of gray may be rounded to its neighbour, so shares are compared
    memory = io.BytesIO()
    SQUARE.save(memory, "PNG")
    chain = ps.from_albumentations([A.ToGray(p=0.3), ToTensorV2()])
    rows = np.stack([ps.decode(memory.getvalue(), chain, seed=seed) for seed in range(DRAWS)])
    gray = (rows[:, 0] == rows[:, 2]).all((1, 2)).sum()
    assert abs(gray - 0.3 * DRAWS) < 5 * (0.3 * 0.7 * DRAWS) ** 0.5


def test_chains():
    train = A.Compose([A.RandomResizedCrop((24, 32)), A.HorizontalFlip(), A.ToGray(), A.Normalize(), ToTensorV2()])
    assert str(ps.from_albumentations(train, approximate=True)) == (
        "image.random_resized_crop(24, 32, scale=(0.08, 1), ratio=(0.75, 1.3333333333333333)) | "
        "image.random_horizontal_flip(0.5) | image.random_grayscale(0.5) | "
        "image.normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])"
    )
    evaluate = A.Compose([A.SmallestMaxSize(256), A.CenterCrop(224, 224), A.Sequential([A.NoOp()], p=1)])
    assert str(ps.from_albumentations(evaluate, approximate=True)) == (
        "image.resize(256) | image.center_crop(224) | image.channels_last()"
    )


class OwnFlip(A.HorizontalFlip):
    pass


@pytest.mark.parametrize(
    "transforms, reason",
    [
        (A.GaussianBlur(), "draws the size of its kernel"),
        (A.Rotate(), "no transform that computes the same"),
        (A.OneOf([A.HorizontalFlip()]), "no transform that computes the same"),
        (OwnFlip(), "is of the module .*test_from_albumentations"),
        (A.Compose([A.HorizontalFlip()], p=0.5), "applied with probability 0.5"),
        (A.Compose([A.HorizontalFlip()], bbox_params=A.BboxParams("coco")), "sample_transform"),
        (A.Compose([A.HorizontalFlip()], additional_targets={"other": "image"}), "sample_transform"),
        ([A.Normalize(), ToTensorV2(), A.HorizontalFlip()], "3. HorizontalFlip.*comes after ToTensorV2"),
        (A.Normalize(normalization="image"), "numbers of the image"),
        (A.Solarize((0.2, 0.4)), "draws its threshold"),
        (A.ToGray(method="max"), "another gray"),
        (A.ToGray(1), "another number of channels"),
        (A.RandomCrop(3, 3, pad_if_needed=True), "pads small images"),
        (A.Resize(3, 3, interpolation=cv2.INTER_LANCZOS4), "interpolation 4"),
        (A.Resize(3, 3, interpolation=cv2.INTER_NEAREST), "interpolation 0"),
        (A.SmallestMaxSize([3, 4]), "draws its size"),
        (A.Posterize((2, 4)), "not a whole number"),
        ([A.ToFloat(), A.Normalize()], "gets numbers"),
        (lambda image: image, "not of Albumentations"),
        (A.CenterCrop(3, 3), "approximate=True"),
        (A.RandomResizedCrop((3, 3)), "does not antialias.*approximate=True"),
    ],
)
def test_a_transform_without_a_translation_is_named_with_its_reason(transforms, reason):
    with pytest.raises(ps.Error, match=reason) as raised:
        ps.from_albumentations(transforms)
    assert raised.value.kind == "unsupported"


def test_one_error_names_all_refused_transforms():
    with pytest.raises(ps.Error, match=r"cannot translate 2 transforms: 1\. Rotate.*; 3\. GaussianBlur"):
        ps.from_albumentations(A.Compose([A.Rotate(), A.HorizontalFlip(), A.GaussianBlur()]))


def test_image_folder_takes_albumentations(tmp_path):
    pst = pytest.importorskip("penstock.torch", reason="PyTorch is not installed; run scripts/python_environment.sh")
    (tmp_path / "a").mkdir()
    Image.new("RGB", (40, 30), (9, 8, 7)).save(tmp_path / "a/x.png")
    image, label = pst.ImageFolder(tmp_path, A.Compose([A.RandomCrop(8, 9), A.Normalize(), ToTensorV2()]))[0]
    assert tuple(image.shape) == (3, 8, 9) and label == 0
    with pytest.raises(ps.Error, match="from_albumentations"):
        pst.ImageFolder(tmp_path, A.Rotate())
