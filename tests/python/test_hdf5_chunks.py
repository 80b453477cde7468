"""HDF5 files as h5py writes them by default: chunks over several axes, strings of several per value, cache images."""

import json
import os
import pathlib
import subprocess

import h5py
import numpy as np
import pytest

import penstock as ps

DATA = pathlib.Path(os.environ.get("PENSTOCK_TEST_DATA", "/nonexistent"))
ENGINES = ("auto", "inline", "pread", "mmap")


def loaded(path, name, **options):
    loader = ps.Loader(path, transforms={name: ps.array.decode()}, batch_size=7, **options)
    return np.concatenate([np.asarray(batch[name]).copy() for batch in loader])


@pytest.mark.parametrize("dtype", ["uint8", ">i4", "float64"])
@pytest.mark.parametrize("compression", [None, "gzip"])
def test_chunks_over_several_axes_are_read(tmp_path, dtype, compression):
    draws = np.random.default_rng(1)
    rows = draws.integers(0, 200, (41, 30, 26, 3)).astype(dtype)
    path = tmp_path / "chunked.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset(
            "images", data=rows, compression=compression, chunks=(16, 7, 8, 1), shuffle=compression is not None
        )
        file["labels"] = np.arange(41)
    for engine in ENGINES:
        assert np.array_equal(loaded(path, "images", read_options=ps.ReadOptions(engine=engine)), rows)
    shuffled = ps.Loader(
        path, transforms={"images": ps.array.decode(), "labels": ps.label()}, batch_size=41, shuffle=True, seed=3
    )
    (batch,) = list(shuffled)
    assert np.array_equal(np.asarray(batch["images"]), rows[np.asarray(batch["labels"])])
    assert ps.open(path)[40]["images"] == rows[40].astype(rows.dtype.newbyteorder("=")).tobytes()


def test_the_chunks_that_h5py_chooses_itself_are_read_and_their_cost_is_told(tmp_path):
    rows = np.random.default_rng(2).integers(0, 255, (50, 96, 96, 3), dtype=np.uint8)
    path = tmp_path / "default.h5"
    with h5py.File(path, "w") as file:
        chunks = file.create_dataset("images", data=rows, compression="gzip").chunks
        file["labels"] = np.arange(50)
    assert chunks[1:] != rows.shape[1:]
    assert np.array_equal(loaded(path, "images"), rows)
    told = subprocess.run([os.environ["PENSTOCK_COMMAND"], "info", path], capture_output=True, text=True, check=True)
    assert "h5repack -l images:CHUNK=1x96x96x3" in told.stdout
    ps.pack(path, tmp_path / "packed", format="tar")
    assert np.array_equal(loaded(tmp_path / "packed", "images"), rows)


def test_chunks_that_were_never_written_are_the_fill_value(tmp_path):
    path = tmp_path / "some.h5"
    with h5py.File(path, "w") as file:
        images = file.create_dataset(
            "images", (20, 24, 24, 3), "int16", chunks=(4, 5, 6, 1), compression="gzip", fillvalue=-7
        )
        images[5, 3:9, :, 1] = 100
        images[13] = np.arange(24 * 24 * 3).reshape(24, 24, 3)
        expected = images[:]
        file["labels"] = np.arange(20)
    assert np.array_equal(loaded(path, "images"), expected)


@pytest.mark.parametrize("kind", ["variable", "fixed"])
def test_strings_of_several_per_row_are_json_lists(tmp_path, kind):
    words = np.array([["one", "two"], ["three", ""], ["caf\u00e9", "x"]], dtype=object)
    path = tmp_path / "words.h5"
    with h5py.File(path, "w") as file:
        stored = words if kind == "variable" else np.char.encode(words.astype(str), "utf-8")
        dtype = h5py.string_dtype("utf-8") if kind == "variable" else stored.dtype
        file.create_dataset("words", data=stored, dtype=dtype, chunks=(2, 1), compression="gzip")
        file["labels"] = np.arange(3)
    loader = ps.Loader(path, transforms={"words": ps.raw()}, batch_size=3)
    (batch,) = list(loader)
    values, ends = np.asarray(batch["words"].values), np.asarray(batch["words"].offsets)
    for row, expected in enumerate(words.tolist()):
        assert json.loads(values[ends[row] : ends[row + 1]].tobytes()) == expected


@pytest.mark.parametrize("kind", ["variable", "fixed"])
@pytest.mark.parametrize("shape", [(1,), (3,), (2, 2)])
def test_a_dataset_for_each_sample_may_hold_filtered_strings(tmp_path, kind, shape):
    path = tmp_path / "samples.h5"
    count = int(np.prod(shape))
    values = {f"s{i}": np.array([f"text {i} {j}" for j in range(count)], dtype=object).reshape(shape) for i in range(4)}
    with h5py.File(path, "w") as file:
        dtype = h5py.string_dtype("utf-8") if kind == "variable" else "S12"
        for name, value in values.items():
            value = value if kind == "variable" else value.astype("S12")
            file.create_dataset(f"{name}/caption", data=value, dtype=dtype, chunks=shape, compression="gzip")
            file.create_dataset(f"{name}/image", data=np.full((4, 4), 7, np.uint8))
    loader = ps.Loader(path, transforms={"caption": ps.raw()}, batch_size=4)
    (batch,) = list(loader)
    found, ends = np.asarray(batch["caption"].values), np.asarray(batch["caption"].offsets)
    for row, key in enumerate(batch["__key__"]):
        stored = found[ends[row] : ends[row + 1]].tobytes().decode()
        expected = values[key].tolist()
        assert (stored if count == 1 else json.loads(stored)) == (expected[0] if count == 1 else expected)


@pytest.mark.parametrize("name", ["found/hdf5/brtnfld+hdf5/tools/test/misc/testfiles/h5clear_mdc_image.h5"])
def test_a_file_with_a_metadata_cache_image_is_read_as_h5py_reads_it(name):
    path = DATA / name
    if not path.exists():
        pytest.skip("PENSTOCK_TEST_DATA has no such HDF5 file")
    with h5py.File(path) as file:
        (field,) = file.keys()
        assert np.array_equal(loaded(path, field), file[field][:])


def test_every_dataset_of_one_per_sample_file_of_strings_is_read():
    path = DATA / "found/hdf5/pyvista+vtk-data/room.dat.h5"
    if not path.exists():
        pytest.skip("PENSTOCK_TEST_DATA has no such HDF5 file")
    dataset = ps.open(path)
    assert len(dataset) > 0
    for sample in range(len(dataset)):
        assert isinstance(dataset[sample], object)
