#!/usr/bin/env python3
"""Usage: include_graph.py [--draw]

The graph of includes within the layers, by unit (a header and the source of its name). Fails where units include each
other in a ring that is not among ALLOWED, or a folder holds more than MOST_FILES sources. --draw prints every unit with
what it includes, room by room, and the arrows between rooms."""

import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
LAYERS = ("base", "formats", "transforms", "device", "loader", "staging", "pack", "remote", "bench")
ALSO_COUNTED = ("penstock", "bindings")
SOURCES = {".hpp", ".cpp", ".cu", ".cuh"}
MOST_FILES = 40
INCLUDE = re.compile(r'^\s*#\s*include\s+<penstock/([^>]+)\.\w+>', re.MULTILINE)

# Rings that stay, each with its reason; at most five.
ALLOWED = {
    frozenset({"formats/hdf5/file", "formats/hdf5/heap", "formats/hdf5/object", "formats/hdf5/tree"}):
        "the format is defined so: a file begins with an object, objects are found by trees and heaps, these by the file",
    frozenset({"formats/packed/commit", "formats/packed/journal", "formats/packed/parts"}):
        "three states of one folder, of which each refuses to be begun in another",
    frozenset({"loader/fetch/block_read", "loader/fetch/row_task", "loader/fetch/task_queue"}):
        "a task is a link of its queue, so that queueing needs no memory, and the end of its block reads queues it",
}  # fmt: skip


def sources(folders):
    return [file for folder in folders for file in sorted((ROOT / folder).rglob("*")) if file.suffix in SOURCES]


def unit(path):
    return str(path.with_suffix(""))


def graph():
    """Unit -> the units that its header or its source includes."""
    arrows = collections.defaultdict(set)
    for file in sources(LAYERS):
        name = unit(file.relative_to(ROOT))
        arrows[name] |= {included for included in INCLUDE.findall(file.read_text()) if included != name}
    return arrows


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
                found.append(frozenset(ring))

    for name in sorted(arrows):
        if name not in number:
            visit(name)
    return found


def room(name):
    return name.rpartition("/")[0]


def draw(arrows):
    between = collections.Counter()
    for home in sorted({room(name) for name in arrows}):
        print(f"\n{home}/")
        for name in sorted(arrows):
            if room(name) != home:
                continue
            print(f"  {name.rpartition('/')[2]:24} {' '.join(sorted(arrows[name]))}")
            between.update((home, room(other)) for other in arrows[name] if room(other) != home)
    print("\narrows between rooms")
    for (home, other), count in sorted(between.items()):
        print(f"  {home} -> {other} ({count})")


def main():
    sys.setrecursionlimit(10_000)
    arrows = graph()
    if "--draw" in sys.argv[1:]:
        draw(arrows)
    found = rings(arrows)
    faults = [f"a ring: {', '.join(sorted(ring))}" for ring in found if ring not in ALLOWED]
    faults += [f"no ring any more, so not to be allowed: {', '.join(sorted(ring))}" for ring in ALLOWED if ring not in found]
    if len(ALLOWED) > 5:
        faults.append(f"{len(ALLOWED)} rings are allowed, at most 5 may be")
    held = collections.Counter(file.parent.relative_to(ROOT) for file in sources(LAYERS + ALSO_COUNTED))
    faults += [f"{folder} holds {count} sources, more than {MOST_FILES}" for folder, count in held.items() if count > MOST_FILES]
    print(f"{len(arrows)} units in {len(held)} folders, {len(found)} rings")
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
