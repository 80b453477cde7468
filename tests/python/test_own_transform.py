"""ps.transform(): functions of a program in a chain, one row at a time."""

import pickle
import threading
import zlib

import numpy as np
import penstock as ps
import pytest


def test_rows_are_what_the_function_makes_of_what_the_workers_made(arrays):
    fields = {
        "npy": ps.array.cast("float64") | ps.transform(lambda row: row[::-1]) | ps.transform(np.cumsum),
        "raw": ps.field("cls") | ps.raw() | ps.transform(lambda text: int(text.tobytes()), shape=(), dtype=np.int16),
        "cls": ps.label(),
    }
    threads = set()
    fields["who"] = ps.field("cls") | ps.label() | ps.transform(lambda c: threads.add(threading.get_ident()) or c)
    for batch in ps.Loader(arrays, batch_size=16, shuffle=True, transforms=fields):
        numbers = np.array([int(key) for key in batch["__key__"]])
        rows = (numbers[:, None] + np.arange(5))[:, ::-1].cumsum(axis=1)
        assert isinstance(batch["npy"], np.ndarray) and batch["npy"].dtype == np.float64
        np.testing.assert_array_equal(batch["npy"], rows)
        assert batch["raw"].dtype == np.int16
        np.testing.assert_array_equal(batch["raw"], numbers % 4)
        np.testing.assert_array_equal(batch["who"], np.asarray(batch["cls"]))
    assert len(threads) == 1 and threading.get_ident() not in threads


def test_transforms_and_chains_compose_only_where_they_fit():
    step = ps.transform(np.sort)
    assert repr(ps.image.resize((8, 8)) | step | ps.transform(np.flip)) == (
        "image.resize(8, 8) | transform(sort) | transform(flip)"
    )
    with pytest.raises(TypeError, match="come first"):
        step | ps.follow("jpg")
    with pytest.raises(TypeError, match="function"):
        ps.transform("sort")
    assert repr(pickle.loads(pickle.dumps(ps.array.decode() | step))) == "array.decode() | transform(sort)"


def test_a_sample_that_a_subset_names_twice_draws_anew(arrays):
    def drawn(subset):
        fields = {"npy": ps.transform(lambda row, random: row * 0 + random.uniform()), "cls": ps.label()}
        return next(iter(ps.Loader(arrays, batch_size=4, transforms=fields, sampler=ps.sampler.subset(subset))))["npy"][
            :, 0
        ].tolist()

    alone, again = drawn([3, 5]), drawn([3, 5, 3, 3])
    assert again[:2] == alone and len(set(again)) == 4


def test_draws_are_a_function_of_the_sample_also_after_a_restore_and_in_at(arrays):
    def noisy(row, random):
        return row + random.random(5)

    def options(seed=7):
        return {
            "batch_size": 8,
            "shuffle": True,
            "seed": seed,
            "transforms": {"npy": ps.transform(noisy), "also": ps.field("npy") | ps.transform(noisy)},
        }

    loader = ps.Loader(arrays, **options())
    epochs = [[(b["__key__"], b["npy"].tolist(), b["also"].tolist()) for b in loader] for _ in range(2)]
    keys, rows, also = epochs[1][3]
    random = np.random.Generator(np.random.Philox(counter=[0, 0, int(keys[2]), zlib.crc32(b"npy\x000")], key=[7, 1]))
    np.testing.assert_array_equal(rows[2], int(keys[2]) + np.arange(5, dtype=np.float32) + random.random(5))
    assert rows != also
    assert loader.at(1, 3)["npy"].tolist() == rows
    other = ps.Loader(arrays, **options(), workers=1, prefetch=4)
    iterator = iter(other)
    next(iterator)
    restored = ps.Loader(arrays, **options(seed=1))
    restored.load_state_dict(other.state_dict())
    assert [b["npy"].tolist() for b in restored] == [rows for _, rows, _ in epochs[0][1:]]


def test_rows_that_differ_in_shape_are_an_error_with_key_field_and_shapes(arrays):
    uneven = ps.transform(lambda row: row[: 3 if row[0] == 2 else 5])
    with pytest.raises(ps.Error, match=r"float32 \(3,\), and float32 \(5,\)") as caught:
        list(ps.Loader(arrays, batch_size=8, transforms={"npy": uneven}))
    assert (caught.value.kind, caught.value.key, caught.value.field) == ("shape", "002", "npy")
    assert caught.value.__notes__ == ["penstock: epoch 0, batch 0"]
    with pytest.raises(ps.Error, match=r"gave float32 \(5,\), not \(4,\)"):
        list(ps.Loader(arrays, batch_size=8, transforms={"npy": ps.transform(lambda row: row, shape=(4,))}))
    with pytest.raises(TypeError, match="same_kind"):
        list(ps.Loader(arrays, batch_size=8, transforms={"npy": ps.transform(lambda row: row, dtype="int32")}))


def test_a_function_that_forgets_to_return_is_told(arrays):
    loader = ps.Loader(arrays, batch_size=4, transforms={"npy": ps.array.decode() | ps.transform(lambda row: None)})
    with pytest.raises(TypeError, match=r"^transform\(.*lambda>\) returned None; it must return the row"):
        next(iter(loader))


def test_an_exception_names_output_and_sample(arrays):
    def fails(row):
        if row[0] == 11:
            raise KeyError("eleven")
        return row

    with pytest.raises(KeyError) as caught:
        list(ps.Loader(arrays, batch_size=8, transforms={"npy": ps.transform(fails)}))
    sample, place = caught.value.__notes__
    assert "output 'npy', sample '011', row 3" in sample and "fails" in sample
    assert place == "penstock: epoch 0, batch 1"


def test_rows_marked_bad_are_zeros_that_no_function_sees(tmp_path):
    for i in range(6):
        (tmp_path / f"{i}.cls").write_text("broken" if i in (1, 4, 5) else str(i))
    options = {"batch_size": 4, "on_error": "mark", "max_errors": 1.0}

    def positive(label):
        assert label != 0 or label.item() == 0
        return label + 10

    fields = {"cls": ps.label() | ps.transform(positive, shape=(), dtype=np.int64)}
    first, second = [batch["cls"].tolist() for batch in ps.Loader(tmp_path, transforms=fields, **options)]
    assert first == [10, 0, 12, 13]
    assert second == [0, 0]
    unknown = ps.Loader(tmp_path, transforms={"cls": ps.label() | ps.transform(positive)}, **options)
    with pytest.raises(ps.Error, match="pass shape= and dtype= to transform"):
        list(unknown)
