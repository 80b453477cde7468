"""Loaders that share batches: in threads, in processes, by name, and when one of them is killed."""

import os
import pathlib
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import penstock as ps
import pytest

PROGRAM = """
import sys
import penstock as ps
kind, name, folder, stops = sys.argv[1:5]
options = dict(batch_size=4, shuffle=True, seed=3, transforms={"npy": ps.array.decode(), "cls": ps.label()})
loader = ps.attach(name) if kind == "attach" else ps.share(name, folder, consumers=int(sys.argv[5]), patience=5, **options)
loader.set_epoch(0)
for epoch in range(2):
    for number, batch in enumerate(loader):
        print(",".join(batch["__key__"]), float(batch["npy"].numpy().sum()), flush=True)
        if number == int(stops):
            sys.stdin.readline()
print("alone", loader.stats()["sharing"]["built_alone"])
"""


@pytest.fixture
def folder(tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    for number in range(22):
        np.save(data / f"s{number:03}.npy", np.full(5, number, np.float32))
        (data / f"s{number:03}.cls").write_text(str(number % 3))
    return data


@pytest.fixture
def name():
    return f"test-{os.getpid()}-{time.monotonic_ns()}"


def options():
    return {
        "batch_size": 4,
        "shuffle": True,
        "seed": 3,
        "transforms": {"npy": ps.array.decode(), "cls": ps.label()},
    }


def lines_of(loader, epochs=2):
    return [
        f"{','.join(batch['__key__'])} {float(batch['npy'].numpy().sum())}" for _ in range(epochs) for batch in loader
    ]


@pytest.fixture
def wanted(folder):
    return lines_of(ps.Loader(folder, **options()))


class Training:
    def __init__(self, tmp_path, kind, name, folder, stops=-1, consumers=1):
        program = tmp_path / "program.py"
        program.write_text(textwrap.dedent(PROGRAM))
        words = [sys.executable, program, kind, name, folder, str(stops), str(consumers)]
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def wait_for(self, count):
        return [self.process.stdout.readline().strip() for _ in range(count)]

    def go_on(self):
        """Returns the lines, and how many batches the process built alone."""
        told, _ = self.process.communicate("\n\n", timeout=120)
        *lines, last = told.splitlines()
        assert self.process.returncode == 0
        return lines, int(last.removeprefix("alone "))


def test_processes_get_the_batches_of_a_plain_loader(tmp_path, folder, name, wanted):
    trainings = [Training(tmp_path, "share", name, folder, consumers=3) for _ in range(3)]
    for training in trainings:
        lines, _ = training.go_on()
        assert lines == wanted


def test_attach_needs_only_the_name(tmp_path, folder, name, wanted):
    loader = ps.share(name, folder, patience=1, **options())  # it takes no batch meanwhile
    lines, _ = Training(tmp_path, "attach", name, folder).go_on()
    assert lines == wanted
    assert lines_of(loader) == wanted
    other = ps.attach(name, batch_transform=lambda batch: len(batch["cls"]))
    assert next(iter(other)) == 4
    loader.close()
    other.close()
    with pytest.raises(ps.Error, match="no loader of this user shares batches as"):
        ps.attach(name)


def test_a_killed_builder_is_replaced(tmp_path, folder, name, wanted):
    first = Training(tmp_path, "share", name, folder, stops=3)
    assert first.wait_for(4) == wanted[:4]
    second = Training(tmp_path, "share", name, folder)
    begun = second.wait_for(2)
    first.process.send_signal(signal.SIGKILL)
    first.process.communicate()
    lines, _ = second.go_on()
    assert begun + lines == wanted


def test_threads_share_a_loader(folder, wanted):
    loader = ps.Loader(folder, **options())
    got = {}
    loaders = loader.share(consumers=4)
    assert all(type(each) is ps.Loader for each in loaders)

    def train(number):
        got[number] = lines_of(loaders[number])

    threads = [threading.Thread(target=train, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(got[number] == wanted for number in range(4))
    sharing = [each.stats()["sharing"] for each in loaders]
    assert sum(one["built_for_all"] for one in sharing) <= len(wanted) + 8 + 4
    assert sum(one["built_alone"] for one in sharing) == 0


def test_a_change_in_place_stays_in_its_loader(folder, wanted):
    first, second = ps.Loader(folder, **options()).share(consumers=2)
    seen = []
    for one, other in zip(first, second):
        one["npy"].numpy()[:] = -1
        seen.append(f"{','.join(other['__key__'])} {float(other['npy'].numpy().sum())}")
    assert seen == wanted[: len(seen)]


def test_the_state_of_one_loader_restores_another(folder, name, wanted):
    first = ps.share(name, folder, **options())
    batches = iter(first)
    for _ in range(3):
        next(batches)
    state = first.state_dict()
    plain = ps.Loader(folder, **options())
    plain.load_state_dict(state)
    assert lines_of(plain, 1) == wanted[3:6]
    later = ps.share(name, folder, **options())
    later.load_state_dict(state)
    assert lines_of(later, 1) == wanted[3:6]


def test_other_options_are_refused(folder, name):
    loader = ps.share(name, folder, **options())
    with pytest.raises(ps.Error, match="other options or another dataset"):
        ps.share(name, folder, **{**options(), "seed": 4})
    with pytest.raises(TypeError, match="penstock.share"):
        ps.share(name, folder, colour="red")
    with pytest.raises(ps.Error, match="each consumer must run its own"):
        ps.Loader(folder, batch_transform=len, **options()).share(2)
    loader.close()


def test_nothing_is_left(folder, name):
    before = set(os.listdir("/dev/shm"))
    loader = ps.share(name, folder, publish=False, **options())
    lines_of(loader, 1)
    loader.close()
    assert set(os.listdir("/dev/shm")) <= before
    assert name not in pathlib.Path("/proc/net/unix").read_text()
