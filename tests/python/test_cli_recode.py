"""penstock pack --jpeg, --max-side and --decode: what packing makes of images, against Pillow."""

import io
import json
import shutil

import numpy as np
import pytest
from command import FORMATS, bytes_of, fails, run
from PIL import Image, ImageOps


@pytest.fixture(scope="module")
def photographs(tmp_path_factory):
    """Progressive and baseline JPEG files, and a PNG that is named one, made by Pillow."""
    folder = tmp_path_factory.mktemp("data") / "photographs"
    for i in range(12):
        pixels = np.random.default_rng(i).integers(0, 255, (8, 9, 3), dtype=np.uint8)  # smooth, once it is enlarged
        image = Image.fromarray(pixels).resize((180, 20 * i + 80))
        path = folder / f"class_{i % 2}" / f"{i:02}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        image.save(path, "PNG" if i == 7 else "JPEG", quality=90, progressive=i % 3 == 0, comment="made by a test")
    return folder


# JPEG files


def pixels_in(folder, key):
    with Image.open(io.BytesIO(run("cat", folder, f"{key}.jpg").stdout)) as image:
        return image.size, image.info.get("progressive", 0), image.convert("RGB").tobytes()


def test_pack_makes_progressive_files_baseline_and_loses_nothing(photographs, tmp_path):
    run("pack", photographs, tmp_path / "kept", "--format", "tar")
    for workers in [1, 3]:
        run("pack", photographs, tmp_path / f"{workers}", "--format", "tar", "--jpeg", "baseline", "--workers", workers)
    assert bytes_of(tmp_path / "1") == bytes_of(tmp_path / "3")
    assert json.loads((tmp_path / "1" / "penstock.json").read_text())["made_with"]["jpeg"] == "baseline"
    for i in range(12):
        key = f"class_{i % 2}/{i:02}"
        size, progressive, pixels = pixels_in(tmp_path / "kept", key)
        assert bool(progressive) == (i % 3 == 0)
        assert pixels_in(tmp_path / "1", key) == (size, 0, pixels)
        if i % 3:
            assert run("cat", tmp_path / "1", f"{key}.jpg").stdout == run("cat", photographs, f"{key}.jpg").stdout
    run("verify", tmp_path / "1", "--against", photographs)
    ranks = [
        run("pack", photographs, tmp_path / "r", "--format", "tar", "--jpeg", "baseline", "--rank", r, "--world", 2)
        for r in range(2)
    ]
    assert ranks and run("pack-join", tmp_path / "r")
    run("verify", tmp_path / "r", "--against", photographs)


def test_pack_recodes_photographs_and_gives_the_files_back(photographs, tmp_path):
    with Image.open(photographs / "class_0" / "02.jpg") as image:
        image.convert("CMYK").save(photographs / "class_0" / "ink.jpg")
    try:
        for workers in [1, 3]:
            words = ["--format", "tar", "--jpeg", "recode", "--workers", workers]
            told = run("pack", photographs, tmp_path / f"{workers}", *words).stderr.decode()
            assert "penstock: 1 kept as JPEG: CMYK" in told
        assert bytes_of(tmp_path / "1") == bytes_of(tmp_path / "3")
        run("verify", tmp_path / "1", "--against", photographs)
        assert json.loads((tmp_path / "1" / "penstock.json").read_text())["made_with"]["jpeg"] == "recode"
        stored = run("cat", tmp_path / "1", "class_0/02.jpg", "--stored").stdout
        assert stored.startswith(b"JPT\x01")
        for file in photographs.glob("*/*.jpg"):
            name = str(file.relative_to(photographs))
            assert run("cat", tmp_path / "1", name).stdout == file.read_bytes()
        run("pack", tmp_path / "1", tmp_path / "back", "--format", "lmdb", "--jpeg", "original")
        run("verify", tmp_path / "back", "--against", photographs)
        for file in photographs.glob("*/*.jpg"):
            name = str(file.relative_to(photographs))
            assert run("cat", tmp_path / "back", name, "--stored").stdout == file.read_bytes()
        run("pack", tmp_path / "1", tmp_path / "again", "--format", "zip")
        run("verify", tmp_path / "again", "--against", photographs)
    finally:
        (photographs / "class_0" / "ink.jpg").unlink()


def digest_of(dataset):
    told = run("bench", dataset, "--digest", "--task", "image-eval", "--batch-size", 3, "--seconds", 0.1, "--json", "-")
    return json.loads(told.stdout)["rows"][0]["digest"]


def test_a_photograph_with_stray_bytes_behind_its_first_marker_is_read_after_packing_as_before(photographs, tmp_path):
    folder = tmp_path / "strange"
    folder.mkdir()
    for number, stray in enumerate([b"\0\0", bytes(range(255)), b"\7" * 8000]):
        file = (photographs / "class_0" / "00.jpg").read_bytes()  # a progressive one
        (folder / f"{number}.jpg").write_bytes(file[:2] + stray + file[2:])
    run("pack", folder, tmp_path / "keep", "--format", "tar")
    pixels = digest_of(tmp_path / "keep")
    for policy in ["recode", "baseline"]:
        told = run("pack", folder, tmp_path / policy, "--format", "tar", "--jpeg", policy).stderr.decode()
        assert "kept" not in told
        run("verify", tmp_path / policy, "--against", folder)
        assert digest_of(tmp_path / policy) == pixels
    for file in folder.glob("*.jpg"):
        assert run("cat", tmp_path / "recode", file.name).stdout == file.read_bytes()


def test_pack_shrinks_and_compresses_again(photographs, tmp_path):
    run("pack", photographs, tmp_path / "small", "--format", "hdf5", "--max-side", 100, "--jpeg", "quality:60")
    for i in range(12):
        with Image.open(photographs / f"class_{i % 2}" / f"{i:02}.jpg") as image:
            size, progressive, pixels = pixels_in(tmp_path / "small", f"class_{i % 2}/{i:02}")
            if image.format == "PNG":
                assert size == image.size
                continue
            expected = image.convert("RGB")
            expected.thumbnail((100, 100), Image.Resampling.BILINEAR, reducing_gap=None)
            assert size == expected.size and max(size) == 100 and not progressive
            difference = np.abs(np.frombuffer(pixels, np.uint8).astype(int) - np.asarray(expected).reshape(-1))
            assert difference.mean() < 8
    run("verify", tmp_path / "small", "--against", photographs)


def test_pack_refuses_recodings_that_are_none_and_names_what_cannot_be_recoded(photographs, tmp_path):
    for words in [["--jpeg", "quality:0"], ["--jpeg", "quality:x"], ["--jpeg", "webp"], ["--max-side", -1]]:
        fails("pack", photographs, tmp_path / "x", "--format", "tar", *words, code=2)
    shutil.copytree(photographs, tmp_path / "broken")
    broken = tmp_path / "broken" / "class_0" / "00.jpg"
    broken.write_bytes(broken.read_bytes()[:300])
    words = ["pack", tmp_path / "broken", tmp_path / "packed", "--format", "tar", "--jpeg", "baseline"]
    text = fails(*words)
    assert "sample class_0/00: field jpg" in text and "jpeg" in text
    run(*words, "--on-error", "skip", "--overwrite")
    assert "class_0/00.jpg" not in run("ls", tmp_path / "packed").stdout.decode()


@pytest.mark.parametrize("words", [["--max-side", 400], ["--jpeg", "quality:80"], ["--max-side", 100]])
def test_pack_lists_every_image_that_it_cannot_decode(tmp_path, words):
    folder = tmp_path / "photographs"
    folder.mkdir()
    pixels = np.random.default_rng(0).integers(0, 255, (200, 300, 3), np.uint8)
    for name, kind in (("jpeg", "JPEG"), ("png", "PNG"), ("ink", "JPEG"), ("webp", "WEBP")):
        image = Image.fromarray(pixels).convert("CMYK" if name == "ink" else "RGB")
        image.save(folder / f"{name}.jpg", kind)
        (folder / f"half_{name}.jpg").write_bytes((folder / f"{name}.jpg").read_bytes()[:20000])
    Image.fromarray(pixels).save(folder / "gif.jpg", "GIF")
    (folder / "noise.jpg").write_bytes(bytes(range(256)))
    broken = ["gif", "half_ink", "half_jpeg", "half_png", "half_webp", "noise"]
    words = ["pack", folder, tmp_path / "packed", "--format", "tar", *words]
    assert "field jpg" in fails(*words)
    report = tmp_path / "skipped.jsonl"
    run(*words, "--on-error", "skip", "--overwrite", "--report", report)
    lines = [json.loads(line) for line in report.read_text().splitlines()]
    assert [line["key"] for line in lines] == broken
    assert "is a GIF image" in lines[0]["cause"]
    kept = run("ls", tmp_path / "packed").stdout.decode().split()
    assert kept == ["ink.jpg", "jpeg.jpg", "png.jpg", "webp.jpg"]
    told = run("verify", tmp_path / "packed", "--against", folder, check=False).stdout.decode()
    for key in broken:
        assert f"{key}: the dataset lacks this sample, because pack skipped it: field jpg: " in told
    assert told.count("\n") == len(broken) + 1


# Pixels


def stored_pixels(folder, key, field, shape):
    return np.frombuffer(run("cat", folder, f"{key}.{field}").stdout, np.uint8).reshape(shape)


@pytest.mark.parametrize("format", FORMATS)
def test_pack_stores_the_pixels_of_images(photographs, tmp_path, format):
    run("pack", photographs, tmp_path / "packed", "--format", format, "--decode", 64, "--shard-size", "50KiB")
    for i in range(12):
        key = f"class_{i % 2}/{i:02}"
        with Image.open(photographs / f"{key}.jpg") as image:
            narrow, wide = sorted(image.size)
            upright = image.size[0] <= image.size[1]
            size = (64, 64 * wide // narrow) if upright else (64 * wide // narrow, 64)
            resized = image.convert("RGB").resize(size, Image.Resampling.BILINEAR, reducing_gap=None)
            left, top = round((size[0] - 64) / 2), round((size[1] - 64) / 2)
            expected = np.asarray(resized.crop((left, top, left + 64, top + 64)))
        assert np.array_equal(stored_pixels(tmp_path / "packed", key, "jpg", (64, 64, 3)), expected)
    told = json.loads((tmp_path / "packed" / "penstock.json").read_text())
    assert told["made_with"]["decode"] == "jpg=64x64"
    about = json.loads(run("info", tmp_path / "packed", "--json").stdout)["fields"]
    assert [(f["codec"], f["shape"]) for f in about if f["name"] == "jpg"] == [("raw", [64, 64, 3])]
    run("verify", tmp_path / "packed", "--against", photographs)


def test_pack_of_pixels_is_alike_for_any_workers_and_ranks(photographs, tmp_path):
    words = ["--format", "tar", "--decode", "40x56", "--shard-size", "30KiB"]
    for workers in [1, 3]:
        run("pack", photographs, tmp_path / f"{workers}", *words, "--workers", workers)
    assert bytes_of(tmp_path / "1") == bytes_of(tmp_path / "3")
    for rank in range(2):
        run("pack", photographs, tmp_path / "r", *words, "--rank", rank, "--world", 2)
    run("pack-join", tmp_path / "r")
    run("verify", tmp_path / "r", "--against", photographs)
    keys = [f"class_{i % 2}/{i:02}" for i in range(12)]
    for key in keys:
        one = stored_pixels(tmp_path / "1", key, "jpg", (40, 56, 3))
        assert np.array_equal(one, stored_pixels(tmp_path / "r", key, "jpg", (40, 56, 3)))


def test_pack_keeps_pixels_of_one_size_as_they_are(tmp_path):
    rng = np.random.default_rng(5)
    (tmp_path / "icons").mkdir()
    images = {f"{i}": rng.integers(0, 256, (9, 13, 3), np.uint8) for i in range(5)}
    for key, pixels in images.items():
        Image.fromarray(pixels).save(tmp_path / "icons" / f"{key}.png")
    run("pack", tmp_path / "icons", tmp_path / "packed", "--format", "hdf5", "--decode")
    for key, pixels in images.items():
        assert np.array_equal(stored_pixels(tmp_path / "packed", key, "png", (9, 13, 3)), pixels)
    assert json.loads((tmp_path / "packed" / "penstock.json").read_text())["made_with"]["decode"] == "png=same:9x13"
    run("verify", tmp_path / "packed", "--against", tmp_path / "icons")
    Image.fromarray(images["0"].transpose(1, 0, 2)).save(tmp_path / "icons" / "3.png")
    text = fails("pack", tmp_path / "icons", tmp_path / "other", "--format", "hdf5", "--decode")
    assert "sample 3: field png" in text and "9 x 13" in text and "13 x 9" in text
    run(
        "pack",
        tmp_path / "icons",
        tmp_path / "other",
        "--format",
        "hdf5",
        "--decode",
        "--on-error",
        "skip",
        "--overwrite",
    )
    assert "3.png" not in run("ls", tmp_path / "other").stdout.decode()


@pytest.mark.parametrize("size", ["same", "12x18"])
def test_pack_stores_pixels_upright(tmp_path, size):
    folder, upright = tmp_path / "photographs", {}
    folder.mkdir()
    pixels = np.random.default_rng(4).integers(0, 256, (12, 18, 3), np.uint8)
    for orientation in range(1, 9):
        exif = Image.Exif()
        exif[0x112] = orientation
        image = Image.fromarray(pixels if orientation < 5 else pixels.transpose(1, 0, 2))
        image.save(folder / f"{orientation}.png", exif=exif)
        image.save(folder / f"{orientation}_.jpg", exif=exif)
        for name in (f"{orientation}.png", f"{orientation}_.jpg"):
            with Image.open(folder / name) as file:
                upright[name] = np.asarray(ImageOps.exif_transpose(file))
    run("pack", folder, tmp_path / "packed", "--format", "tar", "--decode", f"jpg,png={size}")
    for name, expected in upright.items():
        key, field = name.split(".")
        assert np.array_equal(stored_pixels(tmp_path / "packed", key, field, (12, 18, 3)), expected), name
    run("verify", tmp_path / "packed", "--against", folder)


def test_pack_asks_which_images_to_decode(tmp_path):
    (tmp_path / "pairs").mkdir()
    for i in range(3):
        Image.new("RGB", (20, 10), (i, 2, 3)).save(tmp_path / "pairs" / f"{i}.jpg")
        Image.new("L", (20, 10), i).save(tmp_path / "pairs" / f"{i}.png")
    text = fails("pack", tmp_path / "pairs", tmp_path / "x", "--format", "tar", "--decode", 8, code=2)
    assert "'jpg' and 'png'" in text and "jpg=224" in text
    run("pack", tmp_path / "pairs", tmp_path / "x", "--format", "tar", "--decode", "jpg=8")
    assert run("cat", tmp_path / "x", "1.png").stdout == (tmp_path / "pairs" / "1.png").read_bytes()
    assert len(run("cat", tmp_path / "x", "1.jpg").stdout) == 8 * 8 * 3
    for words in [["none=8"], ["0"], ["8x"], ["8x8x8"], ["=8"], ["jpg,=8"], ["same:3"], ["wide"], ["99999"]]:
        fails("pack", tmp_path / "pairs", tmp_path / "y", "--format", "tar", "--decode", *words, code=2)
    fails("pack", tmp_path / "pairs", tmp_path / "y", "--format", "tar", "--decode", "jpg=8", "--max-side", 10, code=2)


# Point clouds


@pytest.mark.parametrize(
    "words", [["--point-order", "progressive"], ["--presample", "random:4"], ["--presample", "voxel:0.5"]]
)
def test_pack_leaves_out_points_without_coordinates(tmp_path, words, ps):
    rng = np.random.default_rng(6)
    folder = tmp_path / "clouds"
    folder.mkdir()
    finite = rng.normal(size=(20, 3)).astype(np.float32)
    cloud = np.concatenate([finite, np.full((9, 3), np.nan, np.float32), [[1, np.inf, 2]]]).astype(np.float32)
    order = rng.permutation(len(cloud))
    ring = np.arange(len(cloud))[order]
    header = f"VERSION 0.7\nFIELDS x y z ring\nSIZE 4 4 4 4\nTYPE F F F I\nWIDTH {len(cloud)}\nHEIGHT 1\nDATA binary\n"
    dtype = np.dtype([("xyz", "<f4", 3), ("ring", "<i4")])
    records = np.zeros(len(cloud), dtype)
    records["xyz"], records["ring"] = cloud[order], ring
    (folder / "sensor.pcd").write_bytes(header.encode() + records.tobytes())
    records["xyz"] = np.nan
    (folder / "nothing.pcd").write_bytes(header.encode() + records.tobytes())
    run("pack", folder, tmp_path / "packed", "--format", "tar", "--point-attributes", "ring", *words)
    chains = {
        "xyz": ps.field("pcd") | ps.points.decode(["ring"]),
    }
    with ps.Loader(tmp_path / "packed", batch_size=2, shuffle=False, transforms=chains) as loader:
        (batch,) = loader
        points = [np.asarray(batch["xyz"][i]) for i in range(2)]
    by_key = dict(zip(batch["__key__"], points))
    assert by_key["nothing"].shape[0] == 0
    stored = by_key["sensor"]
    assert np.isfinite(stored).all()
    assert len(stored) == {"progressive": 20, "random:4": 4}.get(words[1], len(stored))
    if words[1] != "voxel:0.5":
        assert np.array_equal(stored[:, :3], finite[stored[:, 3].astype(int)])
    run("verify", tmp_path / "packed", "--against", folder)
