"""`penstock tune-dataloader`: runs the search, and prints its result."""

from __future__ import annotations

import dataclasses
import json
import math
import pathlib
import signal
import sys
import time
from collections.abc import Sequence
from typing import Any

from .._penstock import usable_cores
from . import processes, search
from .options import Options, parsed
from .report import Result, json_of, text_of
from .rows import Row
from .setting import Grid, Setting, grid_of, setting_of

_PASS = 3.0  # seconds of a pass that chooses the number of batches itself
_FIRST_BATCHES = 16  # of the run that measures this number


def main(words: Sequence[str]) -> None:
    """words: the command line after `penstock tune-dataloader`. Raises SystemExit."""
    options = parsed(words)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a run must not outlive the command
    try:
        search_ = _Search(options)
    except processes.WrongScript as failure:
        _fail(str(failure), 2)
    except processes.RunFailed as failure:
        _fail(f"{options.file}: {failure}", 1)
    except KeyboardInterrupt:
        _fail("interrupted", 130)
    code = search_.run()
    _print(search_.result, options)
    raise SystemExit(code)


def _fail(sentence: str, code: int) -> None:
    print(f"penstock: error: {sentence}", file=sys.stderr)
    raise SystemExit(code)


def _print(result: Result, options: Options) -> None:
    if options.json != "-":
        print(text_of(result), end="")
    if options.json is not None:
        text = json.dumps(json_of(result), indent=1) + "\n"
        if options.json == "-":
            print(text, end="")
        else:
            pathlib.Path(options.json).write_text(text, encoding="utf-8")


class _Search:
    def __init__(self, options: Options) -> None:
        self._options = options
        self._began = time.monotonic()
        self._request = {"file": options.file, "name": options.name, "setting": None, "penstock": False}
        told = processes.run(self._request)
        self._one_pass = told["iterable"]
        own = setting_of(told["own"])
        self._grid: Grid = grid_of(
            own, options.workers, usable_cores(), gpu=told["gpu"] is not None, one_pass=self._one_pass
        )
        self._rows = {own: Row(own)}
        self._penstock = Row(Setting(0, pin_memory=own.pin_memory))
        self.result = Result(
            target=f"{options.file}:{options.name}",
            own=own,
            rows=[],
            prevented=told["prevented"],
            gpu=told["gpu"],
            cores=usable_cores(),
            epoch_batches=told["epoch_batches"],
            full_sweep=search.full_sweep(self._grid),
        )

    def run(self) -> int:
        """Fills the result. Returns the exit code."""
        try:
            left = search.planned(self._grid)
            self._choose_batches(left)
            self._search(left - self.result.runs)
        except KeyboardInterrupt:
            self.result.ended = "interrupted: the table has the runs so far"
        self.result.rows = list(self._rows.values())
        if self._penstock.runs:
            self.result.penstock = self._penstock
        if self.result.ended.startswith("interrupted"):
            return 130
        return 0 if any(row.runs for row in self.result.rows) else 1

    def _choose_batches(self, runs: int) -> None:
        epoch = self.result.epoch_batches or sys.maxsize
        self.result.batches = min(self._options.batches or _FIRST_BATCHES, epoch)
        if self._options.batches is not None or self.result.batches == epoch:
            return
        told = self._measure(self._grid.own)
        self.result.runs += 1
        passes = 1 if self._one_pass else 2
        seconds = _PASS
        if self._options.seconds is not None:  # so that all runs fit
            start = told["wall_s"] - passes * told["pass_s"]
            seconds = min(_PASS, max(0.0, (self._options.seconds / max(runs, 1) - start) / passes))
        least = max(8, 2 * max(self._grid.workers))
        self.result.batches = min(max(least, math.ceil(seconds / told["batch_s"])), epoch)

    def _search(self, left: int) -> None:
        for number, settings in enumerate(search.rounds(self._grid, self._seconds, max(1, left))):
            for setting in settings:
                if self._out_of_time():
                    return
                self._try(setting)
            if number < 3 and not self.result.prevented:  # among the others, so that the machine is the same
                self._try_penstock()

    def _out_of_time(self) -> bool:
        limit = self._options.seconds
        if limit is None or time.monotonic() - self._began < limit:
            return False
        self.result.ended = f"ended after --seconds {limit:g}: a longer search compares more settings"
        return True

    def _seconds(self) -> dict[Setting, float]:
        return {setting: row.seconds for setting, row in self._rows.items() if row.runs and not row.failure}

    def _try(self, setting: Setting) -> None:
        row = self._rows.setdefault(setting, Row(setting))
        try:
            row.runs.append(self._measure(setting))
            told = f"{row.runs[-1]['epoch_s']:.3f} s"
        except processes.RunFailed as failure:
            row.failure = str(failure)
            told = f"failed: {failure}"
        self.result.runs += 1  # A run that Ctrl-C ends does not count.
        _tell(f"{setting.arguments()}: {told}")

    def _try_penstock(self) -> None:
        try:
            self._penstock.runs.append(self._measure(self._penstock.setting, penstock=True))
            _tell(f"penstock: {self._penstock.runs[-1]['epoch_s']:.3f} s")
        except processes.RunFailed as failure:
            self.result.prevented = str(failure)

    def _measure(self, setting: Setting, *, penstock: bool = False) -> dict[str, Any]:
        begin = time.monotonic()
        found = processes.run(
            {
                **self._request,
                "setting": dataclasses.asdict(setting),
                "penstock": penstock,
                "batches": self.result.batches,
                "epoch_batches": self.result.epoch_batches,
            }
        )
        return {**found, "wall_s": time.monotonic() - begin}


def _tell(line: str) -> None:
    print(f"penstock: {line}", file=sys.stderr, flush=True)
