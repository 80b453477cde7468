"""Tables as text."""

from __future__ import annotations

from collections.abc import Collection, Sequence


def table_text(lines: Sequence[Sequence[str]], left: Collection[int]) -> str:
    """lines: the cells of each line, with the headings first. left: the columns that are aligned to the left."""
    widths = [max(map(len, column)) for column in zip(*lines)]
    text = ""
    for line in lines:
        cells = [
            cell.ljust(width) if column in left else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths))
        ]
        text += "  ".join(cells).rstrip() + "\n"
    return text
