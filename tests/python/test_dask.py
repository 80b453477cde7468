"""Packing on a Dask cluster: two worker processes, which fail, die and are stopped."""

import os
import signal

import pytest

distributed = pytest.importorskip("distributed")

import penstock as ps
from command import bytes_of, run

SMALL = {"shard_size": 100_000, "progress": False}


@pytest.fixture(name="cluster", scope="module")
def cluster_fixture(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dask")
    cluster = distributed.LocalCluster(
        processes=True, n_workers=2, threads_per_worker=1, dashboard_address=None, local_directory=str(folder)
    )
    yield cluster
    cluster.close()


@pytest.fixture(name="client")
def client_fixture(cluster):
    with distributed.Client(cluster) as client:
        client.wait_for_workers(2)
        yield client


def verify(dataset, source):
    run("verify", dataset, "--against", source)


def partial(destination):
    return destination.with_name(destination.name + ".partial")


@pytest.mark.parametrize("format", ["tar", "lmdb", "hdf5"])
def test_workers_pack_what_ranks_pack(client, icons, tmp_path, format):
    told = ps.dask.pack(client, icons, tmp_path / "dask", format=format, **SMALL)
    assert told["samples"] == 500 and told["skipped"] == 0 and told["parts"] == 2
    assert told["shards"] == len(list((tmp_path / "dask").glob("shard-*.idx"))) > 5
    verify(tmp_path / "dask", icons)
    for rank in range(3):
        ps.pack(icons, tmp_path / "ranks", format=format, rank=rank, world=3, **SMALL)
    assert ps.finish_pack(tmp_path / "ranks")["samples"] == 500
    assert bytes_of(tmp_path / "ranks") == bytes_of(tmp_path / "dask")


def test_workers_store_pixels(client, icons, tmp_path):
    ps.dask.pack(client, icons, tmp_path / "dask", format="tar", decode=16, **SMALL)
    verify(tmp_path / "dask", icons)
    assert len(ps.open(tmp_path / "dask")[7]["png"]) == 16 * 16 * 3


def test_progress_reaches_the_client(client, icons, tmp_path, capsys):
    seen = []
    ps.dask.pack(
        client,
        icons,
        tmp_path / "set",
        format="tar",
        parts=4,
        shard_size=100_000,
        progress=lambda samples, total, nbytes: seen.append((samples, total, nbytes)),
    )
    assert seen[-1][:2] == (500, 500) and seen[-1][2] > 500_000
    assert [s[0] for s in seen] == sorted(s[0] for s in seen)
    bar = ps._progress.Bar("packing")
    bar._shown = -100.0
    bar.doing = "packing, 1 of 4 parts done"
    bar(100, 500, 1000)
    assert "1 of 4 parts done  100/500 samples" in capsys.readouterr().err


def damage(icons, folder):
    """The icons packed, and one of them damaged; and its key."""
    ps.pack(icons, folder, format="tar", progress=False)
    key = ps.open(folder)[400].key
    shard = folder / "shard-000000.tar"
    content = bytearray(shard.read_bytes())
    content[content.index(f"{key}.png\0".encode()) + 512 + 100] ^= 1
    shard.write_bytes(content)
    return key


def test_a_failure_names_part_machine_and_sample_and_can_be_mended(client, icons, tmp_path):
    key = damage(icons, tmp_path / "source")
    with pytest.raises(ps.Error, match=rf"part [0-3] of 4 on .*tcp://.*{key}") as caught:
        ps.dask.pack(client, tmp_path / "source", tmp_path / "set", format="tar", parts=4, **SMALL)
    assert caught.value.kind == "corrupt" and caught.value.key == key and caught.value.field == "png"
    assert not (tmp_path / "set").exists()
    with pytest.raises(ps.Error, match="resume=True to continue it"):
        ps.dask.pack(client, tmp_path / "source", tmp_path / "set", format="tar", **SMALL)
    with pytest.raises(ps.Error, match="other options"):
        ps.dask.pack(client, tmp_path / "source", tmp_path / "set", format="tar", resume=True, on_error="skip", **SMALL)
    told = ps.dask.pack(
        client,
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
        ps.dask.pack(client, tmp_path / "source", tmp_path / "set", format="tar", **SMALL)


def test_a_worker_that_dies_is_replaced_and_its_part_resumed(client, icons, tmp_path):
    killed = []

    def kill(_samples, _total, _nbytes):
        if not killed:
            killed.append(next(iter(client.run(os.getpid).values())))
            os.kill(killed[0], signal.SIGKILL)

    told = ps.dask.pack(client, icons, tmp_path / "set", format="lmdb", parts=6, shard_size=50_000, progress=kill)
    assert killed and told["samples"] == 500
    verify(tmp_path / "set", icons)


def test_ctrl_c_stops_all_parts_and_a_resume_finishes(client, icons, tmp_path):
    def interrupt(_samples, _total, _nbytes):
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        ps.dask.pack(client, icons, tmp_path / "set", format="hdf5", parts=5, shard_size=20_000, progress=interrupt)
    assert not (tmp_path / "set").exists()
    assert not any(client.processing().values())
    if not partial(tmp_path / "set").exists():
        pytest.skip("nothing was begun before the signal came; run this test alone")
    told = ps.dask.pack(client, icons, tmp_path / "set", format="hdf5", shard_size=20_000, resume=True, progress=False)
    assert told["samples"] == 500 and told["parts"] == 5
    verify(tmp_path / "set", icons)


def test_a_missing_source_is_the_error_of_a_local_open(client, tmp_path):
    with pytest.raises(ps.Error, match="missing"):
        ps.dask.pack(client, tmp_path / "missing", tmp_path / "set", format="tar", progress=False)
    assert os.listdir(tmp_path) == []
