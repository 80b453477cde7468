"""Windows in every order, resumed anywhere and on any ranks: the rows are those that docs/spec/windows.md and docs/order.md
define, computed by models written from these pages alone."""

import functools
import json
import random

import any_order
import numpy as np
import penstock as ps
import pytest
from PIL import Image
from resuming import Epochs, goes_on, positions
from window_model import Window

FIELDS = ["npy", "cls", "png", "seg.png"]  # of several sensors: samples have some of them, all with the same number
CHAINS = {"npy": ps.array.decode("int32"), "cls": ps.label(), "png": ps.image.decode(), "seg.png": ps.image.decode()}
BY_KEY = r"^[^_]*_([a-z]+)"


class Samples:
    """A dataset, and what its samples hold, in its order; groups are uneven and stand in pieces."""

    def __init__(self, folder, name, size, uneven):
        draw = random.Random(name)
        folder.mkdir()
        groups = [chr(ord("a") + min(int(draw.expovariate(uneven)), 9)) for _ in range(size)]
        for i, group in enumerate(groups):
            key = f"{name}{i:03}_{group}"
            rank, time = draw.randrange(8), round(0.05 * draw.randrange(60), 2)  # equal ones too
            told = {
                "i": i,
                "group": group,
                "rank": rank,
                "t": time,
                "weight": draw.randrange(4),
                "kind": draw.choice("xyyy"),
            }
            (folder / f"{key}.json").write_text(json.dumps(told))
            image = Image.fromarray(np.full((2, 2), i, np.uint8))
            write = {
                "npy": lambda path, i=i: np.save(path, np.full(1, i, np.int32)),
                "cls": lambda path, i=i: path.write_text(str(i)),
                "png": image.save,
                "seg.png": image.save,
            }
            for field in FIELDS:
                if draw.random() < 0.7:
                    write[field](folder / f"{key}.{field}")
        ps.pack(folder, folder.with_suffix(".tar"), format="tar", progress=False)
        self.take(ps.open(folder.with_suffix(".tar")))

    def take(self, dataset):
        self.dataset = dataset
        self.keys = dataset.keys
        samples = list(dataset)
        self.told = [json.loads(sample["json"]) for sample in samples]
        self.has = {field: [field in sample for sample in samples] for field in FIELDS}
        return self

    def view(self, draw):
        """A view of them: cut, and in another order."""
        dataset = self.dataset
        if draw.random() < 0.5:
            dataset = dataset.sort(draw.choice(["json:rank", "json:t", "key"]), reverse=draw.random() < 0.5)
        if draw.random() < 0.5:
            dataset = dataset.skip(draw.randrange(1, 6)).take(len(dataset) - 12)
        return Samples.__new__(Samples).take(dataset)


@pytest.fixture(name="sources", scope="module")
def sources_fixture(tmp_path_factory):
    folder = tmp_path_factory.mktemp("windows_states")
    return {
        name: Samples(folder / name, name, size, uneven)
        for name, size, uneven in (("a", 71, 0.3), ("b", 40, 0.8), ("c", 29, 2))
    }


class Clip:
    """A window of a field, drawn at random: as an output of a loader, and as the page has it."""

    def __init__(self, draw, edge):
        self.field, self.edge = draw.choice(FIELDS[:3]), edge
        self.by = draw.choice(["order_by", "at", None])
        self.of = draw.choice(
            {"order_by": ["json:rank", "json:t"], "at": ["json:t", "json:rank"], None: [None]}[self.by]
        )
        self.group = draw.choice([None, "json:group", BY_KEY])
        count = draw.randint(1, 5)  # from so few also the same one again
        most = draw.choice([1, 3, 20]) if edge == "pad" else draw.choice([1, 2])
        if self.by == "at":
            self.offsets = [
                draw.choice([round(draw.uniform(-most, most), 2), 0.05 * draw.randint(-20, 20)]) for _ in range(count)
            ]
        else:
            self.offsets = [draw.randint(-most, most) for _ in range(count)]
        self.offsets += draw.choices(self.offsets, k=draw.randrange(2))
        self.follower = "seg.png" if self.field == "png" and draw.random() < 0.5 else None  # which steps must have then

    def output(self):
        return ps.window(
            self.field,
            offsets=self.offsets,
            group=self.group,
            edge=self.edge,
            **({self.by: self.of} if self.by else {}),
        )

    def model(self, samples):
        groups = [told["group"] if self.group else "" for told in samples.told]
        numbers = {self.by: [told[self.of[5:]] for told in samples.told]} if self.by else {}
        has = samples.has[self.field]
        if self.follower:
            has = list(map(all, zip(has, samples.has[self.follower])))
        return Window(groups, self.offsets, self.edge, has=has, **numbers)


class Rows:
    """The outputs of a loader, drawn at random, and what its rows are."""

    def __init__(self, draw, edge):
        self.clips = [Clip(draw, edge)]
        if draw.random() < 0.4:
            self.clips.append(Clip(draw, draw.choice(["pad", "drop"])))
        self.own = draw.choice([None, *FIELDS])  # an output of the row's own sample

    def fields(self):
        fields = {}
        for i, clip in enumerate(self.clips):
            fields[f"clip{i}"] = clip.output() | CHAINS[clip.field]
            fields[f"inside{i}"] = ps.follow(f"clip{i}") | ps.window_valid()
            if clip.follower:
                fields[f"follows{i}"] = ps.follow(f"clip{i}") | ps.field(clip.follower) | CHAINS[clip.follower]
        if self.own:
            fields["own"] = ps.field(self.own) | CHAINS[self.own]
        return fields

    def of(self, samples):
        """(those that an epoch has, what is in the row of each)"""
        models = [clip.model(samples) for clip in self.clips]
        serve = [s for s in range(len(samples.keys)) if all(model.serves(s) for model in models)]
        if self.own:
            serve = [s for s in serve if samples.has[self.own][s]]
        shown = {}
        for s in serve:
            row = [samples.keys[s]]
            for clip, model in zip(self.clips, models):
                steps, inside = zip(*model.row(s))
                told = [samples.told[step]["i"] for step in steps]
                row += [told, list(inside)] + [told] * (clip.follower is not None)
            shown[s] = (*row, *([samples.told[s]["i"]] if self.own else []))
        return serve, shown

    def told(self, batch):
        """What is in each row of a batch, as of() says it."""
        columns = [batch["__key__"]]
        for name in self.fields():
            column = np.asarray(batch[name])
            if not name.startswith("inside"):  # of a value its first number
                rank = 1 if name == "own" else 2
                column = column.reshape(*column.shape[:rank], -1)[..., 0]
            columns.append(column.tolist())
        return list(zip(*columns, batch["__valid__"].tolist()))


def drawn(draw, kind, edge, sources):
    """(outputs, what a loader takes, options, the order, what is in a row): of one that has rows."""
    while True:
        rows, seed = Rows(draw, edge), draw.choice([draw.randrange(100), draw.randrange(2**64)])
        of = {name: samples if draw.random() < 0.6 else samples.view(draw) for name, samples in sources.items()}
        if kind in any_order.ONE:
            samples = of[draw.choice("abc")]
            serve, shown = rows.of(samples)
            weights, kinds = ([told[name] for told in samples.told] for name in ("weight", "kind"))
            if found := any_order.order_of_one(draw, kind, weights, serve, kinds, seed):
                options, order = found
                row = functools.partial(row_of_one, order, serve, shown)
                return rows, samples.dataset, {"seed": seed, **options}, order, row
        else:
            served = {name: rows.of(samples) for name, samples in of.items()}
            serve = {name: mine for name, (mine, _) in served.items()}
            if found := any_order.order_of_mixture(draw, kind, serve, seed):
                make, options, order = found
                mixture = make({name: samples.dataset for name, samples in of.items()})
                row = functools.partial(row_of_mixture, order, [shown for _, shown in served.values()])
                return rows, mixture, {"seed": seed, **options}, order, row


def row_of_one(order, serve, shown, epoch, position):
    return shown[serve[order.sample_at(epoch, position)]]


def row_of_mixture(order, shown, epoch, position):
    source, sample, _ = order.row(epoch, position)
    return shown[source][sample]


@pytest.mark.parametrize("edge", ["pad", "drop"])
@pytest.mark.parametrize("kind", any_order.ONE + any_order.MIXED)
def test_states_go_on_from_anywhere_with_any_world(sources, kind, edge):
    for draw in positions(f"{kind} {edge}", few=8):
        rows, dataset, options, order, row = drawn(draw, kind, edge, sources)
        last = draw.choice(["keep", "pad", "drop"])
        options |= {"last_batch": last, "missing": "exclude", "transforms": rows.fields(), "workers": 1}

        def loader_of(dataset=dataset, options=options, **shape):
            return ps.Loader(dataset, **options, **shape)

        goes_on(draw, Epochs(order, row, last), loader_of, rows.told, epochs=3)
