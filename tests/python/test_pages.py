"""Every block of code on every page of the documentation runs, and every link leads somewhere."""

import importlib.util
import os
import re
import shutil
import subprocess

import h5py
import numpy as np
import pages
import penstock
import pytest
from pages import ROOT, name_of

DOCS = ROOT / "docs"
MADE = DOCS / "reference"  # by scripts/reference.py: signatures, no programs
ALL = [ROOT / "README.md", *sorted(page for page in DOCS.rglob("*.md"))]
WRITTEN = [page for page in ALL if MADE not in page.parents]
# Which ctest test compiles and runs the C++ blocks of a page.
COMPILED = {
    "README.md": "readme",
    "docs/own_steps.md": "own_steps",
    "docs/libtorch.md": "torch_document",
    "docs/extending.md": "extending",
}
# What a page makes itself.
MAKES = {"docs/cluster.md": ["train.tar.d"]}


@pytest.fixture(name="data", scope="session")
def data_fixture(tmp_path_factory):
    """A folder where the paths that pages name are what they say."""
    folder = tmp_path_factory.mktemp("data")

    def penstock(*words):
        subprocess.run([os.environ["PENSTOCK_COMMAND"], *words], cwd=folder, check=True)

    penstock("synth", "images", "photos", "-n", "40", "--seed", "1")
    penstock("pack", "photos", "train.tar.d", "--format", "tar")
    penstock("synth", "clouds", "trees", "-n", "40", "--points", "2000")
    penstock("pack", "trees", "trees.tar.d", "--format", "tar", "--point-order", "progressive")
    with h5py.File(folder / "volumes.h5", "w") as file:
        file["volume"] = np.zeros((16, 8, 64, 64), np.float32)
    return folder


@pytest.mark.parametrize("page", pages.that_run("README.md", "docs/*.md"), ids=name_of)
def test_the_blocks_of_a_page_run_in_their_order(page, data, tmp_path):
    if name_of(page) == "docs/quickstart.md":
        folder = tmp_path
    else:
        folder = tmp_path / "page"
        made = shutil.ignore_patterns(*MAKES.get(name_of(page), []))
        shutil.copytree(data, folder, ignore=made)
    pages.run_page(page, folder, name_of(page))


@pytest.mark.parametrize("page", WRITTEN, ids=name_of)
def test_every_block_is_run_or_says_why_not(page):
    for block in pages.blocks_of(page):
        where = f"{name_of(page)}:{block.line}"
        assert block.language in ("", "cmake", "cpp", "diff", "json", "python", "sh", "text"), (
            f"{where}: {block.language}"
        )
        if block.language == "cpp" and not block.not_run:
            assert name_of(page) in COMPILED, f"{where}: no test compiles this"
        if block.language == "":
            commands = re.search(
                r"^(cd|cmake|penstock|pip|python|scripts/\w|tests/\w|torchrun)\b.*", block.text, re.MULTILINE
            )
            assert commands is None or block.not_run, f"{where}: commands stand in blocks of sh: {commands[0]}"


def anchors_of(page):
    """As GitHub and the site make them of headings."""
    text = re.sub(r"^(`{3,})\w*[^\n]*\n.*?^\1$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    anchors = set()
    for heading in re.findall(r"^#+ (.+)$", text, re.MULTILINE):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        anchors.add(re.sub(r"[^\w\- ]", "", plain.lower()).strip().replace(" ", "-"))
    return anchors


@pytest.mark.parametrize("page", ALL, ids=name_of)
def test_every_link_leads_somewhere(page):
    for link in re.findall(r"\]\(([^)\s]+)\)", pages.prose_of(page)):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{name_of(page)}: {link}"
        assert ROOT in target.parents, f"{name_of(page)}: {link} lies outside"
        if anchor and target.suffix == ".md":
            assert anchor in anchors_of(target), f"{name_of(page)}: {link} names no heading"


def test_every_page_is_reached_from_the_first():
    reached, ahead = set(), [DOCS / "README.md"]
    while ahead:
        page = ahead.pop()
        if page in reached or page.suffix != ".md" or not page.exists():
            continue
        reached.add(page)
        for link in re.findall(r"\]\(([^)\s#]+)", pages.prose_of(page)):
            if not re.match(r"[a-z]+:", link):
                ahead.append((page.parent / link).resolve())
    assert {name_of(page) for page in DOCS.rglob("*.md")} <= {name_of(page) for page in reached}


def test_an_output_that_differs_is_told(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```python\nprint('1 image')\n```\n\n```text\n2 ...\n```\n")
    (tmp_path / "run").mkdir()
    with pytest.raises(AssertionError, match="does not stand in the output"):
        pages.run_page(page, tmp_path / "run", "page.md")
    page.write_text(
        "```python\nprint('loss 1.5, 30 images')\n```\n\n<!-- numbers differ -->\n```text\nloss 0.25, ... images\n```\n"
    )
    pages.run_page(page, tmp_path / "run", "page.md")


def code_in_lines(page):
    """Without the blocks: `what` stands between backticks in a line."""
    text = re.sub(r"^(`{3,})\w*[^\n]*\n.*?^\1$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    return re.findall(r"`([^`\n]+)`", text)


@pytest.mark.parametrize("page", ALL, ids=name_of)
def test_every_name_of_the_package_that_a_page_mentions_exists(page):
    for code in code_in_lines(page):
        for name in re.findall(r"\bps\.([A-Za-z_]+(?:\.[A-Za-z_]+)*)", code):
            found = penstock
            for part in name.split("."):
                if part == "torch" and found is penstock and importlib.util.find_spec("torch") is None:
                    break
                assert hasattr(found, part), f"{name_of(page)}: there is no ps.{name}"
                found = getattr(found, part)


@pytest.fixture(name="flags", scope="session")
def flags_fixture():
    """Command -> the flags that its help names."""

    def told(*words):
        command = [os.environ["PENSTOCK_COMMAND"], *words, "--help"]
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout

    names = re.findall(r"^  ([a-z-]+)  ", told().split("Subcommands:")[1], re.MULTILINE)
    return {name: set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", told(name))) for name in names}


@pytest.mark.parametrize("page", WRITTEN, ids=name_of)
def test_every_flag_of_the_command_that_a_page_mentions_exists(page, flags):
    lines = code_in_lines(page) + [
        line for block in pages.blocks_of(page) if block.language == "sh" for line in block.text.splitlines()
    ]
    for line in lines:
        for command, words in re.findall(r"\bpenstock ([a-z-]+)((?: [^|;&`#]*)?)", line):
            if command not in flags:
                continue
            for flag in re.findall(r"(?<![\w-])--[a-z][a-z-]*", words):
                assert flag in flags[command], f"{name_of(page)}: penstock {command} has no {flag}"
