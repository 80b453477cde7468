"""Views: datasets that are made of others."""

import collections
import io
import json
import pickle
import re

import numpy as np
import penstock as ps
import pytest
from PIL import Image
from split_model import hash_of, part_below


def keys_of(loader):
    return [key for batch in loader for key in batch["__key__"]]


def test_a_view_is_a_dataset_of_some_samples(packed):
    dataset = ps.open(packed["tar"])
    view = dataset.skip(100).take(50)
    assert view.keys == dataset.keys[100:150] and len(view) == 50 and view.is_view and not dataset.is_view
    assert dict(view[7]) == dict(dataset[107]) and view[7].number == 7
    assert view.find(dataset[120].key) == 20 and view.find(dataset[0].key) is None
    assert repr(view) == f"penstock.Dataset(view of {packed['tar']}: skip 100, take 50; 50 of 500 samples)"
    with pytest.raises(IndexError):
        view[50]
    with pytest.raises(ps.Error, match="skip 500: chooses none of 500 samples"):
        dataset.skip(500)
    with pytest.raises(ps.Error, match="take requires a number of samples of 0 or more, not -1"):
        dataset.take(-1)


def test_datasets_of_any_packings_stand_one_behind_the_other(packed, icons):
    parts = [ps.open(path).skip(50 * i).take(60) for i, path in enumerate([icons, *packed.values()])]
    whole = ps.concat(parts)
    assert whole.keys == [key for part in parts for key in part.keys]
    assert whole.classes == parts[0].classes
    for i in range(0, len(whole), 37):
        part = parts[i // 60]
        assert dict(whole[i]) == dict(part[i % 60])
    both = parts[0] + parts[1]
    assert both.keys == parts[0].keys + parts[1].keys and f"view of {icons} + {packed['tar']}" in repr(both)
    assert len(ps.concat([icons, packed["tar"]])) == 1000
    with pytest.raises(TypeError):
        parts[0] + [1]
    with pytest.raises(TypeError, match="a list of datasets"):
        ps.concat(parts[0])
    with pytest.raises(ps.Error, match="no dataset"):
        ps.concat([])


def test_a_view_is_loaded_packed_and_its_state_goes_on_with_the_packing(packed, tmp_path):
    view = ps.concat([ps.open(packed["lmdb"]).take(70), ps.open(packed["hdf5"]).skip(70).take(57)])
    ps.pack(view, tmp_path / "view.tar.d", progress=False)
    options = {"batch_size": 10, "shuffle": True, "seed": 3, "workers": 2}
    ours, theirs = ps.Loader(view, **options), ps.Loader(tmp_path / "view.tar.d", **options)
    first = iter(ours)
    for _ in range(4):
        batch = next(first)
    theirs.load_state_dict(ours.state_dict())
    for mine, other in zip(first, theirs, strict=True):
        assert mine["__key__"] == other["__key__"]
        np.testing.assert_array_equal(mine["png"], other["png"])
    assert len(batch["__key__"]) == 10


def test_a_sample_that_stands_twice_is_not_cropped_alike(images):
    view = ps.open(images).take(2)
    chain = {"jpg": ps.image.random_resized_crop(64) | ps.image.normalize((0, 0, 0), (1, 1, 1))}
    batch = next(iter(ps.Loader(view + view, batch_size=4, transforms=chain)))
    assert batch["__key__"][:2] == batch["__key__"][2:]
    assert not np.array_equal(np.asarray(batch["jpg"])[0], np.asarray(batch["jpg"])[2])
    once = next(iter(ps.Loader(view, batch_size=2, transforms=chain)))
    np.testing.assert_array_equal(np.asarray(batch["jpg"])[:2], np.asarray(once["jpg"]))


def test_a_loader_says_what_it_loads(packed):
    view = ps.open(packed["tar"]).take(10)
    assert f"penstock.Loader(view of {packed['tar']}: take 10; 10 of 500 samples, 5 batches" in repr(
        ps.Loader(view, batch_size=2)
    )


def test_a_packing_has_each_key_once(packed, tmp_path):
    view = ps.open(packed["tar"]).take(3)
    with pytest.raises(ps.Error, match=view[0].key):
        ps.pack(view + view, tmp_path / "twice", progress=False)
    assert not (tmp_path / "twice").exists()


def test_subset_takes_numbers_of_the_view(packed):
    view = ps.open(packed["zip"]).skip(100).take(100)
    assert keys_of(ps.Loader(view, batch_size=8, sampler=ps.sampler.subset([3, 99, 3]))) == [
        view[3].key,
        view[99].key,
        view[3].key,
    ]
    with pytest.raises(ps.Error, match="subset contains sample 100, but the dataset has 100 samples"):
        ps.Loader(view, sampler=ps.sampler.subset([100]))


def test_select_is_a_view_of_numbered_samples(packed):
    dataset = ps.open(packed["zip"])
    numpy = pytest.importorskip("numpy")
    for indices in ([3, 99, 3], (3, 99, 3), numpy.array([3, 99, 3], "u1")):
        chosen = dataset.select(indices)
        assert chosen.keys == [dataset[3].key, dataset[99].key, dataset[3].key] == keys_of(ps.Loader(chosen))
    assert dataset.select(range(2)).keys == dataset.take(2).keys
    with pytest.raises(ps.Error, match=f"select..: sample {len(dataset)} is out of range"):
        dataset.select([len(dataset)])
    with pytest.raises(ps.Error, match="got no numbers"):
        dataset.select([])
    for wrong, told in (
        ([True, False], "not a mask"),
        ({1, 2}, "sample numbers"),
        ([0.5], r"0 or more\), not 0.5"),
        ([-1], "not -1"),
    ):
        with pytest.raises(TypeError, match=told):
            dataset.select(wrong)


def test_staging_refuses_a_view_and_says_what_to_do(packed, tmp_path):
    view = ps.open(packed["tar"]).take(10)
    advice = "stage the dataset of the view and select from the copy, or pack the view"
    with pytest.raises(ps.Error, match=rf"is a view \(take 10; 10 of 500 samples\).*{advice}"):
        ps.stage(view, tmp_path / "staged", progress=False)


def test_a_view_is_tuned(packed):
    view = ps.open(packed["tar"]).take(100) + ps.open(packed["zip"]).skip(450)
    told = ps.tune(view, task="raw", seconds=0.05, workers=[1], prefetch=[2], batch_size=10, progress=False)
    assert told["dataset"]["samples"] == 150
    assert told["python_line"].startswith("loader = ps.Loader(view, ")
    assert told["cpp_line"].startswith("penstock::Loader loader(view, ")
    with pytest.raises(ps.Error, match="requires the path of a mixture file"):
        ps.tune(ps.mixture({"tar": packed["tar"]}))


# ---- Other processes ----


@pytest.fixture(name="documents", scope="module")
def documents_fixture(tmp_path_factory):
    """Two folders of 20 samples each: a number, and a document of tokens."""
    folder = tmp_path_factory.mktemp("documents")
    for name in "ab":
        (folder / name).mkdir()
        for i in range(20):
            (folder / name / f"{name}{i:02}.cls").write_text(str(i % 3))
            np.save(folder / name / f"{name}{i:02}.npy", np.arange(i + 1, dtype=np.uint16))
    return folder


def view_of_each_kind(a, b):
    tokens = ps.token_blocks(a.take(15), 7, field="npy")
    yield a
    yield a.take(3)
    yield a.filter(labels=[1], has="npy")
    yield a.sort(lambda sample: sample.key[::-1])
    yield a.split({"x": 0.5, "y": 0.5})["x"]
    yield ps.concat([a, b, a])
    yield ps.open(a.path) + ps.open(a.path)
    yield ps.concat([a.skip(2), (a + b).take(30).sort("key", reverse=True)])
    yield a.join(a.sort("cls"), fields={"cls": "other.cls"})
    yield a.filter(has="cls").join(ps.open(a.path).take(10), fields={"npy": "n2"}, missing="exclude").skip(1)
    yield tokens
    yield ps.token_blocks(
        a + b, 16, field="npy", packing="best_fit", end=5, add=["positions"], shuffle_documents=3, window=9
    ).skip(2)
    yield ps.token_blocks(tokens.skip(1), 5, field="npy", last="pad", pad=3)
    yield ps.concat([a, tokens, b.take(2), ps.token_blocks(b, 7, field="npy").take(5)])


def same_dataset(ours, theirs):
    assert theirs.keys == ours.keys and theirs.classes == ours.classes and theirs.is_view == ours.is_view
    assert [(field.name, field.codec, field.shape) for field in theirs.fields] == [
        (field.name, field.codec, field.shape) for field in ours.fields
    ]
    assert [dict(sample) for sample in theirs] == [dict(sample) for sample in ours]


def test_datasets_and_views_of_each_kind_are_pickled(documents):
    views = list(view_of_each_kind(ps.open(documents / "a"), ps.open(documents / "b")))
    for view in views:
        copy = pickle.loads(pickle.dumps(view))
        same_dataset(view, copy)
        if view.is_view:
            assert repr(copy) == repr(view)
        options = {"batch_size": 3, "shuffle": True, "transforms": {"npy": ps.raw()}, "missing": "empty", "workers": 1}
        loader, other = ps.Loader(view, **options), ps.Loader(copy, **options)
        assert keys_of(other) == keys_of(loader)
        other.load_state_dict(loader.state_dict())


def test_a_pickle_holds_runs_not_samples(packed, tmp_path):
    whole = ps.open(packed["tar"])
    size = len(pickle.dumps(whole))
    assert len(pickle.dumps(ps.concat([whole] * 1000).take(490_000))) < size + 10_000
    many = ps.concat([whole] * 100).sort("key")  # no two neighbours: more runs than are kept as such
    assert pickle.loads(pickle.dumps(many)).keys == many.keys
    assert len(pickle.dumps(many)) < 5 * len(many)


def test_a_pickle_finds_its_datasets_from_another_folder(documents, tmp_path, monkeypatch):
    monkeypatch.chdir(documents)
    view = ps.open("a").take(3)
    kept = pickle.dumps(view)
    monkeypatch.chdir(tmp_path)
    assert pickle.loads(kept).keys == view.keys


@pytest.mark.parametrize("view", [False, True])
def test_a_pickle_of_a_dataset_that_changed_is_refused(tmp_path, view):
    for i in range(4):
        (tmp_path / "d").mkdir(exist_ok=True)
        (tmp_path / "d" / f"{i}.cls").write_text(str(i))
    dataset = ps.open(tmp_path / "d")
    kept = pickle.dumps(dataset.take(2) if view else dataset)
    (tmp_path / "d" / "2.cls").unlink()
    with pytest.raises(
        ps.Error, match=f"{tmp_path / 'd'}: invalid argument: the dataset has changed since it was pickled"
    ):
        pickle.loads(kept)
    (tmp_path / "d" / "2.cls").write_text("2")
    assert len(pickle.loads(kept)) == (2 if view else 4)


def test_a_damaged_pickle_is_told_or_gives_a_dataset(documents):
    views = list(view_of_each_kind(ps.open(documents / "a"), ps.open(documents / "b")))
    random = np.random.default_rng(7)
    for view in views:
        record = view.__getstate__()
        damaged = [record[:length] for length in range(len(record))] + [record + b"\0"]
        for _ in range(300):
            changed = bytearray(record)
            changed[random.integers(len(changed))] = random.integers(256)
            damaged.append(bytes(changed))
        for each in damaged:
            try:
                made = ps.Dataset.__new__(ps.Dataset)
                made.__setstate__(each)
            except ps.Error:
                continue
            assert each[:17] == record[:17] and len(made.keys) > 0


def test_a_mixture_is_pickled(documents):
    a, b = ps.open(documents / "a"), ps.open(documents / "b").take(7)
    changes = [(20, {"a": 0.5, "b": 0.5}), (30, {"a": 1, "b": 0})]
    for options in ({}, {"stop": 50, "schedule": changes}, {"stop": "all_exhausted", "sampling": "random"}):
        mixture = ps.mixture({"a": a, "b": b}, {"a": 0.3, "b": 0.7}, on_change="carry", **options)
        copy = pickle.loads(pickle.dumps(mixture))
        assert repr(copy) == repr(mixture)
        ours, theirs = (
            ps.Loader(each, batch_size=4, shuffle=True, workers=1, transforms={"cls": ps.label()})
            for each in (mixture, copy)
        )
        assert keys_of(theirs) == keys_of(ours)
        theirs.load_state_dict(ours.state_dict())


@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_worker_processes_load_views_and_mixtures(packed, start):
    torch = pytest.importorskip("torch")
    pytest.importorskip("penstock.torch")
    view = (ps.open(packed["tar"]).take(30) + ps.open(packed["zip"]).skip(480)).sort("key")
    for source in (view, ps.mixture({"one": view, "other": packed["lmdb"]}, stop=40)):
        dataset = ps.torch.Loader(source, batch_size=5, transforms={"cls": ps.label()})
        alone = keys_of(dataset)
        loader = torch.utils.data.DataLoader(dataset, batch_size=None, num_workers=2, multiprocessing_context=start)
        assert sorted(keys_of(loader)) == sorted(alone)


def test_bad_values_are_told_with_the_dataset_they_are_of(packed, arrays, tmp_path):
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "one.npy").write_bytes(b"no array")
    whole = ps.open(arrays) + ps.open(tmp_path / "broken")
    loader = ps.Loader(whole, batch_size=41, transforms={"npy": ps.array.decode()})
    with pytest.raises(ps.Error) as raised:
        next(iter(loader))
    assert raised.value.dataset == str(tmp_path / "broken") and raised.value.key == "one"
    assert raised.value.shard == "one.npy"


def test_classes_must_agree(packed, tmp_path):
    for name in ("cat", "dog"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.png").write_bytes(b"")
    with pytest.raises(ps.Error, match='for class 0 .* has "cat"'):
        ps.concat([packed["tar"], tmp_path])


# ---- Choosing ---------------------------------------------------------------------------------------------------------


@pytest.fixture(name="records", scope="module")
def records_fixture(tmp_path_factory):
    """{format: 3,000 samples with JSON, a class, a score and, every fourth, a text}, in several shards each."""
    folder = tmp_path_factory.mktemp("records")

    def samples():
        for i in range(3000):
            patient = f"p{i * i % 211:03}"
            sample = {
                "__key__": f"{patient}/{i:05}",
                "json": json.dumps({"patient": patient, "score": i * 7919 % 1000 / 8, "n": i}).encode(),
                "cls": str(i * i % 5).encode(),
            }
            yield sample | ({"txt": b"x" * (i % 50)} if i % 4 == 0 else {})

    ps.pack(samples(), folder / "tar", format="tar", shard_size=300_000, progress=False)
    for format in ("lmdb", "hdf5"):
        ps.pack(folder / "tar", folder / format, format=format, progress=False)
    return {format: folder / format for format in ("tar", "lmdb", "hdf5")}


def chosen(dataset, condition):
    return [sample.key for sample in dataset if condition(sample)]


@pytest.mark.parametrize("format", ["tar", "lmdb", "hdf5"])
def test_filter_keeps_what_all_conditions_hold_for(records, format):
    dataset = ps.open(records[format])
    assert dataset.filter(keys="p00*").keys == [key for key in dataset.keys if key.startswith("p00")]
    assert dataset.filter(keys="{p001,p004}/*").keys == [key for key in dataset.keys if key[:4] in ("p001", "p004")]
    some = dataset.keys[::37]
    assert dataset.filter(keys=some[::-1]).keys == some
    assert dataset.filter(has="txt").keys == chosen(dataset, lambda sample: "txt" in sample)
    assert dataset.filter(lengths={"txt": (0, 10)}).keys == chosen(
        dataset, lambda sample: "txt" in sample and len(sample["txt"]) <= 10
    )
    assert dataset.filter(labels=[1, "4"]).keys == chosen(dataset, lambda sample: sample["cls"] in (b"1", b"4"))
    assert dataset.filter(labels="p001", label_field="json:patient").keys == dataset.filter(keys="p001/*").keys
    both = dataset.filter(keys="p0*", labels=4, lengths={"json": (45, None)})
    assert both.keys == chosen(dataset, lambda s: s.key.startswith("p0") and s["cls"] == b"4" and len(s["json"]) >= 45)
    assert "only keys p0*, only json of at least 45 bytes, only labels 4; " in repr(both)


def test_a_function_is_asked_once_about_each_sample_that_is_left(records):
    dataset = ps.open(records["tar"])
    seen = []

    def low(sample):
        seen.append(sample)
        record = json.loads(sample["json"])
        return record["score"] < 50 and ("txt" not in sample or len(sample["txt"]) > 20)

    view = dataset.filter(labels=1, predicate=low)
    ones = dataset.filter(labels=1)
    assert [sample.key for sample in seen] == ones.keys
    assert view.keys == chosen(ones, low) and "only where low()" in repr(view)
    assert seen[1000]["json"] == dict(seen[1000])["json"]  # kept samples read for themselves
    with pytest.raises(ZeroDivisionError):
        dataset.filter(lambda sample: 1 / (int(sample.key[-5:]) - 2000))
    with pytest.raises(ps.Error, match="only where a function: chooses none of 3,000 samples"):
        dataset.filter(lambda sample: sample["cls"] == b"9")


def test_images_are_chosen_by_their_sides(images, tmp_path):
    dataset = ps.open(images)
    sizes = {sample.key: Image.open(io.BytesIO(sample["jpg"])).size for sample in dataset}
    for least, most in ((400, None), (None, 480), (350, 500)):
        wanted = [key for key in dataset.keys if min(sizes[key]) >= (least or 0) and max(sizes[key]) <= (most or 1e9)]
        assert dataset.filter(sizes=(least, most)).keys == wanted
        assert dataset.filter(sizes={"jpg": (least, most)}).keys == wanted
    # a header beyond the first 64 KiB, and a broken image
    with_icc = tmp_path / "a" / "long.jpg"
    with_icc.parent.mkdir()
    Image.new("RGB", (300, 200)).save(with_icc, icc_profile=bytes(200_000))
    assert ps.open(tmp_path / "a").filter(sizes=(200, 300)).keys == ["long"]
    (tmp_path / "a" / "bad.jpg").write_bytes(b"\xff\xd8\xff\xe0nothing")
    with pytest.raises(ps.Error, match="sample bad"):
        ps.open(tmp_path / "a").filter(sizes=(200, 300))


def test_a_file_that_went_is_named_with_its_sample(tmp_path):
    for name in ("one", "two"):
        Image.new("RGB", (9, 9)).save(tmp_path / f"{name}.png")
    dataset = ps.open(tmp_path)
    (tmp_path / "two.png").unlink()
    with pytest.raises(ps.Error, match="cannot open") as error:
        dataset.filter(sizes=(1, 100))
    assert (error.value.kind, error.value.key, error.value.field) == ("io", "two", "png")


def test_keys_come_from_a_file(records, tmp_path):
    dataset = ps.open(records["tar"])
    listed = tmp_path / "keys.txt"
    listed.write_text("\n".join(dataset.keys[7:90:3]) + "\n")
    assert dataset.filter(keys=listed).keys == dataset.keys[7:90:3]
    listed.write_text("nobody\n" + dataset.keys[3])
    with pytest.raises(ps.Error, match='no sample has the key "nobody"'):
        dataset.filter(keys=listed)


@pytest.mark.parametrize(
    ("arguments", "kind", "text"),
    [
        ({}, TypeError, "requires a condition"),
        ({"keys": "zebra*"}, ps.Error, r"only keys zebra\*: chooses none of 3,000 samples"),
        ({"keys": []}, ps.Error, "keys is empty"),
        ({"keys": ["a", 3]}, TypeError, "keys requires strings"),
        ({"has": "mask"}, ps.Error, 'no field "mask"; its fields are cls, json, txt'),
        ({"labels": "7"}, ps.Error, "only labels 7: chooses none"),
        ({"labels": 1.5}, TypeError, "."),
        ({"labels": "x", "label_field": "json:color"}, ps.Error, 'no member "color"'),
        ({"lengths": {"txt": (9, 3)}}, ps.Error, "lengths of txt: the minimum 9 exceeds the maximum 3"),
        ({"lengths": {"txt": 9}}, TypeError, r"requires \(least, most\)"),
        ({"lengths": 9}, TypeError, "lengths must be a dict, such as"),
        ({"sizes": (9, 10)}, ps.Error, "no field holds images"),
        ({"sizes": {"json": (9, 10)}}, ps.Error, "json"),
        ({"predicate": "cat/*"}, TypeError, r"predicate must be a function of a Sample; to select by key"),
        ({"predicate": 3}, TypeError, "predicate requires a function"),
    ],
)
def test_a_choice_that_cannot_be_made_is_told(records, arguments, kind, text):
    with pytest.raises(kind, match=text):
        ps.open(records["tar"]).filter(**arguments)


# ---- Order and joins --------------------------------------------------------------------------------------------------


def test_sorting_is_stable_in_both_directions(records):
    dataset = ps.open(records["tar"])
    score = {sample.key: json.loads(sample["json"])["score"] for sample in dataset}
    for reverse in (False, True):
        wanted = sorted(dataset.keys, key=score.__getitem__, reverse=reverse)
        assert dataset.sort("json:score", reverse=reverse).keys == wanted
        assert dataset.sort(lambda sample: json.loads(sample["json"])["score"], reverse=reverse).keys == wanted
        wanted = sorted(dataset.keys, key=lambda key: len(dataset[dataset.find(key)]["json"]), reverse=reverse)
        assert dataset.sort(length="json", reverse=reverse).keys == wanted
    view = dataset.sort("json:n")
    assert view.keys == sorted(dataset.keys, key=lambda key: key[-5:]) and view.sort().keys == dataset.keys
    assert [view.find(view[i].key) for i in (0, 1500, 2999)] == [0, 1500, 2999]
    with pytest.raises(ps.Error, match="not a finite number"):
        dataset.sort("json:patient")


def test_a_join_is_loaded_packed_and_read_like_one_dataset(records, tmp_path):
    dataset = ps.open(records["tar"])
    other = ps.open(records["hdf5"]).sort("json:n", reverse=True)
    both = dataset.join(other, fields={"json": "other.json", "txt": "note"})
    assert both.keys == dataset.keys and [field.name for field in both.fields] == [
        "cls",
        "json",
        "txt",
        "other.json",
        "note",
    ]
    for sample in (both[i] for i in range(0, 3000, 111)):
        assert sample["json"] == sample["other.json"] and ("txt" in sample) == ("note" in sample)
    loader = ps.Loader(both, batch_size=100, shuffle=True, transforms={"json": ps.raw(), "other.json": ps.raw()})
    for batch in loader:
        assert np.asarray(batch["json"].values).tobytes() == np.asarray(batch["other.json"].values).tobytes()
    ps.pack(both.take(100), tmp_path / "both", progress=False)
    packed = ps.open(tmp_path / "both")
    assert dict(packed[packed.find(both[17].key)]) == dict(both[17])
    few = other.filter(keys="p00*")
    with pytest.raises(ps.Error, match="has no sample with this key to join"):
        dataset.join(few, fields={"json": "x"})
    left = dataset.join(few, fields={"json": "x"}, missing="exclude")
    assert left.keys == dataset.filter(keys="p00*").keys
    assert f"{3000 - len(few):,} without a partner left out" in repr(left)
    with pytest.raises(ps.Error, match="has no field that"):
        dataset.join(other)


# ---- Splits: docs/spec/views.md, computed anew ---------------------------------------------------------------------------


def split_by_model(groups, parts, seed=0, values=None):
    """{part: numbers of samples}. `groups`: of each sample; `values`: that they are stratified by."""
    part_of = {}
    if values is None:
        part_of = {group: part_below((hash_of(group, seed) >> 11) / 2**53, parts) for group in set(groups)}
    else:
        members = collections.defaultdict(list)
        for group, value in zip(groups, values, strict=True):
            members[group].append(value)
        strata = collections.defaultdict(list)
        for group, own in members.items():
            strata[min(set(own), key=lambda value: (-own.count(value), value.encode()))].append(group)
        for own in strata.values():
            own.sort(key=lambda group: hash_of(group, seed))
            t, s = sum(len(members[group]) for group in own), 0
            for group in own:
                n = len(members[group])
                part_of[group] = part_below((2 * s + n) / (2 * t), parts)
                s += n
    numbers = {name: [] for name in parts}
    for sample, group in enumerate(groups):
        numbers[part_of[group]].append(sample)
    return numbers


@pytest.mark.parametrize("seed", [0, 1, 12345678901234567890])
@pytest.mark.parametrize(
    "parts", [{"train": 0.9, "val": 0.1}, {"a": 3, "b": 1, "c": 2}, {"x": 1 / 3, "y": 1 / 3, "z": 1 / 3}]
)
def test_splits_are_those_that_the_page_defines(records, seed, parts):
    dataset = ps.open(records["lmdb"])
    keys = dataset.keys
    patients = [key[:4] for key in keys]
    classes = [sample["cls"].decode() for sample in dataset]

    def check(views, numbers):
        assert {name: view.keys for name, view in views.items()} == {
            name: [keys[i] for i in own] for name, own in numbers.items()
        }

    check(dataset.split(parts, seed=seed), split_by_model(keys, parts, seed))
    by_patient = split_by_model(patients, parts, seed)
    check(dataset.split(parts, by="json:patient", seed=seed), by_patient)
    check(dataset.split(parts, by="^[^/]+", seed=seed), by_patient)
    check(dataset.split(parts, by=re.compile(r"^(p\d+)/(\d+)"), seed=seed), by_patient)
    check(dataset.split(parts, stratify="cls", seed=seed), split_by_model(keys, parts, seed, classes))
    check(
        dataset.split(parts, by="json:patient", stratify="cls", seed=seed),
        split_by_model(patients, parts, seed, classes),
    )


def test_samples_that_are_added_move_no_others(records):
    dataset = ps.open(records["tar"])
    parts = {"train": 0.7, "val": 0.3}
    for by in ("key", "json:patient"):
        all, some = dataset.split(parts, by=by), dataset.sort("json:n").skip(1000).split(parts, by=by)
        for name in parts:
            assert set(some[name].keys) == set(all[name].keys) & set(dataset.sort("json:n").skip(1000).keys)
    shares = {name: len(view) / 3000 for name, view in dataset.split(parts).items()}
    assert shares["val"] == pytest.approx(0.3, abs=0.04)


def test_each_value_gets_its_shares(records):
    dataset = ps.open(records["tar"])
    for seed in range(5):
        views = dataset.split({"train": 0.9, "val": 0.1}, stratify="cls", seed=seed)
        whole = collections.Counter(sample["cls"] for sample in dataset)
        for name, share in (("train", 0.9), ("val", 0.1)):
            own = collections.Counter(sample["cls"] for sample in views[name])
            assert all(abs(own[value] - share * count) <= 1 for value, count in whole.items())


@pytest.mark.parametrize(
    ("parts", "options", "text"),
    [
        ({}, {}, "a split requires parts"),
        ([0.8, 0.2], {}, r'the parts of split\(\) must be a dict, such as {"train": 0.8, "val": 0.2}'),
        ({"a": 0.5, "b": 0.4}, {}, "the shares add up to 0.9, not to 1"),
        ({"a": 1, "b": 0}, {}, 'share of "b" is 0'),
        ({"a": 1, "b": -1}, {}, 'share of "b" is -1'),
        ({"a": float("nan"), "b": 1}, {}, 'share of "a" is nan'),
        ({"a": 1, "b": 1}, {"by": "patient"}, 'no field "patient"'),
        ({"a": 1, "b": 1}, {"by": "json:color"}, 'no member "color"'),
        ({"a": 1, "b": 1}, {"by": "txt"}, "field txt: invalid argument: the sample has no such field"),
        ({"a": 1, "b": 1}, {"by": "(x)"}, "the key does not match '\\(x\\)'"),
        ({"a": 1, "b": 1}, {"stratify": "color"}, 'no field "color"'),
        ({"a": 1_000_000_000, "b": 1}, {}, r"part b \(1 by key\): chooses none of 3,000 samples"),
    ],
)
def test_a_split_that_cannot_be_made_is_told(records, parts, options, text):
    with pytest.raises(ps.Error if isinstance(parts, dict) else TypeError, match=text):
        ps.open(records["tar"]).split(parts, **options)


def test_parts_put_together_are_the_dataset_again_in_memory_too(records):
    dataset = ps.open(records["tar"])
    parts = dataset.split({"train": 0.9, "val": 0.1})
    whole = ps.concat(parts.values()).sort()
    loader, own = (
        ps.Loader(whole, batch_size=7, transforms={"cls": ps.label()}),
        ps.Loader(dataset, batch_size=7, transforms={"cls": ps.label()}),
    )
    own.load_state_dict(loader.state_dict())
    assert keys_of(own) == keys_of(loader) == dataset.keys
