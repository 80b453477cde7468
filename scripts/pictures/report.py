"""Makes docs/images/report.png: the upper part of the report of penstock bench --html, in headless Chromium."""

import pathlib
import subprocess
import tempfile

from browser import screenshot
from svg import arguments

SETTINGS = ["--workers=1,2", "--batch-size=32", "--seconds=3", "--html=report.html"]
options = arguments(__doc__, photos="photos", browser="chromium", height="1560")
with tempfile.TemporaryDirectory() as folder:
    (pathlib.Path(folder) / "photos").symlink_to(pathlib.Path(options.photos).resolve())
    subprocess.run([options.penstock, "bench", "photos", *SETTINGS], cwd=folder, check=True)
    screenshot(options, pathlib.Path(folder) / "report.html", "report.png", 1000, int(options.height))
