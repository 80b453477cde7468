"""Compares the ranks of a training, and finds the one that the others wait for."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Sequence

from .._profile.text import duration, percent
from .causes import FED, FEW, Diagnosis, Remedy
from .rank_folder import RankFolder
from .summary import RunFigures

_SHOWN = 8  # ranks


@dataclasses.dataclass(frozen=True)
class RankFigures:
    """Times in seconds, as a mean over the steps."""

    rank: int
    steps: int
    step_s: float
    load_s: float
    compute_s: float
    optimizer_s: float
    own_s: float
    """The work of the rank itself: loading, computing and the optimizer. The compute time without the part in which the
    thread slept, because it then waits for other ranks. On a GPU, the host cannot see this part. There compute_s is left
    out."""
    cause: str  # The diagnosis of this rank.
    why: str
    change: str  # the first remedy, or ""

    @property
    def waits_s(self) -> float:
        return max(self.load_s + self.compute_s + self.optimizer_s - self.own_s, 0.0)


def rank_figures(run: RunFigures, found: Diagnosis) -> RankFigures | None:
    main = run.main
    if main is None:
        return None
    busy = 0.0 if run.cuda or main.compute_thread is None else min(main.compute_thread + main.compute_runnable, 1.0)
    return RankFigures(
        rank=run.rank or 0,
        steps=main.steps,
        step_s=main.step_s,
        load_s=main.load_s,
        compute_s=main.compute_s,
        optimizer_s=main.optimizer_s,
        own_s=main.load_s + main.optimizer_s + busy * main.compute_s,
        cause=found.cause,
        why=found.why,
        change=found.remedies[0].change if found.remedies else "",
    )


def gathered(folder: RankFolder, run: RunFigures, found: Diagnosis, patience: float) -> tuple[RankFigures, ...] | None:
    """Publishes the figures of this rank. Returns those of all ranks of this machine, or None if another rank reports
    them."""
    own = rank_figures(run, found)
    folder.publish(dataclasses.asdict(own) if own is not None else {})
    if not folder.leads():
        return None
    ranks = [RankFigures(**figures) for figures in folder.gather(patience).values() if figures]
    folder.remove()
    return tuple(sorted(ranks, key=lambda one: one.rank))


def slowest(ranks: Sequence[RankFigures]) -> RankFigures:
    return max(ranks, key=lambda one: one.own_s)


def compared(ranks: Sequence[RankFigures], found: Diagnosis) -> Diagnosis:
    """The diagnosis of all ranks together. found: of one of them."""
    if len(ranks) < 2 or min(one.steps for one in ranks) < FEW:
        return found
    slow = slowest(ranks)
    others = [one for one in ranks if one is not slow]
    own = statistics.median_low(one.own_s for one in others)
    excess = slow.own_s - own
    waits = statistics.median_low(one.waits_s for one in others)
    # Ranks that do not wait for each other make their steps independently.
    if excess < FED * slow.step_s or waits < 0.5 * excess:
        return found
    if statistics.median_low(one.load_s for one in others) > excess:  # Loading holds up all ranks.
        return found
    loads = slow.load_s - statistics.median_low(one.load_s for one in others)
    part = "loads its batches longer" if loads > 0.5 * excess else "computes longer"
    return Diagnosis(
        "ranks",
        excess / slow.step_s,
        f"uneven ranks: rank {slow.rank} {part}; its own work takes {duration(slow.own_s)} of each step, that of the "
        f"others {duration(own)}; they wait {duration(waits)} for it",
        not_the_cause=found.not_the_cause if found.cause == slow.cause else (),
        remedies=_remedies(ranks, slow, excess, loads > 0.5 * excess),
    )


def _remedies(ranks: Sequence[RankFigures], slow: RankFigures, excess: float, loads: bool) -> tuple[Remedy, ...]:
    mean = statistics.fmean(one.own_s for one in ranks)
    even = slow.step_s - (slow.own_s - mean)
    gain = slow.step_s - even
    share = Remedy(
        "the same work for each rank: a DistributedSampler that shuffles, or batches of similar lengths",
        even,
        max(slow.step_s - excess, 0.0),
        slow.step_s - 0.5 * gain,
    )
    if not loads or not slow.change:
        return (share,)
    return (share, Remedy(f"on rank {slow.rank} ({slow.cause}): {slow.change}"))


def table(ranks: Sequence[RankFigures]) -> list[str]:
    """Lines with the ranks side by side: all, or the slowest ones."""
    slow = slowest(ranks)
    chosen = sorted(ranks, key=lambda one: -one.own_s)[:_SHOWN]
    lines = [f"Ranks:  {'step':>8} {'load':>8} {'compute':>8} {'optimizer':>10} {'waits':>8}  ms"]
    for one in sorted(chosen, key=lambda one: one.rank):
        parts = (one.step_s, one.load_s, one.compute_s, one.optimizer_s, one.waits_s)
        step, load, compute, optimizer, waits = (f"{part * 1e3:.1f}" for part in parts)
        mark = f"  <- {percent(one.own_s / one.step_s)} own work" if one is slow else ""
        lines.append(f"{one.rank:>5}   {step:>8} {load:>8} {compute:>8} {optimizer:>10} {waits:>8}{mark}")
    if len(chosen) < len(ranks):
        lines.append(f"        and {len(ranks) - len(chosen)} ranks with less work")
    return lines
