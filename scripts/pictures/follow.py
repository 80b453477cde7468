"""Draws docs/images/follow.svg: an image, its mask and its boxes, before and after a crop and flip of a loader."""

import base64
import io
import json
import pathlib
import tempfile

from PIL import Image, ImageDraw
from svg import arguments, arrow, text, write

SIDE, STORED = 192, (256, 192)
COLOURS = [(232, 236, 240), (214, 96, 77), (67, 118, 180), (236, 180, 60)]  # of the shapes' numbers in the mask, from 0
BOXES = [[24, 84, 104, 164], [120, 28, 184, 92], [176, 104, 244, 172]]


def draw(size, colours, ground):
    """A disc, a square and a triangle, in the given colours."""
    image = Image.new("L" if isinstance(ground, int) else "RGB", size, ground)
    pen = ImageDraw.Draw(image)
    if image.mode == "RGB":
        for y in range(size[1]):
            pen.line((0, y, size[0], y), (150 + y // 3, 195 + y // 8, 235 - y // 3))
    disc, square, (left, top, right, bottom) = [(x0, y0, x1 - 1, y1 - 1) for x0, y0, x1, y1 in BOXES]
    pen.ellipse(disc, colours[1])
    pen.rectangle(square, colours[2])
    pen.polygon([(left, bottom), (right, bottom), ((left + right) // 2, top)], colours[3])
    return image


def delivered(folder, seeds):
    """Image, mask and boxes of the sample, as a loader delivers them with each seed."""
    import penstock as ps

    transforms = {
        "png": ps.image.random_resized_crop(SIDE, scale=(0.3, 0.6)) | ps.image.random_horizontal_flip(),
        "seg.png": ps.follow("png"),
        "boxes.json": ps.follow("png") | ps.boxes(min_size=1),
    }
    for seed in seeds:
        batch = next(iter(ps.torch.Loader(folder, batch_size=1, seed=seed, transforms=transforms)))
        pixels = batch["png"][0].permute(1, 2, 0).contiguous().numpy()
        boxes = ps.torch.rows(batch["boxes.json"])[0].tolist()
        yield Image.fromarray(pixels), Image.fromarray(batch["seg.png"][0].numpy()), boxes


def shown(x, y, image, boxes=()):
    """An image, with boxes on it."""
    if image.mode == "L":
        image.putpalette([value for colour in COLOURS for value in colour])
    image.save(file := io.BytesIO(), "PNG", optimize=True)
    data = base64.b64encode(file.getvalue()).decode()
    yield f'<image x="{x}" y="{y}" width="{image.width}" height="{image.height}" href="data:image/png;base64,{data}"/>'
    for x0, y0, x1, y1 in boxes:
        place = f'x="{x + x0 + 1:.1f}" y="{y + y0 + 1:.1f}" width="{x1 - x0 - 2:.1f}" height="{y1 - y0 - 2:.1f}"'
        yield f'<rect {place} fill="none" stroke="#111" stroke-width="2"/>'


options = arguments(__doc__, seeds="1,3")
with tempfile.TemporaryDirectory() as folder:
    stored = [draw(STORED, COLOURS, COLOURS[0]), draw(STORED, [0, 1, 2, 3], 0)]
    stored[0].save(f"{folder}/0.png")
    stored[1].save(f"{folder}/0.seg.png")
    pathlib.Path(f"{folder}/0.boxes.json").write_text(json.dumps(BOXES))
    columns = [("stored", *stored, BOXES)]
    for number, row in enumerate(delivered(folder, map(int, options.seeds.split(","))), 1):
        columns.append((f"delivered, draw {number}", *row))
labels = ((140, "image and"), (158, "boxes"), (352, "mask"))
parts, x = [text(20, y, words, "title") for y, words in labels], 120
for place, (name, image, mask, boxes) in enumerate(columns):
    parts.append(text(x, 34, name, "title"))
    parts += [*shown(x, 48, image, boxes), *shown(x, 252, mask)]
    x += image.width + 36
    if place == 0:
        parts += [arrow([(x - 31, y), (x - 5, y)]) for y in (144, 348)]
write(options, "follow.svg", "A random crop and flip, and the mask and boxes that follow it", x - 16, 464, parts)
