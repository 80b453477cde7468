"""What the steps of a training loop took, in the words of profilers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._penstock import Schedule
from .text import counted, duration, percent

_SPLIT = ("read", "decode", "transform", "own_step", "wait")  # of DataLoader
KEPT = 8192  # steps, the last ones
_LISTED = 10  # of them in a table


def schedule(*, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0) -> Schedule:
    """Which steps are recorded, as torch.profiler.schedule(): behind the first skip_first steps come cycles of `wait`, `warmup`
    and `active` steps, without end or `repeat` times. For loader.steps() and loader.trace()."""
    return Schedule(wait=wait, warmup=warmup, active=active, repeat=repeat, skip_first=skip_first)


class Steps(dict[str, Any]):
    """Plain numbers, times in seconds; str() is a table of them.

    "average" is of one step: {"DataLoader": {"read", "decode", "transform", "own_step", "wait"}, "Memcpy", "Compute", "Other",
    "batches"}, which add up to it: DataLoader is what the loop waited for the loader, split by what its threads did meanwhile;
    Memcpy what it waited for copies to the device; Compute what the program did with a batch until the step's end; Other
    what it did between steps and between epochs. "by_step" has such a dict for each step that is kept, and its "step", its number;
    "steps" is how many the average is of, "not_kept" how many of the schedule's are older than those that are kept.
    """

    def __init__(
        self, first: int, last: Sequence[dict[str, Any]], total: dict[str, Any], schedule: Schedule | None = None
    ) -> None:
        by_step = [{"step": first + place, **step} for place, step in enumerate(last)]
        steps, not_kept = first + len(last), 0
        if schedule is not None and not isinstance(schedule, Schedule):
            raise TypeError(
                f"schedule is a penstock.Schedule, of ps.schedule(), or None, not {type(schedule).__name__}"
            )
        if schedule is not None:
            not_kept = sum(schedule(step) == "active" for step in range(first))
            by_step = [step for step in by_step if schedule(step["step"]) == "active"]
            steps, total = len(by_step), sum_of(by_step)
        super().__init__(steps=steps, average=_divided(total, max(steps, 1)), by_step=by_step, not_kept=not_kept)
        self._scheduled = schedule is not None

    def __str__(self) -> str:
        average, whole = self["average"], whole_of(self["average"])
        lines = [f"{counted(self['steps'], 'step', 'steps')} of {duration(whole)}"]
        if self["not_kept"]:
            lines[0] += f", without {counted(self['not_kept'], 'step', 'steps')} of the schedule, too old to be kept"

        def row(name: str, spent: float) -> None:
            lines.append(f"{name:<14}{duration(spent):>9} {percent(spent / whole if whole > 0 else 0):>6}")

        row("DataLoader", sum(average["DataLoader"].values()))
        for part in _SPLIT:
            if part != "own_step" or average["DataLoader"][part] > 0:
                row(f"  {part.replace('_', ' ')}", average["DataLoader"][part])
        for name in ("Memcpy", "Compute", "Other"):
            row(name, average[name])
        if self._scheduled and self["by_step"]:
            lines.append(f"{'step':>8} {'DataLoader':>10} {'Memcpy':>9} {'Compute':>9} {'Other':>9}")
            for step in self["by_step"][-_LISTED:]:
                spent = (sum(step["DataLoader"].values()), step["Memcpy"], step["Compute"], step["Other"])
                lines.append(
                    f"{step['step']:>8} "
                    + " ".join(f"{duration(each):>{10 - (i > 0)}}" for i, each in enumerate(spent))
                )
        return "\n".join(lines) + "\n"


def whole_of(step: dict[str, Any]) -> float:
    """Seconds of one step."""
    return float(sum(step["DataLoader"].values()) + step["Memcpy"] + step["Compute"] + step["Other"])


def sum_of(steps: Sequence[dict[str, Any]]) -> dict[str, Any]:
    total = no_time()
    for step in steps:
        for part in _SPLIT:
            total["DataLoader"][part] += step["DataLoader"][part]
        for name in ("Memcpy", "Compute", "Other", "batches"):
            total[name] += step[name]
    return total


def _divided(total: dict[str, Any], steps: int) -> dict[str, Any]:
    split = {part: spent / steps for part, spent in total["DataLoader"].items()}
    return {"DataLoader": split, **{name: total[name] / steps for name in ("Memcpy", "Compute", "Other", "batches")}}


def no_time() -> dict[str, Any]:
    return {"DataLoader": dict.fromkeys(_SPLIT, 0.0), "Memcpy": 0.0, "Compute": 0.0, "Other": 0.0, "batches": 0}
