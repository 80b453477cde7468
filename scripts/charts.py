"""Usage: python scripts/charts.py [--check]

Draws the bar charts of the pages from tables of bench/RESULTS.md, as SVG that follows the reader's light or dark theme.
--check draws nothing, and fails if a chart differs from its table.

A comment in front of a table requests a chart: <!-- chart: FILE; COLUMN; TITLE --> with the column of the values.
"""

import pathlib
import re
import sys
import textwrap

ROOT = pathlib.Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "scripts/pictures"))
from svg import picture, rect, text  # noqa: E402

LABEL, BAR, ROW, WIDTH = 240, 420, 30, 760


def charts(results):
    """File, title, rows (label, value) and the paragraph after the table, for each marked table."""
    marked = r"<!-- chart: (\S+); ([^;]+); ([^\n]+?) -->\n((?:\|[^\n]*\n)+)\n?([^\n|#<][^\n]*(?:\n[^\n|#<][^\n]*)*)?"
    for file, column, title, table, note in re.findall(marked, results):
        head, _, *rows = [[cell.strip() for cell in line.strip("|\n").split("|")] for line in table.splitlines()]
        place = head.index(column)
        yield file, title, [(row[0], row[place]) for row in rows], note


def plain(markdown):
    return re.sub(r"[`*]", "", markdown)


def drawing(title, rows, note):
    values = [float(re.match(r"[\d,.]+", plain(value)).group().replace(",", "")) for _, value in rows]
    notes = textwrap.wrap(plain(note), 104, break_on_hyphens=False)
    parts = [text(8, 22, title, "title")]
    for place, ((label, _), value) in enumerate(zip(rows, values)):
        top, width = 38 + ROW * place, max(1.0, BAR * value / max(values))
        parts.append(text(LABEL - 10, top + 17, plain(label), anchor="end"))
        parts.append(rect(LABEL, top + 2, width, ROW - 8, "ours" if "penstock" in label else "other"))
        parts.append(text(LABEL + width + 8, top + 17, f"{value:,.0f}"))
    bottom = 38 + ROW * len(rows)
    parts += [text(8, bottom + 18 * place, line, "note") for place, line in enumerate(notes, 1)]
    return picture(title, WIDTH, bottom + 18 * len(notes) + 14, parts)


def main(check):
    old = []
    for file, title, rows, note in charts((ROOT / "bench/RESULTS.md").read_text()):
        path, svg = ROOT / "docs" / file, drawing(title, rows, note)
        if check:
            old += [file] if not path.exists() or path.read_text() != svg else []
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(svg)
            print(f"wrote docs/{file}")
    if old:
        sys.exit(f"{', '.join(old)}: run scripts/charts.py, because bench/RESULTS.md has other values")


if __name__ == "__main__":
    main("--check" in sys.argv[1:])
