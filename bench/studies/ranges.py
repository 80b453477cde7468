"""Usage: python bench/studies/ranges.py [--program build/dev/bench/studies/remote_ranges] [--rounds 5] [--sizes
8,64,1024]
    [--json FILE]

Measures the client's CPU time for ranges from one loopback server (nginx, one worker process). Compares penstock with
obstore, fsspec, s3fs and s3torchconnector. Also with samples of the same size by Mosaic Streaming and LitData, which
fetch shards and chunks. Each runs as a separate process, in turns; results are medians of `--rounds`. At the end,
compares the rate of a whole object of 256 MiB with curl's.
--peers: a Python that has the other libraries. Missing ones are skipped, with a message.
"""

import argparse
import json
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import tempfile
import time

from nginx import Nginx
from peers import DATASETS, READERS

HERE = pathlib.Path(__file__).parent
OBJECT = 256 << 20


def make_object(folder):
    (folder / "data/bucket").mkdir(parents=True)
    block = random.Random(1).randbytes(1 << 20)
    with open(folder / "data/bucket/object", "wb") as file:
        file.writelines(block for _ in range(OBJECT >> 20))


def make_datasets(folder, python, size, count):
    """The input of Mosaic Streaming and LitData: `count` samples of `size` bytes."""
    program = f"""
import os, random, sys
from streaming import MDSWriter
draw = random.Random(2)
with MDSWriter(out="{folder}/data/bucket/mds-{size}", columns={{"x": "bytes"}}) as out:
    for _ in range({count}): out.write({{"x": draw.randbytes({size})}})
"""
    subprocess.run([python, "-c", program], check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    program = f"""
import random
from litdata import optimize
def one(i): return random.Random(i).randbytes({size})
if __name__ == "__main__":
    optimize(fn=one, inputs=list(range({count})), output_dir="{folder}/data/bucket/litdata-{size}", chunk_bytes="64MB", num_workers=1)
"""
    path = folder / "optimize.py"
    path.write_text(program)
    subprocess.run([python, str(path)], check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder)


def of_peer(python, kind, address, size, count, flight):
    environment = dict(
        os.environ,
        AWS_EC2_METADATA_DISABLED="true",
        AWS_ALLOW_HTTP="true",
        AWS_ACCESS_KEY_ID="x",
        AWS_SECRET_ACCESS_KEY="y",
        S3_ENDPOINT_URL=address.split("/bucket")[0],
        AWS_ENDPOINT_URL=address.split("/bucket")[0],
    )
    run = subprocess.run(
        [python, HERE / "peers.py", kind, address, *map(str, (size, count, flight, OBJECT))],
        capture_output=True, text=True, env=environment, timeout=600, check=False,
    )  # fmt: skip
    if run.returncode != 0:
        lines = [line for line in run.stderr.splitlines() if "Error" in line or "xception" in line]
        raise RuntimeError(lines[-1] if lines else "no output")
    return json.loads(run.stdout.strip().splitlines()[-1])


def of_penstock(program, address, size, count, flight):
    """Runs the program. Its line of JSON has the same members."""
    run = subprocess.run(
        [program, address, "--size", str(size), "--count", str(count), "--flight", str(flight), "--json"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return json.loads(run.stdout.strip().splitlines()[-1])


def whole(program, address, rounds):
    """Bytes per second for the whole object, by curl and by penstock."""
    rates = {"curl": [], "penstock": []}
    for _ in range(rounds):
        began = time.perf_counter()
        subprocess.run(["curl", "-s", "-o", "/dev/null", address], check=True)
        rates["curl"].append(OBJECT / (time.perf_counter() - began))
        told = of_penstock(program, address, 8 << 20, OBJECT >> 23, 4)
        rates["penstock"].append(told["bytes"] / told["seconds"])
    return {name: statistics.median(values) for name, values in rates.items()}


def compare(given, kinds, folder, root, size):
    """Prints and returns a table."""
    count = min(given.count, OBJECT // size * 4)
    if set(kinds) & set(DATASETS):
        make_datasets(folder, given.peers, size, count)
    measured, left_out = {"penstock": []}, {}
    for _ in range(given.rounds):
        measured["penstock"].append(of_penstock(given.program, f"{root}/bucket/object", size, count, given.flight))
        for kind in kinds:
            of_dataset = {"Mosaic Streaming": f"mds-{size}", "LitData": f"litdata-{size}"}
            address = f"{root}/bucket/{of_dataset.get(kind, 'object')}"
            if kind in left_out:
                continue
            try:
                measured.setdefault(kind, []).append(of_peer(given.peers, kind, address, size, count, given.flight))
            except (RuntimeError, subprocess.TimeoutExpired) as problem:
                left_out[kind] = str(problem)[:150]
    own = statistics.median(one["worked"] for one in measured["penstock"]) / count * 1e6
    print(f"\nranges of {size >> 10} KiB, {count} of them, {given.flight} in flight")
    print(f"{'':24}{'ms/1,000 ranges':>16}{'times penstock':>16}{'ranges/s':>12}")
    table = {}
    for kind, values in measured.items():
        if not values or kind in left_out:
            continue
        cost = statistics.median(one["worked"] for one in values) / count * 1e6
        rate = statistics.median(count / one["seconds"] for one in values)
        print(f"{kind:24}{cost:16.1f}{cost / own:16.2f}{rate:12,.0f}", flush=True)
        table[kind] = {"ms_per_1000": cost, "rate": rate}
    for kind, problem in left_out.items():
        print(f"{kind:24}left out: {problem}")
    return table


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/dev/bench/studies/remote_ranges")
    parser.add_argument("--peers", default=os.path.expanduser("~/.cache/penstock-peers/remote/bin/python"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--count", type=int, default=3000)
    parser.add_argument("--flight", type=int, default=32)
    parser.add_argument("--sizes", default="8,64,1024", help="sizes of ranges in KiB")
    parser.add_argument("--port", type=int, default=8123)
    parser.add_argument("--only", help="names of peers, separated by commas")
    parser.add_argument("--json")
    given = parser.parse_args()
    kinds = [*READERS, *DATASETS] if given.only is None else given.only.split(",")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="penstock-ranges-"))
    make_object(folder)
    told = {}
    try:
        with Nginx(folder, folder / "data", given.port) as server:
            address = f"{server.address}/bucket/object"
            for size in [int(one) << 10 for one in given.sizes.split(",")]:
                told[str(size)] = compare(given, kinds, folder, server.address, size)
            rates = whole(given.program, address, given.rounds)
            print(f"\nall of {OBJECT >> 20} MiB: curl {rates['curl'] / 1e6:,.0f} MB/s, penstock {rates['penstock'] / 1e6:,.0f} MB/s: "
                  f"{rates['penstock'] / rates['curl']:.2f}")  # fmt: skip
            told["whole"] = rates
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if given.json:
        pathlib.Path(given.json).write_text(json.dumps(told, indent=1))


if __name__ == "__main__":
    main()
