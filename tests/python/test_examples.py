"""The Python examples of README.md and docs/python.md run as they stand."""

import importlib.util
import os
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).parents[2]


@pytest.fixture(name="workplace", scope="session")
def workplace_fixture(tmp_path_factory):
    """A folder where the paths that the examples name are what they say."""
    folder = tmp_path_factory.mktemp("examples")
    command = os.environ["PENSTOCK_COMMAND"]
    subprocess.run([command, "synth", "images", "photos", "-n", "40", "--seed", "1"], cwd=folder, check=True)
    subprocess.run([command, "pack", "photos", "train.tar.d", "--format", "tar"], cwd=folder, check=True)
    return folder


@pytest.mark.parametrize("document", ["README.md", "docs/python.md"])
def test_examples_run_in_their_order(document, workplace, monkeypatch, capsys):
    monkeypatch.chdir(workplace)
    examples = re.findall(r"^```python\n(.*?)^```", (ROOT / document).read_text(), re.MULTILINE | re.DOTALL)
    assert examples
    names = {}
    for example in examples:
        optional = [name for name in ("pyarrow", "torch") if f"import {name}" in example]
        if any(importlib.util.find_spec(name) is None for name in optional):
            continue
        exec(compile(example, document, "exec"), names)
    assert "samples/s" in capsys.readouterr().out
