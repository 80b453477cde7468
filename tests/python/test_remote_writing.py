"""Datasets packed and staged into S3, which is moto here: the same objects as files on a disk, complete or absent."""

import os
import pathlib
import signal
import subprocess
import sys
import textwrap
import time

import pytest
import stores
from command import COMMAND

import penstock as ps

FORMATS = ["tar", "zip", "tfrecord", "mds", "hdf5", "lmdb"]


@pytest.fixture(name="client", scope="module")
def client_fixture(tmp_path_factory):
    """Of boto3, at a moto that this process finds too."""
    with stores.moto(tmp_path_factory.mktemp("moto")) as endpoint, pytest.MonkeyPatch.context() as patch:
        for name in os.environ:
            if name.startswith(stores.OWN):
                patch.delenv(name)
        patch.setenv("HOME", str(tmp_path_factory.mktemp("home")))
        for name, value in stores.keys(endpoint, PENSTOCK_REMOTE_DEADLINE="20").items():
            patch.setenv(name, value)
        yield stores.client_with_bucket(endpoint)


@pytest.fixture(name="labels")
def labels_fixture(tmp_path):
    (tmp_path / "labels").mkdir()
    for i in range(20):
        (tmp_path / "labels" / f"{i:02}.cls").write_text(str(i))
    return tmp_path / "labels"


def names(client, folder):
    pages = client.get_paginator("list_objects_v2").paginate(Bucket="bucket", Prefix=folder + "/")
    return [entry["Key"][len(folder) + 1 :] for page in pages for entry in page.get("Contents", [])]


def objects(client, folder):
    """Of a folder, by name."""
    return {
        name: client.get_object(Bucket="bucket", Key=f"{folder}/{name}")["Body"].read()
        for name in names(client, folder)
    }


def files(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def no_uploads(client):
    return "Uploads" not in client.list_multipart_uploads(Bucket="bucket")


@pytest.mark.parametrize("format", FORMATS)
def test_what_is_packed_into_a_store_is_what_is_packed_on_a_disk(client, icons, tmp_path, format):
    spool = tmp_path / "spool"
    ps.pack(icons, tmp_path / "local", format=format, shard_size=100_000, progress=False)
    told = ps.pack(icons, f"s3://bucket/{format}", format=format, shard_size=100_000, temp_dir=spool, progress=False)
    assert told["samples"] == 500
    assert objects(client, format) == files(tmp_path / "local")
    assert no_uploads(client) and list(spool.iterdir()) == []


@pytest.mark.parametrize("format", ["tar", "zip", "tfrecord", "mds"])
def test_large_shards_go_in_parts(client, tmp_path, format):
    with (
        ps.Writer(tmp_path / "local", format=format) as local,
        ps.Writer(f"s3://bucket/large-{format}", format=format) as sent,
    ):
        for i in range(40):
            for writer in (local, sent):
                writer.write({"__key__": f"{i:03}", "bin": bytes([i]) * 700_000})
    assert objects(client, f"large-{format}") == files(tmp_path / "local")
    assert no_uploads(client)
    # Parts have a number of their own in the object's tag.
    tags = {
        each["Key"]: each["ETag"]
        for each in client.list_objects_v2(Bucket="bucket", Prefix=f"large-{format}/")["Contents"]
    }
    assert [key for key, tag in tags.items() if tag.endswith('-4"')], tags


@pytest.mark.parametrize("format", ["tar", "zip", "tfrecord"])
def test_shards_that_are_written_in_order_need_no_disk(client, tmp_path, format):
    (tmp_path / "source").mkdir()
    for i in range(20):
        (tmp_path / "source" / f"{i:03}.bin").write_bytes(bytes([i]) * 700_000)
    program = """
        import os, resource, signal, sys
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
        os.execv(sys.argv[1], sys.argv[1:])
    """
    words = [
        COMMAND,
        "pack",
        tmp_path / "source",
        f"s3://bucket/no-disk-{format}",
        "--format",
        format,
        "--temp-dir",
        tmp_path,
    ]
    subprocess.run([sys.executable, "-c", textwrap.dedent(program), *words], check=True)
    written = ps.open(f"s3://bucket/no-disk-{format}")
    assert [written[i]["bin"] for i in range(20)] == [bytes([i]) * 700_000 for i in range(20)]


def test_doctor_says_whose_keys_it_has(client):
    told = subprocess.run(
        [COMMAND, "doctor", "s3://bucket/anything"], check=True, capture_output=True, text=True
    ).stdout
    assert "signed with the keys of the environment" in told and "found no dataset packed by penstock" in told
    assert stores.SECRET not in told and client is not None
    absent = subprocess.run([COMMAND, "doctor", "s3://absent/anything"], capture_output=True, text=True, check=False)
    assert absent.returncode == 1 and "NoSuchBucket" in absent.stderr


def test_a_writer_that_fails_leaves_nothing(client):
    with pytest.raises(RuntimeError, match="mine"), ps.Writer("s3://bucket/failed", format="tar") as writer:
        writer.write({"__key__": "a", "bin": b"1"})
        raise RuntimeError("mine")
    assert objects(client, "failed") == {}


def test_a_dataset_that_is_there_is_replaced_only_when_asked(client, labels, icons):
    pack = {"format": "tar", "progress": False}
    ps.pack(labels, "s3://bucket/twice", **pack)
    with pytest.raises(ps.Error, match="already exists") as caught:
        ps.pack(icons, pathlib.Path("s3://bucket/twice"), **pack)
    assert caught.value.kind == "invalid_argument" and caught.value.dataset == "s3://bucket/twice"
    ps.pack(icons, "s3://bucket/twice", shard_size=200_000, overwrite=True, **pack)
    ps.pack(labels, "s3://bucket/twice", overwrite=True, **pack)
    ps.pack(labels, "s3://bucket/once", **pack)
    assert objects(client, "twice") == objects(client, "once")


def test_a_killed_pack_is_resumed(client, icons, tmp_path):
    ps.pack(icons, tmp_path / "local", format="mds", shard_size=30_000, progress=False)
    command = [
        COMMAND,
        "pack",
        icons,
        "s3://bucket/killed",
        "--format",
        "mds",
        "--shard-size",
        "30000",
        "--temp-dir",
        tmp_path / "spool",
    ]
    for run in range(3):
        process = subprocess.Popen([*command, *["--resume"] * (run > 0)], stderr=subprocess.DEVNULL)
        seen = len(names(client, "killed"))
        while process.poll() is None and len(names(client, "killed")) < seen + 2:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT if run == 1 else signal.SIGKILL)
        process.wait()
        left = names(client, "killed")
        if "penstock.json" in left:
            pytest.skip("it was packed before it could be killed; run this test alone")
        assert "penstock.partial.jsonl" in left
    told = ps.pack(
        icons,
        "s3://bucket/killed",
        format="mds",
        shard_size=30_000,
        resume=True,
        temp_dir=tmp_path / "spool",
        progress=False,
    )
    assert told["resumed"] > 0 and told["resumed"] + told["samples"] == 500
    assert objects(client, "killed") == files(tmp_path / "local")
    assert list((tmp_path / "spool").iterdir()) == []


@pytest.mark.parametrize(
    ("journal", "said"),
    [("penstock.partial.jsonl", "unfinished dataset: run pack --resume"), ("penstock.staging.jsonl", "stage it again")],
)
def test_shards_of_an_unfinished_dataset_are_not_opened(client, labels, journal, said):
    ps.pack(labels, "s3://bucket/unfinished", format="tar", overwrite=True, progress=False)
    client.put_object(Bucket="bucket", Key=f"unfinished/{journal}", Body=b"{}")
    assert len(ps.open("s3://bucket/unfinished")) == 20  # it is complete, and only the journal was left
    client.delete_object(Bucket="bucket", Key="unfinished/penstock.json")
    with pytest.raises(ps.Error, match=said):
        ps.open("s3://bucket/unfinished")
    client.delete_object(Bucket="bucket", Key=f"unfinished/{journal}")
    ps.pack(labels, "s3://bucket/unfinished", format="tar", overwrite=True, progress=False)


@pytest.mark.parametrize("format", ["tar", "lmdb"])
def test_a_dataset_on_a_disk_is_staged_to_a_store(client, icons, tmp_path, format):
    ps.pack(icons, tmp_path / "local", format=format, shard_size=100_000, progress=False)
    told = ps.stage(tmp_path / "local", f"s3://bucket/staged-{format}", progress=False)
    assert objects(client, f"staged-{format}") == {
        name: content for name, content in files(tmp_path / "local").items() if not name.endswith("lock.mdb")
    }
    assert told["opens"] == f"s3://bucket/staged-{format}" and told["kept_files"] == 0
    assert ps.stage(tmp_path / "local", f"s3://bucket/staged-{format}", progress=False)["kept_files"] == told["files"]
    assert no_uploads(client)


@pytest.mark.usefixtures("client")
def test_a_store_that_says_no_is_told_with_its_words(labels):
    for write in (
        lambda to: ps.pack(labels, to, format="tar", progress=False),
        lambda to: ps.stage(labels, to, progress=False),
    ):
        with pytest.raises(ps.Error, match="NoSuchBucket") as caught:
            write("s3://absent/train")
        assert caught.value.kind == "io" and stores.SECRET not in str(caught.value)
    with pytest.raises(ps.Error, match="penstock writes files"):
        ps.pack(labels, "https://example.org/train", format="tar", progress=False)
    told = subprocess.run([COMMAND, "pack", labels, "s3://absent/train"], capture_output=True, text=True, check=False)
    assert told.returncode != 0 and "NoSuchBucket" in told.stderr
