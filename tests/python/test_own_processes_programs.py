"""Programs with ps.Loader(python_workers=N): no process is left, however they end."""

import os
import signal
import subprocess
import sys
import time

import pytest
from own_functions import processes
from own_programs import HERE, gone, program

ENDINGS = {
    "by itself": "",
    "by an exception": "raise SystemExit(3)",
    "closed": "loader.close()",
    "at once": "sys.stdout.flush(); os._exit(0)",
    "beside a forked child": "pid = os.fork()\nif pid == 0:\n    loader.close()\n    os._exit(0)\nos.waitpid(pid, 0)\nnext(iterator)",
    "from a thread": "import threading; t = threading.Thread(target=list, args=(iterator,)); t.start(); t.join()",
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_no_process_is_left_when_a_program_ends(arrays, ending):
    run = program("print(*own_functions.processes(), flush=True)\n" + ENDINGS[ending], arrays)
    out, err = run.communicate(timeout=60)
    assert err == "" and run.returncode == (3 if ending == "by an exception" else 0)
    pids = [int(pid) for pid in out.split()]
    assert len(pids) == 2 and gone(pids)


@pytest.mark.parametrize("forked", [False, True])
def test_processes_end_when_their_program_is_killed(arrays, forked):
    fork = "child = os.fork()\nif child == 0: time.sleep(60)\n" if forked else ""
    run = program(fork + "print('ready', child if 'child' in vars() else 0, flush=True)\ntime.sleep(60)", arrays)
    child = int(run.stdout.readline().split()[1])
    pids = processes(run.pid)
    assert len(pids) == 2
    run.kill()
    run.wait()
    assert gone(pids, 5)
    if child:
        os.kill(child, signal.SIGKILL)
    run.communicate()


def test_a_process_that_holds_its_interpreter_ends_when_the_program_is_killed(arrays, tmp_path):
    code = """
loader = ps.Loader(sys.argv[1], batch_size=4, python_workers=1, transforms={
    "npy": ps.array.decode() | ps.transform(own_functions.holds_the_interpreter)})
next(iter(loader))
"""
    mark = tmp_path / "mark"
    os.environ["PENSTOCK_TEST_MARK"] = str(mark)
    try:
        run = program(code, arrays)
    finally:
        del os.environ["PENSTOCK_TEST_MARK"]
    while not mark.exists() or not mark.read_text():
        time.sleep(0.02)
    time.sleep(0.2)  # until it matches
    pid = int(mark.read_text())
    run.kill()
    run.wait()
    ended = gone([pid], 5)
    if not ended:
        os.kill(pid, signal.SIGKILL)
    run.communicate()
    assert ended


def test_ctrl_c_ends_a_program_and_its_processes(arrays):
    code = "print('ready', flush=True)\nwhile True:\n    for batch in loader: pass\n"
    run = program(code, arrays)
    assert run.stdout.readline() == "ready\n"
    pids = processes(run.pid)
    run.send_signal(signal.SIGINT)
    _, err = run.communicate(timeout=30)
    assert "KeyboardInterrupt" in err and run.returncode in (-signal.SIGINT, 130)
    assert len(pids) == 2 and gone(pids)


def test_a_program_without_a_guard_runs_its_own_functions(arrays, tmp_path):
    pytest.importorskip("cloudpickle")
    (tmp_path / "train.py").write_text(
        "import sys, penstock as ps\n"
        "class Mine(Exception): pass\n"
        "def twice(row):\n"
        "    if row[0] == 30: raise Mine('thirty')\n"
        "    return row * factor\n"
        "factor = 2\n"
        "fields = {'npy': ps.array.decode() | ps.transform(twice) | ps.transform(lambda row: row + factor)}\n"
        "loader = ps.Loader(sys.argv[1], batch_size=10, transforms=fields, python_workers=2)\n"
        "try:\n"
        "    for batch in loader: print(batch['npy'][0, 0])\n"
        "except Mine as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, tmp_path / "train.py", arrays], capture_output=True, text=True, timeout=60)
    assert (done.stdout.split(), done.stderr) == (["2.0", "22.0", "42.0", "thirty"], "")


def test_a_program_that_keeps_its_last_batch_ends_without_a_word(arrays):
    pytest.importorskip("torch")
    program = (
        "import sys, own_functions, penstock as ps, torch\n"
        "fields = {'npy': ps.array.decode() | ps.transform(own_functions.same)}\n"
        "for batch in ps.Loader(sys.argv[1], batch_size=10, transforms=fields, python_workers=2): pass\n"
    )
    command = [sys.executable, "-c", program, arrays]
    done = subprocess.run(command, cwd=HERE, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_batches_that_are_held_need_few_descriptors(arrays):
    code = """
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (120, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
held, chain = [], ps.array.decode() | ps.transform(own_functions.same)
loader = ps.Loader(sys.argv[1], batch_size=1, python_workers=2, memory_options=ps.MemoryOptions(max_live_batches=200),
                   transforms={name: ps.field("npy") | chain for name in ("a", "b")})
for epoch in range(6):
    if epoch == 4:
        held.clear()  # memory without a descriptor is not used again
    held += loader
assert [batch[name][0][0] for batch in held for name in ("a", "b")] == [i for i in range(40) for _ in range(2)] * 2
print("good")
"""
    run = program("loader.close()\n" + code, arrays)
    out, err = run.communicate(timeout=120)
    assert (out, err) == ("good\n", "")
