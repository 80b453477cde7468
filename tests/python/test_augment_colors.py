"""Changes of color against Pillow, and blurs against their formula. Pixels are equal, unless a tolerance is stated."""

import numpy as np
import pytest
from augmentations import check, delivered, gray, refused
from PIL import Image, ImageEnhance, ImageOps

pytest_plugins = ["augmentations"]  # its fixtures


def hue(image, amount):
    h, s, v = (np.array(band) for band in image.convert("HSV").split())
    h = (h.astype(int) + int(amount * 255)) % 256
    bands = [Image.fromarray(band.astype(np.uint8), "L") for band in (h, s, v)]
    return Image.merge("HSV", bands).convert("RGB")


COLORS = {
    "image.random_grayscale(1)": gray,
    "image.grayscale()": lambda image: image.convert("L"),
    "image.grayscale(3)": gray,
    "image.random_invert(1)": ImageOps.invert,
    "image.random_autocontrast(1)": ImageOps.autocontrast,
    "image.random_equalize(1)": ImageOps.equalize,
    **{
        f"image.random_posterize({bits}, 1)": lambda image, bits=bits: ImageOps.posterize(image, bits)
        for bits in range(1, 9)
    },
    **{
        f"image.random_solarize({level}, 1)": lambda image, level=level: ImageOps.solarize(image, level)
        for level in (0, 1, 100.5, 128, 255, 256)
    },
    **{
        f"image.random_sharpness({factor}, 1)": lambda image, factor=factor: ImageEnhance.Sharpness(image).enhance(
            factor
        )
        for factor in (0, 0.3, 1, 2, 5.5)
    },
    **{
        f"image.color_jitter(brightness=({factor}, {factor}))": lambda image, factor=factor: ImageEnhance.Brightness(
            image
        ).enhance(factor)
        for factor in (0, 0.4, 1, 1.7, 9)
    },
    **{
        f"image.color_jitter(contrast=({factor}, {factor}))": lambda image, factor=factor: ImageEnhance.Contrast(
            image
        ).enhance(factor)
        for factor in (0, 0.4, 1, 1.7, 9)
    },
    **{
        f"image.color_jitter(saturation=({factor}, {factor}))": lambda image, factor=factor: ImageEnhance.Color(
            image
        ).enhance(factor)
        for factor in (0, 0.4, 1, 1.7, 9)
    },
    **{
        f"image.color_jitter(hue=({amount}, {amount}))": lambda image, amount=amount: hue(image, amount)
        for amount in (-0.5, -0.21, -0.001, 0.1, 0.5)
    },
}


@pytest.mark.parametrize("chain", COLORS)
def test_changes_of_color_are_pillows(picture, chain):
    image, path = picture
    check(path, chain, COLORS[chain](image))


def test_hue_is_pillows_for_every_kind_of_pixel(tmp_path):
    # All values with few levels of each channel, and all pairs of two channels.
    few = np.stack(np.meshgrid(*[np.arange(0, 256, 5)] * 3), -1).reshape(-1, 3)
    pairs = np.stack(np.meshgrid(np.arange(256), np.arange(256), [0, 77, 255]), -1).reshape(-1, 3)
    pixels = np.concatenate([few, pairs, pairs[:, [1, 2, 0]], pairs[:, [2, 0, 1]]])
    pixels = pixels[: len(pixels) // 512 * 512].reshape(-1, 512, 3).astype(np.uint8)
    path = tmp_path / "all.png"
    Image.fromarray(pixels, "RGB").save(path)
    for amount in (0.004, 0.25, -0.4):
        check(path, f"image.color_jitter(hue=({amount}, {amount}))", hue(Image.fromarray(pixels, "RGB"), amount))


JITTER = {
    "brightness": lambda image, x: ImageEnhance.Brightness(image).enhance(x),
    "contrast": lambda image, x: ImageEnhance.Contrast(image).enhance(x),
    "saturation": lambda image, x: ImageEnhance.Color(image).enhance(x),
    "hue": hue,
}


def test_color_jitter_goes_through_its_changes_in_the_order_drawn(waves_file):
    image, path = waves_file
    orders = set()
    chain = "image.color_jitter(0.4, 0.3, 0.2, 0.1, probability=0.8)"
    drawn = delivered(path, chain, 60)
    for told, row in drawn:
        changes = [part.split() for part in told[0].split(", ")] if told[0][0] in "bcsh" else []
        wanted = image
        for name, amount in changes:
            low, high = {
                "brightness": (0.6, 1.4),
                "contrast": (0.7, 1.3),
                "saturation": (0.8, 1.2),
                "hue": (-0.1, 0.1),
            }[name]
            assert low <= float(amount) <= high
            wanted = JITTER[name](wanted, float(amount))
        # What is told has six digits: a pixel that lies at the edge of two levels may fall to the other side, and the
        # changes after it may spread that.
        difference = np.abs(row.astype(int) - np.asarray(wanted))
        assert difference.max() <= 6 and (difference > 0).mean() < 1e-2
        orders.add(tuple(name for name, _ in changes))
    skipped = sum(told[0].startswith("not jittered") for told, _ in drawn)
    assert len(orders) > 15 and 2 <= skipped <= 25


# Blurs


def blurred(image, kernel, sigma):
    """In float64: the kernel of torchvision, reflected edges."""
    pixels = np.asarray(image).astype(float)
    for axis, size in ((0, kernel[0]), (1, kernel[1])):
        x = np.arange(size) - (size - 1) / 2
        weights = np.exp(-0.5 * (x / sigma) ** 2)
        weights /= weights.sum()
        reach = size // 2
        pads = [(0, 0)] * 3
        pads[axis] = (reach, reach)
        wide = np.pad(pixels, pads, "reflect")
        pixels = sum(w * np.take(wide, range(t, t + pixels.shape[axis]), axis) for t, w in enumerate(weights))
    return pixels


@pytest.mark.parametrize("kernel, sigma", [((3, 3), 0.5), ((23, 23), 1.7), ((5, 31), 3), ((1, 1), 2), ((7, 1), 1e6)])
def test_gaussian_blur_is_the_formula_rounded(picture, kernel, sigma):
    image, path = picture
    _, row = delivered(path, f"image.gaussian_blur({kernel[0]}, {kernel[1]}, sigma={sigma})")[0]
    exact = blurred(image, kernel, sigma)
    clear = np.abs(exact - np.floor(exact) - 0.5) > 1e-3  # float32 sums cannot tell the others
    assert (row == np.round(exact))[clear].all()
    assert np.abs(row - exact).max() < 0.502


def test_a_blur_wider_than_the_image_is_refused(waves_file):
    _, path = waves_file
    assert "with a kernel of 21 x 21 does not fit an image of 10 x 10" in refused(
        path, "image.center_crop(10) | image.gaussian_blur(21)"
    )
