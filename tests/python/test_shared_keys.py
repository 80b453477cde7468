"""Shards that share keys can be packed: each key gets the name of the shard in front."""

import io
import os
import subprocess
import tarfile
import warnings

import h5py
import numpy as np
import penstock as ps
import pytest

COMMAND = os.environ["PENSTOCK_COMMAND"]


def write_tar(path, samples):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with tarfile.open(path, "w") as archive:
        for name, value in samples.items():
            member = tarfile.TarInfo(name)
            member.size = len(value)
            archive.addfile(member, io.BytesIO(value))


def pack(source, tmp_path, **options):
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        told = ps.pack(source, tmp_path / "out", format="tar", progress=False, overwrite=True, **options)
    return ps.open(tmp_path / "out"), told, [str(warning.message) for warning in warned]


def texts(dataset, field="txt"):
    return {sample.key: bytes(sample[field]) for sample in (dataset[i] for i in range(len(dataset)))}


def test_keys_of_shards_that_count_alike_get_the_names_of_the_shards(tmp_path):
    for shard in "ab":
        write_tar(tmp_path / "in" / f"{shard}.tar", {f"{i:03}.txt": f"{shard}{i}".encode() for i in range(3)})
    source = ps.open(tmp_path / "in")
    assert source.keys == ["000", "001", "002"] * 2  # an opened dataset keeps the keys of its files
    packed, told, warned = pack(tmp_path / "in", tmp_path)
    assert texts(packed) == {f"{shard}/{i:03}": f"{shard}{i}".encode() for shard in "ab" for i in range(3)}
    assert "a/000" in told["renamed"] and any("a/000" in each for each in warned)


def test_one_repeated_key_renames_all(tmp_path):
    write_tar(tmp_path / "in" / "a.tar", {"x.txt": b"1", "y.txt": b"2"})
    write_tar(tmp_path / "in" / "b.tar", {"y.txt": b"3", "z.txt": b"4"})
    packed, _, _ = pack(tmp_path / "in", tmp_path)
    assert texts(packed) == {"a/x": b"1", "a/y": b"2", "b/y": b"3", "b/z": b"4"}


def test_keys_that_differ_stay(tmp_path):
    write_tar(tmp_path / "in" / "a.tar", {"x.txt": b"1"})
    write_tar(tmp_path / "in" / "b.tar", {"y.txt": b"3"})
    packed, told, warned = pack(tmp_path / "in", tmp_path)
    assert packed.keys == ["x", "y"] and told["renamed"] == "" and not warned


def test_rows_without_keys_are_packed(tmp_path):
    (tmp_path / "in").mkdir()
    for shard, rows in (("one", 12), ("two", 12)):
        with h5py.File(tmp_path / "in" / f"{shard}.h5", "w") as file:
            file["x"] = np.arange(rows, dtype="f4")
    packed, told, _ = pack(tmp_path / "in", tmp_path)
    assert told["samples"] == 24 and len(set(packed.keys)) == 24
    assert {key.split("/")[0] for key in packed.keys} == {"one", "two"}


@pytest.mark.parametrize("door", ["pattern", "relative pattern", "concat"])
def test_folders_tell_shards_of_one_name_apart(tmp_path, monkeypatch, door):
    for folder in "ab":
        write_tar(tmp_path / "in" / folder / "shard-0.tar", {"1.txt": folder.encode()})
    monkeypatch.chdir(tmp_path)
    source = {
        "pattern": lambda: str(tmp_path / "in" / "{a,b}" / "shard-0.tar"),
        "relative pattern": lambda: "in/{a,b}/shard-0.tar",
        "concat": lambda: ps.concat([ps.open(tmp_path / "in" / folder) for folder in "ab"]),
    }[door]()
    packed, _, _ = pack(source, tmp_path)
    assert texts(packed) == {"a/1": b"a", "b/1": b"b"}


def test_the_bytes_do_not_depend_on_where_the_shards_lie(tmp_path):
    files = []
    for place in ("here", "some/where/else"):
        for shard in "ab":
            write_tar(tmp_path / place / f"{shard}.tar", {"1.txt": shard.encode()})
        pack(tmp_path / place, tmp_path)
        files.append({path.name: path.read_bytes() for path in (tmp_path / "out").iterdir() if path.suffix == ".tar"})
    assert files[0] == files[1]


def test_a_dataset_joined_with_itself_is_refused(tmp_path):
    write_tar(tmp_path / "in" / "a.tar", {"x.txt": b"1"})
    dataset = ps.open(tmp_path / "in")
    with pytest.raises(ps.Error, match=r"a\.tar"):
        pack(ps.concat([dataset, dataset]), tmp_path)
    again = ps.open(tmp_path / "in" / "a.tar")
    with pytest.raises(ps.Error, match=r"a\.tar"):
        pack(ps.concat([again, ps.open(tmp_path / "in" / "a.tar")]), tmp_path)


def test_a_view_is_packed_with_the_names_of_its_shards(tmp_path):
    for shard in "ab":
        write_tar(tmp_path / "in" / f"{shard}.tar", {f"{i}.txt": f"{shard}{i}".encode() for i in range(3)})
    packed, _, _ = pack(ps.open(tmp_path / "in").skip(2), tmp_path)
    assert texts(packed) == {"a/2": b"a2", "b/0": b"b0", "b/1": b"b1", "b/2": b"b2"}
    packed, _, _ = pack(ps.open(tmp_path / "in").take(3), tmp_path)
    assert packed.keys == ["0", "1", "2"]


def test_ranks_resume_and_verify_agree_on_the_keys(tmp_path):
    for shard in "ab":
        write_tar(tmp_path / "in" / f"{shard}.tar", {f"{i}.txt": f"{shard}{i}".encode() * 99 for i in range(9)})
    source, out = tmp_path / "in", tmp_path / "parts"
    for rank in (0, 1):
        ps.pack(source, out, format="tar", shard_size=2048, rank=rank, world=2, progress=False)
    ps.finish_pack(out)
    packed, _, _ = pack(source, tmp_path, shard_size=2048)
    assert texts(ps.open(out)) == texts(packed) and len(packed) == 18
    done = subprocess.run([COMMAND, "verify", out, "--against", source], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "18 values compared" in done.stdout, done.stdout + done.stderr
    (source / "b.tar").unlink()
    write_tar(source / "b.tar", {f"{i}.txt": b"other" for i in range(9)})
    done = subprocess.run([COMMAND, "verify", out, "--against", source], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "b/0" in done.stdout and "a/0" not in done.stdout


def test_the_command_shows_a_new_key(tmp_path):
    for shard in "ab":
        write_tar(tmp_path / "in" / f"{shard}.tar", {"1.txt": shard.encode()})
    done = subprocess.run(
        [COMMAND, "pack", tmp_path / "in", tmp_path / "out"], capture_output=True, text=True, check=True
    )
    assert "a/1" in done.stderr and "name of the shard" in done.stderr


def test_labels_kept_apart_find_the_new_keys(tmp_path):
    for shard in "ab":
        write_tar(tmp_path / "in" / f"{shard}.tar", {"1.txt": shard.encode()})
    (tmp_path / "labels.csv").write_text("key,label\na/1,cat\nb/1,dog\n")
    packed, _, _ = pack(tmp_path / "in", tmp_path, labels=str(tmp_path / "labels.csv"))
    assert packed.classes == ["cat", "dog"]
    assert [bytes(packed[i]["cls"]) for i in range(2)] == [b"0", b"1"]
