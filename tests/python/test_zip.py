"""ZIP across programs: what penstock packs, zipfile reads; what zipfile writes, penstock lists and reads."""

import os
import subprocess
import zipfile

import pytest

COMMAND = os.environ["PENSTOCK_COMMAND"]

VALUES = {
    "a/1.jpg": b"\xff\xd8" + b"photo" * 99,
    "a/1.json": b"{}",
    "b/caf\u00e9.txt": "\u6c34".encode(),
    "b/empty.txt": b"",
}


def penstock(*arguments, check=True):
    done = subprocess.run([COMMAND, *map(str, arguments)], capture_output=True, check=False)
    assert not check or done.returncode == 0, done.stderr.decode()
    return done


def write_zip(path, method, streamed=False, **options):
    with zipfile.ZipFile(path, "w", method, **options) as archive:
        for name, value in VALUES.items():
            if streamed:
                with archive.open(name, "w", force_zip64=True) as entry:
                    entry.write(value)
            else:
                archive.writestr(name, value)


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_what_zipfile_writes_is_listed_and_read(tmp_path, method, streamed):
    path = tmp_path / "foreign.zip"
    write_zip(path, method, streamed)
    assert sorted(penstock("ls", path).stdout.decode().splitlines()) == sorted(VALUES)
    for name, value in VALUES.items():
        assert penstock("cat", path, name).stdout == value


def test_an_archive_written_to_a_pipe_is_read(tmp_path):
    class Pipe:
        """Cannot seek, so sizes stand behind the data."""

        def __init__(self, file):
            self.write, self.flush = file.write, file.flush

    path = tmp_path / "pipe.zip"
    with open(path, "wb") as file:
        write_zip(Pipe(file), zipfile.ZIP_DEFLATED)
    for name, value in VALUES.items():
        assert penstock("cat", path, name).stdout == value


def test_other_methods_are_refused_by_name(tmp_path):
    path = tmp_path / "bzip2.zip"
    write_zip(path, zipfile.ZIP_BZIP2)
    done = penstock("ls", path, check=False)
    assert done.returncode == 1
    assert b"'a/1.jpg' is compressed by bzip2 (method 12)" in done.stderr and done.stderr.count(b"\n") == 1


@pytest.mark.parametrize("align", [1, 4096])
def test_what_penstock_packs_is_read_by_zipfile(tmp_path, align):
    for name, value in VALUES.items():
        file = tmp_path / "source" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(value)
    penstock("pack", tmp_path / "source", tmp_path / "packed", "--format", "zip", "--align", align)
    entries = {}
    for shard in sorted((tmp_path / "packed").glob("*.zip")):
        with zipfile.ZipFile(shard) as archive:
            assert archive.testzip() is None
            for info in archive.infolist():
                assert info.date_time == (1980, 1, 1, 0, 0, 0)
                assert info.external_attr >> 16 == 0o100644
                entries[info.filename] = archive.read(info)
    assert entries == VALUES
    penstock("verify", tmp_path / "packed", "--against", tmp_path / "source")


def test_backslashes_of_windows_separate_class_folders(tmp_path, ps):
    with zipfile.ZipFile(tmp_path / "pets.zip", "w") as archive:
        for name in ("cat", "dog"):
            for number in range(2):
                entry = zipfile.ZipInfo("x")
                entry.filename, entry.create_system = f"{name}\\{number}.jpg", 0
                archive.writestr(entry, VALUES["a/1.jpg"])
    dataset = ps.open(tmp_path / "pets.zip")
    assert dataset.classes == ["cat", "dog"]
    assert dataset.keys == ["cat/0", "cat/1", "dog/0", "dog/1"]
    assert [sample["cls"] for sample in dataset] == [b"0", b"0", b"1", b"1"]
