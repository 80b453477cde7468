"""Makes docs/reference/cpp.md from the public headers: the declarations of each header, with their first sentences."""

import pathlib
import re
import textwrap

ROOT = pathlib.Path(__file__).resolve().parents[1]

INTRODUCTION = """# The C++ headers

```cpp
#include <penstock/penstock.hpp>

penstock::Loader loader(penstock::open("photos"), {.batch_size = 64, .shuffle = true});
for (const penstock::Batch& batch : loader) train(batch["jpg"].as<float>());
```

`find_package(penstock)` and the target `penstock::penstock` give a program these headers and no others. `penstock.hpp`
includes most of them. [libtorch](../libtorch.md) describes those of the adapter, `penstock/torch/`.

The headers of this page are the public API. Before version 1.0 names may still change, and each change is a line in the
changelog. Saved states, indexes and packed datasets of earlier versions stay readable. The structs in namespace `step` and
every other header of the repository are internal and may change at any time.
"""

DECLARATION = re.compile(
    r"^(?P<text>(?:[ ]{0,2}///[^\n]*\n)*)(?:template <[^\n]*>\n)?(?:\[\[nodiscard\]\] )?"
    r"(?:(?P<kind>class|struct|enum class) (?P<type>\w+)[^;\n]*\{|using (?P<alias>\w+) =|(?:inline )?[A-Za-z][\w:<>,&* ]*?[ &*](?P<function>\w+)\()",
    re.MULTILINE,
)


def first_sentence(comment: str) -> str:
    text = " ".join(line.strip().removeprefix("///").strip() for line in comment.splitlines())
    found = re.match(r".*?\.(?= |$)", text)
    return (found[0] if found else text).replace("|", "\\|")


def declarations(source: str) -> list[tuple[str, str, str]]:
    """(name, kind, first sentence) of each declaration outside of namespace step."""
    rows: dict[str, tuple[str, str, str]] = {}
    spaces = re.findall(r"^namespace penstock(?:::(\w+))? \{\n(.*?)^\}  // namespace penstock", source, re.MULTILINE | re.DOTALL)
    for outer, body in spaces:
        parts = re.split(r"^namespace (\w+) \{\n(.*?)^\}  // namespace \1\n", body, flags=re.MULTILINE | re.DOTALL)
        for space, text in [(outer, "".join(parts[::3])), *zip(parts[1::3], parts[2::3])]:
            if space == "step":
                continue
            for found in DECLARATION.finditer(text):
                name = found["type"] or found["alias"] or found["function"]
                name = f"{space}::{name}" if space else name
                kind = found["kind"] or ("alias" if found["alias"] else "function")
                line = text[found.end("text") :].lstrip().split("\n", 1)[0]
                told = first_sentence(found["text"]) or f"`{re.sub(r' *(///<.*|//.*|{.*)$', '', line)}`"
                if name not in rows or rows[name][2].startswith("`"):
                    rows[name] = (name, kind, told)
    return list(rows.values())


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


def page(made: str) -> str:
    parts = [made.format(source="the headers in penstock/"), INTRODUCTION]
    for header in headers():
        text, example = about(header)
        parts.append(f"## {header}\n\n{text}\n")
        if example:
            parts.append(f"```cpp\n{example}\n```\n")
        parts.append("| name | kind | what it is |\n| --- | --- | --- |")
        source = (ROOT / header).read_text()
        parts += [f"| `{name}` | {kind} | {sentence} |" for name, kind, sentence in declarations(source)]
        parts.append("")
    return "\n".join(parts)
