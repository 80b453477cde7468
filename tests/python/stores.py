"""Object stores for tests: moto, servers of our own, and the program that asks them."""

import contextlib
import http.server
import json
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.request

import pytest

TOOL = os.environ.get("PENSTOCK_STORE_TOOL", "")
KEY, SECRET, TOKEN = "AKIDPENSTOCKTEST", "wJalr/SECRET+of/penstock=EXAMPLE", "TOKEN/of+penstock//EXAMPLE=="

# What this machine's own settings say must not reach a test.
OWN = ("AWS_", "AZURE_", "GOOGLE_", "GCS_", "GCE_", "CLOUDSDK_", "STORAGE_", "PENSTOCK_ANONYMOUS")


def surroundings(home, **variables):
    """The environment of a tool whose user has the folder `home`, and no credentials but those of `variables`."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(OWN)}
    kept = {name: value for name, value in kept.items() if not name.lower().endswith("_proxy")}
    alone = {"HOME": str(home), "AWS_EC2_METADATA_DISABLED": "true", "GCE_METADATA_HOST": "127.0.0.1:1"}
    few = {"PENSTOCK_REMOTE_DEADLINE": "20", "PENSTOCK_REMOTE_CONNECT": "3"}
    return {**kept, **alone, **few, **{name: str(value) for name, value in variables.items() if value is not None}}


class Store:
    """The object store of one process."""

    def __init__(self, environment):
        self.said = ""  # all that it has answered, for a search for secrets
        # It ends with its input.
        self.process = subprocess.Popen(  # pylint: disable=consider-using-with
            [TOOL], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
        )

    def ask(self, do, address, **more):
        self.process.stdin.write(json.dumps({"do": do, "address": address, **more}) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        assert line, f"it ended: {self.process.stderr.read()}"
        self.said += line
        return json.loads(line)

    def end(self):
        self.process.stdin.close()
        self.said += self.process.stderr.read()
        assert self.process.wait(60) == 0

    def read(self, address):
        answer = self.ask("read", address)
        assert "error" not in answer, answer
        return None if answer["hex"] is None else bytes.fromhex(answer["hex"])

    def names(self, address):
        answer = self.ask("list", address)
        assert "error" not in answer, answer
        return [entry["name"] + "/" * entry["is_folder"] for entry in answer["entries"]]


@contextlib.contextmanager
def opened(home, secrets=(KEY, SECRET, TOKEN), **variables):
    """A Store, of which nothing that it says may hold a secret."""
    if not TOOL:
        pytest.skip("this build has no store_tool; install libcurl4-openssl-dev and build again")
    store = Store(surroundings(home, **variables))
    try:
        yield store
    finally:
        store.end()
    for secret in secrets:
        if secret != KEY:  # the name of a key is no secret
            assert secret not in store.said


def keys(endpoint, **more):
    """Variables for keys in the environment."""
    given = {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_REGION": "us-east-1"}
    return {**given, "AWS_ENDPOINT_URL_S3": endpoint, **more}


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


@contextlib.contextmanager
def moto(folder):
    """The address of a moto server."""
    pytest.importorskip("moto.server")
    port = free_port()
    with open(folder / "moto.log", "w", encoding="utf-8") as log:
        process = subprocess.Popen(  # pylint: disable=consider-using-with
            [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
            stdout=log,
            stderr=log,
            env={**os.environ, "MOTO_S3_CUSTOM_ENDPOINTS": f"http://127.0.0.1:{port}"},
        )
        try:
            address = f"http://127.0.0.1:{port}"
            for _ in range(300):
                with contextlib.suppress(OSError):
                    urllib.request.urlopen(address + "/moto-api/data.json", timeout=5).close()
                    break
                assert process.poll() is None, (folder / "moto.log").read_text()
                time.sleep(0.1)
            yield address
        finally:
            process.kill()
            process.wait()


def client_with_bucket(endpoint):
    """boto3's, of a store with an empty bucket called "bucket"."""
    boto3 = pytest.importorskip("boto3")
    client = boto3.client(
        "s3", endpoint_url=endpoint, region_name="us-east-1", aws_access_key_id=KEY, aws_secret_access_key=SECRET
    )
    client.create_bucket(Bucket="bucket")
    return client


class Handler(http.server.BaseHTTPRequestHandler):
    """Hands each request to `server.answer(request)`, which returns (status, headers, body)."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):  # pylint: disable=arguments-differ
        pass

    def handle_any(self):
        self.body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        with self.server.lock:
            self.server.requests.append((self.command, self.path, dict(self.headers), self.body))
        status, headers, body = self.server.answer(self)
        self.send_response_only(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if "Content-Length" not in headers:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = handle_any


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256  # of more connections at once than these the system drops some, for seconds

    def handle_error(self, *_):  # pylint: disable=arguments-differ
        pass  # a client that went away


@contextlib.contextmanager
def served(answer):
    """A server with `address`, and `requests` (method, path with query, headers, body) as they came."""
    server = Server(("127.0.0.1", 0), Handler)
    server.answer = answer
    server.requests = []
    server.lock = threading.Lock()
    server.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def error(code, message="as a test has it", more=""):
    return f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>{message}</Message>{more}</Error>".encode()


def part_of(data, headers):
    """An answer to a GET of `data`, of its Range where there is one."""
    told = {"ETag": '"0123"', "Last-Modified": "Sat, 31 Jan 2026 12:00:00 GMT", "Accept-Ranges": "bytes"}
    asked = headers.get("Range")
    if asked is None:
        return 200, {**told, "Content-Length": str(len(data))}, data
    first, last = (int(number) for number in asked.removeprefix("bytes=").split("-"))
    last = min(last, len(data) - 1)
    if first >= len(data):
        return 416, {"Content-Range": f"bytes */{len(data)}"}, error("InvalidRange")
    return 206, {**told, "Content-Range": f"bytes {first}-{last}/{len(data)}"}, data[first : last + 1]
