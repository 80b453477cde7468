"""Batches from files to a GPU, beside the same batches on the host; then the rate of copies and the DataLoader's share of a
step. Run by tests/gpu.sh with the wheel it was given."""

import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
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
        chain = (
            ps.image.random_resized_crop(224) | ps.image.random_horizontal_flip() | ps.image.normalize(MEAN, DEVIATION)
        )
        fields = {"jpg": chain | ps.image.cast(dtype)}
        options = {"batch_size": 64, "shuffle": True, "transforms": fields}
        for here, there in zip(ps.Loader(dataset, **options), ps.Loader(dataset, device="cuda:0", **options)):
            assert torch.equal(torch.from_dlpack(here["jpg"]), torch.from_dlpack(there["jpg"]).cpu()), dtype
    print("batches on the GPU      equal to those on the host, in float32, float16 and bfloat16")


def points_as_on_the_host(folder: pathlib.Path) -> None:
    generator = np.random.default_rng(3)
    with ps.Writer(folder / "clouds.tar.d", format="tar", progress=False) as writer:
        for i in range(200):
            writer.write({"__key__": f"{i:04d}", "npy": generator.normal(size=(2048, 3)).astype("float32")})
    p = ps.points
    chains = {
        "PointNet's": p.center() | p.unit_sphere() | p.random_rotate() | p.random_jitter(),
        "any order": p.random_jitter(0.1, 0.2)
        | p.random_rotate("free")
        | p.random_scale()
        | p.random_shift()
        | p.center()
        | p.scale(2),
        "planes": p.unit_sphere() | p.random_jitter() | p.channels_first() | p.cast("float64"),
    }
    for name, chain in chains.items():
        options = {"batch_size": 32, "shuffle": True, "transforms": {"npy": chain}}
        on_device = ps.Loader(
            folder / "clouds.tar.d", device="cuda:0", device_options=ps.DeviceOptions(finish_on="device"), **options
        )
        for here, there in zip(ps.Loader(folder / "clouds.tar.d", **options), on_device):
            assert torch.equal(torch.from_dlpack(here["npy"]), torch.from_dlpack(there["npy"]).cpu()), name
    print("points on the GPU       equal to those on the host: " + ", ".join(chains))


def rows_as_on_the_host(folder: pathlib.Path, device: str = "cuda:0") -> None:
    np.save(folder / "rows.npy", np.random.default_rng(5).integers(0, 256, (400, 96, 96, 3), dtype=np.uint8))
    value = ps.field("value")
    fields = {
        "rows": value | ps.array.decode(),
        "numbers": value | ps.image.decode() | ps.image.normalize(MEAN, DEVIATION),
    }
    options = {"batch_size": 32, "shuffle": True, "transforms": fields}
    loader = ps.Loader(folder / "rows.npy", device=device, device_options=ps.DeviceOptions(gpu_direct=True), **options)
    for _ in range(EPOCHS):
        for here, there in zip(ps.Loader(folder / "rows.npy", **options), loader):
            for name in fields:
                assert torch.equal(torch.from_dlpack(here[name]), torch.from_dlpack(there[name]).cpu()), name
        loader.set_epoch(0)
    stats = loader.stats()
    print(
        f"rows by gpu_direct      equal to those on the host: {stats['gpu_direct']}, {stats['gpu_direct_bytes']} bytes"
    )


def shares_of_jpeg(dataset: pathlib.Path, device: str = "cuda:0") -> None:
    """Pixels of the device's decoder beside the cores', and how fast batches come at each share."""
    crop = ps.image.random_resized_crop(224) | ps.image.random_horizontal_flip()
    fields = {"jpg": crop | ps.image.normalize((0, 0, 0), (1, 1, 1))}
    options = {"batch_size": 64, "shuffle": True, "transforms": fields}
    for share in (0, 0.25, 0.5, 0.75, 1):
        loader = ps.Loader(dataset, device=device, device_options=ps.DeviceOptions(gpu_jpeg=share), **options)
        far, pixels, rates = 0.0, 0, []
        for here, there in zip(ps.Loader(dataset, **options), loader, strict=True):
            apart = (torch.from_dlpack(here["jpg"]) - torch.from_dlpack(there["jpg"]).cpu()).abs() * 255
            far, pixels = far + apart.sum().item(), pixels + apart.numel()
        for _ in range(EPOCHS):
            begun, rows = time.perf_counter(), 0
            for batch in loader:
                rows += len(torch.from_dlpack(batch["jpg"]))
            rates.append(rows / (time.perf_counter() - begun))
        stats = loader.stats()
        assert far / pixels < 2, f"{far / pixels:.2f} levels from the cores' pixels"
        print(
            f"gpu_jpeg={share:<15}{statistics.median(rates):.0f} images/s; {far / pixels:.3f} levels from the cores' pixels; "
            f"{stats['gpu_jpeg']}, {stats['gpu_jpeg_rows']} images"
        )


def share_of_a_step(dataset: pathlib.Path) -> None:
    model = (
        torch.nn.Sequential(torch.nn.Conv2d(3, 64, 7, 4), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(1)).cuda().half()
    )
    fields = {"jpg": ps.image.random_resized_crop(224) | ps.image.normalize(MEAN, DEVIATION) | ps.image.cast("float16")}
    loader = ps.Loader(dataset, batch_size=64, shuffle=True, device="cuda:0", transforms=fields)
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
        f"GB/s while copying and normalizing; waited {100 * stats['data_wait_s'] / stats['wall_s']:.1f} % of its time"
    )
    print(stats)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        dataset = synth(pathlib.Path(folder))
        same_as_on_the_host(dataset)
        points_as_on_the_host(pathlib.Path(folder))
        rows_as_on_the_host(pathlib.Path(folder))
        shares_of_jpeg(dataset)
        share_of_a_step(dataset)


if __name__ == "__main__":
    main()
