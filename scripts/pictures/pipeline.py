"""Draws docs/images/pipeline.svg: the path of a batch, and the way back of its buffer."""

from svg import arguments, arrow, rect, text, write

WIDTH, HEIGHT, GAP = 186, 92, 34
STAGES = [  # column, row, name, two lines
    (0, 1, "Your files", "folders, tar, HDF5, ...", "local or remote"),
    (0, 0, "1 Index", "keys and byte ranges", "of every field"),
    (1, 0, "2 Plan, 3 Scheduler", "sample of each row;", "takes a free buffer"),
    (2, 0, "4 Read engine", "fetches the bytes", "of the rows"),
    (3, 0, "5 Workers", "decode, transform", "into the buffer's rows"),
    (3, 1, "6 Batch buffers", "ready batches wait,", "in the plan's order"),
    (2, 1, "7 next()", "gives the batch", "to your program"),
    (1, 1, "Training loop", "forward, backward;", "drops the batch"),
]


ROUTE = [(0, 1), (0, 0), (1, 0), (2, 0), (3, 0), (3, 1), (2, 1), (1, 1), (1, 0)]


def corner(column, row):
    """The upper left corner of a stage."""
    return 20 + column * (WIDTH + GAP), 52 + row * (HEIGHT + 62)


def between(start, end):
    """The points where an arrow between two neighbouring stages begins and ends."""
    (x0, y0), (x1, y1) = corner(*start), corner(*end)
    if y0 == y1:
        return [(x0 + WIDTH * (x1 > x0), y0 + HEIGHT / 2), (x1 + WIDTH * (x1 < x0), y0 + HEIGHT / 2)]
    return [(x0 + WIDTH / 2, y0 + HEIGHT * (y1 > y0)), (x0 + WIDTH / 2, y1 + HEIGHT * (y1 < y0))]


parts = [text(20, 30, "The path of a batch", "title")]
for column, row, name, *lines in STAGES:
    x, y = corner(column, row)
    parts += [rect(x, y, WIDTH, HEIGHT, "box", 6), text(x + WIDTH / 2, y + 28, name, "title", "middle")]
    parts += [text(x + WIDTH / 2, y + 53 + 20 * place, line, "", "middle") for place, line in enumerate(lines)]
parts += [arrow(between(*ends), "loop" if ends[0] == (1, 1) else "line") for ends in zip(ROUTE, ROUTE[1:])]
(x, y), right = corner(1, 1), corner(3, 1)[0] + WIDTH / 2
parts.append(text(x + WIDTH / 2 + 12, y - 34, "the empty buffer returns:", "note"))
parts.append(text(x + WIDTH / 2 + 12, y - 18, "stages work ahead until none is free", "note"))
parts.append(text(right - 12, y - 26, "finished rows", "note", "end"))
write(arguments(__doc__), "pipeline.svg", "The path of a batch", 4 * WIDTH + 3 * GAP + 40, y + HEIGHT + 20, parts)
