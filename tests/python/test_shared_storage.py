"""Datasets on storage that many nodes share: threads read network file systems, and few calls ask for metadata."""

import collections
import os
import re
import resource
import shutil
import subprocess
import sys
import time

import numpy as np
import penstock as ps
import pytest
import slow_files


@pytest.fixture(name="files")
def files_fixture(tmp_path):
    folder = tmp_path / "files"
    folder.mkdir()
    for number in range(120):
        np.save(folder / f"{number:03}.npy", np.full(1000, number, np.float32))
    return folder


def test_threads_read_a_network_file_system(files, tmp_path, monkeypatch):
    monkeypatch.delenv("PENSTOCK_ENGINE", raising=False)
    with slow_files.mounted(files, tmp_path / "slow", 0.005) as slow:
        loader = ps.Loader(slow, batch_size=40, workers=1)
        assert [int(row[0]) for batch in loader for row in np.asarray(batch["npy"])] == list(range(120))
        engine = str(loader.stats()).split("engine ")[1].splitlines()[0].strip()
        assert engine.startswith("pread: FUSE is read by threads")
    local = ps.Loader(files, batch_size=40, workers=1)
    next(iter(local))
    assert "FUSE" not in str(local.stats())


EPOCH = """
import sys, penstock as ps
loader = ps.Loader(sys.argv[1], batch_size=8, shuffle=True, seed=0, workers=1)
assert sum(len(batch["npy"]) for batch in loader) == 120
print(loader.stats())
"""


def not_in_memory(folder):
    """Drops the files from the page cache."""
    for shard in (file for file in folder.rglob("*") if file.is_file()):
        with open(shard, "rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


@pytest.mark.parametrize("format", ["tar", "hdf5", "lmdb", "zip", "mds", "tfrecord"])
def test_a_process_makes_few_metadata_calls_for_a_shard(files, tmp_path, format):
    """For each shard stat, open and fstat, and one stat at the end of the epoch."""
    strace = shutil.which("strace")
    if strace is None:
        pytest.skip("strace is not installed; run apt-get install strace")
    ps.pack(files, tmp_path / "packed", format=format, shard_size=5000, progress=False)
    shards = len(list((tmp_path / "packed").glob("shard-*.idx")))
    assert shards > 80
    not_in_memory(tmp_path / "packed")
    log = tmp_path / "calls"
    run = [strace, "-f", "-y", "-qq", "-o", log, "-e", "trace=%file,fstat,newfstatat,statx,getdents64", sys.executable]
    done = subprocess.run([*run, "-c", EPOCH, tmp_path / "packed"], capture_output=True, text=True)
    if "ptrace" in done.stderr:
        pytest.skip(f"strace: {done.stderr.strip()}; allow ptrace, which containers may forbid")
    assert done.returncode == 0, done.stderr
    calls = collections.Counter()
    for line in log.read_text().splitlines():
        if "resumed>" not in line and (found := re.search(r"packed/(shard-\d+[^\">]*)", line)):
            calls[found[1]] += 1
    of_index = [name for name in calls if name.endswith(".idx")]
    assert not of_index  # penstock.idx has them all
    again = 2 * 64 if " resident: " in done.stdout else 0  # the choice of the engine opened these shards for itself
    assert 3 * shards <= calls.total() <= 4 * shards + again + 8, calls.most_common(3)


def open_files():
    return sum(os.path.exists(f"/proc/self/fd/{number}") for number in os.listdir("/proc/self/fd"))


def test_all_shards_stay_open(files, tmp_path):
    ps.pack(files, tmp_path / "packed", format="tar", shard_size=5000, progress=False)
    before = open_files()
    loader = ps.Loader(tmp_path / "packed", batch_size=8, workers=1)
    assert sum(len(batch["npy"]) for batch in loader) == 120
    assert open_files() - before >= 120
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (4 * 100, hard))
    try:
        limited = ps.Loader(tmp_path / "packed", batch_size=8, workers=1)
        before = open_files()
        assert sum(len(batch["npy"]) for batch in limited) == 120
        assert open_files() - before <= 104  # and the loader's own
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    del loader


def ranks_that_notice(packed, on_disk):
    """Reads an epoch on two ranks, writes to the second shard on the disk, and ends the epoch."""
    epochs = [iter(ps.Loader(packed, batch_size=10, workers=1, rank=rank, world_size=2)) for rank in range(2)]
    for epoch in epochs:
        for _ in range(6):
            next(epoch)
    with open(on_disk / "shard-000001.tar", "r+b") as file:
        file.write(b"another")
    time.sleep(1.2)  # libfuse caches attributes for a second
    found = []
    for rank, epoch in enumerate(epochs):
        try:
            assert next(epoch, None) is None
        except ps.Error as error:
            assert "shard-000001" in str(error)
            found.append(rank)
    return found


def test_the_ranks_divide_the_shards_of_a_network_file_system_to_check(files, tmp_path):
    packed = tmp_path / "packed"
    ps.pack(files, packed, format="tar", shard_size=5000, progress=False)
    with slow_files.mounted(packed, tmp_path / "slow", 0) as slow:
        assert ranks_that_notice(slow, packed) == [1]
    assert ranks_that_notice(packed, packed) == [0, 1]
