"""ps.mixture(): the batches are those that docs/order.md defines, computed by a model written from that page alone."""

import functools
import itertools
import json

import numpy as np
import order_model
import penstock as ps
import pytest
from command import fails, run
from PIL import Image
from resuming import Epochs, goes_on, positions

SIZES = {"a": 37, "b": 11, "c": 5}


@pytest.fixture(name="folder", scope="module")
def folder_fixture(tmp_path_factory):
    """Three datasets of three packings, whose samples are told by their keys: a000, a001, ..."""
    folder = tmp_path_factory.mktemp("mixture")
    for name, size in SIZES.items():
        (folder / name).mkdir()
        for i in range(size):
            (folder / name / f"{name}{i:03}.cls").write_text(str(i))
    ps.pack(folder / "b", folder / "b.lmdb", format="lmdb")
    ps.pack(folder / "c", folder / "c.tar", format="tar")
    return folder


@pytest.fixture(name="datasets", scope="module")
def datasets_fixture(folder):
    return {"a": ps.open(folder / "a"), "b": ps.open(folder / "b.lmdb"), "c": ps.open(folder / "c.tar")}


def loader_of(mixture, **options):
    return ps.Loader(mixture, transforms={"cls": ps.label()}, workers=1, **options)


def rows_of(batch):
    """(key, source, valid) of each row; what is read is what the key says."""
    keys, valid = batch["__key__"], batch["__valid__"].tolist()
    assert np.array_equal(batch["cls"].numpy(), [int(key[1:]) for key in keys])
    return list(zip(keys, batch["__source__"].tolist(), valid))


def epochs_of(model, last="keep"):
    def row(epoch, position):
        source, sample, _ = model.row(epoch, position)
        return f"{model.names[source]}{sample:03}", source

    return Epochs(model, row, last)


def model_of(sizes, weights, stop="first_exhausted", sampling="shares", seed=0, shuffle=True, **more):
    return order_model.Mixture(
        sizes,
        weights,
        stop=stop,
        sampling=sampling,
        shuffle=shuffle,
        shuffle_block=more.pop("shuffle_block", 0),
        seed=seed,
        **more,
    )


@pytest.mark.parametrize("last", ["keep", "drop", "pad"])
@pytest.mark.parametrize("sampling", ["shares", "random"])
@pytest.mark.parametrize("stop", ["first_exhausted", "all_exhausted", 100])
def test_batches_are_those_of_the_page(datasets, stop, sampling, last):
    weights = {"a": 0.5, "b": 0.3, "c": 0.2}
    mixture = ps.mixture(datasets, weights, stop=stop, sampling=sampling)
    model = model_of(SIZES, weights, stop, sampling, seed=3)
    for world, batch_size in ((1, 4), (2, 3), (3, 1), (8, 2)):
        for rank in {0, world // 2, world - 1}:
            loader = loader_of(
                mixture, batch_size=batch_size, shuffle=True, seed=3, last_batch=last, rank=rank, world_size=world
            )
            for epoch in range(3):
                got = [rows_of(batch) for batch in loader]
                assert got == epochs_of(model, last).epoch(epoch, batch_size, rank, world), (world, rank, epoch)


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("block", [0, 4])
def test_passes_over_a_source_are_epochs_of_it(datasets, shuffle, block):
    weights = {"a": 1, "b": 3, "c": 2}
    mixture = ps.mixture(datasets, weights, stop=200)
    loader = loader_of(
        mixture, batch_size=7, shuffle=ps.shuffle.blocks(block) if shuffle and block else shuffle, seed=5
    )
    model = model_of(SIZES, weights, 200, seed=5, shuffle=shuffle, shuffle_block=block if shuffle else 0)
    met = {name: [] for name in SIZES}
    for epoch in range(3):
        got = [rows_of(batch) for batch in loader]
        assert got == epochs_of(model).epoch(epoch, 7)
        for key, _, _ in itertools.chain.from_iterable(got):
            met[key[0]].append(int(key[1:]))
    for name, size in SIZES.items():
        passes = [met[name][at : at + size] for at in range(0, len(met[name]) - size + 1, size)]
        assert len(passes) > 1 and all(sorted(one) == list(range(size)) for one in passes)
        assert shuffle == (passes[0] != passes[1])


@pytest.mark.parametrize("sampling", ["shares", "random"])
def test_states_go_on_from_anywhere_with_any_world(datasets, sampling):
    weights = {"a": 0.6, "b": 0.3, "c": 0.1}
    mixture = ps.mixture(datasets, weights, stop=150, sampling=sampling)
    model = epochs_of(model_of(SIZES, weights, 150, sampling, seed=11))
    for draw in positions(sampling):
        goes_on(draw, model, functools.partial(loader_of, mixture, shuffle=True, seed=11), rows_of)


def test_at_and_explain_tell_the_same(datasets):
    mixture = ps.mixture(datasets, {"a": 1, "b": 1, "c": 1}, stop=60)
    loader = loader_of(mixture, batch_size=8, shuffle=True, seed=1)
    for epoch in range(2):
        for number, batch in enumerate(loader):
            rows = rows_of(batch)
            assert rows_of(loader.at(epoch, number)) == rows
            told = loader.explain(epoch, number, 3)
            assert (told["key"], told["source"]) == (rows[3][0], rows[3][0][0])


def test_other_weights_and_sources_go_on_where_each_source_was(datasets, folder):
    names = list(SIZES)
    loader = loader_of(ps.mixture(datasets, {"a": 2, "b": 1, "c": 1}, stop=48), batch_size=5, shuffle=True, seed=2)
    batches = iter(loader)
    seen = {name: [] for name in SIZES}
    for _ in range(4):
        for key, _, _ in rows_of(next(batches)):
            seen[key[0]].append(key)
    state = loader.state_dict()
    taken = {source["name"]: source["taken"] for source in state["mixture"]["sources"]}
    assert taken == {name: len(seen[name]) for name in names}

    more = {"a": datasets["a"], "d": ps.open(folder / "b"), "b": datasets["b"]}
    weights = {"a": 1, "b": 5, "d": 2}
    with pytest.raises(
        ps.Error, match=r'saved with the sources "a", "b", "c", this mixture has .*on_change="carry" to resume'
    ):
        loader_of(ps.mixture(more, weights, stop=48), batch_size=5, shuffle=True, seed=2).load_state_dict(state)
    carried = loader_of(ps.mixture(more, weights, stop=48, on_change="carry"), batch_size=5, shuffle=True, seed=2)
    with pytest.warns(UserWarning, match="other weights or sources: epoch 1 begins"):
        carried.load_state_dict(state)
    sizes = {"a": 37, "d": 11, "b": 11}
    before = {"a": taken["a"], "d": 0, "b": taken["b"]}
    model = model_of(sizes, {"a": 1, "d": 2, "b": 5}, 48, seed=2, since=1, before=before)
    names = {"a": "a", "d": "b", "b": "b"}
    for epoch in (1, 2):
        wanted = [
            [(names[list(sizes)[source]] + key[1:], source, valid) for key, source, valid in batch]
            for batch in epochs_of(model).epoch(epoch, 5)
        ]
        got = [rows_of(batch) for batch in carried]
        assert got == wanted
        for key, source, _ in itertools.chain.from_iterable(got):
            if source != 1:
                seen[key[0]].append(key)
    for at in (0, 11, 22):  # one pass after the other, over the change too
        assert sorted(seen["b"][at : at + 11]) == [f"b{i:03}" for i in range(11)]
    again = loader_of(ps.mixture(more, weights, stop=48), batch_size=5, shuffle=True, seed=2)
    again.load_state_dict(carried.state_dict())  # a state of these weights needs no word
    assert again.state_dict() == carried.state_dict()
    with pytest.raises(ps.Error, match="epoch 0 comes before epoch 1"):
        again.at(0, 0)

    replaced = {"a": datasets["b"], "b": datasets["a"]}
    other = loader_of(ps.mixture(replaced, on_change="carry"), batch_size=5, shuffle=True, seed=2)
    with pytest.raises(ps.Error, match='source "a" has other samples'):
        other.load_state_dict(state)


def test_a_state_of_one_dataset_is_not_one_of_a_mixture(datasets):
    one = ps.Loader(datasets["a"], batch_size=4, transforms={"cls": ps.label()})
    mixed = loader_of(ps.mixture(datasets), batch_size=4)
    with pytest.raises(ps.Error, match="the state was saved with a single dataset, this loader has a mixture"):
        mixed.load_state_dict(one.state_dict())
    with pytest.raises(ps.Error, match="the state was saved with a mixture, this loader has a single dataset"):
        one.load_state_dict(mixed.state_dict())


def test_weights_by_size_and_temperature(datasets):
    assert ps.mixture(datasets).weights == pytest.approx({"a": 37 / 53, "b": 11 / 53, "c": 5 / 53})
    flat = ps.mixture(datasets, temperature=1e9).weights
    assert flat == pytest.approx({"a": 1 / 3, "b": 1 / 3, "c": 1 / 3})
    square = ps.mixture(datasets, temperature=2).weights
    assert square["a"] / square["b"] == pytest.approx((37 / 11) ** 0.5)
    whole = loader_of(ps.mixture(datasets), batch_size=10)
    keys = [key for batch in whole for key in batch["__key__"]]
    assert len(keys) == len(set(keys)) == 53  # by size, each sample once


def test_a_weight_of_0_is_never_drawn(datasets):
    loader = loader_of(ps.mixture(datasets, {"a": 1, "b": 0, "c": 2}, stop="all_exhausted"), batch_size=4)
    assert {source for batch in loader for source in batch["__source__"].tolist()} == {0, 2}


def test_a_sample_that_comes_twice_draws_anew(images):
    crop = ps.image.random_resized_crop(32) | ps.image.channels_last()
    mixture = ps.mixture({"one": ps.open(images).take(2)}, stop=6)
    loader = ps.Loader(mixture, batch_size=6, shuffle=True, seed=1, transforms={"jpg": crop})
    batch = next(iter(loader))
    pixels = {}
    for key, picture in zip(batch["__key__"], batch["jpg"].numpy()):
        pixels.setdefault(key, set()).add(picture.tobytes())
    assert [len(kinds) for kinds in pixels.values()] == [3, 3]


def test_repeats_in_a_view_and_in_passes_all_draw_anew(images):
    crop = ps.image.random_resized_crop(32) | ps.image.channels_last()
    one = ps.open(images).take(1)
    loader = ps.Loader(ps.mixture({"twice": one + one}, stop=6), batch_size=6, transforms={"jpg": crop})
    batch = next(iter(loader))
    assert len({picture.tobytes() for picture in batch["jpg"].numpy()}) == 6


def test_bad_samples_belong_to_their_source(folder, tmp_path):
    (tmp_path / "few").mkdir()
    for i in range(10):
        (tmp_path / "few" / f"f{i:03}.cls").write_text("broken" if i < 4 else str(i))
    mixture = ps.mixture({"a": ps.open(folder / "a"), "f": ps.open(tmp_path / "few")}, {"a": 3, "f": 1}, stop=40)
    fields = {"cls": ps.label()}
    replaced = ps.Loader(mixture, batch_size=8, shuffle=True, transforms=fields, on_error="replace", max_errors=1.0)
    for batch in replaced:
        for key, source in zip(batch["__key__"], batch["__source__"].tolist()):
            assert (key[0] == "f") == (source == 1)
    assert replaced.stats()["bad_samples"] == 4
    strict = ps.Loader(mixture, batch_size=8, shuffle=True, transforms=fields, on_error="replace", max_errors=0.2)
    with pytest.raises(ps.Error, match=r'of 10 samples of epoch 0, of source "f", are invalid'):
        list(strict)  # 4 of 40 are fewer than 0.2


def test_samples_that_lack_a_field_are_left_out_of_their_source(folder, tmp_path):
    (tmp_path / "half").mkdir()
    for i in range(10):
        (tmp_path / "half" / f"h{i:03}.txt").write_text("x")
        if i % 2:
            (tmp_path / "half" / f"h{i:03}.cls").write_text(str(i))
    mixture = ps.mixture({"half": ps.open(tmp_path / "half"), "a": ps.open(folder / "a")}, {"half": 1, "a": 1})
    loader = ps.Loader(mixture, batch_size=4, shuffle=True, missing="exclude", transforms={"cls": ps.label()})
    keys = [key for batch in loader for key in batch["__key__"] if key[0] == "h"]
    assert sorted(keys) == [f"h{i:03}" for i in range(1, 10, 2)]
    with pytest.raises(ps.Error, match="has no field for output 'cls'"):
        ps.Loader(mixture, batch_size=4, shuffle=True, transforms={"cls": ps.label()})


def test_what_does_not_go_together_is_told(datasets, folder, tmp_path):
    a, b = datasets["a"], datasets["b"]
    for weights, said in (
        ({"a": -1, "b": 1}, 'weight of source "a" must be a number of 0 or more, not -1'),
        ({"a": float("nan"), "b": 1}, 'weight of source "a" must be a number of 0 or more, not nan'),
        ({"a": float("inf"), "b": 1}, 'weight of source "a" must be a number of 0 or more, not inf'),
        ({"a": 0, "b": 0}, "all weights of the mixture are 0"),
        ({"a": 1}, 'source "b" has no weight'),
        ({"a": 1, "b": 1, "x": 1}, 'the mixture has no source "x"'),
        ({"a": "x", "b": 1}, 'the weight of "a" is not a number'),
    ):
        with pytest.raises(ps.Error, match=said):
            ps.mixture({"a": a, "b": b}, weights)
    for options, said in (
        ({"stop": 0}, "would have no samples"),
        ({"stop": "never"}, '"all_exhausted" or a number of samples, not "never"'),
        ({"sampling": "any"}, 'sampling must be "shares" or "random", not "any"'),
        ({"on_change": "any"}, 'on_change must be "raise" or "carry", not "any"'),
        ({"temperature": 0}, "temperature of a mixture must be a number above 0"),
        ({"temperature": 2, "weights": {"a": 1, "b": 1}}, "weights cannot be combined with temperature"),
    ):
        with pytest.raises(ps.Error, match=said):
            ps.mixture({"a": a, "b": b}, **options)
    with pytest.raises(ps.Error, match="a mixture needs a dataset"):
        ps.mixture({})
    mixture = ps.mixture({"a": a, "b": b})
    with pytest.raises(ps.Error, match="subset cannot be combined with a mixture"):
        loader_of(mixture, batch_size=2, sampler=ps.sampler.subset([1, 2]))
    with pytest.raises(ps.Error, match="requires shuffle"):
        loader_of(ps.mixture({"a": a, "b": b}, sampling="random"), batch_size=2)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "x.txt").write_text("x")
    (tmp_path / "short").mkdir()
    np.save(tmp_path / "short" / "x.npy", np.zeros(3, np.float32))
    other = ps.mixture({"a": a, "other": ps.open(tmp_path / "other")})
    with pytest.raises(ps.Error, match=r'source "other" .* has no field for output .cls.: it has txt'):
        loader_of(other, batch_size=2)
    with pytest.raises(ps.Error, match="__source__ is reserved"):
        ps.Loader(mixture, batch_size=2, transforms={"__source__": ps.label()})
    with pytest.raises(TypeError, match="wights: did you mean weights"):
        ps.mixture({"a": a}, wights={})


def test_misuse_is_told_in_the_words_of_mixtures(datasets, folder):
    def told(kind, said, *arguments, **options):
        with pytest.raises(kind, match=said):
            ps.mixture(*arguments, **options)

    a, b = datasets["a"], datasets["b"]
    both, equal = {"a": a, "b": b}, {"a": 1, "b": 1}
    for given in (None, [a, b], a, 3):
        told(
            TypeError, r"a dict of datasets by names, \{\"web\": dataset, ...\}, or the path of a mixture's file", given
        )
    told(TypeError, 'source "b" of the mixture must be a Dataset or the path of one, not 3', {"a": a, "b": 3})
    told(TypeError, 'source "m" of the mixture must be a Dataset', {"a": a, "m": ps.mixture(both)})
    told(
        TypeError,
        r"weights must be a dict of a number for each source, \{source: weight\}, not \[0.3",
        both,
        [0.3, 0.7],
    )
    for stop in (True, None, -1, 1.5):
        told(TypeError, 'stop must be "first_exhausted", "all_exhausted" or a number of samples, not', both, stop=stop)
    told(TypeError, 'sampling must be "shares" or "random", not None', both, sampling=None)
    told(TypeError, 'on_change must be "raise" or "carry", not True', both, on_change=True)
    told(TypeError, "has no keyword sources: use on_change", both, sources="carry")
    told(TypeError, "temperature must be a number or None, not True", both, temperature=True)
    for schedule in (5, "text", {10: equal}, [10], [(10, [1, 2])], [(-10, equal)], [(2.5, equal)]):
        told(TypeError, r"schedule must be a list, \[\(position, ", both, stop=100, schedule=schedule)
    told(
        ps.Error,
        "schedule: positions must be above 0, because the argument weights",
        both,
        stop=9,
        schedule=[(0, equal)],
    )
    for weights, said in (({"a": 1}, 'source "b" has no weight'), ({**equal, "c": 1}, 'no source "c"')):
        told(ps.Error, f"schedule, from position 10 on: .*{said}", both, stop=100, schedule=[(10, weights)])
    told(ps.Error, "is a folder, but the file of a mixture is JSON", folder / "a")
    for option in ("seed", "shuffle", "batch_size"):
        told(TypeError, f"no keyword {option}: it is an option of penstock.Loader", both, **{option: 1})
    mixture = ps.mixture(both)
    for refuses in (ps.open, lambda given: ps.concat([given, a]), lambda given: ps.token_blocks(given, 5)):
        with pytest.raises(TypeError, match="only a Loader accepts a mixture; its .dataset has the samples"):
            refuses(mixture)
    with pytest.raises(TypeError, match="a mixture is an order"):
        ps.pack(mixture, folder / "packed")
    with pytest.raises(TypeError, match=r"ps.mixture\(\) combines several datasets"):
        ps.Loader(both)


def test_a_bench_takes_the_fields_that_all_sources_have(folder):
    for name, fields in (("d", ("cls", "txt")), ("e", ("txt",)), ("f", ("cls", "png"))):
        (folder / name).mkdir()
        for i in range(4):
            for field in fields:
                (folder / name / f"{i}.{field}").write_bytes(b"1")
        if "png" in fields:
            Image.fromarray(np.zeros((8, 8, 3), np.uint8)).save(folder / name / "0.png")
    for sources, said, left, lacking in (("ad", "cls", "txt", "a"), ("de", "txt", "cls", "e")):
        (folder / "fields.json").write_text(json.dumps({"sources": {name: name for name in sources}}))
        told = run("bench", folder / "fields.json", "--seconds", 0.05, "--workers", 1).stdout.decode()
        assert f'{left} is left out: source "{lacking}" has none' in told
        assert f"{said} " in run("inspect", folder / "fields.json").stdout.decode()
    (folder / "fields.json").write_text(json.dumps({"sources": {"0": "f", "a": "a"}}))
    assert 'source "a" of the mixture has no field "png"; --task raw' in fails("bench", folder / "fields.json", code=2)
    run("bench", folder / "fields.json", "--seconds", 0.05, "--workers", 1, "--task", "raw")
    (folder / "fields.json").write_text(json.dumps({"sources": {"a": "a", "e": "e"}}))
    assert "have no field in common" in fails("bench", folder / "fields.json", code=2)


def test_a_file_of_a_mixture_leads_to_what_takes_it(folder):
    (folder / "alone.json").write_text(json.dumps({"sources": {"a": "a"}}))
    for refuses in (ps.open, ps.Loader):
        with pytest.raises(ps.Error, match=r"if it describes a mixture, pass it to ps.mixture\(\)"):
            refuses(folder / "alone.json")
    assert "to the commands bench, tune and show" in fails("info", folder / "alone.json")


def test_a_mixture_is_printed_with_its_weights(datasets):
    mixture = ps.mixture(datasets, {"a": 5, "b": 3, "c": 2})
    assert (
        repr(mixture)
        == "<penstock.Mixture of 3 sources: a (50 %, 37 samples), b (30 %, 11 samples), c (20 %, 5 samples)>"
    )
    assert mixture.sources == ["a", "b", "c"] and len(mixture.dataset) == 53


def test_torch_s_dataset_takes_a_mixture(datasets):
    pytest.importorskip("torch")
    mixture = ps.mixture(datasets, {"a": 1, "b": 1, "c": 1}, stop=40)
    dataset = ps.torch.Loader(mixture, batch_size=4, shuffle=True, transforms={"cls": ps.label()})
    own = loader_of(mixture, batch_size=4, shuffle=True)
    for theirs, ours in zip(dataset, own):
        assert theirs["__source__"].tolist() == ours["__source__"].tolist()
        assert theirs["cls"].tolist() == ours["cls"].tolist()
    state = dataset.state_dict()
    dataset.load_state_dict(state)


def test_a_ledger_of_a_mixture_proves_its_epochs(datasets, tmp_path):
    def mixture(b=1):
        return ps.mixture(datasets, {"a": 3, "b": b, "c": 1}, stop=50)

    folder = tmp_path / "ledger"
    state = None
    for world, steps in ((1, 3), (3, 2), (2, 100)):
        states = []
        for rank in range(world):
            options = {"batch_size": 4, "shuffle": True, "seed": 1, "rank": rank, "world_size": world}
            loader = loader_of(mixture(), delivery_log=folder, **options)
            if state is not None:
                loader.load_state_dict(state)
            batches = iter(loader)
            for _, _ in zip(range(steps), batches):
                pass
            states.append(loader.state_dict())
            loader.close()
        assert all(one == states[0] for one in states)
        state = states[0]
    told = ps.audit(folder)
    assert told["epochs"][0]["verdict"] == "proved", str(told)
    with pytest.raises(ps.Error, match="a mixture of other sources or weights"):
        loader_of(mixture(b=2), batch_size=4, shuffle=True, seed=1, delivery_log=folder)
    with pytest.raises(ps.Error, match="was written with a mixture"):
        ps.audit(folder, dataset=mixture().dataset)


def test_a_file_says_what_a_program_would(datasets, folder, tmp_path):
    schedule = [[40, {"a": 1, "b": 1, "c": 1}]]
    described = {
        "sources": {"a": str(folder / "a"), "b": "b.lmdb", "c": "c.tar"},
        "weights": {"a": 3, "b": 2, "c": 1},
        "stop": 60,
        "schedule": schedule,
    }
    (folder / "mixture.json").write_text(json.dumps(described))
    of_file = ps.mixture(folder / "mixture.json")
    of_program = ps.mixture(datasets, described["weights"], stop=60, schedule=[tuple(change) for change in schedule])
    options = {"batch_size": 7, "shuffle": True, "seed": 4}
    one, other = loader_of(of_file, **options), loader_of(of_program, **options)
    assert [rows_of(batch) for batch in one] == [rows_of(batch) for batch in other]
    assert one.state_dict() == other.state_dict()
    other.load_state_dict(one.state_dict())

    def told(change, kind=ps.Error):
        path = tmp_path / "bad.json"
        path.write_text(change if isinstance(change, str) else json.dumps({**described, "schedule": [], **change}))
        with pytest.raises(kind) as error:
            ps.mixture(path)
        assert "bad.json" in str(error.value) or "nothing" in str(error.value)
        return str(error.value)

    described["sources"] = {name: str(folder / path) for name, path in described["sources"].items()}
    assert "not valid JSON" in told("{")
    assert 'no "sources"' in told("{}")
    assert 'unknown member "wieghts"' in told({"wieghts": {}})
    assert 'no source "d"' in told({"weights": {"a": 1, "b": 1, "c": 1, "d": 1}})
    assert 'source "c" has no weight' in told({"weights": {"a": 1, "b": 1}})
    assert '"weights" cannot be combined with "temperature"' in told({"temperature": 2})
    assert '"stop" is not "first_exhausted"' in told({"stop": "never"})
    assert '"sampling" is not "shares"' in told({"sampling": "dice"})
    assert "is not a list of" in told({"schedule": [1]})
    assert "is not an object of paths" in told({"sources": []})
    assert "is not a string" in told({"sources": {"a": 1}})
    told({"sources": {"a": str(folder / "nothing")}, "weights": {"a": 1}})
    with pytest.raises(ps.Error, match="pass no other arguments"):
        ps.mixture(folder / "mixture.json", stop=3)
    with pytest.raises(TypeError, match="the path of a mixture's file"):
        ps.mixture(3)
    with pytest.raises(ps.Error):
        ps.mixture(folder / "absent.json")


def test_the_command_takes_the_file_of_a_mixture(folder, tmp_path):
    described = {"sources": {"a": "a", "b": "b.lmdb"}, "weights": {"a": 1, "b": 1}, "stop": 40}
    (folder / "ab.json").write_text(json.dumps(described))
    loader = loader_of(ps.mixture(folder / "ab.json"), batch_size=8, shuffle=True, seed=3)
    batches = iter(loader)
    next(batches)
    (tmp_path / "state.json").write_text(json.dumps(loader.state_dict()))
    keys = next(batches)["__key__"]
    for row in (0, 7):
        told = run("inspect", folder / "ab.json", "--state", tmp_path / "state.json", "--row", row).stdout.decode()
        assert f"{keys[row]} (number" in told and f"source      {keys[row][0]}\n" in told
    assert "pass the file of the mixture" in fails("inspect", folder / "a", "--state", tmp_path / "state.json", code=2)
    one = loader_of(folder / "a", batch_size=8)
    (tmp_path / "one.json").write_text(json.dumps(one.state_dict()))
    assert "of one dataset, not of a mixture" in fails(
        "inspect", folder / "ab.json", "--state", tmp_path / "one.json", code=2
    )
    rows = json.loads(run("bench", folder / "ab.json", "--task", "raw", "--seconds", 0.2, "--json", "-").stdout)["rows"]
    assert rows and rows[0]["samples_per_s"] > 0
    words = ["tune", folder / "ab.json", "--task", "raw", "--seconds", 0.1, "--workers", "1,2"]
    assert f'ps.Loader(ps.mixture("{folder / "ab.json"}"), ' in run(*words).stdout.decode()
    (folder / "bad.json").write_text("{}")
    assert 'no "sources"' in fails("bench", folder / "bad.json")
