"""Makes docs/reference/cpp.md from the public headers: what each header declares, with the first sentence about it."""

import pathlib
import re

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
    """(name, kind, first sentence) of what a header declares outside of namespace step."""
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


def page(made: str) -> str:
    parts = [made.format(source="the headers in penstock/"), INTRODUCTION]
    for line in (ROOT / "penstock/layers.txt").read_text().splitlines():
        if line.startswith("#"):
            continue
        header = f"penstock/{line.split()[0]}.hpp"
        source = (ROOT / header).read_text()
        about = re.match(r"((?://[^\n]*\n)+)", source)
        assert about, header
        text = " ".join(part.removeprefix("//").strip() for part in about[1].splitlines()).split("  ")[0]
        parts.append(f"## {header}\n\n{text}\n\n| name | kind | what it is |\n| --- | --- | --- |")
        parts += [f"| `{name}` | {kind} | {sentence} |" for name, kind, sentence in declarations(source)]
        parts.append("")
    return "\n".join(parts)
