"""Usage: python bench/studies/epochs.py [--photographs FOLDER] [--latency 0.05] [--rounds 5] [--workers 1]
    [--samples 2000] [--seconds 4]

Measures windows of epochs of one dataset of photographs (packed as tar), in turns. Sources: the local disk; a loopback
server (nginx with its echo module, of Debian's nginx-light) that answers --latency seconds late; and that server with a
warm disk cache. Prints samples/s and CPU time beside the local ones, as medians of rounds. FOLDER: class folders; by
default, JPEGs are generated.
"""

import argparse
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from nginx import Nginx

import penstock as ps


def make_dataset(folder, given):
    source = given.photographs
    if source is None:
        source = folder / "images"
        subprocess.run(
            ["penstock", "synth", "images", source, "-n", str(given.samples)], check=True, stdout=subprocess.DEVNULL
        )
    ps.pack(source, folder / "packed", format="tar", progress=False)
    return folder / "packed"


def loader_of(dataset, given, **options):
    chain = ps.image.random_resized_crop(224) | ps.image.random_horizontal_flip()
    return ps.Loader(
        dataset,
        batch_size=64,
        shuffle=True,
        workers=given.workers,
        transforms={"jpg": chain, "cls": ps.label()},
        **options,
    )


def window(loader, seconds):
    """Samples per second, and CPU seconds per sample. Batches that were prepared during other measurements are not
    counted."""
    ready, rows, began, worked = 16, 0, 0.0, 0.0
    while True:
        for batch in loader:
            if ready > 0:
                ready -= 1
                began, worked = time.perf_counter(), time.process_time()
                continue
            rows += len(batch["__key__"])
            if time.perf_counter() - began >= seconds:
                return rows / (time.perf_counter() - began), (time.process_time() - worked) / rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--photographs", type=pathlib.Path)
    parser.add_argument("--samples", type=int, default=2000)
    parser.add_argument("--latency", type=float, default=0.05)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--port", type=int, default=8125)
    given = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="penstock-epochs-"))
    folder.chmod(0o755)
    try:
        dataset = make_dataset(folder, given)
        with Nginx(folder, folder, given.port, given.latency) as server:
            address = f"{server.address}/late/packed"
            loaders = {
                "local": loader_of(dataset, given),
                "late": loader_of(address, given),
                "late, warm cache": loader_of(address, given, disk_cache=folder / "cache"),
            }
            measured = {name: [] for name in loaders}
            for loader in loaders.values():
                window(loader, given.seconds)  # warm-up: page cache, slabs, and the disk cache
            for _ in range(given.rounds):
                for name, loader in loaders.items():
                    measured[name].append(window(loader, given.seconds))
            print(
                f"{len(ps.open(dataset))} samples, {given.workers} workers, {given.latency * 1e3:.0f} ms, {given.rounds} rounds"
            )
            print(f"{'':20}{'samples/s':>10}{'rate':>8}{'processor time':>16}")
            for name, epochs in measured.items():
                rate = statistics.median(own[0] for own in epochs)
                ratios = [
                    statistics.median(own[i] / first[i] for own, first in zip(epochs, measured["local"]))
                    for i in range(2)
                ]
                print(f"{name:20}{rate:10,.0f}{ratios[0]:8.3f}{ratios[1]:16.3f}")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
