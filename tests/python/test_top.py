"""penstock top, on programs that know nothing of it, and OpenMetrics text."""

import http.client
import json
import os
import pickle
import pty
import signal
import socket
import subprocess
import sys
import time
import uuid

import pytest
from command import COMMAND, fails, run
from published import Program, make_data

import penstock as ps

FOLDER = f"/dev/shm/penstock-{os.geteuid()}"
NOBODY = 65534


@pytest.fixture(name="data")
def data_fixture(tmp_path):
    return make_data(tmp_path / "data")


def top(*words, **options):
    return json.loads(run("top", "--json", "--interval", "0.1", *words, **options).stdout)


def loaders_of(pid, **options):
    return [loader for loader in top(**options)["loaders"] if loader["pid"] == pid]


def seen(program):
    """What top shows of a program, and the stats that the page was made of."""
    told = []
    for _ in range(100):
        told.append(program.step())
        (shown,) = loaders_of(program.pid)
        for stats in told:
            if stats["samples"] == shown["samples"] > 0 and stats["wall_s"] == shown["wall_s"]:
                return shown, stats
    raise AssertionError("no page was made of any of the stats")


def test_the_figures_are_those_of_a_program_that_knows_nothing_of_it(data):
    with Program(data) as program:
        shown, stats = seen(program)
        same = ("rank", "world", "samples", "batches", "stored_bytes", "bytes_delivered", "data_wait_s",
                "step_s", "wall_s", "batches_taken", "batches_ready", "workers", "slabs", "slab_bytes", "window_bytes",
                "data_wait_by_stage_s", "first_batch_s", "bad_samples", "device_bytes")  # fmt: skip
        assert {name: shown[name] for name in same} == {name: stats[name] for name in same}
        assert shown["verdict"]["binds"] == stats["verdict"]["binds"]
        assert list(shown["stages"]) == list(stats["stages"])
        assert shown["program"].startswith("python") and shown["user"] == os.geteuid() and shown["here"]
        assert shown["state"] in ("running", "idle")
        assert shown["samples_per_s"] >= 0
        text = run("top", "--once", "--interval", "0.1", program.pid).stdout.decode()
        assert str(program.pid) in text and "1/2" in text and "decode [" in text and "cores" in text


def test_ranks_of_one_training_are_compared(data):
    ranks = [Program(data, {"rank": rank, "world_size": 3}) for rank in range(2)]
    with ranks[0], ranks[1]:
        for program in ranks:
            program.step()
        assert "ranks of 3: " in run("top", "--once", "--interval", "0.1").stdout.decode()
        assert "ranks of" not in run("top", "--once", "--interval", "0.1", ranks[0].pid).stdout.decode()


def stats_of(rank, waited, world=3):
    wall = 10.0
    return {"rank": rank, "world": world, "samples": 1000, "batches": 100, "wall_s": wall, "step_s": wall * (1 - waited),
            "verdict": {"binds": "cores", "data_wait": waited, "text": f"why {rank} waits"}}  # fmt: skip


def test_a_table_of_ranks_names_the_slow_one_and_why():
    table = ps.rank_table([stats_of(2, 0.02), stats_of(0, 0.01), stats_of(1, 0.31)])
    assert table.slow == 1
    assert (
        table.text == "rank 1 is the slow one: it waited 31 % of its time, half of the ranks 2 % or less; why 1 waits"
    )
    lines = str(table).splitlines()
    assert len(lines) == 5 and lines[2].endswith("<- slow") and "100.0" in lines[2] and lines[-1] == table.text
    assert [row["rank"] for row in table.rows] == [0, 1, 2]
    assert ps.rank_table([stats_of(0, 0.3), stats_of(1, 0.3), stats_of(2, 0.3)]).slow is None
    with pytest.raises(ValueError, match="each rank once"):
        ps.rank_table([stats_of(1, 0.3), stats_of(1, 0.2)])
    with pytest.raises(ValueError, match="of one training"):
        ps.rank_table([stats_of(0, 0.3), stats_of(1, 0.2, world=4)])


GATHERING = """
import sys
import torch.distributed as distributed
import penstock as ps
import penstock.torch
rank = int(sys.argv[2])
distributed.init_process_group("gloo", init_method=f"file://{sys.argv[3]}", rank=rank, world_size=2)
with ps.Loader(sys.argv[1], batch_size=4, workers=1, rank=rank, world_size=2) as loader:
    for batch in loader:
        pass
    print([row["rank"] for row in ps.torch.rank_table(loader.stats()).rows])
distributed.destroy_process_group()
"""


def test_torch_gathers_the_stats_of_all_ranks(data, tmp_path):
    pytest.importorskip("torch.distributed")
    ranks = [
        subprocess.Popen([sys.executable, "-c", GATHERING, str(data), str(rank), str(tmp_path / "meet")],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for rank in range(2)
    ]  # fmt: skip
    for rank in ranks:
        out, err = rank.communicate(timeout=300)
        assert (rank.returncode, out) == (0, "[0, 1]\n"), err


def test_pages_are_for_their_user_alone(data):
    with Program(data) as program:
        program.step()
        assert os.stat(FOLDER).st_mode & 0o777 == 0o700
        pages = [name for name in os.listdir(FOLDER) if f".{program.pid}." in name]
        assert len(pages) == 1
        assert os.stat(f"{FOLDER}/{pages[0]}").st_mode & 0o777 == 0o600
        if os.geteuid() == 0:
            assert loaders_of(program.pid, user=NOBODY) == []
            assert subprocess.run(
                ["cat", f"{FOLDER}/{pages[0]}"], user=NOBODY, capture_output=True, check=False
            ).returncode


def test_a_killed_program_disappears_and_its_page_is_removed(data):
    with Program(data) as program:
        program.step()
        assert len(loaders_of(program.pid)) == 1
        program.process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, program.pid, os.WSTOPPED)
        assert loaders_of(program.pid)[0]["state"] == "stopped"
        program.process.kill()
        program.process.wait()
        assert loaders_of(program.pid) == []
        assert not [name for name in os.listdir(FOLDER) if f".{program.pid}." in name]
        assert f"process {program.pid} shows no loader" in fails("top", "--once", program.pid)


def test_a_process_without_a_loader_is_one_line():
    child = subprocess.Popen(["sleep", "60"])
    try:
        assert "it has not taken a batch from one yet" in fails("top", child.pid, "--once")
    finally:
        child.kill()
        child.wait()
    result = run("top", child.pid, "--once", check=False)
    assert (result.returncode, result.stdout) == (1, b"")
    assert (
        result.stderr.decode()
        == f"penstock: error: i/o: process {child.pid} shows no loader: there is no such process\n"
    )
    for word in ("abc", "-5", "4.7", "99999999999999"):
        assert (
            fails("top", word, "--once", code=2)
            == f"penstock: error: PID: must be the number of a process, not '{word}'"
        )


def test_a_program_may_show_nothing(data):
    with (
        Program(data, {"publish": False}) as silent,
        Program(data, env={**os.environ, "PENSTOCK_PUBLISH": "0"}) as told,
    ):
        for program in (silent, told):
            assert program.step()["notes"] == ""
            assert loaders_of(program.pid) == []


def test_what_is_no_page_is_left_out_and_said(data):
    with Program(data) as program:
        program.step()
        (page,) = [name for name in os.listdir(FOLDER) if f".{program.pid}." in name]
        namespace, pid, start, _ = page.split(".")
        garbage = [f"{namespace}.{pid}.{start}.999{n}" for n in range(3)] + [f"{uuid.uuid4()}\n"]
        contents = [os.urandom(4096), b"x", open(f"{FOLDER}/{page}", "rb").read()[:8].ljust(4096, b"\x07"), b""]
        try:
            for name, content in zip(garbage, contents, strict=True):
                with open(f"{FOLDER}/{name}", "wb") as file:
                    file.write(content)
            shown = top()
            assert [loader["loader"] for loader in shown["loaders"] if loader["pid"] == program.pid] == [1]
            for name in garbage[:3]:
                assert len([line for line in shown["left_out"] if name in line]) == 1
            assert any("another version of penstock" in line for line in shown["left_out"])
            assert all("\n" not in line for line in shown["left_out"])
        finally:
            for name in garbage:
                os.unlink(f"{FOLDER}/{name}")


def parsed(text):
    """{(name, labels): value}, by prometheus_client's parser, which is strict."""
    parser = pytest.importorskip("prometheus_client.openmetrics.parser")
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in parser.text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_stats_are_openmetrics_text(data):
    with ps.Loader(data, batch_size=4, workers=1) as loader:
        for _ in loader:
            pass
        stats = loader.stats()
    stats = pickle.loads(pickle.dumps(stats))
    text = stats.prometheus(job='a"b\\c\nd')
    samples = parsed(text)
    mine = {"rank": "0", "world": "1", "job": 'a"b\\c\nd'}
    assert samples["penstock_samples_total", frozenset(mine.items())] == stats["samples"] == 40
    assert samples["penstock_data_wait_seconds_total", frozenset(mine.items())] == pytest.approx(stats["data_wait_s"])
    decode = frozenset({**mine, "stage": "decode"}.items())
    assert samples["penstock_stage_busy_seconds_total", decode] == pytest.approx(stats["stages"]["decode"]["busy_s"])
    assert all(name.startswith("penstock_") for name, _ in samples)
    with pytest.raises(ps.Error, match="penstock's own"):
        stats.prometheus(stage="x")


def test_metrics_files_are_whole(data, tmp_path):
    path = tmp_path / "penstock.prom"
    with Program(data) as program:
        program.step()
        run("top", "--once", "--metrics-file", path)
        text = path.read_text()
        assert f'pid="{program.pid}"' in text and text.endswith("# EOF\n")
        assert os.stat(path).st_mode & 0o777 == 0o644
        assert any(name == "penstock_samples_total" for name, _ in parsed(text))
    assert os.listdir(tmp_path / "data") and set(os.listdir(tmp_path)) == {"data", "penstock.prom"}
    assert "absent" in fails("top", "--once", "--metrics-file", tmp_path / "absent" / "x.prom")
    fails("top", "--metrics", "0", "--once", code=2)


WAITING = """
import sys, time
import penstock as ps
for batch in ps.Loader(sys.argv[1], batch_size=4, workers=1, batch_transform=lambda batch: time.sleep(3600)):
    pass
"""


def test_a_wait_is_exported_before_it_ends(data, tmp_path):
    path = tmp_path / "penstock.prom"
    waiting = subprocess.Popen([sys.executable, "-c", WAITING, str(data)])
    try:
        waited = 0.0
        while waited == 0:
            run("top", waiting.pid, "--once", "--metrics-file", path)
            samples = parsed(path.read_text()).items()
            waited = max((value for (name, _), value in samples if name == "penstock_waiting_seconds"), default=0.0)
        assert waited < 3600
    finally:
        waiting.kill()
        waiting.wait()


class Served:
    """penstock top --metrics 0."""

    def __enter__(self):
        self.process = subprocess.Popen([COMMAND, "top", "--metrics", "0"], stderr=subprocess.PIPE, text=True)
        line = self.process.stderr.readline()
        self.port = int(line.split(":")[3].split("/")[0])
        assert line == f"penstock: metrics at http://127.0.0.1:{self.port}/metrics\n"
        return self

    def ask(self, method="GET", path="/metrics"):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.request(method, path)
        answer = connection.getresponse()
        return answer.status, answer.getheader("Content-Type"), answer.read().decode()

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGINT)
        assert self.process.wait(timeout=30) == 0
        self.process.communicate()


def test_metrics_are_served_on_the_loopback_address(data):
    with Program(data) as program, Served() as served:
        program.step()
        status, kind, text = served.ask()
        assert (status, kind) == (200, "application/openmetrics-text; version=1.0.0; charset=utf-8")
        mine = [labels for name, labels in parsed(text) if name == "penstock_samples_total"]
        assert any(("pid", str(program.pid)) in labels for labels in mine)
        assert served.ask(path="/metrics?x=1")[0] == 200
        assert served.ask("HEAD") == (200, kind, "")
        assert served.ask(path="/")[0] == 404
        assert served.ask("POST")[0] == 405
        listening = open("/proc/net/tcp").read()
        assert f"0100007F:{served.port:04X} 00000000:0000 0A" in listening
        assert f"00000000:{served.port:04X} 00000000:0000 0A" not in listening


def test_clients_that_are_slow_or_rude_hold_up_nobody():
    with Served() as served:
        address = ("127.0.0.1", served.port)
        slow = [socket.create_connection(address) for _ in range(20)]
        for client in slow:
            client.sendall(b"GET /metrics HTT")
        assert served.ask()[0] == 200
        with socket.create_connection(address, timeout=30) as rude:
            rude.sendall(b"\x00\xff nonsense\r\n\r\n")
            assert b"400 Bad Request" in rude.recv(100)
        with socket.create_connection(address, timeout=30) as long:
            long.sendall(b"GET /metrics HTTP/1.1\r\n" + b"X: y\r\n" * 1500)
            assert b"431" in long.recv(100)
        with socket.create_connection(address) as gone:
            gone.sendall(b"GET /metrics HTTP/1.1\r\n\r\n")
        assert served.ask()[0] == 200
        for client in slow:  # after the server's patience
            client.settimeout(30)
            assert client.recv(100) == b""
            client.close()
        many = [socket.create_connection(address) for _ in range(100)]  # more than it serves at a time
        assert served.ask()[0] == 200
        for client in many:
            client.close()


def in_terminal(*words):
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(COMMAND, [COMMAND, "top", *words])
    return pid, terminal


def read_until(terminal, wanted):
    text = b""
    while wanted not in text:
        text += os.read(terminal, 65536)
    return text.decode()


@pytest.mark.parametrize("end", [b"q", b"\x03"])
def test_in_a_terminal_it_goes_on_until_it_is_ended(data, end):
    with Program(data) as program:
        program.step()
        pid, terminal = in_terminal("--interval", "0.1")
        text = read_until(terminal, b"PID")
        assert "\x1b[?1049h" in text
        os.write(terminal, end)
        rest = ""
        try:
            while part := os.read(terminal, 65536):
                rest += part.decode()
        except OSError:
            pass
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        assert rest.endswith("\x1b[?25h\x1b[?1049l")
        os.close(terminal)


def test_gpus_are_shown_where_nvml_is():
    fake = os.environ.get("PENSTOCK_FAKE_NVML")
    if not fake:
        pytest.skip("PENSTOCK_FAKE_NVML names no library; run this test by ctest")
    environment = {**os.environ, "PENSTOCK_NVML": fake}
    gpus = top(env=environment)["gpus"]
    assert [(gpu["busy"], gpu["memory_busy"], gpu["memory_used"]) for gpu in gpus] == [(0.7, 0.25, 3 << 30)]
    text = run("top", "--once", "--interval", "0.1", env=environment).stdout.decode()
    assert "GPU 0     [#######   ] 70 % busy" in text and "\x1b" not in text
    assert top(env={**os.environ, "PENSTOCK_NVML": "/nonexistent.so"})["gpus"] == []


def test_the_machine_is_beside_them():
    before = time.monotonic()
    node = top()["node"]
    assert 0 <= node["cores_busy"] <= node["cores"] == os.cpu_count()
    assert time.monotonic() - before < 60
    for disk in node["disks"]:
        assert 0 <= disk["busy"] <= 1
