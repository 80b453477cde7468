"""Traces of loaders: their files, what they agree with, and what other tools read of them. And steps."""

import errno
import gzip
import json
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import trace_checks
from command import handles

import penstock as ps
from penstock._penstock import StepLog

COMMAND = pathlib.Path(os.environ["PENSTOCK_COMMAND"])


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    for number in range(96):
        np.save(folder / f"{number:03}.npy", np.full((number % 5 + 1, 8), number, np.float32))
    return folder


@pytest.fixture
def make(data):
    loaders = []

    def made(**options):
        options.setdefault("batch_size", 8)
        options.setdefault("transforms", {"npy": ps.array.decode(ragged=True)})
        loaders.append(ps.Loader(data, **options))
        return loaders[-1]

    yield made
    for loader in loaders:
        loader.close()


def read(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def others_wait():
    """Whether all other threads of this process wait, as man 5 proc has it."""
    for thread in os.listdir("/proc/self/task"):
        try:
            with open(f"/proc/self/task/{thread}/stat") as file:
                state = file.read().rpartition(")")[2].split()[0]
        except OSError:  # it has ended
            continue
        if state in "RD" and int(thread) != threading.get_native_id():
            return False
    return True


def settled(loader):
    """Its stats once all its room is taken and nothing is at work until a batch is asked for, however long that takes here."""
    told, since = loader.stats(), time.monotonic()
    while time.monotonic() - since < 0.05:
        time.sleep(0.001)
        before, told = told, loader.stats()
        if not others_wait() or any(
            told["stages"][name]["busy_s"] != stage["busy_s"] for name, stage in before["stages"].items()
        ):
            since = time.monotonic()
    return told


def sum_of(trace, name, pid=0):
    return (
        sum(
            event["dur"]
            for event in trace["traceEvents"]
            if event["name"] == name and event["ph"] == "X" and event["pid"] % 4 == pid
        )
        * 1e-6
    )


@pytest.mark.parametrize("cache", [None, "decoded"])
@pytest.mark.parametrize("engine", ["inline", "io_uring", "pread", "mmap"])
def test_a_trace_is_well_formed_and_its_spans_add_up_to_the_table(make, tmp_path, engine, cache):
    try:
        loader = make(
            read_options=ps.ReadOptions(engine=engine),
            cache=cache,
            workers=3,
            shuffle=True,
            batch_transform=lambda batch: time.sleep(0.001) or batch,
        )
    except ps.Error as error:
        if error.kind == "unsupported" or engine == "io_uring":
            pytest.skip(f"{error}; allow io_uring, which this kernel or container forbids")
        raise
    for _ in loader:
        pass
    settled(loader)  # what is done between the two calls below would be in one of the two records alone
    loader.reset_stats()
    with loader.trace(tmp_path / "trace.json") as trace:
        for _ in range(4):
            for _ in loader:
                time.sleep(0.0005)
        stats = settled(loader)
    assert trace.dropped == 0 and trace.events > 100
    told = read(tmp_path / "trace.json")
    trace_checks.check(told)
    assert told["penstock"]["events"] == trace.events
    assert sum_of(told, "next") == pytest.approx(stats["data_wait_s"], rel=1e-3)
    assert sum_of(told, "step") == pytest.approx(stats["step_s"], rel=1e-3)
    for name, stage in (("decode", "decode"), ("transform", "transform"), ("custom_transform", "custom_transform")):
        assert sum_of(told, name) == pytest.approx(stats["stages"][stage]["busy_s"], rel=0.02, abs=0.0001)
    keys = {event["args"]["key"] for event in told["traceEvents"] if event["name"] == "sample"}
    assert cache == "decoded" or keys == {f"{number:03}" for number in range(96)}


def test_a_trace_without_with_ends_when_the_loader_is_closed(make, tmp_path):
    loader = make()
    trace = loader.trace(str(tmp_path / "trace.json"))
    next(iter(loader))
    assert not (tmp_path / "trace.json").exists()
    assert "recording" in repr(trace)
    loader.close()
    trace_checks.check(read(tmp_path / "trace.json"))
    trace.end()
    with pytest.raises(ps.Error, match="closed"):
        loader.trace(tmp_path / "other.json")


def test_an_exception_or_an_interrupt_in_the_loop_leaves_a_whole_trace(make, tmp_path):
    with pytest.raises(KeyboardInterrupt), make().trace(tmp_path / "trace.json") as trace:
        raise KeyboardInterrupt
    assert trace.events is not None
    trace_checks.check(read(tmp_path / "trace.json"))
    assert sorted(each.name for each in tmp_path.iterdir()) == ["data", "trace.json"]


def test_files_that_cannot_be_written_are_refused_before_the_loop(make, tmp_path):
    loader = make()
    for path in (tmp_path / "nowhere" / "trace.json", tmp_path / "data"):
        with pytest.raises(ps.Error, match="cannot write the trace") as raised:
            loader.trace(path)
        assert str(path) in str(raised.value)
    with pytest.raises(ps.Error, match="max_events"):
        loader.trace(tmp_path / "trace.json", max_events=0)
    with loader.trace(tmp_path / "trace.json"), pytest.raises(ps.Error, match="already being recorded"):
        loader.trace(tmp_path / "other.json")
    with pytest.raises(ps.Error, match="no trace"):
        loader.end_trace()


def test_a_full_disk_is_told_and_the_loader_goes_on(make):
    loader = make()
    with pytest.raises(ps.Error, match=f"/dev/full.*{os.strerror(errno.ENOSPC)}"), loader.trace("/dev/full"):
        next(iter(loader))
    assert len(list(loader)) == 12
    loader.trace("/dev/full")
    with pytest.raises(ps.Error, match="/dev/full"):
        loader.close()
    loader.close()


def test_events_that_do_not_fit_are_told_with_a_warning(make, tmp_path):
    loader = make()
    with (
        pytest.warns(UserWarning, match="trace.json is full and lacks"),
        loader.trace(tmp_path / "trace.json", max_events=2048) as trace,
    ):
        for _ in range(60):
            for _ in loader:
                pass
    assert trace.dropped > 0
    trace_checks.check(read(tmp_path / "trace.json"))


def test_under_a_schedule_active_steps_alone_are_recorded(make, tmp_path):
    loader = make()
    with loader.trace(tmp_path / "trace.json", schedule=ps.schedule(wait=2, warmup=1, active=2, repeat=2)):
        for _ in loader:
            loader.mark_step()
    told = read(tmp_path / "trace.json")
    trace_checks.check(told)
    assert [event["args"]["batch"] for event in told["traceEvents"] if event["name"] == "next"] == [3, 4, 8, 9]


def test_the_order_and_bytes_of_batches_are_the_same_with_a_trace(make, tmp_path):
    def epoch(loader):
        return [(batch["__key__"], np.asarray(batch["npy"].values).tobytes()) for batch in loader]

    loader, traced = make(shuffle=True, seed=3), make(shuffle=True, seed=3)
    with traced.trace(tmp_path / "trace.json"):
        assert epoch(loader) == epoch(traced)


def test_a_fork_s_child_does_not_write_the_parent_s_trace(make, tmp_path):
    loader = make()
    with loader.trace(tmp_path / "trace.json"):
        child = os.fork()
        if child == 0:
            os._exit(0 if not loader._tracing() else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert not (tmp_path / "trace.json").exists()


# ---- The command -----------------------------------------------------------------------------------------------------


def bench(*arguments, **more):
    return subprocess.run(
        [COMMAND, "bench", *arguments], capture_output=True, text=True, timeout=120, check=False, **more
    )


def test_bench_writes_a_trace_and_says_so(data, tmp_path):
    shortly = ("--seconds", "0.2", "--no-efficiency", "--workers", "1,2")
    done = bench(data, *shortly, "--trace", tmp_path / "t.json", "--json", tmp_path / "r.json")
    assert done.returncode == 0, done.stderr
    assert f"{tmp_path}/t.json" in done.stdout
    trace_checks.check(read(tmp_path / "t.json"))
    assert read(tmp_path / "r.json")["trace"]["events"] == read(tmp_path / "t.json")["penstock"]["events"]


def test_bench_refuses_a_trace_it_cannot_write_before_it_runs(data, tmp_path):
    begun = time.monotonic()
    done = bench(data, "--seconds", "60", "--trace", tmp_path / "nowhere" / "t.json")
    assert done.returncode == 1
    assert f"cannot write {tmp_path}/nowhere/t.json" in done.stderr and done.stderr.count("\n") == 1
    assert time.monotonic() - begun < 30
    done = bench(data, "--mock-loader", "--train-step", "sleep:1", "--trace", tmp_path / "t.json")
    assert done.returncode == 2 and "mock loader" in done.stderr


def test_bench_tells_of_a_full_disk(data):
    done = bench(data, "--seconds", "0.2", "--no-efficiency", "--trace", "/dev/full")
    assert done.returncode == 1
    assert "/dev/full" in done.stderr and done.stderr.count("\n") == 1


def test_an_interrupted_bench_leaves_no_trace_or_a_whole_one(data, tmp_path):
    process = subprocess.Popen(
        [COMMAND, "bench", data, "--seconds", "60", "--no-efficiency", "--trace", tmp_path / "t.json"],
        stderr=subprocess.PIPE,
    )
    # Its loader has threads.
    while len(os.listdir(f"/proc/{process.pid}/task")) < 3 or not handles(process.pid, signal.SIGINT):
        assert process.poll() is None
        time.sleep(0.001)
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130
    process.stderr.close()
    assert sorted(each.name for each in tmp_path.iterdir()) in (["data"], ["data", "t.json"])


# ---- Beside PyTorch's profiler ---------------------------------------------------------------------------------------


@pytest.fixture
def merged(make, tmp_path):
    pytest.importorskip("torch")
    import profiled

    return profiled.merged_trace(make(workers=2), tmp_path)


def test_a_merged_trace_is_on_one_clock(merged, tmp_path):
    ours, all_of = read(tmp_path / "penstock.json")["traceEvents"], read(merged)["traceEvents"]
    assert len(all_of) == len(ours) + len(read(tmp_path / "torch.json")["traceEvents"])
    mark = "enumerate(DataLoader)#PenstockLoader.__next__"
    theirs = sorted((event["ts"], event["ts"] + event["dur"]) for event in all_of if event["name"] == mark)
    waits = sorted((event["ts"], event["ts"] + event["dur"]) for event in all_of if event["name"] == "next")
    assert len(waits) == 12 and len(theirs) == 13  # and the end of the epoch
    for (begin, end), (from_, to) in zip(waits, theirs):
        assert from_ - 500 <= begin and end <= to + 500  # microseconds


def test_what_is_no_trace_is_not_merged(make, tmp_path):
    with make().trace(tmp_path / "t.json"):
        pass
    (tmp_path / "text").write_text("{")
    (tmp_path / "empty").write_text("{}")
    (tmp_path / "torch.json").write_text('{"traceEvents": []}')
    for first, second in (("text", "t.json"), ("empty", "t.json"), ("t.json", "text"), ("absent", "t.json")):
        with pytest.raises(ps.Error, match=first if first != "t.json" else second):
            ps.merge_traces(tmp_path / first, tmp_path / second, tmp_path / "out.json")
    with pytest.raises(ps.Error, match="not a trace of a penstock loader"):
        ps.merge_traces(tmp_path / "t.json", tmp_path / "torch.json", tmp_path / "out.json")
    with pytest.raises(ps.Error, match="cannot write"):
        ps.merge_traces(tmp_path / "torch.json", tmp_path / "t.json", tmp_path / "nowhere" / "out.json")
    assert not (tmp_path / "out.json").exists()


def test_traces_of_several_loaders_are_merged_as_processes_of_their_own_and_compressed(make, tmp_path):
    for name in ("a.json", "b.json"):
        loader = make()
        with loader.trace(tmp_path / name):
            list(loader)
    with gzip.open(tmp_path / "torch.json.gz", "wt") as file:
        file.write('{"displayTimeUnit": "ms", "traceEvents": []}')
    ps.merge_traces(tmp_path / "torch.json.gz", [tmp_path / "a.json", tmp_path / "b.json"], tmp_path / "out.json.gz")
    with gzip.open(tmp_path / "out.json.gz", "rt") as file:
        merged = json.load(file)
    trace_checks.check(merged)
    assert len([event for event in merged["traceEvents"] if event["name"] == "process_name"]) >= 4


def test_tensorboard_s_plug_in_reads_a_merged_trace(merged, tmp_path):
    data = pytest.importorskip("torch_tb_profiler.profiler.data")
    from torch_tb_profiler.profiler.run_generator import RunGenerator

    (tmp_path / "host_1.1700000000000.pt.trace.json").write_text(merged.read_text())
    parsed = data.RunProfileData.parse("host_1", "1", str(tmp_path / "host_1.1700000000000.pt.trace.json"), None)
    views = RunGenerator("host_1", "1", parsed).generate_run_profile().views
    assert {"Overview", "Operator", "Trace"} <= {view.display_name for view in views}


# ---- Steps -----------------------------------------------------------------------------------------------------------


def parts(step):
    return step["data_wait_s"] + step["compute_s"] + step["other_s"]


def test_steps_tell_what_a_loop_did_and_add_up(make):
    loader = make(workers=1)
    for _ in loader:
        time.sleep(0.002)
    steps = loader.steps()
    assert steps["steps"] == 12 and [step["step"] for step in steps["by_step"]] == list(range(12))
    stats = loader.stats()
    assert sum(step["data_wait_s"] for step in steps["by_step"]) == pytest.approx(stats["data_wait_s"], rel=1e-6)
    for stage, waited in stats["data_wait_by_stage_s"].items():
        assert sum(step["data_wait_by_stage_s"][stage] for step in steps["by_step"]) == pytest.approx(waited, abs=1e-6)
    assert all(step["compute_s"] >= 0.002 and step["batches"] == 1 for step in steps["by_step"])
    assert sum(map(parts, steps["by_step"])) / 12 == pytest.approx(parts(steps["average"]))
    assert "data wait" in str(steps) and "compute" in str(steps)


def test_a_schedule_picks_steps(make):
    loader = make()
    for _ in loader:
        loader.mark_step()
    steps = loader.steps(ps.schedule(wait=1, warmup=1, active=2, repeat=2))
    assert [step["step"] for step in steps["by_step"]] == [2, 3, 6, 7]
    assert steps["steps"] == 4 and steps["not_kept"] == 0
    assert "compute" in str(steps)
    assert loader.steps(ps.schedule(wait=100, warmup=0, active=1))["steps"] == 0
    with pytest.raises(ps.Error, match="active"):
        ps.schedule(wait=1, warmup=1, active=0)


def test_steps_of_several_batches_are_whole_from_the_first_mark_on(make):
    own, other = make(), ps.profile([0, 1, 2, 3] * 3)
    for loader in (own, other):
        for number, _ in enumerate(loader):
            if number % 4 == 3:
                loader.mark_step()
        steps = loader.steps()
        assert [step["batches"] for step in steps["by_step"]] == [4, 4, 4]
        assert steps["average"]["batches"] == 4


def test_a_schedule_of_another_s_is_refused(make):
    with pytest.raises(
        TypeError, match=r"schedule must be a penstock.Schedule, from ps.schedule\(\), or None, not function"
    ):
        make().steps(lambda step: "active")


def test_schedules_agree_with_torch_s():
    torch = pytest.importorskip("torch")
    for options in (
        {"wait": 1, "warmup": 2, "active": 3},
        {"wait": 0, "warmup": 0, "active": 1, "repeat": 2, "skip_first": 3},
    ):
        theirs, ours = torch.profiler.schedule(**options), ps.schedule(**options)
        action = torch.profiler.ProfilerAction
        names = {
            action.NONE: "wait",
            action.WARMUP: "warmup",
            action.RECORD: "active",
            action.RECORD_AND_SAVE: "active",
        }
        assert [ours(step) for step in range(30)] == [names[theirs(step)] for step in range(30)]


def test_a_profile_of_any_loader_has_steps_of_the_same_words(make):
    def batches():
        for number in range(5):
            time.sleep(0.003)
            yield number

    profile = ps.profile(list(range(1)))
    assert profile.steps()["steps"] == 0
    profile = ps.profile(batches())
    for _ in profile:
        time.sleep(0.002)
        profile.mark_step()
        time.sleep(0.001)
    steps = profile.steps()
    assert steps["steps"] == 5
    for step in steps["by_step"]:
        assert step["data_wait_s"] >= 0.003 and step["compute_s"] >= 0.002
    assert sum(step["other_s"] for step in steps["by_step"]) >= 0.004
    own = make()
    profile = ps.profile(own)
    for _ in profile:
        profile.mark_step()
    assert profile.steps() == own.steps()
    assert set(profile.steps()["average"]) == set(steps["average"])
    profile.reset_stats()


def test_steps_of_any_loader_are_their_spans():
    log = StepLog()
    log.next(100, 105, True)  # before the first: nothing is known
    log.next(115, 118, True)
    log.next(130, 132, False)  # the end of the epoch waits too
    log.next(140, 150, True)
    steps = log.steps(None)
    spans = [
        (round(step["data_wait_s"] * 1e9), round(step["compute_s"] * 1e9), round(step["other_s"] * 1e9))
        for step in steps["by_step"]
    ]
    assert spans == [(5, 10, 0), (3, 12, 0)]
    log.mark(155)  # takes back the steps that next() ended in this epoch: none
    log.next(150, 160, True)  # asked for before the last point of time: another thread shares the loop
    log.mark(170)
    average = log.steps(None)["average"]
    assert log.steps(None)["steps"] == 4 and average["batches"] == 1
    assert average["data_wait_s"] * 4 == pytest.approx(30e-9)
    assert average["compute_s"] * 4 == pytest.approx((10 + 12 + 5 + 10) * 1e-9)
    assert average["other_s"] * 4 == pytest.approx(8e-9)
    log.reset()
    assert log.steps(None)["steps"] == 0


def test_interpreters_exit_ends_a_trace(data, tmp_path):
    program = (
        "import sys, penstock as ps\n"
        "loader = ps.Loader(sys.argv[1], batch_size=8, transforms={'npy': ps.array.decode(ragged=True)})\n"
        "loader.trace(sys.argv[2])\n"
        "next(iter(loader))\n"
    )
    subprocess.run([sys.executable, "-c", program, data, tmp_path / "t.json"], check=True, timeout=60)
    trace_checks.check(read(tmp_path / "t.json"))
