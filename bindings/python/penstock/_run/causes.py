"""The diagnosis of a run: the cause of slow steps, with predicted remedies."""

from __future__ import annotations

import dataclasses
import math

from .._profile.text import counted, duration, percent
from .summary import LoaderFigures, RunFigures

FED = 0.1  # below this share of the step, a part is not worth a change
_COMPUTES = 0.7  # as in _profile/verdict.py
_RESTS = 0.4
_CROWDED = 0.2
_COLLATES = 0.5  # share of the loading from which the collate function is the cause
_TINY_S = 1.5e-3  # a shorter step consists mostly of fixed costs per batch
_SPARE_WORKERS = 1.3  # As in overview/diagnosis.cpp.
FEW = 8  # steps
_OF_THE_STEP = ("compute", "threads", "cores", "waiting")


@dataclasses.dataclass(frozen=True)
class Remedy:
    """A change, and the predicted step time with its range. The times are None if the figures allow no prediction."""

    change: str
    step_s: float | None = None
    low_s: float = 0.0
    high_s: float = 0.0


@dataclasses.dataclass(frozen=True)
class Diagnosis:
    cause: str
    """"decoding", "workers", "storage", "receiving", "collate", "batches", "garbage collection", "epochs", "penstock",
    "ranks", "compute", "threads", "cores", "waiting" or "unknown"."""
    share: float
    """Part of the step."""
    why: str
    not_the_cause: tuple[str, ...] = ()
    remedies: tuple[Remedy, ...] = ()


def diagnose(run: RunFigures) -> Diagnosis:
    main = run.main
    if main is None:
        return Diagnosis("unknown", 0.0, "no loader delivered two batches in this process")
    if main.steps < FEW:
        return Diagnosis("unknown", 0.0, f"{counted(main.steps, 'step', 'steps')} are too few for a diagnosis")
    main, lone = _without_lone_collection(main)
    step = main.step_s
    load = max(main.load_s - main.collections_load_s, 0.0)
    sizes = {"load": load, "garbage collection": main.collections_s, "epochs": main.epoch_starts_s}
    top = max(sizes, key=lambda name: sizes[name])
    share = sizes[top] / step if step > 0 else 0.0
    if share < FED:
        found = _computes(run, main)
    elif top == "load":
        found = _loads(run, main, share)
    elif top == "epochs":
        found = _starts(main, share)
    else:
        found = _collects(main, share)
    return dataclasses.replace(found, why=found.why + lone, not_the_cause=tuple(_not(found.cause, main)))


def _without_lone_collection(main: LoaderFigures) -> tuple[LoaderFigures, str]:
    """The figures without the garbage collections, and words about it, if most of their time is in one step. Python makes
    a full collection each time that its objects have grown by a quarter. One in a short run says nothing about the next
    steps."""
    spent, in_load = main.collections_s, main.collections_load_s
    if main.collections_longest_s <= 0.5 * spent * main.steps:
        return main, ""
    load, compute = max(main.load_s - in_load, 0.0), max(main.compute_s - (spent - in_load), 0.0)
    step = load + compute + main.optimizer_s + main.other_s
    told = spent >= FED * main.step_s
    return (
        dataclasses.replace(
            main, step_s=step, load_s=load, compute_s=compute, collections_s=0.0, collections_load_s=0.0
        ),
        f"; without one garbage collection of {duration(main.collections_longest_s)}" if told else "",
    )


def _not(cause: str, main: LoaderFigures) -> list[str]:
    """The parts that are too small to matter."""
    step = main.step_s
    parts = {
        "loading": (main.load_s, cause in (*_OF_THE_STEP, "garbage collection", "epochs", "unknown")),
        "the optimizer": (main.optimizer_s, main.optimizer_s > 0),
        "garbage collection": (main.collections_s, cause != "garbage collection"),
        "collating": (_collate(main), cause in ("decoding", "workers", "storage") and _collate(main) > 0),
        "epoch starts": (main.epoch_starts_s, main.epochs > 1 and cause != "epochs"),
    }
    said = [
        f"{name} ({percent(spent / step)})" for name, (spent, listed) in parts.items() if listed and spent < 0.1 * step
    ]
    computing = _computing(main)
    if cause in ("decoding", "workers", "collate") and computing is not None and computing >= _COMPUTES:
        said.append("storage")
    if cause == "storage":
        said.append("decoding")
    return said


def _computes(run: RunFigures, main: LoaderFigures) -> Diagnosis:
    part = (main.compute_s + main.optimizer_s) / main.step_s
    trace = Remedy("penstock run --trace 20, then penstock overview, shows the operators of a step")
    on_core, ready = main.compute_thread, main.compute_runnable
    if run.cuda or on_core is None or on_core >= _COMPUTES:  # on a GPU, the host sleeps until the GPU is done
        why = f"the training step computes {percent(part)} of the time; loading takes {percent(main.load_s / main.step_s)}"
        return Diagnosis("compute", part, why, remedies=(trace,))
    step = f"the training step takes {percent(part)} of the time, but its thread is on a core for only {percent(on_core)} of it"
    threads = run.torch_threads or 1
    if threads > run.cores and (main.compute_cores or 0.0) >= 1.5 * on_core:  # The other threads work, too.
        cores = counted(run.cores, "core", "cores")
        why = (
            f"too many threads: {step}; torch computes with {threads} threads on {cores}, and they wait for each other"
        )
        few = Remedy(f"torch.set_num_threads({run.cores}), or OMP_NUM_THREADS={run.cores} for the program")
        return Diagnosis("threads", part, why, remedies=(few,))
    if ready >= _CROWDED:
        why = f"too few cores: {step}; for {percent(ready)} it is ready while other threads and programs have the cores"
        return Diagnosis("cores", part, why, remedies=(Remedy("fewer programs, workers or threads on this machine"),))
    if on_core + ready < _RESTS:
        why = f"{step}; otherwise it sleeps: it waits for a device, a network, a file, a lock or another process"
        return Diagnosis("waiting", part, why, remedies=(trace,))
    return Diagnosis(
        "compute", part, f"{step}; torch computes with {counted(threads, 'thread', 'threads')}", remedies=(trace,)
    )


def _collects(main: LoaderFigures, share: float) -> Diagnosis:
    rest = main.step_s - main.collections_s
    change = "gc.collect(), gc.freeze() before the loop, or gc.disable() in it with gc.collect() every 1,000 steps"
    return Diagnosis(
        "garbage collection",
        share,
        f"Python's garbage collector takes {duration(main.collections_s)} of each step, because it visits all objects "
        "that the program keeps",
        remedies=(_predicted(change, main, rest + 0.1 * main.collections_s, rest, rest + 0.5 * main.collections_s),),
    )


def _starts(main: LoaderFigures, share: float) -> Diagnosis:
    workers = bool(main.num_workers) and not main.persistent
    epoch = main.steps / max(main.epochs, 1)
    why = f"epochs take {duration(main.epoch_starts_s * epoch)} each to start and to end"
    if not workers or main.epochs < 2:
        return Diagnosis("epochs", share, why)
    rest = main.step_s - main.epoch_starts_s
    part = main.epoch_starts_s
    return Diagnosis(
        "epochs",
        share,
        f"{why}, because each starts new worker processes",
        remedies=(_predicted("persistent_workers=True", main, rest + 0.3 * part, rest, rest + 0.7 * part),),
    )


# ---- Loading ---------------------------------------------------------------------------------------------------------


def _loads(run: RunFigures, main: LoaderFigures, share: float) -> Diagnosis:
    if main.penstock is not None:
        return Diagnosis("penstock", share, str(main.penstock.get("text", "the penstock loader")))
    if main.num_workers is None:
        return Diagnosis("unknown", share, "the loop waits for its loader; `penstock run` does not know this kind")
    if main.load_s + main.compute_s + main.optimizer_s < _TINY_S:
        return _tiny(main, share)
    if main.num_workers > 0 and main.thread_on_core is not None and main.thread_on_core >= _COMPUTES:
        return Diagnosis(
            "receiving",
            share,
            f"this process itself computes during {percent(main.thread_on_core)} of the wait: it receives and copies the "
            "batches",
            remedies=(Remedy("fewer and larger tensors in each sample, or smaller dtypes such as uint8"),),
        )
    whole = main.fetch_s if main.num_workers else main.load_s
    if whole and _collate(main) >= _COLLATES * whole:
        return _collates(run, main, share, whole)
    computing = _computing(main)
    if computing is None:
        return Diagnosis(
            "unknown", share, f"loading takes {duration(main.load_s)} of each step; its work could not be measured"
        )
    if computing < _RESTS:
        return _waits(run, main, share, computing)
    return _decodes(run, main, share, computing)


def _collate(main: LoaderFigures) -> float:
    return main.fetch_collate_s if main.num_workers else main.collate_s


def _computing(main: LoaderFigures) -> float | None:
    """Share of the loading's time on a core, or ready for one."""
    if not main.num_workers:
        return None if main.thread_on_core is None else main.thread_on_core + main.thread_runnable
    if main.fetch_s is not None:
        # A worker is ready for a core only while it fetches; otherwise it waits for work.
        fetching = main.fetch_s / max(main.step_s * main.num_workers, main.fetch_s)
        return min(main.fetch_cpu + main.workers_runnable / max(fetching, 0.05), 1.0)
    return None if main.workers_on_core is None else main.workers_on_core + main.workers_runnable


def _tiny(main: LoaderFigures, share: float) -> Diagnosis:
    size = main.batch_size or 1
    step = main.load_s + main.compute_s + main.optimizer_s
    why = (
        f"batches are tiny: a step of {duration(step)} for {counted(size, 'sample', 'samples')} consists mostly of fixed "
        f"costs ({duration(step / size)} per sample)"
    )
    times = max(2, math.ceil(8e-3 / step))

    def longer(fixed: float) -> float:
        return step * (fixed + (1 - fixed) * times)

    change = f"batch_size {size} -> {size * times} (the step has {times} times as many samples)"
    batch = Remedy("sampler=BatchSampler(...), batch_size=None: the dataset gets a list and indexes its arrays once")
    return Diagnosis("batches", share, why, remedies=(Remedy(change, longer(0.75), longer(0.95), longer(0.3)), batch))


def _collates(run: RunFigures, main: LoaderFigures, share: float, whole: float) -> Diagnosis:
    collate = _collate(main)
    why = (
        f"collate_fn takes {duration(collate)} of the {duration(whole)} in which a batch is loaded"
        f"{' by a worker' if main.num_workers else ''}"
    )
    gain = main.load_s * collate / whole
    rest = main.step_s - gain
    change = "a collate_fn that stacks arrays once, such as default_collate on arrays of one shape"
    faster = _predicted(change, main, rest + 0.3 * gain, rest, rest + 0.7 * gain)
    return Diagnosis("collate", share, why, remedies=(faster, *_more_workers(run, main, waiting=False)))


def _waits(run: RunFigures, main: LoaderFigures, share: float, computing: float) -> Diagnosis:
    who = counted(main.num_workers, "worker", "workers") if main.num_workers else "this process"
    read = (
        f", and read {main.fetch_disk_bytes / 1e6:.3g} MB per batch from disks" if main.fetch_disk_bytes > 1e4 else ""
    )
    verb = "compute" if (main.num_workers or 0) > 1 else "computes"
    why = (
        f"slow storage, or another wait: {who} {verb} only {percent(computing)} of the time in which batches are loaded, "
        f"and otherwise wait{'s' if verb == 'computes' else ''} for storage, the network or a lock{read}"
    )
    remedies = (*_more_workers(run, main, waiting=True), Remedy("data on a local disk: penstock stage SRC DST"))
    return Diagnosis("storage", share, why, remedies=remedies)


def _decodes(run: RunFigures, main: LoaderFigures, share: float, computing: float) -> Diagnosis:
    workers = main.num_workers or 0
    by_hand = "ps.decode() in your dataset"
    replace = f"penstock run --replace, for an ImageFolder; {by_hand} otherwise"
    decoder = Remedy(f"a faster decoder: {by_hand if run.replacing else replace}")
    more = tuple(_more_workers(run, main, waiting=False))
    taken = percent(min(computing, 1.0))
    if workers == 0:
        why = (
            "slow decoding: this process decodes and transforms each batch itself (num_workers=0), computes "
            f"{taken} of the wait{_crowded(main)}, and loads nothing during a step"
        )
        return Diagnosis("decoding", share, why, remedies=(*more, decoder))
    idle = run.idle_cores if run.idle_cores is not None else (0.0 if main.workers_runnable >= _CROWDED else 1.0)
    if more and idle >= 0.5 and workers < run.cores:
        why = (
            f"too few workers: {counted(workers, 'worker computes', 'workers compute')} {taken} of the time in which "
            f"batches are loaded, while {idle:.1f} of {counted(run.cores, 'core', 'cores')} are idle"
        )
        return Diagnosis("workers", share, why, remedies=(*more, decoder))
    why = (
        f"slow decoding: {counted(workers, 'worker computes', 'workers compute')} {taken} of the time in which batches "
        f"are loaded, on {counted(run.cores, 'core', 'cores')}"
    )
    return Diagnosis("decoding", share, why, remedies=(decoder, Remedy("smaller files or images")))


def _crowded(main: LoaderFigures) -> str:
    """Names the part of the computing in which other programs had the core."""
    return f" ({percent(main.thread_runnable)} of it waits for a core)" if main.thread_runnable >= _CROWDED else ""


# ---- Predictions -----------------------------------------------------------------------------------------------------


def _predicted(change: str, main: LoaderFigures, step: float, low: float, high: float) -> Remedy:
    """Widens the range by the uncertainty of the measured step."""
    around = main.plus_minus_s if math.isfinite(main.plus_minus_s) else 0.2 * main.step_s
    return Remedy(change, step, max(low - around, 0.0), max(high + around, step))


def _more_workers(run: RunFigures, main: LoaderFigures, waiting: bool) -> list[Remedy]:
    """The step with more workers, which load at the same time and while the program computes. In the best case nothing
    else slows down. In the worst case each further worker adds only 0.6 of the first one, and nothing overlaps."""
    now = main.num_workers or 0
    compute = main.step_s - main.load_s
    fetch = (main.fetch_s or main.load_s * now + compute) if now else main.load_s
    wanted = math.ceil(_SPARE_WORKERS * fetch / max(compute, 1e-4))
    workers = min(wanted, 4 * run.cores if waiting else run.cores)
    if workers <= now or (now == 0 and run.cores < 2 and not waiting):
        return []
    computing = _computing(main)
    work = fetch * (computing if computing is not None else 1.0)  # CPU time of a batch
    mine = compute * min(main.compute_cores if main.compute_cores is not None else 1.0, run.cores)
    shared = (work + mine) / _available(run, (work + mine) / main.step_s)
    best = max(compute, fetch / workers, 0.9 * shared)
    middle = max(compute, fetch / (1 + 0.8 * (workers - 1)), shared)
    worst = max(compute + fetch / (1 + 0.6 * (workers - 1)), 1.3 * shared)
    if middle > 0.95 * main.step_s:
        return []
    change = f"num_workers {now} -> {workers}"
    if main.epochs > 1 and not main.persistent:
        change += ", persistent_workers=True"
    return [_predicted(change, main, middle, best, min(worst, main.step_s))]


def _available(run: RunFigures, used: float) -> float:
    """Cores for this program: those that it uses now, and the idle ones. Other programs keep theirs."""
    if run.idle_cores is None:
        return float(run.cores)
    return max(1.0, min(used + run.idle_cores, run.cores))
