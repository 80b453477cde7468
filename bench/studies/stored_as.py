"""Measures the size on disk and the speed of an epoch for each way of storing photographs.

    python bench/studies/stored_as.py PHOTOGRAPHS [--folder DIR] [--seconds 5] [--workers 2] [--only keep decode]

Packs the same photographs in each way that `penstock pack` supports, then measures all of them in turns with `penstock
bench --task image-train` (random crop to 224, flip, normalize, float32), and prints a table. PENSTOCK_COMMAND names the
command if it is not on PATH.
"""

import argparse
import json
import os
import pathlib
import subprocess
import tempfile

COMMAND = os.environ.get("PENSTOCK_COMMAND", "penstock")
WAYS = {
    "keep": [],
    "recode": ["--jpeg", "recode"],
    "max-side 400, quality 90": ["--max-side", "400", "--jpeg", "quality:90"],
    "max-side 400, recode": ["--max-side", "400", "--jpeg", "recode"],
    "decode 256": ["--decode", "256"],
}


def run(*words):
    done = subprocess.run([COMMAND, *map(str, words)], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(done.stderr.strip())
    return done.stdout


def pack(source, folder, ways):
    """Name -> (dataset, bytes on disk, samples)."""
    known = run("pack", "--help")
    packed = {}
    for name, options in ways.items():
        if "recode" in options and "recode" not in known:
            continue
        place = folder / name.replace(" ", "-").replace(",", "")
        run("pack", source, place, "--format", "tar", "--overwrite", *options)
        size = sum(file.stat().st_size for file in place.rglob("*") if file.is_file())
        packed[name] = place, size, json.loads(run("info", place, "--json"))["samples"]
    return packed


def measured(packed, options):
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        places = [place for place, _, _ in packed.values()]
        run("bench", *places, "--task", "image-train", "--workers", options.workers, "--prefetch", 2,
            "--seconds", options.seconds, "--json", report.name)  # fmt: skip
        return json.load(open(report.name))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source")
    parser.add_argument("--folder", type=pathlib.Path)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--only", nargs="*", default=list(WAYS), help="ways, by the first word of their names")
    options = parser.parse_args()
    ways = {name: words for name, words in WAYS.items() if any(name.startswith(only) for only in options.only)}
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        packed = pack(options.source, pathlib.Path(folder), ways)
        report = measured(packed, options)
    rows = {row["dataset"]: row for row in report["rows"]}
    print("| stored as | MB on disk | KB a sample | samples/s | quartiles | MB/s read |")
    print("| --- | --: | --: | --: | --: | --: |")
    for name, (place, size, samples) in packed.items():
        row = rows[str(place)]
        low, high = row["samples_per_s_quartiles"]
        print(
            f"| {name} | {size / 1e6:,.1f} | {size / samples / 1e3:,.1f} | {row['samples_per_s']:,.0f} "
            f"| {low:,.0f}-{high:,.0f} | {row['mb_per_s']:,.0f} |"
        )


if __name__ == "__main__":
    main()
