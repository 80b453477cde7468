#!/usr/bin/env python3
"""Usage: campaign_of_faults.py PROBE [--faults 1000] [--seconds S] [--rounds N] [--seed N] [--reads 40] [--jobs 4]

Reads from a server that draws faults at random, round after round, until so many struck: each question, whole object and range
must give the right bytes or one error that names the address, in bounded time, and leave no thread and no descriptor behind.
Built with a sanitizer, PROBE also tells of memory. Prints what came, and each round that broke the rule with its seed
(--seed SEED --rounds 1 repeats it); ends with 1 then."""

import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from server import Server

PASSING = ["status=503", "status=429", "status=500", "reset", "reset-body", "close-body", "length", "refused", "short", "long",
           "range", "total", "type", "chunked", "chunked-long", "garbage", "headers", "hang", "hang-body", "trickle=300", "latency=0.3",
           "ignore-range", "redirect=same", "no-length"]  # fmt: skip
SIZE = 2_000_000
LASTING = ["etag", "grow", "status=403", "status=404", "encoding", "redirect=loop", "redirect=nowhere", "partial"]
ALWAYS = ["weak", "no-etag"]  # not drawn for each request, and not counted
ANSWERS_BEFORE_HEDGES = 64
DEADLINE = 6  # seconds of one read; beyond it comes what was under way, and the process's own end
END = 30


def faults_of(draw):
    kinds = draw.sample(PASSING, draw.randrange(1, 6))
    if draw.random() < 0.2:
        kinds.append(draw.choice(LASTING))
    faults = [f"{kind}@{draw.choice([0.02, 0.1, 0.3])}{draw.choice(['', '', ':any'])}" for kind in kinds]
    if draw.random() < 0.2:
        faults.append(draw.choice(ALWAYS) + ":any")
    return "+".join(faults)


class Round:
    """One process of PROBE, and a server of its own."""

    def __init__(self, seed, folder, given):
        self.seed, self.came, self.problems = seed, collections.Counter(), []
        draw = random.Random(seed)
        self.faults, self.connections = faults_of(draw), draw.choice([1, 4, 32])
        hedge = draw.choice(["0", "2"])
        environment = {**os.environ, "PENSTOCK_REMOTE_DEADLINE": str(DEADLINE), "PENSTOCK_REMOTE_STALL": "0.5",
                       "PENSTOCK_REMOTE_HEDGE": hedge, "PENSTOCK_REMOTE_CONNECTIONS": str(self.connections)}  # fmt: skip
        environment = {name: value for name, value in environment.items() if not name.lower().endswith("_proxy")}
        # Which answers are late is told once many came, and what one range leaves behind meets those that come after it.
        reads = given.reads + (ANSWERS_BEFORE_HEDGES if hedge != "0" else 0)
        words = ["--reads", str(reads), "--seed", str(seed), "--size", str(draw.choice([100, 10_000, 300_000, SIZE]))]
        words += ["--parts", str(draw.randrange(1, 6)), "--waves", draw.choice(["0", "1"])]
        # With one connection each read may have its deadline after the one before it.
        longest = END + (DEADLINE + 3) * (2 + reads // 4 + reads)
        began = time.monotonic()
        with Server(folder, seed=seed) as server:
            self.address = f"{server.root}/~{self.faults}/file"
            try:
                ran = subprocess.run(
                    [given.probe, "all", self.address, str(folder / "file"), *words],
                    capture_output=True, text=True, timeout=longest, env=environment, check=False,
                )  # fmt: skip
                self.look_at(ran)
            except subprocess.TimeoutExpired:
                self.problems.append(f"hangs: it is not over after {longest} s")
        self.struck = sum(count for kind, count in server.struck.items() if kind not in ALWAYS)
        self.seconds = time.monotonic() - began

    def look_at(self, ran):
        lines = [json.loads(line) for line in ran.stdout.splitlines()]
        if ran.returncode != 0:
            self.problems.append(f"ended with {ran.returncode}: {ran.stderr[-4000:]}")
        elif not lines or "after" not in lines[-1]:
            self.problems.append(f"{len(lines)} lines")
        for line in lines:
            if line.get("right") is False:
                self.problems.append("wrong bytes")
            elif "error" in line:
                self.came["errors"] += 1
                if self.address not in line["error"] or line["kind"] == "no Error":
                    self.problems.append(f"an error that does not name the address: {line['error']}")
            elif "right" in line:
                self.came["right"] += 1
            elif "absent" in line:
                self.came["absent"] += 1
                if "status=404" not in self.faults:
                    self.problems.append("the object is called absent")
            elif "size" in line:
                # Nobody can see through a server that tells another length, once, in good order.
                self.came["right"] += 1
                if line["size"] != SIZE and not ("total" in self.faults and line["size"] == SIZE + 1):
                    self.problems.append(f"another size: {line['size']}")
            elif "requests" in line:
                self.came.update({name: line[name] for name in ("requests", "retries", "hedges")})
            elif "after" in line:
                before, after = line["before"], line["after"]
                kept = after["sockets"] - before["sockets"]
                if any(before[name] != after[name] for name in ("files", "threads")) or kept > self.connections:
                    self.problems.append(f"left behind: {line}")


class Campaign:
    def __init__(self, given, folder):
        self.given, self.folder = given, folder
        self.until = time.monotonic() + given.seconds if given.seconds else None
        self.mutex, self.begun, self.came, self.longest, self.broken = threading.Lock(), 0, collections.Counter(), 0, 0

    def next_seed(self):
        """None: enough was done."""
        with self.mutex:
            if self.given.rounds and self.begun >= self.given.rounds:
                return None
            if self.until is not None and time.monotonic() >= self.until:
                return None
            if not self.given.rounds and self.came["faults"] >= self.given.faults:
                return None
            self.begun += 1
            return self.given.seed + self.begun - 1

    def work(self):
        while (seed := self.next_seed()) is not None:
            one = Round(seed, self.folder, self.given)
            with self.mutex:
                self.came.update(one.came)
                self.came["faults"] += one.struck
                self.longest = max(self.longest, one.seconds)
                self.broken += bool(one.problems)
                for problem in one.problems:
                    print(f"seed {seed}: {one.faults}: {problem}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("probe")
    parser.add_argument("--faults", type=int, default=1000)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 30))
    parser.add_argument("--reads", type=int, default=40)
    parser.add_argument("--jobs", type=int, default=4)
    given = parser.parse_args()
    print(f"seed {given.seed}", flush=True)
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "file").write_bytes(random.Random(1).randbytes(SIZE))
        campaign = Campaign(given, pathlib.Path(folder))
        with concurrent.futures.ThreadPoolExecutor(given.jobs) as workers:
            for work in [workers.submit(campaign.work) for _ in range(given.jobs)]:
                work.result()
    came = ", ".join(
        f"{campaign.came[name]} {name}"
        for name in ("faults", "right", "errors", "absent", "requests", "retries", "hedges")
    )
    print(
        f"{campaign.begun} rounds in {time.monotonic() - began:.0f} s, the longest {campaign.longest:.1f} s: {came}; {campaign.broken} broken"
    )
    return 1 if campaign.broken else 0


if __name__ == "__main__":
    sys.exit(main())
