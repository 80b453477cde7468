"""Datasets staged from stores and web servers: the files that lie there, complete or absent, and gone on with after a kill."""

import os
import pathlib
import shutil
import signal
import subprocess
import time

import numpy as np
import pytest
import stores
from command import COMMAND, FORMATS, fails, run
from web import Server

import penstock as ps


@pytest.fixture(scope="module", name="served")
def served_fixture(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    random = np.random.default_rng(3)
    samples = [{"__key__": f"{i:04d}", "bin": random.bytes(20000), "cls": str(i % 3)} for i in range(64)]
    for name in FORMATS:
        ps.pack(iter(samples), folder / name, format=name, shard_size=400_000, progress=False)
    (folder / "others").mkdir()
    for name in ("tar", "zip", "tfrecord", "hdf5"):
        for number, shard in enumerate(
            sorted(each for each in (folder / name).glob("shard-*") if each.suffix != ".idx")
        ):
            shutil.copy(shard, folder / "others" / f"{name}-{number}{shard.suffix}")
    return folder


@pytest.fixture(name="server")
def server_fixture(served, tmp_path, monkeypatch):
    monkeypatch.setenv("PENSTOCK_INDEX_DIR", str(tmp_path / "indexes"))
    with Server(served) as server:
        yield server


def files(folder):
    """Without those that staging itself leaves, which begin with a dot."""
    found = (path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("."))
    return {
        str(path.relative_to(folder)): path.read_bytes() for path in found if not path.name.endswith("penstock-idx")
    }


def keys_of(place):
    dataset = ps.open(place)
    return list(dataset.keys), [dataset[0][field.name] for field in dataset.fields]


@pytest.mark.parametrize("format", FORMATS)
def test_a_packed_dataset_comes_as_it_is(server, served, tmp_path, format):
    told = ps.stage(f"{server.root}/{format}", tmp_path / "local", progress=False)
    assert files(tmp_path / "local") == files(served / format)
    assert told["engine"] == "store" and told["opens"] == str(tmp_path / "local")
    again = ps.stage(f"{server.root}/{format}", tmp_path / "local", progress=False)
    assert again["kept_files"] == again["files"] == told["files"]
    run("verify", tmp_path / "local")


@pytest.mark.parametrize("name", ["tar", "zip", "tfrecord", "hdf5"])
def test_shards_of_others_come_with_their_index(server, served, tmp_path, name):
    ending = {"tar": ".tar", "zip": ".zip", "tfrecord": ".tfrecord", "hdf5": ".h5"}[name]
    there = sorted(path for path in (served / "others").iterdir() if path.name.startswith(name))
    ending = there[0].suffix
    pattern = f"{name}-{{0..{len(there) - 1}}}{ending}"
    told = ps.stage(f"{server.root}/others/{pattern}", tmp_path / "local", progress=False)
    assert files(tmp_path / "local") == {path.name: path.read_bytes() for path in there}
    assert list((tmp_path / "local").glob("*penstock-idx")), "no sidecar came along"
    assert told["opens"] == str(tmp_path / "local" / pattern)
    assert keys_of(told["opens"]) == keys_of(f"{server.root}/others/{pattern}")
    one = ps.stage(f"{server.root}/others/{name}-0{ending}", tmp_path / "alone" / f"copy{ending}", progress=False)
    assert pathlib.Path(one["opens"]).read_bytes() == there[0].read_bytes()


def test_what_was_whole_stays_after_a_kill(tmp_path):
    served = tmp_path / "served"  # shards that are copied one by one
    ps.pack(iter([{"__key__": str(i), "bin": os.urandom(17 << 20)} for i in range(3)]), served / "tar", format="tar",
            shard_size=17 << 20, progress=False)  # fmt: skip

    class Slow(Server):
        def answer(self, connection, method, target, headers):
            if ".tar" in target and not target.endswith(".idx") and method == "GET" and "shard-000000" not in target:
                time.sleep(self.wait)
            return super().answer(connection, method, target, headers)

    own = {**os.environ, "PENSTOCK_INDEX_DIR": str(tmp_path / "indexes")}
    with Slow(served) as server:
        server.wait = 30
        words = [COMMAND, "stage", f"{server.root}/tar", str(tmp_path / "local"), "--workers", "1"]
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=own) as process:
            began = time.monotonic()
            while not (tmp_path / "local.partial" / "shard-000000.tar").exists():
                assert process.poll() is None, process.stderr.read()
                assert time.monotonic() - began < 20
                time.sleep(0.02)
            process.send_signal(signal.SIGKILL)
        assert not (tmp_path / "local").exists()
        server.wait = 0
        server.log.clear()
        subprocess.run(words, check=True, capture_output=True, env=own)
        asked = {each["path"] for each in server.log if each["method"] == "GET"}
    assert files(tmp_path / "local") == files(served / "tar")
    assert not any(path.endswith("shard-000000.tar") for path in asked)


def test_bytes_that_are_not_the_packed_ones_are_refused(served, tmp_path):
    shutil.copytree(served / "tar", tmp_path / "bad")
    shard = tmp_path / "bad" / "shard-000001.tar"
    damaged = bytearray(shard.read_bytes())
    damaged[20000] ^= 1
    shard.write_bytes(damaged)
    with Server(tmp_path) as server:
        said = fails("stage", f"{server.root}/bad", tmp_path / "local")
    assert "shard-000001.tar" in said and not (tmp_path / "local").exists()


def test_an_object_that_is_replaced_meanwhile_is_an_error(served, tmp_path):
    class Replacing(Server):
        def answer(self, connection, method, target, headers):
            if "shard-000001.tar" in target and not target.endswith(".idx") and method == "GET":
                self.grown.add(self.folder / "tar" / "shard-000001.tar")
            return super().answer(connection, method, target, headers)

    with Replacing(served) as server:
        said = fails("stage", f"{server.root}/tar", tmp_path / "local")
    assert "changed" in said and not (tmp_path / "local").exists()


def test_failures_that_pass_are_borne(served, tmp_path):
    with Server(served, seed=5) as server:
        place = f"{server.root}/~reset@0.2:any+status=503@0.1:any+close-body@0.1/tar"
        subprocess.run([COMMAND, "stage", place, tmp_path / "local"], check=True, capture_output=True,
                       env={**os.environ, "PENSTOCK_REMOTE_DEADLINE": "60"})  # fmt: skip
    assert files(tmp_path / "local") == files(served / "tar")


def test_a_view_and_the_lmdb_of_others_are_refused_in_words(server, served, tmp_path):
    with pytest.raises(ps.Error, match="view"):
        ps.stage(ps.open(f"{server.root}/tar").take(3), tmp_path / "local", progress=False)
    shutil.copy(next((served / "lmdb").glob("*.lmdb/data.mdb")), served / "others" / "data.mdb")
    with pytest.raises(ps.Error, match="from disks only"):
        ps.open(f"{server.root}/others/data.mdb")


def test_from_store_to_store(tmp_path, served, monkeypatch):
    boto3 = pytest.importorskip("boto3")
    with stores.moto(tmp_path) as endpoint:
        for name, value in stores.keys(endpoint, PENSTOCK_REMOTE_DEADLINE="20", HOME=str(tmp_path)).items():
            monkeypatch.setenv(name, value)
        client = boto3.client(
            "s3",
            endpoint_url=endpoint,
            region_name="us-east-1",
            aws_access_key_id=stores.KEY,
            aws_secret_access_key=stores.SECRET,
        )
        client.create_bucket(Bucket="bucket")
        ps.stage(served / "zip", "s3://bucket/a/zip", progress=False)
        ps.stage("s3://bucket/a/zip", "s3://bucket/b/zip", progress=False)
        told = ps.stage("s3://bucket/b/zip", tmp_path / "local", progress=False)
        assert told["kept_files"] == 0 and files(tmp_path / "local") == files(served / "zip")
        for shard in sorted((served / "others").glob("tar-*")):
            client.upload_file(str(shard), "bucket", f"others/{shard.name}")
        told = ps.stage("s3://bucket/others", tmp_path / "others", progress=False)
        assert set(files(tmp_path / "others")) == {path.name for path in (served / "others").glob("tar-*")}
        assert keys_of(told["opens"]) == keys_of("s3://bucket/others")
        told = ps.stage("s3://bucket/others/tar-?.tar", tmp_path / "by pattern", progress=False)
        assert keys_of(told["opens"]) == keys_of("s3://bucket/others")
