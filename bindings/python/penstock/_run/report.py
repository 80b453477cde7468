"""The report of a run: the screen and the files."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import platform
import sys
from collections.abc import Sequence
from typing import Any

from .._files import new_text
from .._profile.text import counted, duration, percent
from .causes import Diagnosis, Remedy
from .ranks import RankFigures, table
from .summary import LoaderFigures, RunFigures

FORMAT = 1  # of the files


def line(run: RunFigures) -> str:
    """One line with the mean step."""
    main = run.main
    rank = f"rank {run.rank}: " if (run.world or 1) > 1 else ""
    if main is None:
        return f"penstock run: {rank}no loader delivered two batches in this process"
    scale, unit = _unit(main.step_s)
    digits = 0 if main.step_s * scale >= 100 else 1 if main.step_s * scale >= 10 else 2

    def number(seconds: float) -> str:
        return f"{seconds * scale:.{digits}f}"

    around = f" +-{number(main.plus_minus_s)}" if math.isfinite(main.plus_minus_s) else ""
    return (
        f"{rank}step {number(main.step_s)} {unit}{around} | load {number(main.load_s)} "
        f"({percent(main.load_s / main.step_s)}) | compute {number(main.compute_s)}"
        + (f" | optimizer {number(main.optimizer_s)}" if run.optimizer_hooks else "")
        + f" | other {number(main.other_s)}"
    )


def _unit(seconds: float) -> tuple[float, str]:
    return (1.0, "s") if seconds >= 1 else (1e3, "ms") if seconds >= 1e-3 else (1e6, "us")


def screen(run: RunFigures, found: Diagnosis, notes: list[str], ranks: Sequence[RankFigures] = ()) -> str:
    lines = [line(run)]
    main = run.main
    if main is None:
        return "\n".join([*lines, *notes]) + "\n"
    lines.append(f"Why: {found.why}")
    if found.not_the_cause:
        lines.append(f"Not the cause: {', '.join(found.not_the_cause)}")
    lines += [f"{'Do:  ' if place == 0 else '     '}{_told(remedy)}" for place, remedy in enumerate(found.remedies)]
    if len(ranks) > 1:
        lines += table(ranks)
    lines.append(f"Measured: {_described(main)}")
    for other in run.loaders[1:4]:
        lines.append(f"Also: {_described(other)}")
    if main.device_idle_s is not None:
        copy, work, idle = (duration(part) for part in (main.device_copy_s, main.device_work_s, main.device_idle_s))
        lines.append(f"GPU: copies {copy}, other work {work} of each step; {idle} idle between two steps")
    elif run.cuda:
        lines.append("Note: GPU work counts where the host waits for it, for example in loss.item()")
    if not run.optimizer_hooks and "torch" in sys.modules:
        lines.append("Note: this version of torch has no hooks for all optimizers; their time is in compute")
    return "\n".join([*lines, *(f"Note: {note}" for note in notes)]) + "\n"


def _told(remedy: Remedy) -> str:
    if remedy.step_s is None:
        return remedy.change
    scale, unit = _unit(remedy.step_s)
    digits = 0 if remedy.step_s * scale >= 10 else 1
    low, high = (f"{seconds * scale:.{digits}f}" for seconds in (remedy.low_s, remedy.high_s))
    return f"{remedy.change}: {remedy.step_s * scale:.{digits}f} {unit} ({low} to {high}) [predicted]"


def _described(main: LoaderFigures) -> str:
    workers = f", num_workers={main.num_workers}" if main.num_workers is not None else ""
    size = f" of {main.batch_size}" if main.batch_size else ""
    return (
        f"{counted(main.steps, 'step', 'steps')}{size} in {counted(main.epochs, 'epoch', 'epochs')} of "
        f"{main.kind}({main.dataset}{workers}), {duration(main.total_s)}; the first batch came after "
        f"{duration(main.first_batch_s)}"
    )


# ---- Files -----------------------------------------------------------------------------------------------------------


def all_figures(
    run: RunFigures, found: Diagnosis, notes: list[str], ranks: Sequence[RankFigures] = ()
) -> dict[str, Any]:
    torch: Any = sys.modules.get("torch")
    return {
        "penstock_run": FORMAT,
        **dataclasses.asdict(run),
        "diagnosis": dataclasses.asdict(found),
        "ranks": [dataclasses.asdict(one) for one in ranks],
        "notes": notes,
        "python": platform.python_version(),
        "torch": getattr(torch, "__version__", None) and str(torch.__version__),
        "machine": platform.machine(),
    }


def few_figures(run: RunFigures, found: Diagnosis) -> dict[str, Any]:
    """The figures that two runs are compared with."""
    names = (
        "steps",
        "batch_size",
        "num_workers",
        "step_s",
        "plus_minus_s",
        "load_s",
        "compute_s",
        "optimizer_s",
        "other_s",
    )
    main = dataclasses.asdict(run.main) if run.main is not None else {}
    return {
        "penstock_run": FORMAT,
        "program": run.program,
        "cause": found.cause,
        "cores": run.cores,
        **{name: main.get(name) for name in names},
    }


def of_rank(path: str, run_rank: int | None, world: int | None) -> str:
    """run.json becomes run.rank1.json if there are several ranks."""
    if run_rank is None or (world or 1) < 2:
        return path
    folder, name = os.path.split(path)
    stem, dot, ending = name.partition(".")
    return os.path.join(folder, f"{stem}.rank{run_rank}{dot}{ending}")


def write(path: str, figures: dict[str, Any]) -> None:
    """The file appears once it is complete."""
    with new_text(path) as file:
        file.write(json.dumps(_finite(figures), indent=1) + "\n")


def _finite(value: Any) -> Any:
    """JSON has no infinity."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {name: _finite(entry) for name, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(entry) for entry in value]
    return value
