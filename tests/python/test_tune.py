"""ps.tune: the command's search, from Python."""

import os
import signal
import subprocess
import sys
import time

import penstock as ps
import pytest

QUICK = {"workers": [1, 2], "prefetch": [1, 2], "seconds": 0.1, "progress": False}


def test_it_finds_a_setting_that_was_tried(icons):
    lines = []
    told = ps.tune(icons, **{**QUICK, "batch_size": [32], "progress": lines.append})
    best = told["best"]
    assert best["workers"] in (1, 2) and best["prefetch"] in (1, 2) and best["batch_size"] == 32
    assert told["settings"] == 4
    rows = {(row["workers"], row["prefetch"]): row["samples_per_s"] for row in told["rows"]}
    assert rows[best["workers"], best["prefetch"]] == best["samples_per_s"] > 0
    assert told["python_line"] == (
        f'loader = ps.Loader("{icons}", batch_size=32, workers={best["workers"]}, prefetch={best["prefetch"]}, transforms=transforms)'
    )
    assert told["reason"] and told["dataset"]["path"] == str(icons)
    assert sum("samples/s" in line for line in lines) >= 2


def test_a_dataset_and_one_batch_size_will_do(icons):
    told = ps.tune(ps.open(icons), **{**QUICK, "workers": [1], "prefetch": [2], "batch_size": 8}, train_step="sleep:1")
    assert [row["batch_size"] for row in told["rows"]] == [8]
    assert told["rows"][0]["consumer"] == "sleep:1"


def test_what_is_wrong_is_an_error(tmp_path, icons):
    with pytest.raises(ps.Error, match="missing"):
        ps.tune(tmp_path / "missing", **QUICK)
    with pytest.raises(ps.Error, match="image") as caught:
        ps.tune(icons, task="nonsense", **QUICK)
    assert caught.value.kind == "invalid_argument"


def test_without_the_command_the_error_says_so(icons, monkeypatch):
    monkeypatch.delenv("PENSTOCK_COMMAND")
    monkeypatch.setenv("PATH", "/nowhere")
    if ps._command.path() is None:
        with pytest.raises(ps.Error, match="command penstock"):
            ps.tune(icons, **QUICK)


def test_ctrl_c_ends_the_search_and_its_process(icons):
    code = "import sys, penstock as ps\nprint('ready', flush=True)\nps.tune(sys.argv[1], seconds=30)"
    child = subprocess.Popen(
        [sys.executable, "-c", code, str(icons)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    assert child.stdout.readline() == b"ready\n"
    time.sleep(1)
    began = time.monotonic()
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=30)
    assert time.monotonic() - began < 20
    assert b"KeyboardInterrupt" in err
    with pytest.raises(ProcessLookupError):  # of its group, nobody is left
        os.killpg(child.pid, 0)
