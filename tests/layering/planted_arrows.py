#!/usr/bin/env python3
"""Usage: planted_arrows.py

Plants faults in a copy of the tree, and fails unless include_graph.py names each: in every layer an include of a higher
layer and of a higher folder, a ring of units, an include by quotes, one that a README.md does not list, an internal
header in a public one, and comparisons of the names of a format, of codecs and of steps."""

import collections
import pathlib
import shutil
import sys
import tempfile

import include_graph as graph

ROOT = pathlib.Path(__file__).resolve().parents[2]


def copy_of_tree(folder):
    for top in (*graph.ORDER, "penstock", "bindings"):
        for path in (ROOT / top).rglob("*"):
            if path.suffix in {*graph.SOURCES, ".py"} or path.name in ("README.md", "layers.txt"):
                there = folder / path.relative_to(ROOT)
                there.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, there)


def unit(path):
    return graph.unit_of(path, graph.public_headers(ROOT))


def unit_on(root, layer, floor):
    """A source on a floor of the layer, as a path from the root."""
    position = (list(graph.ORDER).index(layer), range(len(graph.ORDER[layer]))[floor])
    return next(path for path in graph.sources(root) if graph.place(unit(path)) == position)


def found_with(root, plants):
    """What include_graph.py reports once the sources have these lines."""
    kept = {path: (root / path).read_text() for path, _, _ in plants}
    for path, line, _ in plants:
        with open(root / path, "a") as file:
            file.write(f"\n{line}\n")
    faults = list(graph.faults_of(root, graph.graph(root)))
    for path, text in kept.items():
        (root / path).write_text(text)
    return faults


def faults_to_plant(root):
    """(source, line, start of the expected fault) for each fault."""
    layers = list(graph.ORDER)
    pairs = [((layer, 0), (higher, 0)) for layer, higher in zip(layers, layers[1:])]
    pairs += [((layer, 0), (layer, -1)) for layer, floors in graph.ORDER.items() if len(floors) > 1]
    for low, high in pairs:
        path, other = unit_on(root, *low), unit_on(root, *high)
        include = f"#include <{other.with_suffix('.hpp')}>"
        yield path, include, f"upward: {unit(path)} includes {unit(other)}"
    permutation = pathlib.Path("order/permutation")
    yield permutation / "permutation.hpp", "#include <order/permutation/sample_order.hpp>", "a ring: order/"
    yield permutation / "row.hpp", "#include <transforms/geometry.hpp>", "order/permutation/README.md does not list"
    asks = 'bool asks(const Dataset& dataset) { return dataset.format() == "tar"; }'
    yield pathlib.Path("staging/list.cpp"), asks, "compares a format's name: staging/list.cpp"
    plan, recoding = pathlib.Path("bindings/python/penstock/_own/plan.py"), pathlib.Path("pack/recoding.cpp")
    for path, line in (
        (recoding, 'bool asks(const FieldSchema& schema) { return schema.codec == "jpeg"; }'),
        (recoding, "bool asks(const Codec& codec) { return &codec != &jpt_codec(); }"),
        (recoding, "bool asks(const FieldSchema& schema) { return schema.codec == jpeg_codec().name(); }"),
        (plan, 'asks = field.rpartition(".")[2] == "csv"'),
        (plan, 'asks = extension not in ("flac", "npy")'),
    ):
        yield path, line, f"compares a codec's name: {path}"
    for path, line in (
        (plan, 'asks = step.startswith("image.")'),
        (plan, 'asks = step.startswith(("pad(", "cast("))'),
        (plan, 'asks = "image.channels_last()" in steps'),
        (plan, 'asks = steps[0] == "lengths()"'),
        (recoding, 'bool asks(const Step& step) { return to_string(step).starts_with("points."); }'),
    ):
        yield path, line, f"compares the text of a step: {path}"
    yield permutation / "row.hpp", '#include "../../loader/pipeline.hpp"', "by quotes: order/permutation/row.hpp"
    yield (
        pathlib.Path("penstock/error.hpp"),
        "#include <base/printable.hpp>",
        "a public header includes an internal one: penstock/error.hpp",
    )


def main():
    sys.setrecursionlimit(10_000)
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        copy_of_tree(root)
        faults = found_with(root, [])
        missed = [f"the tree has faults of its own: {faults}"] if faults else []
        plants = list(faults_to_plant(root))
        # Upward includes make rings, so the ring is planted alone.
        alone = [plant for plant in plants if plant[2].startswith("a ring")]
        for together in (alone, [plant for plant in plants if plant not in alone]):
            found = found_with(root, together)
            for expected, number in collections.Counter(expected for _, _, expected in together).items():
                if sum(fault.startswith(expected) for fault in found) != number:
                    missed.append(f'{number} times "{expected}" is not what was found: {found}')
    print(f"{len(plants)} faults planted, {len(missed)} missed")
    for fault in missed:
        print(fault)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
