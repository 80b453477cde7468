#!/usr/bin/env python3
"""Usage: overview_predictions.py [--steps N] [--waits MS,...] [--widths N,...]

Measures the error of the step times that ps.overview() predicts for more worker processes. For each case, a training
with num_workers=0 is recorded and explained. The same training then runs with the number of workers that the remedy
names. The loader waits instead of computing, as for a slow storage, so that the cores are idle as the prediction
assumes. Prints each prediction with its range, the measured step time, and the mean error."""

from __future__ import annotations

import argparse
import re
import statistics
import tempfile
import time

import torch

import penstock as ps

REMEDY = re.compile(r"num_workers 0 -> (\d+): ([\d.]+) ms \(([\d.]+) ms to ([\d.]+) ms\)")


class Photos(torch.utils.data.Dataset):
    """Each sample takes `wait` seconds."""

    def __init__(self, wait: float, count: int) -> None:
        self.wait, self.count = wait, count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, number: int) -> tuple[torch.Tensor, int]:
        time.sleep(self.wait)
        return torch.full((3, 32, 32), float(number % 7)), number % 10


def train(wait: float, width: int, workers: int, steps: int) -> tuple[float, str]:
    """Returns the mean step in milliseconds, and the path of the trace."""
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, width, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(width * 900, 10)
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    warmup = 2 * workers + 2
    schedule = torch.profiler.schedule(wait=warmup, warmup=1, active=steps, repeat=1)
    loader = torch.utils.data.DataLoader(Photos(wait, 8 * (steps + warmup + 3)), batch_size=8, num_workers=workers)
    with torch.profiler.profile(schedule=schedule, activities=[torch.profiler.ProfilerActivity.CPU]) as profiler:
        for images, labels in loader:
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(images), labels).backward()
            optimizer.step()
            profiler.step()
    with tempfile.NamedTemporaryFile(suffix=".json", delete=False) as file:
        path = file.name
    profiler.export_chrome_trace(path)
    return 1e3 * ps.overview(path).figures["ranks"][0]["step"]["mean"], path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=20, help="recorded steps of each training")
    parser.add_argument("--waits", default="0.5,2,5,20", help="milliseconds that a sample takes")
    parser.add_argument("--widths", default="8,64", help="channels of the network")
    options = parser.parse_args()
    torch.set_num_threads(1)
    print(f"{'wait, ms':>8} {'width':>6} {'before':>8} {'workers':>8} {'predicted':>10} {'range':>16} {'measured':>9}")
    errors, inside = [], 0
    for wait in (1e-3 * float(wait) for wait in options.waits.split(",")):
        for width in map(int, options.widths.split(",")):
            before, path = train(wait, width, 0, options.steps)
            remedy = REMEDY.search("\n".join(ps.overview(path).diagnosis["remedies"]))
            if remedy is None:
                print(f"{1e3 * wait:>8g} {width:>6} {before:>8.1f}        no remedy: more than 64 workers, or no gain")
                continue
            workers, likely, low, high = int(remedy[1]), *map(float, remedy.groups()[1:])
            after, _ = train(wait, width, workers, options.steps)
            errors.append(after / likely - 1)
            inside += low * 0.98 <= after <= high * 1.02
            print(
                f"{1e3 * wait:>8g} {width:>6} {before:>8.1f} {workers:>8} {likely:>10.1f} {low:>7.1f} to {high:>5.1f} "
                f"{after:>9.1f}"
            )
    print(
        f"median error {statistics.median(errors):+.1%}, largest {max(errors, key=abs):+.1%}; "
        f"{inside} of {len(errors)} in their range (with 2 % for rounding)"
    )


if __name__ == "__main__":
    main()
