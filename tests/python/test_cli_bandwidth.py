"""penstock doctor --bandwidth: the figures of a dataset and of a step."""

import os
import re

import pytest
from command import bytes_of, fails, run


def rows_of(text):
    """{resource: cells} of the first row of each resource."""
    found = {}
    for line in text.splitlines():
        name, *cells = re.split(r"  +", line)
        found.setdefault(name, cells)
    return found


def number(cell):
    return float(cell.replace(",", ""))


def test_a_dataset_and_a_step_have_their_needs(icons):
    files = {path: data for path, data in bytes_of(icons).items() if path.suffix == ".png"}
    text = run("doctor", "--bandwidth", icons, "--step", 20, "--batch-size", 100).stdout.decode()
    assert {path: data for path, data in bytes_of(icons).items() if path.suffix == ".png"} == files
    stored = sum(map(len, files.values())) / len(files)
    rows = rows_of(text)
    assert rows["resource"] == ["MB/s", "samples/s", "needed MB/s", "use %"]
    assert number(rows["page cache"][2]) == pytest.approx(5000 * stored / 1e6, abs=0.051)
    assert number(rows["memory copy"][2]) == pytest.approx(5000 * (3 * 32 * 32 * 4 + 8) / 1e6, abs=0.051)
    for name in ("page cache", "memory copy"):
        rate, samples, needed, use = map(number, rows[name][:4])
        assert rate > 0 and use == pytest.approx(100 * needed / rate, abs=1 + 0.1 * use)
        assert samples == pytest.approx(5000 * 100 / max(use, 0.5), rel=1.1)
    assert number(rows["loopback"][0]) > 0 and rows["loopback"][1:4] == ["-", "-", "-"]
    assert "step: 100 samples in 20 ms" in text and "500 samples, " in text
    assert re.search(
        r"^(The limit is|No resource is the limit. The slowest is|The slowest is) the ", text, re.MULTILINE
    )
    assert "disk" in rows and "PCIe" in rows


def test_any_file_has_a_bandwidth(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(os.urandom(1 << 20))
    text = run("doctor", "--bandwidth", path, "--sample-size", "100kB").stdout.decode()
    assert "100kB for a sample" in text and "needed" not in text
    rate, samples = map(number, rows_of(text)["page cache"][:2])
    assert samples == pytest.approx(rate * 10, rel=0.05)
    assert sorted(os.listdir(tmp_path)) == ["file"]


def test_wrong_usage_is_one_line(tmp_path):
    assert "--bandwidth" in fails("doctor", "--step", 20, code=2)
    fails("doctor", "--bandwidth", tmp_path / "none")
    assert "--sample-size" in fails("doctor", "--bandwidth", tmp_path, "--sample-size", "many", code=2)
