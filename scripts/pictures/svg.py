"""Parts that the pictures share: arguments, colours, and functions that return SVG elements as text."""

import argparse
import html
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
ADVANCE = 7.8  # width of a monospace character of 13 px
STYLE = """\
text{font:14px system-ui,-apple-system,"Segoe UI",sans-serif;fill:#1f2328}
.title{font-weight:600}.note{font-size:12.5px;fill:#59636e}.small{font-size:11px}
.mono{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;white-space:pre}
.bold{font-weight:700}.panel{fill:#fff;stroke:#d0d7de}.box{fill:#f6f8fa;stroke:#9aa4b2}
.other{fill:#9aa4b2}.pale{fill:#d0d7de}.ours{fill:#0a7d55}.light{fill:#7fc4a9}.wait{fill:#c2710c}
.on{fill:#fff;font-weight:600}.line{fill:none;stroke:#59636e;stroke-width:1.5}.tip{fill:#59636e}
.loop{fill:none;stroke:#0a7d55;stroke-width:2}
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.note{fill:#9198a1}.panel{fill:#0d1117;stroke:#3d444d}
.box{fill:#161b22;stroke:#59636e}.other{fill:#59636e}.pale{fill:#3d444d}.ours{fill:#2ea77a}.light{fill:#1c6149}
.wait{fill:#db8a26}.on{fill:#0d1117}.line{stroke:#9198a1}.tip{fill:#9198a1}.loop{stroke:#2ea77a}}"""


def arguments(description, **more):
    """The folders that every script accepts, and further options with their defaults."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--build", default=ROOT / "build/dev", help="build folder (build/dev)")
    parser.add_argument("--out", default=ROOT / "docs/images", help="folder of the pictures (docs/images)")
    for name, default in more.items():
        parser.add_argument(f"--{name}", default=default, help=f"default: {default}")
    options = parser.parse_args()
    options.build, options.out = pathlib.Path(options.build).resolve(), pathlib.Path(options.out)
    options.penstock = options.build / "bindings/cli/penstock"
    sys.path.insert(0, str(options.build / "python"))
    return options


def photographs(options, **settings):
    """A loader of photographs, as for training."""
    import penstock as ps

    transforms = {"jpg": ps.image.random_resized_crop(224) | ps.image.random_horizontal_flip(), "cls": ps.label()}
    return ps.Loader(options.photos, shuffle=True, seed=0, transforms=transforms, **settings)


def text(x, y, words, kind="", anchor="start"):
    """A line of text."""
    return f'<text class="{kind}" x="{x:g}" y="{y:g}" text-anchor="{anchor}">{html.escape(words)}</text>'


def mono(x, y, line, kind=""):
    """A line of a terminal, stretched to the same width with every font."""
    start, line = len(line) - len(line.lstrip()), line.strip()
    place = f'x="{x + ADVANCE * start:.1f}" y="{y:g}" textLength="{ADVANCE * len(line):.1f}"'
    element = f'<text class="mono {kind}" {place} lengthAdjust="spacingAndGlyphs">{html.escape(line)}</text>'
    return element if line else ""


def rect(x, y, width, height, kind, radius=2):
    """A rectangle with rounded corners."""
    return f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="{radius}"/>'


def badge(x, y, number):
    """A number in a circle."""
    return f'<circle class="ours" cx="{x:g}" cy="{y:g}" r="9"/>' + text(x, y + 4, str(number), "small on", "middle")


def arrow(ends, kind="line"):
    """A horizontal or vertical line with a tip at its end."""
    (x0, y0), (x, y) = ends
    dx, dy = (x > x0) - (x < x0), (y > y0) - (y < y0)
    tip = f"{x},{y} {x - 9 * dx - 5 * dy},{y - 9 * dy - 5 * dx} {x - 9 * dx + 5 * dy},{y - 9 * dy + 5 * dx}"
    colour = "ours" if kind == "loop" else "tip"
    return f'<path class="{kind}" d="M{x0} {y0}L{x - 6 * dx} {y - 6 * dy}"/><polygon class="{colour}" points="{tip}"/>'


def picture(title, width, height, parts):
    """A picture on a panel, which keeps it readable on every background."""
    size = f'viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}"'
    label = f'role="img" aria-label="{html.escape(title)}" xml:space="preserve"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} {label}>\n<style>{STYLE}</style>'
    panel = rect(0.5, 0.5, width - 1, height - 1, "panel", 6)
    return "\n".join([head, panel, *filter(None, parts), "</svg>\n"])


def write(options, name, title, width, height, parts):
    """Writes a picture into the folder of the pictures."""
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / name).write_text(picture(title, width, height, parts))
    print(f"wrote {name}")


def box(x, y, width, height, name, lines, top):
    """A box with a title, and lines below it; the title is `top` below the upper edge."""
    parts = [rect(x, y, width, height, "box", 6), text(x + width / 2, y + top, name, "title", "middle")]
    below = y + top + 23
    return parts + [text(x + width / 2, below + 19 * place, line, "", "middle") for place, line in enumerate(lines)]
