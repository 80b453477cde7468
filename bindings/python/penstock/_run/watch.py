"""Patches PyTorch and penstock so that each batch and optimizer step is timed, and owns the records."""

from __future__ import annotations

import contextlib
import functools
import gc
import os
import sys
import time
import weakref
from collections.abc import Callable
from types import ModuleType
from typing import Any

from .._penstock import collection_callback
from .._profile.about import About
from . import frames
from .device import Devices
from .imports import after_import
from .loops import Clocks, Loop, Totals
from .optimizers import time_optimizers
from .publisher import Publisher
from .recorder import Recorder
from .replace.replacer import Replacer
from .spawned import inherit_memory, timed_workers
from .steps import StepTimes
from .workers import Forks, Meter, timed_collate

_now = time.perf_counter_ns
_CHORES_EVERY = 1_000_000_000  # ns


class Watch:
    """All records of this process."""

    def __init__(
        self, recorder: Recorder | None, publisher: Publisher, tick: Callable[[], None] | None, every: float | None
    ) -> None:
        """tick: called by the training thread about every `every` seconds."""
        self.process = os.getpid()
        self.began = _now()
        self.records: list[StepTimes] = []
        self.totals = Totals()
        self.recorder = recorder
        self.publisher = publisher
        self.optimizer_hooks = False
        self.failure: str | None = None  # the last error of the watch itself
        self.replacer: Replacer | None = None
        # Called with the number of processes that torch.multiprocessing starts. They are not watched.
        self.spawned: Callable[[int], None] = lambda processes: None
        self._of_loader: weakref.WeakKeyDictionary[Any, StepTimes] = weakref.WeakKeyDictionary()
        self._last_loop: dict[int, Loop] = {}  # by id(StepTimes)
        self._loops: dict[int, Loop] = {}  # by id(iterator)
        # the loader of each iterator, by id(iterator), for subclasses of DataLoader with their own __iter__()
        self._made: dict[int, weakref.ref[Any]] = {}
        self._clocks = Clocks()
        self._forks = Forks()
        self._tick = tick
        self._every = round((every or 0) * 1e9)
        self._tick_due = self.began + self._every if tick is not None else sys.maxsize
        self._devices = Devices()
        self._chores_due = 0

    def start(self) -> None:
        if self.replacer is not None:
            self.replacer.start()
        gc.callbacks.append(collection_callback(self.totals))
        after_import(
            {
                "torch.utils.data.dataloader": self._patch_dataloader,
                "torch.optim.optimizer": self._patch_optimizer,
                "torch.multiprocessing.spawn": self._patch_spawn,
            }
        )
        self._patch_penstock()

    def loaders(self) -> list[Any]:
        return [loader for record in self.records if (loader := record.alive()) is not None]

    # ---- Loaders -----------------------------------------------------------------------------------------------------

    def record_of(self, loader: Any) -> StepTimes:
        try:
            record = self._of_loader.get(loader)
        except TypeError:  # a class without weak references or without a hash
            return self._anonymous(About.of(loader))
        if record is None:
            about = self.replacer.about(loader) if self.replacer is not None else About.of(loader)
            dataset = type(getattr(loader, "dataset", loader)).__name__
            # Programs may make an equal loader for each epoch. A loader that still exists keeps its own record.
            record = next(
                (old for old in self.records if old.about == about and old.dataset == dataset and old.alive() is None),
                None,
            )
            if record is None:
                record = StepTimes(loader, about)
                self.records.append(record)
            record.renew(loader)
            if self.replacer is not None:
                record.said = self.replacer.verdict(loader) or record.said
            self._of_loader[loader] = record
        return record

    def _begin(self, record: StepTimes, iterator: Any, began: int) -> Loop:
        number = id(iterator)
        self._made.pop(number, None)
        loop = self._loops.get(number)
        if loop is None or loop.steps is not record:
            loop = Loop(record, self.totals, self._clocks.mine)
            with contextlib.suppress(TypeError):  # an iterator of penstock, which always passes its iter()
                loop.reference = weakref.ref(iterator, functools.partial(self._loops.pop, number))
            self._loops[number] = loop
        loop.begin(began, _now(), self._last_loop.get(id(record)))
        self._last_loop[id(record)] = loop
        return loop

    def _try_begin(self, record_of: Callable[[], StepTimes], iterator: Any, began: int) -> Loop | None:
        """None if the loop cannot be watched: this must never end a training."""
        try:
            return self._begin(record_of(), iterator, began)
        except Exception as failure:
            self.failure = f"{type(failure).__name__}: {failure}"
            return None

    def _patch_dataloader(self, module: ModuleType) -> None:
        loader_kind: Any = module.DataLoader
        iterator_kind: Any = module._BaseDataLoaderIter
        iterate = loader_kind.__iter__
        forks = self._forks

        @functools.wraps(iterate)
        def __iter__(loader: Any) -> Any:
            if self.replacer is not None:
                if self.replacer.checking:
                    return iterate(loader)
                self._decide(self.replacer, loader)
            began = _now()
            forks.starting = self._meter_of(loader)
            clock, outer = self._clocks.mine, self._clocks.mine.inside
            clock.inside = True  # iterators of other loaders that the dataset makes now are not loops of the program
            try:
                with timed_workers(forks.starting):
                    iterator = iterate(loader)
            except BaseException as raised:
                frames.drop_frame(raised)
                raise
            finally:
                forks.starting = None
                clock.inside = outer
            if not outer and self._try_begin(lambda: self.record_of(loader), iterator, began) is not None:
                _time_collate(iterator, self.record_of(loader))
            return iterator

        def __new__(kind: Any, *arguments: Any, **keywords: Any) -> Any:
            iterator = super(iterator_kind, kind).__new__(kind)
            loader = arguments[0] if arguments else keywords.get("loader")
            if isinstance(loader, loader_kind):
                with contextlib.suppress(TypeError):
                    self._made[id(iterator)] = weakref.ref(loader)
            return iterator

        loader_kind.__iter__ = __iter__
        iterator_kind.__new__ = __new__  # A wrapped __init__() would be the caller in torch's warnings.
        iterator_kind.__next__ = self._timed_next(iterator_kind.__next__, About("DataLoader"))

    def _decide(self, replacer: Replacer, loader: Any) -> None:
        """The check counts for no loop, also not for an enclosing one."""
        clock, outer, began = self._clocks.mine, self._clocks.mine.inside, _now()
        clock.inside = True
        try:
            replacer.decide(loader)
        finally:
            clock.inside = outer
            clock.counted += _now() - began

    def _meter_of(self, loader: Any) -> Meter | None:
        try:
            if not loader.num_workers:
                return None
            record = self.record_of(loader)
            if not record.about.num_workers:  # replaced
                return None
            if record.meter is None or record.meter.workers != loader.num_workers:
                record.meter = Meter(loader.num_workers, inherited=inherit_memory(loader))
            return record.meter
        except Exception:  # no memory, or an unusual loader
            return None

    def _patch_penstock(self) -> None:
        from .. import _loader, _penstock

        for name in ("__iter__", "_iterate"):
            setattr(_loader.Loader, name, self._timed_iter(getattr(_loader.Loader, name)))
        kind: Any = _penstock.LoaderIterator
        kind.__next__ = self._timed_next(kind.__next__, About("Loader"))

    def _timed_iter(self, iterate: Any) -> Any:
        @functools.wraps(iterate)
        def timed(loader: Any, *arguments: Any) -> Any:
            began = _now()
            try:
                iterator = iterate(loader, *arguments)
            except BaseException as raised:
                frames.drop_frame(raised)
                raise
            if not self._clocks.mine.inside:
                self._try_begin(lambda: self.record_of(loader), iterator, began)
            return iterator

        return timed

    def _timed_next(self, original: Any, about: About) -> Any:
        loops, clocks, recorder, devices = self._loops, self._clocks, self.recorder, self._devices

        @functools.wraps(original)
        def __next__(iterator: Any) -> Any:
            begin = _now()
            loop = loops.get(id(iterator))
            if loop is None:
                if clocks.mine.inside:  # a loader inside a loader
                    return original(iterator)
                loop = self._try_begin(lambda: self._record_for(iterator, about), iterator, begin)
                if loop is None:
                    return original(iterator)
            loop.asked(begin)
            scheduling = loop.steps.scheduling
            looked = None
            if begin >= scheduling.due and not loop.is_first:
                looked = scheduling.before(iterator, begin)
            if recorder is not None:
                recorder.step(loop)
                begin = loop.restart()
            if begin >= self._chores_due:
                self._do_chores(loop.steps, begin)
                begin = loop.restart()
            page, device = loop.steps.page, loop.steps.device
            if page is not None:
                page.waits_since(begin)
            if device is not None:
                device.asked()
            clock = loop.clock
            clock.inside = True
            try:
                batch = original(iterator)
            except BaseException as raised:
                clock.inside = False
                if page is not None:
                    page.got()
                loop.ended(_now())
                if isinstance(raised, StopIteration):
                    loop.steps.ask()
                frames.drop_frame(raised)
                raise
            clock.inside = False
            first = loop.is_first
            end = _now()
            if page is not None:
                page.got()
            if device is not None:
                device.got()
                devices.running = device
            if looked is not None:
                scheduling.after(looked, end - begin)
                loop.steps.thin(end)
            if first:
                loop.steps.delivered_by(batch)
            loop.got(end, recorder is not None and recorder.running)
            return batch

        return __next__

    def _record_for(self, iterator: Any, about: About) -> StepTimes:
        made = self._made.get(id(iterator))
        loader = made() if made is not None else None
        return self.record_of(loader) if loader is not None else self._anonymous(about)

    def _anonymous(self, about: About) -> StepTimes:
        for record in self.records:
            if record.about == about and record.loader is None:
                return record
        record = StepTimes(None, about)
        self.records.append(record)
        return record

    def _do_chores(self, record: StepTimes, now: int) -> None:
        """Work that is not due at each step."""
        if os.getpid() != self.process:
            self._chores_due = sys.maxsize
            return
        if self._tick is not None and now >= self._tick_due:
            self._tick_due = now + self._every
            self._tick()
        if now >= self.publisher.due:
            self.publisher.publish(record, now)
        if record.device is None:
            record.device = self._devices.times()
        self._chores_due = min(self._tick_due, self.publisher.due, now + _CHORES_EVERY)

    def _patch_optimizer(self, module: Any) -> None:
        time_optimizers(module, self.totals)
        self.optimizer_hooks = True

    def _patch_spawn(self, module: Any) -> None:
        """spawn() and start_processes() make a ProcessContext of the processes that they have started."""
        initialize = module.ProcessContext.__init__

        @functools.wraps(initialize)
        def __init__(context: Any, *arguments: Any, **keywords: Any) -> None:
            initialize(context, *arguments, **keywords)
            if os.getpid() == self.process:
                with contextlib.suppress(Exception):
                    self.spawned(len(context.processes))

        module.ProcessContext.__init__ = __init__


def _time_collate(iterator: Any, record: StepTimes) -> None:
    fetcher: Any = getattr(iterator, "_dataset_fetcher", None)  # only without worker processes
    if hasattr(fetcher, "collate_fn"):
        fetcher.collate_fn = timed_collate(fetcher.collate_fn, record.add_collate)
