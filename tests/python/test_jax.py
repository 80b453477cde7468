"""Tensors of a batch in JAX: without a copy, and the slab is kept for as long as JAX uses it."""

import gc
import itertools

import numpy as np
import penstock as ps
import pytest

jax = pytest.importorskip("jax")
jax.config.update("jax_num_cpu_devices", 4)  # before the first array
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


def by_rows():
    mesh = jax.make_mesh((4,), ("data",))
    return jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("data"))


# Functions that do not copy.
HANDED_OVER = {
    "device_put": jax.device_put,
    "device_put to several devices": lambda array: jax.device_put(array, by_rows()),
    "make_array_from_process_local_data": lambda array: jax.make_array_from_process_local_data(by_rows(), array),
}


@pytest.mark.parametrize("way", HANDED_OVER)
def test_a_batch_that_jax_aliases_is_not_reused(way, long_arrays):
    """JAX for CPUs takes the memory of aligned NumPy arrays, also that of each shard."""
    options = ps.MemoryOptions(reserved_batches=2, max_live_batches=3)
    loader = ps.Loader(long_arrays, batch_size=16, shuffle=True, seed=1, memory_options=options, transforms=FIELDS)
    array = np.asarray(next(iter(loader))["npy"])
    values = array.copy()
    taken = HANDED_OVER[way](array)
    shards = taken.addressable_shards
    places = [shard.data.unsafe_buffer_pointer() - array.ctypes.data for shard in shards]
    assert places == [array.nbytes // len(shards) * number for number in range(len(shards))]
    del array, shards
    for _ in range(10):
        for batch in loader:
            del batch
    loader.close()
    del loader
    gc.collect()
    assert np.array_equal(taken, values)


def test_a_batch_on_several_devices_counts_as_held(long_arrays):
    options = ps.MemoryOptions(reserved_batches=2, max_live_batches=2)
    batches = iter(ps.Loader(long_arrays, batch_size=16, memory_options=options, transforms=FIELDS))
    kept = [jax.device_put(np.asarray(next(batches)["npy"]), by_rows()) for _ in range(2)]
    with pytest.raises(ps.Error, match="the program holds 2 batches"):
        next(batches)
    del kept
    gc.collect()
    assert len(next(batches)["__key__"]) == 8


def test_bfloat16_keeps_its_dtype(images):
    chain = ps.image.resize((16, 16)) | ps.image.cast("bfloat16")
    batch = next(iter(ps.Loader(images, batch_size=8, transforms={"jpg": chain})))
    taken = jax.dlpack.from_dlpack(batch["jpg"])
    assert taken.dtype == jax.numpy.bfloat16 and taken.shape == (8, 3, 16, 16)
    whole = next(iter(ps.Loader(images, batch_size=8, transforms={"jpg": ps.image.resize((16, 16))})))
    assert np.array_equal(taken.astype(np.float32), np.asarray(whole["jpg"]).astype(np.float32))


def test_the_state_of_a_batch_that_waits_is_not_saved(arrays):
    """The loop of docs/guides/jax.md is one batch ahead of the step."""

    def made():
        return ps.Loader(arrays, batch_size=8, shuffle=True, seed=1, transforms=FIELDS)

    def on_devices(loader):
        ahead = None
        for batch in loader:
            placed = jax.device_put(np.asarray(batch["npy"]), by_rows()), loader.state_dict()
            if ahead is not None:
                yield ahead
            ahead = placed
        yield ahead

    whole = [array[:, 0].tolist() for array, _ in itertools.chain(*(on_devices(loader) for loader in [made()] * 2))]
    assert len(whole) == 10
    for taken, (_, state) in enumerate(on_devices(made()), 1):
        rest = made()
        rest.load_state_dict(state)
        found = [array[:, 0].tolist() for array, _ in on_devices(rest)] if taken < 5 else []
        assert found == whole[taken:5], taken
