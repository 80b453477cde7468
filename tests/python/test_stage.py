"""penstock stage and ps.stage: copies that open as their source does, and what the user is told meanwhile."""

import json
import os
import pathlib
import pty
import re
import signal
import subprocess
import sys
import threading
import time

import pytest

import penstock as ps

COMMAND = os.environ["PENSTOCK_COMMAND"]


def run(*words, code=0, **options):
    result = subprocess.run([COMMAND, *map(str, words)], capture_output=True, timeout=300, **options)
    assert result.returncode == code, result.stderr.decode()
    return result


def visible(folder):
    return {
        p.relative_to(folder): p.read_bytes()
        for p in sorted(folder.rglob("*"))
        if p.is_file() and not p.name.startswith(".") and not p.name.endswith("penstock-idx")
    }


@pytest.fixture(scope="module")
def icons(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data") / "icons"
    run("synth", "icons", folder, "-n", 300)
    return folder


@pytest.fixture(scope="module")
def packed(tmp_path_factory, icons):
    folder = tmp_path_factory.mktemp("packed") / "tar"
    run("pack", icons, folder, "--format", "tar", "--shard-size", "200KB")
    return folder


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A file that takes a while: 600 MB of rows."""
    path = tmp_path_factory.mktemp("large") / "rows.npy"
    header = "{'descr': '|u1', 'fortran_order': False, 'shape': (600, 1000000), }"
    header += " " * (63 - (10 + len(header)) % 64) + "\n"
    block = os.urandom(1_000_000)
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode())
        for _ in range(600):
            file.write(block)
    run("info", path)  # leaves the sidecar
    return path


@pytest.mark.parametrize("engine", ["auto", "io_uring", "pread"])
def test_a_staged_dataset_is_its_source(packed, tmp_path, engine):
    copy = tmp_path / "local" / "tar"
    words = [COMMAND, "stage", packed, copy, "--engine", engine, "--workers", "2"]
    told = subprocess.run(words, capture_output=True, timeout=300)
    if engine == "io_uring" and b"is not available" in told.stderr:
        pytest.skip(f"{told.stderr.decode().strip()}; allow io_uring, which this kernel or container forbids")
    assert told.returncode == 0, told.stderr
    line = told.stdout.decode()
    assert re.search(r"\d+ files copied; .* in [\d.]+ s, \d+ MB/s, \w+ \(.+\), checked\n$", line), line
    assert line.startswith(f"{copy}: ")
    assert visible(copy) == visible(packed)
    assert b": good" in run("verify", copy, "--against", packed).stdout

    def digest(path):
        rows = run("bench", path, "--digest", "--json", "-").stdout
        return json.loads(rows)["rows"][0]["digest"]

    assert digest(copy) == digest(packed)

    again = json.loads(run("stage", packed, copy, "--engine", engine, "--json").stdout)
    assert again["kept_files"] == again["files"] == len(visible(packed))
    assert again["copied_bytes"] == 0 and again["engine"] is None and again["opens"] == str(copy)


def test_a_folder_of_files_opens_at_once_and_a_pattern_says_what_to_open(icons, packed, tmp_path):
    run("info", icons)
    run("stage", icons, tmp_path / "icons")
    sidecar = tmp_path / "icons" / ".penstock-idx"
    assert sidecar.read_bytes() == (icons / ".penstock-idx").read_bytes()
    before = sidecar.stat()
    run("verify", tmp_path / "icons", "--against", icons)
    assert sidecar.stat().st_mtime_ns == before.st_mtime_ns and sidecar.stat().st_ino == before.st_ino

    foreign = tmp_path / "foreign"
    foreign.mkdir()
    for shard in sorted(packed.glob("*.tar"))[:3]:
        (foreign / shard.name).write_bytes(shard.read_bytes())
    told = json.loads(run("stage", foreign / "shard-{000002,000000}.tar", tmp_path / "some", "--json").stdout)
    assert told["opens"] == str(tmp_path / "some" / "shard-{000002,000000}.tar")
    assert run("ls", told["opens"]).stdout == run("ls", foreign / "shard-{000002,000000}.tar").stdout


def test_wrong_usage_is_2_and_bad_data_1(packed, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("mine")
    for words in (
        ["stage", packed],
        ["stage", packed, tmp_path / "x", "--engine", "steam"],
        ["stage", packed, tmp_path / "x", "--resume", "--overwrite"],
        ["stage", packed, tmp_path / "mine"],
        ["stage", packed, packed],
    ):
        told = run(*words, code=2).stderr.decode()
        assert told.startswith("penstock: error: ") and told.count("\n") == 1
    assert "missing" in run("stage", tmp_path / "missing", tmp_path / "x", code=1).stderr.decode()

    bad = tmp_path / "bad"
    run("stage", packed, bad)
    shard = bad / "shard-000001.tar"
    key = next(line for line in run("ls", bad).stdout.decode().split() if line.endswith(".png"))
    whole = bytearray(shard.read_bytes())
    at = whole.find(b"IDAT")
    whole[at + 10] ^= 1
    shard.write_bytes(whole)
    told = run("stage", bad, tmp_path / "copy", code=1).stderr.decode()
    assert "shard-000001.tar" in told and "field png" in told and "sample class_" in told and "CRC-32C" in told, key
    assert not (tmp_path / "copy").exists()


def test_a_full_disk_is_one_line_with_file_and_offset(large, tmp_path):
    import resource

    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (3_000_000, 3_000_000))  # noqa: E731
    ignore = lambda: (signal.signal(signal.SIGXFSZ, signal.SIG_IGN), limit())  # noqa: E731
    told = run("stage", large, tmp_path / "copy.npy", code=1, preexec_fn=ignore).stderr.decode()
    assert told.count("\n") == 1 and "copy.npy" in told and "offset 3000000" in told, told


@pytest.mark.parametrize("blow", [signal.SIGINT, signal.SIGKILL])
def test_what_was_interrupted_goes_on(large, tmp_path, blow):
    copy = tmp_path / "copy.npy"
    child = subprocess.Popen([COMMAND, "stage", large, copy], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    temporary = tmp_path / ".copy.npy.staging"
    deadline = time.monotonic() + 60
    while child.poll() is None and time.monotonic() < deadline:
        if temporary.exists() and temporary.stat().st_size > 20_000_000:
            child.send_signal(blow)
            break
    _, told = child.communicate(timeout=60)
    if child.returncode == 0:
        pytest.skip("the copy ended before the signal came; run this test alone")
    assert child.returncode == (130 if blow == signal.SIGINT else -signal.SIGKILL)
    assert not copy.exists()
    if blow == signal.SIGINT:
        assert told.decode().splitlines()[-1] == "penstock: error: interrupted"
    run("stage", large, copy)
    assert subprocess.run(["cmp", large, copy]).returncode == 0
    assert not temporary.exists()


def on_a_terminal(words):
    """What the command shows on a terminal."""
    pid, fd = pty.fork()
    if pid == 0:
        os.execv(COMMAND, [COMMAND, *map(str, words)])
    shown = b""
    while True:
        try:
            part = os.read(fd, 65536)
        except OSError:
            break
        if not part:
            break
        shown += part
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0, shown
    return shown.decode()


def test_a_terminal_shows_a_bar_with_rate_and_time_left(large, tmp_path):
    shown = on_a_terminal(["stage", large, tmp_path / "copy.npy"])
    lines = shown.split("\r")
    assert any(
        re.search(r"\[=* *\] staging +[\d.]+ \w+/572\.\d MiB +\d+ % +[\d,]+ MB/s +\d+ s left", x) for x in lines
    ), shown
    assert "1 files copied" in lines[-1] or "1 files copied" in shown


def test_without_a_terminal_short_work_shows_no_line(packed, tmp_path):
    assert run("stage", packed, tmp_path / "copy").stderr == b""


def test_in_python_it_tells_progress_and_what_to_open(packed, tmp_path, capfd):
    told = []
    result = ps.stage(packed, tmp_path / "copy", progress=lambda *now: told.append(now))
    assert result["opens"] == str(tmp_path / "copy") and result["kept_files"] == 0
    assert result["engine"] in ("io_uring", "pread") and result["engine_reason"]
    assert told and told[-1] == (result["bytes"], result["bytes"], result["bytes"])
    assert len(ps.open(result["opens"])) == len(ps.open(packed)) == 300
    again = ps.stage(ps.open(packed), str(tmp_path / "copy"), verify=True)
    assert again["kept_bytes"] == again["bytes"] == result["bytes"] and again["engine"] is None
    assert ps.stage(packed, tmp_path / "copy", overwrite=True, verify=False, progress=False)["kept_files"] == 0
    with pytest.raises(ps.Error) as error:
        ps.stage(packed, packed)
    assert error.value.kind == "invalid_argument"
    with pytest.raises(ps.Error):
        ps.stage(packed, tmp_path / "x", engine="steam")
    capfd.readouterr()


def test_in_python_ctrl_c_and_what_progress_raises_come_out(large, tmp_path):
    class Mine(Exception):
        pass

    def stop(done, total, copied):
        raise Mine

    with pytest.raises(Mine):
        ps.stage(large, tmp_path / "copy.npy", progress=stop)
    copy = str(tmp_path / "copy.npy")
    program = f"import penstock as ps; print(flush=True); ps.stage({str(large)!r}, {copy!r}, progress=False)"
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    child.stdout.readline()  # Python minds signals now; what the first attempt left may be large already
    temporary = tmp_path / ".copy.npy.staging"
    while child.poll() is None:
        if temporary.exists() and temporary.stat().st_size > 100_000_000:
            child.send_signal(signal.SIGINT)
            break
    _, text = child.communicate(timeout=60)
    if not (tmp_path / "copy.npy").exists():  # else the signal came when all was done
        assert child.returncode != 0 and b"KeyboardInterrupt" in text, child.returncode
    ps.stage(large, tmp_path / "copy.npy", progress=False)
    assert subprocess.run(["cmp", large, tmp_path / "copy.npy"]).returncode == 0


def test_all_ranks_of_a_node_may_call_it(packed, tmp_path):
    results = []
    ranks = [
        threading.Thread(target=lambda: results.append(ps.stage(packed, tmp_path / "copy", progress=False)))
        for _ in range(3)
    ]
    for rank in ranks:
        rank.start()
    for rank in ranks:
        rank.join()
    assert sorted(result["kept_files"] for result in results) == [0, results[0]["files"], results[0]["files"]]
    assert visible(tmp_path / "copy") == visible(pathlib.Path(packed))


def test_without_time_the_copy_consists_of_links_that_the_next_call_replaces(packed, tmp_path):
    copy = tmp_path / "copy"
    line = run("stage", packed, copy, "--within", "0s").stdout.decode()
    files = len(visible(packed))
    assert f"0 files copied, {files} linked to the source" in line and "time limit" in line
    assert os.readlink(copy / "penstock.json") == str(pathlib.Path(packed) / "penstock.json")
    assert run("ls", copy).stdout == run("ls", packed).stdout
    told = json.loads(run("stage", packed, copy, "--within", "10m", "--json").stdout)
    assert (told["copied_files"], told["linked_files"], told["kept_files"]) == (files, 0, 0)
    assert not any(path.is_symlink() for path in copy.iterdir())
    assert visible(copy) == visible(packed)

    result = ps.stage(packed, tmp_path / "again", within=0, progress=False)
    assert result["linked_files"] == files and result["linked_bytes"] == result["bytes"]
    assert len(ps.open(result["opens"])) == 300
    with pytest.raises(ps.Error, match="within must be 0 seconds or more, not -1"):
        ps.stage(packed, tmp_path / "x", within=-1)
    assert "--within" in run("stage", packed, tmp_path / "x", "--within", "soon", code=2).stderr.decode()
