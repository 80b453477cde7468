"""Steps in any order, erasing after the numbers, and chains that make no sense."""

import re

import numpy as np
import pytest
from augmentations import DEVIATION, MEAN, NORMALIZE, check, delivered, gray, refused
from PIL import Image, ImageEnhance, ImageOps

pytest_plugins = ["augmentations"]  # its fixtures


def test_steps_stand_in_any_order_before_the_numbers(waves_file):
    image, path = waves_file
    chain = (
        "image.random_invert(1) | image.resize(100, 90, interpolation=area) | image.grayscale(3) | "
        "image.random_rotation((15, 15), fill=200) | image.center_crop(80) | image.random_horizontal_flip(1) | "
        "image.color_jitter(brightness=(1.2, 1.2))"
    )
    wanted = gray(ImageOps.invert(image).resize((90, 100), Image.Resampling.BOX)).rotate(15, fillcolor=(200,) * 3)
    wanted = wanted.crop((5, 10, 85, 90)).transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    check(path, chain, ImageEnhance.Brightness(wanted).enhance(1.2))


def test_one_channel_goes_through_the_same_steps(waves_file):
    image, path = waves_file
    chain = (
        "image.grayscale() | image.color_jitter(saturation=(3, 3), hue=(0.2, 0.2), contrast=(1.5, 1.5)) | "
        "image.random_sharpness(3, 1) | image.random_equalize(1)"
    )
    wanted = ImageEnhance.Sharpness(ImageEnhance.Contrast(image.convert("L")).enhance(1.5)).enhance(3)
    check(path, chain, ImageOps.equalize(wanted))
    _, row = delivered(path, "image.grayscale() | image.normalize([0.5], [0.25])")[0]
    assert np.abs(row[..., 0] - (np.asarray(image.convert("L")) / 255 - 0.5) / 0.25).max() < 1e-5


@pytest.mark.parametrize(
    "chain, cause",
    [
        (f"{NORMALIZE} | image.color_jitter(0.5)", "image.color_jitter("),
        (
            "image.random_erasing() | image.random_horizontal_flip()",
            "image.random_horizontal_flip(0.5) must come before image.random_erasing",
        ),
        (f"image.random_erasing() | {NORMALIZE}", "must come before image.random_erasing"),
        ("image.random_erasing(value=random)", "random values requires image.normalize()"),
        ("image.random_erasing(value=0.5)", "uint8 pixels requires values from 0 to 255"),
        ("image.random_rotation(10, interpolation=area)", "interpolation must be nearest, bilinear or bicubic"),
        ("image.resize(9, interpolation=cubic)", "interpolation must be nearest, area, bilinear or bicubic, not"),
        ("image.pad(1, padding_mode=wrap)", "padding_mode must be constant, edge, reflect or symmetric"),
        ("image.pad(1, fill=256)", "a fill from 0 to 255"),
        ("image.pad(1, fill=(1, 2))", "one number, or one for each of 3"),
        ("image.grayscale() | image.pad(1, fill=(1, 2, 3))", "has values for 3 channels, but the pixels have 1"),
        ("image.grayscale(2)", "channels must be 1 or 3"),
        (f"image.grayscale() | {NORMALIZE}", "has 3 means, but image.grayscale() leaves 1"),
        ("image.gaussian_blur(4)", "odd kernel_size"),
        ("image.gaussian_blur(3, sigma=0)", "0.001 <= sigma"),
        ("image.color_jitter(hue=0.6)", "hue from -0.5 to 0.5"),
        ("image.color_jitter(brightness=(2, 1))", "the lower number first"),
        ("image.color_jitter(brightness=-1)", "takes no negative numbers"),
        ("image.random_affine(10, translate=(0, 1.5))", "translate from 0 to 1"),
        ("image.random_affine(10, scale=(0, 1))", "0.001 <= scale"),
        ("image.random_affine(10, shear=90)", "shear from -89 to 89"),
        ("image.random_rotation((10, -10))", "the lower number first"),
        ("image.rand_augment(2, 31)", "magnitude from 0 to bins - 1"),
        ("image.rand_augment(2, 0, 1)", "bins from 2"),
        ("image.random_posterize(9)", "bits from 0 to 8"),
        ("image.random_crop(0)", "size of at least 1 pixel"),
        ("image.random_vertical_flip(2)", "probability from 0 to 1"),
        ("image.random_crop(5, wrong=1, padding=2)", 'takes no argument "wrong"'),
    ],
)
def test_what_makes_no_sense_is_refused_with_its_cause(waves_file, chain, cause):
    assert cause in refused(waves_file[1], chain)


# Erasing


@pytest.mark.parametrize("layout", ["", " | image.channels_last()"])
def test_erasing_overwrites_the_box_that_it_tells(waves_file, layout):
    image, path = waves_file
    plain = (np.asarray(image) / 255.0 - MEAN) / DEVIATION
    erased = 0
    for told, row in delivered(path, f"{NORMALIZE} | image.random_erasing(0.7, value=(1, -2, 0.5)){layout}", 60):
        row = row if not layout else row.transpose(2, 0, 1)  # delivered() took it for planes
        wanted = plain.copy()
        if told[-1] != "not erased":
            w, h, x, y = map(int, re.match(r"erased (\d+) x (\d+) at x (\d+), y (\d+)", told[-1]).groups())
            wanted[y : y + h, x : x + w] = (1, -2, 0.5)
            erased += 1
            assert 0.015 < w * h / 224**2 < 0.34 and 0.28 < h / w < 3.5
        assert np.abs(row - wanted).max() < 1e-5
    assert 25 < erased < 55


def test_random_values_of_erasing_are_normally_distributed(waves_file):
    _, path = waves_file
    for told, row in delivered(path, f"{NORMALIZE} | image.random_erasing(1, scale=(0.3, 0.4), value=random)", 3):
        w, h, x, y = map(int, re.match(r"erased (\d+) x (\d+) at x (\d+), y (\d+)", told[-1]).groups())
        values = row[y : y + h, x : x + w]
        assert abs(values.mean()) < 0.02 and abs(values.std() - 1) < 0.02
        assert abs((np.abs(values) < 1).mean() - 0.6827) < 0.02
