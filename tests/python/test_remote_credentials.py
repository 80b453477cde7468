"""Credentials: found where each cloud's tools look, renewed in the middle of a run, and told to nobody.

STS, containers' and machines' services are fakes here: no real one has answered penstock in a test."""

import base64
import datetime
import hashlib
import json
import sys
import threading
import time
import urllib.parse

import pytest
import stores
from stores import KEY, SECRET, TOKEN, opened, served

DATA = b"for those who may"


def when(seconds):
    at = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=seconds)
    return at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class Tokens:
    """Gives keys that live `lives` seconds, and a store that takes only those."""

    def __init__(self, lives):
        self.lives, self.given, self.refused, self.taken = lives, {}, 0, 0
        self.lock = threading.Lock()

    def make(self):
        with self.lock:
            token = f"{TOKEN}{len(self.given)}"
            self.given[token] = time.time() + self.lives
            return token

    def keys(self):
        return {"AccessKeyId": KEY, "SecretAccessKey": SECRET, "Token": self.make(), "Expiration": when(self.lives)}

    def store(self, request):
        token = request.headers.get("x-amz-security-token", "")
        if self.given.get(token, 0) < time.time():
            self.refused += 1
            if request.command == "HEAD":
                return 400, {}, b""
            more = f"<Token-0>{token}</Token-0>"
            return 400, {}, stores.error("ExpiredToken", "The provided token has expired.", more)
        self.taken += 1
        return stores.part_of(DATA, request.headers)


def read_for(store, seconds):
    until = time.time() + seconds
    while time.time() < until:
        assert store.read("s3://bucket/object") == DATA
        said = store.ask("find", "s3://bucket/object")
        assert "error" not in said, said
        said = store.ask("range", "s3://bucket/object", offset=4, length=5)
        assert said.get("hex") == DATA[4:9].hex(), said


def machine(tokens, request):
    """The metadata service of EC2, version 2."""
    if request.command == "PUT" and request.path == "/latest/api/token":
        assert 1 <= int(request.headers["X-aws-ec2-metadata-token-ttl-seconds"]) <= 21600
        return 200, {}, b"of-the-session"
    if request.headers.get("X-aws-ec2-metadata-token") != "of-the-session":
        return 401, {}, b""
    if request.path == "/latest/meta-data/iam/security-credentials/":
        return 200, {}, b"a-role"
    assert request.path == "/latest/meta-data/iam/security-credentials/a-role"
    return 200, {}, json.dumps(tokens.keys()).encode()


def sts(tokens, request):
    form = dict(part.split(b"=") for part in request.body.split(b"&"))
    assert form[b"Action"] in (b"AssumeRoleWithWebIdentity", b"AssumeRole") and form[b"Version"] == b"2011-06-15"
    assert form[b"RoleArn"] == b"arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fdata"
    if form[b"Action"] == b"AssumeRole":
        assert f"Credential={KEY}/" in request.headers["Authorization"]
        assert "/sts/aws4_request" in request.headers["Authorization"]
    elif form[b"WebIdentityToken"] != b"identity%2Bof%2Fpenstock":
        return (
            400,
            {},
            b"<ErrorResponse><Error><Code>InvalidIdentityToken</Code><Message>no</Message></Error></ErrorResponse>",
        )
    given = tokens.keys()
    return (
        200,
        {},
        f"""<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult><Credentials>
        <AccessKeyId>{given["AccessKeyId"]}</AccessKeyId><SecretAccessKey>{given["SecretAccessKey"]}</SecretAccessKey>
        <SessionToken>{given["Token"]}</SessionToken><Expiration>{given["Expiration"]}</Expiration>
        </Credentials></AssumeRoleResult></AssumeRoleResponse>""".encode(),
    )


def test_keys_of_the_machine_are_renewed_before_they_expire(tmp_path):
    tokens = Tokens(3)
    with served(tokens.store) as store, served(lambda request: machine(tokens, request)) as service:
        variables = {
            "AWS_ENDPOINT_URL": store.address,
            "AWS_EC2_METADATA_DISABLED": None,
            "AWS_EC2_METADATA_SERVICE_ENDPOINT": service.address,
        }
        environment = {name: value for name, value in variables.items() if value is not None}
        with opened(tmp_path, AWS_EC2_METADATA_DISABLED="false", **environment) as asked:
            read_for(asked, 8)
    assert 3 <= len(tokens.given) <= 6
    assert tokens.refused == 0


def test_keys_that_a_store_calls_expired_are_renewed(tmp_path):
    tokens = Tokens(1.5)
    # Said to live for an hour: only the store's answers tell that they do not.
    keys = tokens.keys
    tokens.keys = lambda: {**keys(), "Expiration": when(3600)}
    with served(tokens.store) as store, served(lambda request: machine(tokens, request)) as service:
        variables = {"AWS_EC2_METADATA_DISABLED": "false", "AWS_EC2_METADATA_SERVICE_ENDPOINT": service.address}
        with opened(tmp_path, AWS_ENDPOINT_URL=store.address, **variables) as asked:
            read_for(asked, 6)
    assert len(tokens.given) >= 4 and tokens.refused >= 3


def test_a_machine_without_a_metadata_service_costs_little(tmp_path):
    with served(lambda request: stores.part_of(DATA, request.headers)) as store:
        # An address that nobody answers from (RFC 5737).
        variables = {"AWS_EC2_METADATA_DISABLED": "false", "AWS_EC2_METADATA_SERVICE_ENDPOINT": "http://192.0.2.1"}
        with opened(tmp_path, AWS_ENDPOINT_URL=store.address, **variables) as asked:
            begin = time.time()
            assert asked.read("s3://bucket/object") == DATA
            assert time.time() - begin < 20
            assert asked.read("s3://bucket/object") == DATA


@pytest.mark.parametrize("full", [False, True])
def test_keys_of_a_container_are_renewed(tmp_path, full):
    tokens = Tokens(3)

    def container(request):
        if request.headers.get("Authorization") != "for-the-container":
            return 401, {}, b""
        return 200, {}, json.dumps(tokens.keys()).encode()

    with served(tokens.store) as store, served(container) as service:
        (tmp_path / "token").write_text("for-the-container\n")
        variables = {"AWS_CONTAINER_CREDENTIALS_FULL_URI": service.address + "/keys"}
        if full:
            variables["AWS_CONTAINER_AUTHORIZATION_TOKEN"] = "for-the-container"
        else:
            variables["AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"] = str(tmp_path / "token")
        with opened(
            tmp_path, secrets=(SECRET, TOKEN, "for-the-container"), AWS_ENDPOINT_URL=store.address, **variables
        ) as asked:
            read_for(asked, 5)
    assert len(tokens.given) >= 2 and tokens.refused == 0


def test_a_containers_token_goes_to_no_stranger(tmp_path):
    variables = {
        "AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://example.com/keys",
        "AWS_CONTAINER_AUTHORIZATION_TOKEN": "for-the-container",
    }
    with opened(tmp_path, AWS_ENDPOINT_URL="http://127.0.0.1:1", **variables) as asked:
        said = asked.ask("read", "s3://bucket/object")
        assert said["kind"] == "invalid argument" and "AWS_CONTAINER_CREDENTIALS_FULL_URI" in said["error"]


def test_web_identity_is_taken_to_sts_with_the_token_of_now(tmp_path):
    tokens = Tokens(3)
    (tmp_path / "identity").write_text("identity+of/penstock")
    with served(tokens.store) as store, served(lambda request: sts(tokens, request)) as service:
        variables = {
            "AWS_ENDPOINT_URL_S3": store.address,
            "AWS_ENDPOINT_URL_STS": service.address,
            "AWS_ROLE_ARN": "arn:aws:iam::1:role/data",
            "AWS_WEB_IDENTITY_TOKEN_FILE": str(tmp_path / "identity"),
        }
        with opened(tmp_path, secrets=(SECRET, TOKEN, "identity+of"), **variables) as asked:
            read_for(asked, 5)
            (tmp_path / "identity").write_text("another-that-is-refused")
            time.sleep(3.5)
            said = asked.ask("read", "s3://bucket/object")["error"]
            assert "web identity" in said and "InvalidIdentityToken" in said
            (tmp_path / "identity").write_text("identity+of/penstock")
            assert asked.read("s3://bucket/object") == DATA
            (tmp_path / "identity").unlink()
            time.sleep(3.5)
            assert "there is no file" in asked.ask("read", "s3://bucket/object")["error"]
    assert len(tokens.given) >= 3


def profile(tmp_path, config, credentials=""):
    (tmp_path / ".aws").mkdir(exist_ok=True)
    (tmp_path / ".aws/config").write_text(config)
    (tmp_path / ".aws/credentials").write_text(credentials)


def test_profiles_have_keys_an_endpoint_and_a_region(tmp_path):
    def answer(request):
        assert (
            f"Credential={KEY}/" in request.headers["Authorization"]
            and "/eu-north-1/s3/" in request.headers["Authorization"]
        )
        return stores.part_of(DATA, request.headers)

    with served(answer) as server:
        credentials = (
            f"[default]\naws_access_key_id=other\naws_secret_access_key=other\n[work]\n aws_access_key_id = {KEY}\n"
        )
        credentials = credentials.replace("\n aws_access", "\naws_access") + f"aws_secret_access_key = {SECRET}\n"
        config = f"# mine\n[profile work]\nregion = eu-north-1\nendpoint_url = {server.address}\ns3 =\n  addressing_style = path\n"
        profile(tmp_path, config, credentials)
        with opened(tmp_path, AWS_PROFILE="work") as asked:
            assert asked.read("s3://bucket/object") == DATA
        with opened(tmp_path, AWS_PROFILE="play", AWS_ENDPOINT_URL=server.address) as asked:
            said = asked.ask("read", "s3://bucket/object")
            assert said["kind"] == "invalid argument" and '"play"' in said["error"]


def test_a_profiles_program_is_run_again_when_its_keys_expire(tmp_path):
    tokens = Tokens(3)
    with served(tokens.store) as store, served(lambda _: (200, {}, json.dumps(tokens.keys()).encode())) as service:
        program = tmp_path / "my keys.py"
        program.write_text(
            "import json, sys, urllib.request\n"
            "assert sys.argv[1:] == ['a b', '', 'c\"d'], sys.argv\n"
            "keys = json.load(urllib.request.urlopen(sys.stdin.readline() or sys.argv[0] and open(__file__ + '.at').read()))\n"
            "keys['SessionToken'] = keys.pop('Token')\n"
            "keys['Version'] = 1\n"
            "print(json.dumps(keys))\n"
            f"print('{SECRET}', file=sys.stderr)\n"
        )
        (tmp_path / "my keys.py.at").write_text(service.address)
        python = sys.executable
        profile(tmp_path, f'[default]\ncredential_process = {python} "{program}" \'a b\' "" c\\"d\n')
        with opened(tmp_path, AWS_ENDPOINT_URL=store.address) as asked:
            read_for(asked, 6)
    assert len(tokens.given) >= 2 and tokens.refused == 0


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("/no/such/program --password=" + SECRET, "cannot be started"),
        ("sh -c 'echo " + SECRET + " >&2; exit 3'", "status 3"),
        ("sh -c 'kill -9 $$'", "signal 9"),
        ("echo " + SECRET, "no JSON"),
        ('echo {"AccessKeyId":"x"}', "no JSON"),
        ('echo \'{"AccessKeyId":"x"}\'', "returned no keys"),
        ("'open " + SECRET, "not a command"),
    ],
)
def test_a_profiles_program_that_fails_is_told_without_its_secrets(tmp_path, command, says):
    profile(tmp_path, f"[default]\ncredential_process = {command}\n")
    with opened(tmp_path, AWS_ENDPOINT_URL="http://127.0.0.1:1") as asked:
        said = asked.ask("read", "s3://bucket/object")["error"]
        assert says in said and "credential_process" in said and "s3://bucket/object" in said


def test_a_profiles_role_is_taken_with_the_keys_of_its_source(tmp_path):
    tokens = Tokens(60)
    config = "[profile role]\nrole_arn = arn:aws:iam::1:role/data\nsource_profile = base\n"
    circle = "[profile a]\nrole_arn = x\nsource_profile = b\n[profile b]\nrole_arn = x\nsource_profile = a\n"
    other = "[profile sso]\nsso_session = work\n[profile mfa]\nrole_arn = x\nmfa_serial = y\nsource_profile = base\n"
    profile(tmp_path, config + circle + other, f"[base]\naws_access_key_id={KEY}\naws_secret_access_key={SECRET}\n")
    with served(tokens.store) as store, served(lambda request: sts(tokens, request)) as service:
        variables = {"AWS_ENDPOINT_URL_S3": store.address, "AWS_ENDPOINT_URL_STS": service.address}
        with opened(tmp_path, AWS_PROFILE="role", **variables) as asked:
            assert asked.read("s3://bucket/object") == DATA
        for name, says in (("a", "no keys"), ("sso", "credential_process"), ("mfa", "requires an MFA code")):
            with opened(tmp_path, AWS_PROFILE=name, **variables) as asked:
                assert says in asked.ask("read", "s3://bucket/object")["error"], name


def bearer(tokens, request):
    token = request.headers.get("Authorization", "").removeprefix("Bearer ")
    if tokens.given.get(token, 0) < time.time():
        tokens.refused += 1
        return 401, {}, b"" if request.command == "HEAD" else stores.error("AuthenticationRequired", "no")
    return stores.part_of(DATA, request.headers)


def read_google_for(asked, seconds):
    until = time.time() + seconds
    while time.time() < until:
        assert asked.read("gs://bucket/object") == DATA
        assert asked.ask("find", "gs://bucket/object")["info"]["size"] == len(DATA)


def google_token(tokens):
    return (
        200,
        {},
        json.dumps({"access_token": tokens.make(), "expires_in": tokens.lives, "token_type": "Bearer"}).encode(),
    )


def test_google_tokens_of_the_machine_are_renewed(tmp_path):
    tokens = Tokens(3)

    def metadata(request):
        assert request.headers["Metadata-Flavor"] == "Google"
        assert request.path == "/computeMetadata/v1/instance/service-accounts/default/token"
        return google_token(tokens)

    with served(lambda request: bearer(tokens, request)) as store, served(metadata) as service:
        host = service.address.removeprefix("http://")
        with opened(tmp_path, GCE_METADATA_HOST=host, STORAGE_EMULATOR_HOST=store.address) as asked:
            read_google_for(asked, 5)
    assert 2 <= len(tokens.given) <= 5 and tokens.refused == 0


@pytest.mark.parametrize("kind", ["authorized_user", "service_account"])
def test_google_tokens_are_asked_for_by_a_file_and_renewed(tmp_path, kind):
    tokens = Tokens(3)
    rsa = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.rsa")
    padding = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.padding")
    hashes = pytest.importorskip("cryptography.hazmat.primitives.hashes")
    forms = pytest.importorskip("cryptography.hazmat.primitives.serialization")
    key = rsa.generate_private_key(65537, 2048)
    pem = key.private_bytes(forms.Encoding.PEM, forms.PrivateFormat.PKCS8, forms.NoEncryption()).decode()

    def give(request):
        form = dict(part.split(b"=") for part in request.body.split(b"&"))
        if kind == "authorized_user":
            assert form[b"grant_type"] == b"refresh_token" and form[b"refresh_token"] == b"1%2F%2Frefresh"
            return google_token(tokens)
        head, claims, signature = form[b"assertion"].split(b".")
        signed = base64.urlsafe_b64decode(signature + b"==")
        key.public_key().verify(signed, head + b"." + claims, padding.PKCS1v15(), hashes.SHA256())
        told = json.loads(base64.urlsafe_b64decode(claims + b"=="))
        assert told["iss"] == "me@project" and told["aud"] == service.address + "/token" and told["exp"] > time.time()
        return google_token(tokens)

    with served(lambda request: bearer(tokens, request)) as store, served(give) as service:
        known = {"type": kind, "token_uri": service.address + "/token"}
        user = {"client_id": "id", "client_secret": SECRET, "refresh_token": "1//refresh"}
        account = {"client_email": "me@project", "private_key": pem, "private_key_id": "k"}
        file = tmp_path / "google.json"
        file.write_text(json.dumps({**known, **(user if kind == "authorized_user" else account)}))
        variables = {"GOOGLE_APPLICATION_CREDENTIALS": str(file), "STORAGE_EMULATOR_HOST": store.address}
        with opened(tmp_path, secrets=(SECRET, TOKEN, "1//refresh", pem.splitlines()[3]), **variables) as asked:
            read_google_for(asked, 5)
    assert 2 <= len(tokens.given) <= 5 and tokens.refused == 0


def test_google_hmac_keys_sign_as_s3_does(tmp_path):
    def answer(request):
        assert (
            f"Credential={KEY}/" in request.headers["Authorization"] and "/auto/s3/" in request.headers["Authorization"]
        )
        return stores.part_of(DATA, request.headers)

    with served(answer) as store:
        variables = {"GCS_KEY": KEY, "GCS_SECRET": SECRET, "STORAGE_EMULATOR_HOST": store.address}
        with opened(tmp_path, **variables) as asked:
            assert asked.read("gs://bucket/object") == DATA


def test_azure_is_read_by_a_signature_that_nothing_tells(tmp_path):
    sas = "sv=2021-12-02&sp=rl&sig=" + "U0VDUkVU%2Bof%2FA%3D"

    def answer(request):
        path, _, query = request.path.partition("?")
        if not query.endswith(sas):
            return (
                403,
                {"x-ms-error-code": "AuthenticationFailed"},
                stores.error("AuthenticationFailed", "signed: " + sas),
            )
        assert request.headers["x-ms-version"]
        if "comp=list" in query:
            assert path == "/account/data"
            names = "<Blob><Name>a/x &amp; y</Name><Properties><Content-Length>3</Content-Length><Etag>0x1</Etag></Properties></Blob>"
            if "marker=more" in query:
                return 200, {}, f"<EnumerationResults><Blobs>{names}</Blobs><NextMarker/></EnumerationResults>".encode()
            first = "<BlobPrefix><Name>a/sub/</Name></BlobPrefix>"
            return (
                200,
                {},
                f"<EnumerationResults><Blobs>{first}</Blobs><NextMarker>more</NextMarker></EnumerationResults>".encode(),
            )
        assert path == "/account/data/a/b%20c"
        return stores.part_of(DATA, request.headers)

    secrets = (sas, "U0VDUkVU")
    with served(answer) as server:
        endpoint = {"AZURE_STORAGE_ENDPOINT": server.address + "/account"}
        with opened(tmp_path, secrets=secrets, AZURE_STORAGE_SAS_TOKEN="?" + sas, **endpoint) as asked:
            for address in (
                "az://data/a/b c",
                "az://data@account/a/b c",
                "abfss://data@account.dfs.core.windows.net/a/b c",
            ):
                assert asked.read(address) == DATA
            assert asked.ask("range", "az://data/a/b c", offset=1, length=3)["hex"] == DATA[1:4].hex()
            assert asked.names("az://data/a") == ["sub/", "x & y"]
        with opened(tmp_path, secrets=secrets, **endpoint) as asked:
            said = asked.ask("read", "az://data/a/b c")["error"]
            assert "AuthenticationFailed" in said and "AZURE_STORAGE_SAS_TOKEN is not set" in said


def test_azure_is_written_by_blocks(tmp_path):
    blocks, blobs = {}, {}

    def answer(request):
        path, _, query = request.path.partition("?")
        asked = dict(part.split("=", 1) for part in query.split("&") if part)
        sum_of = base64.b64encode(hashlib.md5(request.body).digest()).decode()
        if request.command == "PUT":
            assert request.headers["Content-MD5"] == sum_of
            if request.headers.get("If-None-Match") == "*" and path in blobs:
                return 409, {"x-ms-error-code": "BlobAlreadyExists"}, stores.error("BlobAlreadyExists")
            if asked.get("comp") == "block":
                blocks[asked["blockid"]] = request.body
            elif asked.get("comp") == "blocklist":
                names = [name.split("</")[0] for name in request.body.decode().split("<Latest>")[1:]]
                assert len({len(name) for name in names}) == 1
                blobs[path] = b"".join(blocks[urllib.parse.quote(name, safe="")] for name in names)
            else:
                assert request.headers["x-ms-blob-type"] == "BlockBlob"
                blobs[path] = request.body
            return 201, {}, b""
        if request.command == "DELETE":
            return (202 if blobs.pop(path, None) is not None else 404), {}, b""
        return stores.part_of(blobs[path], request.headers) if path in blobs else (404, {}, b"")

    with served(answer) as server, opened(tmp_path, AZURE_STORAGE_ENDPOINT=server.address + "/account") as asked:
        assert asked.ask("write", "az://data/large", bytes=20_000_000)["info"]["size"] == 20_000_000
        assert len(blobs["/account/data/large"]) == 20_000_000 and len(blocks) == 3
        assert asked.ask("write", "az://data/small", hex="0102")["info"]["size"] == 2
        for count in (2, 20_000_000):
            said = asked.ask("write", "az://data/small", bytes=count, if_absent=True)
            assert "already exists" in said["error"]
        assert asked.ask("remove", "az://data/small") == {} == asked.ask("remove", "az://data/small")
        assert asked.ask("find", "az://data/small") == {"info": None}
