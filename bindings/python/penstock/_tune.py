"""Searches for the best settings by running the command."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from . import _command
from ._error import Error, made
from ._penstock import Dataset, Mixture
from ._words import keywords_in_words

_PATIENCE = 5  # seconds for the command to end after Ctrl-C


@keywords_in_words
def tune(
    source: str | os.PathLike[str] | Dataset,
    *,
    task: str = "",
    workers: Sequence[int] = (),
    prefetch: Sequence[int] = (),
    batch_size: int | Sequence[int] = 64,
    seconds: float = 2.0,
    engine: str = "auto",
    direct_io: bool = False,
    cold: bool = False,
    checksums: str = "first",
    train_step: str = "none",
    seed: int = 0,
    progress: bool | Callable[[str], object] = True,
) -> dict[str, Any]:
    """Finds the workers and the prefetch that load a dataset fastest, by measuring them. Does the same as `penstock
    tune`.

        best = ps.tune("train.tar.d", batch_size=256, train_step="sleep:25")["best"]
        loader = ps.Loader("train.tar.d", batch_size=256, workers=best["workers"], prefetch=best["prefetch"], ...)

    The measurement runs in its own process and takes seconds to minutes.

    task: "image-train", "image-eval", "points" or "raw". Empty: tune() guesses it from the fields.
    workers, prefetch, batch_size: the values to choose from. Empty: values that suit this machine.
    seconds: duration of each setting.
    cold: True measures without the page cache.
    checksums: as in Loader.
    train_step: simulates the training step of each batch: "none", "busy:MS" or "sleep:MS".
    progress: True prints a line about each setting to stderr. A function gets that line instead.

    Returns {"best": {"workers", "prefetch", "batch_size", "samples_per_s", ...}, "rows": [...], "settings", "reason",
    "python_line", "cpp_line", "machine", "dataset", ...}. Raises Error.
    """
    command = _command.path()
    if command is None:
        raise Error("ps.tune() runs the command penstock, which is neither in the package nor on the PATH")
    arguments = [command, "tune", "PATH", "--json", "-"]
    for option, values in (("--workers", workers), ("--prefetch", prefetch), ("--batch-size", batch_size)):
        listed = [values] if isinstance(values, int) else list(values)
        if listed:
            arguments += [option, ",".join(map(str, listed))]
    arguments += ["--seconds", str(seconds), "--engine", engine, "--train-step", train_step, "--seed", str(seed)]
    arguments += ["--checksums", checksums]
    arguments += [*(["--task", task] if task else []), *["--direct-io"] * direct_io, *["--cold"] * cold]
    tell = _on_stderr if progress is True else progress or None
    with _path_of(source) as path:
        arguments[2] = path
        return _run(arguments, tell)


@contextlib.contextmanager
def _path_of(source: str | os.PathLike[str] | Dataset) -> Iterator[str]:
    """The command's argument: a path, or for a view a file that describes it."""
    if isinstance(source, Mixture):
        raise made(
            "invalid_argument",
            "ps.tune() requires the path of a mixture file, not a Mixture, because a command makes the mixture",
        )
    if not isinstance(source, Dataset):
        yield os.fspath(source)
    elif not source.is_view:
        yield os.fspath(source.path)
    else:
        with tempfile.NamedTemporaryFile(prefix="penstock-view-") as file:
            file.write(source.__getstate__())
            file.flush()
            yield file.name


def _on_stderr(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _run(arguments: list[str], tell: Callable[[str], object] | None) -> dict[str, Any]:
    lines: list[str] = []
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None and child.stderr is not None
        written: list[str] = []
        # The command would block on a full pipe if nobody read its stdout while this thread reads its stderr.
        reader = threading.Thread(target=lambda out=child.stdout: written.append(out.read()), daemon=True)
        reader.start()
        try:
            for line in child.stderr:
                lines.append(line.rstrip("\n"))
                if tell is not None and "penstock: error:" not in line:
                    tell(lines[-1])
            child.wait()
        except BaseException:  # Ctrl-C, or an exception of `progress`
            child.send_signal(signal.SIGINT)
            try:
                child.wait(_PATIENCE)
            except subprocess.TimeoutExpired:
                child.kill()
            raise
        reader.join()
    if child.returncode != 0:
        raise _error(lines, child.returncode)
    return json.loads(written[0])


def _error(lines: list[str], code: int) -> Error:
    told = [line for line in lines if "error: " in line] or lines
    cause = told[-1].split("error: ", 1)[-1] if told else f"penstock tune ended with {code} and no message"
    error = Error(cause)
    error.cause = cause
    if code == 2:  # wrong usage
        error.kind = "invalid_argument"
    return error
