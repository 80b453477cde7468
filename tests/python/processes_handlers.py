"""What processes of a Pool do in tests: other processes import it from here."""

import os
import pathlib
import signal
import time


class Handler:
    """Does as the task's bytes say."""

    def __init__(self, setup):
        self.setup = bytes(setup)
        if self.setup == b"fail":
            raise ValueError("not today")
        if self.setup == b"die":
            os._exit(7)

    def __call__(self, body, memory, at):
        word, _, rest = bytes(body).partition(b" ")
        at(1)
        if word == b"echo":
            return self.setup + b" " + rest
        if word == b"large":
            return bytes(int(rest))
        if word == b"write":
            for view in memory.values():
                view[:4] = rest
            return str(len(memory)).encode()
        if word == b"die":
            at(2)
            mark = pathlib.Path(rest.decode())
            if not mark.exists():
                mark.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return b"lives"
        if word == b"fork":
            mark = pathlib.Path(rest.decode())
            if not mark.exists():
                child = os.fork()
                if child == 0:
                    time.sleep(60)
                    os._exit(0)
                mark.write_text(str(child))
                os.kill(os.getpid(), signal.SIGKILL)
            return b"lives"
        if word == b"sleep":
            time.sleep(float(rest))
        if word == b"fail":
            raise KeyError(rest.decode())
        return b""
