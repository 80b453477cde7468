#!/usr/bin/env python3
"""Usage: include_graph.py [--draw] [ROOT]

Checks which folders of the layers include which. Fails where

- a layer includes a higher one, or a folder one that stands behind it in ORDER;
- units (a header and the source of its name) include each other in a ring that is not in RINGS;
- a source includes by quotes, which the compiler resolves beside the source, past the layers' include roots;
- a folder includes what its README.md does not list after "May include:";
- a README.md names a file that does not exist;
- a source compares the name of a format of a dataset instead of asking a member of `Format`;
- a source, or the Python package, compares the name of a codec or an extension instead of asking `EncodingTraits`, or
  the text of a step instead of asking its `Traits`, outside of the folders in OWN;
- a public header includes one that is not public, or has no line in penstock/layers.txt;
- there are more than MOST_PUBLIC public headers;
- a folder has no README.md, has no place in ORDER, or holds more than MOST_FILES sources.

--draw also prints every unit with what it includes, folder by folder, and the arrows between folders."""

import collections
import pathlib
import re
import sys

SOURCES = {".hpp", ".cpp", ".cu", ".cuh"}
MOST_FILES, MOST_PUBLIC = 40, 45

# Each layer may include the layers above it in this list (tests/layering/CMakeLists.txt proves it by the compiler). Each
# has its folders, lowest first: a folder may include those before it. "." is the layer's own folder. Units of that folder
# that stand on another floor are named there ("./open").
ORDER = {
    "base": ["names", "numbers", "processor", ".", "options", "secrets", "waits", "./parallel_for"],
    "formats": [
        "io", "./encodings ./extent ./element_types ./mosaic ./open_options ./schema", "places", "text",
        "filters", "index", "lists", ".", "streams", "./format ./writer", "folder", "tar", "lmdb", "sidecar", "packed", "zip",
        "npy", "cifar", "tfrecord", "megatron", "mds", "hdf5", "rows", "labels", "table", "views", "./layout_line ./open",
    ],
    "transforms": [
        ".", "chain", "clouds/samplers", "clouds/steps", "image/kernels", "image/passes", "image/steps", "./chain ./parse",
        "values", "clouds/codecs", "clouds/laz", "image/codecs", "image/dct", "image/jpeg", "image/jpt", "./codec_registry",
        "program", "recode",
    ],
    "remote": [
        "sign", "writes", "http", "web", "http/engine", "text", "credentials", "s3", "azure", "gcs", "store", ".",
    ],
    "device": [".", "cuda", "host", "./open_device"],
    "order": ["./order", "permutation", "draws", "mixture", "buckets", "tokens", "windows", "."],
    "storage": ["./storage", "read", "uring", ".", "disk_cache"],
    "record": ["time", "watch", "ledger"],
    "loader": ["node_memory", "options", "batch", "sharing", "fetch", "asking", "work", "model", "device", ".", "serving", "choices"],
    "staging": ["."],
    "pack": ["."],
    "overview": ["trace", "reports", ".", "page", "./page"],
    "bench": ["measure", "tryout", "report", "synth", "watch", "web"],
}  # fmt: skip
# Layers that stand beside others of the list and do not include them.
NOT_INCLUDED = {
    "remote": {"transforms"},
    "device": {"transforms", "remote"},
    "order": {"remote", "device"},
    "storage": {"remote", "device"},
    "record": {"remote", "device"},
    "loader": {"remote"},
    "staging": {"remote", "device", "record", "loader"},
    "pack": {"remote"},
    "overview": {"remote"},
    "bench": {"remote"},
}
# Rings of units that stay; a README of their folder names each and says why. At most three.
RINGS = [
    {"formats/hdf5/file", "formats/hdf5/heap", "formats/hdf5/object", "formats/hdf5/tree"},
    {"formats/packed/commit", "formats/packed/journal", "formats/packed/parts"},
    {"loader/fetch/row_task", "loader/fetch/task_queue"},
]
INCLUDE = re.compile(rf"^\s*#\s*include\s+<((?:{'|'.join(ORDER)}|penstock)/[^>]+)>", re.MULTILINE)


QUOTED = re.compile(r'^\s*#\s*include\s+"[^"]*"', re.MULTILINE)


# A format's name: a text, or the name of one of the instances (kTar.name).
NAMED_FORMAT = re.compile(r'(?:format\w*\(\)|[Ff]ormat\w*(?:\.|->)name|found->name)\s*[!=]=\s*(?:"\w+"|k\w+\.name)')


# Folders and units whose own knowledge the names are, and names that mean something else there.
OWN = {
    "codec": (
        "formats/encodings", "formats/text/", "formats/mds/", "transforms/codec_registry", "transforms/values/",
        "transforms/image/codecs/", "transforms/image/jpeg/", "transforms/image/jpt/", "transforms/clouds/codecs/",
        "transforms/clouds/laz/",
    ),
    "step": ("transforms/chain/", "transforms/chain", "transforms/parse", "overview/trace/"),
}  # fmt: skip
OTHER_MEANING = {
    "bench/measure/task.cpp": {"raw", "points"},  # names of tasks
}
NAME_OF_CODEC = re.compile(r'[!=]=\s*(?:&(\w+)_codec\(\)|(\w+)_codec\(\)\.name|"(\w+)")|\bin \(((?:"\w+"(?:, )?)+)\)')
TEXT_OF_STEP = re.compile(
    r'(?:starts_?with\(\(?|[!=]=\s*)"(?:(?:image|array|points)\.|\w+\()|"(?:image|array|points)\.[^"]*"\s+(?:not )?in '
)


def public_headers(root):
    """Name of each public header -> the folder that it belongs to, by penstock/layers.txt."""
    lines = (root / "penstock/layers.txt").read_text().splitlines()
    return dict(line.split() for line in lines if line and not line.startswith("#"))


def unit_of(path, public):
    """The unit of a source, or of what an #include names; that of a public header is in the folder of its layer."""
    name = str(pathlib.PurePath(path).with_suffix(""))
    header = name.removeprefix("penstock/")
    return name if header == name else f"{public.get(header, 'penstock')}/{header}"


def sources(root):
    """Sources of the layers, and public headers that layers.txt lists."""
    for top in ORDER:
        for file in sorted((root / top).rglob("*")):
            if file.suffix in SOURCES and file.parent != root / "bench/studies":
                yield file.relative_to(root)
    for header in public_headers(root):
        yield pathlib.Path(f"penstock/{header}.hpp")


def graph(root):
    """Unit -> the units that its header or its source includes."""
    arrows, public = collections.defaultdict(set), public_headers(root)
    for path in sources(root):
        name = unit_of(path, public)
        arrows[name] |= {unit_of(included, public) for included in INCLUDE.findall((root / path).read_text())} - {name}
    return arrows


def names_of_codecs(root):
    """Of the table of encodings: its codecs, and their extensions."""
    rows = re.findall(
        r'^ *\{"(\w+)", \w+(?:, \{([^}]*)\})?', (root / "formats/encodings.cpp").read_text(), re.MULTILINE
    )
    return {name for codec, extensions in rows for name in (codec, *re.findall(r'"(\w+)"', extensions))}


def comparing_sources(root):
    """Sources of the layers and of the bindings, and the Python package."""
    yield from sources(root)
    for file in sorted((root / "bindings").rglob("*")):
        if file.suffix in SOURCES or file.suffix == ".py":
            yield file.relative_to(root)


def faults_of_names(root):
    codecs = names_of_codecs(root)
    for path in comparing_sources(root):
        text = (root / path).read_text()
        if not str(path).startswith(OWN["codec"]):
            for found in NAME_OF_CODEC.finditer(text):
                names = {*filter(None, found.groups()[:3]), *re.findall(r"\w+", found[4] or "")}
                if names & codecs - OTHER_MEANING.get(str(path), set()):
                    yield f"compares a codec's name: {path}: {found[0]}"
        if not str(path).startswith(OWN["step"]):
            yield from (f"compares the text of a step: {path}: {found[0]}" for found in TEXT_OF_STEP.finditer(text))


def rings(arrows):
    """Sets of units that reach each other (Tarjan, 1972)."""
    number, low, stack, found = {}, {}, [], []

    def visit(name):
        number[name] = low[name] = len(number)
        stack.append(name)
        for other in arrows.get(name, ()):
            if other not in number:
                visit(other)
                low[name] = min(low[name], low[other])
            elif other in stack:
                low[name] = min(low[name], number[other])
        if low[name] == number[name]:
            ring = set()
            while name not in ring:
                ring.add(stack.pop())
            if len(ring) > 1:
                found.append(ring)

    for name in sorted(arrows):
        if name not in number:
            visit(name)
    return found


def folder_of(name):
    return name.rpartition("/")[0]


def place(name):
    """The positions of a unit's layer and of its floor, or None where ORDER does not know its folder."""
    layer, _, rest = name.partition("/")
    folder = rest.rpartition("/")[0] or "."
    for floor, names in enumerate(ORDER[layer]):
        if f"./{rest}" in names.split():
            return list(ORDER).index(layer), floor
    return (list(ORDER).index(layer), ORDER[layer].index(folder)) if folder in ORDER[layer] else None


def is_upward(name, other):
    if other.split("/")[0] in NOT_INCLUDED.get(name.split("/")[0], ()):
        return True
    return place(name) < place(other)


def listed(readme, public):
    """What follows "May include:", as paths from the root: a file, `folder/` with all below it, or `folder/*.hpp`."""
    found = re.search(r"^May include: (.*?)(?:\n\n|\Z)", readme.read_text(), re.MULTILINE | re.DOTALL)
    if not found:
        return None
    entries = re.findall(r"`([^`]+)`", found[1])
    return [f"{unit_of(entry, public)}.hpp" if entry.startswith("penstock/") else entry for entry in entries]


def is_listed(other, entries):
    for entry in entries:
        folder = entry.removesuffix("/*.hpp")
        if entry.endswith("/") and other.startswith(entry) or folder != entry and folder_of(other) == folder:
            return True
        if other == entry.rpartition(".")[0]:
            return True
    return False


def faults_of_readmes(root, arrows):
    public = public_headers(root)
    for folder in sorted({folder_of(name) for name in arrows}):
        readme = root / folder / "README.md"
        for name in re.findall(r"`([\w./-]+\.(?:hpp|cpp|cu))`", readme.read_text() if readme.exists() else ""):
            if not (root / folder / name).exists() and not (root / name).exists():
                yield f"{folder}/README.md names {name}, which does not exist"
        entries = listed(readme, public) if readme.exists() else None
        if entries is None:
            yield f'{folder}: no README.md with a line "May include: ..."'
            continue
        for name, others in sorted(arrows.items()):
            if folder_of(name) == folder:
                for other in sorted(others):
                    if folder_of(other) != folder and not is_listed(other, entries):
                        yield f"{folder}/README.md does not list {other}, which {name} includes"


def faults_of_public_headers(root):
    public = public_headers(root)
    for file in sorted((root / "penstock").rglob("*.hpp")):
        if file.parent.name != "torch" and file.stem not in public and file.stem != "penstock":
            yield f"penstock/layers.txt does not list {file.name}"
        for included in INCLUDE.findall(file.read_text()):
            if not included.startswith("penstock/"):
                yield f"a public header includes an internal one: {file.relative_to(root)} includes {included}"
    if len(public) > MOST_PUBLIC:
        yield f"{len(public)} public headers, more than {MOST_PUBLIC}"


def faults_of(root, arrows):
    homeless = sorted({folder_of(name) for name in arrows if place(name) is None})
    if homeless:
        yield f"no place in ORDER: {', '.join(homeless)}"
        return
    for name, others in sorted(arrows.items()):
        yield from (
            f"upward: {name} includes {other}" for other in sorted(others) if other in arrows and is_upward(name, other)
        )
    for path in sources(root):
        yield from (f"by quotes: {path}: {line.strip()}" for line in QUOTED.findall((root / path).read_text()))
    for path in sources(root):
        for comparison in NAMED_FORMAT.findall((root / path).read_text()):
            yield f"compares a format's name: {path}: {comparison}"
    yield from faults_of_names(root)
    found = rings(arrows)
    yield from (f"a ring: {', '.join(sorted(ring))}" for ring in found if ring not in RINGS)
    yield from (
        f"no ring any more, so RINGS must not name it: {', '.join(sorted(ring))}" for ring in RINGS if ring not in found
    )
    for ring in RINGS:
        readme = root / folder_of(min(ring)) / "README.md"
        text = readme.read_text() if readme.exists() else ""
        missing = [name for name in sorted(ring) if f"`{name.rpartition('/')[2]}`" not in text]
        if "include each other" not in text or missing:
            yield f"{readme.relative_to(root)} does not say why {', '.join(sorted(ring))} include each other"
    if len(RINGS) > 3:
        yield f"RINGS has {len(RINGS)} rings, at most 3 may be"
    yield from faults_of_readmes(root, arrows)
    yield from faults_of_public_headers(root)
    held = collections.Counter(str(path.parent) for path in sources(root) if path.parts[0] != "penstock")
    held.update(str(file.parent.relative_to(root)) for file in (root / "bindings").rglob("*") if file.suffix in SOURCES)
    yield from (
        f"{folder} holds {count} sources, more than {MOST_FILES}"
        for folder, count in held.items()
        if count > MOST_FILES
    )


def draw(arrows):
    between = collections.Counter()
    for home in sorted({folder_of(name) for name in arrows}):
        print(f"\n{home}/")
        for name in sorted(arrows):
            if folder_of(name) != home:
                continue
            print(f"  {name.rpartition('/')[2]:24} {' '.join(sorted(arrows[name]))}")
            between.update((home, folder_of(other)) for other in arrows[name] if folder_of(other) != home)
    print("\narrows between folders")
    for (home, other), count in sorted(between.items()):
        print(f"  {home} -> {other} ({count})")


def main():
    sys.setrecursionlimit(10_000)
    options = [argument for argument in sys.argv[1:] if argument != "--draw"]
    root = pathlib.Path(options[0]).resolve() if options else pathlib.Path(__file__).resolve().parents[2]
    arrows = graph(root)
    if "--draw" in sys.argv[1:]:
        draw(arrows)
    faults = list(faults_of(root, arrows))
    print(f"{len(arrows)} units in {len({folder_of(name) for name in arrows})} folders")
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
