"""Draws docs/images/top.svg: a frame of penstock top, while a program on photographs runs."""

import fcntl
import multiprocessing
import os
import pty
import re
import select
import struct
import termios
import threading
import time

from svg import ADVANCE, arguments, mono, photographs, write

COLUMNS, LINE = 110, 20


def train(options):
    """A program with two loaders: the cores limit one of them, its training step the other."""

    def run(step):
        loader = photographs(options, batch_size=32, workers=1, publish=True)
        while True:
            for _ in loader:
                time.sleep(step)

    threading.Thread(target=run, args=[0.4], daemon=True).start()
    run(0.01)


def frame_of(*command, seconds=5):
    """The last complete screen of a command in a terminal, as lines."""
    running, terminal = pty.fork()
    if running == 0:
        os.execv(command[0], command)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, COLUMNS, 0, 0))
    shown, end = b"", time.time() + seconds
    while time.time() < end:
        if select.select([terminal], [], [], 0.2)[0]:
            shown += os.read(terminal, 65536)
    os.write(terminal, b"q")
    screen = shown.decode().split("\x1b[H")[-1].split("\x1b[J")[0]
    return re.sub(r"\x1b\[[\d?;]*[A-Za-z]|\r", "", screen).rstrip().split("\n")


def main():
    options = arguments(__doc__, photos="photos")
    program = multiprocessing.Process(target=train, args=[options], daemon=True)
    program.start()
    time.sleep(2)
    lines = frame_of(str(options.penstock), "top", str(program.pid))
    program.kill()
    parts = [mono(20, 32, f"$ penstock top {program.pid}", "note")]
    for place, line in enumerate(lines):
        y = 64 + LINE * place
        parts.append(mono(20, y, line.replace("#", " "), "bold" if line.lstrip().startswith("PID") else ""))
        parts += [mono(20, y, " " * bar.start() + bar[0], "bold ours") for bar in re.finditer("#+", line)]
    width = 40 + ADVANCE * max(map(len, lines))
    write(options, "top.svg", "A frame of penstock top", width, 64 + LINE * len(lines), parts)


if __name__ == "__main__":
    main()
