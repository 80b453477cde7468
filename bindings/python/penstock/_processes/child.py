"""The main program of a process of a Pool."""

from __future__ import annotations

import functools
import importlib
import os
import pickle
import signal
import struct
import sys

from .._penstock import end_with_process
from .channel import Channel, PeerGone
from .memory import SharedMemory
from .packers import packers

READY, FAILED, DONE = b"R", b"F", b"D"
AT = struct.Struct("qq")  # the page of each process holds the number of its current task and the step in it, or -1


def packed_exception(error: BaseException) -> bytes:
    """Packs an exception for a message: the exception, as far as it can be pickled, and its traceback as text."""
    import traceback

    text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    for packer in packers():
        try:
            packed = packer(error)
            pickle.loads(packed)
            break
        except Exception:
            continue
    else:
        packed = pickle.dumps(RuntimeError(f"{type(error).__qualname__}: {error}"))
    return pickle.dumps((packed, text, list(getattr(error, "__notes__", []))))


class RemoteTraceback(Exception):
    """The traceback, as text, of an exception that another process raised."""

    def __str__(self) -> str:
        return "in another process\n" + str(self.args[0])


def unpacked_exception(message: bytes | memoryview) -> BaseException:
    packed, text, notes = pickle.loads(message)
    error: BaseException = pickle.loads(packed)
    error.__cause__ = RemoteTraceback(text)
    if notes:
        error.__notes__ = notes  # type: ignore[attr-defined]
    return error


class _Blocks(dict[int, memoryview]):
    """The parent's memory blocks, by number."""

    def __init__(self) -> None:
        super().__init__()
        self._memory: dict[int, SharedMemory] = {}

    def change(self, new: list[tuple[int, int]], dropped: list[int], descriptors: list[int]) -> None:
        for number in dropped:
            self.pop(number, None)
            self._memory.pop(number, None)
        for (number, size), descriptor in zip(new, descriptors):
            self._memory[number] = SharedMemory.attached(descriptor, size)
            self[number] = self._memory[number].view


def main(descriptor: int, parent: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent's program handles Ctrl-C
    end_with_process(parent)
    channel = Channel.of_descriptor(descriptor)
    try:
        _serve(channel)
    except PeerGone:
        pass
    os._exit(0)  # exits as if killed, so that nothing a function left open delays the end


def _serve(channel: Channel) -> None:
    body, descriptors = channel.receive()
    target, page_size, setup_size = pickle.loads(body)
    page = SharedMemory.attached(descriptors[0], page_size).view.cast("q")
    try:
        module, name = target.split(":")
        setup = SharedMemory.attached(descriptors[1], setup_size)
        handler = getattr(importlib.import_module(module), name)(setup.view[:setup_size])
        del setup
    except BaseException as error:
        channel.send(FAILED + packed_exception(error))
        return
    channel.send(READY)
    blocks = _Blocks()
    at = functools.partial(page.__setitem__, 1)
    while True:
        body, descriptors = channel.receive()
        task, new, dropped, work = pickle.loads(body)
        if new or dropped:
            blocks.change(new, dropped, descriptors)
        if work is None:  # more memory follows
            continue
        page[0] = task
        try:
            channel.send(DONE + handler(work, blocks, at))
        except PeerGone:
            raise
        except BaseException as error:
            channel.send(FAILED + packed_exception(error))
            return
        finally:
            # os._exit() and kills discard buffered output of the functions.
            sys.stdout.flush()
        page[1] = -1
