"""`penstock run` reports before a signal ends the program, and the program ends as without it."""

import json
import signal
import subprocess
import sys
import textwrap

import pytest
from watched import RUN, execute, start

BLOCKED = """
import time
import torch
for number, _ in enumerate(torch.utils.data.DataLoader(range(100))):
    if number == 20:
        print("ready", flush=True)
        time.sleep(600)  # runs no Python
"""


def signalled(words, folder, number):
    """Exit code and stderr of a program that gets the signal once it has printed a line."""
    with start(words, folder) as program:
        assert program.stdout.readline() == "ready\n"
        program.send_signal(number)
        return program.communicate(timeout=120)[1], program.returncode


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_program_after_the_report(tmp_path, number):
    pytest.importorskip("torch")
    (tmp_path / "train.py").write_text(BLOCKED)
    told, code = signalled([*RUN, "--json", "run.json", "train.py"], tmp_path, number)
    assert code == -number and told.startswith("step ") and "\nWhy: " in told
    assert json.loads((tmp_path / "run.json").read_text())["loaders"][0]["steps"] > 8


def test_an_interrupt_ends_the_program_after_the_report(tmp_path):
    pytest.importorskip("torch")
    (tmp_path / "train.py").write_text(BLOCKED)
    told, code = signalled([*RUN, "train.py"], tmp_path, signal.SIGINT)
    assert code == -signal.SIGINT and "\nKeyboardInterrupt\nstep " in told


HOLDS = """
print("ready", flush=True)
sum(range(10**15))  # holds the interpreter's lock
"""


@pytest.mark.parametrize("often", [False, True])
def test_a_program_that_holds_the_interpreter_ends_too(tmp_path, often):
    (tmp_path / "train.py").write_text(HOLDS)
    with start([*RUN, "train.py"], tmp_path) as program:
        assert program.stdout.readline() == "ready\n"
        program.terminate()
        while often and program.poll() is None:
            program.terminate()
        assert program.wait(timeout=120) == -signal.SIGTERM


PROGRAMS = {
    "has a handler": """
        import os, signal, sys
        print(signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGHUP))
        def handler(number, frame):
            print("mine")
            sys.exit(3)
        print(signal.signal(signal.SIGTERM, handler))
        os.kill(os.getpid(), signal.SIGTERM)
    """,
    "ignores it": """
        import os, signal
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.kill(os.getpid(), signal.SIGTERM)
        print("goes on")
    """,
    "kills a child": """
        import os, signal
        child = os.fork()
        if child == 0:
            while True:
                signal.pause()
        os.kill(child, signal.SIGTERM)
        print(os.waitpid(child, 0)[1])
    """,
    "forks and is killed": """
        import os, signal
        for _ in range(3):
            if os.fork() == 0:
                os._exit(0)
            os.wait()
        os.kill(os.getpid(), signal.SIGTERM)
        while True:
            signal.pause()
    """,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_signals_work_as_with_python(tmp_path, name):
    (tmp_path / "script.py").write_text(textwrap.dedent(PROGRAMS[name]))
    alone = execute([sys.executable, "script.py"], tmp_path)
    watched = execute([*RUN, "--quiet", "script.py"], tmp_path)
    assert (watched.returncode, watched.stdout) == (alone.returncode, alone.stdout)
    assert watched.stderr == alone.stderr + "penstock run: no loader delivered two batches in this process\n"


def test_a_hangup_stays_ignored(tmp_path):
    (tmp_path / "script.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGHUP)\nprint('goes on')")
    ignored = lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
    words = [*RUN, "--quiet", "script.py"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, preexec_fn=ignored, check=False)
    assert (done.returncode, done.stdout) == (0, "goes on\n")


HOOKS = """
import os, threading
hooks = {}
os.register_at_fork = lambda **given: hooks.update(given)
from penstock._run.signals import Signals
Signals(lambda: None)
print(threading.active_count())
hooks["before"]()
print(threading.active_count())
hooks["after_in_parent"]()
print(threading.active_count())
"""


def test_the_thread_pauses_during_a_fork(tmp_path):
    """Python 3.12 warns when a process with threads forks."""
    assert execute([sys.executable, "-c", HOOKS], tmp_path).stdout.split() == ["2", "1", "2"]
