"""Makes docs/images/overview.png: the upper part of the page of penstock overview, in headless Chromium."""

import pathlib
import subprocess
import tempfile

from browser import screenshot
from svg import arguments

options = arguments(__doc__, trace="resnet50.pt.trace.json.gz", browser="chromium", height="1560")
with tempfile.TemporaryDirectory() as folder:
    trace = pathlib.Path(folder) / pathlib.Path(options.trace).name
    trace.symlink_to(pathlib.Path(options.trace).resolve())
    subprocess.run([options.penstock, "overview", trace.name, "--html=overview.html"], cwd=folder, check=True)
    screenshot(options, pathlib.Path(folder) / "overview.html", "overview.png", 1000, int(options.height))
