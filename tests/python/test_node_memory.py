"""Tests that the ranks of a node share one cache: how much memory all of them take, and that batches stay the same."""

import hashlib
import multiprocessing
import os

import numpy as np
import pytest

import penstock as ps

RANKS = 8
SAMPLES, SIDE = 1500, 96
ROW = SIDE * SIDE * 3
OPTIONS = {"batch_size": 50, "shuffle": True, "seed": 3, "workers": 1, "publish": False}


@pytest.fixture(scope="module")
def arrays(tmp_path_factory):
    folder = tmp_path_factory.mktemp("node") / "arrays.h5.d"
    generator = np.random.default_rng(5)
    with ps.Writer(folder, format="hdf5") as writer:
        for number in range(SAMPLES):
            picture = generator.integers(0, 256, (SIDE, SIDE, 3), np.uint8)
            writer.add(f"{number:06d}", {"x.npy": picture, "cls": number % 10})
    return folder


def shared_bytes(kind):
    """Bytes of sample caches in this process, by /proc/self/smaps: Pss counts a page by its share of who maps it."""
    total, ours = 0, False
    with open("/proc/self/smaps") as maps:
        for line in maps:
            if "-" in line.split()[0]:
                ours = "/memfd:penstock-cache" in line
            elif ours and line.startswith(kind + ":"):
                total += int(line.split()[1]) * 1024
    return total


def loader_of(folder, **options):
    return ps.Loader(str(folder), **(OPTIONS | options))


def digest_of(loader, epochs):
    digest = hashlib.sha256()
    for _ in range(epochs):
        for batch in loader:
            digest.update(np.asarray(batch["x.npy"]).tobytes())
            digest.update("".join(batch["__key__"]).encode())
    return digest.hexdigest()


def be_a_rank(folder, rank, world, scope, barrier, answers):
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(world), LOCAL_WORLD_SIZE=str(world))
    loader = loader_of(folder, rank="env", cache=ps.CacheOptions("decoded", limit=128 << 20, shared=scope))
    barrier.wait(60)
    digest = digest_of(loader, 4)
    for _ in range(2 * world):  # until each rank has met, and so mapped, nearly all samples
        for _batch in loader:
            pass
    barrier.wait(120)
    stats = loader.stats()
    answers.put((rank, digest, shared_bytes("Pss"), shared_bytes("Rss"), dict(stats["cache"]), stats["notes"]))
    barrier.wait(60)  # nobody leaves while others count


def tell(folder, rank, world, scope, barrier, answers):
    try:
        be_a_rank(folder, rank, world, scope, barrier, answers)
    except BaseException as error:
        barrier.abort()
        answers.put((rank, repr(error)))
        raise


def ranks(folder, world, scope="node"):
    context = multiprocessing.get_context("spawn")
    barrier, answers = context.Barrier(world), context.Queue()
    started = [
        context.Process(target=tell, args=(folder, rank, world, scope, barrier, answers)) for rank in range(world)
    ]
    for process in started:
        process.start()
    told = sorted(answers.get(timeout=100) for _ in started)
    for process in started:
        process.join(60)
        assert process.exitcode == 0, told
    return told


def test_eight_ranks_take_little_more_memory_than_one(arrays):
    (alone,) = ranks(arrays, 1)
    together = ranks(arrays, RANKS)
    plain = [digest_of(loader_of(arrays, rank=rank, world_size=RANKS), 4) for rank in range(RANKS)]
    assert [digest for _, digest, *_ in together] == plain
    taken = sum(pss for _, _, pss, _, _, _ in together)
    print(f"one rank {alone[2] / 1e6:.1f} MB, {RANKS} ranks {taken / 1e6:.1f} MB")
    assert alone[2] >= SAMPLES * ROW
    assert taken <= 1.1 * alone[2]
    for _, _, pss, rss, cache, notes in together:
        assert "cache" not in notes
        assert cache["scope"] == "node" and cache["members"] == RANKS
        assert cache["values"] == together[0][4]["values"] == alone[4]["values"]
        assert cache["hits_of_others"] > 0.5 * cache["hits"]
        assert rss > 2 * pss  # it maps what others brought


def test_a_scope_of_its_own_shares_nothing(arrays):
    for _, _, pss, _, cache, _ in ranks(arrays, 2, "process"):
        assert pss == 0
        assert cache["scope"] == "process" and cache["members"] == 0 and cache["hits_of_others"] == 0
    with pytest.raises(ps.Error):
        loader_of(arrays, cache=ps.CacheOptions("decoded", shared="world"))


def test_loaders_of_one_process_share_and_say_so(arrays):
    options = {"cache": ps.CacheOptions("decoded", limit=128 << 20, shared="node")}
    first = loader_of(arrays, **options)
    digest_of(first, 1)
    second = loader_of(arrays, **(options | {"seed": 9}))
    assert second.stats()["cache"]["members"] == 2
    assert digest_of(second, 2) == digest_of(loader_of(arrays, seed=9), 2)
    cache = second.stats()["cache"]
    assert cache["misses"] == 0 and cache["hits_of_others"] == cache["hits"]
    assert "decoded, shared by 2 loaders of the node" in str(second.stats())


def forked_child(folder, answers):
    loader = loader_of(folder, cache=ps.CacheOptions("decoded", limit=128 << 20, shared="node"))
    answers.put((loader.stats()["cache"]["members"], digest_of(loader, 1), shared_bytes("Rss")))


def test_a_forked_child_has_its_own_way_to_the_memory(arrays):
    loader = loader_of(arrays, cache=ps.CacheOptions("decoded", limit=128 << 20, shared="node"))
    expected = digest_of(loader, 1)
    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    child = context.Process(target=forked_child, args=(arrays, answers))
    child.start()
    members, digest, mapped = answers.get(timeout=60)
    child.join(60)
    assert (members, digest) == (2, expected) and mapped > 0
    assert loader.stats()["cache"]["members"] == 1
    digest_of(loader, 1)
