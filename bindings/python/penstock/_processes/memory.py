"""Memory that processes share by passing its descriptor."""

from __future__ import annotations

import errno
import fcntl
import mmap
import os
import pathlib
import sys
from collections.abc import Callable

from .._error import made

_LOOKED_AT = 1 << 20  # bytes from which on it is looked at what there is


def available(root: str = "/") -> int:
    """Bytes that the machine, and the container that this process is in (cgroup, version 2), can give without taking them
    from anyone. The kernel gives more, and then ends processes. `root`: where the system's files are."""
    files = pathlib.Path(root)
    told = _numbers(files / "proc/meminfo")
    found = (told.get("MemAvailable:", 0) + told.get("SwapFree:", 0)) << 10
    return min([found, *map(_left_in, _groups(files))])


def _groups(files: pathlib.Path) -> list[pathlib.Path]:
    """The control group of this process and those around it, as far as they can be seen."""
    try:
        lines = (files / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return []
    top = files / "sys/fs/cgroup"
    own = next((line[3:].strip("/") for line in lines if line.startswith("0::")), "")
    group = top / own if ".." not in own else top
    return [each for each in (group, *group.parents) if each.is_relative_to(top)]


def _left_in(group: pathlib.Path) -> int:
    """What is cached of files is given back before anything is refused."""
    try:
        limit = int((group / "memory.max").read_text())
        used = int((group / "memory.current").read_text())
    except (OSError, ValueError):  # the topmost has none; "max" is no limit
        return sys.maxsize
    told = _numbers(group / "memory.stat")
    return max(0, limit - used + told.get("inactive_file", 0) + told.get("active_file", 0))


def _numbers(file: pathlib.Path) -> dict[str, int]:
    """Of lines "NAME NUMBER ...", those that can be read."""
    try:
        parts = [line.split() for line in file.read_text().splitlines()]
    except OSError:
        return {}
    return {part[0]: int(part[1]) for part in parts if len(part) > 1 and part[1].isdigit()}


class SharedMemory:
    """Bytes that every process sees that was given the descriptor, until the last of them lets go.

    They are of no file system that is mounted (memfd), so neither the size of /dev/shm nor what it is full of matters,
    and they have no name that could be left behind. All of them are taken at once and cannot be taken back (sealed):
    touching them is never a SIGBUS.
    """

    def __init__(self, size: int) -> None:
        """Raises Error: resource, where there is not so much."""
        size = max(1, size)
        descriptor = -1
        try:
            if size >= _LOOKED_AT and size > available():
                raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))
            descriptor = os.memfd_create("penstock", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
            os.posix_fallocate(descriptor, 0, size)
            fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
            self._map(descriptor, size)
        except OSError as error:
            if descriptor >= 0:
                os.close(descriptor)
            raise made(
                "resource", f"no {size} bytes of memory to share with other processes: {error.strerror}"
            ) from None

    def _map(self, descriptor: int, size: int) -> None:
        self._memory = mmap.mmap(descriptor, size)
        self.descriptor, self.size = descriptor, size

    @classmethod
    def attached(cls, descriptor: int, size: int) -> SharedMemory:
        """That of another process, whose descriptor came here; it is owned from now on."""
        self = cls.__new__(cls)
        self._map(descriptor, size)
        return self

    @property
    def view(self) -> memoryview:
        return memoryview(self._memory)

    def __del__(self, close: Callable[[int], None] = os.close) -> None:
        # What still looks at the memory keeps it mapped. At the end of a program `os` may be gone before this is.
        descriptor, self.descriptor = getattr(self, "descriptor", -1), -1
        if descriptor >= 0:
            close(descriptor)
