"""The command line of `penstock tune-dataloader`."""

from __future__ import annotations

import argparse
import dataclasses
import os
from collections.abc import Sequence
from typing import NoReturn

from .._penstock import hints
from .._run.options import count, seconds

_OPTIONS = ("--batches", "--workers", "--seconds", "--json")

_DESCRIPTION = """\
Find the fastest settings of a torch DataLoader, in a quarter of the runs of a full sweep.

FUNCTION takes no arguments and returns the DataLoader. FILE.py is imported, and not run as a script: the code under
`if __name__ == "__main__"` does not run. FUNCTION may also be the name of a DataLoader in FILE.py."""

_EPILOG = """\
Each run is a process that calls FUNCTION, copies the loader with other settings, and loads N batches twice. Workers
start in the first pass. The second pass is like a later epoch, and `epoch s` is its time. If an epoch has more than N
batches, the rest is computed from their rate. No training step runs between the batches.
Ctrl-C ends the search and prints the table of the runs so far.

Examples:
  penstock tune-dataloader train.py:make_loader
  penstock tune-dataloader train.py:make_loader --workers 4,8,16 --seconds 300 --json table.json"""


@dataclasses.dataclass(frozen=True)
class Options:
    file: str
    name: str
    batches: int | None = None
    workers: tuple[int, ...] | None = None
    seconds: float | None = None
    json: str | None = None


def parsed(words: Sequence[str]) -> Options:
    """Raises SystemExit for --help and for wrong usage."""
    parser = _parser()
    for word in words:
        name = word.partition("=")[0]
        ours, _ = hints("option").get(name, ("", ""))
        if ours in _OPTIONS:
            parser.error(f"penstock tune-dataloader has no option {name}: use {ours}")
    found = parser.parse_args(words)
    file, colon, name = found.target.rpartition(":")
    if not colon or not file or not name.isidentifier():
        parser.error(f"expected FILE.py:FUNCTION, not {found.target}")
    if not os.path.isfile(file):
        parser.error(f"{file}: no such file")
    if found.json is not None and found.json != "-":
        if os.path.isdir(found.json) or not os.path.isdir(os.path.dirname(os.path.abspath(found.json))):
            parser.error(f"--json: {found.json} is not the path of a file in an existing folder")
    return Options(file, name, found.batches, found.workers, found.seconds, found.json)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """In one line, as the compiled commands do."""
        self.exit(2, f"penstock: error: {message}\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="penstock tune-dataloader",
        usage="penstock tune-dataloader [OPTIONS] FILE.py:FUNCTION",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("target", metavar="FILE.py:FUNCTION", help="Function that returns the DataLoader")
    parser.add_argument(
        "--batches",
        type=count,
        metavar="N",
        help="Batches of a pass (default: about 3 seconds of the script's settings)",
    )
    parser.add_argument(
        "--workers",
        type=_numbers,
        metavar="LIST",
        help="Values of num_workers, such as 0,4,8 (default: up to all cores)",
    )
    parser.add_argument("--seconds", type=seconds, metavar="SECONDS", help="Start no run after this time")
    parser.add_argument("--json", metavar="FILE", help="Write the result as JSON to this file; - for stdout")
    return parser


def _numbers(text: str) -> tuple[int, ...]:
    words = text.split(",")
    values = tuple(int(word) for word in words if word.strip().isdecimal())
    if len(values) < len(words):
        raise argparse.ArgumentTypeError(f"must be numbers from 0, not {text}")
    return values
