"""What an HDF5 file describes is bounded by its size: files as h5py writes them stay far below, almost empty ones are told apart."""

import os
import subprocess

import pytest

h5py = pytest.importorskip("h5py")
np = pytest.importorskip("numpy")

COMMAND = os.environ["PENSTOCK_COMMAND"]


def texts(file):
    file.create_dataset("text", (100_000,), h5py.string_dtype())[:] = [f"s{i}" for i in range(100_000)]


def texts_never_written(file):
    file.create_dataset("text", (200_000,), h5py.string_dtype())


def fixed_texts_of_zeros(file):
    file["text"] = np.zeros(100_000, "S64")


def zeros_that_shrink(file):
    file.create_dataset("x", (10_000, 32, 32), "f4", chunks=(1000, 32, 32), compression="gzip")[:] = 0


def chunks_across_rows(file):
    file.create_dataset("x", (5_000, 1000), "f4", chunks=(100, 10), compression="gzip")[:] = 1


def long_paths(file):
    group = file.create_group("n" * 200).create_group("m" * 300)
    for i in range(5_000):
        group[f"sample-with-a-long-name-{i:08}"] = np.zeros(4, "u1")


def groups_of_samples(file):
    for i in range(5_000):
        group = file.create_group(f"{i:06}")
        group["x"] = np.zeros(3, "f4")
        group["y"] = i


def links_to_one_dataset(file):
    file["x"] = np.zeros((1_000, 3))
    for i in range(2_000):
        file[f"alias{i}"] = h5py.SoftLink("/x")


def few_values_of_many(file):
    values = file.create_dataset("jpg", (20_000,), h5py.vlen_dtype("u1"))
    for i in range(0, 20_000, 500):
        values[i] = np.zeros(100, "u1")


def rows_never_written(file):
    file.create_dataset("x", (2_000_000, 8), "f4")


def chunks_never_written(file):
    file.create_dataset("x", (500_000, 64, 64), "f4", chunks=(1, 64, 64), compression="gzip")


def most_chunks_never_written(file):
    file.create_dataset("x", (100_000_000,), "u1", chunks=(1_000_000,), compression="gzip")[:1000] = 1


def opened(tmp_path, make):
    path = tmp_path / "file.h5"
    with h5py.File(path, "w") as file:
        make(file)
    environment = {**os.environ, "PENSTOCK_INDEX_DIR": str(tmp_path)}
    return subprocess.run(
        [COMMAND, "info", path], capture_output=True, check=False, text=True, env=environment, timeout=120
    )


@pytest.mark.parametrize(
    ("make", "samples"),
    [
        (texts, "100,000"),
        (texts_never_written, "200,000"),
        (fixed_texts_of_zeros, "100,000"),
        (zeros_that_shrink, "10,000"),
        (chunks_across_rows, "5,000"),
        (long_paths, "5,000"),
        (groups_of_samples, "5,000"),
        (links_to_one_dataset, "1,000"),
        (few_values_of_many, "20,000"),
    ],
)
def test_large_files_that_h5py_writes_open(tmp_path, make, samples):
    told = opened(tmp_path, make)
    assert told.returncode == 0, told.stderr
    assert samples in told.stdout


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (rows_never_written, "2000000 rows without stored values"),
        (chunks_never_written, "room for more chunks than the file can contain"),
        (most_chunks_never_written, "rows without stored values"),
    ],
)
def test_files_that_are_almost_only_absent_rows_are_refused_with_the_reason(tmp_path, make, why):
    told = opened(tmp_path, make)
    assert told.returncode != 0
    assert why in told.stderr
