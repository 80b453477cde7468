#!/usr/bin/env python3
"""Usage: follow.py LIBRARY COMPILER [OPTION...]

Follows the recipes of docs/extending.md in a copy of the tree: takes their blocks to the files they name, counts these,
compiles those to a library in front of LIBRARY (the library as built), and runs a program NAME.cpp beside this file with
it. Where there is a NAME.py too, and PENSTOCK_PACKAGE names the folder of the Python package, that runs with the same library,
and is told PENSTOCK_COMMAND."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/layering"))
from include_graph import ORDER

# Title: its program, how many files it may touch, and the sources that a header among them changes.
RECIPES = {
    "Add a codec": ("codec", 4, []),
    "Add a format": ("packing", 4, []),
    "Add a transform": ("step", 3, ["transforms/chain.cpp"]),
    "Add a stage": ("stage", 3, []),
    "Add a counter": ("counter", 2, []),
    "Add a loader option": ("option", 2, []),
    "Add a packing option": ("pack_option", 2, []),
}
PLACE = re.compile(
    r"^(?:New file `(?P<new>[^`]+)`|In `(?P<old>[^`]+)`, (?P<how>after|instead of) `(?P<anchor>[^`]+)`)", re.M
)


def blocks_of(recipe):
    """The blocks of a recipe, each with the place that the words before it name."""
    for words, text in re.findall(r"(.*?)^```cpp\n(.*?)^```$", recipe, re.MULTILINE | re.DOTALL):
        places = [match.groupdict() for match in PLACE.finditer(words)]
        assert len(places) == 1, f"a block that belongs to no file, or to several:\n{text}"
        yield {**places[0], "text": text}


def take(tree, block):
    """Puts one block of a recipe in its place. Returns the file's path."""
    if block["new"]:
        file = tree / block["new"]
        assert not file.exists(), f"{block['new']} is there already"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(block["text"])
        return block["new"]
    file = tree / block["old"]
    lines = file.read_text().splitlines(keepends=True)
    at = [number for number, line in enumerate(lines) if block["anchor"] in line]
    assert len(at) == 1, f"{block['old']} has {len(at)} lines with {block['anchor']}"
    if block["how"] == "after":
        lines.insert(at[0] + 1, block["text"])
    else:
        lines[at[0]] = lines[at[0]].replace(block["anchor"], block["text"].rstrip("\n"))
    file.write_text("".join(lines))
    return block["old"]


def follow(name, most, changed, text, library, compile_with):
    with tempfile.TemporaryDirectory() as folder:
        tree = pathlib.Path(folder) / "tree"
        for layer in [*ORDER, "penstock"]:
            shutil.copytree(ROOT / layer, tree / layer)
        touched = sorted({take(tree, block) for block in blocks_of(text)})
        print(f"{name}: {len(touched)} files: {', '.join(touched)}", flush=True)
        assert len(touched) <= most, f"at most {most} may be needed"
        sources = [tree / path for path in [*touched, *changed] if path.endswith(".cpp")]
        program, made = pathlib.Path(folder) / name, pathlib.Path(folder) / f"lib{name}.so"
        own = pathlib.Path(__file__).with_name(name + ".cpp")
        compiler = [*compile_with, f"-I{tree}", f"-Wl,--no-as-needed,-rpath,{pathlib.Path(library).parent}:{folder}"]
        subprocess.run([*compiler, "-shared", "-fPIC", *map(str, sources), library, "-o", str(made)], check=True)
        subprocess.run([*compiler, str(own), str(made), library, "-o", str(program)], check=True)
        subprocess.run([str(program), folder], check=True)
        script, package = own.with_suffix(".py"), os.environ.get("PENSTOCK_PACKAGE")
        if not script.exists():
            return
        if not package:
            print(f"{name}.py left out: there is no Python package")
            return
        command = os.environ.get("PENSTOCK_COMMAND", "").split()
        with_it = os.environ | {"LD_PRELOAD": str(made), "PYTHONPATH": package}
        subprocess.run([sys.executable, str(script), folder, *command], env=with_it, check=True)


def main(library, *compile_with):
    page = (ROOT / "docs" / "extending.md").read_text()
    sections = dict(part.split("\n", 1) for part in re.split(r"^## ", page, flags=re.MULTILINE)[1:])
    assert sections.keys() == RECIPES.keys(), f"recipes: {', '.join(sections)}"
    for title, (name, most, changed) in RECIPES.items():
        follow(name, most, changed, sections[title], library, compile_with)


main(*sys.argv[1:])
