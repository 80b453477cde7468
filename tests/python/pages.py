"""The pages of the documentation as programs: which blocks stand on them, and what runs them.

A block of `python` runs in the page's own interpreter, one after the other, with the names of those before it; one with a
title (```python title="train.py") is written to that file instead. A block of `sh` runs in the page's folder, with the
command `penstock` and the tests' `python` on PATH. Measurements of `--seconds N` take SHORT seconds there.
A block of `text` that follows one of them is what it prints on stdout: `...`
stands for anything, and a comment `<!-- numbers differ -->` before it lets each number be another. A comment `<!-- not run: REASON -->` before a block leaves it out, and one like
`<!-- run as: cuda:0 -> host -->` has other text in its place while it runs. `<!-- peer: ffcv -->` runs a block with an
interpreter that has that package: the tests' own, or PENSTOCK_PEERS/ffcv/bin/python. Only tests/peers.sh sets PENSTOCK_PEERS and
installs the packages that peers/*.txt name, so other runs of the tests leave out their blocks.
"""

import dataclasses
import functools
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]
COMMAND = pathlib.Path(os.environ["PENSTOCK_COMMAND"])
OPTIONAL = (
    "accelerate|albumentations|cv2|dask|datasets|jax|laspy|lmdb|lightning|orbax|pyarrow|ray|torch|torchdata|torchvision|"
    "transformers|webdataset"
)
OF_TRAINERS = ("orbax", "transformers")  # tests/trainers.sh installs them
SECONDS = 240  # for one block
SHORT = 0.1
PEERS = os.environ.get("PENSTOCK_PEERS")
SHIMS = ROOT / "tests/python/peers"

FENCE = re.compile(r"^(`{3,})(\w*)[ \t]*(.*)$")
NOT_RUN = re.compile(r"^<!-- not run: (.+) -->$")
PEER = re.compile(r"^<!-- peer: (.+) -->$")
RUN_AS = re.compile(r"^<!-- run as: (.+) -> (.+) -->$")


@dataclasses.dataclass
class Block:
    language: str
    text: str
    line: int
    title: str = ""
    not_run: str = ""  # the reason
    other: tuple = ()  # what is replaced, and by what
    numbers_differ: bool = False
    peer: str = ""  # a package


def blocks_of(page):
    """In their order."""
    blocks, reason, other, differ, peer, opened = [], "", (), False, "", None
    for number, line in enumerate(page.read_text().splitlines(), 1):
        fence = FENCE.match(line)
        if opened is None and fence:
            title = re.search(r'title="([^"]+)"', fence[3])
            opened = fence[1], Block(fence[2], "", number, title[1] if title else "", reason, other, differ, peer)
        elif opened is not None and line == opened[0]:
            block = opened[1]
            if block.other:
                assert block.other[0] in block.text, f"{page}:{block.line}: {block.other[0]} is not in this block"
                block.text = block.text.replace(*block.other)
            blocks.append(block)
            opened, reason, other, differ, peer = None, "", (), False, ""
        elif opened is not None:
            opened[1].text += line + "\n"
        elif line.strip():
            told = NOT_RUN.match(line)
            reason = told[1] if told else ""
            told = RUN_AS.match(line)
            other = told.groups() if told else ()
            told = PEER.match(line)
            peer = told[1] if told else ""
            differ = line == "<!-- numbers differ -->"
    assert opened is None, f"{page}: a block is not closed"
    return blocks


def name_of(page):
    return str(page.relative_to(ROOT))


def runs(page):
    return any(block.language in ("python", "sh") and not block.not_run for block in blocks_of(page))


def that_run(*patterns):
    """The pages with a block that runs."""
    return [page for pattern in patterns for page in sorted(ROOT.glob(pattern)) if runs(page)]


def prose_of(page):
    """The page without its blocks and without code in a line."""
    text = re.sub(r"^(`{3,})\w*[^\n]*\n.*?^\1$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"`[^`\n]+`", "", text)


def missing_package(code):
    """The first optional package that the code imports and that is not installed."""
    for package in re.findall(rf"^\s*(?:import|from) ({OPTIONAL})\b", code, re.MULTILINE):
        if importlib.util.find_spec(package) is None:
            return package
    return None


@functools.lru_cache
def with_package(package):
    """An interpreter and the folders that it looks into, which has the package; None where none has."""
    shims = [str(SHIMS), str(ROOT / ".venv/torchvision")]
    interpreters = [sys.executable]
    if PEERS is not None and (own := pathlib.Path(PEERS, package, "bin/python")).exists():
        interpreters.append(str(own))
    code = "; ".join(f"import {name}" for name in (package, "torch", "torchvision"))
    for interpreter in interpreters:
        for folders in (shims[:1], shims):
            tried = {**os.environ, "PYTHONPATH": os.pathsep.join(folders)}
            if subprocess.run([interpreter, "-c", code], env=tried, check=False, capture_output=True).returncode == 0:
                return interpreter, folders
    return None


def environment():
    build = COMMAND.parents[2]
    return {
        **os.environ,
        "PATH": os.pathsep.join([str(COMMAND.parent), str(pathlib.Path(sys.executable).parent), os.environ["PATH"]]),
        "PYTHONPATH": str(build / "python"),
        "OMP_NUM_THREADS": "1",
        "COLUMNS": "100",
    }


_INTERPRETER = """
import contextlib, io, json, sys, traceback
channel = sys.stdout
names = {"__name__": "__main__"}
for line in sys.stdin:
    block = json.loads(line)
    printed, error = io.StringIO(), ""
    with contextlib.redirect_stdout(printed):
        try:
            exec(compile(block["code"], block["name"], "exec"), names)
        except BaseException:
            error = traceback.format_exc()
    channel.write(json.dumps({"printed": printed.getvalue(), "error": error}) + chr(10))
    channel.flush()
"""


class Session:
    """Runs a page's blocks in a folder; a context manager."""

    def __init__(self, folder):
        self._folder = folder
        self._python = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self._python is not None:
            self._python.stdin.close()
            self._python.wait(SECONDS)
            self._python.stdout.close()

    def python(self, code, name):
        if self._python is None:
            self._python = subprocess.Popen(
                [sys.executable, "-c", _INTERPRETER],
                cwd=self._folder,
                env=environment(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        self._python.stdin.write(json.dumps({"code": code, "name": name}) + "\n")
        self._python.stdin.flush()
        answer = self._python.stdout.readline()
        assert answer, f"{name} ended the interpreter"
        told = json.loads(answer)
        assert not told["error"], f"{name}\n{told['error']}"
        return told["printed"]

    def shell(self, code, name, peer=None):
        env = environment()
        if peer is not None:
            interpreter, folders = peer
            env["PATH"] = os.pathsep.join([str(pathlib.Path(interpreter).parent), env["PATH"]])
            env["PYTHONPATH"] = os.pathsep.join([*folders, env["PYTHONPATH"]])
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", code],
            cwd=self._folder,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            timeout=SECONDS,
        )
        assert done.returncode == 0, f"{name} ended with {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout


def compare(wanted, printed, name, numbers_differ):
    pattern = re.escape(" ".join(wanted.split())).replace(r"\ ", r"\s+").replace(r"\.\.\.", ".*?")
    if numbers_differ:
        pattern = re.sub(r"\d+(?:(?:\\\.|,)\d+)*", lambda _: r"\d[\d.,]*", pattern)
        pattern = re.sub(r"(?<=\*)\\s\+(?:ns|us|ms|s)\b", lambda _: r"\s+(?:ns|us|ms|s)", pattern)
    if not re.fullmatch(r"\s*" + pattern + r"\s*", printed, re.DOTALL):
        raise AssertionError(f"{name} does not stand in the output\n--- page\n{wanted}\n--- printed\n{printed}")


def run_page(page, folder, name):
    """Runs all blocks of a page; skips where a program needs a package that is not installed."""
    printed = None  # by the last block that ran
    left_out = []
    blocks = blocks_of(page)
    of_peers = {block.peer for block in blocks}  # their programs run with another interpreter or folder
    with Session(folder) as session:
        for block in blocks:
            where = f"{name}:{block.line}"
            before, printed = printed, None
            if block.not_run:
                continue
            if block.peer:
                peer = with_package(block.peer)
                if peer is not None:
                    printed = session.shell(block.text, where, peer)
                elif PEERS is not None or not (SHIMS / f"{block.peer}.txt").exists():
                    left_out.append(f"{where}: {block.peer} is not installed")
                continue
            if block.title:
                missing = missing_package(block.text)
                if missing and block.title != "before.py" and missing not in of_peers:
                    cure = "tests/trainers.sh" if missing in OF_TRAINERS else "scripts/python_environment.sh"
                    pytest.skip(f"{where}: {block.title} needs {missing}, which is not installed; run {cure}")
                (folder / block.title).write_text(block.text)
            elif block.language == "python":
                if missing_package(block.text) is None:
                    printed = session.python(block.text, where)
            elif block.language == "sh":
                short = re.sub(r"(?<= --seconds )[\d.]+", str(SHORT), block.text)
                printed = session.shell(short, where)
            elif block.language == "text" and before is not None:
                compare(block.text, before, where, block.numbers_differ)
    if left_out:
        cure = "see the end of tests/peers.sh" if PEERS is not None else "run scripts/python_environment.sh"
        pytest.skip(f"{', '.join(left_out)} (the rest of the page ran); {cure}")
