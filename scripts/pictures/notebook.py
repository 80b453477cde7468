"""Makes docs/images/notebook.png: a cell of a notebook with a batch as its result, in headless Chromium."""

import html
import pathlib
import tempfile

from browser import screenshot
from svg import arguments, photographs

CELL = """\
loader = ps.Loader("photos", shuffle=True, seed=0, batch_size=16, transforms={
    "jpg": ps.image.random_resized_crop(224) | ps.image.random_horizontal_flip(), "cls": ps.label()})
batch = next(iter(loader))
batch"""
STYLE = """\
body{margin:14px;background:#fff;color:#1f2328;font:14px system-ui,sans-serif}
.cell{display:grid;grid-template-columns:64px 1fr;gap:10px;margin-bottom:10px}
.cell>span,pre{font:13px Menlo,Consolas,"DejaVu Sans Mono",monospace}.cell>span{color:#59636e;padding-top:9px;white-space:nowrap}
pre{background:#f6f8fa;border:1px solid #d0d7de;margin:0;padding:8px}.result{padding-top:6px}"""

options = arguments(__doc__, photos="photos", browser="chromium")
with tempfile.TemporaryDirectory() as folder:
    with photographs(options, batch_size=16) as loader:
        batch = next(iter(loader))
        result = batch._repr_html_()
    cells = [("In [1]:", f"<pre>{html.escape(CELL)}</pre>"), ("Out[1]:", f'<div class="result">{result}</div>')]
    body = "".join(f'<div class="cell"><span>{prompt}</span>{content}</div>' for prompt, content in cells)
    page = pathlib.Path(folder) / "notebook.html"
    page.write_text(f'<!doctype html><meta charset="utf-8"><style>{STYLE}</style>{body}')
    screenshot(options, page, "notebook.png", 900, 700)
