"""Archives of class folders share one numbering of classes: the one that unpacking all of them into a folder gives."""

import itertools
import json
import os
import pickle
import subprocess
import zipfile

import h5py
import numpy as np
import penstock as ps
import pytest
from packing import encoded

CLASSES = ps.label()
COMMAND = os.environ["PENSTOCK_COMMAND"]


def write_zip(path, *names):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for number, name in enumerate(names):
            archive.writestr(name, encoded("JPEG", number))


def unpack(archives, folder):
    for archive in archives:
        with zipfile.ZipFile(archive) as file:
            file.extractall(folder)
    return ps.open(folder)


def names_by_key(dataset):
    """{key: name of its class}, as a loader delivers labels."""
    with ps.Loader(dataset, batch_size=3, transforms={"cls": CLASSES}) as loader:
        return {key: dataset.classes[label] for batch in loader for key, label in zip(batch["__key__"], batch["cls"])}


SETS = {
    "a class each": {"cat": ["cat/1.jpg"], "dog": ["dog/2.jpg"], "emu": ["emu/3.jpg"]},
    "some classes each": {"1": ["cat/1.jpg", "dog/1.jpg"], "2": ["emu/2.jpg", "dog/2.jpg"]},
    "all classes each": {"1": ["cat/1.jpg", "dog/1.jpg"], "2": ["cat/2.jpg", "dog/2.jpg"]},
    "the first has all": {"1": ["cat/1.jpg", "dog/1.jpg", "emu/1.jpg"], "2": ["dog/2.jpg"]},
    "more than ten": {str(i): [f"{chr(97 + i)}/{i}.jpg"] for i in range(12)},
    "in falling order": {"1": ["z/1.jpg"], "2": ["y/2.jpg"], "3": ["x/3.jpg"]},
    "deeper folders": {"1": ["cat/a/1.jpg"], "2": ["dog/b/c/2.jpg"]},
    "bytes beyond ASCII": {"1": ["\u00e9mu/1.jpg", "Z/1.jpg"], "2": ["a/2.jpg"]},
}


@pytest.mark.parametrize("name", SETS)
def test_archives_have_the_classes_of_what_they_unpack_to(tmp_path, name):
    for archive, names in SETS[name].items():
        write_zip(tmp_path / "zips" / f"{archive}.zip", *names)
    archives = sorted((tmp_path / "zips").iterdir())
    dataset, plain = ps.open(tmp_path / "zips"), unpack(archives, tmp_path / "plain")
    assert dataset.classes == plain.classes
    assert names_by_key(dataset) == names_by_key(plain) == {key: key.split("/")[0] for key in plain.keys}
    for key in plain.keys:
        assert dataset[dataset.find(key)]["cls"] == plain[plain.find(key)]["cls"]


@pytest.mark.parametrize("format", ["tar", "hdf5", "lmdb", "mds"])
def test_packing_archives_keeps_the_shared_classes(tmp_path, format):
    for archive, names in SETS["some classes each"].items():
        write_zip(tmp_path / "zips" / f"{archive}.zip", *names)
    ps.pack(tmp_path / "zips", tmp_path / "out", format=format, progress=False)
    packed = ps.open(tmp_path / "out")
    assert packed.classes == ["cat", "dog", "emu"]
    assert names_by_key(packed) == {key: key.split("/")[0] for key in packed.keys}


def test_the_order_of_the_archives_does_not_change_labels(tmp_path):
    for archive, names in SETS["in falling order"].items():
        write_zip(tmp_path / "zips" / f"{archive}.zip", *names)
    for order in itertools.permutations("123"):
        pattern = str(tmp_path / "zips" / ("{" + ",".join(order) + "}.zip"))
        dataset = ps.open(pattern)
        assert dataset.classes == ["x", "y", "z"]
        assert names_by_key(dataset) == {"x/3": "x", "y/2": "y", "z/1": "z"}


def test_an_archive_without_class_folders_leaves_the_others_their_labels(tmp_path):
    write_zip(tmp_path / "zips" / "1.zip", "notes.jpg")
    write_zip(tmp_path / "zips" / "2.zip", "dog/2.jpg")
    write_zip(tmp_path / "zips" / "3.zip", "cat/3.jpg")
    dataset = ps.open(tmp_path / "zips")
    assert dataset.classes == ["cat", "dog"]
    with ps.Loader(dataset, batch_size=1, missing="exclude", transforms={"cls": CLASSES}) as loader:
        assert {batch["__key__"][0]: int(batch["cls"][0]) for batch in loader} == {"dog/2": 1, "cat/3": 0}
    with (
        pytest.raises(ps.Error, match="notes"),
        ps.Loader(dataset, batch_size=1, transforms={"cls": CLASSES}) as loader,
    ):
        list(loader)


def test_opening_again_and_verify_see_the_archives_unchanged(tmp_path):
    for archive, names in SETS["a class each"].items():
        write_zip(tmp_path / "zips" / f"{archive}.zip", *names)
    first = ps.open(tmp_path / "zips")
    for archive in (tmp_path / "zips").glob("*.zip"):
        os.utime(archive)  # what was opened is compared with the file again
    assert names_by_key(first) == names_by_key(ps.open(tmp_path / "zips"))


def write_hdf5(path, labels, classes=None):
    with h5py.File(path, "w") as file:
        file["labels"] = np.array(labels)
        if classes is not None:
            file.attrs["classes"] = np.array(classes, h5py.string_dtype())


def test_stored_lists_of_classes_must_agree(tmp_path):
    write_hdf5(tmp_path / "1.h5", [0, 1], ["cat", "dog"])
    write_hdf5(tmp_path / "2.h5", [1, 0], ["cat", "dog"])
    assert ps.open(tmp_path).classes == ["cat", "dog"]
    write_hdf5(tmp_path / "0.h5", [1, 0])  # without a list of its own
    assert ps.open(tmp_path).classes == ["cat", "dog"]
    for other in (["dog", "cat"], ["cat"], ["cat", "dog", "emu"]):
        write_hdf5(tmp_path / "3.h5", [0], other)
        with pytest.raises(ps.Error) as refused:
            ps.open(tmp_path)
        message = str(refused.value)
        assert refused.value.kind == "invalid_argument"
        assert "1.h5" in message and "3.h5" in message and "class" in message


def test_shards_of_packed_datasets_follow_the_lists_beside_them(tmp_path):
    for name in ("cat", "dog"):
        (tmp_path / name / name).mkdir(parents=True)
        (tmp_path / name / name / f"{name}.jpg").write_bytes(encoded("JPEG"))
        ps.pack(tmp_path / name, tmp_path / f"{name}.d", format="tar", progress=False)
    assert ps.open(tmp_path / "cat.d" / "shard-000000.tar").classes == ["cat"]
    with pytest.raises(ps.Error, match="class 0 is"):  # in both of them the label is 0
        ps.open(str(tmp_path / "{cat,dog}.d" / "shard-000000.tar"))


def test_classes_can_be_given_in_an_order_of_their_own(tmp_path):
    write_zip(tmp_path / "zips" / "1.zip", "cat/1.jpg", "dog/1.jpg")
    write_zip(tmp_path / "zips" / "2.zip", "dog/2.jpg")
    given = ["emu", "dog", "cat"]
    unpack(sorted((tmp_path / "zips").iterdir()), tmp_path / "plain")
    for path in (tmp_path / "zips", tmp_path / "plain", tmp_path / "zips" / "2.zip"):
        dataset = ps.open(path, classes=given)
        assert dataset.classes == given
        assert names_by_key(dataset) == {key: key.split("/")[0] for key in dataset.keys}
        assert pickle.loads(pickle.dumps(dataset)).classes == given
    ps.pack(ps.open(tmp_path / "zips", classes=given), tmp_path / "out", format="tar", progress=False)
    assert ps.open(tmp_path / "out", classes=given).classes == given
    for wrong, message in ((["dog"], '"cat" is not among'), (["cat", "dog", "cat"], "twice")):
        with pytest.raises(ps.Error, match=message):
            ps.open(tmp_path / "zips", classes=wrong)
    with pytest.raises(ps.Error, match="pack --classes"):
        ps.open(tmp_path / "out", classes=["cat", "dog"])
    done = subprocess.run(
        [COMMAND, "info", tmp_path / "zips", "--source-classes", '["emu", "dog", "cat"]', "--json"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout)["classes"] == given


def test_a_list_of_classes_must_fit_a_stored_one(tmp_path):
    write_hdf5(tmp_path / "1.h5", [0, 1], ["cat", "dog"])
    assert ps.open(tmp_path, classes=["cat", "dog"]).classes == ["cat", "dog"]
    with pytest.raises(ps.Error, match="1.h5.*class names other than"):
        ps.open(tmp_path, classes=["dog", "cat"])
    write_hdf5(tmp_path / "1.h5", [0, 1])
    assert ps.open(tmp_path, classes=["cat", "dog"]).classes == ["cat", "dog"]
