"""Usage: run_scenarios.py NAME. Trainings with one planted cause each, for test_run.py."""

import gc
import os
import sys
import time

import torch
from torch.utils.data import DataLoader, Dataset, TensorDataset

CORES = len(os.sched_getaffinity(0))


def compute(seconds):
    """Takes this CPU time, however many programs share the cores."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


class Rows(Dataset):
    def __init__(self, rows, work=0.0, wait=0.0):
        self.rows, self.work, self.wait = rows, work, wait

    def __len__(self):
        return self.rows

    def __getitem__(self, number):
        if self.work:
            compute(self.work)
        if self.wait:
            time.sleep(self.wait)
        return torch.zeros(8), number % 2


def train(loader, epochs=1, step=None):
    model = torch.nn.Linear(8, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(epochs):
        for values, labels in loader:
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(values), labels).backward()
            optimizer.step()
            if step is not None:
                step()


def slow_collate(samples):
    compute(0.02)
    return torch.utils.data.default_collate(samples)


def collecting():
    kept = [[number] for number in range(100_000)]
    train(DataLoader(Rows(60), batch_size=4), step=gc.collect)
    del kept


SCENARIOS = {
    "decoding_0": lambda: train(DataLoader(Rows(80, work=0.005), batch_size=4)),
    "decoding_2": lambda: train(DataLoader(Rows(120, work=0.005), batch_size=4, num_workers=max(CORES, 2))),
    "workers": lambda: train(DataLoader(Rows(80, work=0.005), batch_size=4, num_workers=1)),
    "storage_0": lambda: train(DataLoader(Rows(80, wait=0.005), batch_size=4)),
    "storage_2": lambda: train(DataLoader(Rows(80, wait=0.01), batch_size=4, num_workers=2)),
    "batches": lambda: train(DataLoader(TensorDataset(torch.zeros(900, 8), torch.zeros(900).long()), batch_size=1)),
    "collecting": collecting,
    "collate_0": lambda: train(DataLoader(Rows(80), batch_size=4, collate_fn=slow_collate)),
    "collate_2": lambda: train(DataLoader(Rows(80), batch_size=4, num_workers=1, collate_fn=slow_collate)),
    "compute": lambda: train(DataLoader(Rows(80), batch_size=4), step=lambda: compute(0.03)),
    "epochs": lambda: train(DataLoader(Rows(20), batch_size=4, num_workers=2), epochs=5),
}

if __name__ == "__main__":
    torch.set_num_threads(1)
    SCENARIOS[sys.argv[1]]()
