"""penstock.pack from iterables, map-style datasets and Hugging Face."""

import io
import os
import pathlib
import random
import subprocess
import sys
import threading
import time

import numpy as np
import penstock as ps
import pytest
from packing import encoded, from_npy, pack
from PIL import Image


class Squares:
    """A map-style dataset, as torch has them: pairs of an image and a class."""

    classes = ("even", "odd")

    def __init__(self, count, broken=()):
        self.count, self.broken, self.threads = count, broken, set()

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        if i in self.broken:
            raise ValueError(f"no luck with {i}")
        self.threads.add(threading.current_thread().name)
        time.sleep(random.random() * 0.002)
        return Image.fromarray(np.full((4, 4, 3), i % 256, np.uint8)), i % 2


# Iterables


def test_a_generator_of_dicts_is_packed_and_numbered(tmp_path):
    seen = []
    told = ps.pack(
        ({"txt": f"text {i}", "cls": i % 3} for i in range(120)),
        tmp_path / "out",
        format="lmdb",
        progress=lambda *now: seen.append(now),
    )
    dataset = ps.open(tmp_path / "out")
    assert told["samples"] == len(dataset) == 120
    assert dataset.keys == [f"{i:012}" for i in range(120)] and dataset[7]["txt"] == b"text 7"
    assert seen[119][:2] == (120, 0) and seen[-1][:2] == (120, 120)  # gathered, of how many nobody knows; then packed
    assert os.listdir(tmp_path) == ["out"]


def test_keys_and_names_are_the_items_own(tmp_path):
    items = [{"__key__": f"k{9 - i}", "__url__": "x", "image": encoded("PNG", i), "n": i} for i in range(10)]
    dataset, _ = pack(items, tmp_path, fields={"image": "png"})
    assert dataset.keys == [f"k{i}" for i in range(10)]
    assert dict(dataset[0]) == {"png": items[9]["image"]}
    pairs, _ = pack([(encoded("JPEG", i), i) for i in range(3)], tmp_path, "pairs", fields=("jpg", "cls"))
    assert [sample["cls"] for sample in pairs] == [b"0", b"1", b"2"]


def test_an_item_that_cannot_be_packed_raises_or_is_skipped_and_told(tmp_path):
    items = [{"txt": "fine"}, {"txt": {1}}, {"txt": "fine"}, 5, {"txt": "fine"}]
    with pytest.raises(ps.Error) as raised:
        pack(items, tmp_path)
    assert raised.value.key == f"{1:012}" and raised.value.field == "txt" and "set" in raised.value.cause
    dataset, told = pack(items, tmp_path, on_error="skip")
    assert dataset.keys == [f"{i:012}" for i in (0, 2, 4)]
    assert told["skipped"] == 2 and [bad["sample"] for bad in told["bad"]] == [1, 3]
    twins = [{"__key__": "a", "txt": "1"}, {"__key__": "a", "txt": "2"}]
    with pytest.raises(ps.Error, match="two samples have this key"):
        pack(twins, tmp_path, "twins", on_error="skip")


def test_what_a_generator_raises_ends_packing_and_leaves_nothing(tmp_path):
    def items():
        yield {"txt": "fine"}
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        pack(items(), tmp_path, on_error="skip")
    assert os.listdir(tmp_path) == []


def test_wrong_use_is_told(tmp_path):
    with pytest.raises(ps.Error, match="tuples"):
        pack([(1, 2)], tmp_path)
    with pytest.raises(ps.Error, match="resume, rank, world and report require"):
        pack([{"txt": "x"}], tmp_path, resume=True)
    with pytest.raises(ps.Error, match="on_error"):
        pack([{"txt": "x"}], tmp_path, on_error="ignore")
    with pytest.raises(TypeError, match="int"):
        pack(5, tmp_path)
    assert os.listdir(tmp_path) == []


def test_labels_kept_apart_go_with_any_source(tmp_path):
    (tmp_path / "labels.csv").write_text("key,age\na,1.5\nb,2.5\n")
    items = [{"__key__": key, "txt": key} for key in "ba"]
    dataset, _ = pack(items, tmp_path, labels=f"{tmp_path / 'labels.csv'}:age")
    assert np.frombuffer(dataset[1]["age"], np.float32) == [2.5]


def test_a_pipeline_of_webdataset_is_packed_to_the_bytes_of_its_shards(arrays, tmp_path):
    webdataset = pytest.importorskip("webdataset")
    ps.pack(arrays, tmp_path / "first", format="tar", progress=False)
    shards = [str(path) for path in sorted((tmp_path / "first").glob("*.tar"))]
    pack(webdataset.WebDataset(shards, shardshuffle=False), tmp_path)
    (again,) = (tmp_path / "out").glob("*.tar")
    assert again.read_bytes() == pathlib.Path(shards[0]).read_bytes()


# Map-style datasets


@pytest.mark.parametrize("how", [{}, {"threads": 5}, {"processes": 2}], ids=str)
def test_a_map_style_dataset_is_the_same_however_it_is_read(tmp_path, how):
    if "processes" in how:
        pytest.importorskip("torch")
    squares = Squares(60)
    source = ps.sources.torch(squares, fields=("png", "cls"), **how)
    assert len(source) == 60
    dataset, _ = pack(source, tmp_path)
    assert dataset.classes == ["even", "odd"] and [sample["cls"] for sample in dataset] == [b"0", b"1"] * 30
    images = [np.asarray(Image.open(io.BytesIO(sample["png"])))[0, 0, 0] for sample in dataset]
    assert images == list(range(60))
    if "threads" in how:
        assert len(squares.threads) > 1


@pytest.mark.parametrize("how", [{}, {"threads": 3}, {"processes": 2}], ids=str)
def test_an_item_that_raises_is_named_or_skipped(tmp_path, how):
    if "processes" in how:
        pytest.importorskip("torch")
    source = ps.sources.torch(Squares(20, broken=(4, 11)), fields=("png", "cls"), **how)
    with pytest.raises(ps.Error, match=f"Squares: sample {4:012}: corrupt: ValueError: no luck with 4"):
        pack(source, tmp_path)
    dataset, told = pack(source, tmp_path, on_error="skip")
    assert len(dataset) == 18 and [bad["sample"] for bad in told["bad"]] == [4, 11] and told["skipped"] == 2


def test_a_dataset_of_torch_is_taken_as_it_is(tmp_path):
    torch = pytest.importorskip("torch")
    from torch.utils.data import Subset, TensorDataset

    numbers = TensorDataset(torch.arange(12.0).reshape(6, 2), torch.arange(6))
    dataset, _ = pack(Subset(numbers, [5, 0, 3]), tmp_path, fields=("npy", "cls"))
    assert [sample["cls"] for sample in dataset] == [b"5", b"0", b"3"]
    assert from_npy(dataset[0]["npy"]).tolist() == [10.0, 11.0]


# Hugging Face


@pytest.fixture(name="hub")
def hub_fixture(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    datasets = pytest.importorskip("datasets")
    path = tmp_path / "file.png"
    path.write_bytes(encoded("PNG", 100))
    features = datasets.Features(
        {
            "image": datasets.Image(),
            "label": datasets.ClassLabel(names=["cat", "dog"]),
            "text": datasets.Value("string"),
            "matrix": datasets.Array2D((2, 2), "float32"),
            "boxes": datasets.Sequence(datasets.Value("int32")),
        }
    )
    rows = {
        "image": [{"bytes": encoded("PNG", i), "path": None} for i in range(20)] + [str(path)],
        "label": [i % 2 for i in range(20)] + [-1],
        "text": [f"t{i}" for i in range(21)],
        "matrix": [[[i, 1.0], [2.0, 3.0]] for i in range(21)],
        "boxes": [list(range(i)) for i in range(21)],
    }
    return datasets.Dataset.from_dict(rows, features=features)


def check_hub(dataset, order):
    assert len(dataset) == len(order) and dataset.classes == ["cat", "dog"]
    for sample, i in zip(dataset, order):
        assert sample["png"] == encoded("PNG", 100 if i == 20 else i)  # the stored bytes, not encoded again
        assert (sample["cls"] == str(i % 2).encode()) if i != 20 else "cls" not in sample
        assert sample["text.txt"] == f"t{i}".encode() and from_npy(sample["boxes.npy"]).tolist() == list(range(i))
        assert from_npy(sample["matrix.npy"]).tolist() == [[i, 1.0], [2.0, 3.0]]


def test_a_dataset_of_hugging_face_is_packed_without_decoding_images(hub, tmp_path):
    out = tmp_path / "packed"
    out.mkdir()
    source = ps.sources.huggingface(hub)
    assert len(source) == 21 and source.classes == ["cat", "dog"]
    check_hub(pack(hub, out)[0], range(21))
    order = [20, 3, 17]
    check_hub(pack(hub.select(order), out, "chosen")[0], order)
    named, _ = pack(hub, out, "named", fields={"image": "photo.png", "label": "cls"})
    assert set(named[0]) == {"photo.png", "cls"}
    keyed, _ = pack(ps.sources.huggingface(hub, key="text"), out, "keyed")
    assert keyed.keys == sorted(f"t{i}" for i in range(21))


def test_streams_saved_folders_and_exported_parquet_of_hugging_face_are_packed(hub, tmp_path):
    datasets = pytest.importorskip("datasets")
    check_hub(pack(hub.to_iterable_dataset(), tmp_path, "stream")[0], range(21))
    hub.save_to_disk(tmp_path / "saved")
    check_hub(pack(tmp_path / "saved", tmp_path, "from-saved")[0], range(21))
    hub.to_parquet(tmp_path / "hub.parquet")
    check_hub(pack(tmp_path / "hub.parquet", tmp_path, "from-parquet")[0], range(21))
    with pytest.raises(ps.Error, match="choose one of its splits: train"):
        pack(datasets.DatasetDict({"train": hub}), tmp_path, "never")


def test_importing_penstock_brings_none_of_what_the_sources_need():
    wanted = {"numpy", "torch", "pyarrow", "datasets", "PIL", "pandas"}
    code = f"import penstock, sys; print(sorted({wanted!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_the_bar_tells_both_halves(tmp_path):
    code = (
        "import sys, pty, os, penstock as ps\n"
        "def main():\n"
        "    ps.pack([{'txt': str(i)} for i in range(3000)], sys.argv[1], format='tar')\n"
        "pid, fd = pty.fork()\n"
        "if pid == 0:\n"
        "    main(); os._exit(0)\n"
        "text = b''\n"
        "while True:\n"
        "    try: part = os.read(fd, 65536)\n"
        "    except OSError: break\n"
        "    if not part: break\n"
        "    text += part\n"
        "sys.stdout.buffer.write(text)"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "out")]
    shown = subprocess.run(command, capture_output=True, check=True).stdout.decode()
    assert "gathering  3,000/3,000 samples  100%" in shown and "packing  3,000/3,000 samples  100%" in shown
    assert len(ps.open(pathlib.Path(tmp_path / "out"))) == 3000
