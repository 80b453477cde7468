"""ps.Loader(batch_transform=...): order, positions, draws, exceptions, memory and stats."""

import threading
import time

import numpy as np
import penstock as ps
import pytest
from own_steps import FIELDS, same


def rows_of(batches):
    return [(batch["__key__"], np.asarray(batch["npy"]).tolist()) for batch in batches]


def test_the_order_is_that_without_it_and_the_loop_gets_what_it_returns(arrays):
    options = {"batch_size": 8, "shuffle": True, "seed": 3, "transforms": FIELDS}
    plain = ps.Loader(arrays, **options)
    expected = rows_of(plain) + rows_of(plain)
    threads = set()

    def on_batch(batch):
        threads.add(threading.get_ident())
        return {**batch, "mean": np.asarray(batch["npy"]).mean(axis=1)}

    loader = ps.Loader(arrays, **options, batch_transform=on_batch)
    got = []
    for _ in range(2):
        for batch in loader:
            np.testing.assert_allclose(batch["mean"], np.asarray(batch["npy"]).mean(axis=1))
            got.append((batch["__key__"], np.asarray(batch["npy"]).tolist()))
    assert got == expected
    assert len(threads) == 1 and threading.get_ident() not in threads


def test_anything_but_none_may_be_returned(arrays):
    loader = ps.Loader(arrays, batch_size=20, transforms=FIELDS, batch_transform=lambda batch: len(batch["__key__"]))
    assert list(loader) == [20, 20]
    forgetful = ps.Loader(arrays, batch_size=20, transforms=FIELDS, batch_transform=lambda batch: batch.update(new=1))
    with pytest.raises(TypeError, match="return the batch"):
        next(iter(forgetful))
    with pytest.raises(TypeError, match="function"):
        ps.Loader(arrays, transforms=FIELDS, batch_transform=3)


def test_it_runs_ahead_while_the_program_works(arrays):
    seen = []
    loader = ps.Loader(
        arrays, batch_size=2, prefetch=3, transforms=FIELDS, batch_transform=lambda batch: seen.append(1) or batch
    )
    iterator = iter(loader)
    next(iterator)
    for _ in range(100):
        if len(seen) == 5:
            break
        time.sleep(0.01)
    time.sleep(0.05)
    assert len(seen) == 1 + 3 + 1
    assert loader.state_dict()["batch"] == 1


@pytest.mark.parametrize("way", ["state", "break", "set_epoch"])
def test_positions_are_those_of_the_program(arrays, way):
    options = {"batch_size": 4, "shuffle": True, "seed": 1, "transforms": FIELDS}
    plain, loader = ps.Loader(arrays, **options), ps.Loader(arrays, **options, batch_transform=same)
    epochs = [rows_of(plain) for _ in range(3)]
    for number, _ in enumerate(loader):
        if number == 3:
            break
    if way == "state":
        state = loader.state_dict()
        restored = ps.Loader(arrays, **options, batch_transform=same)
        next(iter(restored))
        restored.load_state_dict(state)
        assert rows_of(restored) == epochs[0][4:]
    if way == "break":
        assert rows_of(loader) == epochs[1]
    if way == "set_epoch":
        loader.set_epoch(2)
        assert rows_of(loader) == epochs[2]
    assert rows_of([loader.at(1, 2)]) == [epochs[1][2]]


def test_on_batch_draws_too(arrays):
    def options():
        return {
            "batch_size": 8,
            "shuffle": True,
            "transforms": FIELDS,
            "batch_transform": lambda b, random: random.random(),
        }

    loader = ps.Loader(arrays, **options())
    drawn = list(loader)
    assert len(set(drawn)) == 5
    assert list(ps.Loader(arrays, **options())) == drawn
    assert loader.at(0, 3) == drawn[3]


def test_an_exception_is_the_original_one_with_a_note_and_the_next_batch_follows(arrays):
    class Mine(Exception):
        pass

    thrown = []

    def on_batch(batch):
        if "008" in batch["__key__"]:
            thrown.append(Mine("eight"))
            raise thrown[0]
        return batch

    loader = ps.Loader(arrays, batch_size=8, transforms=FIELDS, batch_transform=on_batch)
    iterator = iter(loader)
    next(iterator)
    with pytest.raises(Mine, match="eight") as caught:
        next(iterator)
    assert caught.value is thrown[0]
    assert caught.value.__notes__ == ["penstock: epoch 0, batch 1"]
    assert any(frame.name == "on_batch" for frame in caught.traceback)
    assert next(iterator)["__key__"][0] == "016"


def test_stop_iteration_does_not_end_an_epoch(arrays):
    loader = ps.Loader(arrays, batch_size=8, transforms=FIELDS, batch_transform=lambda batch: next(iter([])))
    with pytest.raises(RuntimeError, match="StopIteration"):
        list(loader)


def test_errors_of_the_data_pass_it_by(tmp_path):
    (tmp_path / "a.cls").write_text("1")
    (tmp_path / "b.cls").write_text("none")
    loader = ps.Loader(tmp_path, batch_size=1, transforms={"cls": ps.label()}, batch_transform=same)
    iterator = iter(loader)
    assert next(iterator)["__key__"] == ["a"]
    with pytest.raises(ps.Error) as caught:
        next(iterator)
    assert caught.value.key == "b"


def test_batches_that_the_program_holds_are_an_error_and_never_a_deadlock(long_arrays):
    loader = ps.Loader(
        long_arrays,
        batch_size=1,
        memory_options=ps.MemoryOptions(reserved_batches=2),
        transforms=FIELDS,
        batch_transform=same,
    )
    iterator = iter(loader)
    kept = [next(iterator), next(iterator)]
    with pytest.raises(ps.Error, match="reserved_batches=2"):
        next(iterator)
    kept.clear()
    next(iterator)
    hoard = []
    hoarding = ps.Loader(
        long_arrays,
        batch_size=1,
        memory_options=ps.MemoryOptions(reserved_batches=2),
        transforms=FIELDS,
        batch_transform=lambda b: hoard.append(b) or b,
    )
    with pytest.raises(ps.Error, match="reserved_batches=2"):
        for _ in hoarding:
            pass
    copies = ps.Loader(
        long_arrays,
        batch_size=1,
        memory_options=ps.MemoryOptions(reserved_batches=1),
        transforms=FIELDS,
        batch_transform=lambda b: np.array(b["npy"]),
    )
    assert len(list(copies)) == 40


def test_the_stats_add_up(arrays):
    def slow(batch):
        time.sleep(0.005)
        return batch

    loader = ps.Loader(
        arrays, batch_size=1, transforms={"npy": ps.transform(lambda row: row), "cls": ps.label()}, batch_transform=slow
    )
    for _ in range(3):
        for _ in loader:
            pass
    stats = loader.stats()
    python = stats["stages"]["custom_transform"]
    assert python["busy_s"] > 0.8 * stats["wall_s"]
    assert stats["data_wait_by_stage_s"]["custom_transform"] > 0.7 * stats["data_wait_s"]
    assert sum(stats["data_wait_by_stage_s"].values()) == pytest.approx(stats["data_wait_s"], rel=1e-3)
    assert stats["data_wait_s"] + stats["step_s"] == pytest.approx(stats["wall_s"], rel=0.02)
    assert stats["python_s"]["batch_transform"] > 120 * 0.005
    assert 0 < stats["python_s"]["npy"] < stats["python_s"]["batch_transform"]
    assert "custom_transform" in str(stats)
    loader.reset_stats()
    assert loader.stats()["python_s"] == {"npy": 0, "batch_transform": 0}
    assert "custom_transform" not in ps.Loader(arrays, transforms=FIELDS).stats()["stages"]
