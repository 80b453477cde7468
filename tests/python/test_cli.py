"""The penstock command: what each subcommand does, its exit codes, and its one-line errors."""

import io
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import tarfile
import tempfile
import time

import numpy as np
import pytest
from PIL import Image

COMMAND = os.environ["PENSTOCK_COMMAND"]
FORMATS = ["tar", "lmdb", "hdf5", "zip", "tfrecord", "mds"]


def run(*words, check=True, **options):
    result = subprocess.run([COMMAND, *map(str, words)], capture_output=True, timeout=300, **options)
    if check:
        assert result.returncode == 0, result.stderr.decode()
    return result


def fails(*words, code=1, **options):
    """Runs a command that must fail with `code` and one line on stderr, which is returned."""
    result = run(*words, check=False, **options)
    text = result.stderr.decode()
    assert result.returncode == code, (result.returncode, text)
    lines = [line for line in text.splitlines() if not line.startswith("penstock: skipped")]
    assert len(lines) == 1 and lines[0].startswith("penstock: error: "), text
    return lines[0]


def bytes_of(folder):
    return {p.relative_to(folder): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


@pytest.fixture(scope="session")
def icons(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data") / "icons"
    run("synth", "icons", folder, "-n", 500)
    return folder


@pytest.fixture(scope="session")
def packed(tmp_path_factory, icons):
    """{format: the icons packed so}"""
    folder = tmp_path_factory.mktemp("packed")
    for format in FORMATS:
        run("pack", icons, folder / format, "--format", format, "--shard-size", "500KB")
    return {format: folder / format for format in FORMATS}


# Usage


def test_help_and_version_are_good():
    assert b"synth" in run("--help").stdout
    assert run("--version").stdout.startswith(b"penstock 0.")
    for command in ["synth", "pack", "info", "ls", "cat", "verify", "stage", "bench", "tune", "doctor"]:
        assert run(command, "--help").stdout


@pytest.mark.parametrize("words", [
    [], ["fly"], ["synth"], ["synth", "meshes", "x"], ["synth", "icons", "x", "--points", "5"],
    ["synth", "clouds", "x", "--points", "5-4"], ["pack", "a", "b"], ["pack", "a", "b", "--format", "rar"],
    ["info"], ["info", "a", "--wrong"], ["bench", "a", "--engine", "steam"], ["synth", "icons", "x", "-n", "many"],
    ["pack", "a", "b", "--format", "folder"],
])
def test_wrong_usage_is_2_with_one_line(words):
    fails(*words, code=2)


def test_wrong_values_are_2_with_one_line(icons, tmp_path):
    assert "not a size" in fails("pack", icons, tmp_path / "x", "--format", "tar", "--shard-size", "big", code=2)
    assert "consumer" in fails("bench", icons, "--consumer", "busy:often", code=2)
    assert "consumer" in fails("bench", icons, "--mock-loader", code=2)
    assert "at least 1" in fails("bench", icons, "--workers", "0", code=2)
    assert "a device is" in fails("bench", icons, "--device", "tpu", code=2)


# synth


def test_synth_refuses_a_folder_that_holds_something(tmp_path):
    (tmp_path / "mine").write_text("mine")
    assert "not empty" in fails("synth", "icons", tmp_path, "-n", "1", code=2)
    assert os.listdir(tmp_path) == ["mine"]


def test_synth_makes_decodable_files_in_class_folders(images, icons):
    assert sorted(os.listdir(images)) == ["class_00", "class_01", "class_02"]
    for path in list(images.rglob("*.jpg"))[:20]:
        with Image.open(path) as image:
            image.load()
            assert image.mode in ("RGB", "L") and min(image.size) >= 200
    with Image.open(next(icons.rglob("*.png"))) as image:
        assert image.size == (32, 32) and image.mode == "RGB"


def test_synth_clouds_has_two_layouts_and_as_many_points_as_asked_for(tmp_path):
    for layout, version in [("trees", 4), ("plots", 2)]:
        words = ["--layout", layout, "--las-format", 6 if version == 4 else 3, "--points", "2k-3k", "--classes", 2]
        run("synth", "clouds", tmp_path / layout, "-n", 4, *words)
        files = sorted((tmp_path / layout).rglob("*.las"))
        assert [file.parent.name for file in files] == ["class_00"] * 2 + ["class_01"] * 2
        for file in files:
            header = file.read_bytes()
            assert header[:4] == b"LASF" and header[25] == version
            at, size = (247, 8) if version == 4 else (107, 4)
            assert 2000 <= int.from_bytes(header[at:at + size], "little") <= 3000


# pack, info, ls, cat, verify


@pytest.mark.parametrize("format", FORMATS)
def test_a_packed_dataset_is_its_source(packed, icons, format):
    dataset = packed[format]
    info = json.loads(run("info", dataset, "--json").stdout)
    assert info["samples"] == 500 and info["format"] == format and info["packed"]
    assert info["checksums"] == "every value"
    assert info["shards"] > 1 and len(info["classes"]) == 10
    png = next(field for field in info["fields"] if field["name"] == "png")
    assert png["codec"] == "png" and png["samples"] == 500
    assert png["min_bytes"] <= png["mean_bytes"] <= png["max_bytes"]
    assert png["images"]["height"] == [32, 32, 32]
    assert info["fingerprint"] == json.loads(run("info", icons, "--json").stdout)["fingerprint"]
    assert b": good" in run("verify", dataset, "--against", icons).stdout
    assert b"500" in run("info", dataset).stdout


@pytest.mark.parametrize("format", FORMATS)
def test_ls_lists_what_cat_writes(packed, icons, format):
    lines = run("ls", packed[format]).stdout.decode().split()
    assert len(lines) == 1000 and len(set(lines)) == 1000
    assert lines == run("ls", icons).stdout.decode().split() or sorted(lines) == sorted(run("ls", icons).stdout.decode().split())
    value = next(line for line in lines if line.endswith(".png"))
    assert run("cat", packed[format], value).stdout == (icons / value).read_bytes()
    label = value.removesuffix("png") + "cls"
    assert run("cat", packed[format], label).stdout == str(int(value[6:8])).encode()
    sizes = dict(line.split("\t") for line in run("ls", "-l", packed[format]).stdout.decode().splitlines())
    assert int(sizes[value]) == (icons / value).stat().st_size


def test_cat_names_what_is_not_there(packed):
    assert "nothing.png" in fails("cat", packed["tar"], "nothing.png", code=2)
    assert "fields" in fails("cat", packed["tar"], "class_00/000000.jpg", code=2)


def test_a_reader_that_leaves_early_is_no_error(packed):
    process = subprocess.Popen([COMMAND, "ls", packed["tar"]], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait(60) == 0


def test_verify_names_each_damaged_value(packed, tmp_path):
    dataset = tmp_path / "damaged"
    shutil.copytree(packed["tar"], dataset)
    shard = dataset / "shard-000000.tar"
    with tarfile.open(shard) as tar:
        member = next(m for m in tar if m.name.endswith(".png"))
    with open(shard, "r+b") as file:
        file.seek(member.offset_data + member.size // 2)
        byte = file.read(1)
        file.seek(-1, 1)
        file.write(bytes([byte[0] ^ 1]))
    result = run("verify", dataset, check=False)
    assert result.returncode == 1
    assert member.name in result.stdout.decode()
    assert "shard-000000" in result.stdout.decode()
    assert result.stderr.decode().startswith("penstock: error: ")


def test_verify_against_names_missing_and_changed_samples(packed, icons, tmp_path):
    source = tmp_path / "source"
    shutil.copytree(icons, source)
    files = sorted(source.rglob("*.png"))
    files[0].write_bytes(files[1].read_bytes())
    files[2].unlink()
    shutil.copy(files[1], source / "class_09" / "new.png")
    text = run("verify", packed["hdf5"], "--against", source, check=False).stdout.decode()
    assert f"{files[0].relative_to(source)}: the bytes differ" in text
    assert f"{str(files[2].relative_to(source)).removesuffix('.png')}: the source has no such sample" in text
    assert "class_09/new: the source has this sample" in text


@pytest.mark.parametrize("format", FORMATS)
def test_packed_bytes_do_not_depend_on_workers(icons, packed, tmp_path, format):
    run("pack", icons, tmp_path / "again", "--format", format, "--shard-size", "500KB", "--workers", "3")
    assert bytes_of(tmp_path / "again") == bytes_of(packed[format])


def test_pack_refuses_a_destination_that_is_there_unless_told(icons, packed, tmp_path):
    dataset = tmp_path / "dataset"
    shutil.copytree(packed["tar"], dataset)
    fails("pack", icons, dataset, "--format", "tar", code=2)
    assert bytes_of(dataset) == bytes_of(packed["tar"])
    run("pack", icons, dataset, "--format", "lmdb", "--overwrite")
    assert json.loads(run("info", dataset, "--json").stdout)["format"] == "lmdb"


def test_pack_takes_labels_from_a_table(icons, tmp_path):
    keys = sorted(str(p.relative_to(icons))[:-4] for p in icons.rglob("*.png"))
    flat = tmp_path / "flat"
    flat.mkdir()
    for key in keys[:20]:
        shutil.copy(icons / f"{key}.png", flat / f"{key.replace('/', '-')}.png")
    rows = "".join(f"{key.replace('/', '-')}.png,{'even' if i % 2 == 0 else 'odd'}\n" for i, key in enumerate(keys[:20]))
    (tmp_path / "labels.csv").write_text("file,kind\n" + rows)
    run("pack", flat, tmp_path / "x", "--format", "tar", "--labels", f"{tmp_path}/labels.csv:kind")
    assert json.loads(run("info", tmp_path / "x", "--json").stdout)["classes"] == ["even", "odd"]
    assert run("cat", tmp_path / "x", keys[1].replace("/", "-") + ".cls").stdout == b"1"


def test_classes_of_another_dataset_number_the_labels(icons, packed, tmp_path):
    some = tmp_path / "some"
    for name in ("class_03", "class_07"):
        shutil.copytree(icons / name, some / name)
    run("pack", some, tmp_path / "x", "--format", "tar", "--classes", packed["tar"])
    key = sorted(os.listdir(some / "class_07"))[0].removesuffix(".png")
    assert run("cat", tmp_path / "x", f"class_07/{key}.cls").stdout == b"7"
    run("verify", tmp_path / "x", "--against", some)


# Interruptions


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("blow", [signal.SIGKILL, signal.SIGINT])
def test_resume_after_an_interruption_gives_identical_bytes(images, tmp_path, format, blow):
    options = ["--format", format, "--shard-size", "512KiB", "--workers", "1"]
    run("pack", images, tmp_path / "whole", *options)
    destination, partial = tmp_path / "cut", tmp_path / "cut.partial"
    process = subprocess.Popen([COMMAND, "pack", images, destination, *options], stderr=subprocess.PIPE)
    deadline = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < deadline:
        if partial.exists() and len(list(partial.glob("*.idx"))) >= 2:
            process.send_signal(blow)
            break
    code = process.wait(60)
    if code == 0:
        pytest.skip("packing ended before the signal came")
    assert code == (-signal.SIGKILL if blow == signal.SIGKILL else 130)
    assert not destination.exists()
    fails("info", partial)
    run("pack", images, destination, *options, "--resume")
    assert bytes_of(destination) == bytes_of(tmp_path / "whole")
    assert not partial.exists()


def test_ctrl_c_ends_a_bench_with_130(images):
    process = subprocess.Popen([COMMAND, "bench", images, "--seconds", "100"], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
    time.sleep(1.5)
    process.send_signal(signal.SIGINT)
    _, text = process.communicate(timeout=60)
    assert process.returncode == 130, text
    assert b"interrupted" in text


# Faults


def test_a_path_that_is_not_there(tmp_path):
    for command in (["info"], ["ls"], ["verify"], ["bench"], ["tune"]):
        assert "missing" in fails(*command, tmp_path / "missing")
    assert "missing" in fails("pack", tmp_path / "missing", tmp_path / "x", "--format", "tar")


def test_an_empty_folder_is_no_dataset(tmp_path):
    (tmp_path / "empty").mkdir()
    assert "empty" in fails("info", tmp_path / "empty")
    assert "empty" in fails("pack", tmp_path / "empty", tmp_path / "x", "--format", "tar")
    assert not (tmp_path / "x").exists()


def test_an_unreadable_folder_is_named(icons):
    nobody = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}  # root may read all
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        locked = folder / "locked"
        shutil.copytree(icons, locked)
        locked.chmod(0)
        try:
            line = fails("info", locked, **nobody)
        except PermissionError:
            pytest.skip("nobody may not run the command where it was built")
        finally:
            locked.chmod(0o755)
        assert "locked" in line and "Permission denied" in line


@pytest.mark.parametrize("name,content", [
    ("data.mdb", b"no LMDB at all" * 1000), ("x.h5", b"\x89HDF\r\n\x1a\n" + b"\0" * 4000),
    ("x.tar", b"not a tar" * 200), ("data.mdb", b""), ("x.h5", b"HDF"),
])
def test_files_that_are_not_what_they_are_called(tmp_path, name, content):
    folder = tmp_path / "odd"
    folder.mkdir()
    (folder / name).write_bytes(content)
    assert "odd" in fails("info", folder / name)


def test_a_truncated_tar_is_named(packed, tmp_path):
    whole = sorted(packed["tar"].glob("*.tar"))[0].read_bytes()
    cut = tmp_path / "cut.tar"
    cut.write_bytes(whole[:len(whole) // 2 - 100])
    assert "cut.tar" in fails("info", cut)
    dataset = tmp_path / "dataset"
    shutil.copytree(packed["tar"], dataset)
    with open(sorted(dataset.glob("*.tar"))[0], "r+b") as file:
        file.truncate(10_000)
    assert "shard-000000.tar" in fails("info", dataset)


def test_a_broken_image_ends_a_bench_with_its_name(images, tmp_path):
    broken = tmp_path / "broken"
    shutil.copytree(images, broken)
    victim = sorted(broken.rglob("*.jpg"))[5]
    victim.write_bytes(victim.read_bytes()[:5000])
    line = fails("bench", broken, "--digest")
    assert str(victim.relative_to(broken)).removesuffix(".jpg") in line and "corrupt" in line


def test_damaged_samples_are_skipped_and_named_when_asked(packed, tmp_path):
    source = tmp_path / "source"
    shutil.copytree(packed["tar"], source)
    with open(source / "shard-000000.tar", "r+b") as file:  # inside the first sample's image
        file.seek(1000)
        file.write(b"damage")
    assert "class_00/000000" in fails("pack", source, tmp_path / "x", "--format", "lmdb")
    assert not (tmp_path / "x").exists()
    result = run("pack", source, tmp_path / "y", "--format", "lmdb", "--on-error", "skip")
    assert b"skipped class_00/000000: field png" in result.stderr
    assert json.loads(run("info", tmp_path / "y", "--json").stdout)["samples"] == 499
    run("verify", tmp_path / "y")


def test_a_full_disk_while_packing_is_one_line_and_leaves_no_dataset(images, tmp_path):
    def no_space():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))

    for format in FORMATS:
        line = fails("pack", images, tmp_path / format, "--format", format, preexec_fn=no_space)
        assert format in line and ("File too large" in line or "is the disk full?" in line)
        assert not (tmp_path / format).exists()
        run("pack", images, tmp_path / format, "--format", format, "--resume")


def test_stdout_on_a_full_disk_is_an_error(packed):
    with open("/dev/full", "wb") as full:
        result = subprocess.run([COMMAND, "ls", packed["tar"]], stdout=full, stderr=subprocess.PIPE, timeout=60)
    assert result.returncode == 1 and b"No space left" in result.stderr


# bench, tune, doctor


def test_the_digest_is_equal_for_all_packings_workers_prefetch_and_engines(packed, icons):
    digests = set()
    for dataset in [icons, *packed.values()]:
        for engine in ["auto", "direct", "pread", "gather"]:
            text = run("bench", dataset, "--digest", "--workers", "1,3", "--prefetch", "1,4", "--engine", engine,
                       "--seed", "5", "--json", "-").stdout
            rows = json.loads(text)["rows"]
            assert len(rows) == 4
            digests |= {row["digest"] for row in rows}
    assert len(digests) == 1
    other = json.loads(run("bench", icons, "--digest", "--seed", "6", "--json", "-").stdout)["rows"][0]["digest"]
    assert other not in digests


def test_bench_copies_to_a_device_or_says_why_not(icons, tmp_path):
    for command in ("bench", "tune"):
        assert "no device cuda:999: " in fails(command, icons, "--device", "cuda:999")
    result = run("bench", icons, "--seconds", "0.5", "--workers", "1", "--device", "host", "--json",
                 tmp_path / "r.json", "--html", tmp_path / "r.html")
    text = result.stdout.decode()
    assert "copies to host:0: " in text and "page-locked memory for host:0" in text and " of copies " in text
    row = json.loads((tmp_path / "r.json").read_text())["rows"][0]
    assert row["device"].startswith("host:0: ") and row["stages"]["copy"]["busy_s"] > 0
    assert row["copied_mb"] > 0 and row["copy_gb_per_s"] > 0 and row["plain_copy_gb_per_s"] > 0
    assert "copies to host:0: " in (tmp_path / "r.html").read_text()
    rows = [json.loads(run("bench", icons, "--digest", "--json", "-", *more).stdout)["rows"][0]
            for more in ([], ["--device", "host"], ["--device", "host:1", "--where", "host"])]
    assert rows[0]["device"] is None and rows[0]["copied_mb"] is None
    assert len({row["digest"] for row in rows}) == 1


def test_bench_compares_datasets_and_writes_its_reports(packed, icons, tmp_path):
    result = run("bench", icons, packed["tar"], "--seconds", "0.5", "--workers", "1,2", "--json", tmp_path / "r.json",
                 "--html", tmp_path / "r.html")
    assert b"efficiency" in result.stdout and b"decode" in result.stdout
    report = json.loads((tmp_path / "r.json").read_text())
    assert len(report["rows"]) == 4 and len(report["datasets"]) == 2
    for row in report["rows"]:
        assert row["task"] == "image-small" and row["samples_per_s"] > 0 and 0 < row["efficiency"] < 3
        assert set(row["stages"]["decode"]) >= {"busy_s", "stalled_in_s", "stalled_out_s"}
        assert row["cache"] == "warm"
    rates = [row["samples_per_s"] for row in report["rows"]]
    assert rates == sorted(rates, reverse=True)
    assert "<svg" in (tmp_path / "r.html").read_text()


def test_tune_prints_the_lines_to_copy(icons):
    text = run("tune", icons, "--seconds", "0.3", "--workers", "1,2", "--prefetch", "1,2").stdout.decode()
    assert "penstock::Loader" in text and "ps.Loader(" in text and "<- best" in text


def test_doctor_names_the_machine():
    text = run("doctor").stdout.decode()
    for word in ["io_uring", "memlock", "cores", "GPU", "libjpeg", "disk"]:
        assert word in text


SHOWN = ["--seed", 7, "--epoch", 3, "--batch", 1, "--row", 5, "--batch-size", 8]


def test_show_tells_the_sample_behind_a_row_and_writes_its_pixels(images, tmp_path):
    chain = "image.random_resized_crop(64) | image.random_flip() | image.normalize((0.5, 0.5, 0.5), (0.2, 0.2, 0.2))"
    picture = tmp_path / "row.png"
    text = run("show", images, *SHOWN, "--field", f"jpg={chain}", "--picture", picture).stdout.decode()
    key = re.search(r"^sample +(\S+) \(number \d+\)$", text, re.M)[1]
    width, height, x, y = map(int, re.search(r"drew (\d+) x (\d+) at x (\d+), y (\d+) of", text).groups())
    flipped = "not flipped" not in text
    with Image.open(images / f"{key}.jpg") as image, Image.open(picture) as shown:
        cut = image.convert("RGB").crop((x, y, x + width, y + height)).resize((64, 64), Image.Resampling.BILINEAR)
        cut = cut.transpose(Image.Transpose.FLIP_LEFT_RIGHT) if flipped else cut
        assert shown.tobytes() == cut.tobytes()
    assert "float32 (3, 64, 64): from -2." in text
    assert "\x1b" not in text


def test_show_takes_everything_from_a_loaders_state(images, tmp_path):
    state = {"penstock_state": 1, "dataset": "0" * 16, "samples": 60, "seed": 7, "epoch": 3, "start": 0, "batch": 1,
             "world": 1, "batch_size": 8, "transforms": "transforms 1; jpeg 1; jpg = image.resize(8, 8); cls = label()"}
    (tmp_path / "state.json").write_text(json.dumps(state))
    told = run("show", images, "--state", tmp_path / "state.json", "--row", 5).stdout
    assert told == run("show", images, *SHOWN, "--field", "jpg=image.resize(8, 8)", "--field", "cls=label()").stdout
    assert b"row 5 of batch 1, epoch 3, seed 7" in told
    (tmp_path / "state.json").write_text(json.dumps({**state, "start": 16}))
    assert "another world or batch size" in fails("show", images, "--state", tmp_path / "state.json", code=2)


def test_show_guesses_the_task_and_names_classes(packed):
    texts = {run("show", packed[format], "--batch", 2).stdout.decode().split("stored")[0] for format in FORMATS}
    assert len(texts) == 1
    text = run("show", packed["tar"], "--batch", 2).stdout.decode()
    assert re.search(r"values +int64 \(\): \d+ \(\S+\)", text)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--row", 64], "row 64 of a batch of 64"),
        (["--batch", 1000], "batch 1000 of an epoch of 8"),
        (["--field", "png=image.rezise(3)"], 'there is no step "image.rezise"'),
        (["--field", "=image.resize(3)"], "is not NAME=CHAIN"),
        (["--field", "cls=label()", "--picture", "row.png"], "no output of this row is a picture"),
        (["--state", "nowhere.json"], "cannot read nowhere.json"),
    ],
)
def test_show_refuses_what_is_not_there(packed, words, text):
    assert text in fails("show", packed["tar"], *words, code=1 if "--state" in words else 2)


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
    ranks = [run("pack", photographs, tmp_path / "r", "--format", "tar", "--jpeg", "baseline", "--rank", r, "--world", 2)
             for r in range(2)]
    assert ranks and run("pack", "--finish", tmp_path / "r")
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


def stored_pixels(folder, key, field, shape):
    return np.frombuffer(run("cat", folder, f"{key}.{field}").stdout, np.uint8).reshape(shape)


@pytest.mark.parametrize("format", ["tar", "lmdb", "hdf5", "zip", "mds", "tfrecord"])
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
    run("pack", "--finish", tmp_path / "r")
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
    run("pack", tmp_path / "icons", tmp_path / "other", "--format", "hdf5", "--decode", "--on-error", "skip", "--overwrite")
    assert "3.png" not in run("ls", tmp_path / "other").stdout.decode()


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


def test_bench_measures_a_cache(icons, tmp_path):
    digests = set()
    for words in [[], ["--cache", "encoded"], ["--cache", "decoded", "--cache-bytes", "1MiB"]]:
        run("bench", icons, "--digest", "--workers", 2, "--json", tmp_path / "r.json", *words)
        digests.add(json.loads((tmp_path / "r.json").read_text())["rows"][0]["digest"])
    assert len(digests) == 1
    run("bench", icons, "--seconds", "0.2", "--workers", 2, "--cache", "decoded")
    fails("bench", icons, "--cache", "both", code=2)
    fails("bench", icons, "--cache", "encoded", "--cache-bytes", "100", code=2)
