"""penstock.torch in Hugging Face Accelerate: one process and two, given out by the first or read by each."""

import json
import subprocess
import sys

import penstock as ps
import pytest

torch = pytest.importorskip("torch")
accelerate = pytest.importorskip("accelerate")

# Prints, for each of two epochs, how many steps this process made and the first value of every sample that counts.
SCRIPT = """
import json, sys, torch, penstock as ps
from accelerate import Accelerator
from torch.utils.data import DataLoader

folder, way = sys.argv[1:]
accelerator = Accelerator(cpu=True)
options = dict(batch_size=8, shuffle=True, seed=1, transforms={"npy": ps.array.decode(), "cls": ps.label()})
if way == "given out":
    dataset = ps.torch.Loader(folder, as_tuple=("npy", "cls", "__valid__"), **options)
    loader = accelerator.prepare(DataLoader(dataset, batch_size=None))
else:
    options.update(rank=accelerator.process_index, world_size=accelerator.num_processes)
    loader = ps.torch.Loader(folder, as_tuple=("npy", "cls", "__valid__"), **options)
model = torch.nn.Linear(5, 4)
model, optimizer = accelerator.prepare(model, torch.optim.SGD(model.parameters(), 1e-3))
for epoch in range(2):
    steps, values = 0, []
    for arrays, labels, valid in loader:
        accelerator.backward(torch.nn.functional.cross_entropy(model(arrays), labels))
        optimizer.step()
        optimizer.zero_grad()
        gather = accelerator.gather_for_metrics if way == "given out" else accelerator.gather
        first, valid = gather((arrays[:, 0].contiguous(), valid))
        values += first[valid].tolist()
        steps += 1
    if accelerator.is_main_process:
        print(json.dumps([steps, values]), flush=True)
# Gloo's threads end with their process group, which the model holds: one that lets go of its last tensor while Python
# ends would abort the process.
model, optimizer, loader = accelerator.free_memory(model, optimizer, loader)
accelerator.end_training()
"""


@pytest.mark.parametrize("way", ["given out", "read by each"])
@pytest.mark.parametrize("processes", [1, 2])
def test_an_epoch_gives_each_sample_once(processes, way, arrays, tmp_path):
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    launcher = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}"] if processes > 1 else []
    done = subprocess.run(
        [sys.executable, *launcher, str(script), str(arrays), way], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    epochs = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]
    assert len(epochs) == 2
    for steps, values in epochs:
        assert steps == (5 if processes == 1 else 3)
        assert sorted(values) == list(range(40))
    assert epochs[0][1] != epochs[1][1]


def test_its_checkpoints_hold_the_position(arrays, tmp_path):
    def dataset():
        return ps.torch.Loader(arrays, batch_size=8, shuffle=True, transforms={"cls": ps.label()})

    accelerator = accelerate.Accelerator(cpu=True)
    first = dataset()
    accelerator.register_for_checkpointing(first)
    whole = [batch["__key__"] for batch in dataset()]
    for step, batch in enumerate(first):
        assert batch["__key__"] == whole[step]
        if step == 1:
            accelerator.save_state(tmp_path / "state")
            break

    accelerator = accelerate.Accelerator(cpu=True)
    second = dataset()
    accelerator.register_for_checkpointing(second)
    accelerator.load_state(tmp_path / "state")
    assert [batch["__key__"] for batch in second] == whole[2:]


def test_a_checkpoint_of_an_exception_holds_the_batch_that_failed(arrays, tmp_path):
    def dataset(**options):
        return ps.torch.Loader(arrays, batch_size=8, shuffle=True, transforms={"cls": ps.label()}, **options)

    whole = [batch["__key__"] for batch in dataset()]

    def fails(batch):
        if batch["__key__"] == whole[3]:
            raise KeyError("failed")
        return batch

    accelerator = accelerate.Accelerator(cpu=True)
    first, got = dataset(batch_transform=fails), []
    accelerator.register_for_checkpointing(first)
    with pytest.raises(KeyError, match="failed"):
        try:
            for batch in first:
                got.append(batch["__key__"])
        finally:
            accelerator.save_state(tmp_path / "state")

    accelerator = accelerate.Accelerator(cpu=True)
    second = dataset()
    accelerator.register_for_checkpointing(second)
    accelerator.load_state(tmp_path / "state")
    assert got + [batch["__key__"] for batch in second] == whole


# Saves in the middle of an epoch, and prints whether the rest of this epoch and the next one are as they would have been.
RESUMED = """
import json, sys, torch, penstock as ps
from accelerate import Accelerator
from torch.utils.data import DataLoader

folder, way, state = sys.argv[1:]


def make():
    accelerator = Accelerator(cpu=True)
    place = (accelerator.process_index, accelerator.num_processes) if way == "read by each" else (0, 1)
    loader = ps.torch.Loader(folder, batch_size=8, shuffle=True, seed=1, rank=place[0], world_size=place[1],
                             as_tuple=("npy", "cls"), last_batch="drop",
                             transforms={"npy": ps.array.decode(), "cls": ps.label()})
    if way == "read by each":
        accelerator.register_for_checkpointing(loader)
        assert accelerator.prepare(loader) is loader
        return accelerator, loader
    return accelerator, accelerator.prepare(DataLoader(loader, batch_size=None))


def values(loader):
    return [arrays[:, 0].tolist() for arrays, _ in loader]


accelerator, loader = make()
whole = [values(loader) for epoch in range(2)]
accelerator, loader = make()
next(iter(loader))
accelerator.save_state(state)
accelerator.wait_for_everyone()
accelerator, loader = make()
accelerator.load_state(state)
told = [values(loader) if way == "read by each" else values(accelerator.skip_first_batches(loader, 1))]
if way == "given out":
    loader.set_epoch(1)
told.append(values(loader))
print(json.dumps([told[0] == whole[0][1:], told[1] == whole[1], len(told[0])]) + "\\n", end="", flush=True)
accelerator.end_training()
"""


@pytest.mark.parametrize("way", ["given out", "read by each"])
def test_two_processes_continue_in_the_middle_of_an_epoch(way, arrays, tmp_path):
    script = tmp_path / "train.py"
    script.write_text(RESUMED)
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    command = [sys.executable, *launcher, str(script), str(arrays), way, str(tmp_path / "state")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    told = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]
    steps = {"read by each": 2, "given out": 3}[way]  # of 40 samples in batches of 8; the first way drops 8 of them
    assert told == [[True, True, steps - 1]] * 2
