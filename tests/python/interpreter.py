"""Python code in a process of its own."""

import subprocess
import sys


def run(code, *arguments):
    """What `python -c code arguments` wrote, and its exit status."""
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)], capture_output=True, check=False, text=True, timeout=60
    )
