"""Which arrays of an HDF5 or NPZ file are columns, and how many rows they have."""

import json
import os
import pickle
import subprocess
import warnings

import h5py
import numpy as np
import penstock as ps
import pytest

IMAGES = np.arange(20 * 8 * 6 * 3, dtype=np.uint8).reshape(20, 8, 6, 3)
LABELS = np.arange(20)


def h5(path, **arrays):
    with h5py.File(path, "w") as file:
        for name, array in arrays.items():
            file[name] = array
    return path


def npz(path, **arrays):
    np.savez(path, **arrays)
    return path


def rows(path, name):
    taken = []
    with ps.Loader(path, batch_size=4, workers=1, transforms={"x": ps.field(name) | ps.array.decode()}) as loader:
        for batch in loader:
            taken += [np.array(batch["x"][i]) for i in range(len(batch["__key__"]))]
    return np.stack(taken)


def left_out(path):
    done = subprocess.run([os.environ["PENSTOCK_COMMAND"], "info", "--json", path], capture_output=True, check=True)
    return json.loads(done.stdout).get("left_out", {})


def names(dataset):
    return [field.name for field in dataset.fields]


STATISTICS = {
    "channels": {"mean": np.zeros(3), "std": np.ones(3), "size": np.array([8, 6, 3])},
    "broadcast": {
        "mean": np.zeros((1, 1, 3)),
        "std": np.ones((3, 1, 1)),
        "min": np.zeros((1, 3)),
        "max": np.zeros((1, 3)),
    },
    "mean image": {"mean": np.zeros((8, 6, 3), np.uint8), "std": np.zeros((8, 6, 3), np.uint8), "rows": np.arange(8)},
    "axes": {"y": np.arange(8), "x": np.arange(6), "mask": np.zeros((8, 6), bool), "channel": np.arange(3)},
    "shape": {"shape": np.array([20, 8, 6, 3]), "dims": np.array([8, 6, 3]), "seed": np.array([7])},
    "covariance": {"cov": np.eye(3), "eigenvalues": np.zeros(3), "mean": np.zeros(3), "std": np.zeros(3)},
    "tables": {"palette": np.zeros((256, 3), np.uint8), "nothing": np.zeros((0, 4))},
}


@pytest.mark.parametrize("save", [h5, npz])
@pytest.mark.parametrize("statistics", STATISTICS)
def test_statistics_do_not_outvote_images_and_labels(tmp_path, save, statistics):
    path = save(tmp_path / f"a.{'h5' if save is h5 else 'npz'}", images=IMAGES, labels=LABELS, **STATISTICS[statistics])
    assert names(ps.open(path)) == ["images", "labels"]
    np.testing.assert_array_equal(rows(path, "images"), IMAGES)
    np.testing.assert_array_equal(rows(path, "labels"), LABELS)
    for name, array in STATISTICS[statistics].items():
        assert left_out(path)[name] == f"{len(array)} rows, but the number of samples is 20"


@pytest.mark.parametrize("save", [h5, npz])
def test_numbers_of_rows_without_evidence_are_an_error_that_lists_them(tmp_path, save):
    path = save(tmp_path / f"a.{'h5' if save is h5 else 'npz'}", a=np.zeros((10, 4)), b=np.zeros((12, 4)))
    with pytest.raises(ps.Error, match="different numbers of rows.*12 rows: b; 10 rows: a.*separate file"):
        ps.open(path)


def test_a_training_split_is_read_and_the_others_are_left_out(tmp_path):
    path = npz(
        tmp_path / "a.npz",
        x_train=np.zeros((6, 4, 4)),
        y_train=np.arange(6),
        x_test=np.zeros((5, 4, 4)),
        y_test=np.arange(5),
    )
    assert names(ps.open(path)) == ["x_train", "y_train"]
    assert set(left_out(path)) == {"x_test", "y_test"}


def test_the_keys_decide_but_texts_that_are_only_called_like_keys_need_a_column_beside_them(tmp_path):
    few = np.array([f"k{i}".encode() for i in range(3)])
    path = h5(tmp_path / "a.h5", __key__=few, images=IMAGES[:3], labels=LABELS, more=LABELS)
    assert ps.open(path).keys == ["k0", "k1", "k2"] and names(ps.open(path)) == ["images"]
    path = h5(tmp_path / "b.h5", ids=few, images=IMAGES, labels=LABELS)
    assert len(ps.open(path)) == 20 and left_out(path) == {"ids": "3 rows, but the number of samples is 20"}


def test_columns_in_groups_are_fields_named_by_their_paths(tmp_path):
    path = h5(tmp_path / "a.h5", **{"data/images": IMAGES, "data/labels": LABELS, "data/mean": np.zeros(3)})
    assert names(ps.open(path)) == ["data/images", "data/labels"]
    np.testing.assert_array_equal(rows(path, "data/images"), IMAGES)
    np.testing.assert_array_equal(rows(path, "data/labels"), LABELS)
    assert left_out(path) == {"data/mean": "3 rows, but the number of samples is 20"}

    path = h5(tmp_path / "b.h5", **{"action": np.ones((20, 2)), "observations/qpos": np.ones((20, 2)),
                                    "observations/images/top": IMAGES, "metadata/fps": np.float64(30), "odd/few": np.arange(4),
                                    "compress_len": np.ones((2, 20))})  # fmt: skip
    assert names(ps.open(path)) == ["action", "observations/images/top", "observations/qpos"]
    np.testing.assert_array_equal(rows(path, "observations/images/top"), IMAGES)
    assert left_out(path) == {"metadata/fps": "a scalar, without rows",
                              "odd/few": "4 rows, but the number of samples is 20",
                              "compress_len": "2 rows, but the number of samples is 20"}  # fmt: skip


LAYOUTS = {
    "one group": {"set/features": np.ones((20, 5), np.float32), "set/target": np.ones(20, np.float32)},
    "deep": {
        "a/b/c/images": IMAGES,
        "a/b/d/labels": LABELS,
        "e/names": np.array([f"n{i}".encode() for i in range(20)]),
    },
    "masks": {"data/images": IMAGES, "data/masks": np.zeros((20, 8, 6), np.uint8)},
    "masks of bool": {"data/images": IMAGES, "data/masks": np.zeros((20, 8, 6), bool)},
    "splits": {"train/x": IMAGES, "train/y": LABELS, "test/x": IMAGES[:9], "test/y": LABELS[:9]},
    "statistics above": {"mean": np.zeros(3), "std": np.zeros(3), "data/images": IMAGES, "data/labels": LABELS},
    "bytes": {"data/jpg/bytes": np.zeros(40, np.uint8), "data/jpg/offsets": np.arange(21) * 2, "data/cls": LABELS},
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_groups_of_columns_are_told_by_the_rows_they_share(tmp_path, layout):
    dataset = ps.open(h5(tmp_path / "a.h5", **LAYOUTS[layout]))
    assert len(dataset) == 20 and dataset.keys[3] == "03"
    assert all("/" in name for name in names(dataset)) and len(names(dataset)) >= 2


SAMPLES = {
    "groups": {f"{i:04}/{name}": value for i in range(3) for name, value in
               {"rgb": np.zeros((8, 6, 3), np.uint8), "depth": np.zeros((8, 6), np.float32)}.items()},
    "numbers": {f"images/{i:04}": np.zeros((8, 6 + i, 3), np.uint8) for i in range(3)},
    "classes": {f"{name}/{name}{i}": np.zeros((8, 6, 3), np.uint8) for i in range(3) for name in ("cat", "dog")},
    "lines": {f"lines/{name}": np.zeros((32, 50 + len(name)), np.uint8) for name in ("one", "three", "seventeen")},
    "videos": {f"videos/{name}": np.zeros((5, 8, 6, 3), np.uint8) for name in ("run", "walk")},
    "sounds": {"sounds/a1": np.zeros(800, np.float32), "sounds/a2": np.zeros((800, 2), np.float32)},
}  # fmt: skip


@pytest.mark.parametrize("layout", SAMPLES)
def test_a_dataset_for_each_sample_stays_one(tmp_path, layout):
    path = h5(tmp_path / "a.h5", **SAMPLES[layout])
    dataset = ps.open(path)
    assert len(dataset) == (6 if layout == "classes" else len(SAMPLES[layout]) // (2 if layout == "groups" else 1))
    assert not any("/" in name for name in names(dataset))
    name = next(iter(SAMPLES[layout]))
    with pytest.raises(ps.Error, match="groups of the file are read as a dataset for each sample, not as columns"):
        rows(path, name)


def test_maps_of_one_image_are_no_columns(tmp_path):
    path = h5(
        tmp_path / "a.h5", **{"scan/rgb": np.zeros((8, 6, 3), np.uint8), "scan/depth": np.zeros((8, 6), np.float32)}
    )
    with pytest.raises(
        ps.Error,
        match=r"values of different types: float32 \(.*; groups are read as a dataset for each sample, not as columns",
    ):
        ps.open(path)


def test_many_datasets_in_groups_beside_columns_are_left_out_as_a_group(tmp_path):
    path = h5(tmp_path / "a.h5", labels=LABELS, **{f"raw/{i}": np.zeros(20) for i in range(300)})
    assert names(ps.open(path)) == ["labels"]
    assert list(left_out(path)) == ["raw"] and "too many datasets to be columns" in left_out(path)["raw"]
    with pytest.raises(ps.Error, match='"raw" was left out: a group'):
        rows(path, "raw/17")


@pytest.mark.parametrize("form", ["tar", "lmdb", "zip", "tfrecord", "hdf5", "mds"])
def test_fields_named_by_paths_are_packed(tmp_path, form):
    path = h5(tmp_path / "a.h5", **{"data/images": IMAGES, "data/labels": LABELS})
    ps.pack(path, tmp_path / "packed", format=form)
    np.testing.assert_array_equal(rows(tmp_path / "packed", "data/images"), IMAGES)
    np.testing.assert_array_equal(rows(tmp_path / "packed", "data/labels"), LABELS)


def test_texts_called_like_class_names_are_a_column_where_each_sample_has_one(tmp_path):
    def seen(**arrays):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            dataset = ps.open(h5(tmp_path / f"{len(list(tmp_path.iterdir()))}.h5", **arrays))
        return names(dataset), dataset.classes, [str(one.message).split(": ", 1)[1] for one in told]

    texts = np.array([b"cat", b"dog", b"cat"])
    for name in ("categories", "label_names", "classes", "class_names"):
        assert seen(images=IMAGES[:3], **{name: texts}) == (sorted([name, "images"]), [], [])
    assert seen(images=IMAGES[:3], categories=texts, classes=np.array([b"cat", b"dog"])) == (
        ["categories", "images"],
        ["cat", "dog"],
        [],
    )
    assert seen(images=IMAGES, labels=LABELS, list_classes=np.array([b"cat", b"dog"])) == (
        ["images", "labels"],
        ["cat", "dog"],
        [],
    )
    assert seen(images=IMAGES, classes=np.array([b"crane", b"cat", b"crane"]))[1] == ["crane", "cat", "crane"]
    # As many different texts as samples: names of classes if there are labels. Either is told.
    texts = np.array([b"cat", b"dog", b"owl"])
    fields, classes, told = seen(images=IMAGES[:3], labels=LABELS[:3], categories=texts)
    assert (fields, classes, len(told)) == (["images", "labels"], ["cat", "dog", "owl"], 1) and "class names" in told[0]
    fields, classes, told = seen(images=IMAGES[:3], categories=texts)
    assert (fields, classes, len(told)) == (["categories", "images"], [], 1) and "a field" in told[0]


def test_an_error_for_a_field_that_is_not_there_says_why_it_was_left_out(tmp_path):
    h5(tmp_path / "source.h5", x=np.zeros((4, 2)))
    layout = h5py.VirtualLayout(shape=(4, 2), dtype="f8")
    layout[:] = h5py.VirtualSource(str(tmp_path / "source.h5"), "x", shape=(4, 2))
    (tmp_path / "shards").mkdir()
    path = tmp_path / "shards" / "b.h5"
    with h5py.File(path, "w") as file:
        file.create_virtual_dataset("x", layout)
        file["y"] = np.zeros((4, 100))
        file["few"] = np.arange(2)
    dataset = ps.open(path)
    told = "left out: .*virtual"
    with pytest.raises(ps.Error, match=told):
        rows(path, "x")
    with pytest.raises(KeyError, match=told):
        dataset[0]["x"]  # pylint: disable=pointless-statement
    with pytest.raises(ps.Error, match=told):
        dataset.sort("x")
    with pytest.raises(ps.Error, match=told):
        dataset.filter(has=["x"])
    with pytest.raises(ps.Error, match=told):
        ps.pack(path, tmp_path / "packed", format="tar", decode="x=8")
    with pytest.raises(ps.Error, match="2 rows, but the number of samples is 4"):
        rows(path, "few")
    done = subprocess.run([os.environ["PENSTOCK_COMMAND"], "cat", path, "0.x"], capture_output=True, check=False)
    assert done.returncode != 0 and b"virtual" in done.stderr
    # Of several shards, the one without it.
    h5(tmp_path / "shards" / "a.h5", x=np.zeros((4, 2)), y=np.zeros((4, 100)))
    with pytest.raises(ps.Error, match=told):
        rows(tmp_path / "shards", "x")
    with pytest.raises(KeyError, match=r"virtual.*\(in b.h5\)"):
        ps.open(tmp_path / "shards")[4]["x"]  # pylint: disable=expression-not-assigned


@pytest.mark.parametrize("ending", ["h5", "npz"])
def test_a_named_column_decides_how_many_rows_the_samples_have(tmp_path, ending):
    path = tmp_path / f"a.{ending}"
    columns = {"one": np.arange(10), "two": np.arange(30.0), "also": np.arange(10) * 2}
    columns["pair"] = np.zeros((30, 2))
    if ending == "npz":
        np.savez(path, **columns)
    else:
        with h5py.File(path, "w") as file:
            for name, column in columns.items():
                file[name] = column
    with pytest.raises(ps.Error, match="rows="):
        ps.open(path)
    for name, count, fields in (("one", 10, ["also", "one"]), ("two", 30, ["pair", "two"])):
        dataset = ps.open(path, rows=name)
        assert len(dataset) == count and sorted(field.name for field in dataset.fields) == fields
        assert len(pickle.loads(pickle.dumps(dataset))) == count
        with ps.Loader(dataset, batch_size=count, transforms={name: ps.array.decode("float32")}) as loader:
            assert np.asarray(next(iter(loader))[name]).ravel().tolist() == columns[name].tolist()
    with pytest.raises(ps.Error, match='no column "three"'):
        ps.open(path, rows="three")


def test_rows_are_for_files_of_columns(tmp_path):
    (tmp_path / "a.txt").write_text("x")
    with pytest.raises(ps.Error, match="rows= requires HDF5"):
        ps.open(tmp_path, rows="txt")
