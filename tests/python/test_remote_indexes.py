"""Datasets in an S3 store: packed ones, and shards of others by listing, wildcard and number, whose indexes are kept."""

import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
import stores

import penstock as ps

SHOW = """
import json, sys, numpy as np, penstock as ps
for address in sys.argv[1:]:
    try:
        loader = ps.Loader(address, batch_size=8, shuffle=True, seed=5)
        print(json.dumps([[list(b["__key__"]), [np.asarray(v).tobytes().hex() for v in b["bin"]]] for b in loader]))
    except ps.Error as error:
        print(json.dumps(str(error)))
"""


@pytest.fixture(name="local", scope="module")
def local_fixture(tmp_path_factory):
    folder = tmp_path_factory.mktemp("local")
    random = np.random.default_rng(3)
    samples = [
        {"__key__": f"{i:04d}", "bin": random.bytes(int(random.integers(1000, 4000))), "cls": str(i % 3)}
        for i in range(64)
    ]
    for name in ("tar", "lmdb"):
        ps.pack(iter(samples), folder / name, format=name, shard_size=49152, progress=False)
    return folder


@pytest.fixture(name="store", scope="module")
def store_fixture(tmp_path_factory, local):
    with stores.moto(tmp_path_factory.mktemp("moto")) as address:
        client = stores.client_with_bucket(address)
        for file in local.rglob("*"):
            if not file.is_file() or "penstock-idx" in file.name:
                continue
            name = file.relative_to(local).as_posix()
            client.upload_file(str(file), "bucket", f"a/{name}")
            if name.startswith("tar/") and file.suffix == ".tar":
                client.upload_file(str(file), "bucket", f"others/{file.name}")
        yield address, client


def shown(store, indexes, *addresses):
    environment = {**os.environ, **stores.keys(store[0]), "PENSTOCK_INDEX_DIR": str(indexes)}
    told = subprocess.run(
        [sys.executable, "-c", SHOW, *addresses], env=environment, capture_output=True, check=True, timeout=120
    )
    return [json.loads(line) for line in told.stdout.splitlines()]


def expected(path):
    loader = ps.Loader(path, batch_size=8, shuffle=True, seed=5)
    return [[list(b["__key__"]), [np.asarray(v).tobytes().hex() for v in b["bin"]]] for b in loader]


def test_packed_datasets_and_those_of_others_are_the_local_ones(store, local, tmp_path):
    last = len(list((local / "tar").glob("*.tar"))) - 1
    packed = ["s3://bucket/a/tar", "s3:/bucket/a/tar/", "s3://bucket/a/lmdb"]
    others = [
        "s3://bucket/others",
        "s3://bucket/others/shard-*.tar",
        f"s3://bucket/oth*/shard-{{000000..{last:06d}}}.tar",
    ]
    for _ in ("cold", "warm"):
        for found in shown(store, tmp_path, *packed, *others):
            assert found == expected(local / "tar")
    kept = [path.name for path in pathlib.Path(tmp_path).iterdir()]
    assert len(kept) == 2 + last + 1 and not any(name.endswith(".lock") for name in kept)


def test_an_object_written_anew_is_indexed_anew(store, local, tmp_path):
    _, client = store
    tars = sorted((local / "tar").glob("*.tar"))
    client.upload_file(str(tars[0]), "bucket", "one/a.tar")
    (first,) = shown(store, tmp_path, "s3://bucket/one/a.tar")
    client.upload_file(str(tars[1]), "bucket", "one/a.tar")
    (second,) = shown(store, tmp_path, "s3://bucket/one/a.tar")
    assert first == expected(tars[0]) and second == expected(tars[1]) and first != second


def test_what_is_absent_or_forbidden_is_told(store, tmp_path):
    absent, bucket = shown(store, tmp_path, "s3://bucket/nothing", "s3://no-such-bucket/x")
    assert "s3://bucket/nothing" in absent and "No such file" in absent
    assert "s3://no-such-bucket/x" in bucket
