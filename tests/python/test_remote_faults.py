"""Servers that misbehave: each read gives the right bytes, or one error that names what happened, in bounded time."""

import json
import os
import pathlib
import random
import socket
import subprocess
import threading
import time
import urllib.request

import pytest
from certificates import Authority
from web import PROBE, Server, log_of, needs_remote

pytestmark = needs_remote
SIZE = 3_000_000
CERTIFICATES = ("CURL_CA_BUNDLE", "SSL_CERT_FILE", "SSL_CERT_DIR")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    (folder / "file").write_bytes(random.Random(5).randbytes(SIZE))
    (folder / "empty").write_bytes(b"")
    (folder / "a name é").write_bytes(b"strange")
    return folder


@pytest.fixture
def server(folder):
    with Server(folder) as server:
        yield server


def probe(what, address, file="", timeout=60, words=(), **environment):
    """Its lines, and what it said on stderr."""
    own = {f"PENSTOCK_REMOTE_{name.upper()}": str(value) for name, value in environment.items() if name.islower()}
    others = {name: str(value) for name, value in environment.items() if not name.islower()}
    plain = {name: value for name, value in os.environ.items() if name not in CERTIFICATES}
    ran = subprocess.run(
        [PROBE, what, address, str(file), *map(str, words)],
        capture_output=True, text=True, timeout=timeout, check=True, env={**plain, **own, **others},
    )  # fmt: skip
    return [json.loads(line) for line in ran.stdout.splitlines()], ran.stderr


def reads(server, folder, faults, reads=8, what="ranges", **environment):
    """What came of each read, and the counts."""
    address = f"{server.root}/{'~' + faults + '/' if faults else ''}file"
    lines, _ = probe(what, address, folder / "file", words=["--reads", reads], **environment)
    if "error" in lines[0] and len(lines) == 1:
        return lines, {}
    return lines[:-1], lines[-1]


def test_an_object_is_found_and_read(server, folder):
    found, _ = probe("find", server.root + "/file")
    assert found[0]["size"] == SIZE and found[0]["modified"] == 784111777 * 10**9
    assert found[0]["version"].startswith('"')
    assert probe("find", server.root + "/none")[0] == [{"absent": True}]
    lines, counts = reads(server, folder, "", 50)
    assert lines == [{"right": True}] * 50
    assert counts["requests"] == 50 and counts["retries"] == 0
    asked = log_of(server)
    assert all(one["headers"]["if-match"] == found[0]["version"] for one in asked if "range" in one["headers"])
    whole = probe("whole", server.root + "/file", folder / "file", words=["--size", SIZE])[0][0]
    assert whole["right"] and whole["version"] == found[0]["version"]
    too_long = probe("whole", server.root + "/file", words=["--size", 1000000])[0][0]
    assert too_long["kind"] == "resource" and "1000000 bytes" in too_long["error"].replace(",", "")
    assert probe("whole", server.root + "/none", words=["--size", 100])[0] == [{"absent": True}]


def test_an_empty_object_and_strange_names(server, folder):
    assert probe("find", server.root + "/empty")[0][0]["size"] == 0
    assert probe("whole", server.root + "/empty", folder / "empty")[0][0]["right"]
    assert probe("whole", server.root + "/a name é", folder / "a name é")[0][0]["right"]
    assert probe("whole", server.root + "/a%20name%20%C3%A9", folder / "a name é")[0][0]["right"]


@pytest.mark.parametrize(
    "fault",
    ["status=503*4", "status=429*4+retry=1*2", "status=500*4", "status=502*2", "status=504*2", "status=408*2", "reset*4",
     "reset-body*4", "close-body*4", "length*4", "refused*4", "short*4", "long*4", "range*4", "total*4", "type*4",
     "chunked", "chunked-long*4", "garbage*4", "headers*4", "hang*2", "hang-body*2", "trickle=400*2", "latency=0.2",
     "ignore-range", "weak:any", "no-etag:any", "redirect=same", "redirect=same:any", "close-body*4+weak:any",
     "close-body*4+no-etag:any", "short*4+long*4+chunked*4", "short*4+chunked*4+spoiled*4", "chunked-long*4+spoiled*4",
     "no-length", "no-length:HEAD", "no-length*4+close-body*4"],
)  # fmt: skip
def test_what_passes_is_borne(server, folder, fault):
    lines, counts = reads(server, folder, fault, stall=0.6)
    assert lines == [{"right": True}] * 8, lines
    strikes = fault.split("+")[0].split(":")[0]
    assert counts["retries"] >= (2 if "*" in strikes else 0), counts
    if "*" not in strikes:
        assert counts["retries"] == 0


@pytest.mark.parametrize(
    ("fault", "kind", "said"),
    [
        ("status=403", "i/o", "403 (Forbidden): Faulty: as it was told to"),
        ("status=401", "i/o", "401 (Unauthorized)"),
        ("status=404", "i/o", "no longer exists"),
        ("etag", "i/o", 'changed while it was read: it was 3,000,000 bytes, version "'),
        ("grow", "i/o", "changed while it was read"),
        ("encoding", "unsupported", 'Content-Encoding "gzip"'),
        ("redirect=loop", "i/o", "redirected more than 5 times"),
        ("redirect=nowhere", "i/o", "redirected to nowhere"),
        ("redirect=ftp%3A%2F%2Fx", "i/o", "redirected to an address that is not a web address"),
        ("status=503", "i/o", "given up after"),
        ("reset", "i/o", "given up after"),
        ("range", "i/o", "instead of"),
        ("total", "i/o", "instead of 3,000,000"),
        ("short", "i/o", "instead of"),
        ("hang", "i/o", "given up after"),
    ],
)
def test_what_stays_is_one_error(server, folder, fault, kind, said):
    began = time.monotonic()
    lines, _ = reads(server, folder, fault, reads=3, deadline=2, stall=0.5, tries=3)
    assert len(lines) == 3
    for line in lines:
        assert line["kind"] == kind and said in line["error"], line
        assert f"{server.root}/~{fault}/file" in line["error"]
    assert time.monotonic() - began < 15


def test_another_state_is_never_mixed_in(server, folder):
    """The object changes between two requests for one range: what came of the first is of no use."""
    lines, _ = reads(server, folder, "close-body*1+grow*1", reads=1)
    assert "changed while it was read" in lines[0]["error"] or lines == [{"right": True}]
    state = {"size": SIZE, "version": '"old"', "modified": 784111777 * 10**9}
    pathlib.Path(f"{folder}/file.json").write_text(json.dumps(state))
    lines, _ = reads(server, folder, "", what="pinned", reads=4)
    assert all('no longer version "old", but "' in line["error"] for line in lines)
    pathlib.Path(f"{folder}/file.json").write_text(json.dumps({**state, "version": "", "modified": 1}))
    lines, _ = reads(server, folder, "", what="pinned", reads=4)
    assert all("changed while it was read: it was" in line["error"] for line in lines)
    pathlib.Path(f"{folder}/file.json").write_text(json.dumps({**state, "version": "", "size": SIZE - 1}))
    lines, _ = reads(server, folder, "", what="pinned", reads=4)
    assert all("changed while it was read: it was 2,999,999 bytes" in line["error"] for line in lines)


def test_retry_after_is_waited_for(server, folder):
    began = time.monotonic()
    lines, _ = reads(server, folder, "status=503*1+retry=2*1", reads=1)
    assert lines == [{"right": True}] and time.monotonic() - began >= 2


def test_a_read_that_waits_says_so_once(server, folder):
    """Some of many: each gives up when its next attempt would be too late, which may be before that."""
    address = f"{server.root}/~status=503/file"
    _, said = probe("ranges", address, folder / "file", words=["--reads", 60], deadline=13)
    lines = said.splitlines()
    assert len(lines) == 1, said
    assert lines[0].startswith(f"penstock: waiting for {address} (1") and "503 (Service Unavailable)" in lines[0]


def test_what_was_asked_slowly_is_asked_again(server, folder):
    """A hedge: of 200 ranges some take a second."""
    address = f"{server.root}/~latency=1.5@0.05/file"
    words = ["--reads", 300, "--flight", 8]
    lines, _ = probe("ranges", address, folder / "file", words=words, hedge=3, connections=8)
    assert lines[:-1] == [{"right": True}] * 300 and lines[-1]["hedges"] > 0


def test_what_another_range_brought_is_not_taken_for_this_one(tmp_path):
    """Reads that are used for one range after another, of which some are hedged and some broken off."""
    (tmp_path / "file").write_bytes(random.Random(7).randbytes(200_000))
    with Server(tmp_path) as server:
        address = f"{server.root}/~latency=0.4@0.05+close-body@0.1/file"
        words = ["--reads", 400, "--flight", 8, "--size", 200_000, "--waves", 1]
        lines, _ = probe("ranges", address, tmp_path / "file", words=words, hedge=2, connections=8, deadline=20)
    assert lines[:-1] == [{"right": True}] * 400 and lines[-1]["hedges"] > 0


class SlowThenWrong(Server):
    """Answers 70 ranges, and the one behind them late, with other bytes and too many of them; what is asked beside that one
    begins before it, and ends after it."""

    WARM = 70

    def __init__(self, folder, **given):
        self.ranges, self.wrong_is_over = 0, threading.Event()
        super().__init__(folder, **given)

    def give(self, connection, method, headers, file, strike):
        if "range" in headers:
            with self.mutex:
                self.ranges += 1
                turn = self.ranges
            if turn == self.WARM + 1:
                time.sleep(0.6)
                super().give(connection, method, headers, file, {"chunked-long": "", "spoiled": ""})
                self.wrong_is_over.set()
                return
            if turn == self.WARM + 2:
                return super().give(connection, method, headers, file, {**strike, "in-halves": ""})
        super().give(connection, method, headers, file, strike)

    def send_body(self, connection, body, strike):
        if "in-halves" not in strike:
            return super().send_body(connection, body, strike)
        connection.sendall(body[: len(body) // 2])
        self.wrong_is_over.wait(5)
        time.sleep(0.2)
        connection.sendall(body[len(body) // 2 :])


def test_a_wrong_answer_spoils_no_right_one_beside_it(folder):
    with SlowThenWrong(folder) as server:
        words = ["--reads", server.WARM + 1, "--flight", 1, "--waves", 1, "--parts", 1]
        lines, _ = probe("ranges", server.root + "/file", folder / "file", words=words, hedge=2)
        assert server.wrong_is_over.is_set()
    assert lines[:-1] == [{"right": True}] * (server.WARM + 1) and lines[-1]["hedges"] == 1


def test_an_object_without_versions_is_not_asked_for_twice_at_a_time(server, folder):
    """Of two answers nobody could tell whether they are of one state."""
    address = f"{server.root}/~no-etag:any+latency=0.4@0.05/file"
    words = ["--reads", 200, "--flight", 8, "--waves", 1]
    lines, _ = probe("ranges", address, folder / "file", words=words, hedge=2, connections=8)
    assert lines[:-1] == [{"right": True}] * 200 and lines[-1]["hedges"] == 0


def test_a_stopped_reader_writes_nothing_more(server, folder):
    address = f"{server.root}/~trickle=200000/file"
    told = probe("stop", address, folder / "file", words=["--reads", 300])[0][0]
    assert told["quiet"] and told["took"] < 0.5


def test_a_child_has_a_transport_of_its_own(server, folder):
    lines, _ = probe("fork", server.root + "/file", folder / "file", words=["--reads", 5])
    assert lines.count({"right": True}) == 15 and lines[-1] == {"child": 0}


def test_secrets_are_sent_and_not_shown(server, folder):
    with_secrets = server.root.replace("//", "//me:pa%40ss@") + "/file?sig=SECRET&x=1"
    assert probe("admit", with_secrets)[0] == [{"clean": server.root + "/file"}]
    assert probe("find", with_secrets)[0][0]["size"] == SIZE
    asked = log_of(server)[-1]
    assert asked["query"] == "sig=SECRET&x=1" and asked["headers"]["authorization"] == "Basic bWU6cGFAc3M="
    for path, what in (("/~status=403:any/file", "find"), ("/~reset:any/file", "find"), ("/file", "put"), ("/file", "list"),
                       ("/~redirect=loop:any/file", "find"), ("/~status=503:any/file", "whole")):  # fmt: skip
        address = server.root.replace("//", "//me:pa%40ss@") + path + "?sig=SECRET"
        lines, said = probe(what, address, deadline=1)
        assert "error" in lines[0]
        for secret in ("SECRET", "pa%40ss", "pa@ss", "me:", "bWU6"):
            assert secret not in lines[0]["error"] + said
    for address in ("http://", "http://?x", "https://:80/x", "http://a b/x", "http://h\x01/x"):
        assert probe("find", address)[0][0]["kind"] == "invalid argument"


def test_web_servers_are_not_written_to(server):
    assert probe("put", server.root + "/file")[0][0]["kind"] == "unsupported"
    assert probe("list", server.root + "/")[0][0]["kind"] == "unsupported"
    assert "not an address of a store" in probe("find", "xyz://host/file")[0][0]["error"]


def test_redirects_carry_no_secrets_away(server, folder):
    with Server(folder) as other:
        other_host = urllib.request.quote(other.root.replace("127.0.0.1", "localhost"), safe="")
        address = f"{server.root.replace('//', '//me:secret@')}/~redirect={other_host}:any/file"
        lines, _ = probe("ranges", address, folder / "file", words=["--reads", 4])
        assert lines[:4] == [{"right": True}] * 4
        assert all("authorization" in one["headers"] for one in log_of(server))
        gone = log_of(other)
        assert gone and not any("authorization" in one["headers"] for one in gone)
        assert all("if-match" in one["headers"] for one in gone if one["method"] == "GET")


def test_a_server_without_head(server, folder):
    for fault in ("status=405:HEAD", "status=403:HEAD"):
        assert probe("find", f"{server.root}/~{fault}/file")[0][0]["size"] == SIZE
        assert probe("find", f"{server.root}/~{fault}/empty")[0][0]["size"] == 0


def test_all_of_an_object_is_all_of_it_or_an_error(server, folder):
    """Whatever an answer leaves open: how long it is, and whether it is all."""
    for fault, said in (("partial", "206, although the whole object was requested"),
                        ("no-length", "the length of its answer"),
                        ("no-length+close-body", "the length of its answer")):  # fmt: skip
        words = ["--size", SIZE]
        line = probe("whole", f"{server.root}/~{fault}/file", folder / "file", words=words, deadline=3)[0][0]
        assert said in line.get("error", ""), line
    for fault in ("no-length:HEAD+no-length", "no-length:HEAD+chunked+ignore-range"):
        told = probe("find", f"{server.root}/~{fault}/file")[0][0]
        assert told.get("size") == SIZE or "error" in told, told


def test_whom_nobody_knows():
    began = time.monotonic()
    error = probe("find", "http://127.0.0.1:1/x")[0][0]["error"]
    assert "127.0.0.1" in error and time.monotonic() - began < 10
    error = probe("find", "http://no-such-host.invalid/x")[0][0]["error"]
    assert "no-such-host.invalid" in error
    wrong = probe("find", "http://127.0.0.1:1/x", connections="many")[0][0]
    assert wrong["kind"] == "invalid argument" and "PENSTOCK_REMOTE_CONNECTIONS" in wrong["error"]


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("certificates"))


def test_certificates_are_looked_at(folder, authority):
    ca, made = authority.file, authority.made
    with Server(folder, tls=made("right", "IP:127.0.0.1")) as server:
        for variable in ("SSL_CERT_FILE", "CURL_CA_BUNDLE"):
            lines, _ = probe("ranges", server.root + "/file", folder / "file", words=["--reads", 8], **{variable: ca})
            assert lines[:8] == [{"right": True}] * 8
        began = time.monotonic()
        error = probe("find", server.root + "/file")[0][0]["error"]
        assert "certificate" in error and time.monotonic() - began < 5
        with Server(folder) as plain:  # from https to http no redirect is followed
            down = f"{server.root}/~redirect={urllib.request.quote(plain.root, safe='')}:any/file"
            error = probe("find", down, SSL_CERT_FILE=ca)[0][0]["error"]
            assert "from https to http" in error and not log_of(plain)
    with Server(folder, tls=made("wrong", "DNS:elsewhere.example")) as server:
        assert "127.0.0.1" in probe("find", server.root + "/file", SSL_CERT_FILE=ca)[0][0]["error"]
    with Server(folder, tls=made("old", "IP:127.0.0.1", "-days", "-1")) as server:
        assert "expired" in probe("find", server.root + "/file", SSL_CERT_FILE=ca)[0][0]["error"]


def test_a_server_that_knows_no_ranges_is_named_once(server, folder):
    address = f"{server.root}/~ignore-range:any/file"
    lines, said = probe("ranges", address, folder / "file", words=["--reads", 20])
    assert lines[:20] == [{"right": True}] * 20
    assert said.count("the server does not support ranges") == 1 and address in said
    assert "ranges" not in probe("ranges", server.root + "/file", folder / "file", words=["--reads", 20])[1]


def test_tls_where_none_is_spoken_is_an_error_at_once():
    def answer():
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                connection.recv(1000)
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")

    listener = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=answer, daemon=True).start()
    with listener:
        began = time.monotonic()
        told = probe("find", f"https://127.0.0.1:{listener.getsockname()[1]}/file")[0][0]
        listener.shutdown(socket.SHUT_RDWR)
    assert "does not speak TLS" in told["error"] and time.monotonic() - began < 5
