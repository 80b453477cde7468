"""Views of views in every order, resumed anywhere and on any ranks: their samples are those of docs/spec/views.md, the rows
those of docs/order.md, computed by models written from these pages alone."""

import functools
import json
import random
import re

import any_order
import numpy as np
import penstock as ps
import pytest
from resuming import Epochs, goes_on, positions
from split_model import MOST, hash_of, part_below

PATTERNS = {  # and what they mean
    "*/a*": r".*/a.*",
    "p?/*": r"p./.*",
    "*[a-c]*": r".*[a-c].*",
    "*[!0-4]": r".*[^0-4]",
    "p{0..2}/*": r"p[012]/.*",
    "{p0,p3}*": r"(p0|p3).*",
    "*": r".*",
}
PARTS = [{"x": 0.5, "y": 0.5}, {"x": 3, "y": 1, "z": 2}, {"x": 0.9, "y": 0.1}]


class Sample:
    """What a sample of a view has."""

    def __init__(self, key, fields):
        self.key, self.fields = key, fields  # a field's number; of "json" the object
        self.told = fields["json"]

    def joined(self, fields):
        return Sample(self.key, {**self.fields, **fields})


class View:
    """A view as the page says it: its samples. `make()` makes it anew by penstock."""

    def __init__(self, make, samples, joins=0):
        self.make, self.samples, self.joins = make, samples, joins

    def of(self, change, samples, joins=None):
        """A view of this one."""
        return View(lambda: change(self.make()), samples, self.joins if joins is None else joins)


def write_samples(folder, name, size, format):
    """A dataset of some fields each: "json", and often "npy", "cls" and "txt"."""
    draw = random.Random(name)
    samples = []
    folder.mkdir()
    for i in range(size):
        key = f"p{draw.randrange(5)}/{draw.choice('abcdef')}{name}{i:03}"
        told = {
            "n": i, "score": draw.choice([draw.randrange(6), -0.5, round(draw.random(), 3)]), "weight": draw.randrange(4),
            "kind": draw.choice("xyyy"), "patient": f"patient {draw.randrange(9)}", "blank": "." * draw.randrange(9),
        }  # fmt: skip
        path = folder / key
        path.parent.mkdir(exist_ok=True)
        path.with_suffix(".json").write_text(json.dumps(told))
        np.save(path, np.full(1, i, np.int32))
        fields = {"json": told, "npy": i}
        if draw.random() < 0.9:
            path.with_suffix(".cls").write_text(str(i % 7))
            fields["cls"] = i % 7
        if draw.random() < 0.6:
            fields["txt"] = draw.randrange(1, 30)
            path.with_suffix(".txt").write_text("x" * fields["txt"])
        samples.append(Sample(key, fields))
    if format != "folder":
        ps.pack(folder, folder.with_name(f"{name}.{format}"), format=format, progress=False)
        folder = folder.with_name(f"{name}.{format}")
    dataset = ps.open(folder)
    stands = {key: i for i, key in enumerate(dataset.keys)}
    samples.sort(key=lambda sample: stands[sample.key])
    return View(lambda: dataset, samples)


@pytest.fixture(name="sources", scope="module")
def sources_fixture(tmp_path_factory):
    folder = tmp_path_factory.mktemp("views_states")
    whole = {
        name: write_samples(folder / name, name, size, format)
        for name, size, format in (("a", 60, "tar"), ("b", 35, "folder"), ("c", 24, "lmdb"))
    }
    partners = {}
    for name, view in whole.items():  # of most keys, in no order
        chosen = random.Random(name).sample([sample.key for sample in view.samples], int(len(view.samples) * 0.8))
        folder_of = folder / f"{name}_partners"
        for i, key in enumerate(chosen):
            (folder_of / key).parent.mkdir(exist_ok=True, parents=True)
            np.save(folder_of / key, np.full(1, 100 + i, np.int32))
        partners[name] = (ps.open(folder_of), {key: 100 + i for i, key in enumerate(chosen)})
    return whole, partners


# ---- Views of a view: each function gives one, as the page says it -----------------------------------------------------


def taken(draw, view, _):
    n, kind = draw.randint(1, len(view.samples) + 5), draw.choice(["take", "skip"])
    samples = view.samples[:n] if kind == "take" else view.samples[n:]
    return view.of(lambda dataset: getattr(dataset, kind)(n), samples)


def chosen(draw, view, _):
    pattern = draw.choice(list(PATTERNS))
    some = [sample.key for sample in view.samples if draw.random() < 0.6]
    labels, patients = draw.sample(range(7), 4), [f"patient {i}" for i in draw.sample(range(9), 5)]
    least, most = draw.choice([(None, 20), (5, None), (8, 25)])
    score = draw.random()
    conditions = [
        ({"keys": pattern}, lambda s: re.fullmatch(PATTERNS[pattern], s.key)),
        ({"keys": draw.sample(some, len(some))}, lambda s: s.key in some),
        ({"labels": [draw.choice([int, str])(label) for label in labels]}, lambda s: s.fields.get("cls") in labels),
        ({"labels": patients, "label_field": "json:patient"}, lambda s: s.told["patient"] in patients),
        ({"has": "txt"}, lambda s: "txt" in s.fields),
        ({"has": ["txt", "cls"]}, lambda s: "txt" in s.fields and "cls" in s.fields),
        ({"lengths": {"txt": (least, most)}}, lambda s: (least or 0) <= s.fields.get("txt", -1) <= (most or 99)),
        (
            {"predicate": lambda s: json.loads(s["json"])["score"] < score},
            lambda s: s.told["score"] < score,
        ),
    ]
    options, hold = {}, []
    for more, condition in draw.sample(conditions, draw.choice([1, 1, 2, 3])):
        if not set(more) & set(options):
            options, hold = {**options, **more}, [*hold, condition]
    samples = [sample for sample in view.samples if all(condition(sample) for condition in hold)]
    return view.of(lambda dataset: dataset.filter(**options), samples)


def ordered(draw, view, _):
    reverse = draw.random() < 0.5
    by, number = draw.choice([
        (("key",), lambda s: s.key.encode()),
        ((), lambda s: s.key.encode()),
        (("json:score",), lambda s: s.told["score"]),
        ((lambda s: json.loads(s["json"])["n"] % 5,), lambda s: s.told["n"] % 5),
        ({"length": "json"}, lambda s: len(json.dumps(s.told))),
    ])  # fmt: skip
    arguments, options = ((), by) if isinstance(by, dict) else (by, {})
    samples = sorted(view.samples, key=number, reverse=reverse)
    return view.of(lambda dataset: dataset.sort(*arguments, **options, reverse=reverse), samples)


def together(draw, view, sources):
    others = [view_of(draw, sources, 1) if draw.random() < 0.7 else view for _ in range(draw.choice([1, 1, 2]))]
    joins = max(view.joins, *(other.joins for other in others))
    all_of = draw.sample([view, *others], len(others) + 1)
    make = lambda: ps.concat([one.make() for one in all_of])
    if len(all_of) == 2 and draw.random() < 0.5:
        make = lambda: all_of[0].make() + all_of[1].make()
    return View(make, [sample for one in all_of for sample in one.samples], joins)


def joined(draw, view, sources):
    other, numbers = sources[1][draw.choice("abc")]
    name = f"more{view.joins}.npy"
    samples = [sample.joined({name: numbers[sample.key]}) for sample in view.samples if sample.key in numbers]
    missing = {"missing": "exclude"} if len(samples) < len(view.samples) else {}
    return view.of(lambda dataset: dataset.join(other, fields={"npy": name}, **missing), samples, view.joins + 1)


def part_of(draw, view, _):
    parts, seed = draw.choice(PARTS), draw.choice([0, 1, draw.randrange(MOST)])
    by, group = draw.choice([
        ("key", lambda s: s.key),
        ("json:patient", lambda s: s.told["patient"]),
        ("json:weight", lambda s: str(s.told["weight"])),
        (r"^([^/]+)/.", lambda s: s.key.split("/")[0]),
        (re.compile("..$"), lambda s: s.key[-2:]),
    ])  # fmt: skip
    stratify = {"stratify": "json:kind"} if draw.random() < 0.4 else {}
    members = {}
    for sample in view.samples:
        members.setdefault(group(sample), []).append(sample.told["kind"])
    places = {name: (hash_of(name, seed) >> 11) / 2**53 for name in members}
    if stratify:
        kinds = {name: min(own, key=lambda kind: (-own.count(kind), kind)) for name, own in members.items()}
        for kind in set(kinds.values()):
            own = sorted((name for name in members if kinds[name] == kind), key=lambda name: hash_of(name, seed))
            before, all_of = 0, sum(len(members[name]) for name in own)
            for name in own:
                places[name] = (2 * before + len(members[name])) / (2 * all_of)
                before += len(members[name])
    found = {name: [s for s in view.samples if part_below(places[group(s)], parts) == name] for name in parts}
    name = draw.choice(list(parts))
    samples = found[name] if all(found.values()) else []  # a part without samples is an error
    return view.of(lambda dataset: dataset.split(parts, by=by, seed=seed, **stratify)[name], samples)


def view_of(draw, sources, most=5):
    """A view of one, several times over."""
    view = sources[0][draw.choice("abc")]
    for _ in range(draw.randint(1, most)):
        more = draw.choice([taken, chosen, ordered, together, joined, part_of])(draw, view, sources)
        if len(more.samples) in range(1, 300):
            view = more
    return view


# ---- Loaders of them ---------------------------------------------------------------------------------------------------


class Rows:
    """The outputs of a loader, drawn at random, and what its rows are."""

    def __init__(self, draw, views):
        names = ["npy", "cls", "txt", *(f"more{i}.npy" for i in range(min(view.joins for view in views)))]
        self.names = [name for name in names if all(any(name in s.fields for s in view.samples) for view in views)]
        self.names = draw.sample(self.names, draw.randint(1, len(self.names)))

    def fields(self):
        kinds = {"cls": ps.label(), "txt": ps.raw()}
        return {name: kinds.get(name, ps.array.decode("int32")) for name in self.names}

    def of(self, view):
        serve = [i for i, s in enumerate(view.samples) if all(name in s.fields for name in self.names)]
        return serve, [(s.key, *(s.fields.get(name) for name in self.names)) for s in view.samples]

    def told(self, batch):
        columns = [batch["__key__"]]
        for name in self.names:
            if name == "txt":
                columns.append([len(value) for value in batch[name]])
            else:
                columns.append(np.asarray(batch[name]).reshape(len(columns[0])).tolist())
        return list(zip(*columns, batch["__valid__"].tolist()))


def row_of_one(order, serve, shown, epoch, position):
    return shown[serve[order.sample_at(epoch, position)]]


def row_of_mixture(order, shown, epoch, position):
    source, sample, _ = order.row(epoch, position)
    return shown[source][sample]


def drawn(draw, kind, sources):
    """(outputs, a function that makes what a loader takes, options, the order, what is in a row): of one that has rows."""
    while True:
        seed = draw.choice([draw.randrange(100), draw.randrange(MOST)])
        views = {
            name: view_of(draw, sources) for name in ("one" if kind in any_order.ONE else "xyz"[: draw.randint(1, 3)])
        }
        rows = Rows(draw, list(views.values()))
        served = {name: rows.of(view) for name, view in views.items()}
        serve = {name: mine for name, (mine, _) in served.items()}
        if kind in any_order.ONE:
            view, (mine, shown) = next(iter(views.values())), next(iter(served.values()))
            weights, kinds = ([s.told[name] for s in view.samples] for name in ("weight", "kind"))
            if found := any_order.order_of_one(draw, kind, weights, mine, kinds, seed):
                options, order = found
                row = functools.partial(row_of_one, order, mine, shown)
                return rows, view.make, {"seed": seed, **options}, order, row
        elif found := any_order.order_of_mixture(draw, kind, serve, seed):
            make, options, order = found
            row = functools.partial(row_of_mixture, order, [shown for _, shown in served.values()])

            def make_all(make=make, views=views):
                return make({name: view.make() for name, view in views.items()})

            return rows, make_all, {"seed": seed, **options}, order, row


def test_views_have_the_samples_of_the_page(sources):
    for draw in positions("samples"):
        view = view_of(draw, sources, 8)
        made = view.make()
        assert made.keys == [sample.key for sample in view.samples]
        for number in draw.sample(range(len(made)), min(len(made), 5)):
            assert set(made[number]) == set(view.samples[number].fields)
            assert json.loads(made[number]["json"]) == view.samples[number].told


@pytest.mark.parametrize("kind", any_order.ONE + any_order.MIXED)
def test_states_go_on_from_anywhere_with_any_world(sources, kind):
    for draw in positions(f"views {kind}", few=12):
        rows, make, options, order, row = drawn(draw, kind, sources)
        last = draw.choice(["keep", "pad", "drop"])
        options |= {"last_batch": last, "missing": "exclude", "transforms": rows.fields(), "workers": 1}

        def loader_of(make=make, options=options, **shape):  # of a view made anew, as after a crash
            return ps.Loader(make(), **options, **shape)

        goes_on(draw, Epochs(order, row, last), loader_of, rows.told, epochs=3)
