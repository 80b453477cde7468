#!/usr/bin/env python3
"""Usage: campaign_of_faults.py PROBE [--seconds 60] [--rounds N] [--seed N] [--reads 40]

Reads from a server that draws faults at random, round after round: each read must give the right bytes or one error that
names the address, in bounded time. Prints what came, and each round that broke the rule with its seed; ends with 1 then."""

import argparse
import collections
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from server import Server

PASSING = ["status=503", "status=429", "status=500", "reset", "reset-body", "close-body", "length", "refused", "short", "long",
           "range", "total", "type", "chunked", "chunked-long", "garbage", "headers", "hang", "hang-body", "trickle=300", "latency=0.3",
           "ignore-range", "redirect=same"]  # fmt: skip
LASTING = ["etag", "grow", "status=403", "status=404", "encoding", "redirect=loop", "redirect=nowhere"]
LONGEST = 60


def faults_of(draw):
    kinds = draw.sample(PASSING, draw.randrange(1, 6))
    if draw.random() < 0.2:
        kinds.append(draw.choice(LASTING))
    if draw.random() < 0.2:
        kinds.append(draw.choice(["weak:any", "no-etag:any"]))
    return "+".join(k if ":" in k else f"{k}@{draw.choice([0.02, 0.1, 0.3])}" for k in kinds)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("probe")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 30))
    parser.add_argument("--reads", type=int, default=40)
    given = parser.parse_args()
    print(f"seed {given.seed}", flush=True)
    until, came, broken, rounds = time.monotonic() + given.seconds, collections.Counter(), 0, 0
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "file"
        file.write_bytes(random.Random(1).randbytes(4_000_000))
        while rounds < given.rounds if given.rounds else time.monotonic() < until:
            seed = given.seed + rounds
            draw, rounds = random.Random(seed), rounds + 1
            faults = faults_of(draw)
            environment = {**os.environ, "PENSTOCK_REMOTE_DEADLINE": "6", "PENSTOCK_REMOTE_STALL": "0.5",
                           "PENSTOCK_REMOTE_HEDGE": draw.choice(["0", "2"]), "PENSTOCK_REMOTE_CONNECTIONS": draw.choice(["1", "4", "32"])}  # fmt: skip
            with Server(folder, seed=seed) as server:
                address = f"{server.root}/~{faults}/file"
                words = [given.probe, "ranges", address, str(file), "--reads", str(given.reads), "--seed", str(seed)]
                words += ["--size", str(draw.choice([100, 10_000, 300_000])), "--parts", str(draw.randrange(1, 6))]
                problems = []
                try:
                    ran = subprocess.run(
                        words, capture_output=True, text=True, timeout=LONGEST * 4, env=environment, check=False
                    )
                    lines = [json.loads(line) for line in ran.stdout.splitlines()]
                    if ran.returncode != 0:
                        problems.append(f"ended with {ran.returncode}: {ran.stderr[-2000:]}")
                    elif len(lines) != given.reads + 1 and not (len(lines) == 1 and "error" in lines[0]):
                        problems.append(f"{len(lines)} lines")
                except subprocess.TimeoutExpired:
                    lines, problems = [], ["hangs"]
            for line in lines:
                if line.get("right") is False:
                    problems.append("wrong bytes")
                elif "error" in line:
                    came["errors"] += 1
                    if address not in line["error"]:
                        problems.append(f"an error without the address: {line['error']}")
                elif "right" in line:
                    came["right"] += 1
                else:
                    came.update({name: line[name] for name in ("requests", "retries", "hedges")})
            for problem in problems:
                print(f"seed {seed}: {faults}: {problem}", flush=True)
            broken += bool(problems)
    print(f"{rounds} rounds: " + ", ".join(f"{count} {name}" for name, count in came.items()) + f"; {broken} broken")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
