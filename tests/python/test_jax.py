"""Tensors of a batch in JAX: without a copy, and the slab is kept for as long as JAX uses it."""

import gc

import numpy as np
import penstock as ps
import pytest

jax = pytest.importorskip("jax")
FIELDS = {"npy": ps.array.decode(), "cls": ps.label()}


def test_arrays_are_taken_without_a_copy(arrays):
    batch = next(iter(ps.Loader(arrays, batch_size=8, transforms=FIELDS)))
    taken = jax.dlpack.from_dlpack(batch["npy"])
    assert taken.shape == (8, 5) and taken.dtype == jax.numpy.float32
    assert taken.unsafe_buffer_pointer() == np.asarray(batch["npy"]).ctypes.data
    assert taken[2].tolist() == [2, 3, 4, 5, 6]
    assert float(jax.jit(jax.numpy.sum)(taken)) == sum(5 * i + 10 for i in range(8))
    assert jax.numpy.from_dlpack(batch["__valid__"]).tolist() == [True] * 8


def test_labels_keep_64_bits_where_jax_allows_them(arrays):
    batch = next(iter(ps.Loader(arrays, batch_size=8, transforms=FIELDS)))
    labels = jax.numpy.asarray(np.asarray(batch["cls"]))
    assert labels.dtype == jax.numpy.int32 and labels.tolist() == [0, 1, 2, 3] * 2


def test_memory_stays_as_it_is_while_jax_has_it(arrays):
    loader = ps.Loader(arrays, batch_size=8, memory_options=ps.MemoryOptions(reserved_batches=3), transforms=FIELDS)
    kept = None
    for epoch in range(20):
        for batch in loader:
            if kept is None:
                kept = jax.dlpack.from_dlpack(batch["npy"])
                values = np.array(kept)
    del batch
    loader.close()
    del loader
    gc.collect()
    assert np.array_equal(kept, values)


def test_batches_that_jax_still_has_count_as_held(long_arrays):
    iterator = iter(
        ps.Loader(long_arrays, batch_size=4, memory_options=ps.MemoryOptions(reserved_batches=2), transforms=FIELDS)
    )
    kept = [jax.dlpack.from_dlpack(next(iterator)["npy"]) for _ in range(2)]
    with pytest.raises(ps.Error, match="reserved_batches=2"):
        next(iterator)
    del kept
    gc.collect()
    assert len(next(iterator)["__key__"]) == 4
