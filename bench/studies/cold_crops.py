"""Compares random crops of re-encoded photographs from storage: fields read whole, and only the tiles of the crops.

    PYTHONPATH=build/dev/python python bench/studies/cold_crops.py PHOTOGRAPHS [--glue 4x3] [--samples 400] [--rounds 5]
        [--workers 2] [--folder DIR]

Packs the photographs as `jpt` fields. With --glue, several form one large photograph. The same shards are opened twice:
as `pack` left them, and without the indexes of the tiles. Before each epoch, the files' pages are dropped from memory.
Prints samples/s of whole epochs, and bytes that came from storage. PENSTOCK_COMMAND names the command if it is not on
PATH. Needs the packages penstock and Pillow. To measure storage slower than this machine's, run it in a cgroup that
limits reads (blkio.throttle.read_bps_device, or io.max).
"""

import argparse
import os
import pathlib
import random
import statistics
import subprocess
import tempfile
import time

from PIL import Image

import penstock as ps

COMMAND = os.environ.get("PENSTOCK_COMMAND", "penstock")
TRAIN = (
    ps.image.decode()
    | ps.image.random_resized_crop(224)
    | ps.image.random_horizontal_flip()
    | ps.image.normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])
)


def photographs(source, folder, options):
    """Fills a folder with files. Unchanged ones are links."""
    files = sorted(path for path in source.rglob("*") if path.suffix.lower() in (".jpg", ".jpeg"))
    choose = random.Random(1)
    across, down = map(int, options.glue.split("x"))
    for number in range(options.samples):
        place = folder / f"{number:06}.jpg"
        if across * down == 1:
            place.symlink_to(files[number % len(files)].resolve())
            continue
        glued = Image.new("RGB", (500 * across, 375 * down))
        for x in range(across):
            for y in range(down):
                with Image.open(choose.choice(files)) as part:
                    glued.paste(part.convert("RGB").resize((500, 375)), (500 * x, 375 * y))
        glued.save(place, quality=90)


def packed(options, folder):
    """The datasets to measure: name -> place."""
    source, parts, whole = folder / "source", folder / "parts", folder / "whole"
    source.mkdir()
    photographs(options.source, source, options)
    subprocess.run(
        [COMMAND, "pack", source, parts, "--format", "tar", "--jpeg", "recode", "--shard-size", "4GiB"],
        check=True, capture_output=True,
    )  # fmt: skip
    whole.mkdir()
    os.link(parts / "shard-000000.tar", whole / "shard.tar")
    return {"whole fields": whole / "shard.tar", "tiles of the crop": parts}


def drop(place):
    for file in [place] if place.is_file() else place.glob("*.tar"):
        with open(file, "rb") as opened:
            os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def bytes_from_storage():
    with open("/proc/self/io") as counters:
        return int(next(line for line in counters if line.startswith("read_bytes")).split()[1])


def epoch(place, seed, workers):
    """Samples/s, and bytes per sample from storage."""
    dataset = ps.open(place)
    drop(place)
    before, begin, count = bytes_from_storage(), time.perf_counter(), 0
    for batch in ps.Loader(dataset, batch_size=32, shuffle=True, seed=seed, workers=workers, transforms={"jpg": TRAIN}):
        count += batch["jpg"].shape[0]
    return count / (time.perf_counter() - begin), (bytes_from_storage() - before) / count


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=pathlib.Path)
    parser.add_argument("--glue", default="1x1")
    parser.add_argument("--samples", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--folder", type=pathlib.Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        os.environ["PENSTOCK_INDEX_DIR"] = folder
        places = packed(options, pathlib.Path(folder))
        seen = {name: [] for name in places}
        for number in range(options.rounds):
            for name, place in places.items():
                seen[name].append(epoch(place, number, options.workers))
        for name, rows in seen.items():
            speeds = sorted(speed for speed, _ in rows)
            print(
                f"| {options.glue} | {name} | {statistics.median(size for _, size in rows) / 1e3:.1f} KB "
                f"| {statistics.median(speeds):,.0f} | {speeds[0]:,.0f}-{speeds[-1]:,.0f} |"
            )


if __name__ == "__main__":
    main()
