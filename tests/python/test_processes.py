"""penstock._processes: memory by descriptor, channels, and pools of processes whatever becomes of them."""

import errno
import os
import pathlib
import subprocess
import sys
import threading
import time

import penstock as ps
import pytest
from penstock._processes.channel import Channel, PeerGone
from penstock._processes.memory import SharedMemory, available
from penstock._processes.pool import Pool, Task, Work


class Bytes(Work):
    """Tasks of some bytes each, and what comes back."""

    def __init__(self, *bodies, memory=()):
        self.left, self.memory, self.replies, self.deaths = list(bodies), memory, [], []

    def next(self):
        return Task(self.left.pop(0), self.memory) if self.left else None

    def done(self, task, reply):
        self.replies.append((bytes(task.body), bytes(reply)))

    def lost(self, task, step, how):
        self.deaths.append((step, how))
        self.left.append(task.body)


def pool(processes=2, setup=b"hello"):
    return Pool(processes, "processes_handlers:Handler", setup)


def alive(pid):
    return pathlib.Path(f"/proc/{pid}").exists()


def test_memory_is_all_there_and_stays():
    memory = SharedMemory(1 << 20)
    assert os.fstat(memory.descriptor).st_blocks * 512 >= 1 << 20
    with pytest.raises(OSError):
        os.ftruncate(memory.descriptor, 0)
    other = SharedMemory.attached(os.dup(memory.descriptor), memory.size)
    memory.view[:3] = b"abc"
    assert bytes(other.view[:3]) == b"abc"
    view = memory.view
    del memory
    view[:3] = b"xyz"
    assert bytes(other.view[:3]) == b"xyz"


def test_memory_that_cannot_be_had_is_told():
    code = (
        "import resource; from penstock._processes.memory import SharedMemory, available\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        "SharedMemory(4096)\n"
        "before = __import__('os').listdir('/proc/self/fd')\n"
        "try: SharedMemory(1 << 20)\n"
        "except RuntimeError as error: print(error.kind, error, __import__('os').listdir('/proc/self/fd') == before)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stderr == "" and "cannot reserve 1048576 bytes of memory to share" in done.stdout
    assert done.stdout.startswith("resource ") and done.stdout.endswith("True\n")
    with pytest.raises(ps.Error, match="memory to share"):
        SharedMemory(1 << 60)


def test_memory_that_there_is_ends_at_the_limits_of_containers(tmp_path):
    def write(name, text):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)

    write("proc/meminfo", "MemTotal: 9000 kB\nMemAvailable:   5000 kB\nSwapFree: 1000 kB\n")
    assert available(str(tmp_path)) == 6000 << 10
    write("proc/self/cgroup", "4:cpu:/x\n0::/pod/job\n")
    write("sys/fs/cgroup/pod/job/memory.max", "max\n")
    write("sys/fs/cgroup/pod/job/memory.current", "5000\n")
    assert available(str(tmp_path)) == 6000 << 10
    write("sys/fs/cgroup/pod/memory.max", "900000\n")
    write("sys/fs/cgroup/pod/memory.current", "700000\n")
    write("sys/fs/cgroup/pod/memory.stat", "anon 600000\ninactive_file 50000\nactive_file 1\n")
    assert available(str(tmp_path)) == 250001
    write("sys/fs/cgroup/memory.max", "100\n")
    write("sys/fs/cgroup/memory.current", "120\n")
    assert available(str(tmp_path)) == 0
    write("proc/self/cgroup", "0::/../elsewhere\n")
    assert available(str(tmp_path)) == 0
    assert 0 < available() < 1 << 50


def test_messages_of_any_size_arrive_whole_and_with_descriptors():
    one, other = Channel.pair()
    sizes = [0, 1, 32 << 10, (32 << 10) + 1, 3 << 20]
    bodies = [os.urandom(size) for size in sizes]
    sender = threading.Thread(target=lambda: [one.send(body) for body in bodies])
    sender.start()
    assert [bytes(other.receive()[0]) for _ in sizes] == bodies
    sender.join()
    memory = SharedMemory(10)
    memory.view[:2] = b"in"
    one.send(os.urandom(1 << 20), [memory.descriptor])
    _, (descriptor,) = other.receive()
    assert not os.get_inheritable(descriptor)
    assert bytes(SharedMemory.attached(descriptor, 10).view[:2]) == b"in"
    one.send(b"last")
    one.end()
    assert bytes(other.receive()[0]) == b"last"
    with pytest.raises(PeerGone):
        other.receive()
    with pytest.raises(PeerGone):
        other.send(b"to nobody")


def test_an_end_that_left_messages_unread_is_gone_behind_what_it_sent():
    one, other = Channel.pair()
    other.send(b"never read")
    one.send(b"the last")
    one.close()
    assert bytes(other.receive()[0]) == b"the last"
    with pytest.raises(PeerGone):
        other.receive()


def test_a_pool_does_tasks_and_leaves_no_process_and_no_descriptor():
    before = len(os.listdir("/proc/self/fd"))
    some = pool()
    work = Bytes(*[b"echo %d" % i for i in range(50)])
    some.run(work)
    assert sorted(work.replies) == sorted((b"echo %d" % i, b"hello %d" % i) for i in range(50))
    large = Bytes(b"large 5000000")
    some.run(large)
    assert len(large.replies[0][1]) == 5_000_000
    pids = some.pids
    assert len(set(pids)) == 2
    some.close()
    some.close()
    assert not any(map(alive, pids))
    with pytest.raises(ps.Error, match="are closing"):
        some.run(Bytes(b"echo"))
    del some
    assert len(os.listdir("/proc/self/fd")) == before


def test_descriptors_that_cannot_be_had_are_told():
    code = (
        "import os, penstock, resource\n"
        "from penstock._processes.pool import Pool\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))\n"
        "def pool(): Pool(1, 'processes_handlers:Handler', b'').close()\n"
        "pool()\n"
        "while os.dup(0) < 50: pass\n"
        "for taken in range(51, 64):\n"
        "    os.dup(0)\n"
        "    try: pool()\n"
        "    except penstock.Error as error: print(error.kind)\n"
    )
    here = pathlib.Path(__file__).parent
    done = subprocess.run([sys.executable, "-c", code], cwd=here, capture_output=True, text=True, timeout=60)
    assert done.stderr == "" and len(done.stdout.split()) > 6 and set(done.stdout.split()) == {"resource"}


def test_mapped_memory_needs_no_descriptor():
    before = len(os.listdir("/proc/self/fd"))
    memory = SharedMemory(10)
    other = SharedMemory.attached(os.dup(memory.descriptor), 10)
    assert len(os.listdir("/proc/self/fd")) == before + 1
    memory.close()
    assert len(os.listdir("/proc/self/fd")) == before and memory.descriptor == other.descriptor == -1
    memory.view[:2] = b"in"
    assert bytes(other.view[:2]) == b"in"


def test_a_task_may_have_more_memory_than_fits_into_one_message():
    some = pool(1)
    memory = [SharedMemory(4) for _ in range(300)]
    for count in (64, 300):
        work = Bytes(b"write %4d" % count, memory=memory[:count])
        some.run(work)
        assert work.replies == [(b"write %4d" % count, b"%d" % count)]
        assert all(bytes(each.view) == b"%4d" % count for each in memory[:count])
    some.close()


def test_a_task_that_cannot_be_sent_does_not_disturb_the_next_run(monkeypatch):
    some = pool(1)
    some.run(Bytes(b"echo"))
    send, left = Channel.send, [1]

    def full(channel, body, descriptors=()):
        if not left:
            raise OSError(errno.ETOOMANYREFS, "too many")
        left.pop()
        send(channel, body, descriptors)

    with monkeypatch.context() as patch:
        patch.setattr(Channel, "send", full)
        with pytest.raises(OSError, match="too many"):
            some.run(Bytes(*[b"echo"] * 5))
    work = Bytes(b"echo again")
    some.run(work)
    assert work.replies == [(b"echo again", b"hello again")]
    some.close()


def test_memory_goes_with_tasks_and_may_be_forgotten():
    some, first, second = pool(1), SharedMemory(10), SharedMemory(10)
    work = Bytes(b"write abcd", memory=[first, second])
    some.run(work)
    assert work.replies[0][1] == b"2" and bytes(first.view[:4]) == bytes(second.view[:4]) == b"abcd"
    some.forget(first)
    del first
    work = Bytes(b"write efgh", memory=[second])
    some.run(work)
    assert work.replies[0][1] == b"1" and bytes(second.view[:4]) == b"efgh"
    maps = pathlib.Path(f"/proc/{some.pids[0]}/maps").read_text().count("memfd:penstock")
    assert maps == 2  # its page, and what is left
    some.close()


def test_a_process_that_dies_is_replaced_and_its_tasks_are_told(tmp_path):
    some = pool()
    before = some.pids
    work = Bytes(b"die %s" % os.fsencode(tmp_path / "mark"), *[b"echo %d" % i for i in range(20)])
    some.run(work)
    assert len(work.replies) == 21 and (2, "signal 9 (SIGKILL)") in work.deaths
    assert all(step is None for step, _ in work.deaths if step != 2)
    assert some.replaced == 1 and len(set(before) & set(some.pids)) == 1
    for pid in some.pids:
        os.kill(pid, 9)
    work = Bytes(b"echo again")
    some.run(work)
    assert work.replies and some.replaced >= 2
    some.close()


@pytest.mark.parametrize("reported", [True, False])
def test_a_process_that_dies_is_replaced_while_a_child_of_it_lives(tmp_path, monkeypatch, reported):
    if not reported:  # as by an old kernel
        monkeypatch.setattr("penstock._processes.pool._descriptor_of", lambda pid: -1)
    some, mark = pool(1), tmp_path / "mark"
    some.run(Bytes(b"echo"))
    work, began = Bytes(b"echo before", b"fork %s" % os.fsencode(mark), b"echo after"), time.monotonic()
    try:
        some.run(work)
        assert time.monotonic() - began < 30 and alive(int(mark.read_text()))
    finally:
        os.kill(int(mark.read_text()), 9)
    assert sorted(reply for _, reply in work.replies) == [b"hello after", b"hello before", b"lives"]
    assert (1, "signal 9 (SIGKILL)") in work.deaths and some.replaced == 1
    some.close()


def test_a_process_that_cannot_be_replaced_is_an_error_until_it_can(monkeypatch):
    def refused(*_, **__):
        raise OSError(errno.EAGAIN, "no more processes")

    some = pool(1)
    some.run(Bytes(b"echo"))
    os.kill(some.pids[0], 9)
    with monkeypatch.context() as patch:
        patch.setattr(subprocess, "Popen", refused)
        for _ in range(2):
            with pytest.raises(
                ps.Error, match="cannot start a process for Python functions: .*no more processes"
            ) as caught:
                some.run(Bytes(b"echo"))
            assert caught.value.kind == "resource"
    work = Bytes(b"echo again")
    some.run(work)
    assert work.replies == [(b"echo again", b"hello again")]
    some.close()


def test_what_work_raises_ends_a_run_and_the_next_one_is_not_disturbed():
    class Refuses(Bytes):
        def done(self, task, reply):
            raise LookupError("enough")

    some = pool()
    with pytest.raises(LookupError):
        some.run(Refuses(*[b"sleep 0.01"] * 10))
    work = Bytes(*[b"echo %d" % i for i in range(10)])
    some.run(work)
    assert sorted(work.replies) == [(b"echo %d" % i, b"hello %d" % i) for i in range(10)]
    some.close()


def test_what_an_earlier_run_left_behind_does_not_fail_the_next_one():
    class Refuses(Bytes):
        def done(self, task, reply):
            raise LookupError("enough")

    some = pool(1)
    with pytest.raises(LookupError):
        some.run(Refuses(b"echo", b"fail this"))
    work = Bytes(b"echo on")
    some.run(work)
    assert work.replies == [(b"echo on", b"hello on")]
    some.close()


def test_processes_that_cannot_begin_are_an_error():
    some = pool(setup=b"fail")
    with pytest.raises(ValueError, match="not today") as caught:
        some.run(Bytes(b"echo"))
    assert "processes_handlers.py" in str(caught.value.__cause__)
    some.close()
    some = pool(setup=b"die")
    with pytest.raises(ps.Error, match="ended during their start: exit status 7"):
        some.run(Bytes(b"echo"))
    some.close()


def test_a_handler_that_fails_is_an_error_and_the_pool_goes_on():
    some = pool(1)
    with pytest.raises(KeyError, match="this"):
        some.run(Bytes(b"fail this"))
    work = Bytes(b"echo on")
    some.run(work)
    assert work.replies == [(b"echo on", b"hello on")]
    some.close()


def test_stop_ends_a_run_of_another_thread():
    some, caught, begun = pool(1), [], threading.Event()

    class Begins(Bytes):
        def done(self, task, reply):
            begun.set()

    def run():
        try:
            some.run(Begins(b"echo", *[b"sleep 3"] * 100))
        except ps.Error as error:
            caught.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    assert begun.wait(60)
    some.stop()
    thread.join(2)
    assert not thread.is_alive() and "are closing" in str(caught[0])
    some.close()


def test_close_waits_for_all_processes_at_once(monkeypatch):
    monkeypatch.setattr("penstock._processes.pool._GRACE_S", 1.5)
    some = pool(4)
    some.run(Bytes(*[b"echo"] * 8))
    pids, failed = some.pids, []

    def run():
        try:
            some.run(Bytes(*[b"sleep 60"] * 8))
        except ps.Error as error:
            failed.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    while sum(each.at()[1] == 1 for each in some._processes) < 4:
        time.sleep(0.01)
    began = time.monotonic()
    some.close()
    assert 1 < time.monotonic() - began < 4 and not any(map(alive, pids))
    thread.join()
    assert len(failed) == 1


def test_a_forked_process_neither_uses_nor_ends_those_of_its_parent():
    some = pool(1)
    some.run(Bytes(b"echo"))
    child = os.fork()
    if child == 0:
        status = 1
        try:
            some.run(Bytes(b"echo"))
        except ps.Error:
            some.close()
            status = 0
        os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    work = Bytes(b"echo still")
    some.run(work)
    assert work.replies
    some.close()


def test_a_pool_that_nobody_holds_ends():
    some = pool()
    pids = some.pids
    del some
    assert not any(map(alive, pids))
