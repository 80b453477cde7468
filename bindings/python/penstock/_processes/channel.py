"""Messages between two processes, with descriptors."""

from __future__ import annotations

import array
import os
import socket
from collections.abc import Sequence
from typing import Union

from .._error import made
from .memory import SharedMemory

_INLINE = 32 << 10  # bytes of a message; larger messages use separate memory
MOST_DESCRIPTORS = 63  # of one message: receivers have room for them and for separate memory
_ROOM = socket.CMSG_SPACE((MOST_DESCRIPTORS + 1) * 4)
_PLAIN, _IN_MEMORY = b"\0", b"\1"

Body = Union[bytes, memoryview]


class PeerGone(Exception):
    """The process at the other end has ended, or closed its end."""


class Channel:
    """One end of a channel. Messages of any size arrive whole and in order. Each end has one reader and one writer."""

    def __init__(self, end: socket.socket) -> None:
        self._socket = end

    @classmethod
    def pair(cls) -> tuple[Channel, Channel]:
        # SOCK_SEQPACKET keeps the boundaries of messages. An empty message means that the peer is gone.
        one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        return cls(one), cls(other)

    @classmethod
    def of_descriptor(cls, descriptor: int) -> Channel:
        return cls(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET, fileno=descriptor))

    def fileno(self) -> int:
        return self._socket.fileno()

    def send(self, body: Body, descriptors: Sequence[int] = ()) -> None:
        """Sends at most MOST_DESCRIPTORS descriptors. Raises PeerGone; Error: resource, if memory for a large message is
        lacking, or if too many descriptors are in transit."""
        assert len(descriptors) <= MOST_DESCRIPTORS
        if len(body) <= _INLINE:
            self._send(_PLAIN, body, descriptors)
            return
        memory = SharedMemory(len(body))
        memory.view[: len(body)] = body
        self._send(_IN_MEMORY, len(body).to_bytes(8, "little"), [memory.descriptor, *descriptors])

    def _send(self, kind: bytes, body: Body, descriptors: Sequence[int]) -> None:
        try:
            if descriptors:
                socket.send_fds(self._socket, [kind, body], list(descriptors))
            else:
                self._socket.sendmsg([kind, body])
        except (BrokenPipeError, ConnectionResetError):
            raise PeerGone from None
        except OSError as error:
            raise made("resource", f"cannot send a message to another process: {error.strerror}") from None

    def receive(self) -> tuple[Body, list[int]]:
        """Returns the next message and the descriptors that came with it. The caller owns the descriptors. Raises
        PeerGone."""
        while True:
            try:
                message, attached, _, _ = self._socket.recvmsg(_INLINE + 1, _ROOM, socket.MSG_CMSG_CLOEXEC)
                break
            except ConnectionResetError:  # the peer ended without reading all; its earlier messages come next
                continue
        descriptors = array.array("i")
        for level, kind, data in attached:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                descriptors.frombytes(data[: len(data) - len(data) % descriptors.itemsize])
        return self._read(message, list(descriptors))

    @staticmethod
    def _read(message: bytes, descriptors: list[int]) -> tuple[Body, list[int]]:
        if not message:
            raise PeerGone
        if message[:1] == _PLAIN:
            return message[1:], descriptors
        size = int.from_bytes(message[1:9], "little")
        return SharedMemory.attached(descriptors.pop(0), size).view[:size], descriptors

    def end(self) -> None:
        """Shuts the connection down. The other end gets what was sent, then PeerGone, even if a forked process still
        has this end open."""
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:  # already closed
            pass

    def close(self) -> None:
        self._socket.close()

    def inherited(self) -> int:
        """Returns a copy of the descriptor that a new process can inherit."""
        return os.dup(self._socket.fileno())
