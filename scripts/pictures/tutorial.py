"""Draws docs/images/tutorial.svg from the output blocks of docs/tutorial_tuning.md.

A block gives the share of the data wait and the time of a step. If it also says "a step of A ms becomes B ms", the part
that is not data wait is B, which is more precise."""

import re

from svg import ROOT, arguments, rect, text, write

LEFT, SCALE, ROW = 20, 1.9, 56


def runs():
    """Label, data wait and the rest of a step, in ms, of each run of the page."""
    page = (ROOT / "docs/tutorial_tuning.md").read_text()
    labels = re.findall(r"^\| ([^|]+) \| [\d.]+ % \|", page, re.MULTILINE)
    blocks = re.findall(r"```text\n(data wait .*?)```", page, re.DOTALL)
    assert len(labels) == len(blocks), "the table of results has other rows than the page has runs"
    for label, block in zip(labels, blocks):
        share, step = map(float, re.match(r"data wait ([\d.]+)% of the time, a step takes ([\d.]+) ms", block).groups())
        exact = re.search(r"a step of ([\d.]+) ms becomes ([\d.]+) ms", block)
        whole, rest = map(float, exact.groups()) if exact else (step, step * (1 - share / 100))
        yield label, whole - rest, rest


parts = [text(LEFT, 30, "Time of a training step", "title")]
for x, kind, words in ((250, "ours", "training step"), (380, "wait", "data wait")):
    parts += [rect(x, 19, 13, 13, kind), text(x + 20, 30, words)]
for place, (label, wait, rest) in enumerate(runs()):
    y = 52 + ROW * place
    parts += [text(LEFT, y + 12, label), rect(LEFT, y + 20, SCALE * rest, 22, "ours")]
    parts.append(rect(LEFT + SCALE * rest, y + 20, SCALE * wait, 22, "wait"))
    parts.append(text(LEFT + 8, y + 36, f"{rest:.0f} ms", "on"))
    end = f"+ {wait:.0f} ms" if wait >= 1 else f"+ {wait:.1f} ms"
    parts.append(text(LEFT + SCALE * (rest + wait) + 8, y + 36, end))
write(arguments(__doc__), "tutorial.svg", "Time of a training step", 720, 60 + ROW * (place + 1), parts)
