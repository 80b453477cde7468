"""TFRecord files: TensorFlow writes and penstock reads, and the other way round."""

import io
import json
import os
import pathlib
import subprocess

import numpy as np
import pytest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # before the import

import tensorflow as tf

COMMAND = os.environ["PENSTOCK_COMMAND"]
DATA = pathlib.Path(os.environ.get("PENSTOCK_TEST_DATA", "")) / "tfrecord"


def penstock(*arguments):
    done = subprocess.run([COMMAND, *map(str, arguments)], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def features_of(record):
    """What TensorFlow finds in a serialized Example: a list of byte strings or an array for each name; None if it is none."""
    try:
        feature = tf.train.Example.FromString(record.numpy()).features.feature
        if tf.train.SequenceExample.FromString(record.numpy()).feature_lists.feature_list:
            return None
    except Exception:  # noqa: BLE001  (protobuf's own DecodeError has moved between its versions)
        return None
    lists = {}
    for name, value in feature.items():
        kind = value.WhichOneof("kind")
        if kind == "bytes_list":
            lists[name] = list(value.bytes_list.value)
        elif kind == "float_list":
            lists[name] = np.array(value.float_list.value, np.float32)
        elif kind == "int64_list":
            lists[name] = np.array(value.int64_list.value, np.int64)
    return lists


def assert_field(source, key, name, want):
    """penstock gives a single byte string as its bytes, or as a JSON list if another record of the file has several. It
    gives numbers as a one-dimensional array, or as a text if each list of the field in the file is one whole number."""
    if isinstance(want, list):
        if len(want) == 1:
            stored = penstock("cat", source, f"{key}.{name}")
            assert stored == want[0] or json.loads(stored) == [want[0].decode()]
    elif len(want) != 0:
        stored = penstock("cat", source, f"{key}.{name}")
        if stored.startswith(b"\x93NUMPY"):
            np.testing.assert_array_equal(np.load(io.BytesIO(stored)), want)
        else:
            assert want.dtype == np.int64 and stored == b"%d" % want[0]


def example(i):
    def floats(values):
        return tf.train.Feature(float_list=tf.train.FloatList(value=values))

    def ints(values):
        return tf.train.Feature(int64_list=tf.train.Int64List(value=values))

    def texts(values):
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))

    return tf.train.Example(
        features=tf.train.Features(
            feature={
                "image": texts([tf.io.encode_jpeg(np.full((8, 8 + i, 3), 9 * i, np.uint8)).numpy()]),
                "label": ints([i - 3]),
                "weights": floats([i / 3, -i, 1e30]),
                "ids": ints([-(2**63), i, 2**63 - 1]),
                "name": texts([b"sample \xff %d" % i]),
            }
        )
    )


def test_what_tensorflow_writes_is_read(tmp_path):
    path = tmp_path / "train.tfrecord"
    with tf.io.TFRecordWriter(str(path)) as writer:
        for i in range(12):
            writer.write(example(i).SerializeToString())
    for i in (0, 1, 11):
        for name, want in features_of(tf.constant(example(i).SerializeToString())).items():
            assert_field(path, f"train/{i:08}", name, want)
    penstock("pack", path, tmp_path / "packed", "--format", "tar")
    penstock("verify", tmp_path / "packed", "--against", path)


def test_what_penstock_packs_is_read_by_tensorflow(tmp_path, arrays):
    penstock("pack", arrays, tmp_path / "packed", "--format", "tfrecord", "--shard-size", "4KiB")
    shards = sorted(map(str, (tmp_path / "packed").glob("*.tfrecord")))
    assert len(shards) > 1
    wanted = {
        "__key__": tf.io.FixedLenFeature([], tf.string),
        "cls": tf.io.FixedLenFeature([], tf.int64),
        "npy": tf.io.FixedLenFeature([], tf.string),
    }
    records = tf.data.TFRecordDataset(shards).map(lambda record: tf.io.parse_single_example(record, wanted))
    count = 0
    for i, row in enumerate(records):
        assert row["__key__"].numpy() == f"{i:03}".encode() and row["cls"].numpy() == i % 4
        assert row["npy"].numpy() == (arrays / f"{i:03}.npy").read_bytes()
        count += 1
    assert count == 40


def test_images_that_penstock_packs_are_decoded_by_tensorflow(tmp_path, icons):
    penstock("pack", icons, tmp_path / "packed", "--format", "tfrecord")
    shards = sorted(map(str, (tmp_path / "packed").glob("*.tfrecord")))
    wanted = {"png": tf.io.FixedLenFeature([], tf.string), "__key__": tf.io.FixedLenFeature([], tf.string)}
    for record in tf.data.TFRecordDataset(shards).take(20):
        row = tf.io.parse_single_example(record, wanted)
        file = icons / (row["__key__"].numpy().decode() + ".png")
        assert row["png"].numpy() == file.read_bytes()
        assert tf.io.decode_png(row["png"]).shape[-1] == 3


@pytest.mark.skipif(not DATA.is_dir(), reason="no files of TFRecords in PENSTOCK_TEST_DATA")
def test_files_of_others_have_what_tensorflow_finds(tmp_path, monkeypatch):
    monkeypatch.setenv("PENSTOCK_INDEX_DIR", str(tmp_path))
    compared = 0
    for path in sorted(DATA.rglob("*.tfrecord*")):
        records = [features_of(record) for record in tf.data.TFRecordDataset(str(path)).take(8)]
        if not records or None in records or not any(records):
            continue  # records of another kind than Example
        keys = sorted({line.split(".")[0] for line in penstock("ls", path).decode().splitlines()})
        for key, lists in zip(keys, records, strict=False):
            for name, want in lists.items():
                assert_field(path, key, name, want)
                compared += 1
    assert compared > 20
