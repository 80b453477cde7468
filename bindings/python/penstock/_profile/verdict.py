"""Diagnoses a training loop from its times, in one sentence."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from .._penstock import too_short, usable_cores
from .about import About
from .scheduling import Scheduling, Shares
from .text import counted, duration, percent
from .times import Times

if TYPE_CHECKING:
    from .compare import Comparison

_FED = 0.05  # a loop that waits for less than this share of its time keeps up
_COMPUTES = 0.7  # above this share of time on or ready for a core, a process computes rather than waits
_RESTS = 0.4  # below this share, it waits rather than computes
_CROWDED = 0.2  # above this share of time ready but not on a core, the machine is crowded


@dataclasses.dataclass(frozen=True)
class Verdict:
    """The bottleneck of a training loop; str() is its text."""

    binds: str
    """"loader" (the loop waits for batches), "model" (it does not), "start-up" (the run is too short, or beginnings of
    epochs take the time), or "unknown"."""
    data_wait: float
    """Share of its time, 0 to 1, in which the loop waited, as in stats(). The first batches of epochs do not count,
    except for a penstock loader."""
    text: str
    """One sentence with its numbers."""
    comparison: Comparison | None = None
    """The comparison with penstock, if it was requested."""

    def __str__(self) -> str:
        return self.text if self.comparison is None else f"{self.text}\n{self.comparison}"


# Maps the diagnosis of a penstock loader to one of the loop.
_OF_LOADER = {"nothing": "model", "consumer": "model", "start-up": "start-up", "unknown": "unknown"}


def passed_on(said: dict[str, Any]) -> Verdict:
    binds = str(said.get("binds", "unknown"))
    return Verdict(_OF_LOADER.get(binds, "loader"), float(said.get("data_wait", 0.0)), str(said.get("text", binds)))


def verdict_of(times: Times, scheduling: Scheduling, about: About) -> Verdict:
    def said(binds: str, text: str) -> Verdict:
        return Verdict(binds, times.data_wait, text)

    if times.batches == 0:
        return said("unknown", "no batch was taken from the loader yet")
    if why := too_short(times.batches, times.first_batch, max(times.waits.max, times.first_batch), times.wall):
        return said("start-up", why)
    if times.data_wait >= _FED:
        return said("loader", _waits(times) + _advice(scheduling, times, about) + _beginnings(times, about))
    if times.loops > 1 and times.first + times.end >= _FED * times.wall:
        each = duration((times.first + times.end) / times.loops * 1e-9)
        return said(
            "start-up",
            f"epochs take long to start and to end: {each} each, "
            f"{percent((times.first + times.end) / times.wall)} of the time, and between them the loop waited "
            f"{percent(times.data_wait)}{_restarts(about)}",
        )
    return said(
        "model",
        f"the loader keeps up: the loop waited {percent(times.data_wait)} of its time for batches, and a step "
        f"takes {duration(times.steps.mean * 1e-9)}; the first batch came after {duration(times.first_batch * 1e-9)}",
    )


def _waits(times: Times) -> str:
    faster = times.steady / times.step if times.step else 0.0
    text = (
        f"the loop waited {percent(times.data_wait)} of its time for batches: {duration(times.waits.mean * 1e-9)} for each "
        f"(median {duration(times.waits.quantile(0.5) * 1e-9)}, longest {duration(times.waits.max * 1e-9)}), and a "
        "step "
        f"takes {duration(times.steps.mean * 1e-9)}"
    )
    return text + (f"; without waits it would be {faster:.1f} times as fast" if 0 < faster < 100 else "")


def _beginnings(times: Times, about: About) -> str:
    around = times.first + times.end
    if times.loops < 2 or around < _FED * times.wall:
        return ""
    return f"; epochs also take {duration(around / times.loops * 1e-9)} each to start and to end{_restarts(about)}"


def _restarts(about: About) -> str:
    if about.num_workers and not about.persistent:
        return ", because each starts new worker processes; persistent_workers=True keeps them"
    return ""


def _advice(scheduling: Scheduling, times: Times, about: About) -> str:
    """The rest of the sentence, from "; " on: where the time goes, as far as observed, and the usual remedy."""
    here, workers, usable = scheduling.here(times.waits), scheduling.workers, usable_cores()
    machine = counted(usable, "core", "cores")
    if about.num_workers is None:
        if here.observed == 0:
            return ""
        if here.computing >= _COMPUTES:
            return (
                f"; meanwhile the thread of the loop computes ({_told(here)}): load ahead in other threads or processes"
            )
        return f"; meanwhile the thread of the loop is idle ({_told(here)}): it waits for work outside this thread"
    if about.num_workers == 0:
        kind = (
            "computes"
            if here.computing >= _COMPUTES
            else "waits for storage or a lock"
            if here.computing < _RESTS
            else "computes and waits"
        )
        meanwhile = f", which {kind} meanwhile ({_told(here)})" if here.observed else ""
        text = f"; the loader loads in this process (num_workers=0){meanwhile}, and loads nothing during a step"
        if usable > 1:
            return f"{text}: try num_workers={usable} on {machine}"
        return f"{text}: num_workers=1 loads during steps that leave the core free, as on a GPU"
    mine = f"{counted(about.num_workers, 'worker process', 'worker processes')} on {machine}"
    if here.on_core >= _COMPUTES:
        return (
            f"; with {mine}, this process itself computes meanwhile ({_told(here)}): receiving and processing "
            "batches here is the bottleneck, so fewer and larger tensors help"
        )
    if workers.observed == 0:
        return f"; {mine}: their load could not be measured"
    told = f"; {mine}, {_told(workers)}"
    if workers.computing < _RESTS:
        return (
            f"{told}: they wait for storage, the network or a lock, so more workers, a larger prefetch_factor or a "
            "local disk help; a faster decoder does not"
        )
    if workers.computing < _COMPUTES:
        return f"{told}: they partly compute and partly wait for storage or a lock"
    if about.num_workers >= usable or workers.runnable >= _CROWDED:
        return f"{told}: the cores are the bottleneck, because of decoding and transforming"
    return f"{told}: they compute, so num_workers={usable} helps"


def _told(shares: Shares) -> str:
    told = f"{percent(shares.on_core)} of the time on a core"
    return told + (f", {percent(shares.runnable)} waiting for one" if shares.runnable >= _CROWDED / 2 else "")
