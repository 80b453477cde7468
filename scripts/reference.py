#!/usr/bin/env python3
"""Usage: scripts/reference.py [BUILD]

Writes docs/reference/ from the sources. command.md comes from `penstock COMMAND --help`, python.md from the package's
signatures and docstrings. options.md comes from the tables of options (loader/options/, pack/) and the declarations of
C++ and Python, stats.md from record/time/counters.cpp, and cpp.md from the public headers (scripts/cpp_reference.py).
BUILD is a build folder with the command and the Python package, by default build/dev. A test compares the pages.
"""

from __future__ import annotations

import ast
import json
import os
import pathlib
import re
import subprocess
import sys
import textwrap
from typing import Any

import cpp_reference

ROOT = pathlib.Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "bindings/python/penstock"
FOLDER = ROOT / "docs/reference"
MADE = "<!-- Made by scripts/reference.py; edit {source} instead. -->\n"


# ---- The command ----------------------------------------------------------------------------------------------------


def help_of(command: pathlib.Path, *words: str) -> str:
    told = subprocess.run([command, *words, "--help"], check=True, stdout=subprocess.PIPE, text=True).stdout
    return "\n".join(line.rstrip() for line in told.strip().splitlines())


def commands_in(text: str) -> list[str]:
    return re.findall(r"^  ([a-z-]+)  ", text.split("Subcommands:")[1], re.MULTILINE)


def command_page(command: pathlib.Path) -> str:
    top = help_of(command)
    parts = [
        MADE.format(source="bindings/cli/"),
        "# The command `penstock`\n",
        "The output of `penstock COMMAND --help` for every command.\n",
        f"```text\n{top}\n```\n",
    ]
    for name in commands_in(top):
        parts.append(f"## penstock {name}\n\n```text\n{help_of(command, name)}\n```\n")
    return "\n".join(parts)


# ---- Python ---------------------------------------------------------------------------------------------------------

# Headings of the page, and the names in each group. Exported names without a group end the page.
GROUPS: list[tuple[str, list[str]]] = [
    ("Loading", ["Loader", "LoaderIterator", "Batch", "Stats", "Tensor", "Ragged", "Error"]),
    ("Sharing batches", ["share", "attach"]),
    ("Decoding values", ["decode", "decode_batch", "decoder"]),
    ("Orders and batches", ["shuffle.*", "sampler.*", "batching.*"]),
    (
        "Options in objects",
        [
            "CacheOptions",
            "DiskCacheOptions",
            "ReadOptions",
            "MemoryOptions",
            "DeviceOptions",
            "SharingOptions",
            "ServersOptions",
        ],
    ),
    (
        "PyTorch",
        [
            "torch.Loader",
            "torch.ImageFolder",
            "torch.decode",
            "torch.decode_batch",
            "torch.decoder",
            "torch.tensor",
            "torch.tensors",
            "torch.rows",
            "torch.nested",
            "torch.sum_over_ranks",
            "torch.rank_table",
        ],
    ),
    ("Datasets", ["open", "concat", "token_blocks", "Dataset", "Sample", "FieldSchema"]),
    (
        "Chains",
        [
            "field",
            "window",
            "follow",
            "window_valid",
            "label",
            "raw",
            "boxes",
            "keypoints",
            "pad",
            "valid_mask",
            "lengths",
        ]
        + ["Chain", "transform", "Transform", "sample_transform", "SampleFunction"]
        + ["from_torchvision", "from_albumentations"],
    ),
    ("Mixing rows", ["mixup", "cutmix", "Mix"]),
    ("Mixing datasets", ["mixture", "Mixture"]),
    ("Images", ["image.*"]),
    ("Point clouds", ["points.*"]),
    ("Arrays", ["array.*"]),
    ("Packing", ["pack", "finish_pack", "Writer", "encode", "dask.pack", "ray.pack"]),
    ("Sources of samples", ["sources.*"]),
    ("Copying and tuning", ["stage", "tune"]),
    ("What was delivered", ["audit", "Audit"]),
    (
        "Where the time goes",
        [
            "profile",
            "Profile",
            "Verdict",
            "Comparison",
            "rank_table",
            "RankTable",
            "Steps",
            "schedule",
            "Schedule",
            "Trace",
            "merge_traces",
            "overview",
            "Overview",
            "layers",
            "Layers",
            "Layer",
        ],
    ),
]
INNER = ("ItemError", "Source", "choose")  # exported by penstock.sources, but not for programs
MADE_BY_PENSTOCK = (
    "Audit",
    "Dataset",
    "Layer",
    "Layers",
    "Mixture",
    "Profile",
    "RankTable",
    "SampleFunction",
    "Stats",
    "Steps",
    "Trace",
    "Transform",
)  # programs do not construct them


def tree_of(path: pathlib.Path) -> ast.Module:
    return ast.parse(path.read_text())


def exported(path: pathlib.Path) -> list[str]:
    for node in tree_of(path).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "__all__":
            return [str(name) for name in ast.literal_eval(node.value)]
    raise SystemExit(f"{path} has no __all__")


def definitions(path: pathlib.Path) -> dict[str, ast.stmt]:
    return {node.name: node for node in tree_of(path).body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}


def imported(path: pathlib.Path) -> dict[str, str]:
    """Name -> the neighbouring module from which the file imports it."""
    return {
        alias.asname or alias.name: node.module or ""
        for node in tree_of(path).body
        if isinstance(node, ast.ImportFrom) and node.level == 1
        for alias in node.names
    }


def found(build: pathlib.Path) -> dict[str, ast.stmt]:
    """All public names, without `ps.`."""
    compiled = build / "python/penstock/_penstock"
    stubs = definitions(compiled / "__init__.pyi")
    names: dict[str, ast.stmt] = {}
    modules = imported(PACKAGE / "__init__.py")
    for name in exported(PACKAGE / "__init__.py"):
        if name in ("image", "points", "array"):
            inner = definitions(compiled / f"{name}.pyi")
            names.update({f"{name}.{each}": node for each, node in inner.items() if not each.startswith("_")})
        elif name in ("batching", "sampler", "shuffle"):
            inner = definitions(PACKAGE / f"{name}.py")
            names.update({f"{name}.{each}": inner[each] for each in exported(PACKAGE / f"{name}.py")})
        elif name not in ("sources", "__version__"):
            own = PACKAGE / f"{modules[name].replace('.', '/')}.py"  # missing for names of the compiled module
            names[name] = (definitions(own) if own.exists() else {}).get(name) or stubs[name]
    for inner in ("torch", "dask", "ray"):
        own = definitions(PACKAGE / f"{inner}.py")
        names.update({f"{inner}.{name}": own[name] for name in exported(PACKAGE / f"{inner}.py")})
    modules = imported(PACKAGE / "sources/__init__.py")
    for name in exported(PACKAGE / "sources/__init__.py"):
        if name not in INNER:
            names[f"sources.{name}"] = definitions(PACKAGE / f"sources/{modules[name]}.py")[name]
    options = dict(table_of(build, "pack_help"))
    for node in names.values():
        fill_docstring(node, options)
    return names


def fill_docstring(node: Any, options: dict[str, str]) -> None:
    """Inserts the help of options at the same place as the decorator with_options()."""
    for decorator in getattr(node, "decorator_list", []):
        if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "with_options":
            help_text = options[ast.literal_eval(decorator.args[0])].rstrip()
            node.body[0].value.value = ast.get_docstring(node).replace("{options}", help_text)


def short(annotation: str) -> str:
    return re.sub(
        r"\b(penstock\._penstock|penstock\._stats|penstock|os|pathlib|collections\.abc|typing|_penstock)\.",
        "",
        annotation,
    )


def signature(name: str, node: ast.FunctionDef) -> str:
    """`ps.pack(source: ..., *, format: str)`, in several lines if it is long."""
    given = node.args
    places = given.posonlyargs + given.args
    defaults = [None] * (len(places) - len(given.defaults)) + list(given.defaults)

    def written(argument: ast.arg, default: ast.expr | None) -> str:
        kind = f": {short(ast.unparse(argument.annotation))}" if argument.annotation else ""
        usual = f"{' = ' if kind else '='}{ast.unparse(default)}" if default is not None else ""
        return f"{argument.arg}{kind}{usual}"

    parts = [written(argument, default) for argument, default in zip(places, defaults) if argument.arg != "self"]
    if given.vararg:
        parts.append(f"*{written(given.vararg, None)}")
    elif given.kwonlyargs:
        parts.append("*")
    parts += [written(argument, default) for argument, default in zip(given.kwonlyargs, given.kw_defaults)]
    if given.kwarg:
        parts.append(f"**{written(given.kwarg, None)}")
    gives = ast.unparse(node.returns) if node.returns else "None"
    gives = f" -> {short(gives)}" if gives != "None" else ""
    line = f"{name}({', '.join(parts)}){gives}"
    if len(line) <= 100:
        return line
    return f"{name}(\n" + "".join(f"    {part},\n" for part in parts).replace("    *,\n", "    *,\n") + f"){gives}"


def prose(text: str | None) -> str:
    """Converts a docstring to Markdown: paragraphs, parameters as lists, and indented text as code."""
    if not text:
        return ""
    parts = []
    for paragraph in textwrap.dedent(text).strip().split("\n\n"):
        if paragraph.startswith("    "):
            parts.append(f"```text\n{textwrap.dedent(paragraph)}\n```")
            continue
        lines: list[str] = []
        for line in paragraph.splitlines():
            told = re.match(r"([a-z_]+(?:, [a-z_]+)*): ", line)
            if told:  # "size: one number" describes a parameter
                if lines and not lines[0].startswith("- "):
                    lines.append("")
                line = f"- `{told[1]}`: {line[told.end() :]}"
            elif lines and lines[-1].startswith(("- ", "  ")):
                line = f"  {line.strip()}"
            lines.append(
                "`".join(escaped(piece) if place % 2 == 0 else piece for place, piece in enumerate(line.split("`")))
            )
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


def escaped(text: str) -> str:
    text = re.sub(r"([*_<>])", r"\\\1", text)
    return re.sub(r"\[", r"\\[", text)


def entry(name: str, node: ast.stmt) -> str:
    if isinstance(node, ast.FunctionDef):
        return f"### ps.{name}\n\n```text\n{signature(f'ps.{name}', node)}\n```\n\n{prose(ast.get_docstring(node))}"
    assert isinstance(node, ast.ClassDef)
    members = [each for each in node.body if isinstance(each, ast.FunctionDef)]
    parts = [f"### ps.{name}\n"]
    made = next((each for each in members if each.name == "__init__"), None)
    if made is not None and name not in MADE_BY_PENSTOCK:
        parts.append(f"```text\n{signature(f'ps.{name}', made)}\n```\n")
    parts.append(prose(ast.get_docstring(node)))
    if name == "Loader":
        parts.append("[Options of a loader](options.md) explains each option and when to change it.\n")
    elif made is not None and ast.get_docstring(made):
        parts.append(prose(ast.get_docstring(made)))
    rows = []
    last = ""
    for each in node.body:
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name) and not each.target.id.startswith("_"):
            rows.append((each.target.id, f"{each.target.id}: {short(ast.unparse(each.annotation))}", ""))
            last = each.target.id
        elif isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant) and rows and last == rows[-1][0]:
            rows[-1] = (rows[-1][0], rows[-1][1], str(each.value.value))
        elif isinstance(each, ast.FunctionDef):
            shown = each.name in ("__getitem__", "__len__", "__iter__", "__or__", "__contains__")
            shown = shown and (name, each.name) != ("Tensor", "__or__")  # one of its many operators
            if each.name.startswith("_") and not shown:
                continue
            written = [ast.unparse(decorator) for decorator in each.decorator_list]
            if any("setter" in decorator for decorator in written):
                continue
            if "property" in written:
                kind = f": {short(ast.unparse(each.returns))}" if each.returns else ""
                rows.append((each.name, f"{each.name}{kind}", ast.get_docstring(each) or ""))
            else:
                rows.append((each.name, " ".join(signature(each.name, each).split()), ast.get_docstring(each) or ""))
    if rows:
        parts.append("| member | meaning |\n| --- | --- |")
        for _, shown_as, meaning in rows:
            meaning = "`".join(
                escaped(p) if i % 2 == 0 else p for i, p in enumerate(" ".join(meaning.split()).split("`"))
            )
            parts.append(f"| `{shown_as.replace('|', chr(92) + '|')}` | {meaning.replace('|', chr(92) + '|')} |")
        parts.append("")
    return "\n".join(parts)


def python_page(build: pathlib.Path) -> str:
    names = found(build)
    parts = [
        MADE.format(source="the docstrings in bindings/python/"),
        "# The Python package `penstock`\n",
        "`import penstock as ps`. Options are given by keyword. The [guides](../README.md) explain how the\n"
        "parts work together, and [transforms](../transforms.md) what each step of a chain computes.\n",
    ]
    for heading, wanted in GROUPS:
        parts.append(f"## {heading}\n")
        for pattern in wanted:
            matching = [
                name for name in names if name == pattern or (pattern[-1] == "*" and name.startswith(pattern[:-1]))
            ]
            assert matching, pattern
            parts += [entry(name, names.pop(name)) for name in matching]
    if names:
        parts.append("## Other\n")
        parts += [entry(name, node) for name, node in names.items()]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(parts)).rstrip() + "\n"


# ---- Options --------------------------------------------------------------------------------------------------------


def table_of(build: pathlib.Path, function: str) -> list[list[str]]:
    """Calls a function of the compiled module and returns its rows."""
    code = f"import json, penstock; print(json.dumps(penstock._penstock.{function}()))"
    environment = {**os.environ, "PYTHONPATH": str(build / "python")}
    told = subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.PIPE, text=True, env=environment)
    return [list(row) for row in json.loads(told.stdout)]


def option_table(build: pathlib.Path) -> list[list[str]]:
    return table_of(build, "option_table")


def members_of(source: str, struct: str) -> dict[str, tuple[str, str]]:
    """Name -> (type, declaration), of the members of a struct."""
    text = re.sub(r"//.*", "", source.split(f"struct {struct} {{", 1)[1].split("\n};", 1)[0])
    members: dict[str, tuple[str, str]] = {}
    for statement in text.split(";"):
        statement = " ".join(statement.split())
        if not statement:
            continue
        kind, rest = re.match(r"((?:[\w:]+)(?:<.*>)?) (.*)", statement).groups()  # type: ignore[union-attr]
        kind = kind.replace("std::uint32_t", "uint32_t").replace("std::uint64_t", "uint64_t")
        for part in rest.split(", ") if "{" not in rest else [rest]:
            name = re.match(r"\w+", part)
            assert name, statement
            members[name[0]] = kind, f"{kind} {part}".replace("std::uint64_t", "uint64_t").replace(" = {}", "")
    return members


def cpp_options() -> dict[str, str]:
    """Name -> declaration, for the members of LoaderOptions: "read_options.engine" for members of a nested struct."""
    source = (ROOT / "penstock/options.hpp").read_text()
    options: dict[str, str] = {}
    for name, (kind, declaration) in members_of(source, "LoaderOptions").items():
        if f"struct {kind} {{" in source:
            options |= {f"{name}.{inner}": text for inner, (_, text) in members_of(source, kind).items()}
        else:
            options[name] = declaration
    return options


def command_options(build: pathlib.Path, command: pathlib.Path) -> dict[str, dict[str, str]]:
    """For commands that make a loader: option -> {command: its flag}."""
    option_of = {flag: option for flag, option in table_of(build, "option_flags")}
    options: dict[str, dict[str, str]] = {}
    for name in ("bench", "inspect", "tune"):
        for flag in re.findall(r"^  (?:-\w,)?(--[a-z][a-z-]*)", help_of(command, name), re.MULTILINE):
            if flag in option_of:
                options.setdefault(option_of[flag], {})[name] = flag
    return options


def told_default(default: str) -> str:
    """The default, with its unit if it is a number of bytes."""
    if re.fullmatch(r"\d{7,}", default):
        return f"`{default}` ({int(default) >> 20} MiB)"
    return f"`{default}`"


def options_page(build: pathlib.Path, command: pathlib.Path) -> str:
    cpp, shell = cpp_options(), command_options(build, command)
    table = option_table(build)
    parts = [
        MADE.format(source="loader/options/option_table.cpp and pack/option_table.cpp"),
        "# Options of a loader\n",
        "`ps.Loader` and `ps.torch.Loader` take them by keyword, or in an object such as `ps.ReadOptions`; `penstock::Loader`\n"
        "as members of `LoaderOptions`; and the commands that make a loader as `--option`.\n",
        "| option | default | meaning |\n| --- | --- | --- |",
    ]
    for _, python, declared, name, meaning, _ in table:
        heading = python or name
        default = short(declared).split(" = ", 1)[1] if python else cpp_default(cpp[name])
        first = re.match(r".*?\.(?= |$)", meaning)
        anchor = heading.replace(".", "")
        parts.append(f"| [`{heading}`](#{anchor}) | {told_default(default)} | {first[0] if first else meaning} |")
    parts.append("")
    group = ""
    for of, python, declared, name, meaning, change in table:
        if of != group:
            parts.append(f"## {of}\n")
            group = of
        doors = []
        if python:
            taken = f" of `ps.{of}`" if "." in python else ""
            doors.append(f"Python: `{short(declared)}`{taken}  ")
        if name in cpp:
            doors.append(f"C++: `{cpp[name]}`  ")
        if name in shell:
            spelled = next(iter(shell[name].values()))
            doors.append(f"Command: `{spelled}` of {', '.join(shell[name])}  ")
        text = f"### {python or name}\n\n{meaning}\n\n*When to change it.* {change}\n\n"
        parts.append(text + "\n".join(doors).rstrip() + "\n")
    return "\n".join(parts + pack_options_part(build))


PACK_APIS = {"pack": "`ps.pack`", "Writer": "`ps.Writer`", "clusters": "`ps.dask.pack`, `ps.ray.pack`"}


def pack_options_part(build: pathlib.Path) -> list[str]:
    parts = [
        "## Options of packing\n",
        "`ps.pack`, `ps.Writer`, `ps.dask.pack` and `ps.ray.pack` take them by keyword, and `penstock pack` as `--option`. C++ has them as\n"
        "members of `ConvertOptions` (`penstock/pack.hpp`).\n",
        "| option | Python | available in | meaning |\n| --- | --- | --- | --- |",
    ]
    for _, name, declared, apis, meaning in table_of(build, "pack_option_table"):
        available = [PACK_APIS.get(api, f"`penstock pack --{name.replace('_', '-')}`") for api in apis.split(",")]
        python = f"`{short(declared)}`" if apis != "command" else ""
        cells = [f"`{name}`", python, ", ".join(available), meaning]
        parts.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return [*parts, ""]


def cpp_default(declaration: str) -> str:
    given = re.search(r" = (.*)$|\{(.*)\}$", declaration)
    return (given[1] or given[2]) if given else "none"


# ---- Counters -------------------------------------------------------------------------------------------------------

COUNTER_GROUPS = {
    "": "The loader",
    "reads": 'Reads: `stats()["reads"]`',
    "store": 'A dataset in a store: `stats()["store"]`',
    "disk_cache": 'The disk cache: `stats()["disk_cache"]`',
    "cache": 'The cache of samples: `stats()["cache"]`',
}
COUNTER_RULES = {"counts": "starts at 0", "peaks": "keeps its value", "stands": "keeps its value"}


def stats_page(build: pathlib.Path) -> str:
    table = table_of(build, "counter_table")
    parts = [
        MADE.format(source="record/time/counters.cpp"),
        "# Statistics and metrics\n",
        "The numbers of `loader.stats()` in Python, of `penstock::Stats` in C++, of `penstock top --json` and of the JSON of\n"
        "`penstock bench`. The last column is the OpenMetrics family that `stats().prometheus()` and `penstock top --metrics`\n"
        "write; the names of counters end with `_total` there. `reset_stats()` starts the counters at 0 and keeps the other\n"
        "values. The texts, times by stage and lists of `stats()` are described at [ps.Stats](python.md#psstats).\n",
    ]
    for group, heading in COUNTER_GROUPS.items():
        parts.append(
            f"## {heading}\n\n| key | unit | meaning | `reset_stats()` | metric |\n| --- | --- | --- | --- | --- |"
        )
        for of, name, unit, rule, meaning, metric in table:
            if of == group:
                family = f"`penstock_{metric}`" if metric else ""
                parts.append(f"| `{name}` | {unit} | {meaning} | {COUNTER_RULES[rule]} | {family} |")
        parts.append("")
    return "\n".join(parts).rstrip() + "\n"


def pages(build: pathlib.Path) -> dict[str, str]:
    command = build / "bindings/cli/penstock"
    return {
        "command.md": command_page(command),
        "python.md": python_page(build),
        "options.md": options_page(build, command),
        "stats.md": stats_page(build),
        "cpp.md": cpp_reference.page(MADE),
    }


def main() -> None:
    if len(sys.argv) > 2 or (len(sys.argv) == 2 and sys.argv[1].startswith("-")):
        raise SystemExit(__doc__)
    build = pathlib.Path(sys.argv[1] if len(sys.argv) == 2 else ROOT / "build/dev").resolve()
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, text in pages(build).items():
        (FOLDER / name).write_text(text)
        print(f"wrote docs/reference/{name}")


if __name__ == "__main__":
    main()
