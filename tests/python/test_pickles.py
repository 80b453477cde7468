"""Pickles of labels and of CIFAR, beside Python's own pickle as the reference."""

import collections
import io
import os
import pickle
import random
import re

import numpy as np
import penstock as ps
import pytest
from command import fails, run
from packing import encoded, pack

CLASSES = ["airplane", "automobile", "bird"]


def old_names(data):
    """The pickle as NumPy 1 writes it. Texts of protocol 4 and 5 have a length, and frames are optional."""
    data = data.replace(b"cnumpy._core.", b"cnumpy.core.")
    for name in (b"numpy._core.multiarray", b"numpy._core.numeric"):
        plain = name.replace(b"_core", b"core")
        data = data.replace(bytes([len(name)]) + name, bytes([len(plain)]) + plain)
    return data if data[2:3] != b"\x95" else data[:2] + data[11:]


def dumped(value, protocol, pickler):
    file = io.BytesIO()
    pickler(file, protocol).dump(value)
    return file.getvalue()


# Labels


@pytest.fixture(name="images")
def images_fixture(tmp_path):
    (tmp_path / "images").mkdir()
    for key in "abc":
        (tmp_path / "images" / f"{key}.png").write_bytes(encoded("PNG", ord(key)))
    return tmp_path / "images"


def counted(pairs):
    counter = collections.Counter()
    counter.update(dict(pairs))
    return counter


def grouped(pairs):
    groups = collections.defaultdict(list)
    for key, value in pairs:
        groups["path"].append(key)
        groups["label"].append(value)
    return groups


PAIRS = [("b.png", 7), ("a", 0), ("images/c.png", 300)]
SHAPES = {
    "dict": dict,
    "ordered": collections.OrderedDict,
    "counter": counted,
    "bytes": lambda pairs: {key.encode(): value for key, value in pairs},
    "numpy": lambda pairs: {key: np.int16(value) for key, value in pairs},
    "numpy keys": lambda pairs: {np.str_(key): np.float32(value) for key, value in pairs},
    "pairs": list,
    "lists": lambda pairs: [list(pair) for pair in pairs],
    "records": lambda pairs: [{"file": key, "label": value} for key, value in pairs],
    "columns": lambda pairs: {"filename": [key for key, _ in pairs], "y": np.array([value for _, value in pairs])},
    "grouped": grouped,
    "big-endian": lambda pairs: {
        "image": np.array([key for key, _ in pairs]),
        "y": np.array([y for _, y in pairs], ">i4"),
    },
    "objects": lambda pairs: (
        np.array([[key, value] for key, value in pairs], object)[:, 0].tolist()
        and [np.array(pair, object) for pair in pairs]
    ),
}


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize("shape", SHAPES)
def test_labels_in_a_pickle_are_those_that_python_reads(images, tmp_path, shape, protocol):
    for number, pickler in enumerate((pickle.Pickler, pickle._Pickler)):
        data = dumped(SHAPES[shape](PAIRS), protocol, pickler)
        for form, content in enumerate((data, old_names(data))):
            (tmp_path / "labels.pkl").write_bytes(content)
            dataset, _ = pack(images, tmp_path, f"{number}{form}", labels=str(tmp_path / "labels.pkl"))
            assert [sample["cls"] for sample in dataset] == [b"0", b"7", b"300"]


def test_a_label_of_a_pickle_may_be_a_name_a_list_or_an_array(images, tmp_path):
    def values(labels, column=""):
        (tmp_path / "labels.pkl").write_bytes(pickle.dumps(labels))
        run("pack", images, tmp_path / "out", "--overwrite", "--labels", f"{tmp_path / 'labels.pkl'}{column}")
        return ps.open(tmp_path / "out")

    names = values({"a": "dog", "b": "cat", "c": "dog"})
    assert names.classes == ["cat", "dog"] and [sample["cls"] for sample in names] == [b"1", b"0", b"1"]
    several = values({"a": ["dog", "cat"], "b": (), "c": {"dog"}})
    assert [sample["label"] for sample in several] == [b"\1\1", b"\0\0", b"\0\1"]
    boxes = values({key: np.asfortranarray([1.5, 2], ">f8") for key in "abc"})
    assert np.frombuffer(boxes[2]["label"], np.float32).tolist() == [1.5, 2]
    columns = values({key: {"age": 1.5, "kind": "x"} for key in "abc"}, ":age")
    assert np.frombuffer(columns[0]["age"], np.float32) == [1.5]
    empty = pickle.dumps({"a": float("nan"), "b": 1, "c": 2})
    (tmp_path / "labels.pkl").write_bytes(empty)
    assert "sample a: corrupt: the label is empty" in fails(
        "pack", images, tmp_path / "none", "--labels", tmp_path / "labels.pkl"
    )


class Evil:
    def __reduce__(self):
        return os.system, ("touch penstock_ran_this",)


def test_a_pickle_that_would_run_code_is_refused_by_name_and_runs_nothing(images, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for protocol in range(6):
        (tmp_path / "labels.pkl").write_bytes(pickle.dumps({"a": Evil(), "b": 1, "c": 2}, protocol))
        told = fails("pack", images, tmp_path / "out", "--labels", tmp_path / "labels.pkl")
        assert re.search(r'labels.pkl: offset \d+: unsupported: pickle: needs "posix.system"', told)
        assert "is not loaded: load it in Python, and save dicts" in told
    assert sorted(os.listdir(tmp_path)) == ["images", "labels.pkl"]


def test_tables_of_pandas_and_tensors_are_refused_with_a_remedy(images, tmp_path):
    def refusal(labels):
        (tmp_path / "labels.pkl").write_bytes(labels)
        return fails("pack", images, tmp_path / "out", "--labels", tmp_path / "labels.pkl")

    assert "save the table with to_csv()" in refusal(b"cpandas.core.frame\nDataFrame\n.")
    assert "save tensors as NumPy arrays: tensor.numpy()" in refusal(b"ctorch._utils\n_rebuild_tensor_v2\n.")
    assert "row 1 is neither an object nor a pair" in refusal(pickle.dumps(np.arange(3)))
    assert "save {name: label} instead" in refusal(pickle.dumps([1, 2, 3]))
    assert "nests more than 16 levels deep" in refusal(b"(dVa\n]\x94h\0as.")
    laughs = b"](NNNNNNNNNNe\x94"
    for level in range(12):
        laughs += b"0](" + (b"h" + bytes([level])) * 10 + b"e\x94"
    assert "values; save the table as CSV" in refusal(laughs + b".")


def test_changed_pickles_neither_crash_nor_run_code(images, tmp_path, monkeypatch):
    """tests/fuzz and formats_pickle change many more. These go through the whole of ps.open."""
    monkeypatch.chdir(tmp_path)
    rng = random.Random(5)
    value = [{"path": f"images/{key}.png", "label": np.array([1, 2]), "x": Evil} for key in "abc"]
    data = bytearray(pickle.dumps(value, 4).replace(b"Evil", b"list").replace(b"test_pickles", b"builtins"))
    for _ in range(300):  # each open waits until the new file has settled
        changed = bytearray(data)
        for _ in range(rng.randrange(1, 4)):
            changed[rng.randrange(len(changed))] = rng.randrange(256)
        (tmp_path / "t.pkl").write_bytes(changed)
        try:
            ps.open(tmp_path / "t.pkl")
        except ps.Error as error:
            assert "t.pkl" in str(error)
    assert sorted(os.listdir(tmp_path)) == ["images", "t.pkl"]


# CIFAR


def batch(rows, seed, fine=10):
    rng = np.random.default_rng(seed)
    return {
        b"batch_label": b"x",
        b"labels": rng.integers(0, fine, rows).tolist(),
        b"data": rng.integers(0, 256, (rows, 3072), np.uint8),
        b"filenames": [b"%d.png" % i for i in range(rows)],
    }


def pixels(data):
    return data.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)


def cifar10(folder, protocol=4, encode=lambda data: data):
    folder.mkdir()
    batches = {f"data_batch_{i}": batch(12, i, 3) for i in range(1, 6)} | {"test_batch": batch(7, 6, 3)}
    for name, content in batches.items():
        (folder / name).write_bytes(encode(pickle.dumps(content, protocol)))
    (folder / "batches.meta").write_bytes(pickle.dumps({b"label_names": [name.encode() for name in CLASSES]}))
    (folder / "readme.html").write_text("<meta>")
    return batches


@pytest.mark.parametrize("protocol", [3, 4, 5])
@pytest.mark.parametrize("encode", [bytes, old_names])
def test_cifar_10_opens_by_split_and_its_images_are_pixels(tmp_path, protocol, encode):
    batches = cifar10(tmp_path / "cifar-10-batches-py", protocol, encode)
    with pytest.raises(ps.Error, match='holds the splits of a dataset .test, train.*split="train"'):
        ps.open(tmp_path / "cifar-10-batches-py")
    train = ps.open(tmp_path / "cifar-10-batches-py", split="train")
    test = ps.open(tmp_path / "cifar-10-batches-py", split="test")
    assert (len(train), len(test), train.classes) == (60, 7, CLASSES) and train.format == "cifar"
    assert train.keys[13] == "data_batch_2/01" and test.keys[0] == "test_batch/0"
    want = np.concatenate([pixels(batches[f"data_batch_{i}"][b"data"]) for i in range(1, 6)])
    labels = [label for i in range(1, 6) for label in batches[f"data_batch_{i}"][b"labels"]]
    loader = ps.Loader(train, batch_size=60, transforms={"image": ps.image.decode(), "cls": ps.label()})
    got = next(iter(loader))
    assert np.array_equal(np.asarray(got["image"]), want.transpose(0, 3, 1, 2)) and got["cls"].tolist() == labels
    assert np.array_equal(np.frombuffer(test[3]["image"], np.uint8), pixels(batches["test_batch"][b"data"])[3].ravel())
    assert len(ps.open(tmp_path / "cifar-10-batches-py" / "data_batch_3")) == 12
    assert "filenames" in repr(train)


def test_cifar_100_has_fine_and_coarse_labels(tmp_path):
    folder = tmp_path / "cifar-100-python"
    folder.mkdir()
    for name, seed in (("train", 1), ("test", 2)):
        content = batch(20, seed, 100)
        content[b"fine_labels"], content[b"coarse_labels"] = content.pop(b"labels"), [i % 20 for i in range(20)]
        (folder / name).write_bytes(pickle.dumps(content, 3))
    names = [f"class {i}" for i in range(100)]
    (folder / "meta").write_bytes(pickle.dumps({"fine_label_names": names, "coarse_label_names": names[:20]}))
    train = ps.open(folder, split="train")
    assert len(train) == 20 and train.classes == names
    assert [sample["coarse.cls"] for sample in train][:3] == [b"0", b"1", b"2"]
    run("pack", folder, tmp_path / "out", "--split", "train")
    run("verify", tmp_path / "out", "--against", folder / "train")
    packed = ps.open(tmp_path / "out")
    assert packed.keys == train.keys and packed[5]["image"] == train[5]["image"]


def test_a_batch_that_is_not_as_expected_is_an_error_that_says_why(tmp_path):
    def refusal(content, protocol=4):
        (tmp_path / "data_batch_1").write_bytes(pickle.dumps(content, protocol))
        return fails("info", tmp_path / "data_batch_1")

    good = batch(4, 1)
    assert "is a pickle without an array `data`, so it is not a batch of CIFAR" in refusal({"x": 1})
    assert "is a pickle without an array" in refusal([1])
    assert "`data` is not an array of uint8 (N, 3072)" in refusal({**good, b"data": good[b"data"][:, :100].copy()})
    assert "`labels` has 3 integers, but `data` has 4 rows" in refusal({**good, b"labels": [1, 2, 3]})
    assert "has no labels or fine_labels" in refusal({b"data": good[b"data"]})
    assert "np.ascontiguousarray(data) and protocol=4" in refusal({**good, b"data": np.asfortranarray(good[b"data"])})
    assert "np.ascontiguousarray(data) and protocol=4" in refusal(good, 2)
    assert 'pickle: needs "posix.system"' in refusal({**good, b"x": Evil()})
