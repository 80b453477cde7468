"""The types of the package as a checker of programs sees them: mypy, where it is installed."""

import os
import pathlib
import shutil
import subprocess
import sys

import penstock as ps
import pytest

PACKAGE = pathlib.Path(ps.__file__).parent

PROGRAM = """
import penstock as ps

loader = ps.Loader("train.tar.d", batch_size=4, missing={"cls": -100, "*": "raise"},
                   transforms={"cls": ps.label(), "own": ps.label() | ps.transform(abs)})
for batch in loader:
    print((batch["cls"] == 0).sum(), batch["__valid__"] & 1, batch["__key__"])
dataset = ps.open("train.tar.d")
text: str = ps.__version__
hits = (dataset[0].key, batch["__valid__"] + 1, -batch["__valid__"], 1 / batch["__valid__"])
wrong: int = ps.__version__
ps.Loader("train.tar.d", batchsize=4)
ps.image.decode() | 3
"""

# The types of NumPy are checked, too. Those of PyTorch, Ray and JAX would take 20 seconds.
CONFIGURATION = """
[mypy]
ignore_missing_imports = True
follow_imports = skip
[mypy-numpy.*]
follow_imports = normal
"""


@pytest.fixture(name="mypy")
def mypy_fixture(tmp_path):
    beside = pathlib.Path(sys.executable).with_name("mypy")
    command = str(beside) if beside.exists() else shutil.which("mypy")
    if command is None:
        pytest.skip("mypy is not installed; run scripts/python_environment.sh")

    def checked(*arguments):
        options = [
            "--cache-dir",
            str(tmp_path / "cache"),
            "--no-error-summary",
            "--disable-error-code",
            "import-not-found",
        ]
        environment = {**os.environ, "MYPYPATH": str(PACKAGE.parent)}
        ran = subprocess.run(
            [command, *options, *arguments], env=environment, cwd=tmp_path, capture_output=True, text=True
        )
        assert ran.stderr == ""
        return [line for line in ran.stdout.splitlines() if ": error: " in line]

    return checked


def test_the_package_has_no_error_of_types(mypy, tmp_path):
    (tmp_path / "mypy.ini").write_text(CONFIGURATION)
    assert mypy("--config-file", "mypy.ini", "-p", "penstock") == []


def test_a_program_is_told_its_own_errors_alone(mypy, tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    lines = [int(line.split(":")[1]) for line in mypy("program.py")]
    wrong = [number for number, line in enumerate(PROGRAM.splitlines(), 1) if line.startswith(("wrong", "ps."))]
    assert sorted(set(lines)) == wrong
