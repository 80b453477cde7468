"""Draws docs/images/sharing.svg: one loader builds the batches of several trainings."""

from svg import arguments, arrow, rect, text, write

WIDTH, HEIGHT, GAP, TOP = 196, 84, 56, 52
LEFT = [20 + column * (WIDTH + GAP) for column in range(3)]
TRAININGS = ["training 1 (it builds)", "training 2", "training 3"]


def box(x, y, name, lines, height=HEIGHT):
    parts, top = [rect(x, y, WIDTH, height, "box", 6)], y + (height - HEIGHT) / 2
    parts.append(text(x + WIDTH / 2, top + 28, name, "title", "middle"))
    return parts + [text(x + WIDTH / 2, top + 51 + 19 * place, line, "", "middle") for place, line in enumerate(lines)]


middle = TOP + (HEIGHT + 24)
parts = [text(20, 30, "One stream of batches", "title")]
parts += box(LEFT[0], middle, "Scheduler, workers", ["build each batch once"])
parts += box(LEFT[1], TOP, "Window", ["batches that the slowest", "training still needs"], 3 * HEIGHT + 48)
parts.append(arrow([(LEFT[0] + WIDTH, middle + HEIGHT / 2), (LEFT[1], middle + HEIGHT / 2)], "line"))
for place, name in enumerate(TRAININGS):
    y = TOP + place * (HEIGHT + 24)
    parts += box(LEFT[2], y, name, ["own position and state,", "own functions"])
    parts.append(arrow([(LEFT[1] + WIDTH, y + HEIGHT / 2), (LEFT[2], y + HEIGHT / 2)], "line"))
bottom = TOP + 3 * (HEIGHT + 24)
parts.append(text(20, bottom, "The memory is mapped copy-on-write. If training 1 ends, the next one builds.", "note"))
write(arguments(__doc__), "sharing.svg", "One stream of batches", LEFT[2] + WIDTH + 20, bottom + 20, parts)
