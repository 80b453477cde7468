"""PNGs of 16 bits: images, masks and casts, beside what Pillow reads and the numbers themselves."""

import os
import pathlib
import struct
import zlib

import numpy as np
import penstock as ps
import pytest

PIL = pytest.importorskip("PIL")
from PIL import Image  # noqa: E402

SUITE = pathlib.Path(os.environ.get("PENSTOCK_TEST_DATA", "")) / "images" / "pngsuite"
KINDS = {1: 0, 2: 4, 3: 2, 4: 6}  # channels stored: colour type


def png(pixels, interlaced=False):
    """Of uint8 or uint16 (H, W, C), written here: Pillow writes no RGB of 16 bits."""
    height, width, channels = pixels.shape
    depth = pixels.dtype.itemsize * 8

    def rows(part):
        return b"".join(b"\0" + row.astype(row.dtype.newbyteorder(">")).tobytes() for row in part)

    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    passes = [(0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1)]
    parts = [pixels[y::dy, x::dx] for y, x, dy, dx in passes] if interlaced else [pixels]
    data = b"".join(rows(part) for part in parts if part.size)
    head = struct.pack(">IIBBBBB", width, height, depth, KINDS[channels], 0, 0, int(interlaced))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(data)) + chunk(b"IEND", b"")


def random_pixels(channels, seed=0, dtype=np.uint16, size=(9, 13)):
    return np.random.default_rng(seed).integers(0, np.iinfo(dtype).max + 1, (*size, channels), dtype)


def folder_of(tmp_path, *images, **others):
    (tmp_path / "data").mkdir()
    for number, pixels in enumerate(images):
        (tmp_path / "data" / f"{number}.png").write_bytes(pixels if isinstance(pixels, bytes) else png(pixels))
        for name, values in others.items():
            (tmp_path / "data" / f"{number}.{name}.png").write_bytes(png(values[number]))
    return tmp_path / "data"


def loaded(folder, name="png", **chains):
    batch = next(
        iter(ps.Loader(folder, batch_size=len(ps.open(folder)), transforms=chains or {"png": ps.image.decode()}))
    )
    return np.array(batch[name])


def delivered(pixels):
    """As image.decode() has it: RGB without alpha, (C, H, W)."""
    colors = pixels[..., :1].repeat(3, -1) if pixels.shape[-1] < 3 else pixels[..., :3]
    return colors.transpose(2, 0, 1)


@pytest.mark.parametrize("channels", KINDS)
@pytest.mark.parametrize("interlaced", [False, True])
def test_every_kind_comes_as_uint16_with_all_its_bits(tmp_path, channels, interlaced):
    pixels = random_pixels(channels)
    folder = folder_of(tmp_path, png(pixels, interlaced))
    if channels == 1:
        assert np.array_equal(np.asarray(Image.open(folder / "0.png")), pixels[..., 0])
    rows = loaded(folder)
    assert rows.dtype == np.uint16 and np.array_equal(rows[0], delivered(pixels))
    last = loaded(folder, png=ps.image.decode() | ps.image.channels_last())
    assert np.array_equal(last[0], delivered(pixels).transpose(1, 2, 0))
    crop = loaded(folder, png=ps.image.center_crop(5) | ps.image.random_horizontal_flip(1.0))
    assert crop.dtype == np.uint16 and np.array_equal(crop[0], delivered(pixels)[:, 2:7, 4:9][:, :, ::-1])


def test_casts_and_normalized_values_follow_the_rule(tmp_path):
    pixels = random_pixels(3)
    folder = folder_of(tmp_path, pixels)
    assert np.array_equal(loaded(folder, png=ps.image.decode() | ps.image.cast("uint8"))[0], delivered(pixels >> 8))
    plain = loaded(folder, png=ps.image.decode() | ps.image.cast("float32"))
    assert plain.dtype == np.float32 and np.array_equal(plain[0], delivered(pixels))
    mean, deviation = (0.4, 0.5, 0.6), (0.2, 0.3, 0.1)
    found = loaded(folder, png=ps.image.decode() | ps.image.normalize(mean, deviation))[0]
    wanted = (delivered(pixels) / 65535 - np.reshape(mean, (3, 1, 1))) / np.reshape(deviation, (3, 1, 1))
    assert np.abs(found - wanted).max() < 1e-5
    (tmp_path / "gray").mkdir()
    gray = folder_of(tmp_path / "gray", random_pixels(1))
    found = loaded(gray, png=ps.image.decode() | ps.image.normalize((0.5,), (0.5,)))[0]
    assert found.shape == (1, 9, 13) and np.abs(found[0] - (random_pixels(1)[..., 0] / 65535 - 0.5) / 0.5).max() < 1e-6
    small = loaded(gray, png=ps.image.resize((4, 6)) | ps.image.normalize((0.5,), (0.5,)))[0]
    eight = Image.fromarray((random_pixels(1)[..., 0] >> 8).astype(np.uint8)).resize((6, 4), Image.Resampling.BILINEAR)
    assert np.abs(small[0] - (np.asarray(eight) / 255 - 0.5) / 0.5).max() < 1e-6


@pytest.mark.parametrize("first", [8, 16])
def test_a_mixture_has_the_depth_of_the_first_or_of_the_chain(tmp_path, first):
    deep, flat = random_pixels(3), random_pixels(3, dtype=np.uint8)
    folder = folder_of(tmp_path, *((flat, deep) if first == 8 else (deep, flat)))
    wide = [delivered(deep), delivered(flat).astype(np.uint16) * 257]
    narrow = [delivered(deep >> 8), delivered(flat)]
    ordered = (lambda pair: pair[::-1]) if first == 8 else (lambda pair: pair)
    rows = loaded(folder)
    assert rows.dtype == (np.uint8 if first == 8 else np.uint16)
    assert np.array_equal(rows, ordered(narrow if first == 8 else wide))
    assert np.array_equal(loaded(folder, png=ps.image.decode() | ps.image.cast("uint16")), ordered(wide))
    assert np.array_equal(loaded(folder, png=ps.image.decode() | ps.image.cast("uint8")), ordered(narrow))


def test_steps_that_compute_pixels_take_the_upper_8_bits(tmp_path):
    pixels = random_pixels(3)
    folder = folder_of(tmp_path, pixels)
    found = loaded(folder, png=ps.image.resize((5, 4)))
    wanted = Image.fromarray((pixels >> 8).astype(np.uint8)).resize((4, 5), Image.Resampling.BILINEAR)
    assert found.dtype == np.uint8 and np.array_equal(found[0], np.asarray(wanted).transpose(2, 0, 1))
    for chain in [ps.image.resize((5, 4)) | ps.image.cast("uint16"), ps.image.decode() | ps.image.cast("int64")]:
        with pytest.raises(ps.Error, match="16"):
            loaded(folder, png=chain)
    erased = ps.image.decode() | ps.image.random_erasing(1.0, value=0)
    with pytest.raises(ps.Error, match="uint16"):
        loaded(folder, png=erased)


def test_masks_of_16_bits_follow(tmp_path):
    images = [random_pixels(3, seed, np.uint8) for seed in range(3)]
    masks = [random_pixels(1, seed) for seed in range(3)]
    folder = folder_of(tmp_path, *images, depth=masks)
    chain = ps.image.center_crop(5) | ps.image.random_horizontal_flip(1.0)
    found = loaded(folder, "depth.png", **{"png": chain, "depth.png": ps.follow("png")})
    assert found.dtype == np.uint16
    for row, mask in zip(found, masks):
        assert np.array_equal(row, mask[2:7, 4:9, 0][:, ::-1])
    as_numbers = {"png": ps.image.resize((18, 26)), "depth.png": ps.follow("png") | ps.array.cast("int64")}
    found = loaded(folder, "depth.png", **as_numbers)
    nearest = np.stack([mask[..., 0].repeat(2, 0).repeat(2, 1) for mask in masks])
    assert found.dtype == np.int64 and np.array_equal(found, nearest)


@pytest.mark.parametrize("cache", ["", "decoded"])
def test_a_cache_delivers_the_same(tmp_path, cache):
    folder = folder_of(tmp_path, random_pixels(3), random_pixels(3, 1))
    options = {"cache": ps.CacheOptions(cache, limit=1 << 20)} if cache else {}
    loader = ps.Loader(folder, batch_size=2, transforms={"png": ps.image.random_horizontal_flip()}, seed=3, **options)
    epochs = [np.array(next(iter(loader))["png"]) for _ in range(3)]
    plain = ps.Loader(folder, batch_size=2, transforms={"png": ps.image.random_horizontal_flip()}, seed=3)
    assert all(np.array_equal(a, np.array(next(iter(plain))["png"])) for a in epochs)


@pytest.mark.skipif(not SUITE.is_dir(), reason="no PngSuite in PENSTOCK_TEST_DATA")
def test_the_suite_of_pngs(tmp_path):
    (tmp_path / "one").mkdir()
    compared = 0
    for path in sorted(SUITE.rglob("*.png")):
        header = path.read_bytes()[:33]
        if path.name.startswith("x") or header[24] != 16 or header[25] != 0:
            continue
        with Image.open(path) as image:
            stored = np.asarray(image).astype(np.uint16)
        target = tmp_path / "one" / "0.png"
        target.write_bytes(path.read_bytes())
        found = loaded(tmp_path / "one")[0]
        assert found.dtype == np.uint16 and all(np.array_equal(plane, stored) for plane in found), path.name
        compared += 1
    assert compared >= 4
