"""A store that others wrote: OpenStack Swift's S3 interface, packed into, listed, read, staged to, and asked with wrong keys."""

import os
import pathlib
import subprocess
import sys

import boto3
import pytest
import stores
from command import fails, run
from served import digest_of_epoch

SERVER = pathlib.Path(__file__).with_name("swift_server.py")


@pytest.fixture(scope="module", name="swift")
def swift_fixture(tmp_path_factory):
    """Variables of an environment that finds it, with a bucket."""
    with subprocess.Popen(
        [sys.executable, SERVER, tmp_path_factory.mktemp("swift")],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={name: value for name, value in os.environ.items() if not name.startswith("PYTHON")},
    ) as process:  # fmt: skip
        try:
            address = process.stdout.readline().strip()
            if not address:
                why = process.stderr.read().strip()
                assert process.wait(60) == 3, why
                pytest.skip(f"{why}; set TMPDIR to a folder on a disk")
            client = boto3.client("s3", endpoint_url=address, region_name="us-east-1", aws_access_key_id="test:tester",
                                  aws_secret_access_key="testing")  # fmt: skip
            client.create_bucket(Bucket="bucket")
            home = tmp_path_factory.mktemp("home")
            keys = {"AWS_ACCESS_KEY_ID": "test:tester", "AWS_SECRET_ACCESS_KEY": "testing", "AWS_REGION": "us-east-1"}
            yield stores.surroundings(home, AWS_ENDPOINT_URL_S3=address, **keys)
        finally:
            process.stdin.close()


@pytest.mark.parametrize("packing", ["tar", "lmdb", "mds"])
def test_what_is_packed_there_is_what_is_packed_on_a_disk(swift, icons, tmp_path, packing):
    run("pack", icons, tmp_path / "local", "--format", packing, "--shard-size", "500KB")
    run("pack", icons, f"s3://bucket/{packing}", "--format", packing, "--shard-size", "500KB", env=swift)
    assert digest_of_epoch(f"s3://bucket/{packing}", "png", swift) == digest_of_epoch(tmp_path / "local", "png", swift)
    if packing == "tar":  # a request for each value
        run("verify", f"s3://bucket/{packing}", env=swift)


def test_staged_datasets_and_wildcards(swift, icons, tmp_path):
    run("pack", icons, tmp_path / "local", "--format", "tar", "--shard-size", "100KB")
    run("stage", tmp_path / "local", "s3://bucket/staged/a folder", env=swift)
    assert digest_of_epoch("s3://bucket/staged/a folder", "png", swift) == digest_of_epoch(
        tmp_path / "local", "png", swift
    )
    listed = run("ls", "s3://bucket/staged/a folder/shard-*.tar", env=swift).stdout
    assert listed == run("ls", "s3://bucket/staged/a folder", env=swift).stdout and len(listed.splitlines()) >= 500


def test_objects_of_parts(swift, tmp_path):
    with stores.opened(tmp_path, **{name: value for name, value in swift.items() if name.startswith("AWS_")}) as store:
        size = (8 << 20) * 2 + 1000
        info = store.ask("write", "s3://bucket/parts", bytes=size)
        assert info["info"]["size"] == size, info
        assert len(store.ask("range", "s3://bucket/parts", offset=(8 << 20) - 5, length=10)["hex"]) == 20
        assert "parts" in store.names("s3://bucket")
        assert store.ask("remove", "s3://bucket/parts") == {}
        assert store.ask("find", "s3://bucket/parts") == {"info": None}


def test_wrong_keys_are_named_and_not_shown(swift):
    wrong = {**swift, "AWS_SECRET_ACCESS_KEY": "another/SECRET"}
    told = fails("info", "s3://bucket/tar", env=wrong)
    assert "s3://bucket/tar" in told and "SignatureDoesNotMatch" in told and "another" not in told
    assert "NoSuchBucket" in fails("info", "s3://nowhere/tar", env=swift)
