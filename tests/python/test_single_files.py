"""Parts of tar, LMDB and TFRecord files that belong to no sample are told; names that look like patterns are opened."""

import io
import os
import subprocess
import tarfile
import warnings

import lmdb
import numpy as np
import penstock as ps
import pytest
import stores
from PIL import Image
from records import message, write_records

COMMAND = os.environ["PENSTOCK_COMMAND"]


def picture(seed=0):
    file = io.BytesIO()
    Image.fromarray(np.random.default_rng(seed).integers(0, 256, (24, 32, 3), np.uint8)).save(file, "JPEG")
    return file.getvalue()


def tar(**members):
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        for name, data in members.items():
            member = tarfile.TarInfo(name.replace("_", "."))
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return file.getvalue()


def opened(path):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        dataset = ps.open(path)
    return dataset, [str(one.message) for one in told]


def test_archives_that_were_joined_are_read_to_the_end(tmp_path):
    path = tmp_path / "both.tar"
    parts = [tar(**{f"{name}_jpg": picture(i), f"{name}_cls": b"1"}) for i, name in enumerate("abc")]
    path.write_bytes(b"".join(parts))
    dataset, told = opened(path)
    assert dataset.keys == ["a", "b", "c"] and not told
    assert dataset[2]["jpg"] == picture(2)
    with tarfile.open(path, ignore_zeros=True) as archive:
        assert len(archive.getnames()) == 6
    listed = subprocess.run([COMMAND, "ls", path], capture_output=True, check=True)
    assert len(listed.stdout.split()) == 6 and not listed.stderr
    # Any number of zeros between them, and a shard that is longer than before has an index of its own.
    path.write_bytes(parts[0] + bytes(512 * 999) + parts[1])
    assert opened(path)[0].keys == ["a", "b"]
    path.write_bytes(parts[0] + parts[1] + parts[0])
    with pytest.raises(ps.Error, match="the key appears again"):
        ps.open(path)


def test_other_bytes_after_an_archive_are_a_warning(tmp_path):
    path = tmp_path / "a.tar"
    path.write_bytes(tar(a_txt=b"1") + b"signature")
    for _ in range(2):  # the second time from the kept index
        dataset, told = opened(path)
        assert dataset.keys == ["a"]
        assert [one for one in told if "a.tar" in one and "offset 10240" in one] == told and len(told) == 1
    done = subprocess.run([COMMAND, "info", path], capture_output=True, check=True)
    assert b"offset 10240" in done.stderr
    with pytest.warns(UserWarning, match="offset 10240"):
        ps.pack(path, tmp_path / "packed")
    assert not opened(tmp_path / "packed")[1]


def test_a_value_that_counts_photographs_is_no_sample(tmp_path):
    path = tmp_path / "faces.lmdb"
    with lmdb.open(str(path), map_size=1 << 24) as environment, environment.begin(write=True) as transaction:
        for i in range(3):
            transaction.put(f"256-{i:05}".encode(), picture(i))
        transaction.put(b"length", b"3")
    with ps.Loader(path, batch_size=4, transforms={"value": ps.image.resize((8, 8))}) as loader:
        assert [key for batch in loader for key in batch["__key__"]] == [f"256-{i:05}" for i in range(3)]
    done = subprocess.run([COMMAND, "info", path], capture_output=True, check=True)
    assert b"left out     length: the number of the other values, 3" in done.stdout


@pytest.mark.parametrize("names", [("{}.jpg", "{}.cls"), ("image-{:05}", "label-{:05}")])
def test_a_count_of_samples_beside_labels_is_no_sample(tmp_path, names):
    with lmdb.open(str(tmp_path / "a.lmdb"), map_size=1 << 20) as environment, environment.begin(write=True) as values:
        for i in range(5):
            values.put(names[0].format(i).encode(), picture(i))
            values.put(names[1].format(i).encode(), str(i % 2).encode())
        values.put(b"length", b"5")
    dataset = ps.open(tmp_path / "a.lmdb")
    assert len(dataset) == 5 and "length" not in dataset.keys
    done = subprocess.run([COMMAND, "info", tmp_path / "a.lmdb"], capture_output=True, check=True)
    assert b"length: the number of samples, 5" in done.stdout


def entry(name, value):
    return message(1, message(1, name.encode()) + message(2, value))


def texts(*values):
    return message(1, b"".join(message(1, value) for value in values))


def test_an_error_for_a_feature_that_is_no_field_says_why(tmp_path):
    two = message(1, entry("id", texts(b"2")) + entry("names", texts(b"cat", b"\xff")))
    sequence = message(1, entry("id", texts(b"1"))) + message(2, entry("frames", message(1, texts(b"x"))))
    for path, name, why in (
        (write_records(tmp_path / "two.tfrecord", two, two), "names", "is not UTF-8"),
        (write_records(tmp_path / "sequence.tfrecord", sequence), "frames", "SequenceExample"),
        (write_records(tmp_path / "context.tfrecord", sequence), "id", "SequenceExample"),
    ):
        with pytest.raises(ps.Error, match=why), ps.Loader(path, batch_size=2, transforms={name: ps.raw()}) as loader:
            list(loader)
        dataset = ps.open(path)
        with pytest.raises(KeyError, match=why):
            dataset[len(dataset) - 1][name]  # pylint: disable=expression-not-assigned


@pytest.fixture(name="client")
def client_fixture(tmp_path, monkeypatch):
    (tmp_path / "moto").mkdir()
    with stores.moto(tmp_path / "moto") as endpoint:
        for name, value in {
            "AWS_ENDPOINT_URL": endpoint,
            "AWS_ACCESS_KEY_ID": "x",
            "AWS_SECRET_ACCESS_KEY": "y",
            "AWS_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
            "HOME": str(tmp_path),
        }.items():
            monkeypatch.setenv(name, value)
        yield stores.client_with_bucket(endpoint)


def test_names_that_look_like_patterns_are_opened_by_themselves(client, tmp_path):
    for key in (
        "run[1]/1.tar",
        "run[1]/2.tar",
        "run{a}/1.tar",
        "run{a,b}/1.tar",
        "what?/a*.tar",
        "runa/1.tar",
        "run1/1.tar",
    ):
        client.put_object(Bucket="bucket", Key=key, Body=tar(**{f"{key[3:5]}x_txt": b"1", f"{key[-5]}y_txt": b"2"}))
        assert len(ps.open("s3://bucket/" + key)) == 2, key
    assert len(ps.open("s3://bucket/run[1]")) == 4
    assert len(ps.open("s3://bucket/run[1]/{1,2}.tar")) == 4
    assert len(ps.open("s3://bucket/run{1,a}/1.tar")) == 4
    assert len(ps.open("s3://bucket/run[1a]/*.tar")) == 4
    with pytest.raises(ps.Error, match="matches no file"):
        ps.open("s3://bucket/run[7]/*.tar")
    ps.pack("s3://bucket/run[1]/1.tar", tmp_path / "packed")
    ps.stage("s3://bucket/run[1]/1.tar", tmp_path / "staged")
    assert len(ps.open(tmp_path / "packed")) == 2
    cat = subprocess.run([COMMAND, "cat", "s3://bucket/run[1]/1.tar", "1y.txt"], capture_output=True, check=True)
    assert cat.stdout == b"2"


def test_names_that_look_like_patterns_are_words_of_patterns_on_a_disk(tmp_path):
    for name in ("run[1]", "run1"):
        (tmp_path / name).mkdir()
        for i in (1, 2):
            (tmp_path / name / f"{i}.tar").write_bytes(tar(**{f"{name[-1]}{i}_txt": b"1"}))
    assert len(ps.open(tmp_path / "run[1]" / "{1,2}.tar")) == 2
    assert ps.open(tmp_path / "run[1]" / "1.tar").keys == ["]1"]
    assert ps.open(tmp_path / "run1" / "{1,2}.tar").keys == ["11", "12"]
