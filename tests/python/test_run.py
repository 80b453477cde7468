"""`penstock run`: the script runs as without it, and the report names the planted cause."""

import dataclasses
import gzip
import importlib
import itertools
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import textwrap
import types

import penstock
import pytest
from penstock._profile.about import About
from penstock._run import causes, loops, optimizers, report
from penstock._run.loops import Clock, Loop, Totals
from penstock._run.options import parsed
from penstock._run.steps import KEPT, StepTimes
from penstock._run.summary import LoaderFigures, RunFigures, plus_minus
from watched import LAUNCH, RUN, TRAINING, execute

HERE = pathlib.Path(__file__).parent
SCENARIOS = HERE / "causes/scenarios.py"
NOTHING = "penstock run: no loader delivered two batches in this process\n"


# ---- The script runs as without penstock -----------------------------------------------------------------------------

PROGRAMS = {
    "ends": "print('x')",
    "names": """
        import sys
        print(sys.argv, sys.path[0], __name__, __file__, __spec__, __package__, sorted(globals()))
        print(sys.modules["__main__"].__file__, type(__loader__).__name__, __builtins__)
    """,
    "exits": "import sys\nsys.exit(7)",
    "exits with text": "import sys\nsys.exit('no data')",
    "exits well": "raise SystemExit",
    "raises": """
        def inner():
            raise ValueError("no such row")
        try:
            inner()
        except ValueError as failure:
            raise KeyError("row") from failure
    """,
    "has a wrong line": "x = 1\nx = = 2",
    "is interrupted": "raise KeyboardInterrupt",
    "is killed": "import os, signal\nos.kill(os.getpid(), signal.SIGTERM)",
    "collects garbage while signals arrive": """
        import gc, signal, sys
        class Stop(Exception): pass
        raised = 0
        def stop(*_):
            global raised
            raised += 1
            raise Stop
        signal.signal(signal.SIGALRM, stop)
        for count in range(300):
            try:
                signal.setitimer(signal.ITIMER_REAL, 0.0003)
                while raised == count:
                    gc.collect(0)
                sys.exit("an exception of a signal handler is lost")
            except Stop:
                pass
        print(raised)
    """,
    "leaves at once": "import os\nprint('x', flush=True)\nos._exit(5)",
    "exits in a thread": """
        import sys, threading
        thread = threading.Thread(target=sys.exit, args=(3,))
        thread.start()
        thread.join()
        print("after")
    """,
    "has its own excepthook": """
        import sys, traceback
        def hook(kind, value, where):
            print(kind.__name__, [frame.name for frame in traceback.extract_tb(where)])
        sys.excepthook = hook
        1 / 0
    """,
    "has handlers": """
        import atexit, sys
        atexit.register(print, "handler")
        class Row: pass
        if __name__ == "__main__":
            import copy, pickle
            assert type(pickle.loads(pickle.dumps(Row()))) is Row
            sys.exit(2)
    """,
    "starts processes": """
        import multiprocessing
        class Row:
            def __init__(self, number): self.number = number
        def work(row):
            return Row(row.number + 1)
        if __name__ == "__main__":
            for method in "fork", "spawn":
                with multiprocessing.get_context(method).Pool(1) as pool:
                    print(pool.map(work, [Row(1)])[0].number)
    """,
    "forks": """
        import os, sys
        if os.fork() == 0:
            sys.exit(0)
        print(os.wait()[1])
    """,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_script_runs_as_with_python(tmp_path, name):
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(PROGRAMS[name]))
    words = ["script.py", "--help", "-m", "--", "a b"]
    alone = execute([sys.executable, *words], tmp_path)
    watched = execute([*RUN, "--quiet", *words], tmp_path)
    ends_at_once = alone.returncode == 5
    assert watched.returncode == alone.returncode
    assert watched.stdout == alone.stdout
    assert watched.stderr == alone.stderr + ("" if ends_at_once else NOTHING)


def test_a_module_runs_as_with_python(tmp_path):
    package = tmp_path / "package"
    (package / "inner").mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "inner/__init__.py").touch()
    (package / "other.py").write_text("VALUE = 5")
    (package / "inner/train.py").write_text(
        textwrap.dedent("""
            import multiprocessing, sys
            from ..other import VALUE
            def work(number):
                return number + VALUE
            if __name__ == "__main__":
                print(sys.argv, sys.path[0], __file__, __spec__.name, __package__)
                with multiprocessing.get_context("spawn").Pool(1) as pool:
                    print(pool.map(work, [1]))
                sys.exit(4)
        """)
    )
    alone = execute([sys.executable, "-m", "package.inner.train", "-x"], tmp_path)
    watched = execute([*RUN, "--quiet", "-m", "package.inner.train", "-x"], tmp_path)
    assert (alone.returncode, alone.stderr) == (4, "")
    assert (watched.returncode, watched.stdout, watched.stderr) == (4, alone.stdout, NOTHING)


def test_the_collector_visits_no_objects_of_the_watch(tmp_path):
    (tmp_path / "script.py").write_text("import gc\nprint(len(gc.get_objects()))")
    alone = execute([sys.executable, "script.py"], tmp_path)
    watched = execute([*RUN, "--quiet", "script.py"], tmp_path)
    assert watched.stderr == NOTHING
    assert 0 < int(watched.stdout) <= int(alone.stdout)


def test_a_folder_with_a_main_file_is_a_script(tmp_path):
    (tmp_path / "program").mkdir()
    (tmp_path / "program/__main__.py").write_text("import sys\nprint(sys.argv, sys.path[0], __name__)")
    alone = execute([sys.executable, "program", "x"], tmp_path)
    assert execute([*RUN, "program", "x"], tmp_path).stdout == alone.stdout


@pytest.mark.parametrize("words", [["missing.py"], ["-m", "missing"], ["-m", "os.missing"]])
def test_a_missing_script_is_named(tmp_path, words):
    told = execute([*RUN, *words], tmp_path)
    assert told.returncode == 2 and "\n" not in told.stderr.strip()
    assert told.stderr.startswith(f"penstock run: error: {words[-1]}: ")


def test_the_command_starts_python(tmp_path):
    command = os.environ["PENSTOCK_COMMAND"]
    (tmp_path / "script.py").write_text("import sys\nprint(sys.argv)\nsys.exit(3)")
    python = {"PENSTOCK_PYTHON": sys.executable}
    told = execute([command, "run", "--quiet", "--", "script.py", "--json", "[a,b]", "--", "-h"], tmp_path, **python)
    assert (told.returncode, told.stdout) == (3, "['script.py', '--json', '[a,b]', '--', '-h']\n")
    missing = execute([command, "run", "script.py"], tmp_path, PENSTOCK_PYTHON="/nowhere/python")
    assert missing.returncode == 1 and "set PENSTOCK_PYTHON" in missing.stderr


def test_the_script_of_a_wheel_runs_in_this_process(tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/penstock").write_text("import sys\nfrom penstock._command import main\nsys.exit(main())")
    (tmp_path / "script.py").write_text("import os, sys\nprint(os.getpid(), sys.path[0])\nsys.exit(3)")
    words = [sys.executable, "bin/penstock", "run", "--quiet", "script.py"]
    with subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as program:
        told = program.communicate(timeout=60)
    assert (program.returncode, told) == (3, (f"{program.pid} {tmp_path}\n", NOTHING))


def test_both_helps_list_the_same_options(tmp_path):
    own = execute([*RUN, "--help"], tmp_path)
    compiled = execute([os.environ["PENSTOCK_COMMAND"], "run", "--help"], tmp_path)
    assert (own.returncode, compiled.returncode) == (0, 0)
    options = [set(re.findall(r"^  (--[a-z-]+)", told.stdout, re.MULTILINE)) for told in (own, compiled)]
    assert options[0] == options[1] and len(options[0]) == 7


def test_options_end_at_the_script():
    options = parsed(["--every", "5", "--quiet", "train.py", "--quiet", "--json", "x"])
    assert (options.every, options.quiet, options.json) == (5.0, True, None)
    assert (options.target, options.arguments) == ("train.py", ("--quiet", "--json", "x"))
    assert parsed(["--", "-odd.py"]).target == "-odd.py"
    assert parsed(["--", "-m", "package", "-m"]) == parsed(["-m", "package", "-m"])


@pytest.mark.parametrize("words", [[], ["--quiet"], ["-m"], ["--every", "0", "x.py"], ["--trace", "0", "x.py"]])
def test_wrong_usage_is_refused(words):
    with pytest.raises(SystemExit) as refused:
        parsed(words)
    assert refused.value.code == 2


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--json", "-"], "--json: stdout belongs to the script"),
        (["--json", "x", "--out", "./x"], "--out: another report would be written to ./x"),
        (["--out", "x", "--trace", "2", "--trace-file", "x"], "--trace-file: another report would be written to x"),
        (["--json", "one", "--out", "two"], "--out: another report would be written to two"),
    ],
)
def test_reports_need_files_of_their_own(words, told, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "one").touch()
    (tmp_path / "two").hardlink_to(tmp_path / "one")
    with pytest.raises(SystemExit) as refused:
        parsed([*words, "x.py"])
    assert refused.value.code == 2 and told in capsys.readouterr().err


def test_a_report_does_not_replace_a_device(tmp_path):
    assert parsed(["--json", "/dev/null", "--out", "/dev/null", "x.py"]).json == "/dev/null"
    device = tmp_path / "device"
    device.symlink_to("/dev/null")
    report.write(str(device), {"steps": 1})
    assert device.is_symlink() and not pathlib.Path("/dev/null").read_text()
    report.write(str(tmp_path / "file"), {"steps": 1})
    assert json.loads((tmp_path / "file").read_text()) == {"steps": 1}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["device", "file"]


# ---- Times -----------------------------------------------------------------------------------------------------------


class Timed:
    """A loop with planted times."""

    def __init__(self, clock=None):
        self.steps, self.totals, self.clock = StepTimes(object(), About("DataLoader", 0)), Totals(), clock or Clock()
        self.loop = None

    def begin(self, began, now):
        new = Loop(self.steps, self.totals, self.clock)
        new.begin(began, now, self.loop)
        self.loop = new

    def batch(self, asked, got):
        self.loop.asked(asked)
        self.loop.got(got, False)

    def end(self, asked, ended):
        self.loop.asked(asked)
        self.loop.ended(ended)


def test_looks_become_seldom_and_count_the_time_in_which_the_thread_is_ready(monkeypatch):
    ready = itertools.count(0, 5)
    monkeypatch.setattr(loops, "waited", lambda: next(ready))
    timed = Timed()
    timed.begin(0, 0)
    for number in range(100):
        timed.batch(number * 100_000_000, number * 100_000_000 + 1)
    assert timed.steps.cpu_looks == 20 + 8  # the first 20 steps of 100 ms, then one in each second
    assert timed.steps.thread_ready == 5 * timed.steps.cpu_looks


def test_each_part_of_the_time_counts_once():
    timed = Timed()
    timed.begin(100, 110)
    timed.batch(110, 150)  # the first batch and its step are kept apart
    timed.batch(200, 230)
    timed.totals.optimizer += 20
    timed.batch(300, 340)
    timed.end(400, 405)
    timed.begin(500, 501)
    timed.batch(501, 511)
    timed.batch(600, 601)
    timed.end(700, 702)
    steps, sums = timed.steps, timed.steps.sums()
    assert (steps.first_batch, steps.first_step, steps.epochs) == (50, 50, 2)
    assert (steps.steps, steps.batches) == (3, 4)
    assert (sums.load, sums.optimizer) == (30 + 40 + 1, 20)
    assert sums.compute == 70 - 20 + 60 + 89 + 99
    assert (steps.starts, steps.ends, steps.between) == (11, 5 + 2, 500 - 405)
    assert steps.wall == 702 - 200  # all except what is kept apart


def test_the_closure_of_an_optimizer_is_computing(monkeypatch):
    torch = pytest.importorskip("torch")
    optimizer = importlib.import_module("torch.optim.optimizer")
    handles = []

    def register(name):
        return lambda hook: handles.append(getattr(optimizer, name)(hook))

    names = "register_optimizer_step_pre_hook", "register_optimizer_step_post_hook"
    module = types.SimpleNamespace(**{name: register(name) for name in names})
    now = 1

    def passes(time, value=None):
        nonlocal now
        now += time
        return value

    class Own(torch.optim.Optimizer):
        def step(self, closure=None):
            passes(3)
            losses = [closure(), closure()] if closure is not None else []
            passes(5)
            return losses

    monkeypatch.setattr(optimizers, "_now", lambda: now)
    totals = Totals()
    optimizers.time_optimizers(module, totals)
    own = Own([torch.nn.Parameter(torch.zeros(1))], {})
    try:
        assert own.step() == [] and (totals.optimizer, totals.optimizer_steps) == (8, 1)
        assert own.step(lambda: passes(100, "loss")) == ["loss"] * 2
        assert (totals.optimizer, totals.optimizer_steps) == (16, 2)
        assert own.step(closure=lambda: passes(100, "loss")) == ["loss"] * 2
        with pytest.raises(ZeroDivisionError) as raised:
            own.step(lambda: 1 / 0)
        assert not any("optimizers.py" in str(entry.path) for entry in raised.traceback)
        assert own.step(lambda: passes(100)) == [None, None]
    finally:
        for handle in handles:
            handle.remove()
    assert (totals.optimizer, totals.optimizer_steps) == (16 + 8 + 3 + 8, 4)


def test_a_validation_inside_an_epoch_counts_for_its_own_loader():
    training = Timed()
    validation = Timed(training.clock)
    training.begin(0, 0)
    training.batch(0, 10)
    training.batch(20, 30)
    validation.begin(40, 45)
    validation.batch(45, 50)
    validation.batch(60, 70)
    validation.end(80, 90)
    training.batch(100, 110)
    training.end(120, 120)
    assert training.steps.sums().load == 20
    assert training.steps.sums().compute == (100 - 30) - 50 + 10


def test_a_left_epoch_ends_with_its_last_batch():
    timed = Timed()
    timed.begin(0, 0)
    timed.batch(0, 10)
    timed.batch(20, 30)
    timed.begin(130, 131)
    timed.batch(131, 132)
    assert (timed.steps.steps, timed.steps.between) == (0, 100)


def test_more_steps_than_are_kept_have_exact_sums():
    timed = StepTimes(object(), About("DataLoader", 0))
    for number in range(KEPT + 10):
        timed.add(number, 1, 2, 3)
    assert timed.sums() == (sum(range(KEPT + 10)), KEPT + 10, 2 * (KEPT + 10), 3 * (KEPT + 10))
    assert timed.lengths() == [number + 3 for number in range(10, KEPT + 10)]
    assert timed.waits().count == KEPT


def test_the_uncertainty_grows_with_the_spread():
    assert plus_minus([5.0] * 100) == 0
    assert plus_minus([1.0, 2.0, 3.0]) == math.inf
    assert plus_minus([4.0, 6.0] * 50 + [4.0, 7.0] * 50) < plus_minus([4.0] * 100 + [6.0] * 100) < 1


# ---- Causes of planted figures ---------------------------------------------------------------------------------------


def planted(**changes):
    main = {field.name: 0.0 for field in dataclasses.fields(LoaderFigures)}
    main.update(
        kind="DataLoader", dataset="Rows", num_workers=4, persistent=False, batch_size=64, steps=500, epochs=1,
        load_s=0.1, compute_s=0.03, optimizer_s=0.005, plus_minus_s=0.003, thread_on_core=0.02, workers_on_core=0.95,
        compute_cores=0.2, compute_thread=0.95, fetch_s=0.53, fetch_cpu=0.97, penstock=None,
    )  # fmt: skip
    of_run = {"cores": 16, "idle_cores": 11.0, "torch_threads": 16, "cuda": False, "replacing": False}
    of_run.update({name: changes.pop(name) for name in list(changes) if name in of_run})
    main.update(changes)
    main["step_s"] = main["load_s"] + main["compute_s"] + main["optimizer_s"] + main["other_s"]
    return RunFigures(
        program="train.py", loaders=(LoaderFigures(**main),), wall_s=60.0, rank=None, world=None, optimizer_hooks=True, steps_traced=0, **of_run,
    )  # fmt: skip


@pytest.mark.parametrize("replacing", [False, True])
def test_replacing_is_advised_only_until_it_is_tried(replacing):
    advice = [remedy.change for remedy in causes.diagnose(planted(idle_cores=0.2, replacing=replacing)).remedies]
    assert any("ps.decode()" in text for text in advice)
    assert any("--replace" in text for text in advice) is not replacing


@pytest.mark.parametrize(
    ("cause", "changes"),
    [
        ("workers", {}),
        ("decoding", {"idle_cores": 0.2}),
        ("decoding", {"num_workers": 16}),
        ("decoding", {"num_workers": 0, "thread_on_core": 0.98, "fetch_s": None}),
        ("storage", {"fetch_cpu": 0.1}),
        ("storage", {"num_workers": 0, "thread_on_core": 0.1, "fetch_s": None}),
        ("workers", {"fetch_s": None}),
        ("unknown", {"fetch_s": None, "workers_on_core": None}),
        ("receiving", {"thread_on_core": 0.9}),
        ("collate", {"fetch_collate_s": 0.4}),
        ("batches", {"num_workers": 0, "load_s": 4e-4, "compute_s": 2e-4, "optimizer_s": 1e-4}),
        ("garbage collection", {"load_s": 0.002, "collections_s": 0.02}),
        ("compute", {"load_s": 0.001, "collections_s": 0.02, "collections_longest_s": 9.0}),
        ("epochs", {"load_s": 0.002, "other_s": 0.03, "epoch_starts_s": 0.03, "epochs": 10}),
        ("compute", {"load_s": 0.001}),
        ("compute", {"load_s": 0.001, "compute_thread": 0.1, "cuda": True}),
        ("compute", {"load_s": 0.001, "compute_thread": None}),
        ("compute", {"load_s": 0.001, "compute_thread": 0.6}),
        ("threads", {"load_s": 0.001, "compute_thread": 0.25, "compute_cores": 15.0, "torch_threads": 64}),
        ("threads", {"load_s": 0.001, "compute_thread": 0.1, "compute_runnable": 0.6, "torch_threads": 64}),
        ("waiting", {"load_s": 0.001, "compute_thread": 0.2, "torch_threads": 64}),
        ("cores", {"load_s": 0.001, "compute_thread": 0.5, "compute_runnable": 0.4}),
        ("waiting", {"load_s": 0.001, "compute_thread": 0.05, "compute_runnable": 0.01}),
        ("unknown", {"steps": 3}),
        ("penstock", {"penstock": {"binds": "cores", "text": "decoding is slow"}}),
    ],
)
def test_a_cause_is_named(cause, changes):
    run = planted(**changes)
    found = causes.diagnose(run)
    assert found.cause == cause
    for remedy in found.remedies:
        if remedy.step_s is not None:
            assert 0 <= remedy.low_s <= remedy.step_s <= remedy.high_s and remedy.low_s < remedy.high_s


def test_a_full_collection_that_came_once_is_left_out():
    step = {"num_workers": 0, "load_s": 4e-4, "compute_s": 1e-4, "optimizer_s": 1e-4}
    steady = causes.diagnose(planted(**step))
    lone = {"collections_s": 3e-4, "collections_load_s": 2e-4, "collections_longest_s": 0.14}
    found = causes.diagnose(planted(**{**step, "load_s": 6e-4, "compute_s": 2e-4}, **lone))
    assert steady.cause == "batches"
    assert (found.cause, found.not_the_cause) == ("batches", steady.not_the_cause)
    assert found.share == pytest.approx(steady.share)
    assert found.why == f"{steady.why}; without one garbage collection of 140.0 ms"


def test_the_overview_of_the_same_training_names_the_same_number_of_workers(tmp_path):
    run = planted(num_workers=0, load_s=0.5, compute_s=0.1, optimizer_s=0.0, thread_on_core=0.98, fetch_s=None)
    times = {"ProfilerStep#{}": 600_000, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__": 500_000}
    events = [
        {"ph": "X", "cat": "user_annotation", "name": name.format(number), "pid": 1, "tid": 1, "ts": 600_000 * number, "dur": time}
        for number in range(3) for name, time in times.items()
    ]  # fmt: skip
    (tmp_path / "trace.json").write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    overview = penstock.overview(tmp_path / "trace.json").diagnosis
    for remedy in causes.diagnose(run).remedies[0].change, overview["remedies"][0]:
        assert remedy.startswith("num_workers 0 -> 7")


def test_the_screen_is_short():
    run = planted(other_s=0.002)
    text = report.screen(run, causes.diagnose(run), [])
    assert text.startswith(
        "step 137 ms +-3 | load 100 (73 %) | compute 30 | optimizer 5 | other 2\nWhy: too few workers: "
    )
    assert "\nNot the cause: the optimizer (4 %), garbage collection (0 %), " in text
    assert re.search(r"\nDo:  num_workers 4 -> 16: \d+ ms \(\d+ to \d+\) \[predicted\]\n", text)
    assert len(text.splitlines()) <= 8


def test_a_file_of_a_rank_has_its_number():
    assert report.of_rank("out/run.json.gz", 3, 4) == "out/run.rank3.json.gz"
    assert report.of_rank("run.json", 0, 1) == report.of_rank("run.json", None, None) == "run.json"


# ---- Trainings -------------------------------------------------------------------------------------------------------

torch = pytest.importorskip("torch")

# Torch takes seconds to import. Therefore one process imports it, and each scenario runs in a fork of it.
FORKS = """
    import gc, os, sys
    import torch
    from penstock._run.command import main
    torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.1)  # imports much on its first use
    gc.freeze()  # else each collection visits all objects of torch
    for name in sys.argv[3:]:
        child = os.fork()
        if child == 0:
            sys.stderr = open(f"{sys.argv[2]}/{name}.txt", "w")
            main(["--json", f"{sys.argv[2]}/{name}.json", sys.argv[1], name])
            sys.exit()
        assert os.waitpid(child, 0)[1] == 0, name
"""
EXPECTED = {
    "decoding_0": {"decoding"},
    "decoding_2": {"decoding"},
    "workers": {"workers", "decoding"},
    "storage_0": {"storage"},
    "storage_2": {"storage"},
    "batches": {"batches"},
    "collecting": {"garbage collection"},
    "collate_0": {"collate"},
    "collate_2": {"collate"},
    "compute": {"compute", "cores"},
    "threads": {"threads"},
    "waiting": {"waiting"},
    "validation": {"compute", "cores"},
    "epochs": {"epochs"},
}


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reports")
    words = [sys.executable, "-c", textwrap.dedent(FORKS), SCENARIOS, folder, *EXPECTED]
    done = execute(words, folder)
    assert done.returncode == 0, done.stderr
    return {
        name: (json.loads((folder / f"{name}.json").read_text()), (folder / f"{name}.txt").read_text())
        for name in EXPECTED
    }


@pytest.mark.parametrize("name", EXPECTED)
def test_the_planted_cause_is_found(reports, name):
    figures, text = reports[name]
    cause = figures["diagnosis"]["cause"]
    assert cause in EXPECTED[name], text
    if name == "workers":  # other programs may use the second core
        assert (cause == "workers") == ((figures["idle_cores"] or 0) >= 0.5 and figures["cores"] > 1), text
    main = figures["loaders"][0]
    if "cores" in EXPECTED[name]:  # other programs may use the core of the step
        assert (cause == "compute") == (main["compute_thread"] >= 0.7 or main["compute_runnable"] < 0.2), text
    parts = main["load_s"] + main["compute_s"] + main["optimizer_s"] + main["other_s"]
    assert parts == pytest.approx(main["step_s"]) and main["optimizer_s"] > 0
    assert re.match(r"step [\d.]+ (ms|us|s)( \+-[\d.]+)? \| load [\d.]+ \(\d+ %\) \| compute ", text)


def test_an_error_in_a_worker_is_shown_as_with_python(tmp_path):
    (tmp_path / "train.py").write_text(TRAINING)
    words = ["train.py", 1, 33]
    alone = execute([sys.executable, *words], tmp_path)
    watched = execute([*RUN, "--out", "run.json", *words], tmp_path)
    assert (watched.returncode, watched.stdout) == (alone.returncode, alone.stdout) == (1, alone.stdout)
    assert "ValueError: row 33" in alone.stderr
    if sys.version_info >= (3, 11):  # see frames.drop_frame()
        assert watched.stderr.startswith(alone.stderr)
    assert json.loads((tmp_path / "run.json").read_text())["steps"] > 8


def test_a_warning_of_torch_names_torchs_line(tmp_path):
    (tmp_path / "train.py").write_text(
        textwrap.dedent("""
            from torch.utils.data import DataLoader
            for _ in DataLoader(range(4), pin_memory=True):  # torch warns without a GPU
                pass
        """)
    )
    alone = execute([sys.executable, "train.py"], tmp_path)
    watched = execute([*RUN, "--quiet", "train.py"], tmp_path)
    assert alone.returncode == watched.returncode == 0
    assert watched.stderr.startswith(alone.stderr)


def test_an_error_of_the_dataset_has_no_frames_of_penstock(tmp_path):
    (tmp_path / "train.py").write_text(TRAINING)
    watched = execute([*RUN, "train.py", 0, 33], tmp_path)
    assert watched.returncode == 1 and watched.stderr.startswith("Traceback (most recent call last):\n")
    assert "ValueError: row 33" in watched.stderr and "_run" not in watched.stderr


def test_ranks_report_each(tmp_path):
    (tmp_path / "train.py").write_text(TRAINING)
    done = execute([*LAUNCH, "-m", "penstock", "run", "--json", "run.json", "train.py", 0, -1], tmp_path)
    assert done.returncode == 0, done.stderr
    for rank in 0, 1:
        figures = json.loads((tmp_path / f"run.rank{rank}.json").read_text())
        assert (figures["rank"], figures["world"], figures["loaders"][0]["steps"]) == (rank, 2, 78)
        assert f"rank {rank}: step " in done.stderr


def test_a_trace_has_the_steps(tmp_path):
    (tmp_path / "train.py").write_text(TRAINING)
    done = execute([*RUN, "--trace", 4, "--every", "0.000001", "train.py", 0, -1], tmp_path)
    assert done.returncode == 0, done.stderr
    assert "penstock overview train.trace.json.gz" in done.stderr
    assert len(re.findall("^step ", done.stderr, re.MULTILINE)) > 1
    with gzip.open(tmp_path / "train.trace.json.gz") as file:
        events = json.load(file)["traceEvents"]
    assert len({event["name"] for event in events if str(event.get("name")).startswith("ProfilerStep#")}) == 4


def test_a_trace_tells_that_the_loop_ended_before_it(tmp_path):
    (tmp_path / "train.py").write_text(TRAINING)
    done = execute([*RUN, "--trace", 500, "--json", "run.json", "train.py", 0, -1], tmp_path)
    assert done.returncode == 0, done.stderr
    (steps,) = re.findall(
        r"Note: trace with (\d+) steps, because the loop ended before 500; penstock overview", done.stderr
    )
    assert int(steps) == json.loads((tmp_path / "run.json").read_text())["steps_traced"]
    with gzip.open(tmp_path / "train.trace.json.gz") as file:
        events = json.load(file)["traceEvents"]
    names = {event["name"] for event in events if str(event.get("name")).startswith("ProfilerStep#")}
    assert len(names) - 1 <= int(steps) <= len(names)
