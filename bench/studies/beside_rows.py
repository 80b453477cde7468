#!/usr/bin/env python3
"""Usage: PYTHONPATH=build/release/python python bench/studies/beside_rows.py [--folder DIR] [options]

Compares penstock with FFCV on rows that are not decoded: uint8 rows of 224 x 224 x 3 (150 KB) in random order. Rows are
delivered as torch tensors as they are stored, with the same number of threads. By default, all rows together are
--times as large as the last-level cache, so that rows come from memory. Every run is a separate process, and all take
turns, round after round. A run makes a loader and takes its first epoch, which maps every page of the file. Then it
measures for --seconds. FFCV's first batch is left out, because it waits for FFCV's compiler; nothing of penstock's is
left out. The last lines are ratios of neighbours in one round: median, lowest and highest.

  steady       penstock without checksums / FFCV
  first epoch  penstock's first epoch, checksums "first" / FFCV's first epoch
  of steady    penstock's first epoch, checksums "first" / FFCV's later epochs
  the price    penstock's first epoch, checksums "first" / penstock's first epoch, checksums "off"

The files are made once, in --folder: an array (.npy), packed by penstock (HDF5), and written by FFCV. Needs ffcv,
torch, numpy and penstock.
"""

import argparse
import itertools
import pathlib
import statistics
import sys
import time

import beside
import numpy as np

SHAPE = (224, 224, 3)
ROW = 224 * 224 * 3
RUNS = ("off", "first", "ffcv")


def last_level_cache_bytes():
    """Size of the last cache level that the kernel lists."""
    sizes = pathlib.Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size")
    return max(int(size.read_text().strip().rstrip("K")) << 10 for size in sizes)


def import_ffcv():
    """FFCV imports torchvision. In a torch without CUDA, torchvision's operators may be missing. FFCV uses none of
    them."""
    import torch

    library = torch.library.Library("torchvision", "DEF")
    for name in ("nms", "qnms"):
        library.define(name + "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    import ffcv.loader  # noqa: F401
    import ffcv.writer  # noqa: F401

    return library


def make(folder, count):
    """Makes the rows, once for every count."""
    data = folder / f"rows-{count}"
    data.mkdir(parents=True, exist_ok=True)
    if not (data / "rows.npy").exists():
        rows = np.lib.format.open_memmap(data / "new.npy", "w+", np.uint8, (count, *SHAPE))
        generator = np.random.default_rng(0)
        for row in rows:
            row[...] = generator.integers(0, 256, SHAPE, dtype=np.uint8)
        rows.flush()
        (data / "new.npy").rename(data / "rows.npy")
    if not (data / "rows.d").exists():
        import penstock as ps

        ps.pack(str(data / "rows.npy"), str(data / "rows.d"), format="hdf5")
    if not (data / "rows.beton").exists():
        kept = import_ffcv()  # noqa: F841
        from ffcv.fields import IntField, RGBImageField
        from ffcv.writer import DatasetWriter

        stored = np.load(data / "rows.npy", mmap_mode="r")

        class Rows:
            def __len__(self):
                return count

            def __getitem__(self, number):
                return np.array(stored[number]), number % 1000

        fields = {"image": RGBImageField(write_mode="raw"), "label": IntField()}
        DatasetWriter(str(data / "new.beton"), fields, num_workers=2).from_indexed_dataset(Rows())
        (data / "new.beton").rename(data / "rows.beton")
    return data


def with_ffcv(data, options):
    kept = import_ffcv()  # noqa: F841
    from ffcv.fields.decoders import IntDecoder, SimpleRGBImageDecoder
    from ffcv.loader import Loader, OrderOption
    from ffcv.transforms import Squeeze, ToTensor

    epochs = 2 + int(options.seconds * 500_000 / options.rows)  # epochs of one iteration: longer than the run
    loader = Loader(str(data / "rows.beton"), batch_size=options.batch_size, num_workers=options.workers,
                    order=OrderOption.RANDOM, os_cache=True, drop_last=True, batches_ahead=2,
                    indices=np.tile(np.arange(options.rows), epochs),
                    pipelines={"image": [SimpleRGBImageDecoder(), ToTensor()],
                               "label": [IntDecoder(), ToTensor(), Squeeze()]})  # fmt: skip
    return loader


def with_penstock(data, options, checksums):
    import penstock as ps
    import torch

    loader = ps.Loader(str(data / "rows.d"), batch_size=options.batch_size, shuffle=True, seed=1, workers=options.workers,
                       drop_last=True, checksums=checksums,
                       transforms={"value": ps.image.decode() | ps.image.channels_last()})  # fmt: skip

    def batches():
        while True:
            for batch in loader:
                yield torch.from_dlpack(batch["value"])

    return batches()


def read_once(data):
    """Reads the files into the page cache."""
    for file in beside.files_of(data):
        with open(file, "rb", buffering=0) as opened:
            while opened.read(8 << 20):
                pass


def run(name, options):
    beside.begin_run()
    data = make(options.folder, options.rows)
    read_once(data / "rows.beton" if name == "ffcv" else data / "rows.d")
    whole_pass = options.rows // options.batch_size
    batches = iter(with_ffcv(data, options) if name == "ffcv" else with_penstock(data, options, name))
    if name == "ffcv":
        next(batches)
        whole_pass -= 1
    began = time.perf_counter()
    for _ in itertools.islice(batches, whole_pass):
        pass
    first = whole_pass * options.batch_size / (time.perf_counter() - began)
    steps, seconds, cpu = beside.window(batches, options.seconds)
    beside.end_run({"first": first, "rate": steps * options.batch_size / seconds, "cores": cpu / seconds})


def measure(options):
    data = make(options.folder, options.rows)
    size = sum(file.stat().st_size for file in beside.files_of(data / "rows.d"))
    print(f"{options.rows:,} rows, {size >> 20:,} MiB, {size / last_level_cache_bytes():.1f} times the last-level cache; "
          f"{options.workers} threads; {beside.machine()}")  # fmt: skip
    told = {name: [] for name in RUNS}
    for _ in range(options.rounds):
        for name in RUNS:
            told[name].append(beside.run_apart(sys.argv[1:], name))
    print(f"{'samples/s':28}{'steady':>32}{'first epoch':>32}{'cores':>8}")
    for name, label in zip(RUNS, ("penstock, checksums off", 'penstock, checksums "first"', "FFCV")):
        first = beside.middle([each["first"] for each in told[name]])
        cores = statistics.median(each["cores"] for each in told[name])
        print(f"{label:28}{beside.middle([each['rate'] for each in told[name]]):>32}{first:>32}{cores:>8.2f}")
    ratios = {
        "steady: off / FFCV": [a["rate"] / b["rate"] for a, b in zip(told["off"], told["ffcv"])],
        'first epoch: "first" / FFCV': [a["first"] / b["first"] for a, b in zip(told["first"], told["ffcv"])],
        '"first" / FFCV steady': [a["first"] / b["rate"] for a, b in zip(told["first"], told["ffcv"])],
        'the price: "first" / off': [a["first"] / b["first"] for a, b in zip(told["first"], told["off"])],
    }
    for label, values in ratios.items():
        print(f"{label:28}{beside.middle(values, 3):>32}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path.home() / ".cache/penstock-rows")
    parser.add_argument(
        "--times", type=float, default=64, help="size of all rows, as a multiple of the last-level cache's size"
    )
    parser.add_argument("--rows", type=int, default=0, help="number of rows; 0: as given by --times")
    parser.add_argument("--workers", type=int, default=2, help="threads on both sides")
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2, help="length of the steady window")
    parser.add_argument("--run", choices=RUNS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.rows = (
        options.rows or int(options.times * last_level_cache_bytes() / ROW) // options.batch_size * options.batch_size
    )
    run(options.run, options) if options.run else measure(options)


if __name__ == "__main__":
    main()
