#!/usr/bin/env python3
"""Usage: PYTHONPATH=build/release/python python bench/studies/beside_clouds.py
    --penstock build/release/bindings/cli/penstock [options]

Compares penstock with PyTorch's DataLoader on point clouds: laspy (with lazrs for LAZ), a NumPy memory map of the
records of LAS, and h5py on points that were chosen once. Every loader takes 4,096 random points of each cloud, centred,
in the unit sphere, as float32 (3, 4096), in random order. Both sides have the same number of workers: threads in
penstock, processes in DataLoader. Every run is a separate process, and the loaders of a case take turns. A run reads
one epoch from a cold page cache, including the construction of the loader. Then a new loader runs warm for --seconds in
the middle of an endless stream.

Bytes read, per cloud: penstock's requests in the warm window. Bytes from disk, per cloud and per epoch: reads of the
cold epoch for every loader (/proc/PID/io), including the kernel's read-ahead.

The clouds are made once, in --folder, by `penstock synth clouds` and `penstock pack`. Needs h5py, laspy, lazrs, numpy,
torch and penstock.
"""

import argparse
import itertools
import os
import pathlib
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import NamedTuple

import beside
import numpy as np
import torch

POINTS = 4096


# --- the files ---


def penstock(options, *arguments):
    subprocess.run([options.penstock, *map(str, arguments)], check=True, stdout=subprocess.DEVNULL)


def synthesize(options, path):
    count, points = (options.count, 400_000) if "400k" in path.name else (options.large_count, 5_000_000)
    penstock(options, "synth", "clouds", path, "-n", count, "--points", points, "--layout", "plots")


def compress(options, path):
    import laspy

    for file in las_files(made(options, "400k"), "las")[: options.laz_count]:
        (path / file.parent.name).mkdir(parents=True, exist_ok=True)
        laspy.read(file).write(path / file.parent.name / (file.stem + ".laz"), laz_backend=laspy.LazBackend.Lazrs)


def choose_once(options, path):
    """The input of the study: 4,096 points of each cloud, stored as an array in HDF5."""
    import h5py

    rng = np.random.default_rng(0)
    with h5py.File(path, "w") as out:
        files = las_files(made(options, "400k"), "las")
        rows = out.create_dataset("x", (len(files), POINTS, 3), "f4")
        for number, file in enumerate(files):
            rows[number] = mapped(file, rng).astype(np.float32)


def pack(options, path):
    size, how, packing = path.name.split("-")
    chosen = ("--point-order", "progressive") if how == "progressive" else ("--presample", f"random:{POINTS}")
    penstock(options, "pack", made(options, size), path, "--format", packing, *chosen)


def made(options, name):
    path = options.folder / name
    if not path.exists():
        print(f"making {path}", file=sys.stderr)
        options.folder.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_name("unfinished-" + name)
        subprocess.run(["rm", "-rf", unfinished], check=True)
        ways = {"400k": synthesize, "5M": synthesize, "400k.laz": compress, "chosen.h5": choose_once}
        ways.get(name, pack)(options, unfinished if name in ways else path)
        if name in ways:
            unfinished.rename(path)
    return path


def las_files(folder, ending):
    return sorted(folder.rglob(f"*.{ending}"))


# --- the other readers ---


def mapped(file, rng):
    import laspy

    with laspy.open(file) as opened:
        header = opened.header
    records = np.memmap(file, header.point_format.dtype(), "r", header.offset_to_point_data, (header.point_count,))
    some = records[np.sort(rng.choice(len(records), POINTS, replace=False, shuffle=False))]
    return np.stack([some["X"], some["Y"], some["Z"]], 1) * header.scales + header.offsets


def with_laspy(file, rng, **selection):
    """The usual code."""
    import laspy

    cloud = laspy.read(file, **selection)
    points = np.vstack((cloud.x, cloud.y, cloud.z)).T
    return points[np.random.choice(len(points), POINTS, replace=False)]


def chosen_first(file, rng, **selection):
    """laspy, but scales only the chosen points."""
    import laspy

    cloud = laspy.read(file, **selection)
    some = rng.choice(len(cloud.points), POINTS, replace=False, shuffle=False)
    return np.stack([cloud.X[some], cloud.Y[some], cloud.Z[some]], 1) * cloud.header.scales + cloud.header.offsets


def coordinates_alone(file, rng):
    import laspy

    layers = laspy.DecompressionSelection.base() | laspy.DecompressionSelection.Z
    return chosen_first(file, rng, decompression_selection=layers)


class Clouds:
    def __init__(self, path, read):
        self.files, self.read, self.rng = las_files(path, path.suffix[1:] or "las"), read, None

    def __len__(self):
        return len(self.files)

    def points(self, number):
        self.rng = self.rng or np.random.default_rng()
        return self.read(self.files[number], self.rng)

    def __getitem__(self, number):
        points = self.points(number)
        points = points - points.mean(0)
        points = (points / np.sqrt((points**2).sum(1).max())).astype(np.float32)
        return torch.from_numpy(np.ascontiguousarray(points.T))


class Rows(Clouds):
    """Opens the file at the first read, in the worker process."""

    def __init__(self, path):
        self.path, self.rows = path, None

    def __len__(self):
        import h5py

        with h5py.File(self.path) as file:
            return len(file["x"])

    def points(self, number):
        if self.rows is None:
            import h5py

            self.rows = h5py.File(self.path)["x"]
        return self.rows[number]


class Endless:
    def __init__(self, count):
        self.count = count

    def __iter__(self):
        while True:
            yield from torch.randperm(self.count).tolist()


def data_loader(clouds, options):
    batches = torch.utils.data.DataLoader(clouds, options.batch_size, sampler=Endless(len(clouds)),
                                          num_workers=options.workers)  # fmt: skip
    return iter(batches), lambda: None


# --- penstock ---


def by_penstock(path, options, field="las", method="random", **keywords):
    import penstock as ps

    points = ps.points
    chain = points.sample(POINTS, method, **keywords) | points.center() | points.unit_sphere() | points.channels_first()
    loader = ps.torch.Loader(str(path), batch_size=options.batch_size, shuffle=True, workers=options.workers,
                                      drop_last=True, as_tuple=(field,), transforms={field: chain})  # fmt: skip
    rounds = itertools.chain.from_iterable(loader for _ in itertools.count())
    return (batch[0] if isinstance(batch, (list, tuple)) else batch for batch in rounds), loader.loader.stats


# --- the cases ---


class Side(NamedTuple):
    title: str
    data: str
    batches: Callable  # (path, options) -> endless batches, and a function that returns penstock's stats
    moves: bool = False  # whether every epoch reads other bytes: clouds that are read ahead then count


def theirs(title, data, read):
    return Side(title, data, lambda path, options: data_loader(Clouds(path, read), options))


CASES = {
    "las": [
        Side("penstock", "400k", by_penstock),
        theirs("NumPy memory map of the records", "400k", mapped),
        theirs("laspy, points chosen before scaling", "400k", chosen_first),
        theirs("laspy", "400k", with_laspy),
    ],
    "laz": [
        Side("penstock", "400k.laz", lambda path, options: by_penstock(path, options, "laz")),
        Side("penstock, points from one chunk", "400k.laz",
             lambda path, options: by_penstock(path, options, "laz", "blocks", blocks=1)),
        theirs("laspy + lazrs, only coordinate layers", "400k.laz", coordinates_alone),
        theirs("laspy + lazrs", "400k.laz", with_laspy),
    ],
    "chosen": [
        Side("penstock, the same file", "chosen.h5", lambda path, options: by_penstock(path, options, "x")),
        Side("h5py", "chosen.h5", lambda path, options: data_loader(Rows(path), options)),
        Side("penstock, packed as tar", "400k-random-tar", by_penstock),
        Side("penstock, packed as LMDB", "400k-random-lmdb", by_penstock),
        Side("penstock, packed as HDF5", "400k-random-hdf5", by_penstock),
    ],
    "progressive": [
        Side("penstock, tar", "400k-progressive-tar", by_penstock, moves=True),
        Side("penstock, LMDB", "400k-progressive-lmdb", by_penstock, moves=True),
        Side("penstock, HDF5", "400k-progressive-hdf5", by_penstock, moves=True),
    ],
    "large": [
        Side("penstock, progressive order, tar", "5M-progressive-tar", by_penstock, moves=True),
        Side("penstock, progressive order, tar, 400,000 points", "400k-progressive-tar", by_penstock, moves=True),
        Side("penstock, LAS", "5M", by_penstock),
        theirs("NumPy memory map of the records", "5M", mapped),
        theirs("laspy", "5M", with_laspy),
    ],
}  # fmt: skip
TITLES = {
    "las": "LAS, 400,000 points a cloud",
    "laz": "LAZ, 400,000 points a cloud",
    "chosen": "4,096 points of each, chosen once",
    "progressive": "all 400,000 points, in progressive order",
    "large": "5,000,000 points a cloud",
}


# --- single runs, and all runs ---


def disk_bytes():
    """Bytes read from storage so far, by all processes of the run."""
    tasks = (pathlib.Path(f"/proc/{pid}/io").read_text().splitlines() for pid in beside.process_tree())
    return sum(int(line.split()[1]) for lines in tasks for line in lines if line.startswith("read_bytes:"))


def cold_epoch(side, path, options):
    """Clouds/s, bytes from the disk, number of clouds taken, and penstock's stats, which include reads ahead for later
    epochs."""
    beside.drop_page_cache(beside.files_of(path))
    before, began = disk_bytes(), time.perf_counter()
    batches, stats = side.batches(path, options)
    steps, _, _ = beside.window(batches, options.cold_seconds, max(1, options.clouds // options.batch_size))
    seconds, clouds = time.perf_counter() - began, steps * options.batch_size
    return clouds / seconds, disk_bytes() - before, clouds, stats()


def measure(case, number, options):
    """Measures cold, then warm, in this process."""
    beside.begin_run()
    torch.set_num_threads(1)
    side, path = CASES[case][number], made(options, CASES[case][number].data)
    if side.title.startswith("penstock"):
        import penstock.torch  # noqa: F401
    if options.cold:
        rate, disk, read, before = cold_epoch(side, path, options)
    for file in beside.files_of(path):
        file.read_bytes()
    batches, stats = side.batches(path, options)
    first = next(batches)
    assert first.shape == (options.batch_size, 3, POINTS) and first.dtype == torch.float32, first.shape
    beside.window(batches, options.seconds / 2, whole=options.workers)
    steps, seconds, cpu = beside.window(batches, options.seconds, whole=options.workers)
    clouds = steps * options.batch_size
    told = {"warm": clouds / seconds, "cpu": 1e3 * cpu / clouds}
    if stats() is not None:
        reads = stats()
        told["asked"] = reads["bytes_read"] / reads["samples"]
    if options.cold:
        if side.moves:
            read = max(read, before["bytes_read"] / told["asked"])
        told |= {"cold": rate, "disk": disk / read}
    beside.end_run(told)


def batch_size_of(case, options):
    """Small if a worker would take many seconds per batch."""
    return {"large": 8, "laz": 16}.get(case, options.batch_size)


def shown(size):
    return f"{size / 1e6:,.1f} MB" if size >= 1e6 else f"{size / 1e3:,.0f} KB"


def row(side, runs, slowest, count):
    warm = [run["warm"] for run in runs]
    cells = [side.title, beside.middle(warm, 1), f"{statistics.median(warm) / slowest:,.1f}",
             f"{statistics.median(run['cpu'] for run in runs):.3f}",
             shown(statistics.median(run["asked"] for run in runs)) if "asked" in runs[0] else ""]  # fmt: skip
    if "cold" in runs[0]:
        disk = statistics.median(run["disk"] for run in runs)
        cells += [beside.middle([run["cold"] for run in runs], 1), shown(disk), shown(disk * count)]
    return "| " + " | ".join(cells) + " |"


def clouds_in(path, options):
    import h5py

    if path.suffix == ".h5":
        with h5py.File(path) as file:
            return len(file["x"])
    if not path.is_dir() or not (found := [file for end in ("las", "laz") for file in las_files(path, end)]):
        return options.large_count if "5M" in path.name else options.count
    return len(found)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--penstock", default="penstock", help="penstock command")
    parser.add_argument(
        "--folder", type=pathlib.Path, default=pathlib.Path("build/clouds"), help="folder for the generated files"
    )
    parser.add_argument("--count", type=int, default=128, help="clouds of 400,000 points")
    parser.add_argument(
        "--laz-count", type=int, default=48, help="clouds of 400,000 points that are also stored as LAZ"
    )
    parser.add_argument("--large-count", type=int, default=8, help="clouds of 5,000,000 points")
    parser.add_argument("--only", nargs="*", choices=CASES, default=list(CASES), help="cases to run; default: all")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=3, help="length of each warm window")
    parser.add_argument("--cold-seconds", type=float, default=15, help="limit for a cold epoch")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cold", action=argparse.BooleanOptionalAction, default=True, help="measure cold epochs too")
    parser.add_argument("--run", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run:
        case, number = options.run.split("/")
        options.clouds = clouds_in(made(options, CASES[case][int(number)].data), options)
        options.batch_size = min(batch_size_of(case, options), options.clouds)  # a short batch would be dropped
        return measure(case, int(number), options)

    for case in options.only:
        for side in CASES[case]:
            made(options, side.data)
    runs = {case: [[] for _ in CASES[case]] for case in options.only}
    loads = []
    try:
        for _, case in itertools.product(range(options.rounds), options.only):
            loads.append(os.getloadavg()[0])
            for number, told in enumerate(runs[case]):
                told.append(beside.run_apart(sys.argv[1:], f"{case}/{number}"))
    except KeyboardInterrupt:
        print("interrupted: some cases have fewer runs", file=sys.stderr)
    print(f"{options.workers} workers, batches of {options.batch_size} (LAZ: 16, large clouds: 8); "
          f"clouds/s, median of up to {options.rounds} runs (lowest-highest)")  # fmt: skip
    if not loads:
        return None  # only makes the files
    print(f"{beside.machine()}; load averages before the cases {min(loads):.1f} to {max(loads):.1f}\n")
    for case, sides in runs.items():
        told = [(side, taken) for side, taken in zip(CASES[case], sides) if taken]
        if not told:
            continue
        slowest = min(statistics.median(run["warm"] for run in taken) for _, taken in told)
        cold = "cold" in told[0][1][0]
        print(f"| {TITLES[case]} | warm | times the slowest | CPU ms a cloud | asked for a cloud |"
              + (" cold | from disk a cloud | an epoch |" if cold else ""))  # fmt: skip
        print("| --- " + "| --: " * (7 if cold else 4) + "|")
        for side, taken in told:
            print(row(side, taken, slowest, clouds_in(made(options, side.data), options)))
        print()
    return None


if __name__ == "__main__":
    main()
