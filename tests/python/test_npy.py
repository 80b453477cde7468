"""NPY and NPZ as datasets: NumPy writes, penstock reads rows."""

import os
import subprocess

import numpy as np
import pytest

COMMAND = os.environ["PENSTOCK_COMMAND"]


def penstock(*arguments, check=True):
    done = subprocess.run([COMMAND, *map(str, arguments)], capture_output=True, check=False)
    assert not check or done.returncode == 0, done.stderr.decode()
    return done


@pytest.mark.parametrize("dtype", ["<f4", ">f4", "<i8", ">u2", "|u1", "|b1", "<f2"])
def test_rows_of_an_array_are_samples(tmp_path, dtype):
    array = (np.arange(11 * 6).reshape(11, 2, 3) % 7).astype(dtype)
    np.save(tmp_path / "x.npy", array)
    assert penstock("ls", tmp_path / "x.npy").stdout.decode().split() == [f"{i:02}.value" for i in range(11)]
    for i in (0, 10):
        row = np.frombuffer(penstock("cat", tmp_path / "x.npy", f"{i:02}.value").stdout, array.dtype.newbyteorder("<"))
        np.testing.assert_array_equal(row.reshape(2, 3), array[i])


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_arrays_of_equally_many_rows_are_fields(tmp_path, save):
    images = np.random.default_rng(1).integers(0, 255, (20, 4, 4), dtype=np.uint8)
    labels = np.arange(20, dtype=">i4")
    save(tmp_path / "x.npz", images=images, labels=labels, mean=np.zeros(3), scalar=np.float32(1))
    path = tmp_path / "x.npz"
    assert penstock("cat", path, "07.images").stdout == images[7].tobytes()
    assert penstock("cat", path, "07.labels").stdout == labels[7].astype("<i4").tobytes()
    text = penstock("info", path).stdout.decode()
    assert "mean" in text and "scalar" in text
    penstock("pack", path, tmp_path / "packed", "--format", "hdf5")
    penstock("verify", tmp_path / "packed", "--against", path)


SHAPES = [(11, 5), (70, 40), (4, 3, 5), (3, 4, 5, 2), (5, 1), (1, 5), (6, 0, 2)]


@pytest.mark.parametrize("dtype", ["<f4", ">f4", "<i8", "|u1", "<f2"])
@pytest.mark.parametrize("shape", SHAPES)
def test_values_in_fortran_order_are_those_of_numpy(tmp_path, dtype, shape, ps):
    array = np.asfortranarray((np.arange(np.prod(shape)).reshape(shape) % 251).astype(dtype))
    (tmp_path / "d").mkdir()
    np.save(tmp_path / "d/1.npy", array)
    penstock("pack", tmp_path / "d", tmp_path / "packed", "--format", "tar")
    for path in (tmp_path / "d", tmp_path / "packed"):
        with ps.Loader(path, batch_size=1, workers=1) as loader:
            (row,) = [np.array(batch["npy"][0]) for batch in loader]
        assert row.dtype == array.dtype.newbyteorder("=")
        np.testing.assert_array_equal(row, np.load(tmp_path / "d/1.npy"))


def test_windows_of_values_in_fortran_order_are_rows_of_the_array(tmp_path, ps):
    array = np.arange(60, dtype=np.int32).reshape(20, 3)
    (tmp_path / "d").mkdir()
    np.save(tmp_path / "d/1.npy", np.asfortranarray(array))
    penstock("pack", tmp_path / "d", tmp_path / "packed", "--format", "tar")
    for path in (tmp_path / "d", tmp_path / "packed"):
        for chain in (ps.array.random_slice(7), ps.array.random_slice(7) | ps.array.cast("float64")):
            with ps.Loader(path, batch_size=1, workers=1, transforms={"npy": chain}) as loader:
                (row,) = [np.array(batch["npy"][0]) for batch in loader]
            start = int(row[0, 0]) // 3
            np.testing.assert_array_equal(row, array[start : start + 7])


@pytest.mark.parametrize("dtype", ["<f4", ">f4", "|u1"])
@pytest.mark.parametrize("shape", [(11, 5), (70, 40), (4, 3, 5), (3, 4, 5, 2), (5, 1)])
def test_rows_of_an_array_in_fortran_order_are_those_of_numpy(tmp_path, dtype, shape, ps):
    array = np.asfortranarray((np.arange(np.prod(shape)).reshape(shape) % 251).astype(dtype))
    np.save(tmp_path / "x.npy", array)
    np.savez(tmp_path / "x.npz", value=array, other=np.arange(len(array)))
    np.savez_compressed(tmp_path / "y.npz", value=array, other=np.arange(len(array)))
    for name in ("x.npy", "x.npz", "y.npz"):
        with ps.Loader(tmp_path / name, batch_size=2, workers=2) as loader:
            rows = np.concatenate([np.array(batch["value"]) for batch in loader])
        np.testing.assert_array_equal(rows, array)
    penstock("pack", tmp_path / "x.npz", tmp_path / "packed", "--format", "hdf5")
    penstock("verify", tmp_path / "packed", "--against", tmp_path / "x.npz")


def test_what_is_no_plain_array_is_refused(tmp_path):
    for name, array in {"complex": np.zeros((3, 4), complex), "objects": np.array([{}, 1], object)}.items():
        np.save(tmp_path / f"{name}.npy", array, allow_pickle=True)
        done = penstock("ls", tmp_path / f"{name}.npy", check=False)
        assert done.returncode == 1
        assert b"unsupported" in done.stderr and done.stderr.count(b"\n") == 1
