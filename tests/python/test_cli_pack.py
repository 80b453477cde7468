"""penstock pack: equal bytes whatever the workers, labels, interruptions and faults."""

import gzip
import json
import os
import resource
import shutil
import signal
import subprocess
import time

import pytest
from command import COMMAND, FORMATS, bytes_of, fails, run


@pytest.mark.parametrize("format", FORMATS)
def test_a_packed_dataset_is_its_source(packed, icons, format):
    dataset = packed[format]
    info = json.loads(run("info", dataset, "--json").stdout)
    assert info["samples"] == 500 and info["format"] == format and info["packed"]
    assert info["checksums"] == "every value"
    assert info["shards"] > 1 and len(info["classes"]) == 10
    png = next(field for field in info["fields"] if field["name"] == "png")
    assert png["codec"] == "png" and png["samples"] == 500
    assert png["min_bytes"] <= png["mean_bytes"] <= png["max_bytes"]
    assert png["images"]["height"] == [32, 32, 32]
    assert info["fingerprint"] == json.loads(run("info", icons, "--json").stdout)["fingerprint"]
    assert b": good" in run("verify", dataset, "--against", icons).stdout
    assert b"500" in run("info", dataset).stdout


@pytest.mark.parametrize("format", FORMATS)
def test_packed_bytes_do_not_depend_on_workers(icons, packed, tmp_path, format):
    run("pack", icons, tmp_path / "again", "--format", format, "--shard-size", "500KB", "--workers", "3")
    assert bytes_of(tmp_path / "again") == bytes_of(packed[format])


def test_pack_refuses_a_destination_that_is_there_unless_told(icons, packed, tmp_path):
    dataset = tmp_path / "dataset"
    shutil.copytree(packed["tar"], dataset)
    fails("pack", icons, dataset, "--format", "tar", code=2)
    assert bytes_of(dataset) == bytes_of(packed["tar"])
    run("pack", icons, dataset, "--format", "lmdb", "--overwrite")
    assert json.loads(run("info", dataset, "--json").stdout)["format"] == "lmdb"


def test_tar_is_packed_unless_told(icons, tmp_path):
    run("pack", icons, tmp_path / "told", "--format", "tar")
    run("pack", icons, tmp_path / "default")
    assert bytes_of(tmp_path / "default") == bytes_of(tmp_path / "told")
    (tmp_path / "x.tar.gz").write_bytes(gzip.compress((tmp_path / "told" / "shard-000000.tar").read_bytes()))
    run("pack", tmp_path / "x.tar.gz", tmp_path / "unpacked")
    assert json.loads(run("info", tmp_path / "unpacked", "--json").stdout)["format"] == "tar"


def test_pack_takes_labels_from_a_table(icons, tmp_path):
    keys = sorted(str(p.relative_to(icons))[:-4] for p in icons.rglob("*.png"))
    flat = tmp_path / "flat"
    flat.mkdir()
    for key in keys[:20]:
        shutil.copy(icons / f"{key}.png", flat / f"{key.replace('/', '-')}.png")
    rows = "".join(
        f"{key.replace('/', '-')}.png,{'even' if i % 2 == 0 else 'odd'}\n" for i, key in enumerate(keys[:20])
    )
    (tmp_path / "labels.csv").write_text("file,kind\n" + rows)
    run("pack", flat, tmp_path / "x", "--format", "tar", "--labels", f"{tmp_path}/labels.csv:kind")
    assert json.loads(run("info", tmp_path / "x", "--json").stdout)["classes"] == ["even", "odd"]
    assert run("cat", tmp_path / "x", keys[1].replace("/", "-") + ".cls").stdout == b"1"


def test_classes_of_another_dataset_number_the_labels(icons, packed, tmp_path):
    some = tmp_path / "some"
    for name in ("class_03", "class_07"):
        shutil.copytree(icons / name, some / name)
    run("pack", some, tmp_path / "x", "--format", "tar", "--classes", packed["tar"])
    key = sorted(os.listdir(some / "class_07"))[0].removesuffix(".png")
    assert run("cat", tmp_path / "x", f"class_07/{key}.cls").stdout == b"7"
    run("verify", tmp_path / "x", "--against", some)


# Interruptions and faults


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("blow", [signal.SIGKILL, signal.SIGINT])
def test_resume_after_an_interruption_gives_identical_bytes(images, tmp_path, format, blow):
    options = ["--format", format, "--shard-size", "512KiB", "--workers", "1"]
    run("pack", images, tmp_path / "whole", *options)
    destination, partial = tmp_path / "cut", tmp_path / "cut.partial"
    process = subprocess.Popen([COMMAND, "pack", images, destination, *options], stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < deadline:
        if partial.exists() and len(list(partial.glob("*.idx"))) >= 2:
            process.send_signal(blow)
            break
    _, told = process.communicate(timeout=60)
    code = process.returncode
    if code == 0:
        pytest.skip("packing ended before the signal came; run this test alone")
    assert code == (-signal.SIGKILL if blow == signal.SIGKILL else 130)
    if blow == signal.SIGINT:
        goes_on = "interrupted; the same command with --resume resumes after the last complete shard"
        assert told.splitlines()[-1] == "penstock: error: " + goes_on
    assert not destination.exists()
    fails("info", partial)
    run("pack", images, destination, *options, "--resume")
    assert bytes_of(destination) == bytes_of(tmp_path / "whole")
    assert not partial.exists()


def test_damaged_samples_are_skipped_and_named_when_asked(packed, tmp_path):
    source = tmp_path / "source"
    shutil.copytree(packed["tar"], source)
    with open(source / "shard-000000.tar", "r+b") as file:  # inside the first sample's image
        file.seek(1000)
        file.write(b"damage")
    assert "class_00/000000" in fails("pack", source, tmp_path / "x", "--format", "lmdb")
    assert not (tmp_path / "x").exists()
    result = run("pack", source, tmp_path / "y", "--format", "lmdb", "--on-error", "skip")
    assert b"skipped class_00/000000: field png" in result.stderr
    assert json.loads(run("info", tmp_path / "y", "--json").stdout)["samples"] == 499
    run("verify", tmp_path / "y")


def test_a_full_disk_while_packing_is_one_line_and_leaves_no_dataset(images, tmp_path):
    def no_space():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))

    for format in FORMATS:
        line = fails("pack", images, tmp_path / format, "--format", format, preexec_fn=no_space)
        assert format in line and ("File too large" in line or "is the disk full?" in line)
        assert not (tmp_path / format).exists()
        run("pack", images, tmp_path / format, "--format", format, "--resume")
