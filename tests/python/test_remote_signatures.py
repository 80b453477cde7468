"""Signatures of requests that penstock really sent, computed again by botocore from what arrived."""

import hashlib
import urllib.parse

import pytest
import stores
from stores import KEY, SECRET, TOKEN, keys, opened, served

auth = pytest.importorskip("botocore.auth")
awsrequest = pytest.importorskip("botocore.awsrequest")
credentials = pytest.importorskip("botocore.credentials")

KEYS = [
    "plain",
    "a b+c",
    "50%25",
    "ä/ö",
    "x//..//./y",
    "q?a=1&b=2#c",
    "!*'();:@&=+$,/[]",
    "日本/☃",
    "~-._",
    '\u00a0\t|<>`^{}"\\',
]


def signature(request, region, service="s3", token=None):
    """What the server should find in `Authorization`, by botocore, from the request's own bytes."""
    headers = {name.lower(): value for name, value in request.headers.items()}
    fields = dict(part.strip().split("=", 1) for part in headers["authorization"].split(" ", 1)[1].split(","))
    given = credentials.Credentials(KEY, SECRET, token)
    signer = (auth.S3SigV4Auth if service == "s3" else auth.SigV4Auth)(given, service, region)
    path, _, query = request.path.partition("?")
    names = fields["SignedHeaders"].split(";")
    assert {"host", "x-amz-date"} <= set(names) and names == sorted(names)
    assert all(name in names for name in headers if name.startswith("x-amz-"))
    # The path as it was decoded, which botocore encodes again: in this way nothing of our own encoding is believed.
    url = f"http://{headers['host']}" + urllib.parse.quote(urllib.parse.unquote(path), safe="/~")
    parameters = urllib.parse.parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query))
    theirs = awsrequest.AWSRequest(
        request.command, url, {name: headers[name] for name in names}, request.body, parameters
    )
    theirs.context["timestamp"] = headers["x-amz-date"]
    theirs.context["signing"] = {}
    assert fields["Credential"] == f"{KEY}/{headers['x-amz-date'][:8]}/{region}/{service}/aws4_request"
    canonical = signer.canonical_request(theirs)
    return fields["Signature"], signer.signature(signer.string_to_sign(theirs, canonical), theirs)


class Checking:
    """A store of one bucket that takes what is signed right."""

    def __init__(self, region="us-east-1", token=None):
        self.objects, self.parts, self.wrong, self.checked = {}, {}, [], 0
        self.region, self.token = region, token

    def __call__(self, request):
        sent, right = signature(request, self.region, token=self.token)
        headers = {name.lower(): value for name, value in request.headers.items()}
        self.checked += 1
        if sent != right or headers.get("x-amz-security-token") != self.token:
            self.wrong.append((request.command, request.path))
            return 403, {}, stores.error("SignatureDoesNotMatch", "it repeats what was signed")
        if headers["x-amz-content-sha256"] != hashlib.sha256(request.body).hexdigest():
            return 400, {}, stores.error("XAmzContentSHA256Mismatch")
        path, _, query = request.path.partition("?")
        key = urllib.parse.unquote(path.removeprefix("/bucket/"))
        asked = dict(urllib.parse.parse_qsl(query, keep_blank_values=True))
        return self.answer(request, key, asked)

    def answer(self, request, key, asked):
        if request.command == "POST" and "uploads" in asked:
            return (
                200,
                {},
                b"<InitiateMultipartUploadResult><UploadId>a+b/c=</UploadId></InitiateMultipartUploadResult>",
            )
        if request.command == "POST":
            assert asked["uploadId"] == "a+b/c="
            self.objects[key] = b"".join(self.parts[number] for number in sorted(self.parts))
            return 200, {}, b"<CompleteMultipartUploadResult><ETag>x</ETag></CompleteMultipartUploadResult>"
        if request.command == "PUT" and asked:
            self.parts[int(asked["partNumber"])] = request.body
            return 200, {"ETag": '"part"'}, b""
        if request.command == "PUT":
            self.objects[key] = request.body
            return 200, {"ETag": '"0123"'}, b""
        if request.command == "DELETE":
            self.objects.pop(key, None)
            return 204, {}, b""
        if "list-type" in asked:
            found = "".join(
                f"<Contents><Key>{urllib.parse.quote(name)}</Key><Size>{len(data)}</Size></Contents>"
                for name, data in self.objects.items()
                if name.startswith(asked["prefix"])
            )
            return 200, {}, f"<ListBucketResult><EncodingType>url</EncodingType>{found}</ListBucketResult>".encode()
        if key not in self.objects:
            return 404, {}, stores.error("NoSuchKey")
        return stores.part_of(self.objects[key], request.headers)


@pytest.mark.parametrize("token", [None, TOKEN])
@pytest.mark.parametrize("region", ["us-east-1", "eu-central-1"])
def test_every_request_is_signed_as_botocore_signs_it(tmp_path, token, region):
    checking = Checking(region, token)
    with served(checking) as server:
        more = {"AWS_REGION": region, "AWS_SESSION_TOKEN": token}
        with opened(tmp_path, **keys(server.address, **more)) as store:
            for key in KEYS:
                address = "s3://bucket/" + key
                data = key.encode() * 3
                assert store.ask("write", address, hex=data.hex())["info"]["size"] == len(data), key
                assert checking.objects[key] == data
                assert store.read(address) == data
                assert store.ask("range", address, offset=1, length=2)["hex"] == data[1:3].hex()
                folder = key.rpartition("/")[0]
                if folder and not folder.endswith("/"):
                    store.names("s3://bucket/" + folder)
                assert store.ask("remove", address) == {}
                assert key not in checking.objects
            assert store.ask("write", "s3://bucket/ä large+", bytes=20_000_000)["info"]["size"] == 20_000_000
    assert checking.wrong == []
    assert checking.checked > 60


def test_a_secret_that_is_wrong_is_refused_and_not_told(tmp_path):
    checking = Checking()
    wrong = SECRET[:-1] + "x"
    with served(checking) as server:
        variables = keys(server.address, AWS_SECRET_ACCESS_KEY=wrong)
        with opened(tmp_path, secrets=(wrong, SECRET), **variables) as store:
            said = store.ask("read", "s3://bucket/object")["error"]
            assert "SignatureDoesNotMatch" in said and "it repeats" not in said
            assert "the environment" in said
    assert checking.wrong


def test_a_redirect_carries_no_credential_elsewhere(tmp_path):
    def elsewhere(request):
        for name in request.headers:
            assert name.lower() != "authorization" and not name.lower().startswith("x-amz-")
        return stores.part_of(b"moved", request.headers)

    with served(elsewhere) as other:
        other.address = other.address.replace("127.0.0.1", "localhost")

        def moved(request):
            return 307, {"Location": other.address + request.path}, b""

        variables = {"AWS_SESSION_TOKEN": TOKEN}
        with served(moved) as server, opened(tmp_path, **keys(server.address, **variables)) as store:
            store.ask("read", "s3://bucket/object")
            store.ask("find", "s3://bucket/object")
            store.ask("write", "s3://bucket/object", hex="00")
        for _, _, headers, _ in other.requests:
            text = str(headers)
            assert SECRET not in text and TOKEN not in text and KEY not in text
