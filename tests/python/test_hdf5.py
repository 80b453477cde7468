"""HDF5 across programs: what penstock packs, h5py reads; what h5py writes, penstock lists."""

import os
import subprocess

import h5py
import numpy as np
import pytest

COMMAND = os.environ["PENSTOCK_COMMAND"]

KEYS = [f"class {i % 4}/{i:04}" for i in range(200)] + ["zz/caf\u00e9"]


def penstock(*arguments):
    done = subprocess.run([COMMAND, *map(str, arguments)], capture_output=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def fields_of(number):
    fields = {"txt": f"sample {number}".encode(), "json": b'"' + b"x" * (number**2) + b'"'}
    return fields if number % 5 else {"json": fields["json"]}


@pytest.fixture(name="source", scope="module")
def source_fixture(tmp_path_factory):
    folder = tmp_path_factory.mktemp("source")
    for i, key in enumerate(KEYS):
        for field, value in fields_of(i).items():
            path = folder / f"{key}.{field}"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(value)
    return folder


def test_what_penstock_packs_is_read_by_h5py(source, tmp_path):
    penstock("pack", source, tmp_path / "packed", "--format", "hdf5")
    with h5py.File(tmp_path / "packed" / "shard-000000.h5") as file:

        def column(group):
            data, ends = group["bytes"][:].tobytes(), group["offsets"][:]
            return [data[ends[i] : ends[i + 1]] for i in range(len(ends) - 1)]

        keys = [key.decode() for key in column(file["__key__"])]
        assert keys == sorted(KEYS, key=str.encode)
        assert set(file["__present__"]) == {"txt"}
        present = file["__present__/txt"][:]
        for field in ("json", "txt"):
            assert file[field].attrs["codec"].decode() == field
            values = column(file[field])
            for row, key in enumerate(keys):
                expected = fields_of(KEYS.index(key)).get(field)
                assert values[row] == (expected or b"")
                assert field == "json" or bool(present[row]) == (expected is not None)


def test_a_packed_shard_is_read_without_its_index(source, tmp_path):
    penstock("pack", source, tmp_path / "packed", "--format", "hdf5")
    shard = tmp_path / "packed" / "shard-000000.h5"
    expected = {f"{key}.{field}" for i, key in enumerate(KEYS) for field in fields_of(i)}
    assert set(penstock("ls", shard).decode().splitlines()) == expected
    assert penstock("cat", shard, f"{KEYS[7]}.json") == fields_of(7)["json"]


def test_two_packs_are_the_same_bytes(source, tmp_path):
    contents = []
    for name in ("one", "two"):
        penstock("pack", source, tmp_path / name, "--format", "hdf5")
        contents.append((tmp_path / name / "shard-000000.h5").read_bytes())
    assert contents[0] == contents[1]


STORAGE = {
    "contiguous": {},
    "rows": {"chunks": (1, 12, 10, 3)},
    "gzip": {"chunks": (8, 12, 10, 3), "compression": "gzip"},
    "all": {"chunks": (5, 12, 10, 3), "compression": "gzip", "shuffle": True, "fletcher32": True},
    "tiles": {"chunks": (4, 6, 5, 3), "compression": "gzip", "shuffle": True},
}


@pytest.mark.parametrize("libver", ["earliest", "v110"])
@pytest.mark.parametrize("storage", STORAGE)
@pytest.mark.parametrize("dtype", ["u1", "<i4", "<f2", "<f4", "<f8", "?"])
def test_rows_that_h5py_writes_are_read(tmp_path, libver, storage, dtype):
    # "latest" would be that of h5py's own HDF5, which may be newer than the one that penstock is linked with.
    random = np.random.default_rng(5)
    images = random.integers(0, 2 if dtype == "?" else 100, (23, 12, 10, 3)).astype(dtype)
    path = tmp_path / "foreign.h5"
    with h5py.File(path, "w", libver=(libver, "v110")) as file:
        file.create_dataset("images", data=images, **STORAGE[storage])
        file["labels"] = np.arange(23)
        file["names"] = ["a", "b"]
    assert len(penstock("ls", path).splitlines()) == 2 * 23
    for row in (0, 4, 5, 22):
        assert penstock("cat", path, f"{row:02}.images") == images[row].tobytes()
    assert penstock("cat", path, "07.labels") == np.int64(7).tobytes()


def test_objects_of_a_newer_hdf5_are_left_out(tmp_path):
    path = tmp_path / "foreign.h5"
    with h5py.File(path, "w", libver="latest") as file:
        file["flags"] = np.zeros(9, bool)
        file["labels"] = np.arange(9)
    listed = penstock("ls", path).splitlines()
    assert b"8.labels" in listed and len(listed) in (9, 18)


def test_bytes_and_offsets_that_h5py_writes_are_read(tmp_path):
    values = [b"", b"one", b"x" * 100_000, b"last"]
    with h5py.File(tmp_path / "foreign.h5", "w") as file:
        file["txt/bytes"] = np.frombuffer(b"".join(values), np.uint8)
        file["txt/offsets"] = np.cumsum([0, *map(len, values)])
    for row, value in enumerate(values):
        assert penstock("cat", tmp_path / "foreign.h5", f"{row}.txt") == value


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"dtype": ">f4"}, "little-endian"),
        ({"dtype": "f4", "compression": "lzf"}, "filter 32000"),
        ({"dtype": h5py.string_dtype()}, "little-endian"),
        ({"dtype": [("a", "i4"), ("b", "f4")]}, "little-endian"),
    ],
)
def test_what_cannot_be_read_is_an_error_with_its_reason(tmp_path, options, reason):
    with h5py.File(tmp_path / "foreign.h5", "w") as file:
        file.create_dataset("x", (10,), **options)
    done = subprocess.run([COMMAND, "ls", tmp_path / "foreign.h5"], capture_output=True, check=False, timeout=60)
    assert done.returncode == 1
    message = done.stderr.decode()
    assert reason in message and "x" in message and len(message.splitlines()) == 1
