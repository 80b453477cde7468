"""Functions that a program adds to a loader: ps.Loader(on_batch=...) and ps.transform()."""

import gc
import os
import pickle
import resource
import signal
import subprocess
import sys
import threading
import time
import weakref
import zlib

import numpy as np
import penstock as ps
import pytest

FIELDS = {"npy": ps.array.decode(), "cls": ps.label()}


def rows_of(batches):
    return [(batch["__key__"], np.asarray(batch["npy"]).tolist()) for batch in batches]


def same(batch):
    return batch


def thread_count():
    return len(os.listdir("/proc/self/task"))


def run(code, *arguments):
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)], capture_output=True, text=True, timeout=60
    )


def test_the_order_is_that_without_it_and_the_loop_gets_what_it_returns(arrays):
    options = {"batch_size": 8, "shuffle": True, "seed": 3, "fields": FIELDS}
    plain = ps.Loader(arrays, **options)
    expected = rows_of(plain) + rows_of(plain)
    threads = set()

    def on_batch(batch):
        threads.add(threading.get_ident())
        return {**batch, "mean": np.asarray(batch["npy"]).mean(axis=1)}

    loader = ps.Loader(arrays, **options, on_batch=on_batch)
    got = []
    for _ in range(2):
        for batch in loader:
            np.testing.assert_allclose(batch["mean"], np.asarray(batch["npy"]).mean(axis=1))
            got.append((batch["__key__"], np.asarray(batch["npy"]).tolist()))
    assert got == expected
    assert len(threads) == 1 and threading.get_ident() not in threads


def test_anything_but_none_may_be_returned(arrays):
    loader = ps.Loader(arrays, batch_size=20, fields=FIELDS, on_batch=lambda batch: len(batch["__key__"]))
    assert list(loader) == [20, 20]
    forgetful = ps.Loader(arrays, batch_size=20, fields=FIELDS, on_batch=lambda batch: batch.update(new=1))
    with pytest.raises(TypeError, match="return the batch"):
        next(iter(forgetful))
    with pytest.raises(TypeError, match="function"):
        ps.Loader(arrays, fields=FIELDS, on_batch=3)


def test_it_runs_ahead_while_the_program_works(arrays):
    seen = []
    loader = ps.Loader(arrays, batch_size=2, prefetch=3, fields=FIELDS, on_batch=lambda batch: seen.append(1) or batch)
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
    options = {"batch_size": 4, "shuffle": True, "seed": 1, "fields": FIELDS}
    plain, loader = ps.Loader(arrays, **options), ps.Loader(arrays, **options, on_batch=same)
    epochs = [rows_of(plain) for _ in range(3)]
    for number, _ in enumerate(loader):
        if number == 3:
            break
    if way == "state":
        state = loader.state_dict()
        restored = ps.Loader(arrays, **options, on_batch=same)
        next(iter(restored))
        restored.load_state_dict(state)
        assert rows_of(restored) == epochs[0][4:]
    if way == "break":
        assert rows_of(loader) == epochs[1]
    if way == "set_epoch":
        loader.set_epoch(2)
        assert rows_of(loader) == epochs[2]
    assert rows_of([loader.at(1, 2)]) == [epochs[1][2]]


def test_an_exception_is_the_original_one_with_a_note_and_the_next_batch_follows(arrays):
    class Mine(Exception):
        pass

    thrown = []

    def on_batch(batch):
        if "008" in batch["__key__"]:
            thrown.append(Mine("eight"))
            raise thrown[0]
        return batch

    loader = ps.Loader(arrays, batch_size=8, fields=FIELDS, on_batch=on_batch)
    iterator = iter(loader)
    next(iterator)
    with pytest.raises(Mine, match="eight") as caught:
        next(iterator)
    assert caught.value is thrown[0]
    assert caught.value.__notes__ == ["penstock: epoch 0, batch 1"]
    assert any(frame.name == "on_batch" for frame in caught.traceback)
    assert next(iterator)["__key__"][0] == "016"


def test_stop_iteration_does_not_end_an_epoch(arrays):
    loader = ps.Loader(arrays, batch_size=8, fields=FIELDS, on_batch=lambda batch: next(iter([])))
    with pytest.raises(RuntimeError, match="StopIteration"):
        list(loader)


def test_errors_of_the_data_pass_it_by(tmp_path):
    (tmp_path / "a.cls").write_text("1")
    (tmp_path / "b.cls").write_text("none")
    loader = ps.Loader(tmp_path, batch_size=1, fields={"cls": ps.label()}, on_batch=same)
    iterator = iter(loader)
    assert next(iterator)["__key__"] == ["a"]
    with pytest.raises(ps.Error) as caught:
        next(iterator)
    assert caught.value.key == "b"


def test_batches_that_the_program_holds_are_an_error_and_never_a_deadlock(arrays):
    loader = ps.Loader(arrays, batch_size=1, held=2, fields=FIELDS, on_batch=same)
    iterator = iter(loader)
    kept = [next(iterator), next(iterator)]
    with pytest.raises(ps.Error, match="held = 2"):
        next(iterator)
    kept.clear()
    next(iterator)
    hoard = []
    hoarding = ps.Loader(arrays, batch_size=1, held=2, fields=FIELDS, on_batch=lambda b: hoard.append(b) or b)
    with pytest.raises(ps.Error, match="held = 2"):
        for _ in hoarding:
            pass
    copies = ps.Loader(arrays, batch_size=1, held=1, fields=FIELDS, on_batch=lambda b: np.array(b["npy"]))
    assert len(list(copies)) == 40


def test_the_stats_add_up(arrays):
    def slow(batch):
        time.sleep(0.005)
        return batch

    loader = ps.Loader(
        arrays, batch_size=1, fields={"npy": ps.transform(lambda row: row), "cls": ps.label()}, on_batch=slow
    )
    for _ in range(3):
        for _ in loader:
            pass
    stats = loader.stats()
    python = stats["stages"]["python"]
    assert python["busy_s"] > 0.8 * stats["wall_s"]
    assert stats["waited_for"]["python"] > 0.7 * stats["consumer_wait_s"]
    assert sum(stats["waited_for"].values()) == pytest.approx(stats["consumer_wait_s"], rel=1e-3)
    assert stats["consumer_wait_s"] + stats["consumer_busy_s"] == pytest.approx(stats["wall_s"], rel=0.02)
    assert stats["python_s"]["on_batch"] > 120 * 0.005
    assert 0 < stats["python_s"]["npy"] < stats["python_s"]["on_batch"]
    assert "python " in str(stats)
    loader.reset_stats()
    assert loader.stats()["python_s"] == {"npy": 0, "on_batch": 0}
    assert "python" not in ps.Loader(arrays, fields=FIELDS).stats()["stages"]


def test_it_cannot_use_its_own_loader(arrays):
    told = []

    def on_batch(batch):
        assert loader.stats()["workers"] >= 1
        for use in (lambda: loader.epoch, loader.state_dict, loader.close, lambda: loader.at(0, 0)):
            with pytest.raises(ps.Error, match="cannot use that loader"):
                use()
            told.append(use)
        return batch

    loader = ps.Loader(arrays, batch_size=40, prefetch=1, fields=FIELDS, on_batch=on_batch)
    next(iter(loader))
    assert len(told) >= 4


def test_another_loader_may_be_used_in_it(arrays):
    other = ps.Loader(arrays, batch_size=4, fields=FIELDS, on_batch=same)
    batches = iter(other)
    loader = ps.Loader(arrays, batch_size=8, fields=FIELDS, on_batch=lambda batch: (batch, next(batches)))
    assert [second["__key__"][0] for _, second in loader] == ["000", "004", "008", "012", "016"]


def test_close_waits_for_it(arrays):
    inside, left = threading.Event(), []

    def on_batch(batch):
        inside.set()
        time.sleep(0.2)
        left.append(1)
        return batch

    loader = ps.Loader(arrays, batch_size=8, fields=FIELDS, on_batch=on_batch)
    inside.wait()
    loader.close()
    count = len(left)
    assert count >= 1
    time.sleep(0.3)
    assert len(left) == count
    with pytest.raises(ps.Error, match="closed"):
        iter(loader)


def test_a_loader_in_a_cycle_with_its_functions_is_collected(arrays):
    class Model:
        def __init__(self):
            fields = {"npy": ps.array.decode() | ps.transform(self.row), "cls": ps.label()}
            self.loader = ps.Loader(arrays, batch_size=8, fields=fields, on_batch=self.batch)
            self.iterator = iter(self.loader)

        def row(self, row):
            return row

        def batch(self, batch):
            return batch

    model = Model()
    next(model.iterator)
    watch, before = weakref.ref(model.loader), thread_count()
    del model
    gc.collect()
    assert watch() is None
    assert thread_count() < before


def test_a_loader_that_its_own_function_drops_ends(arrays):
    before = thread_count()
    loaders = {}

    def on_batch(batch):
        loaders.clear()
        gc.collect()
        return batch

    go = threading.Event()
    loaders["it"] = ps.Loader(arrays, batch_size=8, fields=FIELDS, on_batch=lambda b: go.wait() and on_batch(b))
    watch = weakref.ref(loaders["it"])
    go.set()
    for _ in range(500):
        if watch() is None:
            break
        time.sleep(0.01)
    assert watch() is None
    ps.Loader(arrays, fields=FIELDS).close()
    assert thread_count() <= before


def test_five_hundred_loaders_leave_no_thread_and_no_memory(arrays):
    def use(count):
        for i in range(count):
            fields = {"npy": ps.array.decode() | ps.transform(lambda row: row * 2), "cls": ps.label()}
            loader = ps.Loader(arrays, batch_size=4, workers=2, fields=fields, on_batch=lambda batch: dict(batch))
            for number, _ in enumerate(loader):
                if number == i % 6:
                    break
            if i % 3 == 0:
                loader.close()

    use(50)
    before, threads = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, thread_count()
    use(500)
    assert thread_count() <= threads
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 8 << 10  # KiB


FOREVER = """
import sys, time, penstock as ps
def slow(batch):
    time.sleep(0.3)
    return batch
loader = ps.Loader(sys.argv[1], batch_size=1, fields={"cls": ps.label()}, on_batch=slow)
print("ready", flush=True)
for _ in range(100):
    for batch in loader: pass
"""


def test_ctrl_c_ends_an_epoch(arrays):
    command = [sys.executable, "-c", FOREVER, str(arrays)]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert child.stdout.readline() == b"ready\n"
    time.sleep(0.5)
    began = time.monotonic()
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=30)
    assert time.monotonic() - began < 5
    assert b"KeyboardInterrupt" in err
    assert child.returncode in (-signal.SIGINT, 130)


ENDINGS = {
    "a loader in a global": "keep = loader",
    "an epoch under way": "it = iter(loader); batch = next(it)",
    "inside the function": "import time; it = iter(loader); next(it); time.sleep(0.05)",
    "results not taken": "import time; it = iter(loader); next(it); time.sleep(0.3)",
    "an exception in the loop": "for batch in loader: raise SystemExit(0)",
    "a cycle": "class C: pass\nc = C(); c.loader = loader; c.me = c",
    "a thread that waits": (
        "import threading\n"
        "def forever():\n"
        "    try:\n"
        "        while True:\n"
        "            for batch in loader: pass\n"
        "    except ps.Error: pass\n"
        "threading.Thread(target=forever, daemon=True).start()"
    ),
    "a forked child that exits": "import os\nnext(iter(loader))\nif os.fork() == 0: raise SystemExit(0)\nos.wait()",
    "a failure not taken": "import time; FAIL.append(1); time.sleep(0.3)",
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_interpreter_ends_quietly(arrays, ending):
    code = (
        "import sys, time, penstock as ps\n"
        "FAIL = []\n"
        "def step(batch):\n"
        "    time.sleep(0.02)\n"
        "    if FAIL: raise ValueError('not taken')\n"
        "    return batch\n"
        "loader = ps.Loader(sys.argv[1], batch_size=4, workers=3, on_batch=step,\n"
        "                   fields={'cls': ps.label(), 'npy': ps.transform(lambda row: row)})\n"
    )
    done = run(code + ENDINGS[ending], arrays)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_forked_child_is_told_and_makes_its_own(arrays):
    loader = ps.Loader(arrays, batch_size=8, fields=FIELDS, on_batch=same)
    iterator = iter(loader)
    next(iterator)
    child = os.fork()
    if child == 0:
        told = 0
        try:
            next(iterator)
        except ps.Error as error:
            told += "fork" in str(error)
        loader.close()
        told += len(list(ps.Loader(arrays, batch_size=8, fields=FIELDS, on_batch=lambda b: 1))) == 5
        os._exit(told)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 2
    assert len(next(iterator)["__key__"]) == 8


# ps.transform


def test_rows_are_what_the_function_makes_of_what_the_workers_made(arrays):
    fields = {
        "npy": ps.array.cast("float64") | ps.transform(lambda row: row[::-1]) | ps.transform(np.cumsum),
        "raw": ps.field("cls") | ps.raw() | ps.transform(lambda text: int(text.tobytes()), shape=(), dtype=np.int16),
        "cls": ps.label(),
    }
    threads = set()
    fields["who"] = ps.field("cls") | ps.label() | ps.transform(lambda c: threads.add(threading.get_ident()) or c)
    for batch in ps.Loader(arrays, batch_size=16, shuffle=True, fields=fields):
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
    with pytest.raises(TypeError, match="comes last"):
        step | ps.image.random_flip()
    with pytest.raises(TypeError, match="function"):
        ps.transform("sort")
    assert repr(pickle.loads(pickle.dumps(ps.array.decode() | step))) == "array.decode() | transform(sort)"


def test_draws_are_a_function_of_the_sample_also_after_a_restore_and_in_at(arrays):
    def noisy(row, random):
        return row + random.random(5)

    def options(seed=7):
        return {
            "batch_size": 8,
            "shuffle": True,
            "seed": seed,
            "fields": {"npy": ps.transform(noisy), "also": ps.field("npy") | ps.transform(noisy)},
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


def test_on_batch_draws_too(arrays):
    def options():
        return {"batch_size": 8, "shuffle": True, "fields": FIELDS, "on_batch": lambda b, random: random.random()}

    loader = ps.Loader(arrays, **options())
    drawn = list(loader)
    assert len(set(drawn)) == 5
    assert list(ps.Loader(arrays, **options())) == drawn
    assert loader.at(0, 3) == drawn[3]


def test_rows_that_differ_in_shape_are_an_error_with_key_field_and_shapes(arrays):
    uneven = ps.transform(lambda row: row[: 3 if row[0] == 2 else 5])
    with pytest.raises(ps.Error, match=r"float32 \(3,\), and float32 \(5,\)") as caught:
        list(ps.Loader(arrays, batch_size=8, fields={"npy": uneven}))
    assert (caught.value.kind, caught.value.key, caught.value.field) == ("shape", "002", "npy")
    assert caught.value.__notes__ == ["penstock: epoch 0, batch 0"]
    with pytest.raises(ps.Error, match=r"gave float32 \(5,\), not \(4,\)"):
        list(ps.Loader(arrays, batch_size=8, fields={"npy": ps.transform(lambda row: row, shape=(4,))}))
    with pytest.raises(TypeError, match="same_kind"):
        list(ps.Loader(arrays, batch_size=8, fields={"npy": ps.transform(lambda row: row, dtype="int32")}))


def test_an_exception_names_output_and_sample(arrays):
    def fails(row):
        if row[0] == 11:
            raise KeyError("eleven")
        return row

    with pytest.raises(KeyError) as caught:
        list(ps.Loader(arrays, batch_size=8, fields={"npy": ps.transform(fails)}))
    sample, place = caught.value.__notes__
    assert "output 'npy', sample '011', row 3" in sample and "fails" in sample
    assert place == "penstock: epoch 0, batch 1"


def test_rows_marked_bad_are_zeros_that_no_function_sees(tmp_path):
    for i in range(6):
        (tmp_path / f"{i}.cls").write_text("broken" if i in (1, 4, 5) else str(i))
    options = {"batch_size": 4, "on_error": "mark", "max_error_rate": 1.0}

    def positive(label):
        assert label != 0 or label.item() == 0
        return label + 10

    fields = {"cls": ps.label() | ps.transform(positive, shape=(), dtype=np.int64)}
    first, second = [batch["cls"].tolist() for batch in ps.Loader(tmp_path, fields=fields, **options)]
    assert first == [10, 0, 12, 13]
    assert second == [0, 0]
    unknown = ps.Loader(tmp_path, fields={"cls": ps.label() | ps.transform(positive)}, **options)
    with pytest.raises(ps.Error, match="give .* shape= and dtype="):
        list(unknown)
