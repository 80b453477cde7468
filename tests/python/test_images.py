"""Pillow as the oracle of the image codecs and of resampling.

Needs PENSTOCK_TEST_DATA (real images) and PENSTOCK_IMAGE_ORACLE (the program of tests/transforms/image_oracle.cpp).
"""

import io
import os
import pathlib
import random
import subprocess

import pytest

PIL = pytest.importorskip("PIL")
np = pytest.importorskip("numpy")
from PIL import Image  # noqa: E402

DATA = pathlib.Path(os.environ.get("PENSTOCK_TEST_DATA", "")) / "images"
ORACLE = pathlib.Path(os.environ.get("PENSTOCK_IMAGE_ORACLE", "image_oracle"))

pytestmark = [
    pytest.mark.skipif(not ORACLE.exists(), reason=f"{ORACLE} is not built; run this test by ctest"),
    pytest.mark.skipif(not DATA.is_dir(), reason="no images in PENSTOCK_TEST_DATA"),
]

# Pillow bundles its own, newer libjpeg-turbo. Photographs come out equal; of some odd samplings it smooths the chroma in
# another way.
ODD_JPEG_TOLERANCE = 2

# Files that the two libraries see differently, and why.
KNOWN = {
    "jpeg_lossless_sel1-8bit.jpg": "refused by penstock",  # lossless: libjpeg-turbo 3 reads it, 2.1 does not
    "peacock.progressive.scan000.jpeg": "other pixels",  # scans are missing: versions smooth the blocks differently
    "xcsn0g01.png": "refused by penstock",  # wrong checksum of an IDAT chunk, which Pillow does not look at
    "chunk_no_fctl.png": "refused by Pillow",  # animation without its control chunks; the image itself is sound
    "png_decompression_dos.png": "refused by Pillow",  # a text chunk that inflates without end; not read here
}


def oracle(*arguments):
    """The pixels, or None where the file is refused; a crash or any other fault fails the test."""
    done = subprocess.run([ORACLE, *map(str, arguments)], capture_output=True, timeout=60)
    if done.returncode == 1:
        return None
    assert done.returncode == 0, (arguments, done.returncode, done.stderr[-500:])
    header, pixels = done.stdout.split(b"\n", 1)
    width, height, channels = map(int, header.split())
    return np.frombuffer(pixels, np.uint8).reshape(height, width, channels)


def pillow(path, mode="RGB"):
    try:
        with Image.open(path) as image:
            if mode == "RGB" and image.mode.startswith("I"):  # 16 bits of gray, of which convert() clips all but black
                return (np.asarray(image) >> 8).astype(np.uint8)[..., None].repeat(3, -1)
            return np.asarray(image.convert(mode) if mode else image)
    except Exception:
        return None


def files(folder, every=1, pattern="*"):
    return sorted(p for p in (DATA / folder).rglob(pattern) if p.is_file())[::every] if DATA.is_dir() else []


def csv(box):
    return ",".join(map(str, box))


def random_box(rng, width, height, least=1):
    w, h = rng.randint(least, width), rng.randint(least, height)
    return rng.randint(0, width - w), rng.randint(0, height - h), w, h


@pytest.mark.parametrize("path", files("imagenet500", 10), ids=lambda p: p.name)
def test_crop_resize_flip_is_pillows_to_the_last_bit(path):
    whole = oracle(path, "rgb")
    image = Image.fromarray(whole)
    rng = random.Random(path.name)
    for size, flip in (((224, 224), False), ((96, 161), True), ((600, 500), False)):
        x, y, w, h = random_box(rng, image.width, image.height, 16)
        window = random_box(rng, *size)
        expected = image.crop((x, y, x + w, y + h)).resize(size, Image.BILINEAR)
        expected = expected.crop((window[0], window[1], window[0] + window[2], window[1] + window[3]))
        if flip:
            expected = expected.transpose(Image.FLIP_LEFT_RIGHT)
        options = ["flip"] if flip else []
        ours = oracle(path, "bilinear", csv((x, y, w, h)), csv(size), csv(window), *options)
        assert np.array_equal(ours, np.asarray(expected)), (x, y, w, h, size, window, flip)


@pytest.mark.parametrize("path", files("cifar10_png", 250, "*.png"), ids=lambda p: p.name)
def test_masks_take_pillows_nearest_pixels(path):
    image = Image.open(path)
    rng = random.Random(path.name)
    for size in ((7, 9), (32, 15), (224, 224), (100, 77)):
        x, y, w, h = random_box(rng, 32, 32)
        expected = np.asarray(image.crop((x, y, x + w, y + h)).resize(size, Image.NEAREST))
        ours = oracle(path, "nearest", csv((x, y, w, h)), csv(size), csv((0, 0, *size)))
        assert np.array_equal(ours, expected), (x, y, w, h, size)


@pytest.mark.parametrize("path", files("imagenet500", 10), ids=lambda p: p.name)
def test_photographs_decode_as_pillow_decodes_them(path):
    assert np.array_equal(oracle(path, "rgb"), pillow(path))


@pytest.mark.parametrize("folder", ["jpeg_valid", "jpeg_odd", "exif_orientation"])
def test_odd_jpegs_decode_as_pillow_decodes_them(folder):
    different = {}
    for path in files(folder):
        with open(path, "rb") as file:
            if file.read(3) != b"\xff\xd8\xff":
                continue
        ours, expected = oracle(path, "rgb"), pillow(path)
        if ours is None or expected is None:
            if (ours is None) != (expected is None):
                different[path.name] = "refused by " + ("penstock" if ours is None else "Pillow")
        elif ours.shape != expected.shape or np.abs(ours.astype(int) - expected).max() > ODD_JPEG_TOLERANCE:
            different[path.name] = "other pixels"
    assert different == {name: how for name, how in KNOWN.items() if name in different}


@pytest.mark.parametrize("folder", ["pngsuite", "png_odd", "cifar10_png"])
def test_pngs_decode_as_pillow_decodes_them(folder):
    different = {}
    for path in files(folder, 25 if folder == "cifar10_png" else 1):
        with open(path, "rb") as file:
            if file.read(8) != b"\x89PNG\r\n\x1a\n":
                continue
        ours, expected = oracle(path, "rgb"), pillow(path)
        if ours is None or expected is None:
            if (ours is None) != (expected is None):
                different[path.name] = "refused by " + ("penstock" if ours is None else "Pillow")
        elif not np.array_equal(ours, expected):
            different[path.name] = "other pixels"
    assert different == {name: how for name, how in KNOWN.items() if name in different}


def test_palette_masks_are_their_indices():
    seen = 0
    for path in files("pngsuite"):
        if path.suffix != ".png" or pillow(path) is None or Image.open(path).mode != "P":
            continue
        seen += 1
        assert np.array_equal(oracle(path, "stored")[..., 0], pillow(path, None)), path.name
    assert seen > 10


def webps():
    """Name -> bytes of WebP files of every kind, made from photographs."""
    kinds = {}

    def add(name, image, **options):
        buffer = io.BytesIO()
        image.save(buffer, "WEBP", **options)
        kinds[name] = buffer.getvalue()

    for number, path in enumerate(files("imagenet500", 100)):
        photograph = Image.open(path).convert("RGB")
        for quality in (0, 60, 100):
            add(f"lossy-{number}-{quality}", photograph.crop((3, 5, 180 + number, 140)), quality=quality)
        add(f"lossless-{number}", photograph.resize((61 + number, 47)), lossless=True)
        alpha = Image.linear_gradient("L").resize((90, 70))
        layered = photograph.resize((90, 70)).copy()
        layered.putalpha(alpha)
        add(f"alpha-{number}", layered, quality=80)
        add(f"alpha-lossless-{number}", layered, lossless=True, exact=True)
        add(f"method-{number}", photograph.resize((64, 64)), quality=40, method=6)
    for size in ((1, 1), (1, 17), (16, 1), (15, 33)):
        add(f"size-{size}", photograph.resize(size), quality=75)
        add(f"size-lossless-{size}", photograph.resize(size), lossless=True)
    frames = [Image.new("RGB", (20, 20), (i, 0, 0)) for i in (1, 90)]
    add("animation", frames[0], save_all=True, append_images=frames[1:])
    return kinds


@pytest.fixture(name="webp_file", scope="module")
def webp_file_fixture(tmp_path_factory):
    path = tmp_path_factory.mktemp("webp") / "image.webp"
    Image.new("RGB", (2, 2)).save(path)
    done = subprocess.run([ORACLE, path, "rgb"], capture_output=True, timeout=60)
    if b"no libwebp" in done.stderr:
        pytest.skip("this build has no libwebp; install libwebp-dev and build again")
    return path


def test_webps_decode_as_pillow_decodes_them(webp_file):
    rng = random.Random(1)
    for name, content in webps().items():
        webp_file.write_bytes(content)
        ours = oracle(webp_file, "rgb")
        if name == "animation":
            assert ours is None
            continue
        expected = pillow(webp_file)
        assert np.array_equal(ours, expected), name
        x, y, w, h = random_box(rng, ours.shape[1], ours.shape[0])
        part = oracle(webp_file, "bilinear", csv((x, y, w, h)), csv((w, h)), csv((0, 0, w, h)))
        assert np.array_equal(part, expected[y : y + h, x : x + w]), name


def test_damaged_webps_give_an_image_or_a_data_fault(webp_file):
    rng = random.Random(2)
    for content in list(webps().values())[:12]:
        for length in (0, 11, 12, 20, 30, len(content) // 2, len(content) - 2):
            webp_file.write_bytes(content[:length])
            if length >= 12:
                assert oracle(webp_file, "rgb") is None or length > len(content) - 3
        for _ in range(4):
            broken = bytearray(content)
            for _ in range(rng.randint(1, 9)):
                broken[rng.randrange(12, len(broken))] = rng.randrange(256)
            webp_file.write_bytes(broken)
            oracle(webp_file, "rgb")


@pytest.mark.parametrize("folder", ["jpeg_corrupt", "png_corrupt"])
def test_damaged_files_give_an_image_or_a_data_fault(folder):
    for path in files(folder):
        try:
            oracle(path, "rgb")
        except AssertionError as error:
            if b"neither the schema nor" not in str(error).encode():
                raise
