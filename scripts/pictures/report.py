"""Makes docs/images/report.png: the upper part of the report of penstock bench --html, in headless Chromium."""

import pathlib
import subprocess
import tempfile

from PIL import Image
from svg import arguments

SETTINGS = ["--workers=1,2", "--batch-size=32", "--seconds=3", "--html=report.html"]
BROWSER = ["--headless", "--no-sandbox", "--hide-scrollbars", "--blink-settings=preferredColorScheme=1"]
options = arguments(__doc__, photos="photos", browser="chromium", height="1560")
with tempfile.TemporaryDirectory() as folder:
    (pathlib.Path(folder) / "photos").symlink_to(pathlib.Path(options.photos).resolve())
    subprocess.run([options.penstock, "bench", "photos", *SETTINGS], cwd=folder, check=True)
    window = ["--window-size=1000,2400", "--screenshot=report.png", f"file://{folder}/report.html"]
    subprocess.run([options.browser, *BROWSER, *window], cwd=folder, check=True)
    image = Image.open(f"{folder}/report.png").convert("RGB")
rows = (image.crop((0, y, image.width, y + 1)).getcolors(1) for y in range(int(options.height)))
bottom = max(y for y, colours in enumerate(rows) if colours)  # background: no card of the report is cut
image = image.crop((0, 0, image.width, bottom + 1)).quantize(128, dither=Image.Dither.NONE)
image.save(options.out / "report.png", optimize=True)
print("wrote report.png")
