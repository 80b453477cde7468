"""ps.Loader(batch_transform=...): what it may do to loaders, and how loaders, epochs and processes with it end."""

import contextlib
import gc
import os
import resource
import signal
import subprocess
import sys
import threading
import time
import weakref

import penstock as ps
import pytest
from interpreter import ENDINGS, run
from own_functions import OwnError, fails_at_eleven
from own_steps import FIELDS, same, thread_count


def test_it_cannot_use_its_own_loader(arrays):
    told = []

    def on_batch(batch):
        assert loader.stats()["workers"] >= 1
        for use in (lambda: loader.epoch, loader.state_dict, loader.close, lambda: loader.at(0, 0)):
            with pytest.raises(ps.Error, match="cannot use that loader"):
                use()
            told.append(use)
        return batch

    loader = ps.Loader(arrays, batch_size=40, prefetch=1, transforms=FIELDS, batch_transform=on_batch)
    next(iter(loader))
    assert len(told) >= 4


def test_another_loader_may_be_used_in_it(arrays):
    # The outer loader may have five of its batches at once: two ready, one being made, two with the consumer.
    other = ps.Loader(
        arrays,
        batch_size=4,
        transforms=FIELDS,
        batch_transform=same,
        memory_options=ps.MemoryOptions(reserved_batches=5),
    )
    batches = iter(other)
    loader = ps.Loader(arrays, batch_size=8, transforms=FIELDS, batch_transform=lambda batch: (batch, next(batches)))
    assert [second["__key__"][0] for _, second in loader] == ["000", "004", "008", "012", "016"]


def test_close_waits_for_it(arrays):
    inside, left = threading.Event(), []

    def on_batch(batch):
        inside.set()
        time.sleep(0.2)
        left.append(1)
        return batch

    loader = ps.Loader(arrays, batch_size=8, transforms=FIELDS, batch_transform=on_batch)
    inside.wait()
    loader.close()
    count = len(left)
    assert count >= 1
    time.sleep(0.3)
    assert len(left) == count
    with pytest.raises(ps.Error, match="closed"):
        iter(loader)


def test_close_waits_for_it_while_other_threads_use_and_close_the_loader(arrays):
    calls = []

    def slow(row):
        time.sleep(0.002)
        calls.append(1)
        return row

    def loop():
        with contextlib.suppress(ps.Error):
            for _ in loader:
                pass

    def close():
        loader.close()
        at_end.append(len(calls))

    at_end = []
    fields = {"npy": ps.array.decode() | ps.transform(slow)}
    for turn in range(60):
        loader = ps.Loader(arrays, batch_size=5, workers=1, transforms=fields)
        threads = [threading.Thread(target=target) for target in (loop, close, close)]
        for thread in threads:
            thread.start()
            time.sleep((0, 0.0005, 0.015)[turn % 3])
        for thread in threads:
            thread.join()
        time.sleep(0.01)
        assert at_end[-2:] == [len(calls)] * 2


def test_a_loader_in_a_cycle_with_its_functions_is_collected(arrays):
    class Model:
        def __init__(self):
            fields = {"npy": ps.array.decode() | ps.transform(self.row), "cls": ps.label()}
            self.loader = ps.Loader(arrays, batch_size=8, transforms=fields, batch_transform=self.batch)
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


@pytest.mark.parametrize("workers", [0, 1])
def test_a_loader_that_only_its_iterator_holds_raises_what_a_function_did(arrays, workers):
    fields = {"npy": ps.array.decode() | ps.transform(fails_at_eleven)}
    with pytest.raises(OwnError):
        next(iter(ps.Loader(arrays, batch_size=40, transforms=fields, python_workers=workers)))


def test_a_loader_that_its_own_function_drops_ends(arrays):
    before = thread_count()
    loaders = {}

    def on_batch(batch):
        loaders.clear()
        gc.collect()
        return batch

    go = threading.Event()
    loaders["it"] = ps.Loader(
        arrays, batch_size=8, transforms=FIELDS, batch_transform=lambda b: go.wait() and on_batch(b)
    )
    watch = weakref.ref(loaders["it"])
    go.set()
    for _ in range(500):
        if watch() is None:
            break
        time.sleep(0.01)
    assert watch() is None
    ps.Loader(arrays, transforms=FIELDS).close()
    assert thread_count() <= before


def test_five_hundred_loaders_leave_no_thread_and_no_memory(arrays):
    def use(count):
        for i in range(count):
            fields = {"npy": ps.array.decode() | ps.transform(lambda row: row * 2), "cls": ps.label()}
            loader = ps.Loader(
                arrays, batch_size=4, workers=2, transforms=fields, batch_transform=lambda batch: dict(batch)
            )
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
loader = ps.Loader(sys.argv[1], batch_size=1, transforms={"cls": ps.label()}, batch_transform=slow)
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
    assert time.monotonic() - began < 20
    assert b"KeyboardInterrupt" in err
    assert child.returncode in (-signal.SIGINT, 130)


OWN_ENDINGS = ENDINGS | {
    "inside the function": "import time; it = iter(loader); next(it); time.sleep(0.05)",
    "results not taken": "import time; it = iter(loader); next(it); time.sleep(0.3)",
    "a failure not taken": "import time; FAIL.append(1); time.sleep(0.3)",
}


@pytest.mark.parametrize("ending", OWN_ENDINGS)
def test_the_interpreter_ends_quietly(arrays, ending):
    code = (
        "import sys, time, penstock as ps\n"
        "FAIL = []\n"
        "def step(batch):\n"
        "    time.sleep(0.02)\n"
        "    if FAIL: raise ValueError('not taken')\n"
        "    return batch\n"
        "loader = ps.Loader(sys.argv[1], batch_size=4, workers=3, batch_transform=step,\n"
        "                   transforms={'cls': ps.label(), 'npy': ps.transform(lambda row: row)})\n"
    )
    done = run(code + OWN_ENDINGS[ending], arrays)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_forked_child_is_told_and_makes_its_own(arrays):
    loader = ps.Loader(arrays, batch_size=8, transforms=FIELDS, batch_transform=same)
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
        told += len(list(ps.Loader(arrays, batch_size=8, transforms=FIELDS, batch_transform=lambda b: 1))) == 5
        os._exit(told)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 2
    assert len(next(iterator)["__key__"]) == 8
