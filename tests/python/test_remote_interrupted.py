"""Ctrl-C ends what waits for a server, soon, wherever it waits; and a process ends whatever is under way."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest
import stores
from command import COMMAND
from served import pack_bytes
from web import Server

SOON = 10.0  # seconds, beside a deadline of 300; a machine that is busy included


@pytest.fixture(scope="module", name="served")
def served_fixture(tmp_path_factory):
    return pack_bytes(tmp_path_factory.mktemp("served"))


@pytest.fixture(name="server")
def server_fixture(served):
    with Server(served) as server:
        yield server


class Held:
    """A store that answers until a request comes that `holds` is true of; that one it leaves waiting."""

    def __init__(self, holds):
        self.holds, self.held, self.over, self.objects = holds, threading.Event(), threading.Event(), {}

    def __call__(self, request):
        path, _, query = request.path.partition("?")
        name = path.removeprefix("/bucket/")
        if self.holds(request, name, query):
            self.held.set()
            self.over.wait(60)
        if "list-type=2" in query:
            prefix = next((part[7:] for part in query.split("&") if part.startswith("prefix=")), "").replace("%2F", "/")
            keys = "".join(
                f'<Contents><Key>{key}</Key><Size>{len(data)}</Size><ETag>"0123"</ETag></Contents>'
                for key, data in sorted(self.objects.items())
                if key.startswith(prefix) and "/" not in key[len(prefix) :]
            )
            return (
                200,
                {},
                f"<?xml version='1.0'?><ListBucketResult><IsTruncated>false</IsTruncated>{keys}</ListBucketResult>".encode(),
            )
        if request.command == "POST" and "uploads" in query:
            return (
                200,
                {},
                b"<?xml version='1.0'?><InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>",
            )
        if request.command == "PUT":
            self.objects[name] = request.body
            return 200, {"ETag": '"0123"'}, b""
        if request.command == "DELETE":
            self.objects.pop(name, None)
            return 204, {}, b""
        if name not in self.objects:
            return 404, {}, stores.error("NoSuchKey")
        return stores.part_of(self.objects[name], request.headers)


def interrupted(words, under_way, home, code=130, **variables):
    """Seconds until the program ends that is interrupted once `under_way` returns true; and what it said."""
    own = {**stores.surroundings(home, PENSTOCK_REMOTE_DEADLINE="300"), **variables}
    with subprocess.Popen([*map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=own) as process:
        try:
            began = time.monotonic()
            while not under_way():
                assert process.poll() is None, process.stderr.read()
                assert time.monotonic() - began < 60
                time.sleep(0.02)
            time.sleep(0.3)
            process.send_signal(signal.SIGINT)
            asked = time.monotonic()
            out, said = process.communicate(timeout=30)
            took = time.monotonic() - asked
        finally:
            process.kill()
    assert process.returncode == code, (process.returncode, out, said)
    return took, said.decode()


def asked_of(server):
    return lambda: any("/~" in "/" + str(each["path"]).lstrip("/") for each in list(server.log))


LINES = {
    "info": ["info", "{hang}/tar"], "info of others": ["info", "{hang}/other-{{0..3}}.tar"], "ls": ["ls", "{hang}/tar"],
    "cat": ["cat", "{hang}/tar", "0003.cls"], "info, slow bodies": ["info", "{body}/tar"], "verify": ["verify", "{shards}/tar"],
    "cat of shards": ["cat", "{shards}/tar", "0003.cls"], "stage": ["stage", "{hang}/tar", "{out}"], "stage of shards": ["stage", "{shards}/tar", "{out}"],
    "pack": ["pack", "{hang}/tar", "{out}"], "pack of shards": ["pack", "{shards}/tar", "{out}"],
    "cache warm": ["cache", "warm", "{shards}/tar", "--dir", "{out}"], "bench": ["bench", "{shards}/tar", "--task", "raw"],
}  # fmt: skip


@pytest.mark.parametrize("which", LINES)
def test_a_command_that_waits_for_a_server_ends_soon(served, tmp_path, which):
    hangs_at = threading.Event()

    class Shards(Server):
        """Leaves waiting who asks for bytes of a shard."""

        def answer(self, connection, method, target, headers):
            if target.startswith("/shards/"):
                target = target.removeprefix("/shards")
                if ".tar" in target and not target.endswith(".idx") and method == "GET":
                    hangs_at.set()
                    while not self.over:
                        time.sleep(0.05)
            return super().answer(connection, method, target, headers)

    with Shards(served) as server:
        places = {
            "hang": f"{server.root}/~hang:any",
            "body": f"{server.root}/~hang-body:any",
            "shards": f"{server.root}/shards",
            "out": tmp_path / "out",
        }
        under_way = hangs_at.is_set if "{shards}" in str(LINES[which]) else asked_of(server)
        words = [COMMAND, *(word.format(**places) for word in LINES[which])]
        took, said = interrupted(words, under_way, tmp_path, PENSTOCK_INDEX_DIR=str(tmp_path / "indexes"))
    assert took < SOON and "interrupted" in said


@pytest.mark.parametrize("where", ["looking", "journal", "part", "begin", "complete", "manifest", "staging"])
def test_a_command_that_waits_for_an_upload_ends_soon(served, tmp_path, where):
    holds = {
        "looking": lambda request, name, query: "list-type" in query,
        "journal": lambda request, name, query: request.command == "PUT" and name.endswith("partial.jsonl"),
        "part": lambda request, name, query: "partNumber" in query,
        "begin": lambda request, name, query: request.command == "POST" and "uploads" in query,
        "complete": lambda request, name, query: request.command == "POST" and "uploadId" in query,
        "manifest": lambda request, name, query: request.command == "PUT" and name.endswith("penstock.json"),
        "staging": lambda request, name, query: "partNumber" in query,
    }[where]
    large = tmp_path / "large"
    large.mkdir()
    for number in range(5):
        (large / f"{number}.bin").write_bytes(os.urandom(5 << 20))
    if where == "staging":
        subprocess.run([COMMAND, "pack", large, tmp_path / "packed"], check=True, capture_output=True)
    store = Held(holds)
    with stores.served(store) as server:
        own = stores.keys(server.address)
        source = served / "tar" if where in ("looking", "journal", "manifest") else large
        words = (
            ["stage", tmp_path / "packed", "s3://bucket/x"] if where == "staging" else ["pack", source, "s3://bucket/x"]
        )
        took, said = interrupted([COMMAND, *words], store.held.is_set, tmp_path, **own)
        store.over.set()
    assert took < SOON + 1.5 and "interrupted" in said  # an upload is given up with a request that has a moment
    if where in ("part", "staging"):
        assert any(request[0] == "DELETE" and "uploadId" in request[1] for request in server.requests)


@pytest.mark.parametrize("work", [
    "ps.open('{hang}/tar')", "ps.open('{hang}/other-{{0..3}}.tar')", "ps.open('{shards}/tar')[3]['bin']",
    "next(iter(ps.Loader('{shards}/tar', batch_size=4, transforms={{'bin': ps.raw()}})))", "ps.stage('{shards}/tar', '{out}', progress=False)",
    "ps.pack('{shards}/tar', '{out}', progress=False)", "ps.Loader('{hang}/tar')", "ps.pack('{tar}', 's3://bucket/x', progress=False)",
    "ps.Writer('s3://bucket/x')",
])  # fmt: skip
def test_python_that_waits_for_a_server_raises_keyboard_interrupt(served, tmp_path, work):
    program = textwrap.dedent(f"""
        import sys, threading
        import penstock as ps
        print("begins", flush=True)
        try:
            {{work}}
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        else:
            sys.exit("it did not wait")
        ps.open({str(served / "tar")!r})[0]["cls"]  # goes on
    """)

    class Shards(Server):
        def answer(self, connection, method, target, headers):
            if target.startswith("/shards/"):
                target = target.removeprefix("/shards")
                if ".tar" in target and not target.endswith(".idx") and method == "GET":
                    self.waits = True
                    while not self.over:
                        time.sleep(0.05)
            if target.startswith("/~"):
                self.waits = True
            return super().answer(connection, method, target, headers)

    store = Held(lambda request, name, query: "list-type" in query)
    with Shards(served) as server, stores.served(store) as held:
        server.waits = False
        places = {
            "hang": f"{server.root}/~hang:any",
            "shards": f"{server.root}/shards",
            "out": tmp_path / "out",
            "tar": served / "tar",
        }
        words = [sys.executable, "-c", program.format(work=work.format(**places))]
        own = {"PENSTOCK_INDEX_DIR": str(tmp_path / "indexes"), **stores.keys(held.address)}
        took, _ = interrupted(words, lambda: server.waits or store.held.is_set(), tmp_path, code=0, **own)
        store.over.set()
    assert took < SOON


ENDS = {
    "a loader that waits": """
        loader = ps.Loader('{shards}/tar', batch_size=4, transforms={{'bin': ps.raw()}})
        threading.Thread(target=lambda: next(iter(loader)), daemon=True).start()
        time.sleep(1)
    """,
    "an open() in another thread": """
        threading.Thread(target=lambda: ps.open('{hang}/tar'), daemon=True).start()
        time.sleep(1)
    """,
    "a loader that nobody asked": """
        loader = ps.Loader('{shards}/tar', batch_size=4, transforms={{'bin': ps.raw()}})
        time.sleep(1)
    """,
    "a process that has forked": """
        import os
        loader = ps.Loader('{shards}/tar', batch_size=4, transforms={{'bin': ps.raw()}})
        time.sleep(0.5)
        if os.fork() == 0:
            assert len(ps.open('{root}/tar')) == 64
            sys.exit(0)
        assert os.wait()[1] == 0
    """,
    "os._exit": """
        import os
        loader = ps.Loader('{shards}/tar', batch_size=4, transforms={{'bin': ps.raw()}})
        time.sleep(0.5)
        os._exit(0)
    """,
    "an upload that was left": """
        writer = ps.Writer('s3://bucket/x')
        writer.write({{'__key__': '0', 'bin': b'x' * 1000}})
    """,
}


@pytest.mark.parametrize("which", ENDS)
def test_a_process_ends_with_requests_under_way(served, tmp_path, which):
    class Shards(Server):
        def answer(self, connection, method, target, headers):
            if target.startswith("/shards/"):
                target = target.removeprefix("/shards")
                if ".tar" in target and not target.endswith(".idx") and method == "GET":
                    while not self.over:
                        time.sleep(0.05)
            return super().answer(connection, method, target, headers)

    store = Held(lambda request, name, query: False)
    with Shards(served) as server, stores.served(store) as held:
        places = {"hang": f"{server.root}/~hang:any", "shards": f"{server.root}/shards", "root": server.root}
        program = "import sys, threading, time\nimport penstock as ps\n" + textwrap.dedent(ENDS[which]).format(**places)
        own = {**stores.surroundings(tmp_path, PENSTOCK_REMOTE_DEADLINE="300"), **stores.keys(held.address)}
        own["PENSTOCK_INDEX_DIR"] = str(tmp_path / "indexes")
        began = time.monotonic()
        told = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60, check=False, env=own)
    assert told.returncode == 0, told.stderr.decode()
    assert time.monotonic() - began < 1 + 2 + SOON, told.stderr.decode()
