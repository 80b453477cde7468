"""TFRecord across programs: messages by protobuf itself, frames by a reader of ten lines."""

import io
import json
import os
import subprocess

import numpy as np
import pytest
from records import masked_crc32c, write_records

pytest.importorskip("google.protobuf")
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory  # noqa: E402

COMMAND = os.environ["PENSTOCK_COMMAND"]


def example_class():
    """tf.train.Example, as tensorflow/core/example/*.proto declare it."""
    field = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="example.proto", package="tf", syntax="proto3")

    def message(name, *fields):
        made = file.message_type.add(name=name)
        for number, (field_name, kind, label, type_name) in enumerate(fields, 1):
            made.field.add(name=field_name, number=number, type=kind, label=label, type_name=type_name)
        return made

    one, many, sub = field.LABEL_OPTIONAL, field.LABEL_REPEATED, field.TYPE_MESSAGE
    message("BytesList", ("value", field.TYPE_BYTES, many, None))
    message("FloatList", ("value", field.TYPE_FLOAT, many, None))
    message("Int64List", ("value", field.TYPE_INT64, many, None))
    feature = message(
        "Feature",
        ("bytes_list", sub, one, ".tf.BytesList"),
        ("float_list", sub, one, ".tf.FloatList"),
        ("int64_list", sub, one, ".tf.Int64List"),
    )
    feature.oneof_decl.add(name="kind")
    for part in feature.field:
        part.oneof_index = 0
    features = message("Features", ("feature", sub, many, ".tf.Features.FeatureEntry"))
    entry = features.nested_type.add(name="FeatureEntry")
    entry.options.map_entry = True
    entry.field.add(name="key", number=1, type=field.TYPE_STRING, label=one)
    entry.field.add(name="value", number=2, type=sub, label=one, type_name=".tf.Feature")
    message("Example", ("features", sub, one, ".tf.Features"))
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("tf.Example"))


Example = example_class()


def read_records(path):
    with open(path, "rb") as file:
        while length := file.read(8):
            assert file.read(4) == masked_crc32c(length)
            data = file.read(int.from_bytes(length, "little"))
            assert file.read(4) == masked_crc32c(data)
            example = Example()
            assert example.ParseFromString(data) == len(data)
            assert len(example.SerializeToString()) == len(data)  # nothing in it is unknown to the schema
            yield example.features.feature


def penstock(*arguments):
    done = subprocess.run([COMMAND, *map(str, arguments)], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def test_what_protobuf_writes_is_read(tmp_path):
    path = tmp_path / "train.tfrecord"
    weights = [np.arange(i, i + 3, dtype=np.float32) / 3 for i in range(5)]
    ids = [np.arange(i, 20 * i, dtype=np.int64) ** 3 - 50 for i in range(5)]
    examples = []
    for i in range(5):
        example = Example()
        feature = example.features.feature
        feature["image"].bytes_list.value.append(b"\xff\xd8 photo %d" % i)
        feature["label"].int64_list.value.append(i - 2)
        feature["weights"].float_list.value.extend(weights[i].tolist())
        feature["ids"].int64_list.value.extend(ids[i].tolist())
        feature["tags"].bytes_list.value.extend([b"a", f"caf\u00e9 {i}".encode()][: 1 + i % 2])
        feature["views"].bytes_list.value.extend([b"\xff\xd8 photo", b"another"])
        examples.append(example)
    write_records(path, *(example.SerializeToString() for example in examples))
    assert len(penstock("ls", path).splitlines()) == 25
    for i in range(5):
        key = f"train/{i:08}"
        tags = ["a", f"caf\u00e9 {i}"][: 1 + i % 2]  # a list also where there is one
        assert json.loads(penstock("cat", path, f"{key}.tags")) == tags
        assert penstock("cat", path, f"{key}.image") == b"\xff\xd8 photo %d" % i
        assert penstock("cat", path, f"{key}.label") == str(i - 2).encode()
        np.testing.assert_array_equal(np.load(io.BytesIO(penstock("cat", path, f"{key}.weights"))), weights[i])
        np.testing.assert_array_equal(np.load(io.BytesIO(penstock("cat", path, f"{key}.ids"))), ids[i])
    reason = next(line for line in penstock("info", path).decode().splitlines() if "views: " in line)
    assert "is not UTF-8" in reason and reason.endswith("(in 5 records)")


def test_what_penstock_packs_is_read_by_protobuf(tmp_path, arrays):
    penstock("pack", arrays, tmp_path / "packed", "--format", "tfrecord", "--shard-size", "4KiB")
    shards = sorted((tmp_path / "packed").glob("*.tfrecord"))
    assert len(shards) > 1
    records = [record for shard in shards for record in read_records(shard)]
    assert len(records) == 40
    for i, record in enumerate(records):
        assert sorted(record) == ["__key__", "cls", "npy"]
        assert record["__key__"].bytes_list.value == [f"{i:03}".encode()]
        assert record["cls"].int64_list.value == [i % 4]
        assert record["npy"].bytes_list.value == [(arrays / f"{i:03}.npy").read_bytes()]
