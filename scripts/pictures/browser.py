"""A page as headless Chromium shows it, cut to its content."""

import subprocess

from PIL import Image

FLAGS = ["--headless", "--no-sandbox", "--hide-scrollbars", "--blink-settings=preferredColorScheme=1"]
MARGIN = 14  # pixels below the content


def screenshot(options, page, name, width, height, address=None, flags=()):
    """Writes a page, at most its upper `height` pixels, into the folder of the pictures. `page`: a file. If the page has
    another address, a file that may be made beside it."""
    shown = page.with_suffix(".png")
    window = [f"--window-size={width},{height + 800}", f"--screenshot={shown}", address or page.as_uri()]
    subprocess.run([options.browser, *FLAGS, *flags, *window], check=True)
    image = Image.open(shown).convert("RGB")
    background = [bool(image.crop((0, y, image.width, y + 1)).getcolors(1)) for y in range(height)]  # one colour
    bottom = max(y for y in range(height) if background[y])  # nothing is cut in two
    while background[bottom - MARGIN]:
        bottom -= 1
    image = image.crop((0, 0, image.width, bottom)).quantize(128, dither=Image.Dither.NONE)
    options.out.mkdir(parents=True, exist_ok=True)
    image.save(options.out / name, optimize=True)
    print(f"wrote {name}")
