"""Every version of HDF5 that h5py can write, with every layout and chunk index: penstock reads what h5py reads."""

import os
import subprocess

import h5py
import numpy as np
import pytest
from h5py._hl.files import libver_dict

COMMAND = os.environ["PENSTOCK_COMMAND"]
VERSIONS = sorted(libver_dict)


def penstock(*arguments):
    done = subprocess.run([COMMAND, *map(str, arguments)], capture_output=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


FILTERS = {
    "plain": {},
    "gzip": {"compression": "gzip", "shuffle": True},
    "checked": {"compression": "gzip", "fletcher32": True},
}
# of rows of 3 x 5: the chunks and the largest shape, which decide the index from 1.10 on
INDEXES = {
    "single": lambda rows: ((rows, 3, 5), None),
    "fixed_array": lambda rows: ((1, 3, 5), None),
    "fixed_array_cut": lambda rows: ((2, 3, 2), (2 * rows, 3, 7)),
    "extensible_array": lambda rows: ((1, 3, 5), (None, 3, 5)),
    "extensible_array_wide": lambda rows: ((2, 3, 2), (rows, None, 5)),
    "tree": lambda rows: ((1, 2, 5), (None, None, 5)),
}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("rows", [7, 300, 5000])
def test_every_layout_of_every_version_is_read(tmp_path, version, rows):
    values = {}
    path = tmp_path / "foreign.h5"

    def add(file, name, **options):
        values[name] = np.random.default_rng(len(values)).integers(0, 100, (rows, 3, 5)).astype("<i4")
        file.create_dataset(name, data=values[name], **options)

    with h5py.File(path, "w", libver=version) as file:
        add(file, "contiguous")
        for index, shape in INDEXES.items():
            for filters, options in FILTERS.items():
                chunks, most = shape(rows)
                add(file, f"{index}_{filters}", chunks=chunks, maxshape=most, **options)
        for name, early in {"implicit": True, "compact": False}.items():
            how = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            if early:
                how.set_chunk((2, 3, 5))
                how.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
            elif rows <= 300:
                how.set_layout(h5py.h5d.COMPACT)
            values[name] = np.random.default_rng(len(values)).integers(0, 100, (rows, 3, 5)).astype("<i4")
            space = h5py.h5s.create_simple((rows, 3, 5))
            data = h5py.h5d.create(file.id, name.encode(), h5py.h5t.STD_I32LE, space, how)
            data.write(h5py.h5s.ALL, h5py.h5s.ALL, values[name])
    penstock("pack", path, tmp_path / "packed", "--format", "hdf5")
    with h5py.File(tmp_path / "packed" / "shard-000000.h5") as file:
        for name, expected in values.items():
            np.testing.assert_array_equal(file[name][...], expected, err_msg=name)


@pytest.mark.parametrize("version", VERSIONS)
def test_bools_strings_and_lists_of_every_version_are_read(tmp_path, version):
    path = tmp_path / "foreign.h5"
    with h5py.File(path, "w", libver=version) as file:
        file["flags"] = np.arange(9) % 2 == 0
        file["text"] = [f"caf\u00e9 {i}" for i in range(9)]
        lists = file.create_dataset("lists", (9,), h5py.vlen_dtype("<i4"))
        for i in range(9):
            lists[i] = np.arange(i)
        file["text"].attrs["class_names"] = ["cat", "dog"]
    for i in range(9):
        assert penstock("cat", path, f"{i}.flags") == bytes([i % 2 == 0])
        assert penstock("cat", path, f"{i}.text") == f"caf\u00e9 {i}".encode()
        assert penstock("cat", path, f"{i}.lists") == np.arange(i, dtype="<i4").tobytes()


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("count", [5, 300])
def test_groups_of_every_version_are_read(tmp_path, version, count):
    path = tmp_path / "foreign.h5"
    with h5py.File(path, "w", libver=version) as file:
        for i in range(count):
            file[f"scans/{i:04}/points"] = np.full((i + 1, 3), i, "<f4")
            file[f"scans/{i:04}"].attrs["weight"] = float(i)
    for i in (0, count - 1):
        assert penstock("cat", path, f"scans/{i:04}.points") == np.full((i + 1, 3), i, "<f4").tobytes()
        assert penstock("cat", path, f"scans/{i:04}.weight") == np.float64(i).tobytes()


@pytest.mark.skipif(
    "v200" not in VERSIONS,
    reason="h5py is built with an HDF5 before 2.0, which limits chunks to 4 GiB; install a newer h5py",
)
def test_chunks_of_more_than_4_gib_are_described(tmp_path):
    path = tmp_path / "foreign.h5"
    rows = 1000
    with h5py.File(path, "w", libver="latest") as file:
        file.create_dataset("x", (rows, 10), "u1", chunks=(2**30, 10), maxshape=(None, 10), fillvalue=3)
        file["y"] = np.arange(rows)
    assert penstock("cat", path, "017.x") == bytes([3] * 10)
