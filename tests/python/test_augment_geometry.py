"""Resizes, crops, pads, rotations and affine maps against Pillow and NumPy: each with what was drawn for it, done again
as torchvision does it on PIL images. Pixels are equal, unless a tolerance is stated.
"""

import re

import numpy as np
import pytest
from augmentations import RESAMPLING, check, delivered, inverse_affine, refused
from PIL import Image, ImageOps

pytest_plugins = ["augmentations"]  # its fixtures


@pytest.mark.parametrize("interpolation", RESAMPLING)
@pytest.mark.parametrize("size", [(50, 61), (131, 97), (7, 300), (47, 20)])
def test_resizes_are_pillows(picture, interpolation, size):
    image, path = picture
    height, width = size
    check(
        path,
        f"image.resize({height}, {width}, interpolation={interpolation})",
        image.resize((width, height), RESAMPLING[interpolation]),
    )


@pytest.mark.parametrize("interpolation", RESAMPLING)
def test_resized_crops_are_pillows(picture, interpolation):
    image, path = picture
    chain = f"image.random_resized_crop(48, 40, interpolation={interpolation})"
    for told, row in delivered(path, chain, 6):
        w, h, x, y = map(int, re.match(r"drew (\d+) x (\d+) at x (\d+), y (\d+)", told[0]).groups())
        wanted = image.crop((x, y, x + w, y + h)).resize((40, 48), RESAMPLING[interpolation])
        assert (row == np.asarray(wanted)).all()


def padded(image, sides, mode, fill=0):
    left, top, right, bottom = sides
    if mode == "constant":
        return ImageOps.expand(image, sides, fill if isinstance(fill, tuple) else (fill,) * 3)
    return Image.fromarray(np.pad(np.asarray(image), ((top, bottom), (left, right), (0, 0)), mode))


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "symmetric"])
def test_pads_are_numpys(picture, mode):
    image, path = picture
    sides = (3, 50, 70, 1)
    check(
        path,
        f"image.pad((3, 50, 70, 1), fill=(1, 20, 255), padding_mode={mode})",
        padded(image, sides, mode, (1, 20, 255)),
    )
    check(path, f"image.pad((150, 200), padding_mode={mode})", padded(image, (150, 200, 150, 200), mode))


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "symmetric"])
@pytest.mark.parametrize("after", ["", " | image.random_vertical_flip(1)"])
def test_random_crops_are_cut_from_the_padded_image(waves_file, mode, after):
    image, path = waves_file
    chain = (
        f"image.random_crop(32, 40, padding=(4, 6), fill=7, padding_mode={mode}) | image.random_horizontal_flip(1)"
        + after
    )
    whole = np.asarray(padded(image, (4, 6, 4, 6), mode, 7))
    places = set()
    for told, row in delivered(path, chain, 30):
        x, y = map(int, re.match(r"drew 40 x 32 at x (\d+), y (\d+) of 232 x 236, padded", told[0]).groups())
        places.add((x, y))
        wanted = whole[y : y + 32, x : x + 40][:, ::-1]
        assert (row == (wanted[::-1] if after else wanted)).all()
    assert len(places) > 25


def test_a_crop_larger_than_the_image_needs_padding(waves_file):
    image, path = waves_file
    assert "image.random_crop() of 300 x 300 does not fit an image of 224 x 224 pixels; pass pad_if_needed" in refused(
        path, "image.random_crop(300)"
    )
    for told, row in delivered(path, "image.random_crop(300, 100, pad_if_needed=true, fill=(9, 8, 7))", 10):
        x, y = map(int, re.search(r"at x (\d+), y (\d+) of 224 x 376, padded", told[0]).groups())
        whole = np.asarray(padded(image, (0, 76, 0, 76), "constant", (9, 8, 7)))
        assert (row == whole[y : y + 300, x : x + 100]).all()


@pytest.mark.parametrize("angle", [0, 30, 90, 180, 270, -47.5, 359.9, 1000])
@pytest.mark.parametrize("interpolation", ["nearest", "bilinear", "bicubic"])
def test_rotations_are_pillows(picture, angle, interpolation):
    image, path = picture
    check(
        path,
        f"image.random_rotation(({angle}, {angle}), interpolation={interpolation}, fill=(10, 20, 30))",
        image.rotate(angle, RESAMPLING[interpolation], fillcolor=(10, 20, 30)),
    )


@pytest.mark.parametrize("interpolation", ["nearest", "bilinear", "bicubic"])
@pytest.mark.parametrize(
    "angle, scale, shear", [(20, 1.3, (0, 0)), (-75, 0.6, (25, 0)), (200, 1, (-40, 15)), (0, 2, (0, 0))]
)
def test_affine_maps_are_torchvisions_on_pillow(picture, interpolation, angle, scale, shear):
    image, path = picture
    chain = (
        f"image.random_affine(({angle}, {angle}), translate=(0.25, 0.1), scale={scale}, "
        f"shear=({shear[0]}, {shear[0]}, {shear[1]}, {shear[1]}), interpolation={interpolation}, fill=77)"
    )
    middle = (image.width * 0.5, image.height * 0.5)
    for told, row in delivered(path, chain, 3):
        x, y = map(int, re.search(r"shift (-?\d+), (-?\d+), scale", told[0]).groups())
        assert abs(x) <= round(0.25 * image.width) and abs(y) <= round(0.1 * image.height)
        inverse = inverse_affine(middle, angle, (x, y), scale, shear)
        wanted = np.asarray(
            image.transform(
                image.size,
                Image.Transform.AFFINE,
                inverse[:2].ravel().tolist(),
                RESAMPLING[interpolation],
                fillcolor=(77, 77, 77),
            )
        )
        # The matrix is another one in its last bits, which moves a few positions across the edge of a pixel.
        assert (np.abs(row.astype(int) - wanted) > (0 if interpolation == "nearest" else 1)).mean() < 2e-3


def test_a_crop_after_a_rotation_is_a_window_of_it(waves_file):
    image, path = waves_file
    check(
        path,
        "image.random_rotation((33, 33), interpolation=bicubic) | image.center_crop(100, 60)",
        image.rotate(33, Image.Resampling.BICUBIC).crop((82, 62, 142, 162)),
    )
    check(
        path, "image.random_rotation((33, 33)) | image.center_crop(100, 60)", image.rotate(33).crop((82, 62, 142, 162))
    )


def test_a_rotation_turns_what_the_steps_before_it_left(picture):
    image, path = picture
    wanted = image.resize((60, 50), Image.Resampling.BILINEAR).transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    check(
        path,
        "image.resize(50, 60) | image.random_horizontal_flip(1) | image.random_rotation((-20, -20), interpolation=bilinear)",
        wanted.rotate(-20, Image.Resampling.BILINEAR),
    )
