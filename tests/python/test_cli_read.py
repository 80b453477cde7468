"""penstock info, ls, cat and verify, and what they say of datasets that are damaged, or none."""

import os
import pathlib
import shutil
import subprocess
import tarfile
import tempfile

import pytest
from command import COMMAND, FORMATS, fails, run


@pytest.mark.parametrize("format", FORMATS)
def test_ls_lists_what_cat_writes(packed, icons, format):
    lines = run("ls", packed[format]).stdout.decode().split()
    assert len(lines) == 1000 and len(set(lines)) == 1000
    assert sorted(lines) == sorted(run("ls", icons).stdout.decode().split())  # a folder's in the order of its walk
    value = next(line for line in lines if line.endswith(".png"))
    assert run("cat", packed[format], value).stdout == (icons / value).read_bytes()
    label = value.removesuffix("png") + "cls"
    assert run("cat", packed[format], label).stdout == str(int(value[6:8])).encode()
    sizes = dict(line.split("\t") for line in run("ls", "-l", packed[format]).stdout.decode().splitlines())
    assert int(sizes[value]) == (icons / value).stat().st_size


def test_cat_names_what_is_not_there(packed):
    assert "nothing.png" in fails("cat", packed["tar"], "nothing.png", code=2)
    assert "fields" in fails("cat", packed["tar"], "class_00/000000.jpg", code=2)


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


def test_verify_decodes_on_request(tmp_path):
    np = pytest.importorskip("numpy")
    image = pytest.importorskip("PIL.Image")
    folder = tmp_path / "media"
    folder.mkdir()
    pixels = np.random.default_rng(0).integers(0, 256, (60, 80, 3), np.uint8)
    image.fromarray(pixels).save(folder / "good.jpg")
    image.fromarray(pixels).save(folder / "good.png")
    np.save(folder / "good.npy", pixels)
    (folder / "good.xyz").write_text("1 2 3\n4 5 6\n")
    (folder / "good.json").write_text("{}")
    for name in ("jpg", "png", "npy"):
        (folder / f"half.{name}").write_bytes((folder / f"good.{name}").read_bytes()[:-100])
    (folder / "half.xyz").write_text("1 2 3\n4 5\n")
    (folder / "half.json").write_text("{}")
    words = ["pack", folder, tmp_path / "packed", "--format", "tar"]
    run(*words)
    told = run("verify", folder).stdout.decode()
    assert "; nothing decoded (--decode checks images, clouds and arrays): good" in told
    assert "nothing decoded" not in run("verify", tmp_path / "packed").stdout.decode()
    for dataset in (folder, tmp_path / "packed"):
        result = run("verify", dataset, "--decode", check=False)
        lines = result.stdout.decode().splitlines()
        assert result.returncode == 1 and "4 bad" in result.stderr.decode()
        assert sorted(line.split(":")[0] for line in lines[:-1]) == ["half.jpg", "half.npy", "half.png", "half.xyz"]
        assert "half.xyz: xyz: line 2: fewer numbers" in result.stdout.decode()
        assert "; 8 images, clouds and arrays decoded" in lines[-1]
    for name in ("jpg", "png", "npy", "xyz", "json"):
        (folder / f"half.{name}").unlink()
    assert "; 4 images, clouds and arrays decoded: good" in run("verify", folder, "--decode").stdout.decode()


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
            pytest.skip(
                "nobody may not run the command where it was built; build it in a folder that all users may read"
            )
        finally:
            locked.chmod(0o755)
        assert "locked" in line and "Permission denied" in line


@pytest.mark.parametrize(
    "name,content",
    [
        ("data.mdb", b"no LMDB at all" * 1000),
        ("x.h5", b"\x89HDF\r\n\x1a\n" + b"\0" * 4000),
        ("x.tar", b"not a tar" * 200),
        ("data.mdb", b""),
        ("x.h5", b"HDF"),
    ],
)
def test_files_that_are_not_what_they_are_called(tmp_path, name, content):
    folder = tmp_path / "odd"
    folder.mkdir()
    (folder / name).write_bytes(content)
    assert "odd" in fails("info", folder / name)


def test_a_truncated_tar_is_named(packed, tmp_path):
    whole = sorted(packed["tar"].glob("*.tar"))[0].read_bytes()
    cut = tmp_path / "cut.tar"
    cut.write_bytes(whole[: len(whole) // 2 - 100])
    assert "cut.tar" in fails("info", cut)
    dataset = tmp_path / "dataset"
    shutil.copytree(packed["tar"], dataset)
    with open(sorted(dataset.glob("*.tar"))[0], "r+b") as file:
        file.truncate(10_000)
    assert "shard-000000.tar" in fails("info", dataset)


def test_memory_that_runs_out_is_one_line_that_names_the_dataset(tmp_path):
    (tmp_path / "data").mkdir()
    with open(tmp_path / "data" / "large.bin", "wb") as file:
        file.truncate(1 << 30)  # `info` reads all of it

    def in_one_gigabyte(*arguments):
        limited = ["bash", "-c", 'ulimit -v 1000000; exec "$0" "$@"', COMMAND, *arguments]
        return subprocess.run(limited, capture_output=True, check=False, timeout=300)

    if in_one_gigabyte("--version").returncode != 0:
        pytest.skip("with a sanitizer, the command needs more address space; use the preset dev")
    run("info", tmp_path / "data")
    limited = in_one_gigabyte("cat", tmp_path / "data", "large.bin")
    lines = limited.stderr.decode().splitlines()
    assert limited.returncode == 1 and len(lines) == 1, lines
    assert lines[0].startswith(f"penstock: error: {tmp_path / 'data'}") and "memory" in lines[0]
