"""The penstock command itself: its help, exit codes and one-line errors; synth and doctor."""

import os
import subprocess

import pytest
from command import COMMAND, fails, run
from PIL import Image


def test_help_and_version_are_good():
    assert b"synth" in run("--help").stdout
    assert run("--version").stdout.startswith(b"penstock 0.")
    for command in ["synth", "pack", "info", "ls", "cat", "verify", "stage", "bench", "tune", "top", "doctor"]:
        assert run(command, "--help").stdout


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["fly"],
        ["synth"],
        ["synth", "meshes", "x"],
        ["synth", "icons", "x", "--points", "5"],
        ["synth", "clouds", "x", "--points", "5-4"],
        ["pack", "a", "b", "--format", "rar"],
        ["info"],
        ["info", "a", "--wrong"],
        ["bench", "a", "--engine", "steam"],
        ["synth", "icons", "x", "-n", "many"],
        ["pack", "a", "b", "--format", "folder"],
    ],
)
def test_wrong_usage_is_2_with_one_line(words):
    fails(*words, code=2)


def test_wrong_values_are_2_with_one_line(icons, tmp_path):
    assert "must be a size such as" in fails(
        "pack", icons, tmp_path / "x", "--format", "tar", "--shard-size", "big", code=2
    )
    assert "consumer" in fails("bench", icons, "--train-step", "busy:often", code=2)
    assert "consumer" in fails("bench", icons, "--mock-loader", code=2)
    assert "at least 1" in fails("bench", icons, "--workers", "0", code=2)
    for word in ("0", "-1", "x", "inf"):
        wanted = f"penstock: error: --seconds: must be a number above 0, not '{word}'"
        assert fails("bench", icons, "--seconds", word, code=2) == wanted
    assert "device must be" in fails("bench", icons, "--device", "tpu", code=2)


def test_a_reader_that_leaves_early_is_no_error(packed):
    process = subprocess.Popen([COMMAND, "ls", packed["tar"]], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait(60) == 0


def test_stdout_on_a_full_disk_is_an_error(packed):
    with open("/dev/full", "wb") as full:
        result = subprocess.run([COMMAND, "ls", packed["tar"]], stdout=full, stderr=subprocess.PIPE, timeout=60)
    assert result.returncode == 1 and b"No space left" in result.stderr


def test_doctor_names_the_machine():
    text = run("doctor").stdout.decode()
    for word in ["io_uring", "memlock", "cores", "GPU", "libjpeg", "disk"]:
        assert word in text


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
        words = ["--layout", layout, "--las-format", 6 if version == 4 else 3, "--points", "2k-3k", "--num-classes", 2]
        run("synth", "clouds", tmp_path / layout, "-n", 4, *words)
        files = sorted((tmp_path / layout).rglob("*.las"))
        assert [file.parent.name for file in files] == ["class_00"] * 2 + ["class_01"] * 2
        for file in files:
            header = file.read_bytes()
            assert header[:4] == b"LASF" and header[25] == version
            at, size = (247, 8) if version == 4 else (107, 4)
            assert 2000 <= int.from_bytes(header[at : at + size], "little") <= 3000


def test_synth_leaves_what_others_put_beside_it_alone(tmp_path):
    kept = tmp_path / "set.partial" / "precious"
    kept.parent.mkdir()
    kept.write_text("kept")
    assert "was not created by synth" in fails("synth", "icons", tmp_path / "set", "-n", 2, code=2)
    assert kept.read_text() == "kept" and not (tmp_path / "set").exists()
    kept.unlink()
    run("synth", "icons", tmp_path / "set", "-n", 2)
    assert not any(path.name.startswith(".") for path in (tmp_path / "set").iterdir())
