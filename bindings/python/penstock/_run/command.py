"""`penstock run`: starts the watch, then the script."""

from __future__ import annotations

import atexit
import gc
import os
import pathlib
import shlex
import sys
import threading
from collections.abc import Sequence

from . import program, report
from .causes import Diagnosis, diagnose
from .options import Options, parsed
from .publisher import Publisher
from .rank_folder import PATIENCE, RankFolder
from .ranks import RankFigures, compared, gathered
from .recorder import Recorder
from .replace.replacer import Replacer
from .signals import Signals
from .steps import StepTimes
from .summary import RunFigures, Start, figures_of
from .watch import Watch


def main(words: Sequence[str]) -> None:
    """words: the command line after `penstock run`. Raises what the script raises, SystemExit included."""
    options = parsed(words)
    run = _Run(options)
    # After atexit handlers of the program, which are registered later and called earlier.
    atexit.register(run.end)
    run.watch.start()
    # Garbage collections neither visit nor count the objects that exist now. A full collection comes each time that the
    # objects have grown by a quarter: with ours, a script with the Trainer of transformers made one more, of 0.2 s.
    gc.freeze()
    try:
        if options.is_module:
            program.run_module(options.target, options.arguments)
        else:
            program.run_script(options.target, options.arguments)
    except program.CannotRun as failure:
        atexit.unregister(run.end)
        print(f"penstock run: error: {failure}", file=sys.stderr)
        raise SystemExit(2) from None


class _Run:
    def __init__(self, options: Options) -> None:
        self._options = options
        self._folder = os.getcwd()  # the program may change it
        self._start = Start(options.target)
        self._notes: list[str] = []
        self._reporting = threading.Lock()
        self._reported = False
        recorder = None
        if options.trace is not None:
            path = self._path(options.trace_file or self._trace_name())
            recorder = Recorder(options.trace, path, self._trains, lambda: self.watch.loaders())
        publisher = Publisher(
            self._start.rank, self._start.world, lambda record: diagnose(self._figures([record])).cause
        )
        self.watch = Watch(recorder, publisher, self._tick if options.every else None, options.every)
        self.watch.spawned = self._tell_spawned
        self._told_spawned = False
        if options.replace:
            self.watch.replacer = Replacer(self._show)
        self._ranks = self._rank_folder()
        self._signals: Signals | None = None
        try:
            self._signals = Signals(self._signalled)
        except Exception as failure:
            self._notes.append(f"a signal would end the run without a report: {failure}")

    def _rank_folder(self) -> RankFolder | None:
        if self._start.rank is None or (self._start.world or 1) < 2:
            return None
        try:
            return RankFolder(self._start.rank)
        except OSError as failure:
            self._notes.append(f"the ranks cannot be compared: {failure}")
            return None

    def _trace_name(self) -> str:
        target = self._options.target
        return f"{target.rpartition('.')[2] if self._options.is_module else pathlib.Path(target).stem}.trace.json.gz"

    def _path(self, name: str) -> str:
        return report.of_rank(os.path.join(self._folder, name), self._start.rank, self._start.world)

    def _trains(self, steps: StepTimes) -> bool:
        return steps.trains or not self.watch.optimizer_hooks

    def _figures(self, records: list[StepTimes] | None = None) -> RunFigures:
        return figures_of(self.watch, self._start, records)

    def _show(self, line: str) -> None:
        if not self._options.quiet:
            rank = f"rank {self._start.rank}: " if (self._start.world or 1) > 1 else ""
            _print(f"penstock run: {rank}{line}\n")

    def _tell_spawned(self, processes: int) -> None:
        if self._told_spawned:
            return
        self._told_spawned = True
        options = self._options
        program = shlex.join([*(["-m"] if options.is_module else []), options.target, *options.arguments])
        who = "the process" if processes == 1 else f"the {processes} processes"
        self._show(
            f"{who} that torch.multiprocessing started {'is' if processes == 1 else 'are'} not watched; use torchrun "
            f"instead: torchrun --nproc-per-node {processes} -m penstock run {program}"
        )

    def _tick(self) -> None:
        try:
            figures = self._figures()
            if figures.main is not None:
                _print(report.line(figures) + "\n")
        except Exception:  # a report must never end a training
            pass

    def end(self) -> None:
        """Prints the report. Never raises, because the exit code belongs to the program."""
        if os.getpid() != self.watch.process:  # a forked child
            return
        if self._signals is not None:
            self._signals.die_if_arrived()
        self._report_once(signalled=False)
        if self._signals is not None:
            self._signals.end()

    def _signalled(self) -> None:
        self._report_once(signalled=True)

    def _report_once(self, signalled: bool) -> None:
        with self._reporting:  # A signal may arrive during the report.
            if self._reported:
                return
            self._reported = True
            try:
                self._report(signalled)
            except Exception as failure:
                _print(f"penstock run: no report: {type(failure).__name__}: {failure}\n")
            self.watch.publisher.end()

    def _report(self, signalled: bool) -> None:
        options, notes = self._options, self._notes
        notes += self._trace_notes(signalled)
        if self.watch.replacer is not None:
            notes += self.watch.replacer.notes()
        if self.watch.failure is not None:
            notes.append(f"a loop could not be watched: {self.watch.failure}")
        run = self._figures()
        found = diagnose(run)
        # A rank that a signal ends waits for no other.
        ranks = self._gathered(run, found, 0.0 if signalled else PATIENCE)
        found = compared(ranks or (), found)
        for path, figures in (
            (options.json, lambda: report.all_figures(run, found, notes, ranks or ())),
            (options.out, lambda: report.few_figures(run, found)),
        ):
            if path is not None:
                try:
                    report.write(self._path(path), figures())
                except OSError as failure:
                    notes.append(f"{path}: cannot be written: {failure.strerror}")
        short = options.quiet or ranks is None
        _print(report.line(run) + "\n" if short else report.screen(run, found, notes, ranks or ()))

    def _gathered(self, run: RunFigures, found: Diagnosis, patience: float) -> tuple[RankFigures, ...] | None:
        """The ranks of this machine, or None if another rank reports them."""
        if self._ranks is None:
            return ()
        try:
            return gathered(self._ranks, run, found, patience)
        except OSError as failure:
            self._notes.append(f"the ranks cannot be compared: {failure}")
            return ()

    def _trace_notes(self, signalled: bool) -> list[str]:
        recorder = self.watch.recorder
        if recorder is None:
            return []
        if not signalled:  # The profiler belongs to the training's thread.
            recorder.finish()
        if recorder.failure is not None:
            return [f"torch.profiler failed: {recorder.failure}"]
        if recorder.written:
            command = f"penstock overview {os.path.relpath(recorder.path, self._folder)}"
            if recorder.recorded < recorder.wanted:
                return [
                    f"trace with {recorder.recorded} steps, because the loop ended before {recorder.wanted}; {command}"
                ]
            return [f"trace written; {command}"]
        return ["no trace: the run ended before 10 steps with an optimizer"]


def _print(text: str) -> None:
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except (OSError, ValueError, AttributeError):  # stderr is closed
        pass
