"""Many loaders made and dropped: memory stays flat, no thread is left behind, and the program ends quietly.

PENSTOCK_TEST_LOADERS says how many loaders; the default keeps the test short.
"""

import os
import subprocess
import sys

import pytest

LOADERS = int(os.environ.get("PENSTOCK_TEST_LOADERS", "600"))

COMMON = """
import gc, os, signal, sys, numpy, penstock as ps

FIELDS = {"npy": ps.array.decode(), "cls": ps.label(), "raw": ps.field("cls") | ps.raw()}
folder, count = sys.argv[1], int(sys.argv[2])

def status(name):
    lines = open("/proc/self/status").read().splitlines()
    return int(next(line for line in lines if line.startswith(name)).split()[1])

def loader(**options):
    return ps.Loader(folder, batch_size=8, workers=2, shuffle=True, **{"transforms": FIELDS, **options})

threads = status("Threads:")
"""

USES = {
    "an epoch": "def use(number):\n    for batch in loader(): numpy.asarray(batch['npy']).sum()",
    "left before the first batch": "def use(number):\n    loader()",
    "left in the middle": "def use(number):\n    for batch in loader(): break",
    "an iterator outlives the name": "def use(number):\n    it = iter(loader())\n    next(it)\n    return next(it)",
    "tensors outlive the loader": (
        "kept = []\n"
        "def use(number):\n"
        "    batch = next(iter(loader()))\n"
        "    kept.append((numpy.asarray(batch['npy']), batch['cls'], batch['raw']))\n"
        "    del kept[:-20]\n"
        "    for array, labels, raw in kept: array.sum(), labels.tobytes(), raw[0].tobytes()"
    ),
    "a cycle": (
        "class Cycle: pass\n"
        "def use(number):\n"
        "    cycle = Cycle()\n"
        "    cycle.loader, cycle.me = loader(), cycle\n"
        "    cycle.it = iter(cycle.loader)\n"
        "    next(cycle.it)\n"
        "    if number % 10 == 0: gc.collect()"
    ),
    "an exception in the loop": (
        "def use(number):\n"
        "    try:\n"
        "        for batch in loader(): raise ValueError(number)\n"
        "    except ValueError: pass"
    ),
    "an error of the loader": (
        "def use(number):\n"
        "    try:\n"
        "        for batch in loader(transforms={'cls': ps.field('cls') | ps.image.decode()}): pass\n"
        "    except ps.Error: return\n"
        "    raise SystemExit('no error')"
    ),
    "wrong options": (
        "def use(number):\n"
        "    try: loader(rank=2, world_size=2)\n"
        "    except ps.Error: return\n"
        "    raise SystemExit('no error')"
    ),
    "Ctrl-C in the middle": (
        "def use(number):\n"
        "    try:\n"
        "        for batch in loader(): os.kill(os.getpid(), signal.SIGINT)\n"
        "    except KeyboardInterrupt: return\n"
        "    raise SystemExit('not interrupted')"
    ),
    "rebuilt batches, states and stats": (
        "def use(number):\n"
        "    one = loader()\n"
        "    one.load_state_dict(one.state_dict())\n"
        "    one.at(number, 2), str(one.stats()), len(one)\n"
        "    one.close()"
    ),
}

MEASURE = """
for number in range(count // 4): use(number)
gc.collect()
before = status("VmRSS:")
for number in range(count): use(number)
gc.collect()
print(status("VmRSS:") - before, status("Threads:") - threads, status("VmRSS:"))
"""

ALLOWED_KIB = 3 * 1024  # an allocator's own rest, after a warm-up of a quarter of the loaders


@pytest.mark.parametrize("use", USES)
def test_nothing_is_left_of_a_loader(use, arrays):
    count = max(LOADERS // len(USES), 20)
    environment = {**os.environ, "MALLOC_ARENA_MAX": "1"}  # else each thread that ever was leaves an arena behind
    code = COMMON + USES[use] + MEASURE
    done = subprocess.run(
        [sys.executable, "-c", code, str(arrays), str(count)], capture_output=True, text=True, env=environment
    )
    assert (done.returncode, done.stderr) == (0, "")
    grown, threads_left, total = map(int, done.stdout.split())
    print(f"{use}: {count} loaders, {grown:+} KiB of {total} KiB")
    assert threads_left == 0
    assert grown < ALLOWED_KIB
