"""Shared by the scripts that compare penstock with other loaders: runs in separate processes, windows, result lines.

A run is the same script again with `--run NAME`. Each run has its own scheduling group. With root permissions,
its weight is raised, so that other work on the machine takes little of its time. A run prints one line of JSON.
"""

import json
import math
import os
import pathlib
import random
import statistics
import subprocess
import sys
import time


def run_apart(arguments, name):
    """Runs the calling script with `arguments` and `--run NAME`. Returns the JSON that it prints."""
    command = [sys.executable, sys.argv[0], *arguments, "--run", name]
    done = subprocess.run(command, check=False, capture_output=True, text=True, start_new_session=True)
    if done.returncode:
        sys.exit(f"{name}: {done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def begin_run():
    """Call first in a run: raises the weight of its scheduling group."""
    try:
        pathlib.Path("/proc/self/autogroup").write_text("-15")
    except OSError:
        pass  # not root, or a kernel without groups: the spread of the results shows the effect


def end_run(told):
    """Call last in a run. Kills workers instead of asking loaders to end them."""
    print(json.dumps(told), flush=True)
    for pid in list(process_tree())[1:]:
        os.kill(pid, 9)
    os._exit(0)


def window(batches, seconds, most=math.inf, whole=1):
    """Takes batches for `seconds`, or at most `most` of them. Returns their number, wall seconds, and CPU seconds of
    all processes. The number is a multiple of `whole`, the number of workers, because workers may finish their batches
    at the same time."""
    steps, cpu, began = 0, cpu_seconds(), time.perf_counter()
    while steps < most and (steps % whole or time.perf_counter() - began < seconds):
        next(batches)
        steps += 1
    return steps, time.perf_counter() - began, cpu_seconds() - cpu


def process_tree(pid=None):
    pid = pid or os.getpid()
    yield pid
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            yield from process_tree(int(child))


def cpu_seconds():
    ticks = 0
    for pid in process_tree():
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def pss_mib():
    lines = (line for pid in process_tree() for line in open(f"/proc/{pid}/smaps_rollup"))
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


def files_of(path):
    return [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]


def drop_page_cache(paths):
    """Drops these files from the page cache. The rest of the cache stays, because programs would have to be read again
    too."""
    for path in paths:
        with open(path, "rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def middle(values, digits=0):
    """Median, lowest and highest."""
    return f"{statistics.median(values):,.{digits}f} ({min(values):,.{digits}f}-{max(values):,.{digits}f})"


def machine():
    """One line about the state of the machine during the measurement."""
    return f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors; {build()}"


def build():
    """The build configuration of the imported penstock."""
    import penstock

    cache = pathlib.Path(penstock.__file__).parents[2] / "CMakeCache.txt"
    lines = cache.read_text().splitlines() if cache.exists() else []
    kinds = [line.split("=")[1] for line in lines if line.startswith("CMAKE_BUILD_TYPE")]
    return f"penstock {penstock.__version__}, {kinds[0] + ' build' if kinds else 'installed'}"


def crop_box(width, height):
    """The box that torchvision's RandomResizedCrop cuts from an image."""
    for _ in range(10):
        area = width * height * random.uniform(0.08, 1)
        aspect = (3 / 4) * (16 / 9) ** random.random()
        w, h = round((area * aspect) ** 0.5), round((area / aspect) ** 0.5)
        if 0 < w <= width and 0 < h <= height:
            x, y = random.randint(0, width - w), random.randint(0, height - h)
            return x, y, x + w, y + h
    return 0, 0, width, height


def crop_with_pillow(file, side):
    """The Pillow image that torchvision's RandomResizedCrop and RandomHorizontalFlip make of a photograph."""
    from PIL import Image

    image = Image.open(file).convert("RGB")
    image = image.resize((side, side), Image.Resampling.BILINEAR, box=crop_box(*image.size))
    return image.transpose(Image.Transpose.FLIP_LEFT_RIGHT) if random.random() < 0.5 else image
