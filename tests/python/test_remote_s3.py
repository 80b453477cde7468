"""Objects of S3: found, listed, read by ranges, written in parts and removed, at moto, which is a server of its own."""

import hashlib

import numpy as np
import pytest
import stores
from stores import keys, opened, served

ODD = [
    "a b",
    "a+b",
    "a%20b",
    "ä/ö.tar",
    "q?x=1&y#z",
    "dots/../up",
    "two//slashes",
    "it's (one) *!",
    "日本",
    "~-._",
    "a=b;c,d@e:f$g",
]


@pytest.fixture(name="moto", scope="module")
def moto_fixture(tmp_path_factory):
    with stores.moto(tmp_path_factory.mktemp("moto")) as address:
        yield address


@pytest.fixture(name="client", scope="module")
def client_fixture(moto):
    return stores.client_with_bucket(moto)


@pytest.fixture(name="store")
def store_fixture(moto, client, tmp_path):
    assert client
    with opened(tmp_path, **keys(moto)) as store:
        yield store


def hexed(data):
    return data.hex()


def test_what_is_written_is_found_read_and_removed(store, client):
    address = "s3://bucket/one/object.bin"
    assert store.ask("find", address) == {"info": None}
    assert store.read(address) is None
    info = store.ask("write", address, hex=hexed(b"some bytes"))["info"]
    assert info["size"] == 10 and info["version"].startswith('"') and info["modified"] > 1_700_000_000 * 10**9
    assert store.ask("find", address) == {"info": info}
    assert store.read(address) == b"some bytes"
    assert client.get_object(Bucket="bucket", Key="one/object.bin")["Body"].read() == b"some bytes"
    assert store.ask("range", address, offset=2, length=5)["hex"] == hexed(b"me by")
    assert store.ask("remove", address) == {}
    assert store.ask("remove", address) == {}
    assert store.ask("find", address) == {"info": None}


def test_an_empty_object_is_an_object(store):
    info = store.ask("write", "s3://bucket/empty", hex="")["info"]
    assert info["size"] == 0
    assert store.read("s3://bucket/empty") == b""


@pytest.mark.parametrize("key", ODD)
def test_odd_keys_are_those_of_boto3(store, client, key):
    address = "s3://bucket/odd/" + key
    store.ask("write", address, hex=hexed(key.encode()))
    assert client.get_object(Bucket="bucket", Key="odd/" + key)["Body"].read() == key.encode()
    assert store.read(address) == key.encode()
    folder, _, name = ("odd/" + key).rpartition("/")
    if not folder.endswith("/"):  # a folder's name has no slash at its end
        assert name in store.names("s3://bucket/" + folder)
    client.put_object(Bucket="bucket", Key="theirs/" + key, Body=b"theirs")
    assert store.read("s3://bucket/theirs/" + key) == b"theirs"


def test_listings_go_over_all_pages_in_order_of_bytes(store, client):
    for i in range(1203):
        client.put_object(Bucket="bucket", Key=f"many/{i}.tar", Body=b"x" * (i % 7))
    for i in range(30):
        client.put_object(Bucket="bucket", Key=f"many/folder{i}/deep/x", Body=b"")
    client.put_object(Bucket="bucket", Key="many/", Body=b"")  # as consoles make folders
    client.put_object(Bucket="bucket", Key="many.tar", Body=b"")
    names = store.names("s3://bucket/many")
    assert names == sorted([f"{i}.tar" for i in range(1203)] + [f"folder{i}/" for i in range(30)])
    assert store.names("s3://bucket/many/") == names
    assert store.names("s3://bucket/many/folder3") == ["deep/"]
    assert store.names("s3://bucket/none") == []
    assert "many.tar" in store.names("s3://bucket")
    entry = next(e for e in store.ask("list", "s3://bucket/many")["entries"] if e["name"] == "13.tar")
    told = {name: entry[name] for name in ("size", "version")}
    info = store.ask("find", "s3://bucket/many/13.tar")["info"]
    assert told == {name: info[name] for name in told}  # one object is one state, however it was found


@pytest.mark.parametrize("count", [(8 << 20) - 1, 8 << 20, (8 << 20) + 1, 30_000_000])
def test_large_objects_are_written_in_parts_and_whole(store, client, count):
    # As the tool makes it, its rule taken 2^k steps at a time.
    factor, summand, filled, state = 1664525, 1013904223, 1, np.array([1664525 + 1013904223], np.uint32)
    while filled < count:
        state = np.concatenate([state, state * np.uint32(factor) + np.uint32(summand)])
        factor, summand, filled = factor * factor % 2**32, (factor * summand + summand) % 2**32, 2 * filled
    data = (state[:count] >> 24).astype(np.uint8).tobytes()
    info = store.ask("write", "s3://bucket/large", bytes=count)["info"]
    assert info["size"] == count
    body = client.get_object(Bucket="bucket", Key="large")["Body"].read()
    assert hashlib.md5(body).hexdigest() == hashlib.md5(data).hexdigest()
    assert ("-" in info["version"]) == (count > 8 << 20)
    assert "Uploads" not in client.list_multipart_uploads(Bucket="bucket")


def test_an_upload_that_is_left_leaves_nothing(store, client):
    assert store.ask("write", "s3://bucket/left", bytes=20_000_000, finish=False) == {}
    assert store.ask("find", "s3://bucket/left") == {"info": None}
    assert "Uploads" not in client.list_multipart_uploads(Bucket="bucket")


@pytest.mark.parametrize("count", [5, 20_000_000])
def test_an_object_that_is_there_stays_where_that_is_asked_for(store, client, count):
    client.put_object(Bucket="bucket", Key="there", Body=b"first")
    answer = store.ask("write", "s3://bucket/there", bytes=count, if_absent=True)
    assert answer["kind"] == "i/o" and "already exists" in answer["error"] and "s3://bucket/there" in answer["error"]
    assert store.read("s3://bucket/there") == b"first"
    assert store.ask("write", f"s3://bucket/new{count}", bytes=count, if_absent=True)["info"]["size"] == count


def test_what_is_missing_is_said_in_the_users_words(store):
    answer = store.ask("list", "s3://no-such-bucket/folder")
    assert (
        answer["kind"] == "i/o"
        and "s3://no-such-bucket/folder" in answer["error"]
        and "NoSuchBucket" in answer["error"]
    )
    answer = store.ask("write", "s3://no-such-bucket/object", hex="00")
    assert answer["kind"] == "i/o" and "NoSuchBucket" in answer["error"]
    for address in ("s3://", "s3:///key", "s3://buc ket/key", "s3://../key", "s3://bucket"):
        assert store.ask("find", address)["kind"] == "invalid argument", address


def test_an_upload_whose_parts_fail_is_taken_back_and_its_error_says_why(tmp_path):
    state = {"aborted": 0, "completed": 0}

    def answer(request):
        if request.command == "HEAD":
            return 404, {}, b""
        if request.command == "DELETE":
            state["aborted"] += 1
            return 204, {}, b""
        if request.command == "POST" and "uploads" in request.path:
            return 200, {}, b"<InitiateMultipartUploadResult><UploadId>u+/=1</UploadId></InitiateMultipartUploadResult>"
        if request.command == "POST":
            state["completed"] += 1
            return 200, {}, b""
        if "partNumber=2" in request.path:
            return 403, {}, stores.error("AccessDenied", "the quota of parts is used up")
        return 200, {"ETag": '"part"'}, b""

    with served(answer) as server, opened(tmp_path, **keys(server.address)) as store:
        said = store.ask("write", "s3://bucket/large", bytes=40_000_000)
        assert "AccessDenied: the quota of parts is used up" in said["error"] and "s3://bucket/large" in said["error"]
        assert state == {"aborted": 1, "completed": 0}
        deletes = [path for method, path, _, _ in server.requests if method == "DELETE"]
        assert deletes == ["/bucket/large?uploadId=u%2B%2F%3D1"]


def test_a_completion_that_fails_inside_a_200_is_no_completion(tmp_path):
    state = {"posts": 0, "written": 0}

    def answer(request):
        if request.command == "HEAD":
            done = {"Content-Length": str(state["written"]), "ETag": '"x-2"'}
            return (200, done, b"") if state["posts"] >= 2 else (404, {}, b"")
        if request.command == "POST" and "uploads" in request.path:
            return 200, {}, b"<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>"
        if request.command == "POST":
            state["posts"] += 1
            return (
                200,
                {},
                stores.error("InternalError") if state["posts"] == 1 else b"<CompleteMultipartUploadResult/>",
            )
        state["written"] += len(request.body)
        return 200, {"ETag": '"part"'}, b""

    with served(answer) as server, opened(tmp_path, **keys(server.address)) as store:
        said = store.ask("write", "s3://bucket/large", bytes=10_000_000)
        assert said["info"]["size"] == 10_000_000 and state["posts"] == 2


def test_the_region_is_learnt_from_answers(tmp_path):
    def answer(request):
        if "/eu-west-3/s3/" not in request.headers["Authorization"]:
            if request.command == "HEAD":
                return 301, {"x-amz-bucket-region": "eu-west-3"}, b""
            more = "<Region>eu-west-3</Region>"
            return 400, {}, stores.error("AuthorizationHeaderMalformed", "the region is wrong", more)
        return stores.part_of(b"there", request.headers)

    with served(answer) as server, opened(tmp_path, **keys(server.address)) as store:
        assert store.ask("find", "s3://one/object")["info"]["size"] == 5
        assert store.read("s3://two/object") == b"there"
        assert store.read("s3://two/object") == b"there"
        assert len([1 for _, path, _, _ in server.requests if path == "/two/object"]) == 3  # one to learn


def test_a_clock_that_is_wrong_is_set_by_the_stores_answers(tmp_path):
    def answer(request):
        if not request.headers["X-Amz-Date"].startswith("20300102T0304"):
            return 403, {"Date": "Wed, 02 Jan 2030 03:04:05 GMT"}, stores.error("RequestTimeTooSkewed")
        return stores.part_of(b"there", request.headers)

    with served(answer) as server, opened(tmp_path, **keys(server.address)) as store:
        assert store.read("s3://one/object") == b"there"


def test_without_credentials_requests_are_unsigned_and_a_refusal_says_so(tmp_path):
    def answer(request):
        assert "Authorization" not in request.headers
        if "closed" in request.path:
            return 403, {}, stores.error("AccessDenied", "Access Denied")
        return stores.part_of(b"open to all", request.headers)

    with served(answer) as server:
        with opened(tmp_path, AWS_ENDPOINT_URL=server.address) as store:
            assert store.read("s3://open/object") == b"open to all"
            said = store.ask("find", "s3://closed/object")["error"]
            assert "AccessDenied" in said and "without a signature" in said and "no credentials were found" in said
        wanted = keys(server.address, AWS_NO_SIGN_REQUEST="true")
        with opened(tmp_path, **wanted) as store:
            assert store.read("s3://open/object") == b"open to all"
            assert "AWS_NO_SIGN_REQUEST" in store.ask("read", "s3://closed/object")["error"]


def test_hostile_listings_end_in_one_error(tmp_path):
    bodies = {
        "endless": "<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>x</NextContinuationToken></ListBucketResult>",
        "tokenless": "<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>",
        "other": "<ListBucketResult><Contents><Key>elsewhere/x</Key><Size>1</Size></Contents></ListBucketResult>",
        "sizeless": "<ListBucketResult><Contents><Key>sizeless/x</Key><Size>-1</Size></Contents></ListBucketResult>",
        "deep": "<a>" * 100_000,
        "bomb": "<!DOCTYPE x [<!ENTITY a 'aaaaaaaaaa'>]><ListBucketResult>&a;</ListBucketResult>",
        "html": "<html><body>welcome to the hotel's network</body></html>",
        "cut": "<ListBucketResult><Contents><Key>cu",
        "empty": "",
    }

    def answer(request):
        name = request.path.partition("prefix=")[2].partition("%2F")[0]
        return 200, {}, bodies[name].encode()

    with served(answer) as server, opened(tmp_path, **keys(server.address)) as store:
        for name in bodies:
            said = store.ask("list", f"s3://bucket/{name}")
            assert said.get("kind") == "corrupt" and f"s3://bucket/{name}" in said["error"], (name, said)
