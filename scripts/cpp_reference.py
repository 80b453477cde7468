"""Makes docs/reference/cpp.md from the public headers: their declarations, with parameters, members and comments."""

from __future__ import annotations

import functools
import pathlib
import re
import textwrap
from collections.abc import Iterator
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parents[1]

INTRODUCTION = """# The C++ headers

```cpp
#include <penstock/penstock.hpp>
namespace image = penstock::image;

penstock::Loader loader(penstock::open("photos"), {.batch_size = 64, .shuffle = true, .transforms = {
    {"jpg", image::random_resized_crop(224) | image::normalize({0.5F, 0.5F, 0.5F}, {0.25F, 0.25F, 0.25F})},
    {"cls", penstock::label()}}});
for (const penstock::Batch& batch : loader)
  train(batch["jpg"].as<float>(), batch["cls"].as<std::int64_t>());
```

`find_package(penstock)` and the target `penstock::penstock` give a program these headers and no others. `penstock.hpp`
includes most of them. [C++](../cpp.md) describes projects, threads, lifetimes and exceptions. The headers in
`penstock/torch/` are the adapter for [libtorch](../libtorch.md).

The headers of this page are the public API. Before version 1.0 names may still change, and each change is a line in the
changelog. Saved states, indexes and packed datasets of earlier versions stay readable. The structs in namespace `step`
are internal and may change at any time, except those that this page lists. Every other header of the repository is
internal, too.

All names are in namespace `penstock`. This page writes `uint64_t` for `std::uint64_t`, and leaves out functions and
members with internal types. "Error: io" means an `Error` of kind `io`. In C++ a step is a transform of a chain, such as
`image::resize(256)`.
"""


ADAPTER = [f"penstock/torch/{name}.hpp" for name in ("batches", "tensor_batch", "dataset")]  # needs libtorch


class Declaration(NamedTuple):
    comment: str  # without the slashes
    text: str  # in one line, without the body of a function
    body: str  # of a type or a namespace

    @property
    def kind(self) -> str:
        found = re.match(r"(?:template <.*?> )?(enum class|class|struct|using|namespace)\b", self.text)
        if found:
            return found[1]
        return "function" if "(" in without_arguments(self.text) or "operator" in self.text else "variable"

    @property
    def name(self) -> str:
        if self.kind == "function":
            head = without_arguments(self.text).split("(")[0].rstrip()
            return str(re.findall(r"operator\W+$|operator \w+$|\w+$", head)[0])
        if self.kind == "variable":
            return re.split(r" = |{|,|;|\[", without_arguments(self.text))[0].split()[-1].lstrip("*&")
        return re.sub(r"^(template <.*?> )?(enum class|class|struct|using|namespace) ", "", self.text).split()[0]


# ---- Reading --------------------------------------------------------------------------------------------------------

LITERAL = re.compile(r'"(?:\\.|[^"\\])*"|(?<!\w)\'(?:\\.|[^\'\\])+\'')  # not the marks in 100\'000
TYPE = re.compile(r"(template <.*?>\s+)?(enum|class|struct|namespace)\b")


def without_arguments(text: str) -> str:
    """Without template arguments, which may contain parentheses, and without the default of a member."""
    before = None
    while text != before:
        before, text = text, re.sub(r"(?<=\w)<[^<>]*>", "", text)
    return re.split(r" = (?!.*\) (?:const|noexcept)?$)", text)[0] if "(" not in text.split(" = ")[0] else text


def close_of(text: str, at: int) -> int:
    """The position after the brace or parenthesis that closes the one at `at`."""
    depth = 0
    while True:
        literal = LITERAL.match(text, at)
        if literal:
            at = literal.end()
        elif text.startswith("//", at):
            at = text.index("\n", at)
        else:
            depth += {"{": 1, "(": 1, "}": -1, ")": -1}.get(text[at], 0)
            at += 1
            if depth == 0:
                return at


def end_of(text: str, start: int) -> tuple[int, int]:
    """Where the declaration at `start` ends, and where its body begins (the end if it has none)."""
    at, value = start, False
    while text[at] != ";":
        literal = LITERAL.match(text, at)
        if literal:
            at = literal.end()
        elif text.startswith("//", at):
            at = text.index("\n", at)
        elif text[at] == "(":
            at = close_of(text, at)
        elif text[at] == "{":
            end = close_of(text, at)
            following = text[end:].lstrip(" ")[:1]
            if TYPE.match(text, start):
                return (end if text.startswith("namespace", start) else text.index(";", end) + 1), at
            if not value and following not in (";", ",", "{"):
                return end, at
            at = end
        else:
            value = value or text.startswith(" = ", at)
            at += 1
    return at + 1, at + 1


def declarations_in(text: str, shown: bool = True) -> Iterator[Declaration]:
    """Each declaration of a namespace, or of the public part of a type. `shown`: whether the type begins with it."""
    at, comment = 0, []
    while at < len(text):
        line = text[at:].split("\n", 1)[0] + "\n"
        words = line.strip()
        label = re.match(r"(public|protected|private):", words)
        if not words or words.startswith(("#", "//")) or label:
            if words.startswith("///"):
                comment.append(re.sub(r"^/// ?", "", words))
            elif not label:
                comment = []
            shown = label[1] == "public" if label else shown
            at += len(line)
            continue
        start = at + len(line) - len(line.lstrip())
        end, body = end_of(text, start)
        rest = text[end:].split("\n", 1)[0]
        comment += re.findall(r"///< ?(.*)", text[start:body] + rest)
        head, inner = text[start:body], ""
        if body < end:
            last = text.rindex("}", body, end)
            opening = re.match(r"\{(?: *///< ?([^\n]*)\n)?", text[body:last])
            assert opening, head
            comment += [opening[1]] if opening[1] else []
            inner = text[body + opening.end() : last]
            head += text[last + 1 : end]  # the name of a member whose type is declared with it
        if shown:
            yield Declaration("\n".join(comment), one_line(head), inner)
        at, comment = end + len(rest) + 1, []


def one_line(text: str) -> str:
    text = " ".join(re.sub(r"//.*", "", text).split()).rstrip("; ")
    text = re.sub(r"\[\[nodiscard\]\] |\b(?:inline|explicit|constexpr) ", "", text)
    text = re.sub(r"\bstd::(u?int\d+_t|size_t)\b", r"\1", text)
    text = re.sub(r"\) : \w+[({].*", ")", text)  # the members that a constructor sets
    text = re.sub(r"<step::\w+, .*>", "<...>", text)  # a list of all steps
    return re.sub(r"\( ", "(", text)


def members(kind: Declaration, of_step: bool = False) -> list[Declaration]:
    if kind.kind != "enum class":
        inner = declarations_in(kind.body + "\n", shown=kind.kind == "struct")
        return [each for each in inner if not hidden(each, of_step)]
    values, comment = [], []
    for line in kind.body.splitlines():
        text, _, beside = line.strip().partition("///")
        comment += [beside.removeprefix("<").strip()] if beside else []
        names = re.findall(r"\w+", re.sub(r" = [^,]*|//.*", "", text))
        values += [Declaration(" ".join(comment), name, "") for name in names]
        comment = [] if names else comment
    return values


@functools.cache
def internal() -> re.Pattern[str]:
    """The types that public headers only name."""
    text = "\n".join((ROOT / header).read_text() for header in headers())
    named = set(re.findall(r"^ *(?:class|struct) (\w+);", text, re.MULTILINE))
    made = set(re.findall(r"^ *(?:class|struct) (\w+)[^;\n]*\{", text, re.MULTILINE))
    return re.compile(rf"\b({'|'.join(sorted(named - made))})\b")


def hidden(member: Declaration, of_step: bool) -> bool:
    text = member.text
    return bool(
        re.match(r"friend |~|virtual ~", text)
        or re.search(r"operator==|\brequires\b|= (delete|default)$|\bStepTable\b|\bTraits\b", text)
        or internal().search(text)
        or (of_step and member.kind != "variable")
    )


def spaces(source: str, outer: str = "") -> Iterator[tuple[str, list[Declaration]]]:
    """Each namespace of a header: its name within penstock, and its declarations."""
    for each in declarations_in(source):
        if each.kind == "namespace":
            name = "::".join(filter(None, [outer, each.name])).removeprefix("penstock").removeprefix("::")
            body = each.body + "\n"
            yield name, [inner for inner in declarations_in(body) if inner.kind != "namespace"]
            yield from spaces(body, name)


def declarations(source: str) -> list[tuple[str, Declaration]]:
    """The declarations that programs use, by name. Includes a struct of namespace step if others refer to it."""
    found = [
        (f"{space}::{each.name}" if space else each.name, each)
        for space, inner in spaces(source)
        for each in inner
        if each.body
        or (each.kind != "variable" and not re.match(r"template <> |friend |(class|struct) \w+$", each.text))
    ]
    functions = " ".join(each.text for name, each in found if each.kind == "function" and not name.startswith("step::"))
    used = set(re.findall(r"\bstep::\w+", functions))
    return [
        (name, each)
        for name, each in found
        if (not name.startswith("step::") or name in used)
        and not (each.kind == "function" and (internal().search(each.text) or each.text.endswith("= delete")))
    ]


def headers() -> list[str]:
    lines = (ROOT / "penstock/layers.txt").read_text().splitlines()
    return [f"penstock/{line.split()[0]}.hpp" for line in lines if line and not line.startswith("#")]


def about(header: str) -> tuple[str, str]:
    """The text of the comment at the top of a header, and the example in it."""
    comment = re.match(r"((?://[^\n]*\n)+)", (ROOT / header).read_text())
    assert comment, header
    lines = [line.removeprefix("//").removeprefix(" ") for line in comment[1].splitlines()]
    text, _, example = "\n".join(lines).partition("\n\n  ")
    return text, textwrap.dedent("  " + example) if example else ""


# ---- Writing --------------------------------------------------------------------------------------------------------


def escaped(text: str) -> str:
    """Markdown that shows the text as it is, with links to the pages that it names."""
    parts = text.split("`")
    for at in range(0, len(parts), 2):
        plain = re.sub(r"([*<>\[])|__", lambda found: "\\" + found[0] if found[1] else "\\_\\_", parts[at])
        linked = re.sub(r"\bdocs/reference/(\w+\.md)\b", r"[\1](\1)", plain)
        parts[at] = re.sub(r"\bdocs/([\w/]+\.md)\b", r"[\1](../\1)", linked)
    return "`".join(parts)


def paragraphs(comment: str) -> str:
    """A comment as Markdown. Indented lines outside of lists are code."""
    parts: list[str] = []
    for block in re.split(r"\n\n+", comment):
        lines = block.split("\n")
        if lines[0].startswith("  ") and not (parts and parts[-1].lstrip().startswith("- ")):
            parts.append(f"```text\n{textwrap.dedent(block)}\n```")
            continue
        text = escaped(block)
        parts.append(re.sub(r"^(?!- |  )(.*)\n(?=- )", r"\1\n\n", text, flags=re.MULTILINE))
    return "\n\n".join(parts)


def cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def code(text: str) -> str:
    return f"`{cell(text)}`"


def is_long(comment: str) -> bool:
    return re.search(r"^(- |  )|\n\n", comment, re.MULTILINE) is not None


def qualified(name: str, declaration: Declaration) -> str:
    """The declaration of a function, with its namespace in front of its name."""
    return re.sub(rf"(?<![\w:]){re.escape(declaration.name)}(?=\(| =)", name, declaration.text, count=1)


def functions_part(found: list[tuple[str, Declaration]]) -> list[str]:
    """A table of functions and aliases, then those whose comments need several paragraphs."""
    rows: list[tuple[str, list[str], str]] = []
    for name, each in found:
        if rows and rows[-1][0] == name and not each.comment:
            rows[-1][1].append(qualified(name, each))
        else:
            rows.append((name, [qualified(name, each)], each.comment))
    long = {name for name, _, comment in rows if is_long(comment)}
    parts = ["| declaration | meaning |\n| --- | --- |"] if any(name not in long for name, _, _ in rows) else []
    for name, texts, comment in rows:
        if name not in long:
            parts.append(f"| {'<br>'.join(code(text) for text in texts)} | {cell(escaped(comment))} |")
    parts += [""] if parts else []
    for name in dict.fromkeys(row[0] for row in rows if row[0] in long):
        parts.append(f"### {name}()\n")
        for _, texts, comment in [row for row in rows if row[0] == name]:
            wrapped = "\n".join(textwrap.fill(text, 116, subsequent_indent="    ") for text in texts)
            parts.append(f"```text\n{wrapped}\n```\n\n{paragraphs(comment)}\n")
    return parts


def type_part(name: str, kind: Declaration, source: str) -> list[str]:
    parts = [f"### {name}\n"]
    alias = re.match(r"using (\w+) = step::(\w+)$", kind.text)
    if alias:
        steps = [each for space, inner in spaces(source) if space == "step" for each in inner]
        kind = next(each for each in steps if each.name == alias[2])._replace(comment=kind.comment)
    if kind.comment:
        parts.append(f"{paragraphs(kind.comment)}\n")
    rows = members(kind, of_step=bool(alias) or name.startswith("step::"))
    if kind.kind == "enum class" and not any(row.comment for row in rows):
        parts.append(f"Values: {', '.join(code(row.text) for row in rows)}.\n")
    elif rows:
        heading = "value" if kind.kind == "enum class" else "member"
        parts.append(f"| {heading} | meaning |\n| --- | --- |")
        for row in rows:
            inner = "; ".join(
                code(each.text) + (f" ({cell(escaped(each.comment))})" if each.comment else "")
                for each in (members(row) if row.kind == "enum class" else [])
            )
            meaning = " ".join(filter(None, [cell(escaped(row.comment)), f"Values: {inner}." if inner else ""]))
            parts.append(f"| {code(row.text)} | {meaning} |")
        parts.append("")
    return parts


def is_type(declaration: Declaration) -> bool:
    return declaration.kind in ("class", "struct", "enum class") or "= step::" in declaration.text


def page(made: str) -> str:
    parts = [made.format(source="the headers in penstock/"), INTRODUCTION]
    for header in [*headers(), *ADAPTER]:
        text, example = about(header)
        parts.append(f"## {header}\n\n{escaped(text)}\n")
        if example:
            parts.append(f"```cpp\n{example}\n```\n")
        source = (ROOT / header).read_text()
        found = declarations(source)
        parts += functions_part([each for each in found if not is_type(each[1])])
        for name, each in found:
            if is_type(each):
                parts += type_part(name, each, source)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(parts)).rstrip() + "\n"
