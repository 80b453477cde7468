"""Datasets of a web server, in every packing, with every state of the disk cache and several ranks at once: each rank's batches
are those of the local copy."""

import json
import os
import pathlib
import subprocess
import sys

import pytest
from web import Server

import penstock as ps

RANK = pathlib.Path(__file__).with_name("disk_cache_rank.py")
PACKINGS = ("tar", "zip", "tfrecord", "mds", "hdf5", "lmdb")


@pytest.fixture(scope="module")
def packed(images, tmp_path_factory):
    folder = tmp_path_factory.mktemp("packed")
    for packing in PACKINGS:
        ps.pack(images, folder / packing, format=packing, shard_size=1 << 20, progress=False)
    return folder


def ranks_of(world, jobs):
    """What each rank printed; all of them at once."""
    environment = dict(os.environ, PENSTOCK_PUBLISH="0")
    ranks = [
        subprocess.Popen(
            [sys.executable, RANK, str(rank), str(world), json.dumps(jobs)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
        )
        for rank in range(world)
    ]  # fmt: skip
    told = []
    for rank in ranks:
        out, said = rank.communicate(timeout=600)
        assert rank.returncode == 0, said[-2000:]
        told.append(json.loads(out))
    return told


@pytest.mark.parametrize("world", [1, 2, 8])
def test_ranks_have_their_local_rows_with_every_cache(packed, tmp_path, world):
    kept = {
        packing: sum(file.stat().st_size for file in (packed / packing).rglob("*") if file.is_file())
        for packing in PACKINGS
    }
    with Server(packed) as server:
        jobs = []
        for packing in PACKINGS:
            address = f"{server.root}/{packing}"
            caches = {
                "local": {},
                "none": {},
                "cold": {"disk_cache": str(tmp_path / f"{packing}-large")},
                "warm": {"disk_cache": str(tmp_path / f"{packing}-large")},
                "tiny": {
                    "disk_cache": [str(tmp_path / f"{packing}-tiny"), kept[packing] // 4],  # path, limit
                },
            }
            for name, options in caches.items():
                source = str(packed / packing) if name == "local" else address
                jobs.append({"name": f"{packing} {name}", "dataset": source, "options": options})
        for told in ranks_of(world, jobs):
            for packing in PACKINGS:
                local = told[f"{packing} local"]
                assert local["rows"] > 0
                for name in ("none", "cold", "warm", "tiny"):
                    own = told[f"{packing} {name}"]
                    assert own["digest"] == local["digest"], f"{packing}, {name}"
                    assert "cache" not in own["notes"], own["notes"]
        for packing in PACKINGS:
            large, tiny = (bytes_in(tmp_path / f"{packing}-{size}") for size in ("large", "tiny"))
            assert large >= kept[packing] * 0.8  # indexes are not kept there
            assert 0 < tiny <= kept[packing] // 4


def bytes_in(folder):
    """That the file system counts."""
    return sum(file.lstat().st_blocks * 512 for file in [folder, *folder.rglob("*")])
