"""Finds the penstock command that the package installs."""

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
    command = pathlib.Path(__file__).parent / "bin" / "penstock"
    os.execv(command, ["penstock", *sys.argv[1:]])
