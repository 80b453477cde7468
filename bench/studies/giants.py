"""Usage: python bench/studies/giants.py FOLDER [NAME=PYTHONPATH...] [--workers 2] [--rounds 5]

Measures the seconds until the batch with one very large sample is ready. The large samples are a `jpt` of 100
megapixels among photographs of 0.2, and a LAZ of 5,000,000 points among clouds of 20,000. The large sample is the first
of the first batch, so that one worker processes it while the others soon run out of work. FOLDER is for the datasets,
which are made once (by laspy and Pillow) and reused. Each PYTHONPATH is a build of penstock (by default the imported
one). Builds take turns in separate processes. Prints medians, quartiles, and ratios to the first.
"""

import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import time

BATCH, SMALL = 8, 95  # enough small samples that no loader reaches the next epoch's large sample
SIDE = 10_000


def photograph(side, seed):
    import numpy
    from PIL import Image

    noise = numpy.random.default_rng(seed)
    coarse = Image.fromarray(noise.integers(0, 256, (side // 16, side // 16, 3), dtype=numpy.uint8))
    picture = numpy.asarray(coarse.resize((side, side), Image.Resampling.BICUBIC)).astype(numpy.int16)
    picture += noise.integers(-12, 13, (side, side, 1), dtype=numpy.int16)
    return Image.fromarray(picture.clip(0, 255).astype(numpy.uint8))


def write_cloud(path, points, seed):
    import laspy
    import numpy

    noise = numpy.random.default_rng(seed)
    header = laspy.LasHeader(point_format=6, version="1.4")
    header.scales, header.offsets = [0.001] * 3, [500000, 5900000, 0]
    cloud = laspy.LasData(header)
    number = numpy.arange(points)
    cloud.x = 500000 + number % 1000 * 0.2 + noise.normal(0, 0.05, points)
    cloud.y = 5900000 + number // 1000 * 0.1 + noise.normal(0, 0.02, points)
    cloud.z = abs(noise.normal(10, 4, points))
    cloud.intensity = noise.integers(0, 3000, points)
    cloud.gps_time = numpy.cumsum(noise.random(points) * 1e-5)
    cloud.write(path)


def make(folder):
    import penstock as ps

    def write_image(path, giant, seed):
        photograph(SIDE if giant else 448, seed).save(path, quality=88)

    def write_points(path, giant, seed):
        write_cloud(path, 5_000_000 if giant else 20_000, seed)

    for name, write in (("images", write_image), ("clouds", write_points)):
        if (folder / name).exists():
            continue
        source = folder / (name + ".source")
        source.mkdir(parents=True, exist_ok=True)
        for i in range(1 + SMALL):
            write(source / f"{i:05}.{'jpg' if name == 'images' else 'laz'}", i == 0, i)
        options = {"jpeg": "recode"} if name == "images" else {}
        ps.pack(source, folder / name, format="tar", **options)


def measure(folder, workers):
    """For each dataset, seconds from requesting a new loader's first batch until it is ready."""
    import penstock as ps

    chains = {"images": {"jpg": ps.image.resize((224, 224))}, "clouds": {"laz": ps.points.sample(16384)}}
    for name, fields in chains.items():
        for file in (folder / name).iterdir():
            file.read_bytes()
        with ps.Loader(folder / name, batch_size=BATCH, workers=workers, transforms=fields) as loader:
            begin = time.perf_counter()
            next(iter(loader))
            print(name, time.perf_counter() - begin)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("builds", nargs="*", metavar="NAME=PYTHONPATH")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        return measure(given.folder, given.workers)
    builds = dict(build.split("=", 1) for build in given.builds) or {"this": os.environ.get("PYTHONPATH", "")}
    sys.path[:0] = next(iter(builds.values())).split(os.pathsep)
    make(given.folder)
    seconds = {}
    for _ in range(given.rounds):
        for name, path in builds.items():
            command = [sys.executable, __file__, given.folder, "--measure", "--workers", str(given.workers)]
            environment = {**os.environ, "PYTHONPATH": path}
            out = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)
            for line in out.stdout.splitlines():
                dataset, value = line.split()
                seconds.setdefault((dataset, name), []).append(float(value))
    print(f"| dataset | build | s to the large sample's batch, {given.workers} workers | quartiles | ratio |")
    print("| --- | --- | --: | --: | --: |")
    for (dataset, name), values in seconds.items():
        first = statistics.median(seconds[dataset, next(iter(builds))])
        low, middle, high = statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else 3 * values
        print(f"| {dataset} | {name} | {middle:.3f} | {low:.3f}-{high:.3f} | {first / middle:.2f} |")


if __name__ == "__main__":
    main()
