"""Loaders that share batches: in threads, in processes, by name, and when one of them is killed."""

import collections
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import penstock as ps
import pytest
from loading import lines_of, shuffled, write_numbers
from PIL import Image

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
    return write_numbers(tmp_path / "data", 22)


@pytest.fixture
def name():
    return f"test-{os.getpid()}-{time.monotonic_ns()}"


@pytest.fixture
def wanted(folder):
    return lines_of(ps.Loader(folder, **shuffled()))


class Training:
    def __init__(self, kind, name, folder, stops=-1, consumers=1):
        words = [sys.executable, "-c", PROGRAM, kind, name, folder, str(stops), str(consumers)]
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def wait_for(self, count):
        return [self.process.stdout.readline().strip() for _ in range(count)]

    def go_on(self):
        """Returns the lines, and how many batches the process built alone."""
        with contextlib.suppress(BrokenPipeError):  # a process that does not stop may have ended
            self.process.stdin.write("\n\n")
            self.process.stdin.flush()
        # communicate() would lose lines that readline() has buffered
        *lines, last = self.process.stdout.read().splitlines()
        assert self.process.wait() == 0
        return lines, int(last.removeprefix("alone "))


def test_processes_get_the_batches_of_a_plain_loader(folder, name, wanted):
    trainings = [Training("share", name, folder, consumers=3) for _ in range(3)]
    for training in trainings:
        lines, _ = training.go_on()
        assert lines == wanted


def test_attach_needs_only_the_name(folder, name, wanted):
    loader = ps.share(name, folder, patience=1, **shuffled())  # it takes no batch meanwhile
    lines, _ = Training("attach", name, folder).go_on()
    assert lines == wanted
    assert lines_of(loader) == wanted
    other = ps.attach(name, batch_transform=lambda batch: len(batch["cls"]))
    assert next(iter(other)) == 4
    loader.close()
    other.close()
    with pytest.raises(ps.Error, match="no loader of this user shares batches as"):
        ps.attach(name)


def test_a_killed_builder_is_replaced(folder, name, wanted):
    first = Training("share", name, folder, stops=3)
    assert first.wait_for(4) == wanted[:4]
    second = Training("share", name, folder)
    begun = second.wait_for(2)
    first.process.send_signal(signal.SIGKILL)
    first.process.communicate()
    lines, _ = second.go_on()
    assert begun + lines == wanted


def test_threads_share_a_loader(folder, wanted):
    loader = ps.Loader(folder, **shuffled())
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
    first, second = ps.Loader(folder, **shuffled()).share(consumers=2)
    seen = []
    for one, other in zip(first, second):
        one["npy"].numpy()[:] = -1
        seen.append(f"{','.join(other['__key__'])} {float(other['npy'].numpy().sum())}")
    assert seen == wanted[: len(seen)]


def test_the_state_of_one_loader_restores_another(folder, name, wanted):
    first = ps.share(name, folder, **shuffled())
    batches = iter(first)
    for _ in range(3):
        next(batches)
    state = first.state_dict()
    plain = ps.Loader(folder, **shuffled())
    plain.load_state_dict(state)
    assert lines_of(plain, 1) == wanted[3:6]
    later = ps.share(name, folder, **shuffled())
    later.load_state_dict(state)
    assert lines_of(later, 1) == wanted[3:6]


def photographs(folder):
    """Icons with a label and a text of its own length; one of them is damaged, and one lacks its text."""
    for number in range(23):
        image = np.random.default_rng(number).integers(0, 255, (20 + number % 5, 24, 3), np.uint8)
        Image.fromarray(image).save(folder / f"s{number:03}.png")
        (folder / f"s{number:03}.cls").write_text(str(number % 3))
        (folder / f"s{number:03}.txt").write_text("x" * (number % 7))
    return folder


COMBINATIONS = {
    "plain": {},
    "rows of different lengths": {"transforms": {"txt": ps.raw(), "cls": ps.label()}},
    "images of their own size": {"transforms": {"png": ps.image.decode(ragged=True), "cls": ps.label()}},
    "padded": {"transforms": {"txt": ps.raw() | ps.pad(), "cls": ps.label()}},
    "mixup": {
        "transforms": {"png": ps.image.random_resized_crop(16) | ps.image.cast("float32"), "cls": ps.label()},
        "mix": ps.mixup(0.2, num_classes=3),
    },
    "lengths with a budget": {"batching": ps.batching.by_length("txt", budget=24), "transforms": {"txt": ps.raw()}},
    "weights": {"sampler": ps.sampler.weighted(np.arange(1.0, 24.0), num_samples=31)},
    "repeats": {"sampler": ps.sampler.repeated(np.arange(23) % 3)},
    "blocks": {"shuffle": ps.shuffle.blocks(4)},
    "a rank of two": {"rank": 1, "world_size": 2},
    "dropped rest": {"last_batch": "drop"},
    "a cache": {"cache": "decoded"},
    "a replaced sample": {"on_error": "replace", "max_errors": 1.0},
    "a marked sample": {"on_error": "mark", "max_errors": 1.0},
    "a missing field": {"transforms": {"txt": ps.raw(), "cls": ps.label()}, "missing": "exclude"},
    "pread": {"read_options": ps.ReadOptions(engine="pread")},
    "own functions": {"batch_transform": lambda batch: (batch["__key__"], batch["cls"].numpy() + 1)},
}


def contents(batch):
    """What a batch has, for comparison."""
    if isinstance(batch, tuple):
        return [contents(part) for part in batch]
    if isinstance(batch, (dict, ps.Batch)):
        return {name: contents(batch[name]) for name in batch}
    if isinstance(batch, ps.Ragged):
        return [np.asarray(row).tolist() for row in batch]
    return batch if isinstance(batch, (list, str)) else np.asarray(batch).tolist()


@pytest.mark.parametrize("combination", COMBINATIONS)
def test_every_kind_of_loader_shares_the_batches_of_a_plain_one(tmp_path, name, combination):
    folder = photographs(tmp_path)
    chosen = COMBINATIONS[combination]
    if "on_error" in chosen:
        (folder / "s004.png").write_bytes(b"no picture")
    if "missing" in chosen:
        (folder / "s005.txt").unlink()
    crop = {"png": ps.image.random_resized_crop(16), "cls": ps.label()}
    given = {"batch_size": 4, "shuffle": True, "seed": 2, "publish": False, "transforms": crop, **chosen}
    expected = ps.Loader(folder, **given)
    wanted = [contents(batch) for _ in range(2) for batch in expected]
    loaders = [ps.share(name, folder, consumers=2, **given) for _ in range(2)]
    got = {}

    def train(number):
        got[number] = [contents(batch) for _ in range(2) for batch in loaders[number]]

    threads = [threading.Thread(target=train, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert got[0] == wanted and got[1] == wanted
    figures = [loader.stats() for loader in loaders]
    assert [one["bad_samples"] for one in figures] == [expected.stats()["bad_samples"]] * 2
    assert sum(one["sharing"]["built_for_all"] for one in figures) > 0


def test_a_mixture_is_shared(folder):
    expected = ps.Loader(ps.mixture({"one": folder, "two": folder}, {"one": 3, "two": 1}), **shuffled())
    first, second = expected.share(consumers=2)
    batches = 0
    for wanted, one, other in zip(expected, first, second):
        assert contents(wanted) == contents(one) == contents(other)
        batches += 1
    assert batches == len(expected)


def run_audit(*words):
    command = os.environ["PENSTOCK_COMMAND"]
    return subprocess.run([command, "audit", *words], capture_output=True, text=True, check=False)


def test_every_training_gets_each_sample_once_also_if_one_is_resumed(tmp_path, folder, name):
    logs = [tmp_path / "logs" / str(number) for number in range(3)]
    loaders = [ps.share(name, folder, patience=5, delivery_log=log, **shuffled()) for log in logs]
    epochs = [iter(loader) for loader in loaders]
    for epoch in epochs:
        next(epoch)
    state = loaders[0].state_dict()  # its process builds the batches
    next(epochs[0])
    loaders[0].close()
    resumed = ps.share(name, folder, patience=5, delivery_log=logs[0], **shuffled())
    resumed.load_state_dict(state)
    epochs[0] = iter(resumed)
    threads = [threading.Thread(target=collections.deque, args=(epoch,)) for epoch in epochs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    audited = run_audit(*logs, "--json", tmp_path / "audits.json")
    assert audited.returncode == 0, audited
    assert audited.stdout.endswith("3 of 3 delivery logs without faults\n")
    audits = json.loads((tmp_path / "audits.json").read_text())
    assert [audit["epochs"][0]["verdict"] for audit in audits] == ["proved"] * 3
    assert [audit["epochs"][0]["taken_back"] for audit in audits] == [4, 0, 0]

    loaders[1].load_state_dict(state)
    next(iter(loaders[1]))
    loaders[1].set_epoch(1)
    next(iter(loaders[1]))
    audited = run_audit(tmp_path, *logs)
    assert audited.returncode == 1
    assert audited.stdout.endswith("2 of 4 delivery logs without faults\n")
    *other, last = audited.stderr.splitlines()
    assert len(other) == 1
    assert "holds no ledger" in other[0]
    assert last == f"penstock: error: {logs[1]}: 1 fault"


def test_other_options_are_refused(folder, name):
    loader = ps.share(name, folder, **shuffled())
    with pytest.raises(ps.Error, match="other options or another dataset"):
        ps.share(name, folder, **{**shuffled(), "seed": 4})
    with pytest.raises(TypeError, match="penstock.share"):
        ps.share(name, folder, colour="red")
    with pytest.raises(ps.Error, match="each consumer must run its own"):
        ps.Loader(folder, batch_transform=len, **shuffled()).share(2)
    loader.close()


def test_nothing_is_left(folder, name):
    before = set(os.listdir("/dev/shm"))
    loader = ps.share(name, folder, publish=False, **shuffled())
    lines_of(loader, 1)
    loader.close()
    assert set(os.listdir("/dev/shm")) <= before
    assert name not in pathlib.Path("/proc/net/unix").read_text()
