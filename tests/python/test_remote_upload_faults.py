"""A store of the S3 kind that answers wrongly while it is written to: an object is whole or absent, and an error names its address."""

import contextlib
import hashlib
import random
import time
import urllib.parse

import pytest
import stores
from stores import error, opened, served

FAULTS = ["status=500", "status=503", "status=403", "status=404", "status=409", "status=412", "lost", "refused", "lies", "garbage",
          "error-in-200", "no-etag", "other-etag", "endless"]  # fmt: skip
DEADLINE = 2
PART = 8 << 20


class Gone(Exception):
    """The connection ends without an answer."""


class Bucket:
    """Objects and uploads of parts, as S3 has them, behind answers that are wrong by chance."""

    def __init__(self, seed, odds):
        self.draw, self.odds = random.Random(seed), odds
        self.objects, self.uploads, self.struck = {}, {}, 0

    def etag(self, data):
        return '"' + hashlib.md5(data).hexdigest() + '"'

    def answer(self, request):
        fault = self.draw.choice(FAULTS) if self.draw.random() < self.odds else ""
        self.struck += bool(fault)
        name, _, value = fault.partition("=")
        if name == "status":
            return int(value), {"Retry-After": "0"}, error("Faulty")
        if name == "refused":
            raise Gone
        if name == "garbage":
            return 200, {"ETag": '"g"'}, b"\x00\xff<html>"
        if name == "error-in-200":
            return 200, {}, error("InternalError")
        if name == "lies":
            return 200, {"ETag": '"l"'}, b""
        if name == "endless":  # more than one listens to
            return 200, {}, b"<InitiateMultipartUploadResult>" + b"<a>" * 100_000
        status, headers, body = self.right(request)
        if name == "lost":
            raise Gone
        if name == "no-etag":
            headers = {name: value for name, value in headers.items() if name != "ETag"}
        if name == "other-etag" and "ETag" in headers:
            headers = {**headers, "ETag": '"other"'}
        return status, headers, body

    def right(self, request):
        url = urllib.parse.urlsplit(request.path)
        key, query = url.path, dict(urllib.parse.parse_qsl(url.query, keep_blank_values=True))
        method = request.command
        if method == "POST" and "uploads" in query:
            name = f"upload{len(self.uploads)}"
            self.uploads[name] = {}
            return (
                200,
                {},
                f"<InitiateMultipartUploadResult><UploadId>{name}</UploadId></InitiateMultipartUploadResult>".encode(),
            )
        if "uploadId" in query and query["uploadId"] not in self.uploads:
            return 404, {}, error("NoSuchUpload")
        if method == "PUT" and "partNumber" in query:
            self.uploads[query["uploadId"]][int(query["partNumber"])] = request.body
            return 200, {"ETag": self.etag(request.body)}, b""
        if method == "POST":
            return self.complete(key, query["uploadId"], request.body.decode())
        if method == "DELETE" and "uploadId" in query:
            del self.uploads[query["uploadId"]]
            return 204, {}, b""
        if method == "PUT":
            self.objects[key] = (request.body, self.etag(request.body))
            return 200, {"ETag": self.etag(request.body)}, b""
        if key not in self.objects:
            return 404, {}, error("NoSuchKey")
        data, etag = self.objects[key]
        return 200, {"ETag": etag, "Content-Length": str(len(data))}, data

    def complete(self, key, upload, body):
        parts = self.uploads[upload]
        named = [
            text.split("<ETag>")[1].split("</ETag>")[0].replace("&quot;", '"') for text in body.split("<Part>")[1:]
        ]
        if any(parts.get(number) is None or self.etag(parts[number]) != etag for number, etag in enumerate(named, 1)):
            return 400, {}, error("InvalidPart")
        data = b"".join(parts[number] for number in range(1, len(named) + 1))
        self.objects[key] = (data, f'"{hashlib.md5(data).hexdigest()}-{len(named)}"')
        del self.uploads[upload]
        return 200, {}, b"<CompleteMultipartUploadResult/>"


@contextlib.contextmanager
def misbehaving(seed, odds):
    bucket = Bucket(seed, odds)

    def answer(request):
        try:
            with server.lock:
                return bucket.answer(request)
        except Gone:
            request.close_connection = True
            request.connection.close()
            raise

    with served(answer) as server:
        yield server, bucket


def bytes_written(count):
    """What store_tool writes for "bytes"."""
    state, data = 1, bytearray(count)
    for i in range(count):
        state = (state * 1664525 + 1013904223) & 0xFFFFFFFF
        data[i] = state >> 24
    return bytes(data)


@pytest.mark.parametrize(("size", "trials", "odds"), [(1000, 60, 0.4), (2 * PART + 1000, 8, 0.2)])
def test_what_is_written_is_whole_or_absent(tmp_path, size, trials, odds):
    expected, came = bytes_written(size), {True: 0, False: 0}
    with (
        misbehaving(size, odds) as (server, bucket),
        opened(tmp_path, **stores.keys(server.address, PENSTOCK_REMOTE_DEADLINE=DEADLINE)) as store,
    ):
        for trial in range(trials):
            address, key = f"s3://bucket/object{trial}", f"/bucket/object{trial}"
            began = time.monotonic()
            told = store.ask("write", address, bytes=size)
            assert time.monotonic() - began < DEADLINE * 12, "each of a few requests has its deadline"
            came["info" in told] += 1
            if "info" in told:
                assert told["info"]["size"] == size and key in bucket.objects, told
            else:
                assert address in told["error"] and "\n" not in told["error"], told
            if key in bucket.objects:
                assert bucket.objects[key][0] == expected, "an object of other bytes"
    assert bucket.struck > 3 and all(came.values()), (bucket.struck, came)


@pytest.mark.parametrize("size", [1000, PART + 1000])
def test_a_store_without_conditions_is_looked_at_first(tmp_path, size):
    with misbehaving(size, 0) as (server, bucket):
        right = bucket.right
        bucket.right = lambda request: (
            (501, {}, error("NotImplemented")) if request.headers["If-None-Match"] else right(request)
        )
        with opened(tmp_path, **stores.keys(server.address, PENSTOCK_REMOTE_DEADLINE=DEADLINE)) as store:
            told = store.ask("write", "s3://bucket/object", bytes=size, if_absent=True)
            assert told.get("info", {}).get("size") == size, told
            told = store.ask("write", "s3://bucket/object", bytes=size, if_absent=True)
            assert "already exists" in told["error"]
        asked = [headers for method, path, headers, _ in server.requests if "If-None-Match" in headers]
        assert len(asked) == 1, "a condition is tried"


def test_a_folder_is_listed_or_an_error(tmp_path):
    """Pages of a store that answers with anything, and pages that never end."""
    draw = random.Random(3)
    page = ("<ListBucketResult><IsTruncated>{more}</IsTruncated><NextContinuationToken>{token}</NextContinuationToken>"
            "<Contents><Key>folder/a</Key><Size>3</Size></Contents></ListBucketResult>")  # fmt: skip
    texts = [page.format(more="false", token=""), page.format(more="true", token="t"), "", "<a>", "<ListBucketResult>",
             "\x00", "<Error><Code>InternalError</Code></Error>", page.format(more="false", token="")[:80]]  # fmt: skip

    def answer(request):
        if "empty%2F" in request.path:  # each of its pages has nothing but another name of the next
            return (
                200,
                {},
                page.format(more="true", token=draw.random())
                .replace("<Key>folder/a</Key>", "<Key>empty/</Key>")
                .encode(),
            )
        return draw.choice([200] * 9 + [500, 403]), {}, draw.choice(texts).encode()

    with (
        served(answer) as server,
        opened(tmp_path, **stores.keys(server.address, PENSTOCK_REMOTE_DEADLINE=DEADLINE)) as store,
    ):
        for _ in range(40):
            told = store.ask("list", "s3://bucket/folder")
            if "entries" in told:
                assert [entry["name"] for entry in told["entries"]] == ["a"]
            else:
                assert "s3://bucket/folder" in told["error"]
        told = store.ask("list", "s3://bucket/empty")
        assert "does not end" in told["error"] and len(server.requests) < 2000
