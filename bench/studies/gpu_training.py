"""Measures how much of a GPU a training on photographs uses, with penstock and with PyTorch's DataLoader.

Usage: gpu_training.py FOLDER [--copies 16] [--seconds 10] [--models resnet18 resnet50] [--batch-size 256]

FOLDER holds class folders of JPEGs, or only JPEGs. The folder is copied so that an epoch has enough batches. Every row trains
the same model in bfloat16, channels last, with SGD, on random crops of 224 x 224. "no loader" trains on one batch that
stays on the GPU: nothing can be faster. The share is the rate divided by that. CPU time counts all threads and child
processes, including those that run the model. Needs a GPU, PyTorch and torchvision.
"""

import argparse
import os
import pathlib
import shutil
import tempfile
import time

import beside
import penstock as ps
import torch
import torchvision
import torchvision.transforms.v2 as v2

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
WARM_UP = 12  # batches


def copied(folder, copies, to):
    photographs = sorted(path for path in folder.rglob("*") if path.suffix.lower() in (".jpg", ".jpeg"))
    for copy in range(copies):
        for number, path in enumerate(photographs):
            into = to / f"c{number % 10}"
            into.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, into / f"{copy:03d}_{number:05d}.jpg")
    return to


def of_penstock(dataset, batch_size, gpu_jpeg):
    chain = ps.image.random_resized_crop(224) | ps.image.random_horizontal_flip() | ps.image.normalize(MEAN, STD)
    fields = {"jpg": chain | ps.image.channels_last() | ps.image.cast("bfloat16"), "cls": ps.label()}
    loader = ps.Loader(
        dataset,
        batch_size=batch_size,
        shuffle=True,
        drop_last=True,
        device="cuda:0",
        device_options=ps.DeviceOptions(gpu_jpeg=gpu_jpeg),
        transforms=fields,
    )
    while True:
        for batch in loader:
            # channels_last gives (N, H, W, C), which is torch's memory format channels_last when permuted to NCHW
            yield torch.from_dlpack(batch["jpg"]).permute(0, 3, 1, 2), torch.from_dlpack(batch["cls"])


def of_torch(folder, batch_size, workers):
    steps = [v2.RandomResizedCrop(224), v2.RandomHorizontalFlip(), v2.PILToTensor()]
    data = torchvision.datasets.ImageFolder(folder, v2.Compose(steps))
    loader = torch.utils.data.DataLoader(
        data, batch_size, shuffle=True, drop_last=True, num_workers=workers, pin_memory=True, persistent_workers=True
    )
    mean, std = (torch.tensor(values, device="cuda").mul(255).view(3, 1, 1) for values in (MEAN, STD))
    while True:
        for images, labels in loader:
            images = images.cuda(non_blocking=True).to(memory_format=torch.channels_last)
            yield images.sub(mean).div(std).bfloat16(), labels.cuda(non_blocking=True)


def of_nobody(batch_size):
    images = torch.randn(batch_size, 3, 224, 224, device="cuda").bfloat16().to(memory_format=torch.channels_last)
    labels = torch.randint(0, 10, (batch_size,), device="cuda")
    while True:
        yield images, labels


def trained(model_name, batches, seconds):
    """Images per second, and CPU seconds for 1,000 images."""
    torch.manual_seed(0)
    model = (
        getattr(torchvision.models, model_name)(num_classes=10).cuda().bfloat16().to(memory_format=torch.channels_last)
    )
    optimizer = torch.optim.SGD(model.parameters(), 0.01, momentum=0.9)
    begun = used = rows = 0
    for number, (images, labels) in enumerate(batches):
        if number == WARM_UP:
            torch.cuda.synchronize()
            begun, used, rows = time.perf_counter(), beside.cpu_seconds(), 0
        optimizer.zero_grad(set_to_none=True)
        torch.nn.functional.cross_entropy(model(images).float(), labels.long()).backward()
        optimizer.step()
        rows += len(images)
        if number > WARM_UP and time.perf_counter() - begun > seconds:
            break
    torch.cuda.synchronize()
    took = time.perf_counter() - begun
    return rows / took, (beside.cpu_seconds() - used) / rows * 1000


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--copies", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--batch-size", type=int, default=256)
    parser.add_argument("--models", nargs="+", default=["resnet18", "resnet50"])
    parser.add_argument("--shares", nargs="+", type=float, default=[0, 0.5])
    arguments = parser.parse_args()
    cores = len(os.sched_getaffinity(0))
    torch.backends.cudnn.benchmark = True
    print(
        f"{torch.cuda.get_device_name()}, {cores} cores, torch {torch.__version__}, batches of {arguments.batch_size}"
    )
    print(f"{'model':<10} {'loader':<36} {'images/s':>9} {'share':>6} {'CPU s per 1,000':>16}")
    with tempfile.TemporaryDirectory() as temporary:
        folder = copied(arguments.folder, arguments.copies, pathlib.Path(temporary) / "photographs")
        dataset = pathlib.Path(temporary) / "tar"
        ps.pack(folder, dataset, format="tar", progress=False)
        for model in arguments.models:
            rows = [("no loader", of_nobody(arguments.batch_size))]
            rows += [
                (f"penstock, gpu_jpeg={share:g}", of_penstock(dataset, arguments.batch_size, share))
                for share in arguments.shares
            ]
            rows += [(f"DataLoader, {cores} workers", of_torch(folder, arguments.batch_size, cores))]
            best = None
            for name, batches in rows:
                rate, used = trained(model, batches, arguments.seconds)
                batches.close()
                best = best or rate
                print(f"{model:<10} {name:<36} {rate:>9,.0f} {rate / best:>6.2f} {used:>16.2f}", flush=True)


if __name__ == "__main__":
    main()
