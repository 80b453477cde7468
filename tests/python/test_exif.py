"""image.decode(apply_exif_orientation=True) beside Pillow's ImageOps.exif_transpose."""

import os
import pathlib
import struct

import penstock as ps
import pytest

np = pytest.importorskip("numpy")
pytest.importorskip("PIL")
from PIL import Image, ImageOps  # noqa: E402

ORIENTATION = 0x112
DATA = pathlib.Path(os.environ.get("PENSTOCK_TEST_DATA", "")) / "images" / "exif_orientation"


def save(path, orientation, size=(56, 40), exif=None):
    rng = np.random.default_rng(orientation)
    smooth = Image.fromarray(rng.integers(0, 256, (3, 4, 3), np.uint8)).resize(size)
    if exif is None:
        exif = Image.Exif()
        exif[ORIENTATION] = orientation
    options = {".jpg": {"quality": 90}, ".png": {}, ".webp": {"lossless": True}}[path.suffix]
    smooth.save(path, exif=exif, **options)


@pytest.fixture(name="folder", scope="module")
def folder_fixture(tmp_path_factory):
    """An image of each orientation, their sizes alike once they are upright."""
    folder = tmp_path_factory.mktemp("exif") / "images"
    folder.mkdir()
    for orientation in range(1, 9):
        save(folder / f"{orientation}.jpg", orientation, (56, 40) if orientation < 5 else (40, 56))
    return folder


def upright(path):
    with Image.open(path) as image:
        return np.asarray(ImageOps.exif_transpose(image).convert("RGB"))


def images(dataset, chain, **options):
    loader = ps.Loader(dataset, batch_size=1, shuffle=False, transforms={"jpg": chain}, **options)
    return [np.asarray(batch["jpg"])[0].transpose(1, 2, 0).copy() for batch in loader]


@pytest.mark.parametrize("stored", ["folder", "recoded"])
def test_all_orientations_are_pillows(folder, stored, tmp_path):
    dataset = folder
    if stored == "recoded":
        dataset = tmp_path / "recoded"
        ps.pack(folder, dataset, format="tar", jpeg="recode")
    made = images(dataset, ps.image.decode(apply_exif_orientation=True))
    middle = images(dataset, ps.image.decode(apply_exif_orientation=True) | ps.image.center_crop(20))
    for path, whole, part in zip(sorted(folder.glob("*.jpg")), made, middle, strict=True):
        expected = upright(path)
        assert np.array_equal(whole, expected), path.name
        top, left = (40 - 20) // 2, (56 - 20) // 2
        assert np.array_equal(part, expected[top : top + 20, left : left + 20]), path.name


def test_without_it_images_come_as_stored(folder):
    made = images(folder, ps.image.resize((37, 53)))
    for path, image in zip(sorted(folder.glob("*.jpg")), made, strict=True):
        with Image.open(path) as file:
            assert np.array_equal(image, np.asarray(file.convert("RGB").resize((53, 37), Image.BILINEAR))), path.name


def test_a_cache_of_pixels_and_smaller_decoding_keep_to_it(folder):
    chain = ps.image.decode(apply_exif_orientation=True) | ps.image.resize((20, 30))
    plain = images(folder, chain)
    loader = ps.Loader(
        folder, batch_size=1, shuffle=False, transforms={"jpg": chain}, cache=ps.CacheOptions("decoded", limit=1 << 24)
    )
    for _ in range(2):
        for batch, expected in zip(loader, plain, strict=True):
            assert np.array_equal(np.asarray(batch["jpg"])[0].transpose(1, 2, 0), expected)
    fast = ps.image.decode(fast=True, apply_exif_orientation=True) | ps.image.resize((10, 14))
    exact = ps.image.decode(apply_exif_orientation=True) | ps.image.resize((10, 14))
    for made, expected in zip(images(folder, fast), images(folder, exact), strict=True):
        assert np.abs(made.astype(int) - expected).mean() < 8


def test_blocks_that_say_nothing_leave_the_image_as_it_is(tmp_path):
    directory = struct.pack(">HHIHH", ORIENTATION, 3, 1, 6, 0)
    blocks = [
        b"Exif\0\0",
        b"Exif\0\0MM\0\x2a\xff\xff\xff\xf0",  # a directory behind the end
        b"Exif\0\0MM\0\x2a\0\0\0\x08\xff\xff" + directory[:6],  # entries that are not there
        b"Exif\0\0MM\0\x2a\0\0\0\x08\0\x01" + directory.replace(b"\0\x06\0\0", b"\0\x09\0\0"),  # no orientation
        b"Exif\0\0MM\0\x2a\0\0\0\x08\0\x01" + directory.replace(b"\0\x03\0\0", b"\0\x04\0\0", 1),  # no short
    ]
    for number, block in enumerate(blocks):
        save(tmp_path / f"{number}.jpg", 1, exif=block)
    made = images(tmp_path, ps.image.decode(apply_exif_orientation=True))
    for number, image in enumerate(made):
        with Image.open(tmp_path / f"{number}.jpg") as stored:
            assert np.array_equal(image, np.asarray(stored.convert("RGB"))), number


@pytest.mark.parametrize("suffix", [".png", ".webp"])
def test_png_and_webp_are_pillows(tmp_path, suffix):
    for orientation in range(1, 9):
        save(tmp_path / f"{orientation}{suffix}", orientation, (56, 40) if orientation < 5 else (40, 56))
    try:
        made = images(tmp_path, ps.field(suffix[1:]) | ps.image.decode(apply_exif_orientation=True))
    except ps.Error as error:
        if "has no libwebp" not in str(error):
            raise
        pytest.skip(f"{error}; install libwebp-dev and build again")
    stored = images(tmp_path, ps.field(suffix[1:]) | ps.image.resize((37, 53)))
    for orientation, (image, plain) in enumerate(zip(made, stored, strict=True), start=1):
        path = tmp_path / f"{orientation}{suffix}"
        assert np.array_equal(image, upright(path)), path.name
        with Image.open(path) as file:
            assert np.array_equal(plain, np.asarray(file.convert("RGB").resize((53, 37), Image.BILINEAR))), path.name


@pytest.mark.parametrize("suffix", [".png", ".webp"])
def test_chunks_that_are_cut_leave_the_image_to_its_decoder(tmp_path, suffix):
    save(tmp_path / f"0{suffix}", 6, (40, 56))
    whole = (tmp_path / f"0{suffix}").read_bytes()
    chain = ps.field(suffix[1:]) | ps.image.decode(apply_exif_orientation=True)
    for cut in range(12, len(whole), 7):
        (tmp_path / f"0{suffix}").write_bytes(whole[:cut])
        try:
            images(tmp_path, chain)
        except ps.Error as error:
            assert error.kind in ("corrupt", "shape", "unsupported")  # noqa: PT017


@pytest.mark.skipif(not DATA.is_dir(), reason="no images in PENSTOCK_TEST_DATA")
def test_real_files_are_pillows(tmp_path):
    paths = sorted(DATA.rglob("*.jpg"))
    assert len(paths) >= 16
    for number, path in enumerate(paths):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "image.jpg").write_bytes(path.read_bytes())
        (made,) = images(folder, ps.image.decode(apply_exif_orientation=True))
        expected = upright(path)
        assert made.shape == expected.shape, path.name
        assert np.abs(made.astype(int) - expected).max() <= 2, path.name  # Pillow's own libjpeg
