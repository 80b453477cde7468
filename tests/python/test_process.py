"""Loaders and what happens to a process: Ctrl-C, fork, exit, and what importing brings along."""

import os
import signal
import subprocess
import sys
import time

import h5py
import numpy as np
import penstock as ps
import pytest
from interpreter import ENDINGS, run

FIELDS = {"cls": ps.label()}


def test_importing_penstock_imports_neither_torch_nor_numpy():
    done = run("import penstock, sys; print(sorted({'torch', 'numpy'} & set(sys.modules)))")
    assert done.stdout == "[]\n", done.stderr


WAITING = """
import sys, penstock as ps
loader = ps.Loader(sys.argv[1], batch_size=1, sampler=ps.sampler.subset([0]), transforms={"cls": ps.label()}, read_options=ps.ReadOptions(engine="pread"))
print("ready", flush=True)
try:
    while True:
        for batch in loader: pass
except KeyboardInterrupt:
    print("interrupted", flush=True)
    raise
"""


def test_ctrl_c_ends_an_epoch_and_the_process(arrays):
    child = subprocess.Popen(
        [sys.executable, "-c", WAITING, str(arrays)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert child.stdout.readline() == b"ready\n"
    time.sleep(0.2)
    began = time.monotonic()
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=30)
    assert time.monotonic() - began < 20
    assert out == b"interrupted\n" and b"KeyboardInterrupt" in err
    assert child.returncode in (-signal.SIGINT, 130)


def test_ctrl_c_ends_a_wait(tmp_path):
    path, shape = tmp_path / "slow.h5", (64, 1 << 20)
    with h5py.File(path, "w") as file:
        file.create_dataset("x", shape, np.uint8, np.zeros(shape, np.uint8), chunks=shape, compression="gzip")
    code = (
        "import sys, penstock as ps\n"
        "loader = ps.Loader(sys.argv[1], batch_size=64, workers=1, memory_options=ps.MemoryOptions(block_cache_bytes=0), transforms={'x': ps.array.decode()})\n"
        "print('ready', flush=True)\n"
        "next(iter(loader))\n"
        "print('a batch', flush=True)"
    )
    child = subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert child.stdout.readline() == b"ready\n"
    time.sleep(0.1)
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=30)
    assert out == b"" and b"KeyboardInterrupt" in err


PACKING = """
import sys, penstock as ps
print("ready", flush=True)
for i in range(1000):
    ps.pack(sys.argv[1], sys.argv[2], format="tar", overwrite=True, progress=False)
"""


def test_ctrl_c_ends_packing(icons, tmp_path):
    command = [sys.executable, "-c", PACKING, str(icons), str(tmp_path / "packed")]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert child.stdout.readline() == b"ready\n"
    time.sleep(0.3)
    child.send_signal(signal.SIGINT)
    assert b"KeyboardInterrupt" in child.communicate(timeout=30)[1]


def test_a_loader_used_after_fork_raises_at_once(arrays):
    loader = ps.Loader(arrays, batch_size=8, transforms=FIELDS)
    iterator = iter(loader)
    next(iterator)
    child = os.fork()
    if child == 0:
        told = 0
        for use in (lambda: next(iterator), lambda: iter(loader), lambda: len(loader), loader.stats, loader.state_dict):
            try:
                use()
            except ps.Error as error:
                told += "fork" in str(error)
        loader.close()
        fresh = ps.Loader(arrays, batch_size=8, transforms=FIELDS)
        told += sum(len(batch["__key__"]) for batch in fresh) == 40
        os._exit(told)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 6
    assert len(next(iterator)["__key__"]) == 8


ALL_ENDINGS = ENDINGS | {
    "arrays of a batch": "import numpy; a = numpy.asarray(next(iter(loader))['cls'])",
    "a forked child that exits at once": "import os\nif os.fork() == 0: raise SystemExit(0)\nos.wait()",
}


@pytest.mark.parametrize("ending", ALL_ENDINGS)
def test_the_interpreter_ends_quietly(arrays, ending):
    code = (
        "import sys, penstock as ps\n"
        "loader = ps.Loader(sys.argv[1], batch_size=4, transforms={'cls': ps.label()}, workers=3)\n"
    )
    done = run(code + ALL_ENDINGS[ending], arrays)
    assert (done.returncode, done.stderr) == (0, "")
