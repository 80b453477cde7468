"""Draws docs/images/servers.svg: servers fill the batches of a loader."""

from svg import arguments, arrow, box, text, write

HEIGHT, GAP, TOP = 84, 24, 76
LOADER, SERVERS, WIDE = 20, 470, 250  # left edges, and the width of both
SERVER = ["read, decode and transform", "the rows of a batch"]

parts = [text(20, 30, "Servers fill the batches of a loader", "title")]
parts += [
    text(LOADER + WIDE / 2, 62, "GPU node", "note", "middle"),
    text(SERVERS + WIDE / 2, 62, "CPU nodes", "note", "middle"),
]
whole = 3 * HEIGHT + 2 * GAP
lines = ["chooses the rows of each batch,", "delivers the batches in order,", "fills a batch that no server fills"]
parts += box(LOADER, TOP, WIDE, whole, "Loader", lines, whole / 2 - 24)
for place in range(3):
    y = TOP + place * (HEIGHT + GAP)
    parts += box(SERVERS, y, WIDE, HEIGHT, "penstock serve", SERVER, 28)
    for up, label, ends in ((30, "sample numbers", (LOADER + WIDE, SERVERS)), (64, "values", (SERVERS, LOADER + WIDE))):
        parts.append(arrow([(ends[0], y + up), (ends[1], y + up)], "line"))
        parts.append(text((LOADER + WIDE + SERVERS) / 2, y + up - 6, label, "note", "middle"))
bottom = TOP + whole + 30
parts.append(text(20, bottom, "Order, state and random draws stay in the loader, so the bytes are the same.", "note"))
write(
    arguments(__doc__), "servers.svg", "Servers fill the batches of a loader", SERVERS + WIDE + 20, bottom + 20, parts
)
