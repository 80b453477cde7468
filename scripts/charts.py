"""Usage: python scripts/charts.py [--check]

Draws the bar charts of the pages from tables of bench/RESULTS.md, as SVG that follows the reader's light or dark theme.
--check draws nothing, and fails if a chart differs from its table.

A comment in front of a table requests a chart: <!-- chart: FILE; COLUMN; TITLE --> with the column of the values.
"""

import html
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).parents[1]
STYLE = """\
text{font:14px system-ui,-apple-system,"Segoe UI",sans-serif;fill:#1f2328}
.paper{fill:#fff}.title{font-weight:600}.value{font-variant-numeric:tabular-nums}.note{font-size:12px;fill:#59636e}
.other{fill:#9aa4b2}.ours{fill:#0a7d55}
@media(prefers-color-scheme:dark){.paper{fill:#0d1117}text{fill:#e6edf3}.note{fill:#9198a1}.other{fill:#59636e}.ours{fill:#2ea77a}}"""
LABEL, BAR, ROW, WIDTH = 240, 420, 30, 760


def charts(text):
    """File, title, rows (label, value) and the paragraph after the table, for each marked table."""
    marked = r"<!-- chart: (\S+); ([^;]+); ([^\n]+?) -->\n((?:\|[^\n]*\n)+)\n?([^\n|#<][^\n]*(?:\n[^\n|#<][^\n]*)*)?"
    for file, column, title, table, note in re.findall(marked, text):
        head, _, *rows = [[cell.strip() for cell in line.strip("|\n").split("|")] for line in table.splitlines()]
        place = head.index(column)
        yield file, title, [(row[0], row[place]) for row in rows], note


def plain(markdown):
    return re.sub(r"[`*]", "", markdown)


def lines_of(note, most=104):
    lines = [""]
    for word in plain(note).split():
        lines = [*lines[:-1], f"{lines[-1]} {word}".strip()] if len(lines[-1]) + len(word) < most else [*lines, word]
    return [line for line in lines if line]


def drawing(title, rows, note):
    values = [float(re.match(r"[\d,.]+", plain(value)).group().replace(",", "")) for _, value in rows]
    notes = lines_of(note)
    height = 44 + ROW * len(rows) + 18 * len(notes) + 8
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img" '
        f'aria-label="{html.escape(title)}">',
        f"<style>{STYLE}</style>",
        f'<rect class="paper" width="{WIDTH}" height="{height}" rx="6"/>',  # the page may have another theme
        f'<text class="title" x="8" y="22">{html.escape(title)}</text>',
    ]
    for place, ((label, _), value) in enumerate(zip(rows, values)):
        top, width = 38 + ROW * place, max(1.0, BAR * value / max(values))
        kind = "ours" if "penstock" in label else "other"
        parts += [
            f'<text x="{LABEL - 10}" y="{top + 17}" text-anchor="end">{html.escape(plain(label))}</text>',
            f'<rect class="{kind}" x="{LABEL}" y="{top + 2}" width="{width:.1f}" height="{ROW - 8}" rx="2"/>',
            f'<text class="value" x="{LABEL + width + 8:.1f}" y="{top + 17}">{value:,.0f}</text>',
        ]
    for place, line in enumerate(notes):
        y = 38 + ROW * len(rows) + 18 * (place + 1)
        parts.append(f'<text class="note" x="8" y="{y}">{html.escape(line)}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


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
