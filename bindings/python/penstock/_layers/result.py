"""The rows of ps.layers(), and their table."""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
from collections.abc import Sequence
from typing import Any

from .._table import table_text


@dataclasses.dataclass(frozen=True)
class Layer:
    """Figures of a module. They include the modules inside of it, except own_parameters. A time is None if it was not
    measured, or if the module was not called."""

    name: str
    """The name in model.named_modules(); "" is the model."""
    type: str
    """Name of its class."""
    depth: int
    """Number of modules around it; 0 is the model."""
    calls: int
    """Number of calls in one forward pass; 0: it was not called."""
    parameters: int
    """Number of values in its parameters. A tied parameter counts once in each module."""
    own_parameters: int
    """Number without the modules inside of it."""
    trained_parameters: int
    """Number with requires_grad."""
    forward_flops: int
    """FLOPs of all calls in one forward pass."""
    backward_flops: int
    """FLOPs of the backward pass."""
    forward_ms: float | None
    """Milliseconds of all calls in one forward pass."""
    backward_ms: float | None
    """Milliseconds of the backward pass."""
    step_ms: float | None
    """Milliseconds of an optimizer step."""
    also: tuple[str, ...] = ()
    """The other names of a shared module."""


class Layers:
    """Result of `ps.layers()`. str() of it is a table, and layers["name"] is a Layer.

    rows: a Layer for each module, in the order of model.named_modules().
    totals: {"forward_ms", "backward_ms", "spread", "repeats", "optimizer", "device", "torch"}. These times are of runs
      without the timing of single layers. `spread` is half of the range from the first to the third quartile, as a
      share of the median.
    """

    def __init__(self, rows: Sequence[Layer], totals: dict[str, Any]) -> None:
        self.rows = list(rows)
        self.totals = totals

    def __getitem__(self, name: str) -> Layer:
        """The layer of this name, which may be one of a shared module's other names."""
        for row in self.rows:
            if name == row.name or name in row.also:
                return row
        raise KeyError(name)

    def to_dict(self) -> dict[str, Any]:
        """{"totals", "layers": [a dict for each Layer]}."""
        return {"totals": dict(self.totals), "layers": [dataclasses.asdict(row) for row in self.rows]}

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """to_dict() as JSON. path: also writes it there."""
        text = json.dumps(self.to_dict(), indent=1)
        if path is not None:
            pathlib.Path(path).write_text(text + "\n", encoding="utf-8")
        return text

    def table(self, depth: int | None = None) -> str:
        """The table as text, down to this depth; 0 is the model."""
        shown = [row for row in self.rows if depth is None or row.depth <= depth]
        heads = ["layer", "type", "parameters", "MFLOP fwd", "MFLOP bwd", "fwd ms", "bwd ms", "step ms", ""]
        lines = [heads, *(_cells(row) for row in shown)]
        return table_text(lines, left=(0, 1, 8)) + self._footer()

    def _footer(self) -> str:
        totals = self.totals
        if totals["forward_ms"] is None:
            return f"no latency: {totals['reason']}\n"
        backward = totals["backward_ms"]
        sums = f"forward {_ms(totals['forward_ms'])} ms"
        sums += (
            f", backward {_ms(backward)} ms" if backward is not None else ", no backward: nothing requires a gradient"
        )
        return (
            f"without the timing of layers: {sums}; median of {totals['repeats']} runs, "
            f"spread {100 * totals['spread']:.0f} %; {totals['device']}; step: {totals['optimizer']}\n"
        )

    def __str__(self) -> str:
        return self.table()

    def __repr__(self) -> str:
        return f"penstock.Layers({len(self.rows)} layers of {self.rows[0].type})"


def _cells(row: Layer) -> list[str]:
    name = "  " * row.depth + (row.name.rpartition(".")[2] or "(model)")
    note = "not called" if row.calls == 0 else f"{row.calls} calls" if row.calls > 1 else ""
    if row.also:
        note += (", " if note else "") + "also " + ", ".join(row.also)
    counted = row.calls > 0
    return [
        name,
        row.type,
        f"{row.parameters:,}",
        _mega(row.forward_flops) if counted else "-",
        _mega(row.backward_flops) if counted else "-",
        _ms(row.forward_ms),
        _ms(row.backward_ms),
        _ms(row.step_ms),
        note,
    ]


def _mega(flops: int) -> str:
    return f"{flops * 1e-6:,.0f}" if flops >= 1e8 or flops == 0 else f"{flops * 1e-6:,.3f}"


def _ms(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}" if value >= 100 else f"{value:.3f}"
