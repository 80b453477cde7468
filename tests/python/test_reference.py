"""docs/reference/ is what scripts/reference.py makes of the sources, and nothing is missing there."""

import ast
import functools
import importlib.util
import inspect
import os
import pathlib
import pydoc
import re
import sys

import pytest

import penstock as ps

ROOT = pathlib.Path(__file__).parents[2]
BUILD = pathlib.Path(os.environ["PENSTOCK_COMMAND"]).parents[2]

sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "tests/layering")]
from include_graph import ORDER

specification = importlib.util.spec_from_file_location("reference", ROOT / "scripts/reference.py")
reference = importlib.util.module_from_spec(specification)
specification.loader.exec_module(reference)


@pytest.mark.parametrize("page", ["command.md", "python.md", "options.md", "stats.md"])
def test_the_committed_page_is_what_the_script_makes(page):
    made = reference.pages(BUILD)[page]
    assert (ROOT / "docs/reference" / page).read_text() == made, f"scripts/reference.py {BUILD} writes {page}"


def test_every_option_of_every_door_is_in_the_table():
    table = reference.option_table(BUILD)
    keywords = [python for _, python, *_ in table if python and "." not in python]
    assert keywords == list(inspect.signature(ps.Loader).parameters)[1:]
    of_objects = {python for _, python, *_ in table if "." in python}
    found = {
        f"{keyword}.{name}"
        for keyword, of in {
            "cache": ps.CacheOptions,
            "disk_cache": ps.DiskCacheOptions,
            "read_options": ps.ReadOptions,
            "memory_options": ps.MemoryOptions,
            "device_options": ps.DeviceOptions,
            "sharing": ps.SharingOptions,
            "servers": ps.ServersOptions,
        }.items()
        for name in vars(of)
        if not name.startswith("_")
    }
    assert of_objects == found
    assert {name for _, _, _, name, _, _ in table if name} == set(reference.cpp_options())
    assert all(meaning.endswith(".") and change.endswith(".") for _, _, _, _, meaning, change in table)


@pytest.mark.parametrize(
    ("api", "file", "name"),
    [
        ("pack", "_pack.py", "pack"),
        ("Writer", "_writer.py", "Writer"),
        ("clusters", "dask.py", "pack"),
        ("clusters", "ray.py", "pack"),
    ],
)
def test_the_signatures_of_packing_are_those_of_the_table(api, file, name):
    table = {
        option: declared
        for _, option, declared, apis, _ in reference.table_of(BUILD, "pack_option_table")
        if api in apis.split(",")
    }
    node = reference.definitions(reference.PACKAGE / file)[name]
    if isinstance(node, ast.ClassDef):
        node = next(each for each in node.body if getattr(each, "name", "") == "__init__")
    written = {
        argument.arg: f"{reference.short(ast.unparse(argument.annotation))} = {eval(ast.unparse(default))!r}"
        for argument, default in zip(node.args.kwonlyargs, node.args.kw_defaults)
    }
    assert written == {
        option: reference.short(declared).replace("PathLike", "PathLike[str]") for option, declared in table.items()
    }


def test_every_flag_of_pack_is_in_the_table():
    flags = re.findall(r"^  --([a-z-]+)", reference.help_of(BUILD / "bindings/cli/penstock", "pack"), re.MULTILINE)
    table = reference.table_of(BUILD, "pack_option_table")
    of_command = [option.replace("_", "-") for _, option, _, apis, _ in table if "command" in apis.split(",")]
    of_open = re.findall(r"^  --([a-z-]+)", reference.help_of(BUILD / "bindings/cli/penstock", "info"), re.MULTILINE)
    assert [flag for flag in flags if flag not in of_open] == of_command


def test_a_loader_has_at_most_34_keywords():
    keywords = [each for each in inspect.signature(ps.Loader).parameters.values() if each.kind is each.KEYWORD_ONLY]
    assert len(keywords) <= 34


def test_the_help_of_a_loader_has_at_most_157_lines_of_100_columns():
    lines = pydoc.plain(pydoc.render_doc(ps.Loader)).rstrip().split("\n")
    assert sum(max(1, -(-len(line) // 100)) for line in lines) <= 157


def test_every_number_of_stats_is_on_the_page(tmp_path):
    (tmp_path / "a.cls").write_text("1")
    stats = ps.Loader(tmp_path, batch_size=1).stats()
    page = (ROOT / "docs/reference/stats.md").read_text()
    listed = {(group, name) for group, name, *_ in reference.table_of(BUILD, "counter_table")}
    for group, values in [("", stats), ("reads", stats["reads"]), ("cache", stats["cache"])]:
        for name, value in values.items():
            if isinstance(value, (int, float)) and not isinstance(value, bool) and not name.startswith("python_"):
                assert (group, name) in listed
                assert f"| `{name}` |" in page


def test_no_public_member_is_without_text():
    text = (ROOT / "docs/reference/python.md").read_text()
    assert re.findall(r"^\| `.*` \|  \|$", text, re.MULTILINE) == []


def test_signatures_are_those_of_the_imported_package():
    text = (ROOT / "docs/reference/python.md").read_text()
    compared = 0
    for name in reference.found(BUILD):
        if name.startswith(("dask.", "ray.", "torch.")):
            continue  # what they import may be missing
        shown = re.search(rf"^### ps\.{re.escape(name)}\n\n```text\n(.*?)\n```", text, re.MULTILINE | re.DOTALL)
        if not shown:
            continue
        public = functools.reduce(getattr, name.split("."), ps)
        try:
            wanted = list(inspect.signature(public).parameters)
        except ValueError:  # a compiled class that programs do not construct
            continue
        call = shown[1].rpartition(")")[0] + ")"
        keywords = ast.parse(f"def {re.sub(r'^ps[.]', '', call).replace('.', '_', name.count('.'))}: ...").body[0].args
        written = [argument.arg for argument in (*keywords.posonlyargs, *keywords.args, *keywords.kwonlyargs)]
        written += [argument.arg for argument in (keywords.vararg, keywords.kwarg) if argument]
        assert sorted(written) == sorted(wanted), name
        compared += 1
    assert compared > 80


def test_every_kind_of_error_is_on_the_page():
    page = (ROOT / "docs/reference/errors.md").read_text()
    declared = (ROOT / "penstock/error.hpp").read_text().partition("enum class ErrorKind")[2].partition("};")[0]
    assert set(re.findall(r"^  (\w+),", declared, re.MULTILINE)) == set(
        re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)
    )
    assert all(f"`error.{part}`" in page for part in ps.Error.__annotations__)


def test_the_glossary_is_in_order():
    page = (ROOT / "docs/reference/glossary.md").read_text()
    terms = re.findall(r"^\| ([a-z ]+) \|", page, re.MULTILINE)
    assert terms[0] == "term"
    assert terms[1:] == sorted(set(terms[1:]))


def test_every_environment_variable_is_on_the_page():
    read = re.compile(r'"((?:[A-Z][A-Z0-9]*_[A-Z0-9_]+)|TMPDIR|RANK|HOME)"')
    pages = (ROOT / "docs/reference/environment.md").read_text() + (ROOT / "docs/credentials.md").read_text()
    sources = [file for layer in ORDER for file in (ROOT / layer).rglob("*.cpp")]
    found = {name for file in sources for name in read.findall(file.read_text())}
    assert len(found) > 50
    assert sorted(name for name in found if not re.search(rf"\b{name}\b", pages)) == []


def test_every_command_and_every_public_name_has_an_entry():
    text = (ROOT / "docs/reference/command.md").read_text()
    command = BUILD / "bindings/cli/penstock"
    for name in reference.commands_in(reference.help_of(command)):
        assert f"\n## penstock {name}\n" in text
    text = (ROOT / "docs/reference/python.md").read_text()
    for name in reference.found(BUILD):
        assert f"\n### ps.{name}\n" in text
    assert "\n## Other\n" not in text, "scripts/reference.py has no heading for a name that the package exports"


def test_options_that_no_gpu_has_run_are_experimental():
    page = (ROOT / "docs" / "reference" / "options.md").read_text()
    text = page.partition("### device_options.gpu_direct\n")[2].partition("###")[0]
    assert text.strip().startswith("Experimental, no GPU has run it yet.")
