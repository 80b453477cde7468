"""Trains a small network on photographs. Resumes at the last checkpoint, in the middle of an epoch.

Run it with srun or torchrun: srun -n 4 python3 train.py DATASET RUN
RUN is a folder on shared storage for the checkpoint and the delivery log.
SIGUSR1 makes all ranks save a checkpoint and exit.
"""

import os
import signal
import sys

import torch
import torch.distributed as dist

import penstock as ps

EPOCHS = 2
SAVE_EVERY = 20  # steps; after a crash, the training repeats at most this many

signalled = False


def on_signal(*_):
    global signalled
    signalled = True


def agree_to_stop():
    """True on all ranks at the same step, if the signal has reached at least one."""
    flag = torch.tensor(int(signalled))
    dist.all_reduce(flag, dist.ReduceOp.MAX)
    return bool(flag)


def main(dataset, run):
    signal.signal(signal.SIGUSR1, on_signal)
    os.makedirs(run, exist_ok=True)
    photographs = ps.open(dataset)
    train = ps.torch.Loader(
        photographs,
        batch_size=8,
        shuffle=True,
        seed=0,
        last_batch="drop",
        rank="env",
        delivery_log=f"{run}/log",
        as_tuple=("jpg", "cls"),
        transforms={
            "jpg": ps.image.random_resized_crop(64) | ps.image.normalize((0.5,) * 3, (0.5,) * 3),
            "cls": ps.label(),
        },
    )
    rank, world_size = train.stats()["rank"], train.stats()["world"]
    dist.init_process_group("gloo", rank=rank, world_size=world_size)  # "nccl" on GPUs
    torch.manual_seed(0)
    torch.set_num_threads(1)
    network = torch.nn.Sequential(
        torch.nn.Conv2d(3, 16, 3, stride=2),
        torch.nn.ReLU(),
        torch.nn.Conv2d(16, 32, 3, stride=2),
        torch.nn.ReLU(),
        torch.nn.AdaptiveAvgPool2d(1),
        torch.nn.Flatten(),
        torch.nn.Linear(32, len(photographs.classes)),
    )
    model = torch.nn.parallel.DistributedDataParallel(network)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    checkpoint, step = f"{run}/checkpoint.pt", 0
    if os.path.exists(checkpoint):
        saved = torch.load(checkpoint)
        network.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        train.load_state_dict(saved["data"])
        step = saved["step"]

    def save():
        if rank == 0:  # the loader's state is the same on all ranks
            state = {
                "model": network.state_dict(),
                "optimizer": optimizer.state_dict(),
                "data": train.state_dict(),
                "step": step,
            }
            torch.save(state, f"{checkpoint}.new")
            os.replace(f"{checkpoint}.new", checkpoint)  # a crash leaves the old checkpoint or the new one
            print(f"saved after step {step}", flush=True)

    if rank == 0:
        print(f"starts after step {step}, {world_size} ranks", flush=True)
    while train.state_dict()["epoch"] < EPOCHS:
        for images, labels in train:
            loss = torch.nn.functional.cross_entropy(model(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            stop = agree_to_stop()
            if stop or step % SAVE_EVERY == 0:
                save()
            if stop:
                if rank == 0:
                    print("stopped by SIGUSR1; the same command continues the training", flush=True)
                return
    save()
    if rank == 0:
        print(train.stats(), train.steps(), f"finished after step {step}", sep="\n", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
    dist.destroy_process_group()
