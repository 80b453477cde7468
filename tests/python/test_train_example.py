"""bindings/python/examples/train.py: it learns, its limits are told apart, and a profiler sees it wait for data."""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys

import pytest

pytest.importorskip("torch", reason="torch is not installed")

SCRIPT = pathlib.Path(__file__).parents[2] / "bindings/python/examples/train.py"
HEADER = "epoch   step     loss  accuracy  samples/s  loading ms  training ms"


@pytest.fixture(name="packed", scope="module")
def packed_fixture(tmp_path_factory):
    folder = tmp_path_factory.mktemp("train")
    command = os.environ["PENSTOCK_COMMAND"]
    subprocess.run([command, "synth", "icons", "icons", "-n", "1500", "--seed", "1"], cwd=folder, check=True)
    subprocess.run([command, "pack", "icons", "icons.tar.d", "--format", "tar"], cwd=folder, check=True)
    return folder / "icons.tar.d"


def train(*arguments):
    command = [sys.executable, str(SCRIPT), *map(str, arguments)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == HEADER
    return done.stdout


def rows(out):
    return [line.split() for line in out.splitlines() if re.fullmatch(r"\s+\d+\s+\d+(\s+[\d.-]+){5}", line)]


def test_it_learns_and_the_profiler_sees_the_loader(packed, tmp_path):
    trace = tmp_path / "trace.json"
    out = train(packed, "--epochs", 3, "--batch-size", 32, "--profile", trace)
    losses = [float(row[2]) for row in rows(out)]
    assert losses[-1] < losses[0]
    held_out = [float(share) for share in re.findall(r"^held out: ([\d.]+) of 150 samples", out, re.MULTILINE)]
    assert len(held_out) == 3 and max(held_out) > 0.25  # of 10 classes
    assert re.search(r"^4050 samples in .* s: \d+ samples/s, loading .* s, training .* s$", out, re.MULTILINE)
    assert re.search(r"^DataLoader: .* s of .* s, [\d.]+%", out, re.MULTILINE)
    events = json.loads(trace.read_text())
    events = events if isinstance(events, list) else events["traceEvents"]  # torch before 2.0 writes the events alone
    waits = [event for event in events if event.get("name") == "enumerate(DataLoader)#PenstockLoader.__next__"]
    assert len(waits) == 3 * (43 + 1 + 5 + 1)  # batches of both loaders, and the ends of their epochs


def test_the_limits_are_told_apart(packed):
    loading = train(packed, "--epochs", 1, "--mock-trainer")
    assert rows(loading)[-1][2:4] == ["-", "-"] and "held out" not in loading
    training = train(packed, "--epochs", 1, "--batch-size", 150, "--mock-loader")
    assert float(rows(training)[-1][5]) < 1 and "held out" not in training


def test_ctrl_c_finishes_the_step_and_tells_the_sums(packed):
    command = [sys.executable, str(SCRIPT), str(packed), "--epochs", "1000", "--every", "1"]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert child.stdout.readline() == HEADER + "\n"
    child.stdout.readline()
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=60)
    assert child.returncode == 130 and "KeyboardInterrupt" not in err
    assert "samples in" in out.splitlines()[-1]
