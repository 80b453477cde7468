"""Augmentations against Pillow and NumPy: each step with what was drawn for it, done again as torchvision does it on PIL
images. Pixels are equal, unless a tolerance is stated.

Needs PENSTOCK_CHAIN_ORACLE (the program of tests/transforms/chain_oracle.cpp).
"""

import json
import math
import os
import pathlib
import re
import subprocess

import numpy as np
import pytest
from PIL import Image, ImageEnhance, ImageOps

ORACLE = os.environ["PENSTOCK_CHAIN_ORACLE"]
IMAGES = pathlib.Path(os.environ.get("PENSTOCK_TEST_DATA", "")) / "images"
RESAMPLING = {
    "nearest": Image.Resampling.NEAREST,
    "area": Image.Resampling.BOX,
    "bilinear": Image.Resampling.BILINEAR,
    "bicubic": Image.Resampling.BICUBIC,
}
MEAN, DEVIATION = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])
NORMALIZE = "image.normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])"


def noise(width, height):
    return Image.fromarray(np.random.default_rng(width * height).integers(0, 256, (height, width, 3), np.uint8), "RGB")


def waves(width, height):
    y, x = np.mgrid[0:height, 0:width]
    planes = [np.sin(x / 7) * np.cos(y / 11), np.cos((x + y) / 17), np.sin(y / 5 + x / 23)]
    return Image.fromarray((np.stack(planes, -1) * 100 + 128).astype(np.uint8), "RGB")


def pictures():
    found = {
        "noise": noise(61, 47),
        "waves": waves(224, 224),
        "tall": waves(33, 128),
        "flat": Image.new("RGB", (40, 40), (9, 200, 90)),
    }
    if (IMAGES / "imagenet500").is_dir():
        photographs = sorted((IMAGES / "imagenet500").rglob("*.JPEG"))[::150]
        for path in photographs:
            found[path.stem] = Image.open(path).convert("RGB").resize((224, 200))
    return found


PICTURES = pictures()


@pytest.fixture(params=PICTURES, ids=str)
def picture(request, tmp_path):
    """(the image, the file that holds it)"""
    image = PICTURES[request.param]
    image.save(tmp_path / "image.png")
    return image, tmp_path / "image.png"


@pytest.fixture
def waves_file(tmp_path):
    image = PICTURES["waves"]
    image.save(tmp_path / "image.png")
    return image, tmp_path / "image.png"


def delivered(path, chain, samples=1):
    """(what was told of the steps, row (H, W, C)) of each sample."""
    out = path.with_suffix(".rows")
    done = subprocess.run([ORACLE, path, chain, str(samples), out], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    rows = np.fromfile(out, lines[0]["dtype"]).reshape(samples, *lines[0]["shape"]).transpose(0, 2, 3, 1)
    return [([outcome for _, outcome in line["steps"]], row) for line, row in zip(lines, rows, strict=True)]


def refused(path, chain):
    done = subprocess.run(
        [ORACLE, path, chain, "1", path.with_suffix(".rows")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done.stdout
    return done.stderr


def check(path, chain, expected):
    _, row = delivered(path, chain)[0]
    wanted = np.asarray(expected)
    wanted = wanted[..., None] if wanted.ndim == 2 else wanted
    assert row.shape == wanted.shape
    assert (row == wanted).all(), np.abs(row.astype(int) - wanted).max()


# --- geometry


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
    chain = f"image.random_crop(32, 40, padding=(4, 6), fill=7, padding_mode={mode}) | image.random_flip(1)" + after
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
    assert "image.random_crop() of 300 x 300 does not fit an image of 224 x 224 pixels; pad_if_needed" in refused(
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


def inverse_affine(center, angle, translate, scale, shear):
    """torchvision.transforms.functional._get_inverse_affine_matrix, from its documentation: the inverse of
    T * C * RotateScaleShear * C^-1, with RSS = rotation * shear of y * shear of x * scale."""
    rot, sx, sy = math.radians(angle), math.radians(shear[0]), math.radians(shear[1])

    def matrix(*rows):
        return np.array([*rows, (0, 0, 1)], float)

    turn = matrix((math.cos(rot), -math.sin(rot), 0), (math.sin(rot), math.cos(rot), 0))
    shear_y = matrix((1, 0, 0), (-math.tan(sy), 1, 0))
    shear_x = matrix((1, -math.tan(sx), 0), (0, 1, 0))
    size = matrix((scale, 0, 0), (0, scale, 0))
    there = matrix((1, 0, center[0]), (0, 1, center[1]))
    shift = matrix((1, 0, translate[0]), (0, 1, translate[1]))
    return np.linalg.inv(shift @ there @ turn @ shear_y @ shear_x @ size @ np.linalg.inv(there))


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
        "image.resize(50, 60) | image.random_flip(1) | image.random_rotation((-20, -20), interpolation=bilinear)",
        wanted.rotate(-20, Image.Resampling.BILINEAR),
    )


# --- colors


def hue(image, amount):
    h, s, v = (np.array(band) for band in image.convert("HSV").split())
    h = (h.astype(int) + int(amount * 255)) % 256
    bands = [Image.fromarray(band.astype(np.uint8), "L") for band in (h, s, v)]
    return Image.merge("HSV", bands).convert("RGB")


def gray(image):
    return Image.merge("RGB", [image.convert("L")] * 3)


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


# --- automatic augmentation


def bins(high, count, low=0.0):
    """torch.linspace in float32: from the nearer end, product and sum rounded once."""
    step, i = float((np.float32(high) - np.float32(low)) / np.float32(count - 1)), np.arange(count)
    ends = float(np.float32(low)), float(np.float32(high))
    return np.where(i < count // 2, ends[0] + step * i, ends[1] - step * (count - 1 - i)).astype(np.float32)


def test_magnitudes_are_those_of_torchs_linspace():
    torch = pytest.importorskip("torch")
    for count in (2, 10, 31):
        for high in (0.3, 0.99, 30, 32, 135, 0.9, 150 / 331 * 224):
            assert (bins(high, count) == torch.linspace(0.0, high, count).numpy()).all()
        assert (bins(0, count, 1) == torch.linspace(1.0, 0.0, count).numpy()).all()


def augmented(image, name, magnitude, fill):
    def affine(center=(0, 0), translate=(0, 0), shear=(0, 0)):
        data = inverse_affine(center, 0, translate, 1, shear)[:2].ravel().tolist()
        return image.transform(image.size, Image.Transform.AFFINE, data, Image.Resampling.NEAREST, fillcolor=fill)

    degrees = math.degrees(math.atan(magnitude))
    return {
        "Identity": lambda: image,
        "ShearX": lambda: affine(shear=(degrees, 0)),
        "ShearY": lambda: affine(shear=(0, degrees)),
        "TranslateX": lambda: affine(translate=(int(magnitude), 0)),
        "TranslateY": lambda: affine(translate=(0, int(magnitude))),
        "Rotate": lambda: image.rotate(magnitude, fillcolor=fill),
        "Brightness": lambda: ImageEnhance.Brightness(image).enhance(1 + magnitude),
        "Color": lambda: ImageEnhance.Color(image).enhance(1 + magnitude),
        "Contrast": lambda: ImageEnhance.Contrast(image).enhance(1 + magnitude),
        "Sharpness": lambda: ImageEnhance.Sharpness(image).enhance(1 + magnitude),
        "Posterize": lambda: ImageOps.posterize(image, int(magnitude)),
        "Solarize": lambda: ImageOps.solarize(image, 255 * magnitude),
        "AutoContrast": lambda: ImageOps.autocontrast(image),
        "Equalize": lambda: ImageOps.equalize(image),
    }[name]()


def exact_magnitude(name, told, choices):
    """The bin that six digits tell."""
    if told is None:
        return 0.0
    near = [value for value in choices[name] if math.isclose(abs(float(told)), value, rel_tol=1e-5, abs_tol=1e-9)]
    assert near, (name, told)
    return math.copysign(near[0], float(told))


def space(image, wide, count, chosen=None):
    most = (
        {"ShearX": 0.99, "ShearY": 0.99, "TranslateX": 32, "TranslateY": 32, "Rotate": 135}
        if wide
        else {
            "ShearX": 0.3,
            "ShearY": 0.3,
            "TranslateX": 150 / 331 * image.width,
            "TranslateY": 150 / 331 * image.height,
            "Rotate": 30,
        }
    )
    most |= dict.fromkeys(["Brightness", "Color", "Contrast", "Sharpness"], 0.99 if wide else 0.9)
    found = {name: [float(x) for x in bins(high, count)] for name, high in most.items()}
    lost = np.arange(count) / ((count - 1) / (6 if wide else 4))
    found["Posterize"] = [float(x) for x in np.round((8 - lost).astype(np.float32))]
    found["Solarize"] = [float(x) for x in bins(0, count, 1)]
    return {name: values if chosen is None else [values[chosen]] for name, values in found.items()}


@pytest.mark.parametrize(
    "chain, wide, count, chosen",
    [
        ("image.trivial_augment(fill=(1, 2, 3))", True, 31, None),
        ("image.rand_augment(3, 14, fill=(1, 2, 3))", False, 31, 14),
        ("image.rand_augment(1, 9, 10, fill=(1, 2, 3))", False, 10, 9),
    ],
)
def test_automatic_augmentations_are_torchvisions_on_pillow(waves_file, chain, wide, count, chosen):
    image, path = waves_file
    choices = space(image, wide, count, chosen)
    seen = set()
    for told, row in delivered(path, chain, 200):
        wanted = image
        for part in told[0].split(", "):
            name, *magnitude = part.split()
            seen.add((name, bool(magnitude) and magnitude[0].startswith("-")))
            wanted = augmented(wanted, name, exact_magnitude(name, *(magnitude or [None]), choices), (1, 2, 3))
        # Shears have a matrix that is another one in its last bits.
        assert (row != np.asarray(wanted)).mean() < (2e-3 if "Shear" in told[0] else 1e-9), told
    signed = ["ShearX", "ShearY", "TranslateX", "TranslateY", "Rotate", "Brightness", "Color", "Contrast", "Sharpness"]
    unsigned = ["Identity", "Posterize", "Solarize", "AutoContrast", "Equalize"]
    expected = {(name, sign) for name in signed for sign in (False, True)} | {(name, False) for name in unsigned}
    assert seen == expected


# --- erasing


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


# --- order


def test_steps_stand_in_any_order_before_the_numbers(waves_file):
    image, path = waves_file
    chain = (
        "image.random_invert(1) | image.resize(100, 90, interpolation=area) | image.grayscale(3) | "
        "image.random_rotation((15, 15), fill=200) | image.center_crop(80) | image.random_flip(1) | "
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
            "image.random_erasing() | image.random_flip()",
            "image.random_flip(0.5) must come before image.random_erasing",
        ),
        (f"image.random_erasing() | {NORMALIZE}", "must come before image.random_erasing"),
        ("image.random_erasing(value=random)", "random values needs image.normalize()"),
        ("image.random_erasing(value=0.5)", "uint8 pixels needs values from 0 to 255"),
        ("image.random_rotation(10, interpolation=area)", "interpolation is nearest, bilinear or bicubic"),
        ("image.resize(9, interpolation=cubic)", "interpolation is nearest, area, bilinear or bicubic, not"),
        ("image.pad(1, padding_mode=wrap)", "padding_mode is constant, edge, reflect or symmetric"),
        ("image.pad(1, fill=256)", "a fill from 0 to 255"),
        ("image.pad(1, fill=(1, 2))", "one number, or one for each of 3"),
        ("image.grayscale() | image.pad(1, fill=(1, 2, 3))", "is given 3 channels, but the pixels have 1"),
        ("image.grayscale(2)", "1 or 3 channels"),
        (f"image.grayscale() | {NORMALIZE}", "has 3 means, but image.grayscale() leaves 1"),
        ("image.gaussian_blur(4)", "odd kernel"),
        ("image.gaussian_blur(3, sigma=0)", "0.001 <= sigma"),
        ("image.color_jitter(hue=0.6)", "hue from -0.5 to 0.5"),
        ("image.color_jitter(brightness=(2, 1))", "the lower one first"),
        ("image.color_jitter(brightness=-1)", "takes no negative numbers"),
        ("image.random_affine(10, translate=(0, 1.5))", "translate from 0 to 1"),
        ("image.random_affine(10, scale=(0, 1))", "0.001 <= scale"),
        ("image.random_affine(10, shear=90)", "shear from -89 to 89"),
        ("image.random_rotation((10, -10))", "the lower ones first"),
        ("image.rand_augment(2, 31)", "magnitude from 0 to bins - 1"),
        ("image.rand_augment(2, 0, 1)", "bins from 2"),
        ("image.random_posterize(9)", "0 to 8 bits"),
        ("image.random_crop(0)", "size of at least 1 pixel"),
        ("image.random_vertical_flip(2)", "probability from 0 to 1"),
        ("image.random_crop(5, wrong=1, padding=2)", "more arguments than it takes"),
    ],
)
def test_what_makes_no_sense_is_refused_with_its_cause(waves_file, chain, cause):
    assert cause in refused(waves_file[1], chain)
