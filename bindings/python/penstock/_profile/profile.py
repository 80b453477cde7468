"""A wrapped loader that measures its loops: how much time they wait and compute."""

from __future__ import annotations

import dataclasses
import functools
import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from .._loader import Loader
from .._penstock import Schedule, StepLog, usable_cores
from .._words import keywords_in_words
from .about import About, own_verdict, reset_own
from .batch import delivered
from .compare import Comparison, Request, compare_with
from .scheduling import Scheduling, Shares
from .steps import Steps
from .text import counted, duration, percent, rate
from .times import Recorder, Times
from .verdict import Verdict, passed_on, verdict_of

_now = time.perf_counter_ns


class ProfileStats(dict[str, Any]):
    """Plain numbers and strings, times in seconds; str() is a table of them."""

    def __init__(self, times: Times, scheduling: Scheduling, about: About, rows: int | None) -> None:
        super().__init__(
            batches=times.batches,
            batch_size=rows,
            epochs=times.loops,
            errors=times.errors,
            wall_s=times.wall * 1e-9,
            data_wait_s=(times.first + times.end + times.wait) * 1e-9,
            step_s=times.step * 1e-9,
            first_batch_s=times.first_batch * 1e-9,
            first_batches_s=times.first * 1e-9,
            ends_s=times.end * 1e-9,
            data_wait=times.data_wait,
            percentiles={"data_wait": times.waits.seconds(), "step": times.steps.seconds()},
            loader=about.kind,
            num_workers=about.num_workers,
            cores=usable_cores(),
            thread=_shares(scheduling.here(times.waits)),
            workers={"processes": scheduling.workers.processes, **_shares(scheduling.workers)},
        )

    def __str__(self) -> str:
        wall = self["wall_s"]
        rows = self["batch_size"]
        lines = [
            counted(self["batches"], "batch", "batches")
            + (f" of {rows}" if rows else "")
            + f" in {counted(self['epochs'], 'epoch', 'epochs')}, {duration(wall)}"
            + (f": {rate(self['batches'] / wall)} batches/s" if wall > 0 else "")
            + f", first batch after {duration(self['first_batch_s'])}",
            f"{'':<13}{'seconds':>9} {'share':>6} {'p50':>9} {'p90':>9} {'p99':>9} {'max':>9}",
        ]
        between = self["data_wait_s"] - self["first_batches_s"] - self["ends_s"]
        for name, seconds, points in (
            ("data wait", between, self["percentiles"]["data_wait"]),
            ("steps", self["step_s"], self["percentiles"]["step"]),
            ("first batches", self["first_batches_s"], None),
            ("ends", self["ends_s"], None),
        ):
            line = f"{name:<13}{seconds:>9.3f} {percent(seconds / wall if wall > 0 else 0):>6}"
            if points is not None and points["count"]:
                line += "".join(f" {duration(points[point]):>9}" for point in ("p50", "p90", "p99", "max"))
            lines.append(line)
        workers = self["workers"]
        if workers["observed_s"] > 0:
            lines.append(
                f"{counted(workers['processes'], 'worker process', 'worker processes')} on a core "
                f"{percent(workers['on_core'])} of the time, and waiting for one {percent(workers['runnable'])}"
            )
        if self["errors"]:
            lines.append(counted(self["errors"], "error", "errors") + " raised by next()")
        return "\n".join(lines) + "\n"


def _shares(shares: Shares) -> dict[str, float]:
    return {"observed_s": shares.observed * 1e-9, "on_core": shares.on_core, "runnable": shares.runnable}


class _Loop:
    """One loop: the iterator of the wrapped loader, with every next() timed. Other attributes come from the iterator,
    such as close() of a generator."""

    __slots__ = (
        "__weakref__",
        "_began",
        "_iterator",
        "_last",
        "_log",
        "_next",
        "_recorder",
        "_scheduling",
        "_synchronize",
        "_taken",
    )

    def __init__(self, profile: Profile, iterator: Any, began: int) -> None:
        self._iterator, self._began = iterator, began  # not the profile, which may hold this loop
        self._next: Callable[[], Any] = iterator.__next__
        self._recorder: Recorder = profile._recorder
        self._scheduling: Scheduling = profile._scheduling
        self._synchronize: Callable[[], None] | None = _synchronizer() if profile._synchronize else None
        self._taken = False  # whether the first batch was taken
        self._log: StepLog = profile._log
        self._last = _now()  # time when the loader last returned a batch; 0 after its end
        self._recorder.began(self._last - began)

    def __iter__(self) -> _Loop:
        return self

    def __next__(self) -> Any:
        if self._synchronize is not None:
            self._synchronize()
        begin = _now()
        looked = (
            self._scheduling.before(self._iterator, begin) if self._taken and begin >= self._scheduling.due else None
        )
        try:
            batch = self._next()
        except BaseException as raised:
            end, over = _now(), isinstance(raised, StopIteration)
            self._recorder.ended(self._step(begin), end - begin, self._taken and self._last != 0, not over)
            self._log.next(begin, end, False)
            self._last = 0 if over else end
            raise
        end = _now()
        step = self._step(begin)
        self._last = end
        self._log.next(begin, end, True)
        if self._taken:
            self._recorder.taken(step, end - begin)
            if looked is not None:
                self._scheduling.after(looked, end - begin)
        else:
            self._taken = True
            self._recorder.first(step, end - begin, end - self._began)
            self._recorder.delivered = delivered(batch)
        return batch

    def _step(self, until: int) -> int:
        """Time that the program used since its last batch. 0 if another thread, in the same loop, received a batch
        later."""
        return until - self._last if 0 < self._last < until else 0

    def __getattr__(self, name: str) -> Any:
        return getattr(object.__getattribute__(self, "_iterator"), name)


def _synchronizer() -> Callable[[], None] | None:
    torch: Any = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_available():
        return None

    def synchronize() -> None:
        # else no work is queued, and a CUDA context would be created only for this call
        if torch.cuda.is_initialized():
            torch.cuda.synchronize()

    return synchronize


class Profile:
    """Result of `ps.profile()`: the wrapped loader with its measurements. Attributes, `len()`, indexing and `with` use
    the wrapped loader; setting an attribute sets it there. `loader.wrapped` is the wrapped loader itself."""

    __slots__ = ("__weakref__", "_direct", "_log", "_recorder", "_scheduling", "_synchronize", "_wrapped")

    def __init__(self, wrapped: Any, synchronize: bool) -> None:
        own = object.__setattr__
        own(self, "_wrapped", wrapped)
        own(self, "_synchronize", synchronize)
        own(self, "_recorder", Recorder())
        own(self, "_log", StepLog())
        own(self, "_scheduling", Scheduling())
        own(self, "_direct", None)

    def __iter__(self) -> Any:
        """Iterates over the loader, and times each step."""
        began = _now()
        return _Loop(self, iter(self._wrapped), began)

    @property
    def wrapped(self) -> Any:
        """The wrapped loader."""
        return self._wrapped

    def stats(self) -> ProfileStats:
        """A dict of plain numbers, times in seconds, since the loader was wrapped or since reset_stats(). str() of it
        is a table. Any thread may call this, also in the middle of an epoch.

        "wall_s" is the sum of "data_wait_s" (inside next()) and "step_s" (between two next()). "first_batches_s" and
        "ends_s" are the parts of "data_wait_s" before the first batch and after the last batch of an epoch. "data_wait"
        is the share of the remaining time in which the loop waited. For a loader of penstock it is the share of all its
        time, as in its verdict. "percentiles" has count, mean, p50, p90, p99 and max of "data_wait" and "step".
        "thread" describes the loop's thread in a sample of its waits, "workers" the processes of a DataLoader. Both
        have the shares of their time "on_core" and "runnable" (waiting for a core that others use).
        """
        told = ProfileStats(
            self._recorder.times(), self._scheduling, About.of(self._wrapped), self._recorder.delivered.rows
        )
        if told["batches"] and (own := own_verdict(self._wrapped)):
            told["data_wait"] = passed_on(own).data_wait
        return told

    def verdict(self, *, compare: bool = False) -> Verdict:
        """Returns the bottleneck of the loop, in a sentence with its numbers. compare: adds the result of compare().
        For a penstock loader, the result is `stats()["verdict"]`."""
        times = self._recorder.times()
        own = own_verdict(self._wrapped) if times.batches else None
        said = passed_on(own) if own else verdict_of(times, self._scheduling, About.of(self._wrapped))
        return said if not compare else dataclasses.replace(said, comparison=self.compare())

    def mark_step(self) -> None:
        """Call it at the end of a step of the loop: steps() then counts from mark to mark. Without marks, a step ends
        when the next batch is requested."""
        self._log.mark(_now())
        if isinstance(self._wrapped, Loader):
            self._wrapped.mark_step()

    def steps(self, schedule: Schedule | None = None) -> Steps:
        """The times of the steps; str() of it is a table. With a schedule (ps.schedule()), only its active steps. For a
        penstock loader, they are the loader's times, which split the data wait by stage."""
        return self._wrapped.steps(schedule) if isinstance(self._wrapped, Loader) else self._log.steps(schedule)

    def compare(
        self,
        source: str | os.PathLike[str] | None = None,
        *,
        fields: Mapping[str, Any] | None = None,
        seconds: float = 3.0,
        workers: int | None = None,
    ) -> Comparison:
        """Loads the same files with penstock for some seconds, with nothing else running, and predicts the step time.

        The method finds the files of a dataset with `.samples` or `.imgs` (torchvision's ImageFolder, also in a
        Subset), of WebDataset and of h5py. The batch size is the loader's. Labels take no time and are left out.

        source: any other dataset that ps.open() takes.
        fields: chains as in ps.Loader. By default images are decoded, cropped at random to the size that the batches
          had (224 if that is not known) and normalized. Arrays are delivered as they are.
        seconds: duration of the measurement.
        workers: threads. None: one for each core.

        Call it after the loop, when the loader's own processes rest. Raises Error if it cannot find the files.
        """
        given = Request(source, fields, seconds, workers)
        return compare_with(self._wrapped, self._recorder.delivered, self._recorder.times(), given)

    def reset_stats(self) -> None:
        """Resets the statistics, including those of a wrapped penstock loader. A running loop continues with its next
        batch."""
        self._recorder.reset()
        self._scheduling.reset()
        self._log.reset()
        reset_own(self._wrapped)

    def __getattr__(self, name: str) -> Any:
        return getattr(object.__getattribute__(self, "_wrapped"), name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in Profile.__slots__:
            object.__setattr__(self, name, value)
        else:
            setattr(self._wrapped, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._wrapped, name)

    def __dir__(self) -> list[str]:
        return sorted({*object.__dir__(self), *dir(self._wrapped)})

    def __reduce__(self) -> Any:
        return functools.partial(profile, synchronize=self._synchronize), (self._wrapped,)

    def __repr__(self) -> str:
        return f"penstock.profile({self._wrapped!r})"


def _next_of(self: Profile) -> Any:
    if self._direct is None:
        self._direct = _Loop(self, self._wrapped, _now())
    try:
        return next(self._direct)
    except StopIteration:
        self._direct = None
        raise


def _enter(self: Profile) -> Profile:
    self._wrapped.__enter__()
    return self


# Special methods, which Python looks up in the class. A profile has those that the wrapped loader's class has.
_PROTOCOLS: dict[str, Callable[..., Any]] = {
    "__bool__": lambda self: bool(self._wrapped),
    "__enter__": _enter,
    "__exit__": lambda self, *raised: self._wrapped.__exit__(*raised),
    "__getitem__": lambda self, place: self._wrapped[place],
    "__len__": lambda self: len(self._wrapped),
    "__next__": _next_of,
}


@functools.cache
def _class_with(*names: str) -> type[Profile]:
    members = {name: _PROTOCOLS[name] for name in names}
    return type(
        "Profile", (Profile,), {"__slots__": (), "__module__": "penstock", "__doc__": Profile.__doc__, **members}
    )


@keywords_in_words
def profile(loader: Iterable[Any], *, synchronize: bool = False) -> Profile:
    """Wraps any loader, and measures where the time of the training loop goes.

        loader = ps.profile(loader)  # and the loop as it is
        for images, labels in loader: ...
        print(loader.verdict())
        print(loader.stats())

    loader: any iterable: PyTorch's DataLoader, WebDataset, DALI, Grain, tf.data, a generator, ps.Loader.
    synchronize: waits for the GPU before each next() (torch.cuda.synchronize()), so that GPU work counts in the step
      that queued it. Without it, a step lasts until the program has queued its work. A wait for the GPU then counts
      where it happens: in the step for `loss.item()`, in the loader if the loader copies to the GPU. Without CUDA, it
      has no effect.

    Iterating does not change: batches, errors, the end and attributes of the loader pass through. A batch takes one or
    two microseconds more. Libraries that check the class of a loader must get the loader first:
    `ps.profile(accelerator.prepare(loader))`.
    """
    kind = type(loader)
    if not hasattr(kind, "__iter__") and not hasattr(kind, "__getitem__"):
        raise TypeError(f"penstock.profile(): loader must be an iterable, not {kind.__name__}")
    return _class_with(*(name for name in _PROTOCOLS if hasattr(kind, name)))(loader, synchronize)
