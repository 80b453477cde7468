"""Epochs over a web server that misbehaves: the rows of the local copy, or one error that names the dataset, with every cache."""

import contextlib
import gc
import os
import pathlib
import random
import sys
import time

import numpy as np
import pytest

# Read when a store is first asked; servers here are never waited for long.
os.environ.update(PENSTOCK_REMOTE_DEADLINE="5", PENSTOCK_REMOTE_STALL="0.5", PENSTOCK_REMOTE_CONNECTIONS="16")

import penstock as ps

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "remote"))
from campaign_of_faults import ALWAYS, LASTING, PASSING
from command import FORMATS
from served import pack_images
from web import Server

OWN = pathlib.Path("/proc/self/comm").read_text().strip()
CACHES = {"none": None, "large": 1 << 30, "tiny": 3 << 20}


@pytest.fixture(scope="module", name="packed")
def packed_fixture(images, tmp_path_factory):
    return pack_images(images, tmp_path_factory.mktemp("packed"))


def rows_of(dataset, **options):
    """Of two epochs."""
    loader = ps.Loader(
        dataset, batch_size=7, shuffle=True, seed=2, transforms={"jpg": ps.raw(), "cls": ps.label()}, **options
    )
    rows = []
    for _ in range(2):
        for batch in loader:
            for key, value, label in zip(batch["__key__"], batch["jpg"], np.asarray(batch["cls"])):
                rows.append((key, np.asarray(value).tobytes(), int(label)))
    return rows


def threads():
    """Of penstock's, which have names of their own; those of servers here are Python's."""
    gc.collect()
    names = []
    for task in os.listdir("/proc/self/task"):
        with contextlib.suppress(OSError):
            names.append(pathlib.Path(f"/proc/self/task/{task}/comm").read_text().strip())
    return sorted(name for name in names if name != OWN)


def faults_of(draw):
    kinds = draw.sample(PASSING, 3) + draw.choice([[], [draw.choice(LASTING)]])
    faults = [f"{kind}@{draw.choice([0.05, 0.2])}{draw.choice(['', ':any'])}" for kind in kinds]
    return "+".join(faults + draw.choice([[], [draw.choice(ALWAYS) + ":any"]]))


@pytest.mark.parametrize("cache", CACHES)
def test_an_epoch_is_right_or_one_error(packed, tmp_path, cache):
    draw, came, struck, before = random.Random(cache), {True: 0, False: 0}, 0, None
    options = (
        {} if CACHES[cache] is None else {"disk_cache": ps.DiskCacheOptions(tmp_path / "cache", limit=CACHES[cache])}
    )
    for round_ in range(4):
        for packing in FORMATS:
            faults = faults_of(draw) if round_ else "latency=0@0.01"
            with Server(packed, seed=draw.randrange(1 << 30)) as server:
                address = f"{server.root}/~{faults}/{packing}"
                began = time.monotonic()
                try:
                    right = rows_of(address, workers=2, **options) == rows_of(packed / packing)
                    assert right, f"other rows: {address}"
                    came[True] += 1
                except ps.Error as error:
                    assert server.root in str(error) and "\n" not in str(error), error
                    came[False] += 1
                assert time.monotonic() - began < 60, address
                struck += server.struck.total()
        before = threads() if before is None else before
    assert threads() == before
    assert came[True] >= len(FORMATS) and came[False] > 0 and struck > 100, (came, struck)


@pytest.mark.parametrize("cache", ["none", "tiny"])
@pytest.mark.parametrize("on_error", ["raise", "replace"])
def test_a_server_that_goes_away_is_an_error_after_its_deadline(packed, tmp_path, cache, on_error):
    caches = (
        {}
        if CACHES[cache] is None
        else {"disk_cache": ps.DiskCacheOptions(str(tmp_path / "cache"), limit=CACHES[cache])}
    )
    with Server(packed) as server:
        dataset = f"{server.root}/tar"
        loader = ps.Loader(dataset, batch_size=16, shuffle=True, workers=1, on_error=on_error,
                           transforms={"jpg": ps.raw(), "cls": ps.label()}, **caches)  # fmt: skip
        next(iter(loader))
    began = time.monotonic()
    with pytest.raises(ps.Error, match="tar") as caught:
        for _ in range(100):
            for _ in loader:
                pass
    assert caught.value.kind == "io"
    # One deadline of 5 s is over for all that wait. The epoch that was left may wait for another one. A deadline for each
    # batch would take minutes.
    assert time.monotonic() - began < 40
