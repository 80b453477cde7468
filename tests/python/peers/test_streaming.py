"""MDS shards: mosaicml-streaming writes and penstock reads, and the other way round."""

import io
import json
import os
import pathlib
import subprocess

import numpy as np
import pytest
import streaming
from PIL import Image

DATA = pathlib.Path(os.environ.get("PENSTOCK_TEST_DATA", "")) / "mds"
COMMAND = os.environ["PENSTOCK_COMMAND"]

COLUMNS = {
    "image": "jpeg",
    "id": "int",
    "score": "float32",
    "name": "str",
    "meta": "json",
    "blob": "bytes",
    "any": "ndarray",
    "typed": "ndarray:float32",
    "fixed": "ndarray:int16:2,3",
    "digits": "str_int",
    "object": "pkl",
}


def penstock(*arguments):
    done = subprocess.run([COMMAND, *map(str, arguments)], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def sample(i):
    return {
        "image": b"\xff\xd8 photo %d" % i,
        "id": i * 10**12,
        "score": np.float32(i / 3),
        "name": f"sample {i} \u6c34",
        "meta": {"i": i},
        "blob": b"x" * i,
        "any": np.arange(1, i + 2, dtype=np.float64),
        "typed": np.full((i + 1, 300), i, dtype=np.float32),
        "fixed": np.full((2, 3), -i, dtype=np.int16),
        "digits": i,
        "object": {i},
    }


@pytest.mark.parametrize("compression", [None, "zstd:3"])
def test_what_the_library_writes_is_read(tmp_path, compression):
    out = tmp_path / "mds"
    with streaming.MDSWriter(columns=COLUMNS, out=str(out), compression=compression, size_limit=20_000) as writer:
        for i in range(30):
            writer.write(sample(i))
    assert len(list(out.glob("*.mds*"))) > 3
    for i in (0, 7, 29):
        want = sample(i)

        def value(field, row=i):
            return penstock("cat", out, f"{row:02}.{field}")

        assert value("image") == want["image"] and value("blob") == want["blob"]
        assert value("id") == np.int64(want["id"]).tobytes() and value("score") == want["score"].tobytes()
        assert value("name") == want["name"].encode() and value("digits") == str(i).encode()
        assert value("fixed") == want["fixed"].tobytes()
        for field in ("any", "typed"):
            np.testing.assert_array_equal(np.load(io.BytesIO(value(field))), want[field])
    penstock("pack", out, tmp_path / "packed", "--format", "tar")
    penstock("verify", tmp_path / "packed", "--against", out)


def test_what_penstock_packs_is_read_by_the_library(tmp_path, arrays):
    penstock("pack", arrays, tmp_path / "packed", "--format", "mds", "--shard-size", "4KiB")
    dataset = streaming.LocalDataset(str(tmp_path / "packed"))
    assert len(dataset) == 40 and len(dataset.shards) > 1
    for i in range(40):
        row = dataset[i]
        assert row["__key__"] == f"{i:03}" and row["cls"] == i % 4
        assert row["npy"] == (arrays / f"{i:03}.npy").read_bytes()


def value_of(stored, encoding):
    """What the library makes of a column, from the bytes that penstock gives for it."""
    kind, _, rest = encoding.partition(":")
    if kind == "ndarray" and ":" not in rest:
        return np.load(io.BytesIO(stored))
    if kind in ("str", "str_int"):
        return int(stored) if kind == "str_int" else stored.decode()
    if kind == "bytes":
        return stored
    if kind == "json":
        return json.loads(stored)
    if kind == "ndarray":
        dtype, shape = rest.split(":")
        return np.frombuffer(stored, dtype).reshape([int(side) for side in shape.split(",")])
    return np.frombuffer(stored, "int64" if kind == "int" else kind)[0]


@pytest.mark.skipif(not DATA.is_dir(), reason="no MDS in PENSTOCK_TEST_DATA")
def test_datasets_of_others_have_what_the_library_finds(tmp_path, monkeypatch):
    monkeypatch.setenv("PENSTOCK_INDEX_DIR", str(tmp_path))
    compared = 0
    for index in sorted(DATA.rglob("index.json")):
        shard = json.loads(index.read_text())["shards"][0]
        encodings = dict(zip(shard["column_names"], shard["column_encodings"], strict=True))
        dataset = streaming.LocalDataset(str(index.parent))
        values = [line.split("\t")[0] for line in penstock("ls", index.parent).decode().splitlines()]
        keys = sorted({value.split(".")[0] for value in values})
        assert len(keys) == len(dataset)
        for i in (0, len(keys) // 2, len(keys) - 1):
            for name, want in dataset[i].items():
                if f"{keys[i]}.{name}" in values:
                    stored = penstock("cat", index.parent, f"{keys[i]}.{name}")
                    np.testing.assert_array_equal(value_of(stored, encodings[name]), want)
                    compared += 1
    assert compared > 0


def test_images_that_penstock_packs_are_decoded_by_its_loader(tmp_path, icons):
    penstock("pack", icons, tmp_path / "packed", "--format", "mds", "--shard-size", "64KiB")
    dataset = streaming.StreamingDataset(local=str(tmp_path / "packed"), batch_size=4, shuffle=False)
    rows = [dataset[i] for i in range(len(dataset))]
    assert len(rows) == 500
    for row in rows[::50]:
        with Image.open(icons / (row["__key__"] + ".png")) as image:
            assert row["png"].mode == image.mode and row["png"].tobytes() == image.tobytes()
