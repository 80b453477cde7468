"""Makes docs/images/live.png: the upper part of the page of penstock top --web, in headless Chromium, while two ranks of a
training on photographs run. Rank 0 has a shorter step, so it waits for its loader."""

import multiprocessing
import pathlib
import re
import subprocess
import tempfile
import time

from browser import screenshot
from svg import arguments, photographs


def train(options, rank, step):
    pathlib.Path("/proc/self/comm").write_text("train")
    loader = photographs(options, batch_size=32, workers=1, publish=True, rank=rank, world_size=2)
    while True:
        for _ in loader:
            time.sleep(step)


def main():
    options = arguments(__doc__, photos="photos", browser="chromium", height="1100")
    ranks = [
        multiprocessing.Process(target=train, args=[options, *rank], daemon=True) for rank in ((0, 0.01), (1, 0.6))
    ]
    for rank in ranks:
        rank.start()
    top = subprocess.Popen([options.penstock, "top", "--web"], stderr=subprocess.PIPE, text=True)
    address = re.search("http.*", top.stderr.readline())[0]
    time.sleep(60)
    with tempfile.TemporaryDirectory() as folder:
        page = pathlib.Path(folder) / "live.html"
        flags = ["--virtual-time-budget=3000"]  # until it has its data
        screenshot(options, page, "live.png", 1000, int(options.height), address, flags)
    top.terminate()
    for rank in ranks:
        rank.kill()


if __name__ == "__main__":
    main()
