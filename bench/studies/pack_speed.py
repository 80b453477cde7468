#!/usr/bin/env python3
"""Usage: PYTHONPATH=build/release/python python bench/studies/pack_speed.py --images DIR [options]

Compares packing with its lower limit. The limit of a copy is writing the same bytes to files and fsyncing each (`cp`
for tars, `cat` into one file for a folder). The limit of --jpeg quality:90 is decoding and encoding the same
photographs (Pillow, from memory, one process per worker). Sources are the photographs of --images as a folder of files,
and tars of about 1 GB, of photographs and of small samples, which are made in --folder. The jobs take turns, each in a
separate process. Sources are in the page cache, or dropped from it with --cold. Needs the packages that
beside_packings.py needs.
"""

import argparse
import io
import multiprocessing
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import time

import beside
from beside_files import make, photographs
from PIL import Image

QUALITY = 90


def source_of(name, options):
    return options.images if name == "photographs" else options.folder / name


def size_of(source):
    return sum(path.stat().st_size for path in source.rglob("*") if path.is_file() and "penstock-idx" not in path.name)


def copy(source, destination, options):
    destination.mkdir()
    names = [name for name in beside.files_of(source) if name.suffix == ".tar"]
    subprocess.run(["cp", *names, destination], check=True)
    subprocess.run(["sync", *destination.iterdir()], check=True)  # with named files, sync calls fsync for each


def gather(source, destination, options):
    destination.mkdir()
    with open(destination / "all", "wb") as out:
        subprocess.run(["cat", *photographs(source)], check=True, stdout=out)
        os.fsync(out.fileno())


def pack(source, destination, options, format="tar", **more):
    import penstock as ps

    ps.pack(str(source), str(destination), format=format, workers=options.workers, progress=False, **more)


def code_again(files):
    for data in files:
        image = Image.open(io.BytesIO(data))
        image.load()
        # optimize computes Huffman tables for each image
        image.save(io.BytesIO(), "jpeg", quality=QUALITY, subsampling="keep", optimize=True)


def codec_alone(source, destination, options):
    files = [path.read_bytes() for path in photographs(source)]
    began = time.perf_counter()
    shares = [files[i :: options.workers] for i in range(options.workers)]
    workers = [multiprocessing.get_context("fork").Process(target=code_again, args=(share,)) for share in shares]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return time.perf_counter() - began


def packing(format="tar", **more):
    return lambda *given: pack(*given, format=format, **more)


JOBS = {  # source, job
    "photographs in a folder: cat and fsync": ("photographs", gather),
    **{f"photographs in a folder: pack {name}": ("photographs", packing(name)) for name in ("tar", "lmdb", "hdf5")},
    "tars of photographs: cp and fsync": ("jpg-many.tars", copy),
    **{f"tars of photographs: pack {name}": ("jpg-many.tars", packing(name)) for name in ("tar", "lmdb", "hdf5")},
    "tars of 3 KB samples: cp and fsync": ("raw-many.tars", copy),
    **{f"tars of 3 KB samples: pack {name}": ("raw-many.tars", packing(name)) for name in ("tar", "lmdb", "hdf5")},
    "encoding photographs: only the codec": ("photographs", codec_alone),
    "encoding photographs: pack quality:90": ("photographs", packing(jpeg=f"quality:{QUALITY}")),
}


def measure(options):
    beside.begin_run()
    import penstock  # noqa: F401

    name, job = JOBS[options.run]
    source, destination = source_of(name, options), options.folder / "packed"
    shutil.rmtree(destination, ignore_errors=True)
    files = photographs(source) if name == "photographs" else beside.files_of(source)
    for file in files:
        file.read_bytes()
    if options.cold:
        beside.drop_page_cache(files)
    cpu, began = beside.cpu_seconds(), time.perf_counter()
    seconds = job(source, destination, options) or time.perf_counter() - began
    cpu = beside.cpu_seconds() - cpu
    shutil.rmtree(destination, ignore_errors=True)
    beside.end_run({"seconds": seconds, "cpu": cpu, "MB/s": size_of(source) / 1e6 / seconds})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=pathlib.Path, required=True, help="a folder of class folders of photographs")
    parser.add_argument(
        "--folder", type=pathlib.Path, default=pathlib.Path("build/beside"), help="folder for the generated files"
    )
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", help="run only jobs whose name contains this")
    parser.add_argument("--cold", action="store_true", help="drop the source from the page cache first")
    parser.add_argument("--run", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run:
        return measure(options)
    jobs = [name for name in JOBS if options.only in name]
    for name in {JOBS[job][0] for job in jobs} - {"photographs"}:
        make(name, options.folder, options.images)
    runs = {name: [] for name in jobs}
    for _ in range(options.rounds):
        for name, told in runs.items():
            told.append(beside.run_apart(sys.argv[1:], name))
    print(
        f"{options.workers} workers, source {'cold' if options.cold else 'warm'}; median of {options.rounds} runs (lowest-highest)"
    )
    print(beside.machine())
    print("\n| job | MB/s of the source | share of the job above it that sets the limit |\n| --- | --: | --: |")
    limit = None
    for name, told in runs.items():
        rates = [run["MB/s"] for run in told]
        if not name.split(": ")[1].startswith("pack"):
            limit, share = rates, ""
        else:
            share = f"{statistics.median(rates) / statistics.median(limit):.2f}"
        print(f"| {name} | {beside.middle(rates)} | {share} |")
    return None


if __name__ == "__main__":
    main()
