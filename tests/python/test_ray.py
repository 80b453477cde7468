"""Packing on a Ray cluster: two worker processes, which fail, die and are stopped."""

import os
import signal

import pytest

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
ray = pytest.importorskip("ray")

import penstock as ps
from command import bytes_of, run

SMALL = {"shard_size": 100_000, "progress": False}


@pytest.fixture(name="_cluster", scope="module", autouse=True)
def cluster_fixture():
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=80 << 20)
    yield
    ray.shutdown()


@pytest.mark.parametrize("format", ["tar", "lmdb", "hdf5"])
def test_workers_pack_what_ranks_pack(icons, tmp_path, format):
    told = ps.ray.pack(icons, tmp_path / "ray", format=format, **SMALL)
    assert told["samples"] == 500 and told["skipped"] == 0 and told["parts"] == 2
    assert told["shards"] == len(list((tmp_path / "ray").glob("shard-*.idx"))) > 5
    run("verify", tmp_path / "ray", "--against", icons)
    for rank in range(3):
        ps.pack(icons, tmp_path / "ranks", format=format, rank=rank, world=3, **SMALL)
    assert ps.finish_pack(tmp_path / "ranks")["samples"] == 500
    assert bytes_of(tmp_path / "ranks") == bytes_of(tmp_path / "ray")


def test_progress_reaches_the_program(icons, tmp_path):
    seen = []
    ps.ray.pack(
        icons,
        tmp_path / "set",
        format="tar",
        parts=4,
        shard_size=100_000,
        progress=lambda samples, total, nbytes: seen.append((samples, total, nbytes)),
    )
    assert seen[-1][:2] == (500, 500) and seen[-1][2] > 500_000
    assert [s[0] for s in seen] == sorted(s[0] for s in seen)


def damage(icons, folder):
    """The icons packed, and one of them damaged; and its key."""
    ps.pack(icons, folder, format="tar", progress=False)
    key = ps.open(folder)[400].key
    shard = folder / "shard-000000.tar"
    content = bytearray(shard.read_bytes())
    content[content.index(f"{key}.png\0".encode()) + 512 + 100] ^= 1
    shard.write_bytes(content)
    return key


def test_a_failure_names_part_machine_and_sample_and_can_be_mended(icons, tmp_path):
    key = damage(icons, tmp_path / "source")
    with pytest.raises(ps.Error, match=rf"part [0-3] of 4 on .*process \d+.*{key}") as caught:
        ps.ray.pack(tmp_path / "source", tmp_path / "set", format="tar", parts=4, **SMALL)
    assert caught.value.kind == "corrupt" and caught.value.key == key and caught.value.field == "png"
    assert not (tmp_path / "set").exists()
    with pytest.raises(ps.Error, match="resume=True to continue it") as caught:
        ps.ray.pack(tmp_path / "source", tmp_path / "set", format="tar", **SMALL)
    assert caught.value.kind == "invalid_argument"
    told = ps.ray.pack(
        tmp_path / "source",
        tmp_path / "set",
        format="tar",
        overwrite=True,
        on_error="skip",
        report=tmp_path / "report.jsonl",
        **SMALL,
    )
    assert told["samples"] == 499 and told["skipped"] == 1
    assert key in (tmp_path / "report.jsonl").read_text()
    with pytest.raises(ps.Error, match="already exists"):
        ps.ray.pack(tmp_path / "source", tmp_path / "set", format="tar", **SMALL)


def test_a_worker_that_dies_is_replaced_and_its_part_resumed(icons, tmp_path):
    @ray.remote(num_cpus=0)
    def kill_a_packer():
        import psutil

        for process in psutil.process_iter(["cmdline"]):
            if any("_pack_part" in word for word in process.info["cmdline"] or []):
                os.kill(process.pid, signal.SIGKILL)
                return process.pid
        return None

    killed = []

    def kill(_samples, _total, _nbytes):
        if not killed or killed[-1] is None:
            killed.append(ray.get(kill_a_packer.remote()))

    told = ps.ray.pack(icons, tmp_path / "set", format="lmdb", parts=12, shard_size=30_000, progress=kill)
    assert told["samples"] == 500
    run("verify", tmp_path / "set", "--against", icons)
    if not any(killed):
        pytest.skip("the parts were packed before one could be killed; run this test alone")


def test_ctrl_c_stops_all_parts_and_a_resume_finishes(icons, tmp_path):
    def interrupt(_samples, _total, _nbytes):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ps.ray.pack(icons, tmp_path / "set", format="hdf5", parts=5, shard_size=20_000, progress=interrupt)
    assert not (tmp_path / "set").exists()
    told = ps.ray.pack(icons, tmp_path / "set", format="hdf5", parts=5, shard_size=20_000, resume=True, progress=False)
    assert told["samples"] == 500 and told["parts"] == 5
    run("verify", tmp_path / "set", "--against", icons)


def test_a_missing_source_is_the_error_of_a_local_open(tmp_path):
    with pytest.raises(ps.Error, match="missing"):
        ps.ray.pack(tmp_path / "missing", tmp_path / "set", format="tar", progress=False)
    assert os.listdir(tmp_path) == []


def test_workers_of_ray_train_on_what_was_packed(icons, tmp_path):
    """Each rank is an actor: all of them together deliver every sample once."""
    ps.ray.pack(icons, tmp_path / "set", format="tar", **SMALL)

    @ray.remote(num_cpus=1)
    def keys(path, rank, world):
        loader = ps.Loader(
            path,
            batch_size=16,
            shuffle=True,
            seed=0,
            rank=rank,
            world_size=world,
            workers=1,
            transforms={"cls": ps.label()},
        )
        return [key for batch in loader for key, valid in zip(batch["__key__"], batch["__valid__"]) if valid]

    of_ranks = ray.get([keys.remote(str(tmp_path / "set"), rank, 2) for rank in range(2)])
    together = sorted(key for of_rank in of_ranks for key in of_rank)
    assert together == sorted(sample.key for sample in ps.open(tmp_path / "set"))
