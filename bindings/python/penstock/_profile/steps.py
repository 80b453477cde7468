"""The times of the steps of a training loop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._penstock import Schedule
from .._words import keywords_in_words
from .text import counted, duration, percent

_STAGES = ("plan", "read", "decode", "transform", "deliver", "custom_transform", "copy")
_TIMES = ("data_wait_s", "compute_s", "other_s")
KEPT = 8192  # the last steps
_LISTED = 10  # steps in a table


@keywords_in_words
def schedule(*, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0) -> Schedule:
    """Selects the steps to record, like torch.profiler.schedule(). The first skip_first steps are skipped. Then come
    cycles of `wait`, `warmup` and `active` steps, `repeat` times or without end. For loader.steps() and loader.trace().
    """
    return Schedule(wait=wait, warmup=warmup, active=active, repeat=repeat, skip_first=skip_first)


class Steps(dict[str, Any]):
    """Plain numbers, times in seconds; str() is a table of them.

    "average" is the mean step: {"data_wait_s", "data_wait_by_stage_s", "compute_s", "other_s", "batches"}.
    "data_wait_s" is the time that the loop waited for batches; "data_wait_by_stage_s" splits it by stage, as in
    stats(). "compute_s" is the time of the program with a batch, until the step ends. "other_s" is its time between
    steps and between epochs. The three add up to the step. "by_step" has such a dict for each step that is kept, with
    its number as "step". "steps" is the number of steps of the average, "not_kept" the number of the schedule's steps
    that are older than the kept ones.
    """

    def __init__(
        self, first: int, last: Sequence[dict[str, Any]], total: dict[str, Any], schedule: Schedule | None = None
    ) -> None:
        by_step = [{"step": first + place, **step} for place, step in enumerate(last)]
        steps, not_kept = first + len(last), 0
        if schedule is not None and not isinstance(schedule, Schedule):
            raise TypeError(
                f"schedule must be a penstock.Schedule, from ps.schedule(), or None, not {type(schedule).__name__}"
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
            lines[0] += (
                f", without {counted(self['not_kept'], 'step', 'steps')} of the schedule that are too old to be kept"
            )

        def row(name: str, spent: float) -> None:
            lines.append(f"{name:<18}{duration(spent):>9} {percent(spent / whole if whole > 0 else 0):>6}")

        row("data wait", average["data_wait_s"])
        for stage in _STAGES:
            if average["data_wait_by_stage_s"][stage] > 0:
                row(f"  {stage}", average["data_wait_by_stage_s"][stage])
        row("compute", average["compute_s"])
        row("other", average["other_s"])
        if self._scheduled and self["by_step"]:
            lines.append(f"{'step':>8} {'data wait':>9} {'compute':>9} {'other':>9}")
            for step in self["by_step"][-_LISTED:]:
                lines.append(f"{step['step']:>8} " + " ".join(f"{duration(step[time]):>9}" for time in _TIMES))
        return "\n".join(lines) + "\n"


def whole_of(step: dict[str, Any]) -> float:
    """Seconds of one step."""
    return float(sum(step[time] for time in _TIMES))


def sum_of(steps: Sequence[dict[str, Any]]) -> dict[str, Any]:
    total = no_time()
    for step in steps:
        for stage in _STAGES:
            total["data_wait_by_stage_s"][stage] += step["data_wait_by_stage_s"][stage]
        for name in (*_TIMES, "batches"):
            total[name] += step[name]
    return total


def _divided(total: dict[str, Any], steps: int) -> dict[str, Any]:
    by_stage = {stage: spent / steps for stage, spent in total["data_wait_by_stage_s"].items()}
    return {
        **{name: spent / steps for name, spent in total.items() if name != "data_wait_by_stage_s"},
        "data_wait_by_stage_s": by_stage,
    }


def no_time() -> dict[str, Any]:
    return {**dict.fromkeys((*_TIMES, "batches"), 0), "data_wait_by_stage_s": dict.fromkeys(_STAGES, 0.0)}
