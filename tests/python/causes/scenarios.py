"""Usage: scenarios.py NAME. Trainings with one planted cause each. They know nothing of the tools that watch them."""

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


def learn(model, optimizer, values, labels, further):
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(model(values), labels).backward()
    optimizer.step()
    if further is not None:
        further()


def train(loader, epochs=1, step=None, parallel=lambda model: model):
    model = parallel(torch.nn.Linear(8, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(epochs):
        for values, labels in loader:
            learn(model, optimizer, values, labels, step)


def slow_collate(samples):
    compute(0.02)
    return torch.utils.data.default_collate(samples)


def collecting():
    kept = [[number] for number in range(100_000)]
    train(DataLoader(Rows(60), batch_size=4), step=gc.collect)
    del kept


def uneven_ranks():
    """Run it by torchrun: the samples of the last rank are ten times as expensive."""
    torch.distributed.init_process_group("gloo")
    rank, world = torch.distributed.get_rank(), torch.distributed.get_world_size()
    rows = Rows(80, work=0.01 if rank == world - 1 else 0.001)
    train(DataLoader(rows, batch_size=4), parallel=torch.nn.parallel.DistributedDataParallel)
    torch.distributed.destroy_process_group()


def too_many_threads():
    torch.set_num_threads(8 * CORES)
    values = torch.ones(400, 400)
    train(DataLoader(Rows(120), batch_size=4), step=lambda: [values @ values for _ in range(4)])


def with_validation():
    """The validation takes longer than the training, which computes."""
    train(DataLoader(Rows(80), batch_size=4), step=lambda: compute(0.02))
    for _ in DataLoader(Rows(400, work=0.005), batch_size=8):
        pass


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
    "threads": too_many_threads,
    "waiting": lambda: train(DataLoader(Rows(80), batch_size=4), step=lambda: time.sleep(0.03)),
    "ranks": uneven_ranks,
    "validation": with_validation,
    "epochs": lambda: train(DataLoader(Rows(20), batch_size=4, num_workers=2), epochs=5),
}

if __name__ == "__main__":
    torch.set_num_threads(1)
    SCENARIOS[sys.argv[1]]()
