"""The penstock command, as the package installs it."""

import os
import pathlib
import shutil
import sys


def path() -> "str | None":
    """Of the command: the package's own, else $PENSTOCK_COMMAND, else the one that the shell would find."""
    own = pathlib.Path(__file__).parent / "bin" / "penstock"
    if own.exists():
        return str(own)
    return os.environ.get("PENSTOCK_COMMAND") or shutil.which("penstock")


def main() -> None:
    command = pathlib.Path(__file__).parent / "bin" / "penstock"
    os.execv(command, ["penstock", *sys.argv[1:]])
