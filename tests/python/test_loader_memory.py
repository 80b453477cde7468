"""Tests the memory of penstock.Loader: batches that are held, loaders that are left, caches."""

import gc
import itertools
import os
import time

import numpy as np
import penstock as ps
import pytest
from loading import FIELDS


def test_holding_more_than_held_names_held(long_arrays):
    with pytest.raises(
        ps.Error, match=r"reserved_batches=2 .*views.*Release.*numpy\.array\(\).*\.clone\(\).*max_live_batches"
    ) as raised:
        list(
            ps.Loader(long_arrays, batch_size=4, transforms=FIELDS, memory_options=ps.MemoryOptions(reserved_batches=2))
        )
    assert raised.value.kind == "resource"
    assert str(raised.value).endswith("set max_live_batches to the number of batches that you keep (an epoch has 10)")
    assert (
        len(
            list(
                ps.Loader(
                    long_arrays, batch_size=4, transforms=FIELDS, memory_options=ps.MemoryOptions(max_live_batches=10)
                )
            )
        )
        == 10
    )
    assert (
        len(
            list(
                ps.Loader(
                    long_arrays, batch_size=4, transforms=FIELDS, memory_options=ps.MemoryOptions(reserved_batches=10)
                )
            )
        )
        == 10
    )


def test_held_max_lets_held_grow(long_arrays):
    def kept(**options):
        loader = ps.Loader(long_arrays, batch_size=4, transforms=FIELDS, **options)
        bound = loader.stats()["slab_bytes"] + loader.stats()["held_max_bytes"]
        values = np.concatenate([batch["npy"] for batch in list(loader)])
        assert np.array_equal(values[:, 0], np.arange(40, dtype=np.float32))
        assert loader.stats()["slab_bytes"] <= bound
        return loader.stats()["slabs"]

    assert (
        kept(memory_options=ps.MemoryOptions(reserved_batches=2, max_live_batches=10))
        > kept(memory_options=ps.MemoryOptions(reserved_batches=10)) - 10
    )
    kept()
    with pytest.raises(ps.Error, match=r"max_live_batches=9 \(reserved_batches=4\)"):
        kept(memory_options=ps.MemoryOptions(max_live_batches=9))
    with pytest.raises(ps.Error, match=r"max_live_batches=16 \(reserved_batches=4\)"):
        list(ps.Loader(long_arrays, batch_size=1, transforms=FIELDS))
    with pytest.raises(ps.Error, match="max_live_batches must be at least reserved_batches"):
        kept(memory_options=ps.MemoryOptions(reserved_batches=3, max_live_batches=2))
    assert (
        len(
            list(
                itertools.islice(
                    ps.Loader(
                        long_arrays,
                        batch_size=1,
                        transforms=FIELDS,
                        memory_options=ps.MemoryOptions(max_live_batches=3),
                    ),
                    3,
                )
            )
        )
        == 3
    )


def test_small_rows_are_copies_that_hold_no_memory_of_the_loader(arrays, long_arrays):
    fields = {**FIELDS, "text": ps.field("cls") | ps.raw()}

    def loader(source=long_arrays):
        return ps.Loader(source, batch_size=4, transforms=fields, memory_options=ps.MemoryOptions(reserved_batches=2))

    labels, valid, text = [], [], []
    for batch in loader():
        labels.append(batch["cls"])
        valid.append(batch["__valid__"])
        text.append(batch["text"])
    assert np.concatenate(labels).tolist() == [i % 4 for i in range(40)]
    assert np.concatenate(valid).all()
    assert b"".join(rows[3].tobytes() for rows in text) == b"3" * 10
    assert len(list(loader(arrays))) == 10
    assert all((np.asarray(a["npy"]) == b["npy"]).all() for a, b in zip(loader(arrays), loader(arrays)))
    ordered = sorted(loader(arrays), key=lambda batch: -np.asarray(batch["npy"])[0, 0])
    assert [batch["__key__"][0] for batch in ordered] == [f"{i:03}" for i in range(36, -1, -4)]


def process_figures():
    with open("/proc/self/statm", encoding="ascii") as file:
        resident = int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return len(os.listdir("/proc/self/task")), resident


def test_two_thousand_loaders_leave_neither_threads_nor_memory(arrays):
    dataset = ps.open(arrays)
    kept = None

    def make(count):
        nonlocal kept
        for i in range(count):
            loader = ps.Loader(dataset, batch_size=8, transforms=FIELDS, workers=2, shuffle=True, seed=i)
            if i % 4:
                kept = next(iter(loader))["npy"]  # outlives its loader
        del loader
        gc.collect()

    make(200)
    threads, memory = process_figures()
    began = time.monotonic()
    make(2000)
    threads_after, memory_after = process_figures()
    print(f"{(time.monotonic() - began) / 2000 * 1e3:.2f} ms a loader, {(memory_after - memory) / 1e6:.1f} MB more")
    assert threads_after <= threads
    assert memory_after - memory < 16e6
    assert np.asarray(kept).shape == (8, 5)


@pytest.mark.parametrize("cache", ["encoded", "decoded"])
def test_a_cache_gives_the_same_batches_and_is_counted(icons, cache):
    fields = {"png": ps.image.random_horizontal_flip() | ps.image.normalize([0.5] * 3, [0.2] * 3), "cls": ps.label()}
    options = {"batch_size": 32, "shuffle": True, "seed": 4, "workers": 2, "transforms": fields}
    plain = ps.Loader(icons, **options)
    kept = ps.Loader(icons, cache=ps.CacheOptions(cache, limit=16 << 20), **options)
    for _ in range(3):
        for expected, batch in zip(plain, kept, strict=True):
            assert np.array_equal(np.asarray(expected["png"]), np.asarray(batch["png"]))
            assert np.array_equal(np.asarray(expected["cls"]), np.asarray(batch["cls"]))
    told = kept.stats()["cache"]
    assert told["kind"] == cache and told["hits"] >= 4 * len(ps.open(icons)) - 1000
    assert 0 < told["used_bytes"] <= told["reserved_bytes"] <= 16 << 20
    assert "cache       " + cache in str(kept.stats())
    assert plain.stats()["cache"]["kind"] == "none"
    for wrong in [{"cache": "both"}, {"cache": ps.CacheOptions(cache, limit=100)}]:
        with pytest.raises(ps.Error) as raised:
            ps.Loader(icons, **wrong, **options)
        assert raised.value.kind == "invalid_argument"
