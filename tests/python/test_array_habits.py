"""Batches, tensors and datasets are used as those of other libraries; where they differ, one sentence says so."""

import gc
import re

import penstock as ps
import pytest


@pytest.fixture(name="columns")
def columns_fixture(tmp_path):
    numpy = pytest.importorskip("numpy")
    for i in range(6):
        numpy.save(tmp_path / f"{i}.npy", numpy.arange(12, dtype=numpy.float32).reshape(3, 4) + 100 * i)
        (tmp_path / f"{i}.cls").write_text(str(i))
    loader = ps.Loader(tmp_path, batch_size=6, transforms={"npy": ps.array.decode(), "cls": ps.label()})
    return next(iter(loader))


def test_a_tensor_is_indexed_as_arrays_are(columns):
    tensor, labels = columns["npy"], columns["cls"]
    array = tensor.numpy()
    assert array.shape == tensor.shape == (6, 3, 4) and len(tensor) == 6
    for index in (0, 5, -1, -6):
        assert tensor[index].shape == (3, 4) and (tensor[index].numpy() == array[index]).all()
        assert labels[index] == labels.numpy()[index] and type(labels[index]) is int
    for index in (slice(None), slice(2, 4), slice(-3, None), slice(4, 2), slice(3, 99)):
        assert (tensor[index].numpy() == array[index]).all() and tensor[index].shape == array[index].shape
    assert tensor[4][2][3] == 411.0 and tensor[1:3][-1].tolist() == array[2].tolist()
    assert [row.tolist() for row in tensor] == array.tolist() and list(labels) == labels.tolist()
    for index in (6, -7, 1 << 70):
        with pytest.raises(IndexError):
            tensor[index]
    with pytest.raises(ValueError, match="cannot have a step"):
        tensor[::2]
    for index in ("a", 1.0, (0, 1), None):
        with pytest.raises(TypeError, match="must be a number, a slice or an array"):
            tensor[index]


def test_what_is_indexed_keeps_its_memory(columns):
    row = columns["npy"][5]
    array = row.numpy()
    wanted = array.tolist()
    columns.clear()
    del row
    gc.collect()
    assert array.tolist() == wanted == [[500.0 + 4 * i + j for j in range(4)] for i in range(3)]


def test_a_tensor_becomes_an_array_a_tensor_of_torch_and_lists(columns):
    torch = pytest.importorskip("torch")
    tensor = columns["npy"]
    assert tensor.torch().tolist() == tensor.tolist() == tensor.numpy().tolist()
    assert tensor.torch().data_ptr() == tensor.numpy().ctypes.data
    assert columns["__valid__"].tolist() == columns["__valid__"].torch().tolist() == [True] * 6
    assert columns["cls"].torch().dtype == torch.int64
    assert torch.as_tensor(columns["cls"]).tolist() == list(range(6))


def test_a_tensor_of_bfloat16_becomes_lists(tmp_path):
    numpy = pytest.importorskip("numpy")
    numpy.save(tmp_path / "a.npy", numpy.array([[1.5, -2.0], [0.0, 3e38]], numpy.float32))
    batch = next(iter(ps.Loader(tmp_path, transforms={"npy": ps.array.decode() | ps.array.cast("bfloat16")})))
    values = batch["npy"].tolist()
    assert values[0][0] == [1.5, -2.0] and values[0][1] == [0.0, pytest.approx(3e38, rel=0.01)]
    assert batch["npy"][0][0][1] == -2.0


def test_a_tensor_takes_an_array_as_its_index(columns):
    torch = pytest.importorskip("torch")
    tensor, labels = columns["npy"], columns["cls"]
    wanted = tensor.numpy()[3:].tolist()
    assert tensor[labels > 2].tolist() == wanted
    assert tensor[labels.torch() > 2].tolist() == wanted and torch.is_tensor(tensor[labels.torch() > 2])
    assert tensor[columns["__valid__"]].tolist() == tensor.tolist()
    assert labels[labels.numpy()[::-1]].tolist() == [5, 4, 3, 2, 1, 0] and labels[labels.numpy()[2]] == 2
    with pytest.raises(IndexError):
        tensor[labels.numpy()[:2] > 2]


def test_what_arrays_of_other_libraries_have_is_told_with_where_it_is(columns):
    tensor = columns["npy"]
    assert tensor.ndim == 3 and tensor[0].ndim == 2
    for name in ("mean", "float", "permute", "unsqueeze", "astype", "reshape", "item"):
        with pytest.raises(
            AttributeError, match=rf"only holds values and has no {name}; use t.torch\(\).{name} or t.numpy\(\).{name}$"
        ):
            getattr(tensor, name)
    for name in ("to", "cuda"):
        with pytest.raises(
            AttributeError, match=rf'has no {name}; use t.torch\(\).{name}\(...\), or Loader\(device="cuda:0"\)'
        ):
            getattr(tensor, name)
    with pytest.raises(AttributeError, match="has no size; use t.shape, len"):
        tensor.size()
    with pytest.raises(AttributeError, match="^'penstock.Tensor' object has no attribute 'shap'$"):
        tensor.shap
    assert not hasattr(tensor, "__array_interface__") and getattr(tensor, "mean", None) is None


def test_the_truth_of_a_tensor_is_that_of_its_one_element(columns):
    labels = columns["cls"]
    assert [bool(labels[i : i + 1]) for i in range(2)] == [False, True]
    for several in (labels, columns["npy"], labels[:0]):
        with pytest.raises(ValueError, match=r"of shape \(.*\) is ambiguous; use t.numpy\(\).any\(\) or .all\(\)"):
            bool(several)


def test_ragged_rows_are_no_array_and_say_so(tmp_path):
    numpy = pytest.importorskip("numpy")
    for i in range(3):
        (tmp_path / f"{i}.json").write_text(str(list(range(i))))
    batch = next(iter(ps.Loader(tmp_path, batch_size=3, transforms={"json": ps.array.decode("int64", ragged=True)})))
    ragged = batch["json"]
    for call in (numpy.asarray, numpy.array, numpy.mean):
        with pytest.raises(TypeError, match="a penstock.Ragged is not an array, .* use r.values and r.offsets"):
            call(ragged)
    for name in ("shape", "mean", "numpy", "to"):
        with pytest.raises(AttributeError, match=f"a penstock.Ragged has no {name}, .* r.values and r.offsets"):
            getattr(ragged, name)
    with pytest.raises(TypeError):
        ragged + 1
    assert not hasattr(ragged, "row") and "3 rows of different length" in repr(batch)


def test_what_is_not_in_a_batch_a_dataset_or_a_loader_is_told_with_what_is(columns, tmp_path):
    with pytest.raises(KeyError, match="the batch has no output 'image', it has npy, cls, __key__, __valid__"):
        columns["image"]
    with pytest.raises(KeyError, match=r"a batch is a dict of outputs \(npy, .*: batch\[output\]\[0\]"):
        columns[0]
    assert columns.get("image") is None and "image" not in columns
    labels = tmp_path / "labels"
    labels.mkdir()
    for i in range(10):
        (labels / f"{i}.cls").write_text(str(i))
    dataset = ps.open(labels)
    with pytest.raises(KeyError, match="sample 0 has no field .*image.*, it has cls"):
        dataset[0]["image"]
    assert dataset[-1].key == "9" and [sample.key for sample in dataset] == dataset.keys
    with pytest.raises(IndexError, match="sample 10 is out of range for a dataset of 10"):
        dataset[10]
    for index, told in (
        (slice(0, 5), "cannot be sliced"),
        ("3", "dataset.find(key)"),
        (None, "whole number"),
        (1.0, "whole"),
    ):
        with pytest.raises(TypeError, match=re.escape(told)) as raised:
            dataset[index]
        assert "\n" not in str(raised.value)
    numpy = pytest.importorskip("numpy")
    assert dataset[numpy.int64(3)].key == "3"
    loader = ps.Loader(labels)
    with pytest.raises(TypeError, match=r"`for batch in loader` .*loader.at\(epoch, batch\).*ps.torch.Loader"):
        loader[0]
    torch = pytest.importorskip("torch")
    with pytest.raises(TypeError, match="pass a ps.torch.Loader to torch's DataLoader"):
        next(iter(torch.utils.data.DataLoader(loader)))
