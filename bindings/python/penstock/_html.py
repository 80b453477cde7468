"""Shows a loader in notebooks: its type, and the share of time for which the threads of each stage worked and waited."""

from __future__ import annotations

import html
from typing import Any

from ._error import Error

_PARTS = (
    ("busy_s", "worked", "#4c9f70"),
    ("input_wait_s", "waited for input", "#d9a441"),
    ("room_wait_s", "waited for room", "#b0b7bf"),
    ("other_s", "other work, or none", "#e8eaed"),
)


def of_loader(loader: Any) -> str:
    """Plain HTML without scripts. A closed loader is one line."""
    told = f"<div>{html.escape(repr(loader))}</div>"
    try:
        stats = loader.stats()
    except Error:
        return told
    rows = "".join(_row(name, stage, stats["wall_s"]) for name, stage in stats["stages"].items())
    return f'{told}<table style="border-spacing:6px 2px">{rows}</table><div>{_legend()}</div>'


def _row(name: str, stage: dict[str, Any], wall_s: float) -> str:
    seconds = {part: float(stage.get(part, 0)) for part, _, _ in _PARTS}
    # threads work for several stages, so the times of one stage are only a part of theirs
    seconds["other_s"] = max(0.0, stage["threads"] * wall_s - sum(seconds.values()))
    total = sum(seconds.values())
    bars = "".join(
        f'<span style="display:inline-block;height:10px;width:{round(200 * seconds[part] / total) if total else 0}px;'
        f'background:{color}" title="{meaning}: {seconds[part]:.3f} s"></span>'
        for part, meaning, color in _PARTS
    )
    share = f"{seconds['busy_s'] / total:.0%} of the time worked" if total else "has not begun"
    return (
        f"<tr><td>{html.escape(name)}</td><td>{stage['threads']}</td>"
        f'<td style="width:210px;text-align:left">{bars}</td><td>{share}</td></tr>'
    )


def _legend() -> str:
    return ", ".join(f'<span style="color:{color}">&#9632;</span> {meaning}' for _, meaning, color in _PARTS)
