"""Views: datasets that are made of others."""

import pickle

import numpy as np
import penstock as ps
import pytest


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
    with pytest.raises(ps.Error, match="take takes a number of samples, not -1"):
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
    batch = next(iter(ps.Loader(view + view, batch_size=4, fields=chain)))
    assert batch["__key__"][:2] == batch["__key__"][2:]
    assert not np.array_equal(np.asarray(batch["jpg"])[0], np.asarray(batch["jpg"])[2])
    once = next(iter(ps.Loader(view, batch_size=2, fields=chain)))
    np.testing.assert_array_equal(np.asarray(batch["jpg"])[:2], np.asarray(once["jpg"]))


def test_subset_takes_numbers_of_the_view(packed):
    view = ps.open(packed["zip"]).skip(100).take(100)
    assert keys_of(ps.Loader(view, batch_size=8, subset=[3, 99, 3])) == [view[3].key, view[99].key, view[3].key]
    with pytest.raises(ps.Error, match="subset names sample 100 of a dataset of 100"):
        ps.Loader(view, subset=[100])


def test_what_takes_files_refuses_a_view(packed, tmp_path):
    view = ps.open(packed["tar"]).take(10)
    with pytest.raises(ps.Error, match=r"is a view \(take 10; 10 of 500 samples\)"):
        ps.stage(view, tmp_path / "staged", progress=False)
    with pytest.raises(ps.Error, match=r"ps.tune\(\) opens a dataset by its path, and a view has none"):
        ps.tune(view)
    torch = pytest.importorskip("penstock.torch")
    with pytest.raises(ps.Error, match="a view has none of its own"):
        pickle.dumps(torch.IterableDataset(view))
    assert keys_of(torch.IterableDataset(view, batch_size=5)) == view.keys


def test_bad_values_are_told_with_the_dataset_they_are_of(packed, arrays, tmp_path):
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "one.npy").write_bytes(b"no array")
    whole = ps.open(arrays) + ps.open(tmp_path / "broken")
    loader = ps.Loader(whole, batch_size=41, fields={"npy": ps.array.decode()})
    with pytest.raises(ps.Error) as raised:
        next(iter(loader))
    assert raised.value.dataset == str(tmp_path / "broken") and raised.value.key == "one"
    assert raised.value.shard == "one.npy"


def test_classes_must_agree(packed, tmp_path):
    for name in ("cat", "dog"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.png").write_bytes(b"")
    with pytest.raises(ps.Error, match='as class 0 .* has "cat"'):
        ps.concat([packed["tar"], tmp_path])
