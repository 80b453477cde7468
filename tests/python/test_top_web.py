"""penstock top --web: its server, also behind a proxy that strips a prefix, and its page in Chromium."""

import contextlib
import http.client
import http.server
import json
import os
import re
import signal
import socket
import subprocess
import threading
import time

import pytest
from chromium import CHROMIUM, PATIENCE, Page
from command import COMMAND, fails
from published import Killed, Program, make_data

needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed; apt-get install chromium")


@pytest.fixture(name="data")
def data_fixture(tmp_path):
    return make_data(tmp_path / "data")


class Served(Killed):
    """penstock top --web."""

    def __init__(self, *words, env=None):
        self.process = subprocess.Popen(
            [COMMAND, "top", *map(str, words), "--web", "--interval", "0.1"],
            stderr=subprocess.PIPE, text=True, env={**os.environ, **(env or {})})  # fmt: skip
        line = self.process.stderr.readline()
        match = re.fullmatch(r"penstock: live page at http://127\.0\.0\.1:(\d+)/([0-9a-f]{32})/\n", line)
        self.port, self.token = int(match[1]), match[2]
        self.address = ("127.0.0.1", self.port)

    def ask(self, name="", method="GET", token=None, headers=()):
        """The response, and its body. name=None: the root of the server."""
        connection = http.client.HTTPConnection(*self.address, timeout=PATIENCE)
        path = "/" if name is None else f"/{self.token if token is None else token}/{name}"
        connection.request(method, path, headers=dict(headers))
        answer = connection.getresponse()
        return answer, answer.read()

    def data(self):
        return json.loads(self.ask("data.json")[1])

    def wait(self, find, meanwhile=lambda: None):
        """Waits until find(data) is true, and returns it."""
        until = time.monotonic() + PATIENCE
        while True:
            data = self.data()
            if data.get("looks") and (found := find(data)):
                return found
            assert time.monotonic() < until, data
            meanwhile()


def loader_of(pid):
    return lambda data: next((loader for loader in data["loaders"] if loader["pid"] == pid), None)


def test_only_the_address_with_the_token_is_answered():
    with Served() as served:
        wrong = served.token[:-1] + ("0" if served.token[-1] != "0" else "1")
        for name, token in (
            (None, ""),
            ("", wrong),
            ("data.json", wrong),
            ("data.json", ""),
            ("metrics", served.token),
        ):
            answer, body = served.ask(name, token=token)
            assert (answer.status, body) == (404, b"404 Not Found\n")
            assert served.token not in str(answer.headers)
        page, body = served.ask()
        assert page.status == 200 and page.getheader("Content-Type") == "text/html; charset=utf-8"
        assert page.getheader("Cache-Control") == "no-store" and page.getheader("Referrer-Policy") == "no-referrer"
        assert "default-src 'none'" in page.getheader("Content-Security-Policy")
        assert page.getheader("Access-Control-Allow-Origin") is None
        for host in ("attacker.example", "hub.example:8000"):  # the token protects, and proxies send their own name
            assert served.ask("data.json", headers={"Host": host})[0].status == 200
            assert served.ask("data.json", token=wrong, headers={"Host": host})[0].status == 404
        head, nothing = served.ask(method="HEAD")
        assert (head.status, head.getheader("Content-Length"), nothing) == (200, str(len(body)), b"")
        assert served.ask(method="POST")[0].status == 405
        with open("/proc/net/tcp") as file:
            listening = file.read()
        assert f"0100007F:{served.port:04X} 00000000:0000 0A" in listening
        assert f"00000000:{served.port:04X} 00000000:0000 0A" not in listening


def test_each_start_has_its_own_token():
    with Served() as one, Served() as other:
        assert one.token != other.token


def two_ranks(data):
    """Two of seven ranks of a training that has its own name, because other programs may run on this machine."""
    name = f"ranks-{os.getpid()}"
    return [Program(data, {"rank": rank, "world_size": 7}, name) for rank in (3, 5)]


def test_numbers_are_those_of_running_programs(data):
    ranks = two_ranks(data)
    with ranks[0] as program, ranks[1] as other, Served() as served:

        def steps():
            program.step()
            other.step()

        first = served.wait(loader_of(program.pid), steps)
        assert (first["rank"], first["world"], first["user"]) == (3, 7, os.geteuid())
        assert first["diagnosis"].endswith(".") and sum(first["memory"].values()) > 0
        assert first["step"][-1]["name"] == "your program"
        assert sum(part["share"] for part in first["step"]) <= 1.001
        served.wait(lambda shown: loader_of(program.pid)(shown)["samples"] > first["samples"], steps)

        def training(data):
            """The processes of this training."""
            for found in data["trainings"]:
                if program.pid in (pids := [data["loaders"][place]["pid"] for place in found["loaders"]]):
                    return pids
            return None

        assert served.wait(training, steps) == [program.pid, other.pid]
        points = served.wait(loader_of(program.pid))["history"]
        assert len(points["samples_per_s"]) == len(points["data_wait"]) > 1
        program.process.kill()
        ended = served.wait(lambda shown: loader_of(program.pid)({"loaders": shown["ended"]}))
        assert ended["samples"] >= first["samples"] and ended["ended_at"] > 0


def test_a_process_may_be_chosen(data):
    with Program(data) as program, Program(data) as other, Served(program.pid) as served:
        for each in (program, other):
            each.step()
        served.wait(loader_of(program.pid))
        assert loader_of(other.pid)(served.data()) is None


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_well(number):
    with Served() as served:
        open_ones = [socket.create_connection(served.address) for _ in range(10)]
        served.process.send_signal(number)
        assert served.process.wait(timeout=PATIENCE) == 0
        for client in open_ones:
            client.close()
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(served.address)


def test_wrong_usage_and_a_port_in_use_are_one_line():
    for words in (["--once"], ["--json"], ["--metrics", "0"], ["--metrics-file", "x.prom"]):
        assert "excludes" in fails("top", "--web", "0", *words, code=2)
    fails("top", "--web=70000", code=2)
    with Served() as served:
        assert f"cannot serve on port {served.port} of 127.0.0.1" in fails("top", f"--web={served.port}")


def test_clients_that_are_slow_or_rude_hold_up_nobody():
    with Served() as served:
        path = f"/{served.token}/data.json"
        silent = [socket.create_connection(served.address) for _ in range(40)]
        for client in silent:
            client.sendall(b"GET /")
        readers = []
        for _ in range(20):  # they never read the answer
            client = socket.socket()
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
            client.connect(served.address)
            client.sendall(f"GET {path} HTTP/1.1\r\n\r\n".encode())
            readers.append(client)
        assert served.ask()[0].status == 200
        with socket.create_connection(served.address, timeout=PATIENCE) as long:
            long.sendall(b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 1500)
            assert b"431" in long.recv(100)
        with socket.create_connection(served.address, timeout=PATIENCE) as endless:
            with contextlib.suppress(ConnectionError):  # the server may answer before it has all
                endless.sendall(b"GET /" + b"a" * 20_000)
            assert b"431" in endless.recv(100)
        with socket.create_connection(served.address, timeout=PATIENCE) as rude:
            rude.sendall(b"\x00\xff nonsense\r\n\r\n")
            assert b"400 Bad Request" in rude.recv(100)
        with socket.create_connection(served.address) as gone:
            gone.sendall(f"GET {path} HTTP/1.1\r\n\r\n".encode())
        assert served.ask()[0].status == 200
        for client in silent:  # after the server's patience
            client.settimeout(PATIENCE)
            assert client.recv(100) == b""
        for client in [*silent, *readers]:
            client.close()


def test_hundreds_of_clients_are_all_answered():
    with Served() as served:
        silent = [socket.create_connection(served.address, timeout=PATIENCE) for _ in range(200)]
        clients = [socket.create_connection(served.address, timeout=PATIENCE) for _ in range(300)]
        for client in clients:
            client.sendall(f"GET /{served.token}/ HTTP/1.1\r\n\r\n".encode())
        for client in clients:  # more than it serves at a time, behind clients that say nothing
            assert client.recv(15) == b"HTTP/1.1 200 OK"
        assert len(os.listdir(f"/proc/{served.process.pid}/fd")) <= 20 + 128
        for client in [*silent, *clients]:
            client.close()
        assert served.ask()[0].status == 200


@contextlib.contextmanager
def proxy(port, prefix):
    """Serves http://127.0.0.1:PORT as PREFIX of another server, as jupyter-server-proxy does. Gives that server's port."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            if not self.path.startswith(prefix):
                return self.send_error(404)
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
            try:
                connection.request("GET", "/" + self.path[len(prefix) :], headers={"Host": "hub.example"})
                answer = connection.getresponse()
            except OSError:
                return self.send_error(500)
            body = answer.read()
            self.send_response(answer.status)
            for name, value in answer.getheaders():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)
            return None

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_below_the_prefix_of_a_proxy_every_address_is_relative():
    with Served(env={"JUPYTERHUB_SERVICE_PREFIX": "/user/x/"}) as served:
        prefix = f"/user/x/proxy/{served.port}/"
        said = served.process.stderr.readline()
        assert said == f"penstock: through JupyterHub at {prefix}{served.token}/\n"
        with proxy(served.port, prefix) as port:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
            connection.request("GET", f"{prefix}{served.token}")
            moved = connection.getresponse()
            assert (moved.status, moved.getheader("Location")) == (307, f"{served.token}/")
            moved.read()
            connection.request("GET", f"{prefix}{served.token}/data.json")
            assert "interval_s" in json.loads(connection.getresponse().read())
    # Some proxies keep the prefix (jupyter-server-proxy: /proxy/absolute/PORT/).
    with Served() as served:
        connection = http.client.HTTPConnection(*served.address, timeout=PATIENCE)
        connection.request("GET", f"/user/x/proxy/absolute/{served.port}/{served.token}/data.json")
        assert connection.getresponse().status == 200


@needs_chromium
def test_a_browser_shows_numbers_that_change_and_loads_nothing_else(data, tmp_path):
    prefix = "/user/x/proxy/1/"
    number = "Number(document.querySelector('#cards .tiles div:nth-child(3) b').textContent.replaceAll(',', ''))"
    with (
        Program(data, name="<b>x</b>&amp;") as program,
        Served(program.pid) as served,
        proxy(served.port, prefix) as port,
        Page(tmp_path / "profile") as page,
    ):
        program.step()
        page.open(f"http://127.0.0.1:{port}{prefix}{served.token}")
        page.wait("document.querySelectorAll('#cards details').length === 1", program.step)
        before = page.evaluate(number)
        after = page.wait(f"{number} > {before} && {number}", program.step)
        assert before < after <= served.wait(loader_of(program.pid))["samples"]
        rows = page.text("#rows")
        assert "<b>x</b>&amp;" in rows and str(program.pid) in rows and "1/2" in rows
        assert "decode" in page.text("#cards table") and "slabs" in page.text("#cards")
        assert page.evaluate("document.querySelectorAll('#cards .split rect').length") >= 1
        points = "document.querySelector('.plot polyline').getAttribute('points')"
        assert page.wait(f"{points}.split(' ').length > 2", program.step)

        # Its headings, names and colours.
        assert page.evaluate("document.documentElement.lang") == "en" and "samples/s" in page.evaluate("document.title")
        assert page.evaluate("[...document.querySelectorAll('th')].every((cell) => cell.scope)")
        assert page.evaluate(
            "[...document.querySelectorAll('svg')].every((drawn) => drawn.ariaLabel || drawn.ariaHidden)"
        )
        papers = set()
        for scheme in ("light", "dark"):
            page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
            papers.add(page.evaluate("getComputedStyle(document.body).backgroundColor"))
        assert len(papers) == 2

        root = f"http://127.0.0.1:{port}{prefix}{served.token}"
        requests = page.addresses()
        assert len(requests) > 3
        assert set(requests) - {"data:,"} == {root, f"{root}/", f"{root}/data.json"}
        assert page.complaints() == []

        program.process.kill()
        assert page.wait("document.querySelector('#message').textContent") == "The training has ended."
        page.wait(f"document.querySelector('#past_rows').innerText.includes('{program.pid}')")
        assert page.evaluate("document.querySelectorAll('#cards details').length") == 0

        served.process.send_signal(signal.SIGINT)
        assert served.process.wait(timeout=PATIENCE) == 0
        page.wait("document.querySelector('main').className === 'stale'")
        message = page.text("#message")
        assert message.startswith("penstock top does not answer. These numbers are from ")
        assert page.evaluate("document.title").startswith("stale")


@needs_chromium
def test_ranks_are_side_by_side_and_compared(data, tmp_path):
    ranks = two_ranks(data)
    with ranks[0], ranks[1], Served() as served, Page(tmp_path / "profile") as page:

        def steps():
            for rank in ranks:
                rank.step()

        page.open(f"http://127.0.0.1:{served.port}/{served.token}/")
        for rank, number in zip(ranks, (3, 5), strict=True):
            cell = (
                f"[...document.querySelectorAll('#rows td:nth-child(2)')].find((td) => td.textContent === '{rank.pid}')"
            )
            assert page.wait(f"{cell}?.nextSibling.textContent", steps) == f"{number}/7"
        page.wait("document.querySelector('#ranks').textContent.includes('Ranks of 7: ')", steps)
        assert page.complaints() == []


@needs_chromium
def test_without_a_loader_the_page_says_so(tmp_path):
    with Served(os.getpid()) as served, Page(tmp_path / "profile") as page:
        page.open(f"http://127.0.0.1:{served.port}/{served.token}/")
        page.wait("document.querySelector('#message').textContent.startsWith('No loader is running.')")
        assert "cores busy" in page.text("#node")
        assert page.complaints() == []
