"""A number of processes that run tasks; dead ones are replaced."""

from __future__ import annotations

import collections
import os
import pickle
import select
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Mapping, Sequence
from typing import Any

from .._error import made
from .channel import MOST_DESCRIPTORS, Channel, PeerGone
from .child import AT, DONE, FAILED, READY, unpacked_exception
from .memory import SharedMemory

_AHEAD = 2  # tasks per process: the current one, and the next one, which waits in its channel
_STARTS = 10  # an error after this many processes in a row ended before they were ready
_LOOK_MS = 500  # between two looks at whether a process has ended, if the kernel cannot report it
_GRACE_S = 5.0  # seconds for the current steps to finish when the pool is closed
# Each process has one thread, because the program asked for a number of processes.
_ONE_THREAD = dict.fromkeys(
    ["OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"], "1"
)
# Sets the parent's path before the first import: the program's folder may contain a module that hides one of Python's.
_PROGRAM = (
    "import sys; sys.path[:] = eval(sys.argv[3]); "
    "from penstock._processes.child import main; main(int(sys.argv[1]), int(sys.argv[2]))"
)


class Task:
    """A unit of work: a message for the handler, and the memory that it reads and writes."""

    __slots__ = ("body", "memory", "number")

    def __init__(self, body: bytes, memory: Sequence[SharedMemory]) -> None:
        self.body, self.memory = body, memory
        self.number = -1


class Work:
    """Tasks that belong together; the argument of Pool.run()."""

    def next(self) -> Task | None:
        """Returns another task, or None if there is none at the moment."""
        raise NotImplementedError

    def done(self, task: Task, reply: bytes | memoryview) -> None:
        raise NotImplementedError

    def lost(self, task: Task, step: int | None, how: str) -> None:
        """Called when a process has ended. `step` is its current step of the task, or None if it had not begun the
        task. next() must return the task again; an exception raised here ends run()."""
        raise NotImplementedError


def _how_ended(status: int) -> str:
    if status >= 0:
        return f"exit status {status}"
    try:
        return f"signal {-status} ({signal.Signals(-status).name})"
    except ValueError:
        return f"signal {-status}"


def _descriptor_of(pid: int) -> int:
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return -1


def _no_process(error: OSError) -> Exception:
    return made("resource", f"cannot start a process for Python functions: {error}")


class _Process:
    """One process, from its start to its end."""

    def __init__(self, target: str, setup: SharedMemory) -> None:
        try:
            self.channel, other = Channel.pair()
        except OSError as error:
            raise _no_process(error) from None
        self.page = SharedMemory(AT.size)
        AT.pack_into(self.page.view, 0, -1, -1)
        self.tasks: collections.deque[tuple[Task, Work]] = collections.deque()
        self.knows: dict[int, SharedMemory] = {}
        self.dropped: list[int] = []
        self.ready = self.dead = False
        if not sys.executable:
            raise made(
                "unsupported", "cannot start processes: sys.executable does not name the Python that runs this program"
            )
        descriptor = -1
        try:
            descriptor = other.inherited()
            self.process = subprocess.Popen(
                [sys.executable, *subprocess._args_from_interpreter_flags(), "-c", _PROGRAM]  # type: ignore[attr-defined]
                + [str(descriptor), str(os.getpid()), ascii([entry for entry in sys.path if isinstance(entry, str)])],
                pass_fds=[descriptor],
                stdin=subprocess.DEVNULL,
                start_new_session=True,  # the program handles Ctrl-C
                env={**os.environ, **_ONE_THREAD},
            )
        except OSError as error:
            raise _no_process(error) from None
        finally:
            if descriptor >= 0:
                os.close(descriptor)
            other.close()
        self.ended = _descriptor_of(self.process.pid)
        """Readable once the process has ended. -1: the kernel or Python is too old."""
        self.channel.send(pickle.dumps((target, self.page.size, setup.size)), [self.page.descriptor, setup.descriptor])

    def give(self, task: Task, work: Work) -> None:
        new = []
        for memory in task.memory:
            if self.knows.get(id(memory)) is not memory:
                self.knows[id(memory)] = memory
                new.append(memory)
        self.tasks.append((task, work))
        while len(new) > MOST_DESCRIPTORS:
            self._send(task.number, new[:MOST_DESCRIPTORS], None)
            del new[:MOST_DESCRIPTORS]
        self._send(task.number, new, task.body)

    def _send(self, number: int, new: list[SharedMemory], body: bytes | None) -> None:
        message = number, [(id(memory), memory.size) for memory in new], self.dropped, body
        self.dropped = []
        self.channel.send(pickle.dumps(message), [memory.descriptor for memory in new])

    def forget(self, memory: SharedMemory) -> None:
        if self.knows.pop(id(memory), None) is not None:
            self.dropped.append(id(memory))

    def at(self) -> tuple[int, int]:
        task, step = AT.unpack_from(self.page.view, 0)
        return task, step

    def has_ended(self, ready: Mapping[int, int]) -> bool:
        return self.ended in ready or (self.ended < 0 and self.process.poll() is not None)

    def kill(self) -> str:
        self.ready, self.dead = False, True
        self.process.kill()
        status = self.process.wait()
        self.close()
        return _how_ended(status)

    def close(self) -> None:
        self.channel.close()
        ended, self.ended = self.ended, -1
        if ended >= 0:
            os.close(ended)


def _end(processes: list[_Process], owner: int, grace: float) -> None:
    """Ends the processes after their current step. After `grace` seconds, ends those that still run."""
    if os.getpid() != owner:  # after a fork, the processes belong to the parent
        for each in processes:
            each.close()
        return
    for each in processes:
        each.channel.end()
    until = time.monotonic() + grace  # for all of them, because they finish their steps at the same time
    for each in processes:
        try:
            each.process.wait(max(0.0, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            pass
        each.kill()
    processes.clear()


class Pool:
    """A pool of processes. Thread-safe; concurrent run() calls take turns."""

    def __init__(self, processes: int, target: str, setup: bytes | memoryview) -> None:
        """Starts the processes without waiting for them. Each process calls `target`, "module:name", with the bytes of
        `setup`. The result is the handler of each task: handler(body, memory, at) -> reply. memory: number ->
        memoryview, by id(). at(step) records the current step for Work.lost(). Raises Error: resource, if processes or
        memory are not available."""
        self._owner = os.getpid()
        self._target = target
        self._setup = SharedMemory(len(setup))
        self._setup.view[: len(setup)] = setup
        self._wanted = processes
        self._processes: list[_Process] = []
        self._turn = threading.Lock()  # for run() and close()
        self._stopped = False
        try:
            self._wake_out, self._wake_in = os.pipe()
        except OSError as error:
            raise _no_process(error) from None
        self._numbers = 0
        self._starts = 0
        self._watched: tuple[Any, list[_Process]] | None = None  # None: a process was added or removed since
        self.replaced = 0
        """Number of dead processes that were replaced."""
        self._ender = weakref.finalize(self, _end, self._processes, self._owner, 0.0)
        self._ender.atexit = False
        weakref.finalize(self, os.close, self._wake_out).atexit = False
        weakref.finalize(self, os.close, self._wake_in).atexit = False
        while len(self._processes) < processes:
            self._processes.append(_Process(target, self._setup))

    @property
    def pids(self) -> list[int]:
        return [each.process.pid for each in self._processes]

    def forget(self, memory: SharedMemory) -> None:
        """Says that this memory is not used any more, so that the processes can unmap it."""
        for each in self._processes:
            each.forget(memory)

    def stop(self) -> None:
        """Ends the pool for good: run() raises as soon as it can. Callable from any thread."""
        self._stopped = True
        if self._owner == os.getpid():
            os.write(self._wake_in, b"\0")

    def close(self) -> None:
        """Ends the processes. Waits some seconds for their current steps."""
        self.stop()
        if self._owner != os.getpid():
            self._ender.detach()
            _end(self._processes, self._owner, 0.0)
            return
        with self._turn:
            _end(self._processes, self._owner, _GRACE_S)

    def run(self, work: Work) -> None:
        """Runs tasks until none is left and none is running. Raises any exception of Work, the error of a process that
        cannot start, and Error: resource, once stopped."""
        with self._turn:
            try:
                while self._hand_out(work):
                    self._wait()
            except BaseException:  # nobody waits for these replies; drop them when they come
                for process in self._processes:
                    process.tasks = collections.deque((task, _Nobody()) for task, _ in process.tasks)
                raise

    def _require_open(self) -> None:
        if self._owner != os.getpid():
            raise made(
                "invalid_argument", "these processes belong to the parent process; make a loader in this process"
            )
        if self._stopped:
            raise made("resource", "the processes for Python functions are closing")

    def _hand_out(self, work: Work) -> bool:
        """Hands out tasks. Returns False when no task is running. A process that is still starting gets none, because
        others finish sooner."""
        self._require_open()
        for index, each in enumerate(self._processes):
            if each.dead:
                self._processes[index] = _Process(self._target, self._setup)
                self._watched = None
                self.replaced += 1
        if not any(each.ready for each in self._processes):
            return True
        # Every process gets its first task before any process gets its second.
        for depth in range(_AHEAD):
            for index in range(len(self._processes)):
                if not self._processes[index].ready or len(self._processes[index].tasks) > depth:
                    continue
                task = work.next()
                if task is None:
                    return any(each.tasks for each in self._processes)
                self._numbers += 1
                task.number = self._numbers
                try:
                    self._processes[index].give(task, work)
                except PeerGone:
                    self._end_of(self._processes[index])
                    return self._hand_out(work)
                except BaseException:  # the process has a part of the task
                    self._processes[index].kill()
                    self._watched = None
                    raise
        return True

    def _watch(self) -> tuple[Any, list[_Process]]:
        poll = select.poll()
        poll.register(self._wake_out, select.POLLIN)
        living = [each for each in self._processes if not each.dead]
        for each in living:
            poll.register(each.channel.fileno(), select.POLLIN)
            if each.ended >= 0:
                poll.register(each.ended, select.POLLIN)
        return poll, living

    def _wait(self) -> None:
        if self._watched is None:
            self._watched = self._watch()
        poll, living = self._watched
        ready = dict(poll.poll(_LOOK_MS if any(each.ended < 0 for each in living) else None))
        if self._wake_out in ready:
            self._require_open()
        for process in living:
            if process.channel.fileno() in ready:
                self._receive(process)
            # Processes that a function has forked keep the channel open after the function's process has died.
            elif process.has_ended(ready):
                self._end_of(process)

    def _receive(self, process: _Process) -> None:
        try:
            reply, _ = process.channel.receive()
        except PeerGone:
            self._end_of(process)
            return
        kind = bytes(reply[:1])
        if kind == FAILED and process.tasks and isinstance(process.tasks[0][1], _Nobody):
            self._end_of(process)
            return
        if kind == FAILED:  # the process ends, and a new one would fail too
            error = unpacked_exception(reply[1:])
            self._watched = None
            process.kill()
            raise error
        process.ready = True
        self._starts = 0
        if kind == DONE:
            task, work = process.tasks.popleft()
            work.done(task, reply[1:])
        else:
            assert kind == READY

    def _end_of(self, process: _Process) -> None:
        """Reports the process's tasks as lost. _hand_out() starts a replacement before it hands out more tasks."""
        was_ready = process.ready
        how = process.kill()
        self._watched = None
        if not was_ready:
            self._starts += 1
            if self._starts >= _STARTS:
                raise made("resource", f"{self._starts} processes for Python functions ended during their start: {how}")
        number, step = process.at()
        failure: BaseException | None = None
        for task, work in process.tasks:
            try:
                work.lost(task, step if task.number == number and step >= 0 else None, how)
            except Exception as error:
                failure = failure or error
        process.tasks.clear()
        if failure is not None:
            raise failure


class _Nobody(Work):
    """Receives the tasks of a run() that has ended."""

    def next(self) -> Any:
        return None

    def done(self, task: Task, reply: bytes | memoryview) -> None:
        pass

    def lost(self, task: Task, step: int | None, how: str) -> None:
        pass
