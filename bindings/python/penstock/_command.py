"""Finds the penstock command that the package installs, and runs the commands that are Python programs."""

import os
import pathlib
import shutil
import sys


def path() -> "str | None":
    """Path of the command: the package's, else $PENSTOCK_COMMAND, else the one on PATH."""
    own = pathlib.Path(__file__).parent / "bin" / "penstock"
    if own.exists():
        return str(own)
    return os.environ.get("PENSTOCK_COMMAND") or shutil.which("penstock")


def main() -> None:
    """The `penstock` script of a wheel, and `python -m penstock`."""
    if sys.argv[1:2] == ["run"]:  # a Python program; the compiled command would start another interpreter
        from ._run.command import main as run

        run(sys.argv[2:])
        return
    if sys.argv[1:2] == ["tune-dataloader"]:
        from ._tune_dataloader.command import main as tune_dataloader

        tune_dataloader(sys.argv[2:])
        return
    command = path()
    if command is None or os.path.realpath(command) == os.path.realpath(sys.argv[0]):  # the script found itself
        sys.exit("penstock: error: this installation has no penstock command; set PENSTOCK_COMMAND to its path")
    os.execv(command, ["penstock", *sys.argv[1:]])
