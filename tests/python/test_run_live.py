"""`penstock run` shows a training to `penstock top`, merges traces, and times spawned workers and devices."""

import gzip
import json
import os
import pathlib
import re

import numpy as np
import pytest
from command import fails
from command import run as command
from penstock._run.device import DeviceTimes, copy_time
from watched import RUN, execute, start

torch = pytest.importorskip("torch")

# ---- penstock top ----------------------------------------------------------------------------------------------------

STEPPED = """
import sys
import torch
from torch.utils.data import DataLoader
model = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for values in DataLoader(torch.zeros(100_000, 4), batch_size=5):
    model(values).sum().backward()
    optimizer.step()
    print("step", flush=True)
    if sys.stdin.readline() != "go\\n":
        break
"""


def shown(program):
    return [
        one
        for one in json.loads(command("top", "--json", "--interval", "0.1").stdout)["loaders"]
        if one["pid"] == program.pid
    ]


def steps_until_shown(program):
    """What `penstock top` shows of the program after further steps."""
    for _ in range(1000):
        assert program.stdout.readline() == "step\n"
        if found := shown(program):
            return found
        program.stdin.write("go\n")
        program.stdin.flush()
    raise AssertionError("no page was published")


@pytest.fixture(name="script")
def script_fixture(tmp_path):
    (tmp_path / "train.py").write_text(STEPPED)
    return tmp_path


@pytest.mark.parametrize("ends", ["ends", "killed"])
def test_top_shows_a_training(script, ends):
    environment = {**os.environ, "RANK": "1", "WORLD_SIZE": "3", "TMPDIR": str(script)}
    with start([*RUN, "train.py"], script, env=environment) as program:
        (found,) = steps_until_shown(program)
        assert (found["rank"], found["world"], found["epochs"], found["workers"]) == (1, 3, 0, 0)
        assert found["samples"] == 5 * found["batches"] > 0 and found["batches_taken"] == found["batches"]
        shares = {part["name"]: part["share"] for part in found["step"]}
        assert {"load", "compute", "optimizer"} <= set(shares) <= {"load", "compute", "optimizer", "other"}
        assert sum(shares.values()) == pytest.approx(1)
        assert found["program"] == "train.py"
        text = command("top", "--once", "--interval", "0.1", program.pid).stdout.decode()
        assert "  load [" in text and re.search(r" 1/3 +[\d.]+ +- +\d+ % +- +- +- ", text), text
        if ends == "killed":
            program.terminate()
        program.communicate("stop\n")
        assert program.returncode == (-15 if ends == "killed" else 0)
        folder = pathlib.Path(f"/dev/shm/penstock-{os.geteuid()}")
        assert not [page.name for page in folder.iterdir() if page.name.split(".")[1] == str(program.pid)]


def test_a_program_may_refuse_to_publish(script):
    with start([*RUN, "train.py"], script, env={**os.environ, "PENSTOCK_PUBLISH": "0"}) as program:
        for _ in range(3):
            assert program.stdout.readline() == "step\n" and shown(program) == []
            program.stdin.write("go\n")
            program.stdin.flush()
        program.communicate("stop\n")
        assert program.returncode == 0


# ---- Traces ----------------------------------------------------------------------------------------------------------

WITH_LOADER = """
import sys
import torch
import penstock as ps
model = torch.nn.Linear(8, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loader = ps.Loader(sys.argv[1], batch_size=4, workers=1)
if sys.argv[2] == "traces":
    loader.trace("own.json")
for _ in range(2):
    for batch in loader:
        model(torch.from_dlpack(batch["npy"])).sum().backward()
        optimizer.step()
if sys.argv[2] == "closes":
    loader.close()
"""


@pytest.mark.parametrize("also", ["nothing", "closes", "traces"])
def test_a_trace_contains_the_loader(tmp_path, also):
    (tmp_path / "data").mkdir()
    for number in range(80):
        np.save(tmp_path / f"data/{number:03}.npy", np.full((3, 8), number, np.float32))
    (tmp_path / "train.py").write_text(WITH_LOADER)
    done = execute([*RUN, "--trace", 3, "train.py", "data", also], tmp_path)
    assert done.returncode == 0 and "trace written; penstock overview train.trace.json.gz" in done.stderr
    with gzip.open(tmp_path / "train.trace.json.gz") as file:
        trace = json.load(file)
    if also == "traces":  # by the program itself
        assert "penstock" not in trace
    else:
        profiler = [event for event in trace["traceEvents"] if str(event.get("name")).startswith("ProfilerStep#")]
        loader = [event for event in trace["traceEvents"] if event.get("name") == "next" and event.get("ph") == "X"]
        first, last = (pick(event["ts"] for event in profiler) for pick in (min, max))
        assert len(profiler) == 3 and any(first <= event["ts"] <= last for event in loader)
    left = {path.name for path in tmp_path.iterdir()} - {"data", "train.py", "own.json"}
    assert left == {"train.trace.json.gz"}


# ---- Spawned workers -------------------------------------------------------------------------------------------------

SPAWNED = """
import multiprocessing, sys, time
import torch
from torch.utils.data import DataLoader, default_collate
def slow(samples):
    end = time.thread_time() + 0.02
    while time.thread_time() < end:
        pass
    return default_collate(samples)
if __name__ == "__main__":
    if sys.argv[1] == "default":
        multiprocessing.set_start_method("spawn")
    context = None if sys.argv[1] == "default" else sys.argv[1]
    for _ in DataLoader(range(60), batch_size=2, num_workers=1, collate_fn=slow, multiprocessing_context=context):
        pass
    print(torch.utils.data._utils.worker._worker_loop.__name__)
"""


@pytest.mark.parametrize("method", ["spawn", "forkserver", "default"])
def test_the_collate_time_of_other_workers_is_known(tmp_path, method):
    (tmp_path / "train.py").write_text(SPAWNED)
    done = execute([*RUN, "--json", "run.json", "train.py", method], tmp_path)
    assert (done.returncode, done.stdout) == (0, "_worker_loop\n"), done.stderr
    main = json.loads((tmp_path / "run.json").read_text())["loaders"][0]
    assert main["fetch_s"] >= main["fetch_collate_s"] >= 0.02


# ---- Devices ---------------------------------------------------------------------------------------------------------


class Stream:
    """Stands for torch.cuda, because no GPU is here: events have planted times, and finish when the test says so."""

    def __init__(self):
        self.now = 0.0
        self.finished = 0.0
        stream = self

        class Event:
            def __init__(self, enable_timing):
                assert enable_timing

            def record(self):
                self.at = stream.now

            def query(self):
                return self.at <= stream.finished

            def elapsed_time(self, later):
                assert later.at <= stream.finished, "an unfinished event"
                return later.at - self.at

        self.Event = Event

    def step(self, times, copies, work):
        times.got()
        for copy in copies:
            begin = times.event()
            self.now += copy
            times.copied(begin, times.event())
        self.now += work
        times.asked()


def test_a_device_is_never_waited_for():
    stream = Stream()
    times = DeviceTimes(stream)
    times.asked()  # before the first batch
    for _ in range(3):
        stream.step(times, [1.0, 2.0], 10.0)
        stream.now += 4.0
    assert times.steps == 0 and copy_time(times, 3) == 0
    stream.finished = stream.now
    stream.step(times, [], 5.0)
    assert (times.steps, times.copy, times.work, times.idle) == (3, 9.0, 30.0, 8.0)
    assert copy_time(times, 6) == 18_000_000 and copy_time(None, 6) == 0


def test_steps_that_a_device_never_finishes_take_no_memory():
    stream = Stream()
    times = DeviceTimes(stream)
    stream.finished = -1.0
    for _ in range(1000):
        stream.step(times, [], 1.0)
    assert len(times._pending) == 64


def test_without_cuda_nothing_is_replaced(tmp_path):
    (tmp_path / "train.py").write_text(
        "import torch\nto = torch.Tensor.to\n"
        "for _ in torch.utils.data.DataLoader(range(20)):\n    pass\n"
        "print(torch.Tensor.to is to, torch.cuda.is_initialized())\n"
    )
    assert execute([*RUN, "train.py"], tmp_path).stdout == "True False\n"


def test_a_report_is_no_trace(tmp_path):
    (tmp_path / "run.json").write_text('{"penstock_run": 1, "step_s": 0.1}')
    assert "a report of penstock run, not a trace; " in fails("overview", "--no-html", tmp_path / "run.json")
