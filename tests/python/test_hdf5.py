"""HDF5 across programs: what penstock packs, h5py reads; what h5py writes, penstock lists."""

import json
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


LIBVERS = ("earliest", "v110", "latest")  # the last is that of h5py's own HDF5, such as 2.0


STORAGE = {
    "contiguous": {},
    "rows": {"chunks": (1, 12, 10, 3)},
    "gzip": {"chunks": (8, 12, 10, 3), "compression": "gzip"},
    "all": {"chunks": (5, 12, 10, 3), "compression": "gzip", "shuffle": True, "fletcher32": True},
    "lzf": {"chunks": (8, 12, 10, 3), "compression": "lzf", "shuffle": True},
    "tiles": {"chunks": (4, 6, 5, 3), "compression": "gzip", "shuffle": True},
}


@pytest.mark.parametrize("libver", LIBVERS)
@pytest.mark.parametrize("storage", STORAGE)
@pytest.mark.parametrize("dtype", ["u1", "<i4", "<f2", "<f4", "<f8", "?"])
def test_rows_that_h5py_writes_are_read(tmp_path, libver, storage, dtype):
    random = np.random.default_rng(5)
    images = random.integers(0, 2 if dtype == "?" else 100, (23, 12, 10, 3)).astype(dtype)
    path = tmp_path / "foreign.h5"
    with h5py.File(path, "w", libver=libver) as file:
        file.create_dataset("images", data=images, **STORAGE[storage])
        file["labels"] = np.arange(23)
        file["names"] = ["a", "b"]
    assert len(penstock("ls", path).splitlines()) == 2 * 23
    for row in (0, 4, 5, 22):
        assert penstock("cat", path, f"{row:02}.images") == images[row].tobytes()
    assert penstock("cat", path, "07.labels") == np.int64(7).tobytes()


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
        ({"dtype": [("a", "i4"), ("b", "f4")]}, "compound elements"),
        ({"dtype": h5py.ref_dtype}, "references"),
        ({"dtype": "c8"}, "compound elements"),
    ],
)
def test_what_cannot_be_read_is_an_error_with_its_reason(tmp_path, options, reason):
    with h5py.File(tmp_path / "foreign.h5", "w", libver=("earliest", "v110")) as file:
        file.create_dataset("x", (10,), **options)
    done = subprocess.run([COMMAND, "ls", tmp_path / "foreign.h5"], capture_output=True, check=False, timeout=60)
    assert done.returncode == 1
    message = done.stderr.decode()
    assert reason in message and "x" in message and len(message.splitlines()) == 1


def info(path):
    return json.loads(penstock("info", "--json", path))


@pytest.mark.parametrize("libver", LIBVERS)
@pytest.mark.parametrize("storage", [{}, *STORAGE.values()])
@pytest.mark.parametrize("dtype", [">u2", ">i4", ">f2", ">f4", ">f8"])
def test_big_endian_numbers_come_as_those_of_this_machine(tmp_path, libver, storage, dtype):
    values = np.random.default_rng(5).integers(0, 30000, (23, 12, 10, 3)).astype(dtype)
    with h5py.File(tmp_path / "foreign.h5", "w", libver=libver) as file:
        file.create_dataset("x", data=values, **storage)
    for row in (0, 4, 22):
        expected = values[row].astype(values.dtype.newbyteorder("<")).tobytes()
        assert penstock("cat", tmp_path / "foreign.h5", f"{row:02}.x") == expected


@pytest.mark.parametrize("libver", LIBVERS)
def test_a_chunk_that_skipped_filters_is_read_as_its_mask_says(tmp_path, libver):
    values = np.arange(6 * 50, dtype="<i4").reshape(6, 50)
    path = tmp_path / "foreign.h5"
    with h5py.File(path, "w", libver=libver) as file:
        data = file.create_dataset("x", (6, 50), "<i4", chunks=(2, 50), shuffle=True, compression="gzip")
        data[:2] = values[:2]
        shuffled = values[2:4].tobytes()
        shuffled = np.frombuffer(shuffled, "u1").reshape(-1, 4).T.tobytes()
        data.id.write_direct_chunk((2, 0), shuffled, filter_mask=2)
        data.id.write_direct_chunk((4, 0), values[4:6].tobytes(), filter_mask=3)
        assert (data[:] == values).all()
    for row in range(6):
        assert penstock("cat", path, f"{row}.x") == values[row].tobytes()


@pytest.mark.parametrize("libver", LIBVERS)
@pytest.mark.parametrize("storage", [{}, {"chunks": (7,)}, {"chunks": (7,), "compression": "gzip"}])
def test_values_of_variable_length_are_read_from_the_heap(tmp_path, libver, storage):
    random = np.random.default_rng(5)
    blobs = [random.bytes(int(length)) for length in random.integers(0, 40000, 60)]
    texts = ["", "caf\u00e9", *(f"text {i} " * i for i in range(58))]
    path = tmp_path / "foreign.h5"
    with h5py.File(path, "w", libver=libver) as file:
        data = file.create_dataset("jpg", (60,), h5py.vlen_dtype(np.uint8), **storage)
        for i, blob in enumerate(blobs):
            data[i] = np.frombuffer(blob, np.uint8)
        file.create_dataset("caption", data=texts, dtype=h5py.string_dtype(), **storage)
        for order in "<>":
            clouds = file.create_dataset(f"floats{order}", (60,), h5py.vlen_dtype(np.dtype(f"{order}f4")), **storage)
            for i in range(60):
                clouds[i] = np.arange(i, dtype="f4")
    for i in (0, 1, 6, 7, 30, 59):
        assert penstock("cat", path, f"{i:02}.jpg") == blobs[i]
        assert penstock("cat", path, f"{i:02}.caption") == texts[i].encode()
        assert penstock("cat", path, f"{i:02}.floats<") == np.arange(i, dtype="<f4").tobytes()
        assert penstock("cat", path, f"{i:02}.floats>") == np.arange(i, dtype="<f4").tobytes()


@pytest.mark.parametrize("storage", [{}, {"chunks": (2,), "compression": "lzf"}])
def test_strings_of_fixed_length_lose_their_padding_and_may_be_keys(tmp_path, storage):
    path = tmp_path / "foreign.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("filename", data=np.array([b"a/one", b"b/two", b"b/three"]), **storage)
        file["label"] = np.array([1, 0, 1])
        file["data"] = np.array([np.void(b"ab\0"), np.void(b"\0cd"), np.void(b"efg")])
        file["list_classes"] = np.array([b"no", b"yes"])
    listed = penstock("ls", path).decode().splitlines()
    assert "b/three.label" in listed and len(listed) == 9
    assert penstock("cat", path, "b/three.filename") == b"b/three"
    assert penstock("cat", path, "a/one.filename") == b"a/one"
    assert penstock("cat", path, "b/two.data") == b"\0cd"
    assert info(path)["classes"] == ["no", "yes"]


def test_names_that_repeat_are_no_keys_and_class_names_may_be_an_attribute(tmp_path):
    path = tmp_path / "foreign.h5"
    with h5py.File(path, "w") as file:
        file["id"] = ["same", "same"]
        file["label"] = np.array([1, 0])
        file["label"].attrs["class_names"] = ["cat", "dog"]
    assert set(penstock("ls", path).decode().splitlines()) == {f"{i}.{f}" for i in "01" for f in ("id", "label")}
    assert info(path)["classes"] == ["cat", "dog"]


PNG = b"\x89PNG\r\n\x1a\n" + bytes(100)


@pytest.mark.parametrize("libver", LIBVERS)
@pytest.mark.parametrize("count", [5, 300])  # no fewer groups than names in them
def test_a_group_per_sample_gives_its_datasets_as_fields(tmp_path, libver, count):
    path = tmp_path / "foreign.h5"
    with h5py.File(path, "w", libver=libver) as file:
        for i in range(count):
            group = file.create_group(f"scans/{i:04}")
            group["points"] = np.full((i + 1, 3), i, ">f4")
            group["png"] = np.frombuffer(PNG + bytes([i % 256]), "u1")
            group["blob"] = np.void(b"x" * (i + 1))
            group["caption"] = f"scan {i}"
            group["label"] = i
            group.attrs["weight"] = float(i)
            group.attrs["source"] = f"from {i}"
    assert len(penstock("ls", path).splitlines()) == 7 * count
    for i in (0, count - 1):
        key = f"scans/{i:04}"
        assert penstock("cat", path, f"{key}.points") == np.full((i + 1, 3), i, "<f4").tobytes()
        assert penstock("cat", path, f"{key}.png") == PNG + bytes([i % 256])
        assert penstock("cat", path, f"{key}.blob") == b"x" * (i + 1)
        assert penstock("cat", path, f"{key}.caption") == f"scan {i}".encode()
        assert penstock("cat", path, f"{key}.label") == np.int64(i).tobytes()
        assert penstock("cat", path, f"{key}.weight") == np.float64(i).tobytes()
        assert penstock("cat", path, f"{key}.source") == f"from {i}".encode()


def test_a_dataset_per_sample_in_groups_that_are_fields(tmp_path):
    path = tmp_path / "foreign.h5"
    with h5py.File(path, "w") as file:
        for i in range(20):
            file[f"train/images/s{i:02}"] = np.full((4, 5, 3), i, "u1")
            file[f"train/masks/s{i:02}"] = np.full((4, 5), i, "u1")
            file[f"train/images/s{i:02}"].attrs["label"] = i
    assert len(penstock("ls", path).splitlines()) == 60
    assert penstock("cat", path, "s07.images") == np.full((4, 5, 3), 7, "u1").tobytes()
    assert penstock("cat", path, "s07.masks") == np.full((4, 5), 7, "u1").tobytes()
    assert penstock("cat", path, "s07.label") == np.int64(7).tobytes()


def test_a_dataset_per_sample_in_groups_that_are_classes(tmp_path):
    path = tmp_path / "foreign.h5"
    with h5py.File(path, "w") as file:
        for i in range(12):
            file[f"{'cat' if i % 2 else 'dog'}/{i:02}"] = np.void(PNG + bytes([i]))
    assert penstock("cat", path, "cat/03.value") == PNG + bytes([3])
    assert penstock("cat", path, "cat/03.cls") == b"0" and penstock("cat", path, "dog/04.cls") == b"1"
    assert info(path)["classes"] == ["cat", "dog"]


def test_more_top_level_datasets_than_columns_are_samples(tmp_path):
    path = tmp_path / "foreign.h5"
    with h5py.File(path, "w") as file:
        for i in range(400):
            file[f"{i:04}"] = np.arange(i % 7, dtype="i4")
    assert len(penstock("ls", path).splitlines()) == 400
    assert penstock("cat", path, "0013.value") == np.arange(6, dtype="i4").tobytes()


NUMBERS = ["<i4", ">i4", "<i8", "<f4", ">f8", "<f2", "|i1", "<u2"]


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("form", [None, "hdf5", "tar", "lmdb", "zip"])
def test_numbers_of_variable_length_keep_their_dtype(tmp_path, dtype, form, ps):
    values = [np.arange(3 * i, dtype=dtype) for i in range(6)]
    with h5py.File(tmp_path / "x.h5", "w") as file:
        column = file.create_dataset("tokens", (6,), h5py.vlen_dtype(np.dtype(dtype)))
        for i, value in enumerate(values):
            column[i] = value
    path = tmp_path / "x.h5"
    if form:
        penstock("pack", path, tmp_path / "packed", "--format", form)
        path = tmp_path / "packed"
    with ps.Loader(path, batch_size=4, workers=1) as loader:
        rows = [np.array(row) for batch in loader for row in batch["tokens"]]
    for row, value in zip(rows, values, strict=True):
        assert row.dtype == value.dtype.newbyteorder("=")
        np.testing.assert_array_equal(row, value)


def test_variable_numbers_of_rows_keep_dtype_and_shape(tmp_path, ps):
    values = {f"{i}": np.arange(6 * i, dtype=np.float32).reshape(2 * i, 3) for i in range(1, 4)}
    with h5py.File(tmp_path / "x.h5", "w") as file:
        for key, value in values.items():
            file[f"{key}/points"] = value
    with ps.Loader(tmp_path / "x.h5", batch_size=3, workers=1) as loader:
        rows = [np.array(row) for batch in loader for row in batch["points"]]
    for row, value in zip(rows, values.values(), strict=True):
        np.testing.assert_array_equal(row, value)


def test_bytes_of_variable_length_stay_bytes(tmp_path, ps):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        column = file.create_dataset("blob", (2,), h5py.vlen_dtype(np.uint8))
        column[0], column[1] = np.arange(3, dtype=np.uint8), np.arange(5, dtype=np.uint8)
    with ps.Loader(tmp_path / "x.h5", batch_size=2, workers=1) as loader:
        (batch,) = loader
        assert [np.array(row).tolist() for row in batch["blob"]] == [[0, 1, 2], [0, 1, 2, 3, 4]]
