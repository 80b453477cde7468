"""Datasets on a web server are those of the local copy, to Python and to the command, with few requests."""

import pathlib
import pickle
import shutil
import urllib.request

import numpy as np
import pytest
from command import fails, run
from web import Server, log_of, needs_remote

import penstock as ps

pytestmark = needs_remote
SAMPLES = 64


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A folder with the same samples in each packing, and in one of others."""
    folder = tmp_path_factory.mktemp("served")
    random = np.random.default_rng(3)
    samples = [
        {"__key__": f"{i:04d}", "bin": random.bytes(int(random.integers(1000, 4000))), "cls": str(i % 3)}
        for i in range(SAMPLES)
    ]
    for name in ("tar", "zip", "tfrecord", "mds", "hdf5", "lmdb"):
        ps.pack(iter(samples), folder / name, format=name, shard_size=49152, progress=False)
    (folder / "others").mkdir()
    for name in ("tar", "zip", "tfrecord", "hdf5"):
        for shard in sorted((folder / name).glob("shard-*")):
            if shard.suffix != ".idx":
                shutil.copy(shard, folder / "others" / shard.name)
    return folder


@pytest.fixture
def server(served, tmp_path, monkeypatch):
    monkeypatch.setenv("PENSTOCK_INDEX_DIR", str(tmp_path / "indexes"))
    with Server(served) as server:
        yield server


def requests_of(server, work):
    urllib.request.urlopen(server.root + "/_clear").close()
    work()
    return [each for each in log_of(server) if "/_" not in str(each)]


def digest(source):
    loader = ps.Loader(source, batch_size=8, shuffle=True, seed=5, drop_last=True)
    return [(list(batch["__key__"]), [np.asarray(value).tobytes() for value in batch["bin"]]) for batch in loader]


FORMATS = ["tar", "zip", "tfrecord", "mds", "hdf5", "lmdb"]


@pytest.mark.parametrize("name", FORMATS)
def test_batches_are_those_of_the_local_copy(name, server, served):
    address = f"{server.root}/{name}"
    remote, local = ps.open(address), ps.open(served / name)
    assert len(remote) == SAMPLES
    assert digest(remote) == digest(local)


@pytest.mark.parametrize("name", FORMATS)
def test_two_requests_open_a_packed_dataset_and_one_the_next_time(name, server):
    address = f"{server.root}/{name}"
    assert len(requests_of(server, lambda: ps.open(address))) == 2
    assert len(requests_of(server, lambda: ps.open(address))) == 1


@pytest.mark.parametrize("ending", ["tar", "zip", "tfrecord", "h5"])
def test_shards_of_others_by_numbers_in_braces(ending, server, served):
    ending = {"h5": next((served / "others").glob("shard-000000.h*5")).suffix[1:]}.get(ending, ending)
    last = len(list((served / "others").glob(f"*.{ending}"))) - 1
    assert last > 0
    pattern = f"others/shard-{{000000..{last:06d}}}.{ending}"
    remote, local = ps.open(f"{server.root}/{pattern}"), ps.open(served / pattern)
    assert digest(remote) == digest(local)
    reads = requests_of(server, lambda: ps.open(f"{server.root}/{pattern}"))
    assert len(reads) <= 2 * (last + 1) + 1
    with pytest.raises(ps.Error, match="web servers cannot list files"):
        ps.open(f"{server.root}/others/*.{ending}")


def test_paths_pickles_and_states(server, served):
    address = f"{server.root}/tar"
    assert len(ps.open(pathlib.Path(address))) == SAMPLES
    dataset = ps.open(address)
    assert digest(pickle.loads(pickle.dumps(dataset))) == digest(served / "tar")
    options = {"batch_size": 8, "shuffle": True, "seed": 1}
    here, there = ps.Loader(served / "tar", **options), ps.Loader(address, **options)
    rest = iter(here)
    next(rest)
    state = here.state_dict()
    there.load_state_dict(state)
    assert [list(b["__key__"]) for b in there] == [list(b["__key__"]) for b in rest]


def test_the_command_takes_addresses(server, served):
    address = f"{server.root}/tar"
    assert str(SAMPLES) in run("info", address).stdout.decode()
    assert run("ls", address).stdout == run("ls", served / "tar").stdout
    assert run("cat", address, "0003.cls").stdout == run("cat", served / "tar", "0003.cls").stdout


def test_what_is_absent_or_refused_is_one_error(server):
    with pytest.raises(ps.Error, match="No such file") as raised:
        ps.open(f"{server.root}/absent")
    assert raised.value.dataset == f"{server.root}/absent"
    with pytest.raises(ps.Error, match="403"):
        ps.open(f"{server.root}/~status=403:any/tar")
    assert "No such file" in fails("info", f"{server.root}/absent.tar")


def test_a_name_and_a_password_are_not_shown(server):
    address = f"{server.root}/tar".replace("http://", "http://user:secret@")
    dataset = ps.open(address)
    assert "secret" not in str(dataset.path) + repr(dataset)
    with pytest.raises(ps.Error) as raised:
        ps.open(address.replace("/tar", "/absent?token=hidden"))
    assert "secret" not in str(raised.value) and "hidden" not in str(raised.value)
