"""Runs Python code in a process of its own."""

import subprocess
import sys


def run(code, *arguments):
    """What `python -c code arguments` wrote, and its exit status."""
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)], capture_output=True, check=False, text=True, timeout=60
    )


# What a program may be at with a `loader` when it ends.
ENDINGS = {
    "a loader in a global": "keep = loader",
    "an epoch under way": "it = iter(loader); batch = next(it)",
    "an exception in the loop": "for batch in loader: raise SystemExit(0)",
    "a cycle": "class C: pass\nc = C(); c.loader = loader; c.me = c",
    "a thread that waits": (
        "import threading\n"
        "def forever():\n"
        "    try:\n"
        "        while True:\n"
        "            for batch in loader: pass\n"
        "    except ps.Error: pass\n"
        "threading.Thread(target=forever, daemon=True).start()"
    ),
    "a forked child that exits": "import os\nnext(iter(loader))\nif os.fork() == 0: raise SystemExit(0)\nos.wait()",
}
