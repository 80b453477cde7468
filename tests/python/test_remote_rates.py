"""What a loader tells of a web server and of the disk cache, to Python and in the reports of the command; and that a loader of a
disk tells nothing of either."""

import json
import re

import numpy as np
import pytest
from command import run
from web import Server, needs_remote

import penstock as ps

pytestmark = needs_remote
SAMPLES = 256


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    random = np.random.default_rng(4)
    samples = [{"__key__": f"{i:04d}", "bin": random.bytes(int(random.integers(36000, 60000)))} for i in range(SAMPLES)]
    ps.pack(iter(samples), folder / "tar", format="tar", progress=False)
    return folder


@pytest.fixture
def server(served, tmp_path, monkeypatch):
    monkeypatch.setenv("PENSTOCK_INDEX_DIR", str(tmp_path / "indexes"))
    with Server(served) as server:
        yield server


def epochs_of(loader, epochs=1):
    for _ in range(epochs):
        for _ in loader:
            pass
    return loader.stats()


def test_requests_bytes_and_rates_of_the_store(server):
    loader = ps.Loader(f"{server.root}/~status=503@0.1/tar", batch_size=32, shuffle=True, workers=2)
    stats = epochs_of(loader)
    store = stats["store"]
    assert store["requests"] > SAMPLES / 2
    assert store["bytes"] >= stats["stored_bytes"] > 0
    assert store["retries"] >= 1 and store["hedges"] == 0
    assert store["connections"] >= 1
    assert store["waited_s"] > 0
    assert store["requests_per_s"] == pytest.approx(store["requests"] / stats["wall_s"])
    assert store["mb_per_s"] == pytest.approx(store["bytes"] / 1e6 / stats["wall_s"])
    assert "disk_cache" not in stats
    assert "\nstore " in str(stats) and "disk cache" not in str(stats)
    assert "store" not in stats["stages"] and "store" not in stats["data_wait_by_stage_s"]
    parts = sum(stats["data_wait_by_stage_s"].values())
    assert parts == pytest.approx(stats["data_wait_s"], abs=1e-3)
    metrics = loader.metrics()
    assert metrics["penstock/store/retries"] >= 1
    assert metrics["penstock/store/mb_per_s"] > 0 and metrics["penstock/store/requests_per_s"] > 0
    loader.reset_stats()
    assert loader.stats()["store"]["retries"] == 0


def test_hits_misses_and_room_of_the_nodes_cache(server, tmp_path):
    loader = ps.Loader(f"{server.root}/tar", batch_size=32, shuffle=True, disk_cache=tmp_path / "cache")
    cold = epochs_of(loader, 2)["disk_cache"]
    assert cold["misses"] > 0 and cold["written_bytes"] > 0 and cold["writing_s"] > 0
    assert cold["dir"] == str(tmp_path / "cache")
    assert 0 < cold["used_bytes"] <= cold["limit_bytes"]
    assert cold["bad"] == cold["bypassed"] == cold["evicted_bytes"] == 0
    loader.reset_stats()
    stats = epochs_of(loader, 2)
    warm = stats["disk_cache"]
    assert warm["misses"] == 0 and warm["hits"] > 0
    # What was fetched ahead before the reset is not read again.
    assert warm["read_bytes"] >= stats["stored_bytes"] / 4 and warm["reading_s"] > 0
    assert stats["store"]["requests"] == 0
    assert "\ndisk cache " in str(stats)
    metrics = loader.metrics()
    assert metrics["penstock/disk_cache/hits"] == 1
    assert metrics["penstock/disk_cache/read_mb_per_s"] > 0


def test_a_loader_of_a_disk_tells_of_neither(served, tmp_path):
    loader = ps.Loader(served / "tar", batch_size=32, disk_cache=tmp_path / "cache")
    stats = epochs_of(loader)
    assert "store" not in stats and "disk_cache" not in stats
    assert "\nstore " not in str(stats) and "\ndisk cache " not in str(stats)
    assert not [name for name in loader.metrics() if "/store/" in name or "/disk_cache/" in name]


def bench(*words):
    return json.loads(run("bench", *words, "--seconds", "0.4", "--rounds", "1", "--json", "-").stdout)


def test_bench_fills_the_cache_that_it_is_given_and_reports_it(server, served, tmp_path):
    address, cache = f"{server.root}/tar", tmp_path / "cache"
    (row,) = bench(address, "--workers", "1")["rows"]
    assert row["store"]["requests"] > 0 and row["store"]["mb_per_s"] > 0
    assert "disk_cache" not in row
    (row,) = bench(address, "--workers", "1", "--disk-cache", cache, "--disk-cache-limit", "100MiB")["rows"]
    assert row["disk_cache"]["dir"] == str(cache)
    assert row["disk_cache"]["limit_bytes"] == 100 << 20
    assert row["disk_cache"]["hits"] > 0 and row["disk_cache"]["misses"] == 0
    assert row["store"]["requests"] == 0
    (row,) = bench(served / "tar", "--workers", "1", "--disk-cache", cache)["rows"]
    assert "store" not in row and "disk_cache" not in row
    text = run("bench", address, "--seconds", "0.4", "--workers", "1", "--disk-cache", cache).stdout.decode()
    assert "  store: " in text and "  disk cache: 100 % of " in text
    cold = tmp_path / "cold"
    bench(address, "--workers", "1", "--disk-cache", cold, "--cold")
    (row,) = json.loads(run("tune", address, "--seconds", "0.2", "--workers", "1", "--prefetch", "2", "--disk-cache",
                            cold, "--json", "-").stdout)["rows"]  # fmt: skip
    assert row["disk_cache"]["misses"] == 0


def test_the_verdict_names_a_block_shuffle_and_the_cache(server, tmp_path):
    address = f"{server.root}/~latency=0.05/tar"
    for _ in range(5):  # on a loaded machine something else may bind
        loader = ps.Loader(address, batch_size=64, shuffle=True, workers=2)
        for _ in range(3):
            stats = epochs_of(loader)
        if stats["verdict"]["binds"].startswith("storage"):
            break
    verdict = stats["verdict"]
    assert verdict["binds"].startswith("storage"), verdict
    names = r"shuffle=ps.shuffle.blocks\(\d+\) instead of a full shuffle makes one request for about \d+ samples instead of \d+"
    assert re.search(names, verdict["text"]), verdict
    assert "disk_cache" in verdict["text"]
    with_blocks = ps.Loader(address, batch_size=64, shuffle=ps.shuffle.blocks(4), workers=2)
    blocks = epochs_of(with_blocks, 3)
    assert "shuffle.blocks" not in blocks["verdict"]["text"]
    per_sample = [told["store"]["requests"] / (told["samples"] + 256) for told in (stats, blocks)]  # it reads ahead
    assert per_sample[1] < 0.45 * per_sample[0]


def test_bench_names_what_it_can_tell_of_blocks_and_caches(server, tmp_path):
    address = f"{server.root}/~latency=0.05/tar"
    advice = bench(address, "--batch-size", "64", "--workers", "2")["advice"][0]
    told = [gain["text"] for gain in advice["gains"]] + advice["untold"]
    assert any(line.startswith("shuffle_block") for line in told), told
    assert any(line.startswith("disk_cache: no prediction") for line in advice["untold"]), told
    assert not any(line.startswith("direct_io") for line in told)
    small = bench(address, "--batch-size", "16", "--workers", "2")["advice"][0]
    assert any("fewer than 32 rows join no reads" in line for line in small["untold"]), small
    cached = bench(address, "--batch-size", "64", "--workers", "2", "--disk-cache", tmp_path / "cache")["advice"][0]
    assert not any("disk_cache" in line for line in cached["untold"])
