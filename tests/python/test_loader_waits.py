"""Tests threads that share a penstock.Loader, and what ends a wait for a batch."""

import threading
import time

import h5py
import numpy as np
import penstock as ps
import pytest
from loading import FIELDS


def test_threads_may_share_an_epoch(arrays):
    loader = ps.Loader(arrays, batch_size=1, transforms=FIELDS, memory_options=ps.MemoryOptions(reserved_batches=8))
    iterator, seen = iter(loader), []

    def take():
        for batch in iterator:
            seen.append(batch["__key__"][0])

    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(seen) == [f"{i:03}" for i in range(40)]


@pytest.fixture(name="slow", scope="session")
def slow_fixture(tmp_path_factory):
    """64 rows in one compressed chunk of 64 MiB, which a loader without a block cache undoes for every row."""
    path = tmp_path_factory.mktemp("data") / "slow.h5"
    with h5py.File(path, "w") as file:
        shape = (64, 1 << 20)
        file.create_dataset("x", shape, np.uint8, np.zeros(shape, np.uint8), chunks=shape, compression="gzip")
    return path


def slow_loader(path, **options):
    return ps.Loader(
        path,
        batch_size=64,
        workers=1,
        memory_options=ps.MemoryOptions(block_cache_bytes=0),
        transforms={"x": ps.array.decode()},
        **options,
    )


def test_a_timeout_ends_a_wait_and_names_what_is_under_way(slow):
    with pytest.raises(ps.Error, match="no batch within 120 ms.*slabs free") as raised:
        next(iter(slow_loader(slow, timeout=0.12)))
    assert raised.value.kind == "resource"


def test_close_ends_the_wait_of_another_thread(slow):
    loader = slow_loader(slow)
    timer = threading.Timer(0.1, loader.close)
    timer.start()
    with pytest.raises(ps.Error, match="closed"):  # the batch would come otherwise
        next(iter(loader))
    timer.join()


def test_stats_do_not_wait_for_the_thread_that_waits(slow):
    loader = slow_loader(slow)
    iterator = iter(loader)
    waiting = threading.Thread(target=lambda: pytest.raises(ps.Error, next, iterator))
    waiting.start()
    time.sleep(0.1)
    assert loader.stats()["batches"] == 0
    assert waiting.is_alive()
    loader.close()
    waiting.join()


def test_a_wait_lets_other_threads_run(slow):
    loader, ticks = slow_loader(slow), 0

    def wait():
        with pytest.raises(ps.Error):
            next(iter(loader))

    waiting = threading.Thread(target=wait)
    waiting.start()
    while ticks < 50 and waiting.is_alive():
        ticks += 1
        time.sleep(0.001)
    assert waiting.is_alive()
    loader.close()
    waiting.join()
