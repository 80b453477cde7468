"""Filters of HDF5: what h5py writes with them, penstock reads."""

import json
import os
import subprocess

import h5py
import numpy as np
import penstock as ps
import pytest

COMMAND = os.environ["PENSTOCK_COMMAND"]


def penstock(*arguments):
    return subprocess.run([COMMAND, *map(str, arguments)], capture_output=True, check=False, timeout=300)


def reader(path):
    """Reads the bytes of a name such as "07.rows" in this process: thousands of processes would take minutes."""
    dataset = ps.open(path)

    def read(name):
        key, _, field = name.partition(".")
        return bytes(dataset[dataset.find(key)][field])

    return read


def skip_without_library(path):
    if b"whose library this build lacks" in (told := penstock("ls", path).stderr):
        pytest.skip(f"this build lacks a library: {told.decode().strip()}; install it and build again")


def values_of(shape, dtype):
    """Numbers that compress, except for every third row."""
    random = np.random.default_rng(3)
    smooth = np.cumsum(random.integers(-2, 3, shape), axis=-1)
    smooth[::3] = random.integers(0, 30000, smooth[::3].shape)
    return smooth.astype(dtype)


PLUGINS = [
    ("Zstd", {"clevel": 3}),
    ("Zstd", {"clevel": 19}),
    ("LZ4", {}),
    ("LZ4", {"nbytes": 1000}),
    ("BZip2", {}),
    ("BZip2", {"blocksize": 1}),
    *[("Bitshuffle", {"cname": cname}) for cname in ("none", "lz4", "zstd")],
    *[("Bitshuffle", {"cname": cname, "nelems": 64}) for cname in ("none", "lz4", "zstd")],
    *[
        ("Blosc", {"cname": cname, "shuffle": shuffle})
        for cname in ("blosclz", "lz4", "lz4hc", "zlib", "zstd")
        for shuffle in (0, 1, 2)
    ],
]


@pytest.mark.parametrize("dtype", ["u1", "<u2", "<f4", ">f4", "<i8"])
@pytest.mark.parametrize(("plugin", "options"), PLUGINS)
def test_filters_of_hdf5plugin_are_undone(tmp_path, plugin, options, dtype):
    hdf5plugin = pytest.importorskip("hdf5plugin")
    values = values_of((50, 7, 31), dtype)
    path = tmp_path / "foreign.h5"
    with h5py.File(path, "w") as file:
        # 1085 elements of "odd" and 248 of "tiles" are multiples of neither 8 nor 64
        for name, chunks in (("rows", (1, 7, 31)), ("many", (16, 7, 31)), ("tiles", (8, 7, 16)), ("odd", (5, 7, 31))):
            file.create_dataset(name, data=values, chunks=chunks, **getattr(hdf5plugin, plugin)(**options))
    skip_without_library(path)
    read = reader(path)
    for name in ("rows", "many", "tiles", "odd"):
        for row in (0, 1, 15, 16, 49):
            assert read(f"{row:02}.{name}") == values[row].astype(np.dtype(dtype).newbyteorder("<")).tobytes()


def test_bitshuffle_of_strings_and_opaque_elements_is_undone(tmp_path):
    hdf5plugin = pytest.importorskip("hdf5plugin")
    texts = np.array([f"text {i}".encode() for i in range(101)])
    path = tmp_path / "foreign.h5"
    with h5py.File(path, "w") as file:
        for cname in ("none", "lz4"):
            file.create_dataset(f"text_{cname}", data=texts, chunks=(20,), **hdf5plugin.Bitshuffle(cname=cname))
    skip_without_library(path)
    read = reader(path)
    for row in (0, 7, 100):
        assert read(f"{row:03}.text_none") == read(f"{row:03}.text_lz4") == texts[row]


def add_packed(file, name, values, **options):
    file.create_dataset(name, data=values, chunks=(16, *values.shape[1:]), **options)


def check_rows(path, rows):
    """Compares with h5py's own reading, because scale-offset may be lossy."""
    with h5py.File(path) as file:
        expected = {name: data[...].astype(data.dtype.newbyteorder("<")) for name, data in file.items()}
    read = reader(path)
    for name, values in expected.items():
        for row in rows:
            assert read(f"{row:02}.{name}") == values[row].tobytes(), name


@pytest.mark.parametrize("libver", ["earliest", "latest"])
@pytest.mark.parametrize("dtype", ["u1", "i1", "<u2", ">i2", "<i4", ">u4", "<i8", "<u8"])
@pytest.mark.parametrize("fill", [None, 5])
def test_scale_offset_of_integers_is_undone(tmp_path, libver, dtype, fill):
    values = values_of((50, 31), dtype)
    path = tmp_path / "foreign.h5"
    with h5py.File(path, "w", libver=libver) as file:
        for name, options in {
            "alone": {"scaleoffset": 0},
            "bits": {"scaleoffset": 6},
            "whole": {"scaleoffset": 8 * np.dtype(dtype).itemsize},
            "gzip": {"scaleoffset": 0, "shuffle": True, "compression": "gzip"},
            "lzf": {"scaleoffset": 0, "compression": "lzf"},
        }.items():
            add_packed(file, name, values, fillvalue=fill, **options)
        add_packed(file, "equal", np.full((50, 31), 7, dtype), scaleoffset=0)
    check_rows(path, (0, 15, 16, 48, 49))


@pytest.mark.parametrize("dtype", ["<f4", ">f4", "<f8"])
@pytest.mark.parametrize("fill", [None, -1.5])
@pytest.mark.parametrize("decimals", [0, 3, 6])
def test_scale_offset_of_floats_is_undone_as_by_hdf5(tmp_path, dtype, fill, decimals):
    values = (np.random.default_rng(3).normal(size=(50, 31)) * 20).astype(dtype)
    values[20:24] = -1.5 if fill else 0
    path = tmp_path / "foreign.h5"
    with h5py.File(path, "w") as file:
        add_packed(file, "alone", values, scaleoffset=decimals, fillvalue=fill)
        add_packed(file, "gzip", values, scaleoffset=decimals, fillvalue=fill, compression="gzip")
    check_rows(path, (0, 15, 21, 49))


def test_a_filter_that_is_not_read_is_named(tmp_path):
    hdf5plugin = pytest.importorskip("hdf5plugin")
    path = tmp_path / "foreign.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=np.zeros((10, 100), "f4"), chunks=(1, 100), **hdf5plugin.Zfp())
        file["y"] = np.arange(10)
    done = penstock("info", "--json", path)
    assert "filter 32013 (" in json.loads(done.stdout)["left_out"]["x"]
