"""penstock.pack from files that gzip compressed as a whole: archives and TFRecord files."""

import fcntl
import gzip
import io
import os
import signal
import subprocess
import sys
import tarfile

import penstock as ps
import pytest
from packing import encoded, pack

COUNT = 20


def archive(path, mode):
    with tarfile.open(path, mode) as tar:
        for i in range(COUNT):
            for name, value in ((f"{i:03}.jpg", encoded("JPEG", i)), (f"{i:03}.cls", str(i % 3).encode())):
                member = tarfile.TarInfo(name)
                member.size = len(value)
                tar.addfile(member, io.BytesIO(value))
    return path


def samples(dataset):
    return {key: dict(sample) for key, sample in zip(dataset.keys, dataset)}


EXPECTED = {f"{i:03}": {"jpg": encoded("JPEG", i), "cls": str(i % 3).encode()} for i in range(COUNT)}


def left_in(folder):
    return sorted(name for name in os.listdir(folder) if not name.endswith("-idx"))


KILLED = """
import os
import penstock as ps

ps.pack("train.tar.gz", "out", format="tar", progress=lambda done, *_: os.kill(os.getpid(), 9) if done else None)
"""


def test_what_a_killed_process_left_goes_with_the_next_call_and_what_another_uses_stays(tmp_path):
    archive(tmp_path / "train.tar.gz", "w:gz")
    told = subprocess.run([sys.executable, "-c", KILLED], cwd=tmp_path, check=False)
    assert told.returncode == -signal.SIGKILL
    left = list(tmp_path.glob(".penstock-unpacked-*"))
    assert len(left) == 1
    used = tmp_path / ".penstock-unpacked-used"
    used.mkdir()
    descriptor = os.open(used, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    dataset = pack(tmp_path / "train.tar.gz", tmp_path, resume=True)[0]
    assert samples(dataset) == EXPECTED
    assert not left[0].exists() and used.exists()
    os.close(descriptor)


def test_ranks_pack_their_shares_of_a_compressed_archive(tmp_path):
    archive(tmp_path / "train.tar.gz", "w:gz")
    for rank in range(3):
        ps.pack(tmp_path / "train.tar.gz", tmp_path / "out", format="tar", rank=rank, world=3)
    ps.finish_pack(tmp_path / "out")
    assert samples(ps.open(tmp_path / "out")) == EXPECTED
    assert left_in(tmp_path) == ["out", "train.tar.gz"]


@pytest.mark.parametrize("name", ["train.tar.gz", "train.tgz", "TRAIN.TGZ", "train"])
def test_a_compressed_archive_is_packed_as_the_plain_one_is(name, tmp_path):
    dataset, told = pack(archive(tmp_path / name, "w:gz"), tmp_path)
    assert samples(dataset) == EXPECTED and told["samples"] == COUNT
    archive(tmp_path / "plain.tar", "w")
    pack(tmp_path / "plain.tar", tmp_path, "plain")
    for file in sorted(os.listdir(tmp_path / "plain")):
        assert (tmp_path / "out" / file).read_bytes() == (tmp_path / "plain" / file).read_bytes()
    assert left_in(tmp_path) == sorted([name, "out", "plain", "plain.tar"])


def test_what_was_packed_before_is_refused_before_anything_is_unpacked(tmp_path):
    source = archive(tmp_path / "train.tar.gz", "w:gz")
    source.write_bytes(source.read_bytes()[:-30])
    (tmp_path / "out").mkdir()
    with pytest.raises(ps.Error, match="out: invalid argument: exists already"):
        pack(source, tmp_path)


def test_archives_in_several_members_and_with_zeros_behind_are_read_as_gzip_reads_them(tmp_path):
    plain = archive(tmp_path / "plain.tar", "w").read_bytes()
    pieces = [plain[at : at + 1000] for at in range(0, len(plain), 1000)]
    many = b"".join(map(gzip.compress, pieces)) + gzip.compress(b"") + bytes(100)
    (tmp_path / "train.tar.gz").write_bytes(many)
    assert gzip.decompress(many) == plain
    assert samples(pack(tmp_path / "train.tar.gz", tmp_path)[0]) == EXPECTED


@pytest.mark.parametrize(
    ("spoil", "cause"),
    [
        (lambda whole: whole[:-1], "the gzip data ends early"),
        (lambda whole: whole[: len(whole) // 2], "the gzip data ends early"),
        (lambda whole: whole[:5], "the gzip data ends early"),
        (lambda whole: whole + b"garbage", "bytes that are no gzip data follow behind it"),
        (lambda whole: whole[:-8] + bytes(4) + whole[-4:], "broken gzip data: CRC check failed"),
        (lambda whole: whole[:2000] + bytes(100) + whole[2100:], "broken gzip data"),
    ],
)
@pytest.mark.parametrize("name", ["train.tar.gz", "train.tfrecord"])
def test_broken_files_are_named_and_nothing_is_left(name, spoil, cause, tmp_path):
    source = archive(tmp_path / name, "w:gz")
    source.write_bytes(spoil(source.read_bytes()))
    with pytest.raises(ps.Error, match=f"^{source}: corrupt: {cause}") as raised:
        pack(source, tmp_path, on_error="skip")
    assert raised.value.dataset == str(source) and "\n" not in str(raised.value)
    assert left_in(tmp_path) == [name]


def test_what_is_wrong_inside_names_the_file_that_was_given(tmp_path):
    plain = archive(tmp_path / "plain.tar", "w").read_bytes()
    source = tmp_path / "train.tar.gz"
    source.write_bytes(gzip.compress(plain[:3000]))
    with pytest.raises(ps.Error, match=f"^{source}: .*offset.*corrupt") as raised:
        pack(source, tmp_path)
    assert raised.value.dataset == str(source) and "unpacked-" not in str(raised.value)
    source.write_bytes(gzip.compress(b"a,b\n1,2\n"))
    with pytest.raises(ps.Error, match=f"^{source}: ") as raised:
        pack(source, tmp_path)
    assert "unpacked-" not in str(raised.value) and left_in(tmp_path) == ["plain.tar", "train.tar.gz"]


@pytest.mark.parametrize("suffix", [".tfrecord.gz", ".tfrecord", ".tfrecord-00000-of-00001"])
def test_compressed_tfrecord_files_are_packed(suffix, tmp_path):
    archive(tmp_path / "plain.tar", "w")
    ps.pack(tmp_path / "plain.tar", tmp_path / "records", format="tfrecord", progress=False)
    (shard,) = (tmp_path / "records").glob("*.tfrecord")
    (tmp_path / f"train{suffix}").write_bytes(gzip.compress(shard.read_bytes()))
    dataset, _ = pack(tmp_path / f"train{suffix}", tmp_path)
    assert samples(dataset) == samples(pack(shard, tmp_path, "plain")[0])


def test_a_folder_of_compressed_files_is_packed_as_the_folder_of_plain_ones(tmp_path):
    folder = tmp_path / "shards"
    folder.mkdir()
    plain = archive(tmp_path / "a.tar", "w").read_bytes()
    (folder / "0.tar.gz").write_bytes(gzip.compress(plain))
    (folder / "1.tar").write_bytes(plain.replace(b"0", b"9"))
    (folder / ".hidden").write_bytes(b"")
    with pytest.raises(ps.Error, match=f"^{folder}: 1.tar: .*corrupt") as raised:  # its headers' checksums are wrong
        pack(folder, tmp_path)
    assert "unpacked-" not in str(raised.value)
    (folder / "1.tar").unlink()
    assert samples(pack(folder, tmp_path)[0]) == EXPECTED
    (folder / "0.tar").write_bytes(plain)
    with pytest.raises(ps.Error, match="0.tar.gz: invalid argument: there is a file 0.tar beside it"):
        pack(folder, tmp_path, "second")


def test_the_spool_is_where_it_is_unpacked(tmp_path):
    seen = []
    spool = tmp_path / "spool" / "deep"
    source = archive(tmp_path / "train.tar.gz", "w:gz")
    ps.pack(source, tmp_path / "out", format="tar", spool=spool, progress=lambda *_: seen.append(os.listdir(spool)))
    assert seen and all(len(names) == 1 for names in seen) and os.listdir(spool) == []


@pytest.mark.parametrize("name", ["train.tar.gz", "train.tfrecord.gz"])
def test_opening_such_a_file_says_what_to_do(name, tmp_path):
    archive(tmp_path / name, "w:gz")
    with pytest.raises(ps.Error, match="compressed as a whole .gzip.*: penstock.pack in Python packs it, or unpack it"):
        ps.open(tmp_path / name)
