"""The table, the recommendation and the JSON."""

from __future__ import annotations

import dataclasses
from typing import Any

from .._table import table_text
from .rows import Row, cheapest, equal_to, noise_of
from .setting import Setting

_HEADS = (
    *("num_workers", "persistent_workers", "prefetch_factor", "pin_memory"),
    *("epoch s", "batches/s", "start-up s", "first batch s", "peak MB", "runs", ""),
)


@dataclasses.dataclass
class Result:
    target: str
    own: Setting
    rows: list[Row]
    penstock: Row | None = None
    prevented: str = ""  # the reason why the row of penstock is missing
    gpu: str | None = None
    cores: int = 0
    batches: int = 0
    epoch_batches: int | None = None
    runs: int = 0
    full_sweep: int = 0
    ended: str = ""  # reason of an early end

    def sorted_rows(self) -> list[Row]:
        """By loading time. Failed settings come last."""
        return sorted(self.rows, key=lambda row: row.seconds if row.runs else float("inf"))

    def recommended(self) -> tuple[Row | None, list[Row], float | None]:
        """The cheapest of the fastest rows, all of them, and the noise of a run."""
        good = [row for row in self.sorted_rows() if row.runs]
        if not good:
            return None, [], None
        noise = noise_of(self.rows)
        equal = equal_to(good[0], good, noise)
        return cheapest(equal), equal, noise


def text_of(result: Result) -> str:
    chosen, equal, noise = result.recommended()
    lines = [_HEADS, *(_cells(row, _note(row, result, chosen, equal)) for row in result.sorted_rows())]
    if result.penstock is not None:
        lines.append(("penstock", "-", "-", "-", *_cells(result.penstock, "the same data through penstock")[4:]))
    text = table_text(lines, left=(_HEADS.index(""),))
    if result.prevented:
        text += f"penstock: not measured: {result.prevented}\n"
    return text + "\n" + "".join(f"{line}\n" for line in (*_notes(result, noise), _sentence(result, chosen)) if line)


def _cells(row: Row, note: str) -> tuple[str, ...]:
    setting = row.setting
    workers = setting.num_workers > 0
    if not row.runs:
        figures = ("-",) * 5 + ("0",)
    else:
        figures = (
            f"{row.seconds:.3f}" if row.seconds < 10 else f"{row.seconds:.1f}",
            f"{1 / row.median('batch_s'):.1f}",
            f"{row.median('startup_s'):.3f}",
            f"{row.median('first_batch_s'):.3f}",
            f"{row.peak_bytes / 1e6:.0f}",
            str(len(row.runs)),
        )
    return (
        str(setting.num_workers),
        str(setting.persistent_workers) if workers else "-",
        str(setting.prefetch_factor) if workers else "-",
        str(setting.pin_memory),
        *figures,
        note,
    )


def _note(row: Row, result: Result, chosen: Row | None, equal: list[Row]) -> str:
    notes = []
    if row is chosen:
        notes.append("<- recommended")
    elif row in equal:
        notes.append("equally fast")
    if row.setting == result.own:
        notes.append("the script's settings")
    if row.failure:
        notes.append(f"failed: {row.failure}")
    return ", ".join(notes)


def _notes(result: Result, noise: float | None) -> list[str]:
    part = result.epoch_batches is not None and result.batches < result.epoch_batches
    epoch = f"of {result.epoch_batches} in an epoch" if part else "in a pass"
    ours = f" and {len(result.penstock.runs)} of penstock" if result.penstock is not None else ""
    lines = [
        f"{result.runs} runs{ours} instead of {result.full_sweep}, {result.batches} batches {epoch}; "
        + (f"noise of a run {100 * noise:.1f} %" if noise is not None else "noise unknown: no setting ran twice")
        + f"; {result.cores} cores"
    ]
    if result.gpu is None:
        lines.append("pin_memory: not measured, because torch finds no GPU")
    if result.ended:
        lines.append(result.ended)
    return lines


def _sentence(result: Result, chosen: Row | None) -> str:
    if chosen is None:
        return ""
    setting = chosen.setting
    own = next((row for row in result.rows if row.setting == result.own and row.runs), None)
    if setting == result.own:
        return f"Do:  nothing: DataLoader({setting.arguments()}) is the cheapest of the fastest settings"
    gain = ""
    if own is not None:
        gain = f": {own.seconds:.3g} -> {chosen.seconds:.3g} s for an epoch"
        gain += f", {own.peak_bytes / 1e6:.0f} -> {chosen.peak_bytes / 1e6:.0f} MB"
    return f"Do:  DataLoader({setting.arguments()}){gain}"


def json_of(result: Result) -> dict[str, Any]:
    """A dict of plain values. Times are seconds."""
    chosen, equal, noise = result.recommended()
    return {
        "target": result.target,
        "rows": [{**_values(row), "equal_to_best": row in equal} for row in result.sorted_rows()],
        "penstock": _values(result.penstock) if result.penstock is not None else {"prevented": result.prevented},
        "own": vars(result.own),
        "recommended": vars(chosen.setting) if chosen is not None else None,
        "noise": noise,
        "batches": result.batches,
        "epoch_batches": result.epoch_batches,
        "runs": result.runs,
        "full_sweep": result.full_sweep,
        "cores": result.cores,
        "gpu": result.gpu,
        "ended": result.ended,
    }


def _values(row: Row) -> dict[str, Any]:
    figures = ("epoch_s", "pass_s", "batch_s", "startup_s", "first_batch_s")
    medians = {name: row.median(name) for name in figures} if row.runs else dict.fromkeys(figures)
    return {
        **vars(row.setting),
        **medians,
        "peak_bytes": row.peak_bytes if row.runs else None,
        "runs": [run["epoch_s"] for run in row.runs],
        "failure": row.failure,
    }
