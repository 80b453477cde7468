"""penstock.Tensor: arrays that cross to other libraries without a copy, and outlive the loader."""

import gc
import operator

import numpy as np
import penstock as ps
import pytest


@pytest.fixture(name="batch")
def batch_fixture(arrays):
    loader = ps.Loader(
        arrays,
        batch_size=8,
        transforms={"npy": ps.array.decode(), "cls": ps.label(), "raw": ps.field("cls") | ps.raw()},
    )
    return next(iter(loader))  # the loader is gone when the test begins


def address(array):
    return array.__array_interface__["data"][0]


def test_a_tensor_describes_itself(batch):
    assert batch["npy"].shape == (8, 5) and batch["npy"].dtype == "float32" and batch["npy"].device == "cpu"
    assert len(batch["npy"]) == 8 and batch["npy"].nbytes == 160
    assert repr(batch["npy"]) == "penstock.Tensor(shape=(8, 5), dtype=float32)"
    assert batch["npy"].__dlpack_device__() == (1, 0)


def test_numpy_takes_it_without_a_copy_and_keeps_the_memory(batch):
    array = np.asarray(batch["npy"])
    again = np.from_dlpack(batch["npy"])
    assert address(array) == address(again)
    expected = np.arange(8)[:, None] + np.arange(5)
    row = array[3]
    del batch, array, again
    gc.collect()
    np.testing.assert_array_equal(row, expected[3])


def test_numpy_gets_another_dtype_or_a_copy_when_it_asks(batch):
    tensor = batch["npy"]
    assert np.asarray(tensor, dtype=np.float64).dtype == np.float64
    assert address(np.array(tensor)) != address(np.asarray(tensor))
    assert address(np.from_dlpack(tensor, copy=True)) != address(np.asarray(tensor))
    with pytest.raises(ValueError, match="copy"):
        np.asarray(tensor, dtype=np.float64, copy=False)


def test_capsules_are_versioned_where_the_receiver_knows_versions(batch):
    assert '"dltensor_versioned"' in repr(batch["npy"].__dlpack__(max_version=(1, 1)))
    assert '"dltensor_versioned"' in repr(batch["npy"].__dlpack__(max_version=(2, 0)))
    for capsule in (batch["npy"].__dlpack__(), batch["npy"].__dlpack__(max_version=(0, 8))):
        assert '"dltensor"' in repr(capsule)


def test_devices_and_streams_that_are_not_there_are_refused(batch):
    with pytest.raises(BufferError):
        batch["npy"].__dlpack__(dl_device=(2, 0))
    with pytest.raises(BufferError):
        batch["npy"].__dlpack__(stream=1)


def test_rows_of_a_ragged_field_are_slices(batch):
    ragged = batch["raw"]
    assert len(ragged) == 8
    assert [row.tobytes() for row in ragged] == [str(i % 4).encode() for i in range(8)]
    assert ragged[-1].tobytes() == b"3"
    np.testing.assert_array_equal(np.asarray(ragged.offsets), np.arange(9))
    assert np.asarray(ragged.values).base is not None
    for row in (8, -9):
        with pytest.raises(IndexError):
            ragged[row]


def test_a_slab_goes_back_when_the_last_array_is_gone(long_arrays):
    loader = ps.Loader(
        long_arrays,
        batch_size=4,
        transforms={"npy": ps.array.decode()},
        memory_options=ps.MemoryOptions(reserved_batches=2),
    )
    iterator = iter(loader)
    kept = [np.asarray(next(iterator)["npy"]), np.asarray(next(iterator)["npy"])]
    with pytest.raises(ps.Error, match="reserved_batches"):
        next(iterator)
    kept.pop()
    assert next(iterator)["__key__"][0] == "008"


def test_bfloat16_needs_a_library_that_has_it(arrays):
    loader = ps.Loader(arrays, batch_size=4, transforms={"npy": ps.array.cast("bfloat16")})
    tensor = next(iter(loader))["npy"]
    assert tensor.dtype == "bfloat16"
    with pytest.raises(TypeError, match="bfloat16"):
        np.asarray(tensor)
    torch = pytest.importorskip("torch")
    taken = torch.from_dlpack(tensor)
    assert taken.dtype == torch.bfloat16 and taken[2].tolist() == [2, 3, 4, 5, 6]


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "bool"])
def test_every_dtype_crosses(arrays, dtype):
    loader = ps.Loader(arrays, batch_size=4, transforms={"npy": ps.array.cast(dtype)})
    tensor = next(iter(loader))["npy"]
    expected = (np.arange(4)[:, None] + np.arange(5)).astype(dtype)
    assert np.asarray(tensor).dtype == dtype
    np.testing.assert_array_equal(np.asarray(tensor), expected)
    torch = pytest.importorskip("torch")
    if dtype == "bool" and int(torch.__version__.split(".")[0]) < 2:
        pytest.skip("this PyTorch takes no bool by DLPack; install PyTorch 2 or newer")
    assert torch.from_dlpack(tensor).tolist() == expected.tolist()


OPERATORS = ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "eq", "ne", "lt", "le", "gt", "ge"]


@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.filterwarnings("ignore:.*encountered in.*:RuntimeWarning")
def test_operators_are_those_of_numpy(batch, name):
    apply = getattr(operator, name)
    tensor, array = batch["npy"], np.asarray(batch["npy"])
    for other in (2, 2.0, True, np.float32(2), np.arange(5.0) + 1, tensor):
        for made, wanted in ((apply(tensor, other), apply(array, other)), (apply(other, tensor), apply(other, array))):
            assert type(made) is np.ndarray and made.dtype == wanted.dtype
            np.testing.assert_array_equal(made, wanted)


def test_operators_of_whole_numbers_and_of_one_value_are_those_of_numpy(batch):
    labels, array = batch["cls"], np.asarray(batch["cls"])
    for name in ("and_", "or_", "xor"):
        np.testing.assert_array_equal(getattr(operator, name)(labels, 1), getattr(operator, name)(array, 1))
        np.testing.assert_array_equal(getattr(operator, name)(1, labels), getattr(operator, name)(array, 1))
    for name in ("neg", "pos", "abs", "invert"):
        np.testing.assert_array_equal(getattr(operator, name)(labels), getattr(operator, name)(array))
    np.testing.assert_array_equal(batch["npy"] @ np.arange(5.0), np.asarray(batch["npy"]) @ np.arange(5.0))
    np.testing.assert_array_equal(np.arange(8.0) @ batch["npy"], np.arange(8.0) @ np.asarray(batch["npy"]))
    assert (labels == [0, 1, 2, 3] * 2).all() and ([0, 1, 2, 3] * 2 == labels).all()
    assert (batch["raw"].offsets <= 8).all() and (~batch["__valid__"]).sum() == 0


def test_operators_with_a_tensor_of_torch_are_those_of_torch(batch):
    torch = pytest.importorskip("torch")
    labels = batch["cls"]
    predicted = torch.tensor([0, 1, 2, 3, 3, 2, 1, 0])
    for hits in (predicted == labels, labels == predicted):
        assert hits.dtype == torch.bool and hits.float().mean().item() == 0.5
    assert (predicted + labels).tolist() == [0, 2, 4, 6, 3, 3, 3, 3] == (labels + predicted).tolist()
    assert (predicted - labels).tolist() == [0, 0, 0, 0, 3, 1, -1, -3]


def test_a_tensor_is_unlike_what_is_no_number(batch):
    labels = batch["cls"]
    for other in (None, "text", b"bytes", object(), {}, int):
        assert (labels == other) is False and (labels != other) is True
        assert (batch["raw"] == other) is False and (batch["raw"] != other) is True
        for name in ("lt", "ge", "add", "mul"):
            with pytest.raises(TypeError, match="penstock._penstock.Tensor|'Tensor'"):
                getattr(operator, name)(labels, other)


def test_operators_keep_hashing_membership_and_lists(batch):
    labels = batch["cls"]
    assert len({labels, labels, batch["npy"]}) == 2 and {labels: 1}[labels] == 1
    assert labels in [labels, batch["npy"]]
    assert 3 in labels and 4 not in labels and batch == dict(batch)
    with pytest.raises(ValueError, match="truth value"):
        assert labels == 0
    kept = [7]
    kept += labels
    assert kept == [7, 0, 1, 2, 3, 0, 1, 2, 3]


def test_operators_say_where_what_numpy_has_not_is_computed(batch, arrays):
    half = next(iter(ps.Loader(arrays, batch_size=4, transforms={"npy": ps.array.cast("bfloat16")})))["npy"]
    for use in (lambda: half == 0, lambda: half + 1, lambda: -half):
        with pytest.raises(TypeError, match="NumPy has no bfloat16: use torch.from_dlpack"):
            use()


def test_rows_of_different_length_are_compared_by_their_parts(batch):
    for other in (0, np.zeros(8), [b"0"], batch["raw"], batch["cls"]):
        for name in ("eq", "ne"):
            with pytest.raises(
                TypeError, match="^a penstock.Ragged has no .=: compare r.values and r.offsets, or a row"
            ):
                getattr(operator, name)(batch["raw"], other)
    assert (batch["raw"][3] == ord("3")).all() and {batch["raw"]: 1}[batch["raw"]] == 1
