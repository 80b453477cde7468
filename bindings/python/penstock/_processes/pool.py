"""A number of processes that do tasks; those that die are replaced."""

from __future__ import annotations

import collections
import os
import pickle
import select
import signal
import subprocess
import sys
import threading
import weakref
from collections.abc import Sequence
from typing import Any

from .._error import made
from .channel import Channel, PeerGone
from .child import AT, DONE, FAILED, READY, unpacked_exception
from .memory import SharedMemory

_AHEAD = 2  # tasks that a process has: one that it is at, one that it finds when it is through
_STARTS = 10  # processes in a row that end before they are ready, until that is an error
_GRACE_S = 5.0  # for what a process is at when the pool is closed
# Each process has one thread: there are as many of them as the program asked for.
_ONE_THREAD = dict.fromkeys(
    ["OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"], "1"
)
# Nothing is imported before the path is the parent's: a program's folder may have a module of any name.
_PROGRAM = (
    "import sys; sys.path[:] = eval(sys.argv[3]); "
    "from penstock._processes.child import main; main(int(sys.argv[1]), int(sys.argv[2]))"
)


class Task:
    """Something to do: a message for the handler, and the memory that it reads and writes."""

    __slots__ = ("body", "memory", "number")

    def __init__(self, body: bytes, memory: Sequence[SharedMemory]) -> None:
        self.body, self.memory = body, memory
        self.number = -1


class Work:
    """Tasks that belong together; what Pool.run() is given."""

    def next(self) -> Task | None:
        """One more task, if there is one at the moment."""
        raise NotImplementedError

    def done(self, task: Task, reply: bytes | memoryview) -> None:
        raise NotImplementedError

    def lost(self, task: Task, step: int | None, how: str) -> None:
        """A process has ended: at that step of the task, or before it began with the task. next() gives it again, or what
        this raises ends run()."""
        raise NotImplementedError


def _how_ended(status: int) -> str:
    if status >= 0:
        return f"exit status {status}"
    try:
        return f"signal {-status} ({signal.Signals(-status).name})"
    except ValueError:
        return f"signal {-status}"


def _no_process(error: OSError) -> Exception:
    return made("resource", f"no process for Python's functions: {error}")


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
            raise made("unsupported", "this program does not tell which Python runs it (sys.executable): no processes")
        descriptor = -1
        try:
            descriptor = other.inherited()
            self.process = subprocess.Popen(
                [sys.executable, *subprocess._args_from_interpreter_flags(), "-c", _PROGRAM]  # type: ignore[attr-defined]
                + [str(descriptor), str(os.getpid()), ascii([entry for entry in sys.path if isinstance(entry, str)])],
                pass_fds=[descriptor],
                stdin=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is the program's
                env={**os.environ, **_ONE_THREAD},
            )
        except OSError as error:
            raise _no_process(error) from None
        finally:
            if descriptor >= 0:
                os.close(descriptor)
            other.close()
        self.channel.send(pickle.dumps((target, self.page.size, setup.size)), [self.page.descriptor, setup.descriptor])

    def give(self, task: Task, work: Work) -> None:
        new = []
        for memory in task.memory:
            if self.knows.get(id(memory)) is not memory:
                self.knows[id(memory)] = memory
                new.append(memory)
        body = (task.number, [(id(memory), memory.size) for memory in new], self.dropped, task.body)
        self.tasks.append((task, work))
        self.dropped = []
        self.channel.send(pickle.dumps(body), [memory.descriptor for memory in new])

    def forget(self, memory: SharedMemory) -> None:
        if self.knows.pop(id(memory), None) is not None:
            self.dropped.append(id(memory))

    def at(self) -> tuple[int, int]:
        task, step = AT.unpack_from(self.page.view, 0)
        return task, step

    def kill(self) -> str:
        self.ready, self.dead = False, True
        self.process.kill()
        status = self.process.wait()
        self.channel.close()
        return _how_ended(status)


def _end(processes: list[_Process], owner: int, grace: float) -> None:
    """Ends them once they have finished the step that they are at, or at once where that takes long."""
    if os.getpid() != owner:  # a fork: they are its parent's
        for each in processes:
            each.channel.close()
        return
    for each in processes:
        each.channel.end()
    for each in processes:
        try:
            each.process.wait(grace)
        except subprocess.TimeoutExpired:
            pass
        each.kill()
    processes.clear()


class Pool:
    """Any thread may call it; run() of several take turns."""

    def __init__(self, processes: int, target: str, setup: bytes | memoryview) -> None:
        """Starts them, and does not wait. Each calls `target`, "module:name", with the bytes of `setup`, and what that
        gives with each task: handler(body, memory, at) -> reply, memory: number -> memoryview, by id(); at(step): says
        where it is, for Work.lost(). Raises Error: resource, where processes or memory cannot be had."""
        self._owner = os.getpid()
        self._target = target
        self._setup = SharedMemory(len(setup))
        self._setup.view[: len(setup)] = setup
        self._wanted = processes
        self._processes: list[_Process] = []
        self._turn = threading.Lock()  # of run() and close()
        self._stopped = False
        try:
            self._wake_out, self._wake_in = os.pipe()
        except OSError as error:
            raise _no_process(error) from None
        self._numbers = 0
        self._starts = 0
        self._watched: tuple[Any, dict[int, _Process]] | None = None  # None: a process has come or gone since
        self.replaced = 0
        """Processes that had ended, and others stand in their place."""
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
        """It will not be used any more: the processes may let go of it."""
        for each in self._processes:
            each.forget(memory)

    def stop(self) -> None:
        """For good: run() raises as soon as it can. From any thread."""
        self._stopped = True
        if self._owner == os.getpid():
            os.write(self._wake_in, b"\0")

    def close(self) -> None:
        """Ends the processes. Waits for what they are at, for some seconds."""
        self.stop()
        if self._owner != os.getpid():
            self._ender.detach()
            _end(self._processes, self._owner, 0.0)
            return
        with self._turn:
            _end(self._processes, self._owner, _GRACE_S)

    def run(self, work: Work) -> None:
        """Until there is no task left, and none under way. Raises what Work raises, what a process failed with that cannot
        start, and Error: resource, once stopped."""
        with self._turn:
            try:
                while self._hand_out(work):
                    self._wait()
            except BaseException:  # their replies are not waited for, and dropped when they come
                for process in self._processes:
                    process.tasks = collections.deque((task, _Nobody()) for task, _ in process.tasks)
                raise

    def _require_open(self) -> None:
        if self._owner != os.getpid():
            raise made("invalid_argument", "these processes are of the process that this one was forked from")
        if self._stopped:
            raise made("resource", "the processes for Python's functions are ending")

    def _hand_out(self, work: Work) -> bool:
        """False when nothing is under way. One that is still starting gets nothing: others are sooner through."""
        self._require_open()
        for index, each in enumerate(self._processes):
            if each.dead:
                self._processes[index] = _Process(self._target, self._setup)
                self._watched = None
                self.replaced += 1
        if not any(each.ready for each in self._processes):
            return True
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
        return True

    def _watch(self) -> tuple[Any, dict[int, _Process]]:
        poll = select.poll()
        poll.register(self._wake_out, select.POLLIN)
        at = {each.channel.fileno(): each for each in self._processes if not each.dead}
        for descriptor in at:
            poll.register(descriptor, select.POLLIN)
        return poll, at

    def _wait(self) -> None:
        if self._watched is None:
            self._watched = self._watch()
        poll, at = self._watched
        for descriptor, _ in poll.poll():
            if descriptor == self._wake_out:
                self._require_open()
            else:
                self._receive(at[descriptor])

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
        if kind == FAILED:  # the process ends, and another one would fail as well
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
        """Tells of its tasks. Another one is started before more is handed out."""
        was_ready = process.ready
        how = process.kill()
        self._watched = None
        if not was_ready:
            self._starts += 1
            if self._starts >= _STARTS:
                raise made("resource", f"{self._starts} processes for Python's functions ended as they started: {how}")
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
    """Of tasks whose run() has ended."""

    def next(self) -> Any:
        return None

    def done(self, task: Task, reply: bytes | memoryview) -> None:
        pass

    def lost(self, task: Task, step: int | None, how: str) -> None:
        pass
