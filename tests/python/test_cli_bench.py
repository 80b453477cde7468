"""penstock bench and tune: digests, devices, caches and reports."""

import json
import re
import shutil
import signal
import subprocess
import time

import pytest
from command import COMMAND, fails, handles, run


def test_the_digest_is_equal_for_all_packings_workers_prefetch_and_engines(packed, icons):
    digests = set()
    for dataset in [icons, *packed.values()]:
        for engine in ["auto", "inline", "pread", "mmap"]:
            text = run(
                "bench",
                dataset,
                "--digest",
                "--workers",
                "1,3",
                "--prefetch",
                "1,4",
                "--engine",
                engine,
                "--seed",
                "5",
                "--json",
                "-",
            ).stdout
            rows = json.loads(text)["rows"]
            assert len(rows) == 4
            digests |= {row["digest"] for row in rows}
    assert len(digests) == 1
    other = json.loads(run("bench", icons, "--digest", "--seed", "6", "--json", "-").stdout)["rows"][0]["digest"]
    assert other not in digests


def test_bench_copies_to_a_device_or_says_why_not(icons, tmp_path):
    for command in ("bench", "tune"):
        assert "no device cuda:999: " in fails(command, icons, "--device", "cuda:999")
    result = run(
        "bench",
        icons,
        "--seconds",
        "0.5",
        "--workers",
        "1",
        "--device",
        "host",
        "--json",
        tmp_path / "r.json",
        "--html",
        tmp_path / "r.html",
    )
    text = result.stdout.decode()
    assert "copies to host:0: " in text and "page-locked memory for host:0" in text and " of copies " in text
    row = json.loads((tmp_path / "r.json").read_text())["rows"][0]
    assert row["device"].startswith("host:0: ") and row["stages"]["copy"]["busy_s"] > 0
    assert row["copied_mb"] > 0 and row["copy_gb_per_s"] > 0 and row["plain_copy_gb_per_s"] > 0
    assert "copies to host:0: " in (tmp_path / "r.html").read_text()
    rows = [
        json.loads(run("bench", icons, "--digest", "--json", "-", *more).stdout)["rows"][0]
        for more in ([], ["--device", "host"], ["--device", "host:1", "--finish-on", "host"])
    ]
    assert rows[0]["device"] is None and rows[0]["copied_mb"] is None
    assert len({row["digest"] for row in rows}) == 1


def test_bench_measures_a_cache(icons, tmp_path):
    digests = set()
    for words in [[], ["--cache", "encoded"], ["--cache", "decoded", "--cache-limit", "1MiB"]]:
        run("bench", icons, "--digest", "--workers", 2, "--json", tmp_path / "r.json", *words)
        digests.add(json.loads((tmp_path / "r.json").read_text())["rows"][0]["digest"])
    assert len(digests) == 1
    run("bench", icons, "--seconds", "0.2", "--workers", 2, "--cache", "decoded")
    fails("bench", icons, "--cache", "both", code=2)
    fails("bench", icons, "--cache", "encoded", "--cache-limit", "100", code=2)


def test_bench_compares_datasets_and_writes_its_reports(packed, icons, tmp_path):
    words = ["--seconds", "0.5", "--workers", "1,2", "--json", tmp_path / "r.json", "--html", tmp_path / "r.html"]
    for _ in range(6):
        # On a loaded machine one half of a pair may have the cores and the other not: then there is another run.
        result = run("bench", icons, packed["tar"], *words)
        report = json.loads((tmp_path / "r.json").read_text())
        if all(0 < row["efficiency"] < 3 for row in report["rows"]):
            break
    assert b"efficiency" in result.stdout and b"decode" in result.stdout
    assert len(report["rows"]) == 4 and len(report["datasets"]) == 2
    for row in report["rows"]:
        assert row["task"] == "image-small" and row["samples_per_s"] > 0 and 0 < row["efficiency"] < 3
        assert set(row["stages"]["decode"]) >= {"busy_s", "input_wait_s", "room_wait_s"}
        assert row["cache"] == ("warm" if row["resident_share"] >= 0.9 else "cold")  # the kernel may take pages back
    rates = [row["samples_per_s"] for row in report["rows"]]
    assert rates == sorted(rates, reverse=True)
    assert "<svg" in (tmp_path / "r.html").read_text()


def test_bench_predicts_and_checks(icons, tmp_path):
    words = ["bench", icons, "--verify-predictions", "--seconds", "0.5", "--rounds", "2", "--json", tmp_path / "c.json"]
    text = run(*words, "--workers", "1,2", "--prefetch", "2,4").stdout.decode()
    assert "predicted" in text and "workers=2, prefetch=4" in text
    told = json.loads((tmp_path / "c.json").read_text())["checks"][0]
    assert [row["setting"] for row in told["rows"]] == ["workers=2", "prefetch=4", "workers=2, prefetch=4"]
    assert told["base"]["workers"] == 1 and told["base"]["samples_per_s"] > 0
    for row in told["rows"]:
        assert row["predicted_samples_per_s"] > 0 and row["samples_per_s"] > 0
        assert row["error"] == pytest.approx(row["predicted_samples_per_s"] / row["samples_per_s"] - 1)
    assert "excludes" in fails("bench", icons, "--verify-predictions", "--mock-loader", code=2)


def test_bench_predicts_for_another_machine(icons, tmp_path):
    words = ["--seconds", "0.3", "--batch-size", "50", "--machine", "cores=8,step=1s"]  # every batch is full: 500 icons
    run("bench", icons, *words, "--json", tmp_path / "r.json")
    report = json.loads((tmp_path / "r.json").read_text())
    elsewhere = report["advice"][0]["elsewhere"]
    assert elsewhere["workers"] == 8 and elsewhere["machine"] == "8 cores, a step of 1.00 s"
    assert elsewhere["samples_per_s"] == pytest.approx(50, rel=0.02)
    assert elsewhere["limit"] == "the consumer"
    assert "'core=8'" in fails("bench", icons, "--machine", "core=8", code=2)


def test_bench_splits_the_stalls_of_a_step(icons, tmp_path):
    words = ["--train-step", "sleep:3", "--stall-split", "--seconds", "0.3", "--workers", "1", "--no-efficiency"]
    text = run("bench", icons, *words, "--json", tmp_path / "r.json").stdout.decode()
    assert "compute " in text and "prep stall (cores)" in text and "no loader" in text
    split = json.loads((tmp_path / "r.json").read_text())["rows"][0]["stall_split"]
    parts = [split[name] or 0 for name in ("compute_s", "prep_stall_s", "fetch_stall_s")]
    assert abs(sum(parts) - split["step_s"]) < 1e-9 and min(parts) >= 0 and split["rounds"] == 3
    assert (split["cold_step_s"] is None) == ("fetch stall not measured" in text)
    assert "a stall split requires a consumer" in fails("bench", icons, "--stall-split", code=2)
    assert "without a cache" in fails("bench", icons, *words, "--cache", "encoded", code=2)


def test_bench_stands_for_the_accelerators_of_mlperf_storage(icons, tmp_path):
    words = ["bench", icons, "--workers", "2", "--no-efficiency", "--seconds", "0.3", "--json", tmp_path / "r.json"]
    text = run(*words, "--train-step", "mlperf:unet3d-a100", "--mock-loader").stdout.decode()
    report = json.loads((tmp_path / "r.json").read_text())
    assert report["rows"][0]["batch_size"] == 7 and report["accelerator"]["least_utilisation"] == 0.9
    assert "mlperf:unet3d-a100: 7 samples in 636 ms" in text and "differs from that configuration" not in text
    text = run(*words, "--train-step", "mlperf:cosmoflow-h100", "--batch-size", "4").stdout.decode()
    report = json.loads((tmp_path / "r.json").read_text())
    row, accelerator = report["rows"][0], report["accelerator"]
    assert row["batch_size"] == 4 and "measured with 4 samples" in text
    alone = report["limits"]["loader_alone_samples_per_s"]
    assert accelerator["fed_by_loader_alone"] == int(alone * 0.0035 / 0.7)
    assert 0 < row["accelerator_utilisation"] <= 1
    assert "expected mlperf:resnet50-h100" in fails("bench", icons, "--train-step", "mlperf:x", code=2)


def test_tune_prints_the_lines_to_copy(icons):
    text = run("tune", icons, "--seconds", "0.3", "--workers", "1,2", "--prefetch", "1,2").stdout.decode()
    assert "penstock::Loader" in text and "ps.Loader(" in text and "<- best" in text


def test_a_broken_image_ends_a_bench_with_its_name(images, tmp_path):
    broken = tmp_path / "broken"
    shutil.copytree(images, broken)
    victim = sorted(broken.rglob("*.jpg"))[5]
    victim.write_bytes(victim.read_bytes()[:5000])
    line = fails("bench", broken, "--digest")
    assert str(victim.relative_to(broken)).removesuffix(".jpg") in line and "corrupt" in line


def test_ctrl_c_ends_a_bench_with_130(images):
    process = subprocess.Popen(
        [COMMAND, "bench", images, "--seconds", "100"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    while not handles(process.pid, signal.SIGINT):
        assert process.poll() is None
        time.sleep(0.001)
    time.sleep(1)  # some way into it
    process.send_signal(signal.SIGINT)
    _, text = process.communicate(timeout=60)
    assert process.returncode == 130, text
    assert b"interrupted" in text


def test_a_report_that_cannot_be_written_is_told_before_anything_is_measured(icons, tmp_path):
    for option in ("--html", "--json"):
        begun = time.monotonic()
        assert "cannot write" in fails("bench", icons, "--seconds", "60", option, tmp_path / "nowhere" / "r", code=1)
        assert time.monotonic() - begun < 30


@pytest.mark.parametrize("command", ["bench", "overview", "bench-sampling"])
def test_two_reports_never_share_a_file(command, icons, tmp_path):
    (tmp_path / "trace.json").write_text('{"traceEvents": []}')
    (tmp_path / "report").write_text("old")
    (tmp_path / "link").symlink_to("report")
    (tmp_path / "hard").hardlink_to(tmp_path / "report")
    given = {
        "bench": ["bench", icons],
        "overview": ["overview", "trace.json"],
        "bench-sampling": ["bench-sampling", icons],
    }
    pairs = [
        ("report", "report"),
        ("report", "./link"),
        ("report", "hard"),
        ("new", "./new"),
        ("-", "-"),
        ("-", "/dev/stdout"),
    ]
    for html, other in pairs:
        error = fails(*given[command], "--html", html, "--json", other, code=2, cwd=tmp_path)
        assert re.search(
            r"two reports would be written to (report|\./link|hard|(\./)?new|stdout|/dev/stdout); name another file",
            error,
        )
    assert (tmp_path / "report").read_text() == "old"


def test_another_machine_needs_what_gains_need(icons):
    for option in ("--no-efficiency", "--verify-predictions", "--digest"):
        assert "excludes" in fails("bench", icons, "--machine", "cores=8", option, code=2)
