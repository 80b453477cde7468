"""Tar across programs: what penstock packs, tarfile and webdataset read; what tarfile writes, penstock lists."""

import io
import os
import subprocess
import tarfile

import pytest
import webdataset

COMMAND = os.environ["PENSTOCK_COMMAND"]

KEYS = ["a", "b/c", "d" * 95, "long/" + "e" * 140 + "/" + "f" * 99, "g" * 300, "caf\u00e9/\u6c34", "with blank"]
FIELDS = ("json", "txt")


def penstock(*arguments):
    done = subprocess.run([COMMAND, *map(str, arguments)], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def refused(*arguments):
    done = subprocess.run([COMMAND, *map(str, arguments)], capture_output=True, check=False)
    assert done.returncode == 1, done.stderr.decode()
    return done.stderr.decode()


def value(key, field):
    return f'"{field} of {key}"'.encode()


def write_tar(path, tar_format, **options):
    with tarfile.open(path, "w", format=tar_format, **options) as archive:
        for key in KEYS:
            for field in FIELDS:
                member = tarfile.TarInfo(f"{key}.{field}")
                member.size = len(value(key, field))
                archive.addfile(member, io.BytesIO(value(key, field)))


def fits(key, tar_format):
    """USTAR holds 100 bytes after a slash and 155 before it."""
    head, _, tail = (key + ".txt").encode().rpartition(b"/")
    return tar_format != tarfile.USTAR_FORMAT or (len(tail) <= 100 and len(head) <= 155)


@pytest.mark.parametrize("tar_format", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_what_tarfile_writes_is_listed_and_read(tmp_path, monkeypatch, tar_format):
    keys = [key for key in KEYS if fits(key, tar_format)]
    monkeypatch.setattr(f"{__name__}.KEYS", keys)
    path = tmp_path / "foreign.tar"
    write_tar(path, tar_format)
    assert penstock("ls", path).decode().splitlines() == [f"{key}.{field}" for key in keys for field in FIELDS]
    for key in keys:
        assert penstock("cat", path, f"{key}.txt") == value(key, "txt")


@pytest.fixture(name="packed")
def packed_fixture(tmp_path):
    """A folder of files that share a stem, packed to tar with aligned samples."""
    source = tmp_path / "source"
    for key in KEYS:
        for field in FIELDS:
            path = source / f"{key[:200]}.{field}"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(value(key[:200], field))
    destination = tmp_path / "packed"
    penstock("pack", source, destination, "--format", "tar", "--align", "4096")
    return destination


def test_what_penstock_packs_is_read_by_tarfile(packed):
    members = {}
    for shard in sorted(packed.glob("*.tar")):
        with tarfile.open(shard) as archive:
            for member in archive:
                assert member.isreg() and member.mode == 0o644 and member.mtime == 0 and member.uid == 0
                members[member.name] = archive.extractfile(member).read()
    assert members == {f"{key[:200]}.{field}": value(key[:200], field) for key in KEYS for field in FIELDS}


def test_what_penstock_packs_is_read_by_gnu_tar(packed, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    for shard in sorted(packed.glob("*.tar")):
        done = subprocess.run(["tar", "xf", shard, "-C", out], capture_output=True, check=True)
        assert done.stderr == b""
    for key in KEYS:
        assert (out / f"{key[:200]}.txt").read_bytes() == value(key[:200], "txt")


def test_what_penstock_packs_is_read_by_webdataset(packed):
    shards = [str(shard) for shard in sorted(packed.glob("*.tar"))]
    samples = {sample["__key__"]: sample for sample in webdataset.WebDataset(shards, shardshuffle=False)}
    assert sorted(samples) == sorted(key[:200] for key in KEYS)
    for key, sample in samples.items():
        assert sample["txt"] == value(key, "txt")


def test_a_broken_archive_is_one_line_that_names_file_and_offset(tmp_path):
    path = tmp_path / "broken.tar"
    write_tar(path, tarfile.GNU_FORMAT)
    content = bytearray(path.read_bytes())
    content[1024 + 10] ^= 1  # inside the second header
    path.write_bytes(content)
    done = subprocess.run([COMMAND, "ls", path], capture_output=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith(b"penstock: error: ") and done.stderr.count(b"\n") == 1
    assert b"broken.tar" in done.stderr and b"offset 1024" in done.stderr


def test_a_pattern_of_shards_is_one_dataset_in_their_order(tmp_path):
    for shard in [3, 0, 10]:
        with tarfile.open(tmp_path / f"part-{shard:02}.tar", "w") as tar:
            member = tarfile.TarInfo(f"key{shard}.txt")
            member.size = 1
            tar.addfile(member, io.BytesIO(b"x"))
    assert refused("ls", tmp_path / "part-{00..03..}.tar")
    assert penstock("ls", tmp_path / "part-*.tar").decode().split() == ["key0.txt", "key3.txt", "key10.txt"]
    assert penstock("ls", tmp_path / "part-{10,00}.tar").decode().split() == ["key10.txt", "key0.txt"]
    assert "part-01.tar" in refused("ls", tmp_path / "part-{00..03}.tar")
    assert "matches no file" in refused("ls", tmp_path / "*.nothing")
    (tmp_path / "part-notes.txt").write_text("no shard")
    assert "part-notes.txt, which is not a shard of format tar" in refused("ls", tmp_path / "part-*")


@pytest.mark.parametrize("set_back", [False, True])
def test_a_tar_made_again_in_another_order_is_listed_packed_and_verified_as_it_is(tmp_path, set_back):
    archive, other = tmp_path / "data.tar", tmp_path / "other.tar"

    def make(path, order):
        with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as made:
            for number in order:
                member = tarfile.TarInfo(f"{number:04}.txt")
                content = f"{number:04}\n".encode() * 200
                member.size = len(content)
                made.addfile(member, io.BytesIO(content))

    order = list(range(400))
    make(archive, order)
    assert penstock("cat", archive, "0100.txt") == b"0100\n" * 200
    before = archive.stat()
    make(other, order[:60] + order[60:140][::-1] + order[140:])
    assert other.stat().st_size == before.st_size
    archive.write_bytes(other.read_bytes())
    if set_back:
        os.utime(archive, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert penstock("cat", archive, "0100.txt") == b"0100\n" * 200
    assert b"0139" in penstock("ls", archive).splitlines()[60]
    penstock("pack", archive, tmp_path / "packed", "--format", "tar")
    assert penstock("cat", tmp_path / "packed", "0100.txt") == b"0100\n" * 200
    assert b"the index of 1 shard compared with the files" in penstock("verify", archive)
    penstock("verify", tmp_path / "packed", "--against", archive)
