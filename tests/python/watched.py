"""Runs programs under `penstock run`, for the tests of it."""

import os
import subprocess
import sys
import textwrap

RUN = [sys.executable, "-m", "penstock", "run"]
LAUNCH = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", 2]

TRAINING = textwrap.dedent("""
    import os, sys
    print("torch" in sys.modules)
    import torch
    from torch.utils.data import DataLoader, Dataset
    torch.set_num_threads(1)
    class Rows(Dataset):
        def __len__(self):
            return 80
        def __getitem__(self, number):
            if number == int(sys.argv[2]):
                raise ValueError("row " + str(number))
            return torch.zeros(4), 1
    model = torch.nn.Linear(4, 2)
    optimizer = torch.optim.AdamW(model.parameters())
    def epoch(loader):
        for values, labels in loader:
            torch.nn.functional.cross_entropy(model(values), labels).backward()
            optimizer.step()
    if __name__ == "__main__":
        loader = DataLoader(Rows(), batch_size=2, num_workers=int(sys.argv[1]))
        iterator = iter(loader)
        print(type(iterator).__module__, type(iterator).__name__, loader.collate_fn.__name__, DataLoader.__iter__.__name__)
        for _ in range(2):
            epoch(loader)
""")


def execute(words, folder, **environment):
    return subprocess.run(
        [str(word) for word in words],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, **environment},
        check=False,
    )


def start(words, folder, **options):
    """A running program with pipes."""
    return subprocess.Popen(
        [str(word) for word in words],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )
