"""The ledger: processes that are killed, audits, and a model of them that was written from docs/spec/ledger.md alone."""

import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys

import numpy as np
import pytest
from command import fails, run
from ledger_model import audit as audit_of_model

import penstock as ps

# A rank that takes a batch for each line that it reads, and tells its state behind it.
RANK = """
import json, sys
import penstock as ps
data, ledger, rank, world, state = sys.argv[1:]
loader = ps.Loader(data, batch_size=4, shuffle=True, seed=1, workers=1, rank=int(rank), world_size=int(world), delivery_log=ledger)
if state:
    loader.load_state_dict(json.loads(state))
print("ready", flush=True)
batches = iter(loader)
for line in sys.stdin:
    batch = next(batches, None)
    while batch is None:
        batches = iter(loader)
        batch = next(batches, None)
    print(json.dumps(loader.state_dict()), flush=True)
"""


@pytest.fixture(name="data", scope="module")
def data_fixture(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ledger") / "data"
    folder.mkdir()
    for number in range(50):
        np.save(folder / f"{number:03}.npy", np.full(3, number, np.float32))
    return folder


class Ranks:
    """The processes of a training."""

    def __init__(self, data, ledger, world, state):
        words = [str(data), str(ledger)]
        self.processes = [
            subprocess.Popen(
                [sys.executable, "-c", RANK, *words, str(rank), str(world), json.dumps(state) if state else ""],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for rank in range(world)
        ]
        for process in self.processes:
            assert process.stdout.readline() == "ready\n"

    def step(self, kill=False):
        """All ranks take a batch; the state behind it. `kill`: not all of them are waited for."""
        for process in self.processes:
            process.stdin.write("go\n")
            process.stdin.flush()
        waited = self.processes[: random.randrange(len(self.processes))] if kill else self.processes
        states = [json.loads(process.stdout.readline()) for process in waited]
        return states[0] if states else None

    def end(self, kill):
        for process in self.processes:
            if kill:
                process.send_signal(signal.SIGKILL)
        for process in self.processes:
            process.communicate()
            assert process.returncode == (-signal.SIGKILL if kill else 0)


def same_as_model(ledger):
    """The command's audit, once the model has come to the same."""
    told = json.loads(run("audit", ledger, "--json", "-", check=False).stdout)
    model = audit_of_model(ledger)
    assert [one["epoch"] for one in told["epochs"]] == [one["epoch"] for one in model["epochs"]]
    for mine, theirs in zip(told["epochs"], model["epochs"]):
        assert {name: theirs[name] for name in ("verdict", "delivered", "left_out", "taken_back")} == {
            name: mine[name] for name in ("verdict", "delivered", "left_out", "taken_back")
        }
        assert mine["missing"]["positions"] == theirs["missing"]
        assert mine["twice"]["count"] == theirs["twice"]
    assert told["good"] == model["good"]
    return told


def test_twenty_kills_and_two_changes_of_world_are_proved(data, tmp_path):
    random.seed(4)
    ledger, state, kills = tmp_path / "ledger", None, 0
    for run_number in range(21):
        world = 2 if run_number < 7 else 3 if run_number < 14 else 1
        ranks = Ranks(data, ledger, world, state)
        for _ in range(random.randrange(1, 6)):
            told = ranks.step()
            if random.random() < 0.7:
                state = told
        if run_number < 20:
            ranks.step(kill=True)
            ranks.end(kill=True)
            kills += 1
            assert run("audit", ledger).returncode == 0
            continue
        while told["epoch"] < 4:
            told = ranks.step()
        ranks.end(kill=False)
    assert kills == 20
    told = same_as_model(ledger)
    assert told["good"]
    proved = [epoch for epoch in told["epochs"] if epoch["verdict"] == "proved"]
    assert len(proved) >= 4
    assert all(epoch["delivered"] == 50 and epoch["twice"]["count"] == 0 for epoch in proved)
    assert [world for epoch in told["epochs"] for world in epoch["worlds"]].count(3) > 0
    assert sum(epoch["taken_back"] for epoch in told["epochs"]) > 0


def history(data, ledger, seed):
    """Loaders of several ranks, in processes that end as if killed, from random states."""
    draw = random.Random(seed)
    last = draw.choice(["keep", "drop", "pad"])
    states = [None]
    for _ in range(draw.randrange(1, 5)):
        world, batch_size = draw.choice([1, 2, 3, 8]), draw.choice([3, 4])
        state, steps, killed = draw.choice(states[-2:]), draw.randrange(1, 20), draw.random() < 0.7
        report, told = os.pipe()
        child = os.fork()
        if child == 0:
            loaders = [
                ps.Loader(data, batch_size=batch_size, shuffle=True, workers=1, rank=rank, world_size=world, last_batch=last,
                          delivery_log=ledger, publish=False) for rank in range(world)]  # fmt: skip
            for loader in loaders:
                if state:
                    loader.load_state_dict(state)
            batches = [iter(loader) for loader in loaders]
            for step in range(steps):
                for rank in range(world):
                    if killed and step == steps - 1 and rank == world // 2:
                        break
                    batch = next(batches[rank], None)
                    if batch is None:
                        batches[rank] = iter(loaders[rank])
                        next(batches[rank])
                else:
                    os.write(told, json.dumps(loaders[0].state_dict()).encode() + b"\n")
            if not killed:
                for loader in loaders:
                    loader.close()
            os._exit(0)
        os.close(told)
        with open(report) as lines:
            states += [json.loads(line) for line in lines][-2:]
        assert os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize("seed", range(12))
def test_the_command_and_a_model_of_the_page_come_to_the_same(data, tmp_path, seed):
    ledger = tmp_path / "ledger"
    history(data, ledger, seed)
    assert same_as_model(ledger)["good"]
    draw = random.Random(seed)
    for _ in range(12):
        damaged = tmp_path / "damaged"
        shutil.rmtree(damaged, ignore_errors=True)
        shutil.copytree(ledger, damaged)
        file = draw.choice(sorted(damaged.iterdir()))
        stored = bytearray(file.read_bytes())
        begins = int.from_bytes(stored[12:16], "little")
        used = len(stored.rstrip(b"\0"))
        if used < begins:
            continue  # nothing was delivered into it
        kind = draw.randrange(4)
        if kind == 0:
            file.unlink()
        elif kind == 1:
            del stored[draw.randrange(begins, used + 1) :]
        elif kind == 2:
            stored[draw.randrange(begins, used)] ^= 1 << draw.randrange(8)
        else:
            number = draw.randrange((used - begins + 63) // 64)
            stored[begins + 64 * number : begins + 64 * number + 64] = bytes(64)
        if kind != 0:
            file.write_bytes(stored)
        if any(damaged.iterdir()):
            same_as_model(damaged)


def epoch_of(data, ledger, **options):
    with ps.Loader(data, batch_size=4, workers=1, delivery_log=ledger, **options) as loader:
        for _ in loader:
            pass


def test_python_tells_what_the_command_tells(data, tmp_path):
    epoch_of(data, tmp_path / "ledger")
    told = ps.audit(tmp_path / "ledger")
    assert told["good"] and told["epochs"][0]["verdict"] == "proved" and told["dataset"] == str(data)
    assert str(told) == run("audit", tmp_path / "ledger").stdout.decode()
    assert "proved: 1 epoch, each sample delivered once" in str(told)
    assert ps.audit(str(tmp_path / "ledger"), dataset=data) == ps.audit(tmp_path / "ledger", dataset=ps.open(data))


def test_samples_that_last_batch_left_out_are_told(data, tmp_path):
    count = len(ps.open(data))
    with ps.Loader(data, batch_size=count - 3, last_batch="drop", workers=1, delivery_log=tmp_path / "log") as loader:
        for _ in loader:
            pass
    told = str(ps.audit(tmp_path / "log"))
    assert told.endswith("proved: 1 epoch, each sample delivered once, except for 3 samples that last_batch left out\n")


def test_samples_that_are_missing_are_named(data, tmp_path):
    loader = ps.Loader(data, batch_size=4, workers=1, shuffle=True, delivery_log=tmp_path / "ledger")
    next(iter(loader))
    state = loader.state_dict()
    lost = loader.at(0, 1)["__key__"]
    loader.load_state_dict({**state, "batch": 2})
    for _ in loader:
        pass
    loader.close()
    told = ps.audit(tmp_path / "ledger", dataset=data)
    assert told["epochs"][0]["missing"]["keys"] == lost
    assert f"epoch 0, not delivered: {' '.join(lost)}\n" in str(told)
    assert fails("audit", tmp_path / "ledger") == f"penstock: error: {tmp_path / 'ledger'}: 1 fault"
    assert "keys" not in ps.audit(tmp_path / "ledger")["epochs"][0]["missing"]


def test_what_is_no_ledger_is_told(data, tmp_path):
    (tmp_path / "empty").mkdir()
    assert "holds no ledger" in fails("audit", tmp_path / "empty", code=2)
    assert "cannot open the ledger" in fails("audit", tmp_path / "nothing")
    with pytest.raises(ps.Error, match="holds no ledger"):
        ps.audit(tmp_path / "empty")
    epoch_of(data, tmp_path / "ledger")
    with pytest.raises(ps.Error, match="was written with shuffle=false, not true"):
        ps.Loader(data, shuffle=True, delivery_log=tmp_path / "ledger")
    with pytest.raises(TypeError, match="delivery_log"):
        ps.Loader(data, delivery_log=3)


def test_files_are_their_users_and_links_are_not_followed(data, tmp_path):
    before = os.umask(0o077)
    try:
        epoch_of(data, tmp_path / "ledger")
    finally:
        os.umask(before)
    (file,) = pathlib.Path(tmp_path / "ledger").iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
    moved = tmp_path / "elsewhere"
    file.rename(moved)
    file.symlink_to(moved)
    assert "cannot open" in fails("audit", tmp_path / "ledger")


def test_worker_processes_of_torch_are_ranks(data, tmp_path):
    torch = pytest.importorskip("torch")
    import penstock.torch

    dataset = penstock.torch.Loader(data, batch_size=4, workers=1, shuffle=True, delivery_log=tmp_path / "ledger")
    assert len(dataset) == 13
    for _ in range(2):
        for _ in torch.utils.data.DataLoader(dataset, batch_size=None, num_workers=2):
            pass
    told = same_as_model(tmp_path / "ledger")
    assert told["good"] and [epoch["verdict"] for epoch in told["epochs"]] == ["proved", "proved"]
    assert all(epoch["worlds"] == [2] for epoch in told["epochs"])
