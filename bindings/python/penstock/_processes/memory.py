"""Memory that processes share by passing its descriptor."""

from __future__ import annotations

import errno
import fcntl
import mmap
import os

from .._error import made

_LOOKED_AT = 1 << 20  # bytes from which on it is looked at what there is


def available(meminfo: str = "/proc/meminfo") -> int:
    """Bytes that the machine can give without taking them from anyone. The kernel gives more, and then ends processes."""
    found = 0
    with open(meminfo, encoding="ascii") as file:
        for line in file:
            name, _, rest = line.partition(":")
            if name in ("MemAvailable", "SwapFree"):
                found += int(rest.split()[0]) << 10
    return found


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
            raise made("resource", f"no {size} bytes of memory to share with other processes: {error.strerror}") from None

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

    def __del__(self) -> None:  # what still looks at the memory keeps it mapped
        descriptor, self.descriptor = getattr(self, "descriptor", -1), -1
        if descriptor >= 0:
            os.close(descriptor)
