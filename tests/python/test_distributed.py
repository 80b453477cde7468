"""Two processes of torchrun: rank="env" takes its place among them from the variables that torchrun sets."""

import json
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.skipif(
    torch.__version__ < "2", reason="torchrun before 2.0 fails with Python 3.11; install a newer PyTorch"
)

SCRIPT = """
import json, sys, torch.distributed, penstock as ps

folder, out = sys.argv[1:]
torch.distributed.init_process_group("gloo")
dataset = ps.torch.Loader(folder, batch_size=6, shuffle=True, rank="env", transforms={"cls": ps.label()})
told = []
for epoch in range(2):
    for batch in dataset:
        total = batch["__valid__"].sum()
        torch.distributed.all_reduce(total)  # hangs unless all processes make equally many steps
        told.append([epoch, int(total), [k for k, counts in zip(batch["__key__"], batch["__valid__"]) if counts]])
open(f"{out}/{torch.distributed.get_rank()}", "w").write(json.dumps([told, str(dataset.loader.stats())]))
torch.distributed.destroy_process_group()
"""


def test_two_processes_share_an_epoch(arrays, tmp_path):
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2", str(script)]
    done = subprocess.run([*command, str(arrays), str(tmp_path)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    ranks = [json.loads((tmp_path / str(rank)).read_text()) for rank in range(2)]
    for epoch in range(2):
        steps = [[step for step in told if step[0] == epoch] for told, _ in ranks]
        assert len(steps[0]) == len(steps[1]) == 4
        assert sum(total for _, total, _ in steps[0]) == 40
        assert sorted(key for rank in steps for _, _, keys in rank for key in keys) == [f"{i:03}" for i in range(40)]
    for rank, (_, stats) in enumerate(ranks):
        assert f"rank {rank} of 2 from RANK and WORLD_SIZE" in stats
