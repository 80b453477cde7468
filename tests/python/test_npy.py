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


def test_what_is_no_plain_array_is_refused(tmp_path):
    for name, array in {"fortran": np.asfortranarray(np.zeros((3, 4))), "objects": np.array([{}, 1], object)}.items():
        np.save(tmp_path / f"{name}.npy", array, allow_pickle=True)
        done = penstock("ls", tmp_path / f"{name}.npy", check=False)
        assert done.returncode == 1
        assert b"unsupported" in done.stderr and done.stderr.count(b"\n") == 1
