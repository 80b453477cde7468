"""Datasets on storage that many nodes share: threads read network file systems, and few calls ask for metadata."""

import collections
import re
import shutil
import subprocess
import sys

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
"""


@pytest.mark.parametrize("format", ["tar", "hdf5", "lmdb", "zip", "mds", "tfrecord"])
def test_a_process_makes_few_metadata_calls_for_a_shard(files, tmp_path, format):
    """For each shard stat, open and fstat; one stat at the end of the epoch; at most 64 shards are probed once more."""
    strace = shutil.which("strace")
    if strace is None:
        pytest.skip("strace is not installed; run apt-get install strace")
    ps.pack(files, tmp_path / "packed", format=format, shard_size=5000, progress=False)
    shards = len(list((tmp_path / "packed").glob("shard-*.idx")))
    assert shards > 80
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
    assert 3 * shards <= calls.total() <= 4 * shards + 2 * 64 + 8, calls.most_common(3)
