"""What an address holds that nobody may see goes to its server alone: not to a screen, a file, a pickle or another process's words."""

import json
import multiprocessing
import os
import pathlib
import pickle
import subprocess
import time

import pytest
import stores
from command import COMMAND, run
from served import pack_bytes
from web import Server

import penstock as ps

PASSWORD, TOKEN = "pass-CANARY-word", "query-CANARY-token"
CANARY = "CANARY"
OTHERS = "other-{0..1}.tar"  # all that there are


class Guarded(Server):
    """Serves who has the secrets; says to others what they asked with."""

    def answer(self, connection, method, target, headers):
        allowed = f"sig={TOKEN}" in target and "authorization" in headers
        if target.startswith("/_") or allowed:
            return super().answer(connection, method, target, headers)
        body = b"<Error><Code>Denied</Code><Message>not without a signature</Message></Error>"
        return self.send(connection, 403, {"Content-Length": len(body)}, b"" if method == "HEAD" else body)


@pytest.fixture(scope="module", name="served")
def served_fixture(tmp_path_factory):
    return pack_bytes(tmp_path_factory.mktemp("served"), length=2000, shard_size=100_000)


@pytest.fixture(name="server")
def server_fixture(served, tmp_path, monkeypatch):
    for name, below in (
        ("PENSTOCK_INDEX_DIR", "indexes"),
        ("HOME", "home"),
        ("XDG_CACHE_HOME", "xdg"),
        ("TMPDIR", "tmp"),
    ):
        (tmp_path / below).mkdir()
        monkeypatch.setenv(name, str(tmp_path / below))
    with Guarded(served) as server:
        yield server


def secret(server, path):
    return f"{server.root.replace('//', f'//me:{PASSWORD}@')}/{path}?sig={TOKEN}&x=1"


def nothing_told(folder, *texts):
    for text in texts:
        assert CANARY not in str(text)
    for path in folder.rglob("*"):
        assert CANARY not in path.name
        if path.is_file():
            assert CANARY.encode() not in path.read_bytes(), path


def test_commands_show_and_leave_no_secret(server, tmp_path):
    packed, others, cache = secret(server, "tar"), secret(server, OTHERS), tmp_path / "cache"
    lines = [
        ["info", packed], ["info", "--json", packed], ["info", others], ["ls", packed], ["cat", packed, "0003.cls"],
        ["verify", packed], ["verify", packed, "--against", packed],
        ["inspect", packed, "--task", "raw", "--batch", "0", "--row", "0"],
        ["bench", packed, "--task", "raw", "--seconds", "0.2", "--json", tmp_path / "b.json", "--html", tmp_path / "b.html"],
        ["cache", "warm", packed, "--dir", cache], ["cache", "ls", "--dir", cache], ["doctor", packed],
        ["pack", packed, tmp_path / "copy", "--format", "zip"], ["stage", packed, tmp_path / "staged"],
        ["stage", others, tmp_path / "staged-others", "--json"],
    ]  # fmt: skip
    for line in lines:
        told = run(*line, check=False)
        assert told.returncode == 0, (line[0], told.stderr)
        nothing_told(tmp_path, told.stdout.decode(errors="replace"), told.stderr.decode())


@pytest.mark.parametrize("words", [
    ["info", "{root}/absent?sig=CANARY"], ["info", "HTTP://me:CANARY@127.0.0.1:1/x?sig=CANARY"], ["info", "ftp://me:CANARY@host/x?sig=CANARY"],
    ["info", "https://me:CANARY/with-a-slash@host/x"], ["info", "s3://key:CANARY@bucket/x"], ["info", "az://CANARY:key@account/x?sig=CANARY"],
    ["stage", "{tar}", "az://container@account/x?sig=CANARY"], ["stage", "{tar}", "https://me:CANARY@host/x?sig=CANARY"],
    ["pack", "{tar}", "https://me:CANARY@host/x?sig=CANARY"], ["pack", "{tar}", "az://container@account/x?sig=CANARY"],
    ["pack", "{tar}", "s3://key:CANARY@bucket/x"], ["cache", "warm", "https://me:CANARY@127.0.0.1:1/x?sig=CANARY", "--dir", "{cache}"],
    ["pack", "{tar}", "az://container@account/x?sig=CANARY", "--rank", "0", "--world", "2"],
])  # fmt: skip
def test_refusals_show_no_secret(server, served, tmp_path, words):
    words = [word.format(root=server.root, tar=served / "tar", cache=tmp_path / "cache") for word in words]
    few = {"PENSTOCK_REMOTE_DEADLINE": "1", "AZURE_STORAGE_ENDPOINT": "http://127.0.0.1:1/account"}
    told = run(*words, check=False, env={**os.environ, **few})
    assert told.returncode in (1, 2) and told.stderr
    nothing_told(tmp_path, told.stderr.decode(), told.stdout.decode())


def test_loaders_states_traces_and_ledgers_hold_no_secret(server, tmp_path):
    (tmp_path / "run").mkdir()
    dataset = ps.open(secret(server, "tar"))
    loader = ps.Loader(
        dataset, batch_size=8, transforms={"bin": ps.raw()}, disk_cache=str(tmp_path / "cache"),
        delivery_log=str(tmp_path / "run" / "ledger"),
    )  # fmt: skip
    with loader.trace(str(tmp_path / "run" / "trace.json")):
        for batch in loader:
            assert len(batch["__key__"])
    watched = tmp_path / "metrics"
    run("top", "--metrics-file", watched, "--once", check=False)
    nothing_told(
        tmp_path,
        repr(loader),
        json.dumps(loader.state_dict()),
        loader.stats(),
        repr(dataset),
        dataset.path,
        vars(dataset) if hasattr(dataset, "__dict__") else "",
    )
    del loader
    nothing_told(tmp_path)


def opened_elsewhere(record):
    try:
        return len(pickle.loads(record)), "", ""
    except ps.Error as error:
        return 0, str(error), error.dataset


def test_a_pickle_holds_no_secret_and_says_so_where_it_is_opened(server, tmp_path):
    dataset = ps.open(secret(server, "tar"))
    record = pickle.dumps(dataset)
    nothing_told(tmp_path, record)
    with multiprocessing.get_context("fork").Pool(1) as pool:  # which has what its parent was given
        assert pool.apply(opened_elsewhere, (record,)) == (64, "", "")
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        count, text, path = pool.apply(opened_elsewhere, (record,))
    assert count == 0 and "403" in text and "opened no address with a query or a password" in text
    assert path.startswith(f"{server.root}/tar")


@pytest.mark.parametrize("spelling", [TOKEN, TOKEN.replace("-", "%2D"), PASSWORD])
def test_words_of_a_server_that_repeat_a_secret_are_not_shown(server, monkeypatch, spelling):
    body = f"<Error><Code>Denied</Code><Message>{'x' * 150} {spelling} is not enough</Message></Error>".encode()

    def answer(connection, method, target, headers):
        del target, headers
        server.send(connection, 403, {"Content-Length": len(body)}, b"" if method == "HEAD" else body)

    monkeypatch.setattr(server, "answer", answer)
    with pytest.raises(ps.Error) as raised:
        ps.open(secret(server, "tar"))
    assert "403" in str(raised.value) and CANARY not in str(raised.value)


def test_a_session_token_that_a_store_repeats_is_not_shown(tmp_path):
    body = stores.error("InvalidRequest", f"the token {stores.TOKEN} is of no use")
    with (
        stores.served(lambda _: (400, {}, body)) as server,
        stores.opened(tmp_path, **stores.keys(server.address, AWS_SESSION_TOKEN=stores.TOKEN)) as store,
    ):
        told = store.ask("read", "s3://bucket/key")["error"]  # opened() looks for the token in all that was said
    assert "400" in told and "not shown" in told


def test_keys_with_a_line_end_are_refused_by_name(tmp_path):
    with stores.served(lambda _: (200, {}, b"")) as server:
        with stores.opened(
            tmp_path, **stores.keys(server.address, AWS_SESSION_TOKEN=stores.TOKEN + "\r\nX-Other: 1")
        ) as store:
            told = store.ask("read", "s3://bucket/key")["error"]
        assert "keys of the environment" in told and "an HTTP header cannot contain" in told
        assert not server.requests


@pytest.mark.parametrize(
    "proxy",
    [f"http://me:{PASSWORD}@127.0.0.1:99999", f"gopher://me:{PASSWORD}@127.0.0.1:1", f"me:{PASSWORD}@127.0.0.1:1x"],
)
def test_the_password_of_a_proxy_is_not_shown(tmp_path, proxy):
    own = {**stores.surroundings(tmp_path), "http_proxy": proxy, "PENSTOCK_REMOTE_DEADLINE": "2"}
    told = subprocess.run(
        [COMMAND, "info", "http://penstock.invalid/x"], capture_output=True, timeout=60, check=False, env=own
    )
    assert told.returncode == 1 and b"proxy" in told.stderr and CANARY.encode() not in told.stderr


def test_a_proxy_is_asked_in_the_servers_place(served, tmp_path):
    def answer(request):
        path = served / request.path.removeprefix("http://data.invalid/")
        return stores.part_of(path.read_bytes(), request.headers) if path.is_file() else (404, {}, b"")

    with stores.served(answer) as proxy:
        own = {**stores.surroundings(tmp_path), "http_proxy": proxy.address}
        told = subprocess.run(
            [COMMAND, "info", "http://data.invalid/tar"], capture_output=True, timeout=60, check=False, env=own
        )
        assert told.returncode == 0 and b"64" in told.stdout, told.stderr
        without = {**own, "no_proxy": "data.invalid", "PENSTOCK_REMOTE_DEADLINE": "1"}
        told = subprocess.run(
            [COMMAND, "info", "http://data.invalid/tar"], capture_output=True, timeout=60, check=False, env=without
        )
        assert told.returncode == 1 and b"data.invalid" in told.stderr


def test_warnings_show_no_secret(server, served):
    (served / "empty").mkdir(exist_ok=True)
    ps.pack(iter([{"__key__": "0", "bin": b""}]), served / "empty", format="tar", overwrite=True, progress=False)
    told = run("info", secret(server, "empty"), check=False)
    assert CANARY not in told.stderr.decode() + told.stdout.decode()


def test_azure_is_written_below_an_address_with_its_signature(served, tmp_path):
    blobs = {}

    def answer(request):
        path, _, query = request.path.partition("?")
        if f"sig={TOKEN}" not in query:
            return 403, {}, stores.error("AuthenticationFailed")
        name = path.removeprefix("/account/container/")
        if request.command == "PUT" and "comp=" not in query:
            blobs[name] = request.body
            return 201, {"ETag": '"0123"'}, b""
        if request.command == "GET" and "comp=list" in query:
            found = "".join(
                f"<Blob><Name>{each}</Name><Properties><Content-Length>{len(data)}</Content-Length><Etag>0123</Etag></Properties></Blob>"
                for each, data in sorted(blobs.items())
                if each.startswith("x/") and "/" not in each[2:]
            )
            return (
                200,
                {},
                f"<?xml version='1.0'?><EnumerationResults><Blobs>{found}</Blobs><NextMarker/></EnumerationResults>".encode(),
            )
        if request.command == "DELETE":
            return (202 if blobs.pop(name, None) is not None else 404), {}, b""
        if name not in blobs:
            return 404, {}, stores.error("BlobNotFound")
        return stores.part_of(blobs[name], request.headers)

    with stores.served(answer) as server:
        own = stores.surroundings(tmp_path, AZURE_STORAGE_ENDPOINT=server.address + "/account")
        address = f"az://container/x?sv=1&sig={TOKEN}"
        for line in (
            ["stage", served / "tar", address],
            ["info", address],
            ["verify", address],
            ["pack", served / "tar", address, "--overwrite"],
        ):
            told = subprocess.run([COMMAND, *map(str, line)], capture_output=True, timeout=60, check=False, env=own)
            assert told.returncode == 0, told.stderr
            nothing_told(tmp_path, told.stderr.decode(), told.stdout.decode(errors="replace"))
    assert {name for name in blobs if name.endswith(".json")} == {"x/penstock.json"}


def test_parts_are_refused_for_a_store(served):
    for pack in (ps.pack,):
        with pytest.raises(ps.Error, match="parts must be packed to a disk"):
            pack(served / "tar", "s3://bucket/x", rank=0, world=2, progress=False)
    assert not pathlib.Path("s3:").exists()
    from penstock._parts import absolute

    with pytest.raises(ps.Error, match="a cluster cannot pack to an object store"):
        absolute("s3://bucket/x", "s3://bucket/y")
    assert absolute("s3://bucket/x", "y") == ("s3://bucket/x", os.path.abspath("y"))


def test_a_running_process_keeps_the_secrets_of_many_addresses(server):
    began = time.monotonic()
    for number in range(300):
        address = f"{server.root.replace('//', f'//me:{PASSWORD}@')}/tar?sig={TOKEN}&x={number}"
        if number in (0, 299):
            assert len(ps.open(address)) == 64
        else:
            with pytest.raises(ps.Error):
                ps.open(address.replace("/tar?", f"/absent-{number}?"))
    assert time.monotonic() - began < 60
