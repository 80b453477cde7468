"""What docs/order.md promises of counts, over sizes drawn at random: epochs, prefixes, ranks, classes and repeats."""

import json
from collections import Counter

import any_order
import numpy as np
import order_model
import penstock as ps
import pytest
from resuming import WORLDS, positions

SIZES = {"a": 200, "b": 60, "c": 15, "d": 7, "e": 41, "f": 90}


@pytest.fixture(name="datasets", scope="module")
def datasets_fixture(tmp_path_factory):
    """Samples are told by their keys; what they have besides, by told_of()."""
    folder = tmp_path_factory.mktemp("order_counts")
    for name, size in SIZES.items():
        (folder / name).mkdir()
        for i in range(size):
            (folder / name / f"{name}{i:03}.json").write_text(json.dumps(told_of(i)))
            (folder / name / f"{name}{i:03}.cls").write_text(str(i))
    return {name: ps.open(folder / name) for name in SIZES}


def told_of(i):
    return {"weight": i * 7 % 4, "kind": "abcde"[i * i % 5], "length": i * 37 % 23}


def loader_of(dataset, **options):
    return ps.Loader(dataset, transforms={"cls": ps.label()}, workers=1, **options)


def keys_of(loader):
    """The keys of the rows of an epoch that are valid."""
    return [key for batch in loader for key, valid in zip(batch["__key__"], batch["__valid__"].tolist()) if valid]


def sizes_of(draw, most):
    return draw.choice([draw.randint(1, 12), draw.randint(1, most)])


def mixture_of(draw, datasets, sources, **options):
    """(mixture, parts)"""
    names = draw.sample(list(SIZES), sources)
    kind = draw.choice(["small", "large", "equal", "steep", "deep", "tiny"])
    of = {
        "small": lambda i: draw.randint(1, 9),
        "large": lambda i: draw.random(),
        "equal": lambda i: 1,
        "steep": lambda i: 3.0**i,
        "deep": lambda i: [1, 1, 2, 3, 5, 8][i],  # the deepest tree
        "tiny": lambda i: [2**20, 2**20, 2**21, 1, 1, 1][i],  # one of nearly nothing beside equal ones
    }[kind]
    weights = {name: of(i) for i, name in enumerate(names)}
    if sources > 2 and draw.random() < 0.2:
        weights[names[1]] = 0
    parts = order_model.parts(list(weights.values()))
    return ps.mixture({name: datasets[name] for name in names}, weights, **options), dict(zip(names, parts))


# ---- Epochs ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("last", ["keep", "pad", "drop"])
@pytest.mark.parametrize("kind", [*any_order.ONE, *any_order.MIXED, "lengths", "budget"])
def test_all_ranks_have_as_many_rows_and_together_each_position_once(datasets, kind, last):
    for draw in positions(f"{kind} {last}", few=10):
        batch_size, world, seed = draw.randint(1, 9), draw.choice(WORLDS), draw.randrange(1000)
        n = sizes_of(draw, SIZES["a"])
        told = [told_of(i) for i in range(n)]
        dataset, found, more = datasets["a"].take(n), None, {}
        if kind in any_order.MIXED:
            serve = {name: list(range(min(n, SIZES[name]))) for name in "abc"}
            if found := any_order.order_of_mixture(draw, kind, serve, seed):
                make, options, order = found
                dataset = make({name: datasets[name].take(len(mine)) for name, mine in serve.items()})
        elif kind in any_order.ONE:
            weights, classes = [one["weight"] for one in told], [one["kind"] for one in told]
            if found := any_order.order_of_one(draw, kind, weights, range(n), classes, seed):
                options, order = found
        else:
            lengths, pool = [one["length"] for one in told], draw.randint(72, 150)
            budget = draw.randint(22, 90) if kind == "budget" else None
            more = {"batching": ps.batching.by_length(lengths, pool=pool, budget=budget)}
            found = options, order = {"shuffle": draw.random() < 0.5}, order_model.One(n)
        if not found:
            continue
        options = {**options, **more, "seed": seed, "last_batch": last}
        epoch = draw.randrange(3)
        rows, valid, keys = [], [], []
        for rank in range(world):
            loader = loader_of(dataset, batch_size=batch_size, rank=rank, world_size=world, **options)
            loader.set_epoch(epoch)
            promised = len(loader)
            batches = list(loader)
            assert len(batches) == promised
            rows.append([len(batch["__key__"]) for batch in batches])
            valid.append([sum(batch["__valid__"].tolist()) for batch in batches])
            keys += keys_of(batches)
        assert all(one == rows[0] for one in rows)
        whole = batch_size * world
        if kind == "budget":
            assert all(1 <= count <= batch_size for count in rows[0])
            count = n - n % world if last == "drop" else n
        else:
            count = order.length // whole * whole if last == "drop" else order.length
            behind = order.length - order.length // whole * whole
            short = {"drop": [], "pad": [batch_size], "keep": [min(batch_size, behind)]}[last]
            assert rows[0] == [batch_size] * (order.length // whole) + (short if behind else [])
            assert all(sum(one[:-1]) == batch_size * len(one[:-1]) for one in valid)  # only the last one has others
        assert len(keys) == count
        if more:
            assert len(set(keys)) == count
        else:
            alone = loader_of(dataset, batch_size=1, **{**options, "last_batch": "keep"})
            alone.set_epoch(epoch)
            assert Counter(keys) == Counter(keys_of(alone)[:count])


# ---- Mixtures ----------------------------------------------------------------------------------------------------------


def test_the_first_positions_hold_each_source_within_one_or_two(datasets):
    for draw in positions("prefix"):
        sources = draw.randint(1, 6)
        mixture, parts = mixture_of(draw, datasets, sources, stop=draw.randint(1, 700))
        most = 1 if sources <= 2 else 2
        total = sum(parts.values())
        loader = loader_of(mixture, batch_size=50, shuffle=draw.random() < 0.5, seed=draw.randrange(1000))
        for _ in range(2):
            counts = Counter()
            for n, key in enumerate(keys_of(loader), 1):
                counts[key[0]] += 1
                for name, part in parts.items():
                    assert abs(counts[name] * total - n * part) < most * total, (n, name)


def test_drawn_sources_have_their_part_of_each_block(datasets):
    for draw in positions("blocks", few=4):
        sources = draw.randint(1, 6)
        mixture, parts = mixture_of(draw, datasets, sources, stop=draw.randint(4096, 13_000), sampling="random")
        counts, total = Counter(), sum(parts.values())
        keys = keys_of(loader_of(mixture, batch_size=1000, shuffle=True, seed=draw.randrange(1000)))
        for begin in range(0, len(keys), 4096):
            counts += Counter(key[0] for key in keys[begin : begin + 4096])
            for name, part in parts.items():
                n = min(begin + 4096, len(keys))
                assert abs(counts[name] * total - n * part) < (1 if sources <= 2 else 2) * total


@pytest.mark.parametrize("sources", [2, 3])
def test_each_rank_has_of_each_source_what_its_weight_says(datasets, sources):
    """Over any 100 batches of an epoch, of steps that lie in it as a whole; also where others began the epoch."""
    for draw in positions(f"ranks {sources}", few=6):
        world = draw.choice(WORLDS)
        batch_size = draw.randint(1, 5) if sources == 2 else draw.randint(4, 6)
        before, others = draw.randint(0, 3), draw.randint(1, 9)
        steps = draw.randint(100, 330)
        stop = before * others + steps * batch_size * world
        of = sources if sources == 2 else draw.randint(3, 6)
        mixture, parts = mixture_of(draw, datasets, of, stop=stop)
        options = {"shuffle": True, "seed": draw.randrange(1000)}
        first = loader_of(mixture, batch_size=others, **options)
        batches = iter(first)
        for _ in range(before):
            next(batches)
        total = sum(parts.values())
        for rank in range(world):
            loader = loader_of(mixture, batch_size=batch_size, rank=rank, world_size=world, **options)
            loader.load_state_dict(first.state_dict())
            counts = [Counter(key[0] for key in batch["__key__"]) for batch in loader]
            assert len(counts) == steps
            for name, part in parts.items():
                own = np.cumsum([0, *(count[name] for count in counts)])
                over = own[100:] - own[:-100]
                assert (abs(over * total - 100 * batch_size * part) < 2 * batch_size * total).all(), (rank, name)


@pytest.mark.parametrize("sampling", ["shares", "random"])
@pytest.mark.parametrize("stop", ["first_exhausted", "all_exhausted"])
def test_an_epoch_ends_where_a_source_does(datasets, stop, sampling):
    for draw in positions(f"{stop} {sampling}"):
        mixture, parts = mixture_of(draw, datasets, draw.randint(1, 4), stop=stop, sampling=sampling)
        if sum(SIZES[name] for name in parts) > 20 * min(SIZES.values()) and stop == "all_exhausted":
            continue  # long
        counts = Counter(keys_of(loader_of(mixture, batch_size=64, shuffle=True, seed=draw.randrange(1000))))
        of = {name: sum(count for key, count in counts.items() if key[0] == name) for name in parts}
        if stop == "first_exhausted":
            assert set(counts.values()) == {1} and any(of[name] == SIZES[name] for name in parts)
        else:
            met = {name: sum(key[0] == name for key in counts) for name in parts}
            assert all(met[name] == SIZES[name] for name in parts if parts[name])
            assert any(of[name] == SIZES[name] for name in parts)
        assert all(of[name] > 0 for name in parts if parts[name] > sum(parts.values()) / 20) or sum(of.values()) < 20
        assert all(of[name] == 0 for name in parts if parts[name] == 0)


# ---- Weights, repeats, balance -------------------------------------------------------------------------------------------


def test_repeats_come_as_often_as_they_say_or_one_time_more_or_less(datasets):
    for draw in positions("repeats"):
        n, whole = sizes_of(draw, SIZES["a"]), draw.random() < 0.5
        repeats = [
            draw.choice([0, 1, 2, 3, 7]) if whole else draw.choice([0, draw.random() * 3, 0.5]) for _ in range(n)
        ]
        repeats[draw.randrange(n)] = 2
        more = {} if draw.random() < 0.5 else {"num_samples": draw.randint(1, 300)}
        options = {
            "sampler": ps.sampler.repeated(repeats, **more),
            "shuffle": draw.random() < 0.7,
            "seed": draw.randrange(1000),
        }
        parts = [max(1, int(w * 2**20 + 0.5)) if w else 0 for w in repeats]
        world = draw.choice(WORLDS)
        loaders = [
            loader_of(datasets["a"].take(n), batch_size=4, rank=r, world_size=world, **options) for r in range(world)
        ]
        for _ in range(3):
            counts = Counter(int(key[1:]) for loader in loaders for key in keys_of(loader))
            length = sum(counts.values())
            assert length == more.get("num_samples", max(1, (sum(parts) + 2**19) // 2**20))
            for i, part in enumerate(parts):
                assert abs(counts[i] * sum(parts) - part * length) < sum(parts)
                assert not (whole and not more) or counts[i] == repeats[i]


def test_classes_are_in_balance_over_any_stretch_and_all_of_one_come_before_one_comes_again(datasets):
    for draw in positions("balance"):
        n = sizes_of(draw, SIZES["a"])
        more = {} if draw.random() < 0.5 else {"num_samples": draw.randint(1, 300)}
        options = {
            "sampler": ps.sampler.balanced("json:kind", **more),
            "shuffle": draw.random() < 0.7,
            "seed": draw.randrange(1000),
        }
        loader = loader_of(datasets["a"].take(n), batch_size=draw.randint(1, 50), **options)
        numbers = [int(key[1:]) for _ in range(4) for key in keys_of(loader)]
        classes = sorted({told_of(i)["kind"] for i in range(n)})
        for kind in classes:
            is_one = np.array([told_of(i)["kind"] == kind for i in numbers])
            off = np.cumsum([0, *(len(classes) * is_one - 1)])  # of any stretch: that at its end less that at its begin
            assert off.max() - off.min() < 2 * len(classes)
            own = [i for i, one in zip(numbers, is_one) if one]
            of = sum(told_of(i)["kind"] == kind for i in range(n))
            assert all(len(set(own[at : at + of])) == of for at in range(0, len(own) - of + 1, of))


def test_without_replacement_none_comes_twice(datasets):
    for draw in positions("once"):
        n = sizes_of(draw, SIZES["a"])
        weights = [draw.choice([0, draw.random(), 3, 1e-6]) for _ in range(n - 1)] + [1]
        heavy = {f"a{i:03}" for i, weight in enumerate(weights) if weight}
        more = {} if draw.random() < 0.5 else {"num_samples": draw.randint(1, len(heavy))}
        world = draw.choice(WORLDS)
        options = {
            "sampler": ps.sampler.weighted(weights, replacement=False, **more),
            "shuffle": True,
            "seed": draw.randrange(1000),
        }
        loaders = [
            loader_of(datasets["a"].take(n), batch_size=3, rank=r, world_size=world, **options) for r in range(world)
        ]
        for _ in range(2):
            keys = [key for loader in loaders for key in keys_of(loader)]
            assert len(keys) == len(set(keys)) == more.get("num_samples", len(heavy)) and set(keys) <= heavy


def test_with_replacement_none_of_weight_0_comes(datasets):
    for draw in positions("weights"):
        n = sizes_of(draw, SIZES["a"])
        weights = [draw.choice([0, 0, draw.random(), 3]) for _ in range(n - 1)] + [0.5]
        count = draw.randint(1, 400)
        options = {
            "sampler": ps.sampler.weighted(weights, num_samples=count),
            "shuffle": True,
            "seed": draw.randrange(1000),
        }
        keys = keys_of(loader_of(datasets["a"].take(n), batch_size=32, **options))
        assert len(keys) == count and all(weights[int(key[1:])] > 0 for key in keys)
