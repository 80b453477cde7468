"""Memory that processes share by passing its descriptor."""

from __future__ import annotations

import errno
import fcntl
import os
import pathlib
import sys
from collections.abc import Callable

from .._error import made
from .._penstock import shared_mapping

_LOOKED_AT = 1 << 20  # requests of at least this many bytes are checked against the available memory


def available(root: str = "/") -> int:
    """Bytes that the machine and this process's container (cgroup version 2) can give without reclaiming memory in use.
    The kernel would grant more, and then kill processes. `root`: the root of the system's files."""
    files = pathlib.Path(root)
    told = _numbers(files / "proc/meminfo")
    found = (told.get("MemAvailable:", 0) + told.get("SwapFree:", 0)) << 10
    return min([found, *map(_left_in, _groups(files))])


def _groups(files: pathlib.Path) -> list[pathlib.Path]:
    """The control group of this process and its visible ancestors."""
    try:
        lines = (files / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return []
    top = files / "sys/fs/cgroup"
    own = next((line[3:].strip("/") for line in lines if line.startswith("0::")), "")
    group = top / own if ".." not in own else top
    return [each for each in (group, *group.parents) if each.is_relative_to(top)]


def _left_in(group: pathlib.Path) -> int:
    """Bytes left in the group. Cached file pages count as free, because the kernel drops them before it refuses memory."""
    try:
        limit = int((group / "memory.max").read_text())
        used = int((group / "memory.current").read_text())
    except (OSError, ValueError):  # the root group has no limit file; "max" means no limit
        return sys.maxsize
    told = _numbers(group / "memory.stat")
    return max(0, limit - used + told.get("inactive_file", 0) + told.get("active_file", 0))


def _numbers(file: pathlib.Path) -> dict[str, int]:
    """Parses lines "NAME NUMBER ..."; skips those that do not parse."""
    try:
        parts = [line.split() for line in file.read_text().splitlines()]
    except OSError:
        return {}
    return {part[0]: int(part[1]) for part in parts if len(part) > 1 and part[1].isdigit()}


class SharedMemory:
    """Bytes that are shared with every process that has the descriptor. They are freed when the last process closes it.

    The memory is not in a mounted file system (memfd). Therefore the size and use of /dev/shm do not matter, and no
    name can be left behind. All bytes are allocated at once and cannot be removed (sealed), so an access never raises
    SIGBUS. The mapping needs no descriptor; only passing the memory on does.
    """

    def __init__(self, size: int) -> None:
        """Raises Error: resource, if there is not enough memory."""
        self.descriptor, self.size = -1, max(1, size)
        size = self.size
        try:
            if size >= _LOOKED_AT and size > available():
                raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))
            self.descriptor = os.memfd_create("penstock", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
            os.posix_fallocate(self.descriptor, 0, size)
            fcntl.fcntl(self.descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
            self._mapping = shared_mapping(self.descriptor, size)
        except OSError as error:
            self.close()
            raise made(
                "resource", f"cannot reserve {size} bytes of memory to share with other processes: {error.strerror}"
            ) from None

    @classmethod
    def attached(cls, descriptor: int, size: int) -> SharedMemory:
        """Attaches memory of another process by its descriptor, and closes the descriptor."""
        self = cls.__new__(cls)
        self.descriptor, self.size = descriptor, size
        try:
            self._mapping = shared_mapping(descriptor, size)
        finally:
            self.close()
        return self

    @property
    def view(self) -> memoryview:
        return memoryview(self._mapping)

    def close(self, close: Callable[[int], None] = os.close) -> None:
        """Closes the descriptor, so that no other process can get the memory any more. The mapping stays."""
        descriptor, self.descriptor = self.descriptor, -1
        if descriptor >= 0:
            close(descriptor)  # `os` may be gone at the end of a program

    def __del__(self) -> None:
        self.close()
