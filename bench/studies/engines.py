"""Compares reading with io_uring and with pread, for machines whose kernel has no io_uring.

    PYTHONPATH=build/dev/python python bench/studies/engines.py PHOTOGRAPHS [--rounds 7] [--workers 2] [--seconds 0.002]

Packs 1,000 of the photographs as a folder, tar, LMDB and HDF5. "crop": random crops of 224, the usual training.
"bytes": no decoding. Storage "memory": everything is in the page cache. Storage "disk": the files' pages are dropped
before each epoch. Storage "slow": each read of a file system (FUSE) takes --seconds longer, and is not cached. An epoch with each engine follows the other, in random order. Prints samples/s of io_uring and pread, and two median
ratios, pread / io_uring: of the rate, and of the CPU time for a sample (less is better). PENSTOCK_COMMAND names the
command if it is not on PATH. "slow" needs fusepy, libfuse2 and the right to mount.
"""

import argparse
import contextlib
import os
import pathlib
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time

import penstock as ps

COMMAND = os.environ.get("PENSTOCK_COMMAND", "penstock")
ENGINES = ("io_uring", "pread")
CROP = ps.image.random_resized_crop(224) | ps.image.random_horizontal_flip()
CHAINS = {"crop": CROP | ps.image.normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]), "bytes": ps.raw()}
FORMATS = ("folder", "tar", "lmdb", "hdf5")


def datasets(photographs, folder, samples):
    """One folder with the photographs, and their packings."""
    files = sorted(path for path in photographs.rglob("*") if path.suffix.lower() in (".jpg", ".jpeg"))
    (folder / "folder").mkdir()
    for number in range(samples):
        (folder / f"folder/{number:06}.jpg").write_bytes(files[number % len(files)].read_bytes())
    for format in FORMATS[1:]:
        subprocess.run(
            [COMMAND, "pack", folder / "folder", folder / format, "--format", format, "--shard-size", "32MiB"],
            check=True, capture_output=True,
        )  # fmt: skip


def drop(folder):
    os.sync()
    for file in folder.rglob("*"):
        if file.is_file():
            with open(file, "rb") as opened:
                os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def cpu():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def epoch(place, chain, engine, seed, workers):
    """Samples/s, and CPU seconds per sample."""
    loader = ps.Loader(
        place, batch_size=64, shuffle=True, seed=seed, workers=workers, transforms={"jpg": chain},
        read_options=ps.ReadOptions(engine=engine),
    )  # fmt: skip
    begin, used = time.perf_counter(), cpu()
    samples = sum(len(batch["jpg"]) for batch in loader)
    return samples / (time.perf_counter() - begin), (cpu() - used) / samples


@contextlib.contextmanager
def slow(folder, seconds):
    sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "tests/python"))
    import slow_files

    with slow_files.mounted(folder, pathlib.Path(tempfile.mkdtemp(dir=folder.parent)) / "slow", seconds) as mounted:
        yield mounted


def compare(storage, place, name, chain, options, before):
    rates, costs = {engine: [] for engine in ENGINES}, {engine: [] for engine in ENGINES}
    for number in range(options.rounds + 1):
        for engine in random.Random(number).sample(ENGINES, 2):
            before(place)
            rate, cost = epoch(place, chain, engine, number, options.workers)
            if number > 0:  # the first round warms up
                rates[engine].append(rate)
                costs[engine].append(cost)
    faster = [pread / uring for uring, pread in zip(rates["io_uring"], rates["pread"])]
    dearer = [pread / uring for uring, pread in zip(costs["io_uring"], costs["pread"])]
    print(
        f"| {storage} | {place.name} | {name} | {statistics.median(rates['io_uring']):,.0f} "
        f"| {statistics.median(rates['pread']):,.0f} | {statistics.median(faster):.2f} ({min(faster):.2f}-{max(faster):.2f}) "
        f"| {statistics.median(dearer):.2f} |",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("photographs", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--samples", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=0.002)
    parser.add_argument("--storage", default="memory,disk,slow")
    parser.add_argument("--folder", type=pathlib.Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        data = pathlib.Path(folder) / "data"
        data.mkdir()
        datasets(options.photographs, data, options.samples)
        print("| storage | format | work | io_uring | pread | pread / io_uring | CPU time |")
        print("| --- | --- | --- | --: | --: | --: | --: |")
        for storage in options.storage.split(","):
            for name, chain in CHAINS.items():
                with slow(data, options.seconds) if storage == "slow" else contextlib.nullcontext(data) as root:
                    for format in FORMATS:
                        before = drop if storage == "disk" else lambda _: None
                        compare(storage, root / format, name, chain, options, before)


if __name__ == "__main__":
    main()
