#!/usr/bin/env python3
"""Usage: bench/studies/run_overhead.py [PAIRS] [STEPS]

Measures what `penstock run` adds to a training on the CPU: pairs of runs with and without it, in turns. A step takes about
20 ms: a sleep, as if a GPU computed, and a small model with its optimizer. Prints the ratio of the medians, the ratio of
each pair, and the cost of one watched next() of an empty loader.
"""

from __future__ import annotations

import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

PROGRAM = """
import statistics, sys, time
import torch
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)
model = torch.nn.Linear(16, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
steps = int(sys.argv[1])
loader = DataLoader(TensorDataset(torch.zeros(8 * steps, 16), torch.zeros(8 * steps).long()), batch_size=8)
asked = []
for values, labels in loader:
    asked.append(time.perf_counter())
    if len(asked) == 11:
        spent = time.process_time()
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(model(values), labels).backward()
    optimizer.step()
    time.sleep(0.019)
print(statistics.median(after - before for before, after in zip(asked[10:], asked[11:])))
print((time.process_time() - spent) / (steps - 10))
"""


def step_of(words: list[str]) -> tuple[float, float]:
    """Seconds of the median step, which interruptions by other programs change little, and its mean CPU time."""
    told = subprocess.run([sys.executable, *words], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    step, spent = told.stdout.split()
    return float(step), float(spent)


def next_cost(calls: int = 50_000) -> float:
    """Seconds that a watched next() takes beyond the loader's own."""
    from penstock._profile.about import About
    from penstock._run.publisher import Publisher
    from penstock._run.watch import Watch

    class Empty:
        num_workers = 0
        dataset = ()

        def __next__(self) -> int:
            return 0

    watch, loader = Watch(None, Publisher(None, None, lambda record: "unknown"), None, None), Empty()
    watch._begin(watch.record_of(loader), loader, time.perf_counter_ns())
    watched = watch._timed_next(Empty.__next__, About("Empty"))
    costs = []
    for _ in range(7):
        spent = []
        for function in (watched, Empty.__next__):
            begun = time.perf_counter()
            for _ in range(calls):
                function(loader)
            spent.append(time.perf_counter() - begun)
        costs.append((spent[0] - spent[1]) / calls)
    return statistics.median(costs)


def main() -> None:
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    steps = sys.argv[2] if len(sys.argv) > 2 else "200"
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / "train.py"
        program.write_text(PROGRAM)
        alone, watched = [str(program), steps], ["-m", "penstock", "run", "--quiet", str(program), steps]
        rows = []
        for number in range(pairs):
            order = (alone, watched) if number % 2 == 0 else (watched, alone)
            times = {id(words): step_of(words) for words in order}
            rows.append((times[id(alone)], times[id(watched)]))
    ratios = [after[0] / before[0] for before, after in rows]
    alone_s, watched_s = (statistics.median(times[0] for times in column) for column in zip(*rows))
    more_cpu = statistics.median(after[1] - before[1] for before, after in rows)
    print(f"step without  {alone_s * 1e3:.3f} ms, median of {pairs}, {steps} steps each")
    print(f"step with     {watched_s * 1e3:.3f} ms")
    print(f"ratio         {statistics.median(ratios):.4f} (median of pairs; {min(ratios):.4f} to {max(ratios):.4f})")
    print(f"CPU time      {more_cpu * 1e6:.1f} us more per step")
    print(f"next()        {next_cost() * 1e6:.2f} us more; load of the machine {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
