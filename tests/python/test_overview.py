"""The overview of profiler traces, beside a model in plain Python, and in the command, the package and the page."""

import functools
import gzip
import html
import io
import json
import math
import os
import pathlib
import re
import shutil
import sys

import pytest
from command import COMMAND, fails, run
from overview_model import CATEGORIES, Model
from watched import RUN, execute

import penstock as ps

DATA = pathlib.Path(os.environ.get("PENSTOCK_TEST_DATA", "")) / "traces"
TRACES = sorted(path for path in DATA.rglob("*") if path.name.endswith((".json", ".json.gz")))
with_traces = pytest.mark.skipif(not TRACES, reason="no traces in PENSTOCK_TEST_DATA")
each_trace = pytest.mark.parametrize("path", TRACES or [DATA], ids=lambda path: path.name.split(".")[0])


@functools.cache
def model(path):
    return Model(path)


@functools.cache
def figures(path):
    return ps.overview(path).figures["ranks"][0]


def near(value):
    """Equal to a millionth, or to a nanosecond if it is a time."""
    return None if value is None else pytest.approx(value, rel=1e-6, abs=1e-9)


def event(category, name, begin, end, **args):
    """Times are microseconds."""
    thread = {"pid": args.pop("pid", 1), "tid": args.pop("tid", 1)}
    return {"ph": "X", "cat": category, "name": name, **thread, "ts": begin, "dur": end - begin, "args": args}


def step(number, begin, end):
    return event("user_annotation", f"ProfilerStep#{number}", begin, end)


def loader(begin, end):
    return event("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", begin, end)


def write(path, events, **head):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"schemaVersion": 1, **head, "traceEvents": events}))
    return path


def training(path, loading=0.5, rank=None, communication=0.0):
    """A training of 3 steps of 1 s: these parts of them in a DataLoader and in collectives, the rest in an operator."""
    events = []
    for number in range(3):
        begin, end = number * 1_000_000, (number + 1) * 1_000_000
        load, send = begin + round(loading * 1e6), end - round(communication * 1e6)
        events += [step(number, begin, end), loader(begin, load), event("cpu_op", "aten::mm", load, send)]
        events += [event("cpu_op", "gloo:all_reduce", send, end)]
    return write(path, events, **({} if rank is None else {"distributedInfo": {"backend": "gloo", "rank": rank}}))


@with_traces
@each_trace
def test_the_steps_and_their_categories_agree_with_the_model(path):
    expected, found = model(path), figures(path)
    assert [found_step["name"] for found_step in found["steps"]] == [step.name for step in expected.steps]
    assert found["step"]["left_out"] == expected.left_out
    totals = dict.fromkeys(CATEGORIES, 0)
    for of_step, times, found_step in zip(expected.steps, expected.categories(), found["steps"]):
        assert found_step["time"] == near((of_step.end - of_step.begin) / 1e9)
        assert sum(times.values()) == of_step.end - of_step.begin
        assert found_step["categories"] == {name: near(time / 1e9) for name, time in times.items()}
        totals = {name: totals[name] + time for name, time in times.items()}
    count = len(expected.steps)
    assert found["step"]["categories"] == {name: near(time / count / 1e9) for name, time in totals.items()}
    assert found["step"]["mean"] == near(sum(totals.values()) / count / 1e9)


@with_traces
@each_trace
def test_the_use_of_devices_agrees_with_the_model(path):
    expected = model(path).devices()
    assert [device["device"] for device in figures(path)["devices"]] == list(expected)
    for device in figures(path)["devices"]:
        for share, value in expected[device["device"]].items():
            assert device[share] == near(value), share


@with_traces
@each_trace
def test_the_idle_time_of_streams_agrees_with_the_model(path):
    expected = model(path).streams()
    found = figures(path)["streams"]
    assert [(stream["device"], stream["stream"]) for stream in found] == list(expected)
    for stream, values in zip(found, expected.values()):
        assert stream["events"] == values["events"]
        for part in ("host", "kernel", "other", "host_in_dataloader"):
            assert stream["idle"][part] == near(values[part] / 1e9), part
        assert stream["queue"] == {"mean": near(values["mean"]), "max": values["max"]}


@with_traces
@each_trace
def test_waits_and_copies_agree_with_the_model(path):
    expected, found = model(path), figures(path)
    assert found["dataloader"]["calls"] == len(expected.loaders)
    for part, category in {"dataloader": "DataLoader", "copies": "Memcpy", "communication": "Communication"}.items():
        assert found[part]["time_per_step"] == near(expected.time_of_steps_in(category) / 1e9), part
        if part != "dataloader":
            assert found[part]["exposed_per_step"] == found["step"]["categories"][category]


@with_traces
@each_trace
def test_the_tables_agree_with_the_model(path):
    for table, events in {"operators": model(path).operators, "kernels": model(path).kernels}.items():
        times = {}
        for found in events:
            calls, time = times.get(found.name, (0, 0))
            times[found.name] = calls + 1, time + found.end - found.begin
        for row in figures(path)[table]:
            calls, time = times[row["name"]]
            if table == "kernels":
                assert (row["calls"], row["time"]) == (calls, near(time / 1e9))
            else:  # some operators are recorded twice, one around the other
                assert 0 < row["calls"] <= calls
                assert 0 <= row["host"] <= time / 1e9 * (1 + 1e-6)


@with_traces
def test_several_real_traces_stand_side_by_side():
    found = ps.overview(TRACES)
    assert sorted(rank["trace"] for rank in found.figures["ranks"]) == sorted(map(str, TRACES))
    assert str(found).count(": step ") == len(TRACES)


def test_an_overview_has_text_figures_and_a_diagnosis(tmp_path):
    trace = training(tmp_path / "trace.json")
    found = ps.overview(trace)
    assert str(found).startswith("step 1000 ms")
    assert "Why: DataLoader.__next__ takes 500 ms of the 1000 ms" in str(found)
    assert found.figures["ranks"][0]["trace"] == str(trace)
    assert found.figures["ranks"][0]["step"]["categories"] == {
        **dict.fromkeys(CATEGORIES, 0),
        "DataLoader": near(0.5),
        "CPU Exec": near(0.5),
    }
    assert found.diagnosis is found.figures["diagnosis"]
    assert found.diagnosis["cause"] == "loading"
    assert found.diagnosis["share"] == near(0.5)
    assert found.diagnosis["why"] in str(found)
    assert all(f"Do:  {remedy}" in str(found) for remedy in found.diagnosis["remedies"])
    assert repr(found) == f"penstock.Overview(['{trace}'])"
    assert isinstance(found, ps.Overview)


def test_a_notebook_shows_the_page_that_save_writes(tmp_path):
    found = ps.overview(training(tmp_path / "trace.json"))
    found.save(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    framed = re.fullmatch(r'<iframe srcdoc="([^"]*)" [^>]*></iframe>', found._repr_html_())
    assert html.unescape(framed[1]) == page
    assert page.lstrip().lower().startswith("<!doctype html>")
    assert not re.search(r"<(script|img|link|iframe)[^>]*(src|href)=.?(https?:)?//", page)
    found.save(str(tmp_path / "page.html"))  # replaces it
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == page


def test_a_profiler_is_exported_and_read():
    class Profiler:
        def export_chrome_trace(self, path):
            self.path = training(pathlib.Path(path))

    profiler = Profiler()
    assert ps.overview(profiler).diagnosis["cause"] == "loading"
    assert not profiler.path.exists()


def test_the_profiler_of_torch_gives_an_overview():
    torch = pytest.importorskip("torch")
    schedule = torch.profiler.schedule(wait=1, warmup=1, active=3, repeat=1)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], schedule=schedule) as profiler:
        for _ in torch.utils.data.DataLoader(torch.rand(40, 100, 100), batch_size=8):
            torch.rand(100, 100) @ torch.rand(100, 100)
            profiler.step()
    (rank,) = ps.overview(profiler).figures["ranks"]
    assert [step["name"] for step in rank["steps"]] == ["2", "3", "4"]
    assert rank["dataloader"]["calls"] == 3
    assert rank["step"]["categories"]["DataLoader"] > 0
    assert rank["step"]["categories"]["CPU Exec"] > 0
    assert {"aten::mm", "aten::rand"} <= {op["name"] for op in rank["operators"]}


def test_a_terminal_shows_a_bar(tmp_path, monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr(sys, "stderr", Terminal())
    trace = write(tmp_path / "trace.json", [step(1, 0, 100)] * 20_000)
    megabytes = f"{2 * trace.stat().st_size / 1e6:,.0f}"
    ps.overview([trace, trace], progress=True)
    assert f"reading  {megabytes}/{megabytes} MB  100%" in sys.stderr.getvalue()
    assert sys.stderr.getvalue().endswith("\n")


def test_without_progress_nothing_is_printed(tmp_path, capfd):
    ps.overview(training(tmp_path / "trace.json"))
    assert capfd.readouterr() == ("", "")


def test_ranks_stand_side_by_side_and_the_slowest_is_explained(tmp_path):
    traces = [
        training(tmp_path / f"{name}.json", 0.2, rank, communication)
        for name, rank, communication in (("a", 2, 0.3), ("b", 0, 0.1), ("c", 1, 0.4))
    ]
    for found in (ps.overview(traces), ps.overview(tuple(map(str, traces)))):
        assert [rank["rank"] for rank in found.figures["ranks"]] == [0, 1, 2]
        assert [rank["trace"] for rank in found.figures["ranks"]] == [str(traces[i]) for i in (1, 2, 0)]
        assert found.figures["slowest"] == 0
        assert found.figures["spread"] == near(0.5)
        assert "The slowest is rank 0" in str(found)
    assert run("overview", "--no-html", *traces).stdout.decode() == str(found)


def test_two_runs_are_compared(tmp_path):
    before, after = training(tmp_path / "z.json", 0.5), training(tmp_path / "a.json", 0.1)
    found = ps.overview([before, after])
    assert [rank["trace"] for rank in found.figures["ranks"]] == [str(before), str(after)]
    changes = changes_of(found.figures)
    assert changes["Step", "step"]["change"] == near(0)
    assert changes["Categories", "DataLoader"]["before"] == near(0.5)
    assert changes["Categories", "DataLoader"]["after"] == near(0.1)
    assert changes["Categories", "CPU Exec"]["exceeds_noise"] is True
    assert changes["Operators", "aten::mm"]["exceeds_noise"] is None
    assert "comparison" not in ps.overview(before).figures


# ---- Reports ---------------------------------------------------------------------------------------------------------


def changes_of(figures):
    tables = figures["comparison"]["tables"]
    return {(table["name"], change["name"]): change for table in tables for change in table["changes"]}


SLEEPING = """
import sys, time, torch
class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return 60
    def __getitem__(self, number):
        time.sleep(float(sys.argv[1]))
        return torch.zeros(4)
for rows in torch.utils.data.DataLoader(Rows(), batch_size=int(sys.argv[2])):
    pass
"""


def test_reports_of_penstock_run_are_compared(tmp_path):
    pytest.importorskip("torch")
    (tmp_path / "train.py").write_text(SLEEPING)
    for name, *arguments in ("slow", "0.02", "4"), ("fast", "0", "2"):
        words = ["--quiet", "--json", f"{name}.json", "--out", f"{name}.few.json", "train.py", *arguments]
        execute([*RUN, *words], tmp_path).check_returncode()
    slow, fast, few = (
        json.loads((tmp_path / name).read_text()) for name in ("slow.json", "fast.json", "fast.few.json")
    )
    found = ps.overview([tmp_path / "slow.json", tmp_path / "fast.json"])
    changes = changes_of(found.figures)
    before, after = slow["loaders"][0], fast["loaders"][0]
    step = changes["Step", "step"]
    assert (step["unit"], step["before"], step["after"]) == ("s", before["step_s"], after["step_s"])
    assert step["noise"] == near(math.hypot(before["plus_minus_s"], after["plus_minus_s"]))
    assert step["change"] == near(after["step_s"] / before["step_s"] - 1)
    assert changes["Categories", "load"]["before"] == before["load_s"]
    assert changes["Categories", "load"]["noise"] is None
    assert changes["Parts", "collate"]["after"] == after["collate_s"]
    assert changes["Step", "samples per second"]["after"] == near(2 / after["step_s"])
    assert found.figures["comparison"]["notes"][0].endswith("different work: batch_size 4 before, 2 after.")
    assert str(found).startswith(f"before: {tmp_path}/slow.json\nafter:  {tmp_path}/fast.json\n")
    assert " than the noise, " in str(found) and "no spread recorded" in str(found)
    assert repr(found) == f"penstock.Overview(['{tmp_path}/slow.json', '{tmp_path}/fast.json'])"
    assert f"{step['change']:+.1%}".replace("%", " %") in found._repr_html_()
    with pytest.raises(ps.Error, match="two reports have no diagnosis"):
        assert found.diagnosis
    found = ps.overview([tmp_path / "slow.json", tmp_path / "fast.few.json"])
    assert changes_of(found.figures)["Step", "step"]["after"] == few["step_s"]


def test_reports_of_bench_are_compared(icons, tmp_path):
    options = ["--workers", "1,2", "--batch-size", "8", "--seconds", "0.1", "--no-efficiency", "--json"]
    for name in "before.json", "after.json":
        run("bench", icons, *options, name, cwd=tmp_path)
    before, after = (json.loads((tmp_path / f"{name}.json").read_text())["rows"] for name in ("before", "after"))
    result = run("overview", "before.json", "after.json", "--json", "figures.json", cwd=tmp_path)
    figures = json.loads((tmp_path / "figures.json").read_text())
    changes = changes_of(figures)
    for row in before:
        setting = f"workers {row['workers']}, prefetch {row['prefetch']}, batch size 8"
        assert changes["Samples per second", setting]["before"] == row["samples_per_s"]
        assert changes["Samples per second", setting]["noise"] is not None
    fastest = max(after, key=lambda row: row["samples_per_s"])
    assert changes["Fastest row", "first batch"]["after"] == near(fastest["first_batch_ms"] / 1e3)
    decode = changes["Stages of the fastest row: busy for a sample", "decode"]
    assert decode["after"] == near(fastest["stages"]["decode"]["busy_s"] / fastest["samples"])
    text = result.stdout.decode()
    assert text.startswith("before: before.json\nafter:  after.json\n") and text.endswith("Page: overview.html\n")
    assert "</html>" in (tmp_path / "overview.html").read_text()
    alone = fails("overview", "before.json", "--no-html", cwd=tmp_path)
    assert "before.json: unsupported: a report of penstock bench or tune, not a trace; pass two such reports" in alone
    trace = training(tmp_path / "trace.json")
    both = fails("overview", "before.json", trace, "--no-html", code=2, cwd=tmp_path)
    assert f"before.json is a report of penstock bench or tune, and {trace} is a trace of the PyTorch profiler" in both


def test_errors_name_the_file_and_what_was_expected(tmp_path):
    with pytest.raises(ps.Error, match=r"absent\.json.*No such file") as caught:
        ps.overview(tmp_path / "absent.json")
    assert caught.value.kind == "io"
    (tmp_path / "other.json").write_text("{}")
    with pytest.raises(ps.Error, match="trace of the PyTorch profiler") as caught:
        ps.overview(str(tmp_path / "other.json"))
    assert caught.value.kind == "unsupported"
    (tmp_path / "photo.json").write_bytes(b"\x89PNG\r\n")
    with pytest.raises(ps.Error, match="not JSON") as caught:
        ps.overview([tmp_path / "photo.json"])
    assert caught.value.kind == "corrupt"
    write(tmp_path / "empty.json", [])
    with pytest.raises(ps.Error, match="neither steps nor operators"):
        ps.overview(tmp_path / "empty.json")
    with pytest.raises(ps.Error) as caught:
        ps.overview([])
    assert caught.value.kind == "invalid_argument"
    with pytest.raises(TypeError):
        ps.overview(tmp_path / "other.json", progres=True)


def test_a_cut_trace_is_read_up_to_the_cut(tmp_path):
    whole = training(tmp_path / "trace.json").read_bytes()
    cut = tmp_path / "cut.json"
    cut.write_bytes(whole[: whole.rindex(b"gloo")])
    found = ps.overview(cut)
    assert len(found.figures["ranks"][0]["steps"]) == 3
    assert "ends early" in found.figures["ranks"][0]["notes"][0]
    assert str(found).startswith("Note: ")


@pytest.mark.parametrize(
    "name", ["with spaces.json", "Spur \u00e9\u6f22\U0001f600.json", 'it\'s "so".json', "-trace.json"]
)
def test_paths_may_have_any_characters(tmp_path, name, monkeypatch):
    trace = training(tmp_path / "a folder \u00e9" / name)
    assert ps.overview(trace).figures["ranks"][0]["trace"] == str(trace)
    assert json.loads(run("overview", "--no-html", "--json", "-", trace).stdout)["ranks"][0]["trace"] == str(trace)
    monkeypatch.chdir(tmp_path)
    run("overview", trace)
    assert (tmp_path / (name.removesuffix(".json") + ".overview.html")).exists()


def test_a_file_name_that_is_not_text_is_read(tmp_path):
    trace = os.fsencode(tmp_path) + b"/name-\xff.json"
    shutil.copy(training(tmp_path / "trace.json"), trace)
    assert ps.overview(os.fsdecode(trace)).diagnosis["cause"] == "loading"


def test_the_command_prints_what_str_has_and_writes_the_page(tmp_path):
    trace = training(tmp_path / "in" / "trace.json")
    found = ps.overview(trace)
    result = run("overview", trace, cwd=tmp_path)
    assert result.stdout.decode() == f"{found}Page: trace.overview.html\n"
    assert result.stderr == b""
    found.save(tmp_path / "saved.html")
    assert (tmp_path / "trace.overview.html").read_bytes() == (tmp_path / "saved.html").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "saved.html", "trace.overview.html"]


@pytest.mark.parametrize(
    "name",
    ["rank0.json", "rank0.json.gz", "rank0.pt.trace.json", "rank0.pt.trace.json.gz", "rank0.trace.json", "rank0"],
)
def test_the_page_is_named_after_the_trace(tmp_path, name):
    text = training(tmp_path / "in" / "trace.json").read_bytes()
    (tmp_path / "in" / name).write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    run("overview", tmp_path / "in" / name, cwd=tmp_path)
    assert (tmp_path / "rank0.overview.html").exists()


def test_the_command_writes_figures_to_a_file_or_to_stdout(tmp_path):
    trace = training(tmp_path / "trace.json")
    figures = ps.overview(trace).figures
    assert json.loads(run("overview", trace, "--json", "-", "--no-html", cwd=tmp_path).stdout) == figures
    result = run("overview", trace, "--json", tmp_path / "figures.json", "--no-html", cwd=tmp_path)
    assert json.loads((tmp_path / "figures.json").read_text()) == figures
    assert result.stdout.decode() == str(ps.overview(trace))
    assert not list(tmp_path.glob("*.html"))


def test_the_command_writes_the_page_to_a_file_or_to_stdout(tmp_path):
    trace = training(tmp_path / "trace.json")
    page = tmp_path / "new.html"
    assert run("overview", trace, "--html", page).stdout.decode().endswith(f"Page: {page}\n")
    assert run("overview", trace, "--html", "-").stdout == page.read_bytes()


def test_reports_replace_earlier_ones(tmp_path):
    trace = training(tmp_path / "trace.json")
    for name in ("trace.overview.html", "figures.json"):
        (tmp_path / name).write_text("old " * 1_000_000)
    run("overview", trace, "--json", "figures.json", cwd=tmp_path)
    assert (tmp_path / "trace.overview.html").read_text().lstrip().lower().startswith("<!doctype html>")
    assert json.loads((tmp_path / "figures.json").read_text()) == ps.overview(trace).figures


def test_a_report_never_replaces_a_trace(tmp_path):
    trace = training(tmp_path / "trace.json")
    text = trace.read_bytes()
    os.link(trace, tmp_path / "same.json")
    for option in ("--json", "--html"):
        for report in (trace, tmp_path / "same.json"):
            assert "trace" in fails("overview", trace, option, report, cwd=tmp_path, code=2)
            assert trace.read_bytes() == text


def test_wrong_arguments_have_the_exit_code_2(tmp_path):
    trace = training(tmp_path / "trace.json")
    fails("overview", code=2)
    fails("overview", trace, "--html", tmp_path / "a.html", "--no-html", code=2)
    fails("overview", trace, "--page", code=2)
    os.mkfifo(tmp_path / "pipe")
    assert "pipe is a pipe; write the trace to a file" in fails("overview", tmp_path / "pipe", code=2)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["pipe", "trace.json"]


def test_files_that_cannot_be_read_have_the_exit_code_1(tmp_path):
    error = fails("overview", tmp_path / "absent.json", cwd=tmp_path)
    assert f"{tmp_path}/absent.json" in error
    assert "No such file or directory" in error
    (tmp_path / "other.json").write_text('{"images": []}')
    assert "other.json: unsupported: " in fails("overview", tmp_path / "other.json", cwd=tmp_path)
    (tmp_path / "text.json").write_text("step 1 took 3 s")
    assert "text.json: corrupt: not JSON at byte" in fails("overview", tmp_path / "text.json", cwd=tmp_path)
    fails("overview", tmp_path, cwd=tmp_path)
    fails("overview", training(tmp_path / "trace.json"), tmp_path / "absent.json", cwd=tmp_path)
    assert not list(tmp_path.glob("*.html"))


def test_reports_that_cannot_be_written_have_the_exit_code_1(tmp_path):
    trace = training(tmp_path / "trace.json")
    absent = tmp_path / "absent" / "report"
    for option in ("--html", "--json"):
        assert str(absent) in fails("overview", trace, option, absent, cwd=tmp_path)
        assert str(tmp_path) in fails("overview", trace, option, tmp_path, cwd=tmp_path)
        assert "/dev/full" in fails("overview", trace, option, "/dev/full", cwd=tmp_path)
    assert "trace.overview.html" in fails("overview", trace, cwd="/proc")
    assert not run("overview", trace, "--html", absent, check=False, cwd=tmp_path).stdout


def test_the_help_explains_the_categories():
    text = run("overview", "--help").stdout.decode()
    assert all(category in text for category in CATEGORIES)
    assert "overview" in run("--help").stdout.decode()
    assert pathlib.Path(COMMAND).name == "penstock"
