"""The penstock command, as the package installs it."""

import os
import pathlib
import sys


def main() -> None:
    command = pathlib.Path(__file__).parent / "bin" / "penstock"
    os.execv(command, ["penstock", *sys.argv[1:]])
