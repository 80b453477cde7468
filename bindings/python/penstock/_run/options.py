"""The command line of `penstock run`."""

from __future__ import annotations

import argparse
import dataclasses
import math
import os
from collections.abc import Sequence

from .._files import is_special_file, same_file

_EPILOG = """\
The script runs in this process, as `python SCRIPT ARGS` would run it: with the same arguments, exit code and
tracebacks. Steps are timed from one batch of a DataLoader to the next. The report goes to stderr when the script ends.
Put the options of `penstock run` before the script. All later words belong to the script.

With torchrun, put `-m penstock run` before the script. Each rank prints its step; the first rank of a machine prints the
report. Names of files get the rank: run.json becomes run.rank1.json.

"""
_EXAMPLES = (
    "  penstock run train.py --epochs 3",
    "  penstock run --json run.json -- train.py --json metrics.json",
    "  penstock run -m package.train --epochs 3",
    "  torchrun --nproc-per-node 2 -m penstock run train.py",
    "  penstock run --trace 20 train.py && penstock overview train.trace.json.gz",
)


@dataclasses.dataclass(frozen=True)
class Options:
    target: str  # path of a script, or name of a module
    is_module: bool
    arguments: tuple[str, ...]
    quiet: bool = False
    every: float | None = None  # seconds
    json: str | None = None
    out: str | None = None
    trace: int | None = None  # steps
    trace_file: str | None = None
    replace: bool = False


def parsed(words: Sequence[str]) -> Options:
    """Raises SystemExit for --help and for wrong usage."""
    own, target, is_module, arguments = _split(list(words))
    found = _parser().parse_args(own)
    if target is None:
        _parser().error("the following arguments are required: SCRIPT, or -m MODULE")
    _check_files(found)
    return Options(
        target=target,
        is_module=is_module,
        arguments=tuple(arguments),
        quiet=found.quiet,
        every=found.every,
        json=found.json,
        out=found.out,
        trace=found.trace,
        trace_file=found.trace_file,
        replace=found.replace,
    )


def _check_files(found: argparse.Namespace) -> None:
    """Refuses reports that could not be written after the training."""
    if found.trace_file is not None and found.trace is None:
        _parser().error("--trace-file names the file of --trace N, which is missing")
    files: list[str] = []
    for option, name in (("--json", found.json), ("--out", found.out), ("--trace-file", found.trace_file)):
        if name is None:
            continue
        if name == "-":
            _parser().error(f"{option}: stdout belongs to the script; name a file")
        if any(same_file(name, other) for other in files):
            _parser().error(f"{option}: another report would be written to {name}; name another file")
        if not is_special_file(name):
            files.append(name)
        if os.path.isdir(name):
            _parser().error(f"{option}: {name} is a folder, not a file")
        if not os.path.isdir(os.path.dirname(os.path.abspath(name))):
            _parser().error(f"{option}: the folder of {name} does not exist")


_WITH_VALUE = ("--every", "--json", "--out", "--trace", "--trace-file")


def _split(words: list[str]) -> tuple[list[str], str | None, bool, list[str]]:
    """Own options, the target, whether it is a module, and its arguments. argparse would also take options from the
    words of the script."""
    own: list[str] = []
    while words:
        word = words.pop(0)
        if word == "--":
            return own, *_target(words)
        if word == "-m" or not word.startswith("-") or word == "-":
            return own, *_target([word, *words])
        own.append(word)
        if word in _WITH_VALUE and words:
            own.append(words.pop(0))
    return own, None, False, []


def _target(words: list[str]) -> tuple[str | None, bool, list[str]]:
    if words[:1] == ["-m"]:
        return (words[1] if len(words) > 1 else None), True, words[2:]
    return (words[0] if words else None), False, words[1:]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="penstock run",
        usage="penstock run [OPTIONS] [--] SCRIPT [ARGS...]\n       penstock run [OPTIONS] -m MODULE [ARGS...]",
        description="Run an unedited PyTorch training, and report the cause of slow steps, with remedies",
        epilog="\n".join([_EPILOG, "Examples:", *_EXAMPLES]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--quiet", action="store_true", help="Print only the line with the step time")
    parser.add_argument(
        "--every", type=seconds, metavar="SECONDS", help="Also print this line during the run, at most this often"
    )
    parser.add_argument("--json", metavar="FILE", help="Write all figures as JSON to this file")
    parser.add_argument("--out", metavar="FILE", help="Write the few figures that later runs are compared with")
    parser.add_argument(
        "--trace",
        type=count,
        metavar="N",
        help="Record N steps with torch.profiler, after 10 calls of optimizer.step(); they are left out of the report",
    )
    parser.add_argument("--trace-file", metavar="FILE", help="File of this trace (default: NAME.trace.json.gz)")
    parser.add_argument(
        "--replace",
        action="store_true",
        help="Replace the DataLoader of an image dataset with penstock, after a check on a sample",
    )
    return parser


def seconds(text: str) -> float:
    value = float(text)
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"must be a number of seconds above 0, not {text}")
    return value


def count(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"must be 1 or more, not {text}")
    return value
