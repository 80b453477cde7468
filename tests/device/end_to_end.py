"""Batches from files to a GPU, beside the same batches on the host; then the rate of copies and the DataLoader's share of a
step. Run by tests/gpu.sh with the wheel it was given."""

import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import penstock as ps
import torch

MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
EPOCHS = 3


def synth(folder: pathlib.Path) -> pathlib.Path:
    command = [sys.executable, "-c", "from penstock._command import main; main()"]
    subprocess.run([*command, "synth", "images", str(folder / "images"), "-n", "600", "--seed", "1"], check=True)
    ps.pack(folder / "images", folder / "tar", format="tar")
    return folder / "tar"


def same_as_on_the_host(dataset: pathlib.Path) -> None:
    for dtype in ("float32", "float16", "bfloat16"):
        chain = ps.image.random_resized_crop(224) | ps.image.random_flip() | ps.image.normalize(MEAN, DEVIATION)
        fields = {"jpg": chain | ps.image.cast(dtype)}
        options = {"batch_size": 64, "shuffle": True, "fields": fields}
        for here, there in zip(ps.Loader(dataset, **options), ps.Loader(dataset, device="cuda:0", **options)):
            assert torch.equal(torch.from_dlpack(here["jpg"]), torch.from_dlpack(there["jpg"]).cpu()), dtype
    print("batches on the GPU      equal to those on the host, in float32, float16 and bfloat16")


def share_of_a_step(dataset: pathlib.Path) -> None:
    model = (
        torch.nn.Sequential(torch.nn.Conv2d(3, 64, 7, 4), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(1)).cuda().half()
    )
    fields = {"jpg": ps.image.random_resized_crop(224) | ps.image.normalize(MEAN, DEVIATION) | ps.image.cast("float16")}
    loader = ps.Loader(dataset, batch_size=64, shuffle=True, device="cuda:0", fields=fields)
    rates = []
    for _ in range(EPOCHS):
        begun, rows = time.perf_counter(), 0
        for batch in loader:
            images = torch.from_dlpack(batch["jpg"])
            rows += len(images)
            model(images).sum()
            del batch, images
        torch.cuda.synchronize()
        rates.append(rows / (time.perf_counter() - begun))
    stats = loader.stats()
    crossed = stats["samples"] * 3 * 224 * 224  # as uint8
    print(
        f"end to end              {statistics.median(rates):.0f} images/s; {crossed / max(stats['stages']['copy']['busy_s'], 1e-9) / 1e9:.1f} "
        f"GB/s while copying and normalizing; waited {100 * stats['consumer_wait_s'] / stats['wall_s']:.1f} % of its time"
    )
    print(stats)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        dataset = synth(pathlib.Path(folder))
        same_as_on_the_host(dataset)
        share_of_a_step(dataset)


if __name__ == "__main__":
    main()
