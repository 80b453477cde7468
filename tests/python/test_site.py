"""docs/ builds as a site without a warning."""

import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]


def test_the_site_builds_without_a_warning(tmp_path):
    for package in ("mkdocs", "material"):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed; run scripts/python_environment.sh")
    site = tmp_path / "site"
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", site],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    assert not re.search(r"^WARNING", done.stdout, re.MULTILINE), done.stdout
    built = {page.relative_to(site).with_suffix(".md") for page in site.rglob("*.html")}
    for page in (ROOT / "docs").rglob("*.md"):
        name = page.relative_to(ROOT / "docs")
        assert (name.with_name("index.md") if name.name == "README.md" else name) in built


def test_the_charts_are_those_of_the_results():
    done = subprocess.run(
        [sys.executable, ROOT / "scripts/charts.py", "--check"], stderr=subprocess.PIPE, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_a_chart_of_other_values_is_found(tmp_path):
    (tmp_path / "bench").mkdir()
    shutil.copytree(ROOT / "scripts/pictures", tmp_path / "scripts/pictures")
    results = (ROOT / "bench/RESULTS.md").read_text()
    (tmp_path / "bench/RESULTS.md").write_text(re.sub(r"(\| penstock, folder \|) \d", r"\1 9", results))
    script = tmp_path / "scripts/charts.py"
    script.write_text((ROOT / "scripts/charts.py").read_text())
    subprocess.run([sys.executable, script], stdout=subprocess.PIPE, check=True)
    drawn = (tmp_path / "docs/images/photographs.svg").read_text()
    assert drawn != (ROOT / "docs/images/photographs.svg").read_text()
    (tmp_path / "bench/RESULTS.md").write_text(results)
    done = subprocess.run([sys.executable, script, "--check"], stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1 and "run scripts/charts.py" in done.stderr


def test_the_ratios_of_the_readme_are_those_of_the_results():
    rows = (
        (ROOT / "bench/RESULTS.md").read_text().partition("<!-- chart: images/photographs.svg")[2].partition("\n\n")[0]
    )
    rate = {
        name: float(value.replace(",", "")) for name, value in re.findall(r"^\| ([^|]+) \| ([\d,]+) \|", rows, re.M)
    }
    pillow, turbo = (rate["penstock, folder"] / rate[f"DataLoader, {decoder}"] for decoder in ("Pillow", "TurboJPEG"))
    text = " ".join((ROOT / "README.md").read_text().split())
    assert f"{pillow:.1f} times as fast as `DataLoader` with Pillow, and {turbo:.1f} times as fast" in text
