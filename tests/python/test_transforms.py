"""Chains against Pillow: the same box, cropped, resized, flipped and normalized as torchvision does it on PIL images."""

import json
import os
import pathlib
import subprocess

import numpy as np
import pytest
from PIL import Image

ORACLE = os.environ["PENSTOCK_CHAIN_ORACLE"]
IMAGES = pathlib.Path(os.environ.get("PENSTOCK_TEST_DATA", "")) / "images"
MEAN = np.array([0.485, 0.456, 0.406])
DEVIATION = np.array([0.229, 0.224, 0.225])
# Pillow rounds between its two passes and picks the cheaper order of them; ours is rows first, so a pixel may be one
# level of 255 apart.
LEVELS = 1


def photographs():
    if not (IMAGES / "imagenet500").is_dir():
        return []
    found = sorted(path for path in (IMAGES / "imagenet500").rglob("*") if path.suffix.lower() in {".jpg", ".jpeg"})
    return found[::25] + sorted((IMAGES / "cifar10_png").rglob("*.png"))[::500]


def delivered(path, chain, samples, folder, dtype):
    """(geometry, row) of each sample."""
    out = folder / "rows"
    done = subprocess.run([ORACLE, path, chain, str(samples), out], capture_output=True, text=True, check=True)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    rows = np.fromfile(out, dtype).reshape(samples, *lines[0]["shape"])
    return list(zip(lines, rows, strict=True))


def expected(image, geometry):
    """The resized grid of the box, the window cut out of it, mirrored: uint8 (H, W, 3)."""
    left, top, width, height = geometry["box"]
    box = [round(value) for value in (left, top, left + width, top + height)]
    assert box[2] - box[0] == width and box[3] - box[1] == height, "a box of whole pixels"
    grid = image.crop(box)
    if list(grid.size) != geometry["grid"]:
        grid = grid.resize(geometry["grid"], Image.Resampling.BILINEAR)
    x, y, width, height = geometry["window"]
    part = grid.crop((x, y, x + width, y + height))
    if geometry["flip"]:
        part = part.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    return np.asarray(part)


pytestmark = pytest.mark.skipif(not photographs(), reason="PENSTOCK_TEST_DATA has no images")


@pytest.mark.parametrize("path", photographs(), ids=lambda path: path.name)
@pytest.mark.parametrize("chain", ["train-pixels", "train-wide", "eval-pixels", "decode"])
def test_pixels_are_pillows(path, chain, tmp_path):
    image = Image.open(path).convert("RGB")
    for geometry, row in delivered(path, chain, 1 if chain == "decode" else 4, tmp_path, np.uint8):
        assert tuple(geometry["source"]) == image.size
        difference = row.transpose(1, 2, 0).astype(int) - expected(image, geometry)
        assert np.abs(difference).max() <= LEVELS


@pytest.mark.parametrize("path", photographs()[::4], ids=lambda path: path.name)
@pytest.mark.parametrize("chain", ["train", "eval"])
def test_normalized_values_follow_torchvision(path, chain, tmp_path):
    image = Image.open(path).convert("RGB")
    for geometry, row in delivered(path, chain, 3, tmp_path, np.float32):
        wanted = (expected(image, geometry) / 255.0 - MEAN) / DEVIATION
        assert (np.abs(row.transpose(1, 2, 0) - wanted) < LEVELS / 255.0 / DEVIATION + 1e-5).all()


def test_eval_crops_where_torchvision_does(tmp_path):
    path = photographs()[0]
    width, height = Image.open(path).size
    geometry, _ = delivered(path, "eval", 1, tmp_path, np.float32)[0]
    short, long = min(width, height), max(width, height)
    scaled = [256 if side == short else int(256 * long / short) for side in (width, height)]
    assert geometry["grid"] == scaled
    assert geometry["window"] == [round((scaled[0] - 224) / 2.0), round((scaled[1] - 224) / 2.0), 224, 224]
