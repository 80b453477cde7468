"""Packing files that are compressed as a whole (gzip, zlib), by the command and in Python: archives and TFRecord files."""

import fcntl
import gzip
import io
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tarfile
import zlib

import penstock as ps
import pytest
from records import message, record
from command import COMMAND, bytes_of, fails, run
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


def example(values):
    """A tf.train.Example of features of bytes."""
    return message(
        1,
        b"".join(
            message(1, message(1, name.encode()) + message(2, message(1, message(1, value))))
            for name, value in values.items()
        ),
    )


def by_command(source, tmp_path, name="out", *words):
    told = run("pack", source, tmp_path / name, "--format", "tar", *words)
    return ps.open(tmp_path / name), told.stderr.decode()


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
    with pytest.raises(ps.Error, match="out: invalid argument: already exists"):
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
        (lambda whole: whole + b"garbage", "other bytes follow the gzip data"),
        (lambda whole: whole[:-8] + bytes(4) + whole[-4:], "broken gzip data: incorrect data check"),
        (lambda whole: whole[:2000] + bytes(100) + whole[2100:], "broken gzip data"),
    ],
)
@pytest.mark.parametrize("name", ["train.tar.gz", "train.tfrecord"])
def test_broken_files_are_named_and_nothing_is_left(name, spoil, cause, tmp_path):
    source = archive(tmp_path / name, "w:gz")
    source.write_bytes(spoil(source.read_bytes()))
    told = rf"{source}: offset \d+: corrupt: {cause}"
    with pytest.raises(ps.Error, match=f"^{told}") as raised:
        pack(source, tmp_path, on_error="skip")
    assert raised.value.dataset == str(source) and "\n" not in str(raised.value)
    assert raised.value.offset <= source.stat().st_size
    assert re.search(f"error: {told}", fails("pack", source, tmp_path / "out", "--format", "tar"))
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
    with pytest.raises(
        ps.Error, match="0.tar(.gz)?: invalid argument: two source files have the name 0.tar after decompression"
    ):
        pack(folder, tmp_path, "second")


def test_the_spool_is_where_it_is_unpacked(tmp_path):
    seen = []
    spool = tmp_path / "spool" / "deep"
    source = archive(tmp_path / "train.tar.gz", "w:gz")
    ps.pack(source, tmp_path / "out", format="tar", temp_dir=spool, progress=lambda *_: seen.append(os.listdir(spool)))
    assert seen and all(len(names) == 1 for names in seen) and os.listdir(spool) == []


@pytest.mark.parametrize("name", ["train.tar.gz", "train.tfrecord.gz"])
def test_opening_such_a_file_says_what_to_do(name, tmp_path):
    archive(tmp_path / name, "w:gz")
    remedy = "compressed as a whole .gzip.*: pack it .penstock pack, in Python ps.pack., or decompress it"
    with pytest.raises(ps.Error, match=remedy):
        ps.open(tmp_path / name)


def test_the_command_packs_what_python_packs(tmp_path):
    source = archive(tmp_path / "train.tar.gz", "w:gz")
    pack(source, tmp_path, "python")
    assert samples(by_command(source, tmp_path)[0]) == EXPECTED
    assert bytes_of(tmp_path / "out") == bytes_of(tmp_path / "python")
    spool = tmp_path / "spool" / "deep"
    by_command(source, tmp_path, "second", "--temp-dir", spool)
    assert bytes_of(tmp_path / "second") == bytes_of(tmp_path / "python") and os.listdir(spool) == []
    assert left_in(tmp_path) == ["out", "python", "second", "spool", "train.tar.gz"]


def test_a_pattern_of_compressed_and_plain_shards_is_one_dataset(tmp_path):
    folders = [tmp_path / name for name in ("a", "b", "c {1}")]
    values = []
    for i, folder in enumerate(folders):
        folder.mkdir()
        with tarfile.open(folder / "x.tar", "w") as tar:
            member = tarfile.TarInfo(f"{i}.cls")
            member.size = 1
            tar.addfile(member, io.BytesIO(b"%d" % i))
        values.append((folder / "x.tar").read_bytes())
        if i != 1:
            (folder / "x.tar").unlink()
            (folder / "x.tgz").write_bytes(gzip.compress(values[-1]))
    pattern = f"{tmp_path}/?*/x.*"
    expected = {str(i): {"cls": b"%d" % i} for i in range(3)}
    assert samples(pack(pattern, tmp_path)[0]) == expected
    assert samples(by_command(pattern, tmp_path, "again")[0]) == expected
    (folders[2] / "x.tgz").write_bytes(gzip.compress(values[2][:700]))
    with pytest.raises(ps.Error) as raised:
        pack(pattern, tmp_path, "third")
    assert raised.value.dataset == pattern and raised.value.shard == "x.tar"
    assert "unpacked-" not in str(raised.value)
    (folders[2] / "x.tgz").write_bytes(gzip.compress(values[2])[:-3])
    with pytest.raises(ps.Error, match="the gzip data ends early") as raised:
        pack(pattern, tmp_path, "third")
    assert raised.value.dataset == str(folders[2] / "x.tgz")
    assert not [name for name in os.listdir(tmp_path) if "unpacked" in name]


def test_other_files_beside_compressed_archives_make_a_folder_of_files_and_beside_plain_ones_nothing(tmp_path):
    folder = tmp_path / "shards"
    folder.mkdir()
    plain = archive(tmp_path / "plain.tar", "w").read_bytes()
    (folder / "0.tar.gz").write_bytes(gzip.compress(plain))
    (folder / "notes.txt").write_text("x")
    assert set(samples(by_command(folder, tmp_path)[0])) == {"0", "notes"}
    (folder / "1.tar").write_bytes(plain)
    (folder / "0.tar.gz").write_bytes(gzip.compress(rewritten(plain)))
    expected = EXPECTED | {f"x{key}": value for key, value in EXPECTED.items()}
    assert samples(by_command(folder, tmp_path, "both")[0]) == expected
    ps.open(folder / "1.tar")  # leaves its index beside it
    assert samples(by_command(folder, tmp_path, "again")[0]) == expected


def rewritten(plain):
    """The archive with other keys."""
    out = io.BytesIO()
    with tarfile.open(fileobj=io.BytesIO(plain)) as given, tarfile.open(fileobj=out, mode="w") as tar:
        for member in given:
            value = given.extractfile(member)
            member.name = f"x{member.name}"
            tar.addfile(member, value)
    return out.getvalue()


def records(count):
    return b"".join(record(example({"n": b"%d" % i, "text": b"x%d" % i})) for i in range(count))


@pytest.mark.parametrize("compress", [gzip.compress, zlib.compress, lambda plain: zlib.compress(plain, 1)])
@pytest.mark.parametrize("name", ["train.tfrecord", "train.tfrecord.zz", "train.tfrecords-00000-of-00001"])
def test_tfrecord_files_of_both_compressions_are_packed(name, compress, tmp_path):
    plain = records(50)
    uncompressed = tmp_path / "plain" / name.removesuffix(".zz")  # keys are of the file's name
    uncompressed.parent.mkdir()
    uncompressed.write_bytes(plain)
    (tmp_path / name).write_bytes(compress(plain))
    expected = samples(pack(uncompressed, tmp_path, "expected")[0])
    assert len(expected) == 50
    assert samples(pack(tmp_path / name, tmp_path)[0]) == expected
    assert samples(by_command(tmp_path / name, tmp_path, "again")[0]) == expected


@pytest.mark.parametrize(
    ("spoil", "cause"),
    [
        (lambda whole: whole[:-1], "the zlib data ends early"),
        (lambda whole: whole + b"x", "other bytes follow the zlib data"),
        (lambda whole: whole[:-4] + bytes(4), "broken zlib data: incorrect data check"),
        (lambda whole: b"\x78\xbb" + whole[2:], "broken zlib data: it requires a dictionary"),
    ],
)
def test_broken_zlib_files_are_named(spoil, cause, tmp_path):
    source = tmp_path / "train.tfrecord"
    source.write_bytes(spoil(zlib.compress(records(50))))
    assert (
        f"{source}: offset " in (told := fails("pack", source, tmp_path / "out", "--format", "tar")) and cause in told
    )
    assert left_in(tmp_path) == ["train.tfrecord"]


@pytest.mark.parametrize("length", [0x8B1F, 0x0178, 0x9C78])
def test_plain_records_whose_length_begins_like_a_compressed_file_are_plain(length, tmp_path):
    around = len(example({"x": bytes(length - 40)})) - (length - 40)
    value = example({"x": bytes(length - around)})
    assert len(value) == length
    (tmp_path / "train.tfrecord").write_bytes(record(value) + record(example({"x": b"2"})))
    assert len(pack(tmp_path / "train.tfrecord", tmp_path)[0]) == 2


def test_what_is_in_the_way_is_known_before_anything_is_unpacked(tmp_path):
    source = archive(tmp_path / "train.tar.gz", "w:gz")
    told = subprocess.run([sys.executable, "-c", KILLED], cwd=tmp_path, check=False)
    assert told.returncode == -signal.SIGKILL and (tmp_path / "out.partial").exists()
    source.write_bytes(source.read_bytes()[:-30])
    assert "is left from a run that did not finish: --resume (resume=True) continues it" in fails(
        "pack", source, tmp_path / "out", "--format", "tar", code=2
    )
    (tmp_path / "out").mkdir()
    assert "already exists" in fails("pack", source, tmp_path / "out", "--format", "tar", code=2)
    (tmp_path / "out").rmdir()
    archive(source, "w:gz")
    assert samples(by_command(source, tmp_path, "out", "--resume")[0]) == EXPECTED
    assert left_in(tmp_path) == ["out", "train.tar.gz"]


STOPPED = """
import os
import penstock as ps

kill = lambda done, *_: os.kill(os.getpid(), 9) if done >= 15 else None
ps.pack("train.tar.gz", "out", format="tar", shard_size=2000, progress=kill)
"""


def test_whole_shards_stay_though_the_archive_is_unpacked_anew_unless_it_changed(tmp_path):
    source = archive(tmp_path / "train.tar.gz", "w:gz")
    for changed in (False, True):
        told = subprocess.run([sys.executable, "-c", STOPPED], cwd=tmp_path, check=False)
        assert told.returncode == -signal.SIGKILL
        if changed:
            os.utime(source)
        told = ps.pack(source, tmp_path / "out", format="tar", shard_size=2000, resume=True, progress=False)
        assert (told["resumed"] > 0) != changed and told["resumed"] + told["samples"] == COUNT
        assert samples(ps.open(tmp_path / "out")) == EXPECTED
        shutil.rmtree(tmp_path / "out")


def bomb(path, size):
    path.write_bytes(gzip.compress(bytes(1 << 20)) * (size >> 20))


def test_a_file_of_zeros_takes_no_memory_and_a_full_disk_leaves_nothing(tmp_path):
    source = tmp_path / "train.tar.gz"
    bomb(source, 400 << 20)
    words = [COMMAND, "pack", source, tmp_path / "out", "--format", "tar"]
    child = subprocess.Popen(words, stderr=subprocess.PIPE)
    told = child.stderr.read().decode()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    child.stderr.close()
    assert child.returncode == 1 and f"error: {source}: " in told and usage.ru_maxrss < 200 << 10
    assert left_in(tmp_path) == ["train.tar.gz"]

    def small_files():
        resource.setrlimit(resource.RLIMIT_FSIZE, (50 << 20, 50 << 20))

    told = fails(*words[1:], preexec_fn=small_files, restore_signals=False)
    assert told == f"penstock: error: {source}: i/o: cannot unpack into {tmp_path}: File too large"
    assert left_in(tmp_path) == ["train.tar.gz"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_command_leaves_nothing(number, tmp_path):
    source = tmp_path / "train.tar.gz"
    bomb(source, 3 << 30)
    child = subprocess.Popen([COMMAND, "pack", source, tmp_path / "out", "--format", "tar"], stderr=subprocess.PIPE)
    while not list(tmp_path.glob(".penstock-unpacked-*/train.tar")) and child.poll() is None:
        os.sched_yield()
    child.send_signal(number)
    told = child.communicate(timeout=300)[1].decode()
    assert child.returncode == 130 and "interrupted" in told, told
    assert left_in(tmp_path) == ["train.tar.gz"]


def test_an_interrupted_call_leaves_nothing(tmp_path):
    bomb(tmp_path / "train.tar.gz", 3 << 30)
    code = 'import penstock as ps; ps.pack("train.tar.gz", "out", format="tar", progress=False)'
    child = subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path, stderr=subprocess.PIPE)
    while not list(tmp_path.glob(".penstock-unpacked-*/train.tar")) and child.poll() is None:
        os.sched_yield()
    child.send_signal(signal.SIGINT)
    told = child.communicate(timeout=300)[1].decode()
    assert "KeyboardInterrupt" in told, told
    assert left_in(tmp_path) == ["train.tar.gz"]
