#!/usr/bin/env python3
"""Usage: campaign.py [--kills N]

Four processes share batches; one of them is slow. N times (100) one of those that only take batches is killed, and N
times the one that builds them. A new process takes the place of each. Every batch of every process is compared with a
plain loader's. No process may be silent for a minute. At the end, no name and no file in shared memory may be left.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import queue
import random
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np
import penstock as ps
from training import value_of

HERE = pathlib.Path(__file__).resolve().parent
SAMPLES, PROCESSES, SILENCE_S = 203, 4, 60.0


class Expected:
    def __init__(self, folder: pathlib.Path) -> None:
        self.loader = ps.Loader(
            folder,
            batch_size=8,
            shuffle=True,
            seed=7,
            publish=False,
            transforms={"npy": ps.array.decode(), "txt": ps.raw()},
        )
        self.values: dict[tuple[int, int], int] = {}

    def value(self, epoch: int, number: int) -> int:
        if (epoch, number) not in self.values:
            self.loader.set_epoch(epoch)
            self.values.update({(epoch, place): value_of(batch) for place, batch in enumerate(self.loader)})
        return self.values[epoch, number]


class Training:
    def __init__(self, name: str, folder: pathlib.Path, step_ms: float) -> None:
        self.step_ms = step_ms
        self.process = subprocess.Popen(
            [sys.executable, HERE / "training.py", name, folder, str(step_ms)], stdout=subprocess.PIPE, text=True
        )
        self.lines: queue.Queue[str] = queue.Queue()
        self.builds = False
        self.heard = time.monotonic()
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.endswith("\n"):  # a kill may cut the last one
                self.lines.put(line)

    def check(self, expected: Expected) -> int:
        checked = 0
        while not self.lines.empty():
            epoch, number, value, builds = map(int, self.lines.get().split())
            assert value == expected.value(epoch, number), f"batch {number} of epoch {epoch} differs"
            self.builds = builds == 1
            self.heard = time.monotonic()
            checked += 1
        assert time.monotonic() - self.heard < SILENCE_S, "a process has delivered no batch for a minute"
        return checked

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        self.reader.join()


def write_data(folder: pathlib.Path) -> None:
    for number in range(SAMPLES):
        np.save(folder / f"s{number:04}.npy", np.arange(number, number + 3000, dtype=np.float32))
        (folder / f"s{number:04}.txt").write_text("x" * (number % 41))


def campaign(kills: int, folder: pathlib.Path) -> None:
    name = f"campaign-{os.getpid()}"
    before = set(os.listdir("/dev/shm"))
    expected, draw = Expected(folder), random.Random(1)
    trainings = [Training(name, folder, 20 if number == 0 else 1) for number in range(PROCESSES)]
    killed, checked = {"consumers": 0, "builders": 0}, 0
    try:
        while min(killed.values()) < kills:
            time.sleep(draw.uniform(0.2, 0.8))
            checked += sum(each.check(expected) for each in trainings)
            kind = min(killed, key=lambda each: killed[each])
            victims = [place for place, each in enumerate(trainings) if each.builds == (kind == "builders")]
            if not victims:
                continue
            place = draw.choice(victims)
            trainings[place].kill()
            checked += trainings[place].check(expected)
            trainings[place] = Training(name, folder, trainings[place].step_ms)
            killed[kind] += 1
            if sum(killed.values()) % 20 == 0:
                print(f"killed {killed}, checked {checked} batches", flush=True)
        for each in trainings:  # all go on
            each.heard = time.monotonic()
        time.sleep(5)
        assert all(each.check(expected) for each in trainings), "a process delivers nothing"
    finally:
        for each in trainings:
            each.kill()
    expected.loader.close()
    assert set(os.listdir("/dev/shm")) <= before, "files are left in /dev/shm"
    assert name not in pathlib.Path("/proc/net/unix").read_text(), "the name is left"
    print(f"killed {killed['consumers']} consumers and {killed['builders']} builders; {checked} batches, all equal")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=100)
    kills = parser.parse_args().kills
    with tempfile.TemporaryDirectory() as folder:
        write_data(pathlib.Path(folder))
        campaign(kills, pathlib.Path(folder))


if __name__ == "__main__":
    main()
