"""Helpers of the tests of augmentations: pictures, what the program chain_oracle delivers of them, and steps as
torchvision does them on PIL images.

Needs PENSTOCK_CHAIN_ORACLE (the program of tests/transforms/chain_oracle.cpp).
"""

import json
import math
import os
import pathlib
import subprocess

import numpy as np
import pytest
from PIL import Image

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


# Steps on PIL images


def gray(image):
    return Image.merge("RGB", [image.convert("L")] * 3)


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
