"""Draws docs/images/stage_table.svg: print(loader.stats()) of a run on photographs, with explanations."""

import textwrap
import time

from svg import ADVANCE, arguments, badge, mono, photographs, text, write

COLUMNS, LINE, LEFT = 98, 20, 44
NOTES = [  # words that a number explains, place of the number, explanation
    ("busy s", "above", "Time that the threads of a stage work. The busiest stage is often the limit."),
    ("input wait s", "above", "Time that they wait for the stage before them."),
    ("room wait s", "above", "Time that they wait for a free buffer, because later stages are slower."),
    ("data wait", "left", "Time that the training loop waits in next(), split by the stages that cause the wait."),
    ("verdict", "left", "The diagnosis: the stage that limits the loop, the evidence, and a remedy."),
]
options = arguments(__doc__, photos="photos")
with photographs(options, batch_size=32, workers=1) as loader:
    for _ in loader:
        time.sleep(0.02)  # the training step
    table = str(loader.stats()).split("\nengine")[0]  # without the lines on the machine
parts, y = [text(20, 30, "print(loader.stats())", "mono bold")], 78
for line in table.splitlines():
    head = line.startswith("stage ")
    y += 28 * head  # room for the numbers above the heads of columns
    for number, (words, side, _) in enumerate(NOTES, 1):
        if side == "above" and head:
            parts.append(badge(LEFT + ADVANCE * (line.index(words) + len(words) / 2), y - 20, number))
        if side == "left" and line.startswith(words + " "):
            parts.append(badge(24, y - 4, number))
    for piece in textwrap.wrap(line, COLUMNS, subsequent_indent=" " * 12):
        parts.append(mono(LEFT, y, piece, "bold" if head or line.startswith("verdict") else ""))
        y += LINE
y += 14
for number, (_, _, explanation) in enumerate(NOTES, 1):
    parts += [badge(24, y + 24 * number - 28, number), text(LEFT, y + 24 * number - 24, explanation)]
write(options, "stage_table.svg", "Output of loader.stats()", LEFT + ADVANCE * COLUMNS + 20, y + 24 * number, parts)
