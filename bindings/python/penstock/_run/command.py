"""`penstock run`: starts the watch, then the script."""

from __future__ import annotations

import atexit
import os
import pathlib
import sys
from collections.abc import Sequence

from . import program, report
from .causes import diagnose
from .options import Options, parsed
from .recorder import Recorder
from .replace.replacer import Replacer
from .summary import Machine, figures_of, number_in
from .watch import Watch


def main(words: Sequence[str]) -> None:
    """words: the command line after `penstock run`. Raises what the script raises, SystemExit included."""
    options = parsed(words)
    run = _Run(options)
    # After atexit handlers of the program, which are registered later and called earlier.
    atexit.register(run.end)
    run.watch.start()
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
        self._rank, self._world = number_in("RANK"), number_in("WORLD_SIZE")
        self._machine = Machine()
        recorder = None
        if options.trace is not None:
            recorder = Recorder(options.trace, self._path(options.trace_file or self._trace_name()), self._trained)
        self.watch = Watch(recorder, self._tick if options.every else None, options.every)
        if options.replace:
            self.watch.replacer = Replacer(self._show)

    def _trace_name(self) -> str:
        target = self._options.target
        return f"{target.rpartition('.')[2] if self._options.is_module else pathlib.Path(target).stem}.trace.json.gz"

    def _path(self, name: str) -> str:
        return report.of_rank(os.path.join(self._folder, name), self._rank, self._world)

    def _trained(self) -> bool:
        return self.watch.totals.optimizer_steps > 0 or not self.watch.optimizer_hooks

    def _show(self, line: str) -> None:
        if not self._options.quiet:
            rank = f"rank {self._rank}: " if (self._world or 1) > 1 else ""
            _print(f"penstock run: {rank}{line}\n")

    def _tick(self) -> None:
        try:
            figures = figures_of(self.watch, self._options.target, self._machine)
            if figures.main is not None:
                _print(report.line(figures) + "\n")
        except Exception:  # a report must never end a training
            pass

    def end(self) -> None:
        """Prints the report. Never raises, because the exit code belongs to the program."""
        if os.getpid() != self.watch.process:  # a forked child
            return
        try:
            self._report()
        except Exception as failure:
            _print(f"penstock run: no report: {type(failure).__name__}: {failure}\n")

    def _report(self) -> None:
        options, recorder = self._options, self.watch.recorder
        notes = []
        if recorder is not None:
            recorder.finish()
            if recorder.failure is not None:
                notes.append(f"torch.profiler failed: {recorder.failure}")
            elif recorder.written:
                notes.append(f"trace written; penstock overview {os.path.relpath(recorder.path, self._folder)}")
            else:
                notes.append("no trace: the run ended before 10 steps with an optimizer")
        if self.watch.replacer is not None:
            notes += self.watch.replacer.notes()
        if self.watch.failure is not None:
            notes.append(f"a loop could not be watched: {self.watch.failure}")
        run = figures_of(self.watch, options.target, self._machine)
        found = diagnose(run)
        for path, figures in (
            (options.json, lambda: report.all_figures(run, found, notes)),
            (options.out, lambda: report.few_figures(run, found)),
        ):
            if path is not None:
                try:
                    report.write(self._path(path), figures())
                except OSError as failure:
                    notes.append(f"{path}: cannot be written: {failure.strerror}")
        _print(report.line(run) + "\n" if options.quiet else report.screen(run, found, notes))


def _print(text: str) -> None:
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except (OSError, ValueError, AttributeError):  # stderr is closed
        pass
