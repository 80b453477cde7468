"""`penstock run` on several ranks: they are compared, and no rank waits for one that is gone."""

import dataclasses
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap
import time

import pytest
from penstock._run import ranks
from penstock._run.causes import Diagnosis, Remedy
from penstock._run.rank_folder import RankFolder
from watched import LAUNCH, RUN, execute

HERE = pathlib.Path(__file__).parent
SCENARIOS = HERE / "causes/scenarios.py"

# ---- The diagnosis ---------------------------------------------------------------------------------------------------

ALONE = Diagnosis("decoding", 0.5, "slow decoding", remedies=(Remedy("num_workers 0 -> 4"),))


def rank(number, load, computes, waits=0.0, steps=100):
    """Times in milliseconds. computes: without the wait for other ranks."""
    return ranks.RankFigures(
        rank=number, steps=steps, step_s=(load + computes + waits + 1) * 1e-3, load_s=load * 1e-3,
        compute_s=(computes + waits) * 1e-3, optimizer_s=1e-3, own_s=(load + computes + 1) * 1e-3, cause="decoding",
        why="slow decoding", change="num_workers 0 -> 4",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("of_ranks", "expected"),
    [
        ([rank(0, 5, 10, waits=30), rank(1, 35, 10)], "rank 1 loads its batches longer; its own work takes 46.0 ms"),
        ([rank(0, 2, 40), rank(1, 2, 10, waits=30)], "rank 0 computes longer; its own work takes 43.0 ms"),
        ([rank(0, 5, 10, 30), rank(1, 35, 10), rank(2, 6, 10, 29)], "that of the others 16.0 ms; they wait 29.0 ms"),
        ([rank(0, 40, 10, waits=15), rank(1, 55, 10)], None),  # loading holds up both
        ([rank(0, 5, 10), rank(1, 35, 10)], None),  # they do not wait for each other
        ([rank(0, 5, 10, waits=1), rank(1, 6, 10)], None),
        ([rank(0, 5, 10, waits=30, steps=3), rank(1, 35, 10, steps=3)], None),
        ([rank(0, 5, 10)], None),
        ([], None),
    ],
)
def test_the_rank_that_others_wait_for_is_named(of_ranks, expected):
    found = ranks.compared(of_ranks, ALONE)
    if expected is None:
        assert found is ALONE
        return
    assert found.cause == "ranks" and expected in found.why
    for remedy in found.remedies:
        if remedy.step_s is not None:
            assert 0 <= remedy.low_s < remedy.step_s < remedy.high_s < max(one.step_s for one in of_ranks)


def test_a_table_has_the_slowest_of_many_ranks():
    lines = ranks.table([rank(number, 5 + number, 10) for number in range(20)])
    assert (
        len(lines) == 1 + 8 + 1 and lines[1].startswith("   12 ") and lines[-1].endswith("and 12 ranks with less work")
    )
    assert [line for line in lines if "own work" in line] == [lines[8]]


# ---- The exchange ----------------------------------------------------------------------------------------------------

OTHER = """
import sys, time
from penstock._run.rank_folder import RankFolder
folder = RankFolder(int(sys.argv[1]))
print("runs", flush=True)
line = sys.stdin.readline()
if line == "follow\\n":
    while not folder._figures(0).exists():
        time.sleep(0.01)
    time.sleep(0.2)
if line:
    folder.publish({"rank": int(sys.argv[1])})
    print("published", flush=True)
    sys.stdin.readline()
"""


class Other:
    """Another rank."""

    def __init__(self, number, folder):
        environment = {**os.environ, "TMPDIR": str(folder)}
        self.process = subprocess.Popen(
            [sys.executable, "-c", OTHER, str(number)], env=environment, text=True, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )  # fmt: skip
        assert self.process.stdout.readline() == "runs\n"

    def publish(self):
        self.send("publish")
        assert self.process.stdout.readline() == "published\n"

    def send(self, word):
        self.process.stdin.write(f"{word}\n")
        self.process.stdin.flush()

    def kill(self):
        self.process.kill()
        self.process.communicate()


@pytest.fixture(name="folder")
def folder_fixture(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_a_rank_gathers_the_figures_of_all(folder):
    own, other = RankFolder(0), Other(1, folder)
    own.publish({"rank": 0})
    other.publish()
    assert own.leads() and own.gather() == {0: {"rank": 0}, 1: {"rank": 1}}
    other.kill()
    assert own.gather() == {0: {"rank": 0}, 1: {"rank": 1}}
    own.remove()
    assert list((folder / f"penstock-run-{os.geteuid()}").iterdir()) == []


def test_a_rank_waits_for_one_that_runs(folder):
    own, other = RankFolder(0), Other(1, folder)
    other.send("follow")
    own.publish({"rank": 0})
    assert own.gather(patience=600.0) == {0: {"rank": 0}, 1: {"rank": 1}}
    other.kill()


def test_no_rank_waits_for_a_killed_one(folder):
    own, other = RankFolder(1), Other(0, folder)
    own.publish({"rank": 1})
    assert not own.leads()
    other.kill()
    begun = time.monotonic()
    assert own.leads() and own.gather(patience=600.0) == {1: {"rank": 1}}
    assert time.monotonic() - begun < 600


def test_the_wait_for_a_running_rank_has_a_bound(folder):
    own, other = RankFolder(0), Other(1, folder)
    own.publish({"rank": 0})
    assert own.gather(patience=0.1) == {0: {"rank": 0}}
    other.kill()


def test_figures_of_an_earlier_launch_do_not_count(folder):
    earlier = Other(1, folder)
    earlier.publish()
    earlier.kill()
    own, other = RankFolder(0), Other(1, folder)
    own.publish({"rank": 0})
    assert own.gather(patience=0.1) == {0: {"rank": 0}}
    other.kill()


def test_a_folder_of_others_is_refused(folder):
    shared = folder / f"penstock-run-{os.geteuid()}"
    shared.mkdir()
    shared.chmod(0o777)
    with pytest.raises(PermissionError, match="not a private folder"):
        RankFolder(0)


# ---- Trainings -------------------------------------------------------------------------------------------------------


def test_uneven_ranks_are_found(tmp_path):
    pytest.importorskip("torch")
    done = execute([*LAUNCH, "-m", *RUN[2:], "--json", "run.json", SCENARIOS, "ranks"], tmp_path, TMPDIR=str(tmp_path))
    assert done.returncode == 0, done.stderr
    figures = [json.loads((tmp_path / f"run.rank{number}.json").read_text()) for number in (0, 1)]
    assert figures[0]["diagnosis"]["cause"] == "ranks", done.stderr
    assert [one["rank"] for one in figures[0]["ranks"]] == [0, 1] and figures[1]["ranks"] == []
    fields = {field.name for field in dataclasses.fields(ranks.RankFigures)}
    assert all(set(one) == fields for one in figures[0]["ranks"])
    assert done.stderr.count("Why: ") == 1 and "Why: uneven ranks: rank 1 loads its batches longer" in done.stderr
    assert "rank 0: step " in done.stderr and "rank 1: step " in done.stderr and "\nRanks:  " in done.stderr
    assert list((tmp_path / f"penstock-run-{os.geteuid()}").iterdir()) == []


@pytest.mark.parametrize("launcher", [("RANK", "WORLD_SIZE"), ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS")])
def test_a_rank_ends_although_the_other_is_killed(tmp_path, launcher):
    rank, world = launcher
    pytest.importorskip("torch")
    (tmp_path / "train.py").write_text(
        "import os, signal, sys, torch\n"
        "from torch.utils.data import DataLoader\n"
        "for number, _ in enumerate(DataLoader(range(40))):\n"
        f"    if number == 20 and os.environ['{rank}'] == '1':\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        f"os.environ['{rank}'] = '7'\n"  # some programs set it themselves; the report keeps the launcher's
    )
    words = [*RUN, "--json", "run.json", "train.py"]
    ranks_of_two = [{rank: str(number), world: "2", "MASTER_PORT": "1", "TMPDIR": str(tmp_path)} for number in (1, 0)]
    killed, done = (execute(words, tmp_path, **environment) for environment in ranks_of_two)
    assert (killed.returncode, done.returncode) == (-9, 0), done.stderr
    assert done.stderr.startswith("rank 0: step ") and "Why: " in done.stderr


def test_processes_that_torch_starts_are_not_watched_and_this_is_told_once(tmp_path):
    (tmp_path / "train.py").write_text(
        textwrap.dedent("""
            import torch
            def train(rank):
                pass
            if __name__ == "__main__":
                for _ in torch.utils.data.DataLoader(range(4), num_workers=1):  # starts processes in another way
                    pass
                print("loaded", flush=True)
                torch.multiprocessing.spawn(train, nprocs=2)
                torch.multiprocessing.start_processes(train, nprocs=1, start_method="fork")
        """)
    )
    done = subprocess.run(
        [*RUN, "train.py", "a b"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True
    )
    told = [line for line in done.stdout.splitlines() if "watched" in line or line == "loaded"]
    assert told == [
        "loaded",
        "penstock run: the 2 processes that torch.multiprocessing started are not watched; use torchrun instead: "
        "torchrun --nproc-per-node 2 -m penstock run train.py 'a b'",
    ]
    assert "not watched" not in execute([*RUN, "--quiet", "train.py"], tmp_path).stderr
