"""Draws docs/images/sharing.svg: one loader builds the batches of several trainings."""

from svg import arguments, arrow, box, text, write

WIDTH, HEIGHT, GAP, TOP = 196, 84, 56, 52
LEFT = [20 + column * (WIDTH + GAP) for column in range(3)]
TRAININGS = ["training 1 (it builds)", "training 2", "training 3"]


middle = TOP + (HEIGHT + 24)
parts = [text(20, 30, "One stream of batches", "title")]
parts += box(LEFT[0], middle, WIDTH, HEIGHT, "Scheduler, workers", ["build each batch once"], 28)
window = 3 * HEIGHT + 48
parts += box(
    LEFT[1], TOP, WIDTH, window, "Window", ["batches that the slowest", "training still needs"], window / 2 - 14
)
parts.append(arrow([(LEFT[0] + WIDTH, middle + HEIGHT / 2), (LEFT[1], middle + HEIGHT / 2)], "line"))
for place, name in enumerate(TRAININGS):
    y = TOP + place * (HEIGHT + 24)
    parts += box(LEFT[2], y, WIDTH, HEIGHT, name, ["own position and state,", "own functions"], 28)
    parts.append(arrow([(LEFT[1] + WIDTH, y + HEIGHT / 2), (LEFT[2], y + HEIGHT / 2)], "line"))
bottom = TOP + 3 * (HEIGHT + 24)
parts.append(text(20, bottom, "The memory is mapped copy-on-write. If training 1 ends, the next one builds.", "note"))
write(arguments(__doc__), "sharing.svg", "One stream of batches", LEFT[2] + WIDTH + 20, bottom + 20, parts)
