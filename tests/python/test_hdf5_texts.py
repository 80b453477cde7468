"""Strings in HDF5 files: their bytes are kept, or the field is left out with its reason."""

import json
import os
import subprocess

import h5py
import numpy as np
import pytest

COMMAND = os.environ["PENSTOCK_COMMAND"]


def penstock(*arguments):
    done = subprocess.run([COMMAND, *map(str, arguments)], capture_output=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def info(path):
    return json.loads(penstock("info", "--json", path))


LATIN_1 = ["\u00e9".encode("latin-1"), "m\u00fcde".encode("latin-1")]
VARIABLE = h5py.string_dtype("ascii")  # h5py writes any bytes as such strings


def array_of(values, dtype):
    """The values for create_dataset() with this dtype."""
    return np.array(values, object if dtype is VARIABLE else dtype)


@pytest.mark.parametrize("dtype", ["S8", VARIABLE])
def test_one_string_per_row_keeps_its_bytes(tmp_path, dtype):
    path = tmp_path / "foreign.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("name", data=array_of(LATIN_1, dtype), dtype=dtype)
        file["x"] = np.arange(2)
    assert [penstock("cat", path, f"{row}.name") for row in range(2)] == LATIN_1
    assert "left_out" not in info(path)


@pytest.mark.parametrize("dtype", ["S8", VARIABLE])
def test_several_strings_per_row_are_json_if_they_are_utf_8(tmp_path, dtype):
    path = tmp_path / "foreign.h5"
    values = [["caf\u00e9", 'a "b"'], ["", "d"]]
    with h5py.File(path, "w") as file:
        encoded = [[text.encode() for text in row] for row in values]
        file.create_dataset("tags", data=array_of(encoded, dtype), dtype=dtype)
        file.create_dataset("codes", data=array_of([[b"a", b"b"], LATIN_1], dtype), dtype=dtype)
        file["x"] = np.arange(2)
    assert [json.loads(penstock("cat", path, f"{row}.tags")) for row in range(2)] == values
    assert {line.split(b".")[1] for line in penstock("ls", path).splitlines()} == {b"tags", b"x"}
    reason = info(path)["left_out"]["codes"]
    assert '"\\xe9" is not UTF-8' in reason and "store UTF-8" in reason


def test_a_file_with_nothing_else_is_an_error_with_the_reason(tmp_path):
    path = tmp_path / "foreign.h5"
    with h5py.File(path, "w") as file:
        file["hash"] = np.array([[b"\x00\x01\xff\xfe", b"\x80abc"], [b"1234", b"\xc3\x28xy"]])
    done = subprocess.run([COMMAND, "ls", path], capture_output=True, check=False, timeout=60)
    assert done.returncode == 1 and b"is not UTF-8" in done.stderr


def test_strings_of_a_dataset_per_sample_follow_the_same_rule(tmp_path):
    path = tmp_path / "foreign.h5"
    with h5py.File(path, "w") as file:
        for i in range(8):  # more groups than names
            group = file.create_group(f"s/{i}")
            group["caption"] = LATIN_1[0]  # one string
            group["tags"] = [b"a", "\u00e9".encode()]
            group["codes"] = np.array(LATIN_1)
            group["ones"] = np.array([LATIN_1[0]] if i == 0 else [b"a", b"b"])  # a list of one, then of two
            group.attrs["author"] = np.bytes_(LATIN_1[1])
            group["x"] = i
    assert {line.split(b".")[1] for line in penstock("ls", path).splitlines()} == {b"caption", b"tags", b"author", b"x"}
    assert penstock("cat", path, "s/1.caption") == LATIN_1[0]
    assert penstock("cat", path, "s/1.author") == LATIN_1[1]
    assert json.loads(penstock("cat", path, "s/1.tags")) == ["a", "\u00e9"]
    left_out = info(path)["left_out"]
    assert set(left_out) == {"codes", "ones"}
    assert "is not UTF-8" in left_out["codes"] and "(in s/0)" in left_out["ones"]


@pytest.mark.parametrize("where", ["dataset", "scalar", "attribute"])
def test_class_names_must_be_printable(tmp_path, where):
    path = tmp_path / "foreign.h5"
    with h5py.File(path, "w") as file:
        file["x"] = np.arange(20)
        if where == "dataset":
            file["class_names"] = np.array(LATIN_1)
        elif where == "scalar":
            file["class_names"] = LATIN_1[0]
        else:
            file["x"].attrs["class_names"] = np.array(LATIN_1)
    assert len(penstock("ls", path).splitlines()) == 20
    told = info(path)
    assert not told.get("classes")
    if where != "attribute":
        assert told["left_out"]["class_names"] == "class names that are not printable UTF-8"
