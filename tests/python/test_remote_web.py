"""Datasets on a web server, read as what they were when they were opened: each object in one state, or an error that names it."""

import functools
import http.server
import io
import json
import pathlib
import re
import tarfile
import threading

import numpy as np
import pytest
from command import FORMATS, fails, run
from served import pack_images
from web import Server, log_of

import penstock as ps


@pytest.fixture(scope="module", name="packed")
def packed_fixture(images, tmp_path_factory):
    return pack_images(images, tmp_path_factory.mktemp("packed"))


@pytest.fixture(name="server")
def server_fixture(packed):
    with Server(packed) as server:
        yield server


def state_of(dataset):
    """Its classes, and what tells it from other datasets."""
    dataset = ps.open(dataset) if isinstance(dataset, str | pathlib.Path) else dataset
    return len(dataset), dataset.classes, dataset.keys, ps.Loader(dataset).state_dict()["dataset"]


def rows_of(dataset, **options):
    loader = ps.Loader(
        dataset, batch_size=7, shuffle=True, seed=2, transforms={"jpg": ps.raw(), "cls": ps.label()}, **options
    )
    rows = []
    for batch in loader:
        for key, value, label in zip(batch["__key__"], batch["jpg"], np.asarray(batch["cls"])):
            rows.append((key, np.asarray(value).tobytes(), int(label)))
    return rows


@pytest.mark.parametrize("packing", FORMATS)
def test_a_packed_dataset_is_its_local_copy(packed, server, packing):
    local, remote = ps.open(packed / packing), ps.open(f"{server.root}/{packing}")
    assert state_of(remote) == state_of(local)
    assert rows_of(remote) == rows_of(local)
    assert rows_of(f"{server.root}/{packing}", workers=3, on_error="replace") == rows_of(local)


@pytest.mark.parametrize("pattern", ["train-{0..2}.tar", "train-{0..2}.zip"])
def test_shards_of_others_are_indexed_by_ranges(tmp_path, monkeypatch, pattern):
    import zipfile

    monkeypatch.setenv("PENSTOCK_INDEX_DIR", str(tmp_path / "indexes"))
    served = tmp_path / "served"
    served.mkdir()
    draw = np.random.default_rng(1)
    for shard in range(3):
        name = served / pattern.replace("{0..2}", str(shard))
        values = {f"{shard}{number:03}": draw.bytes(20_000) for number in range(40)}
        if name.suffix == ".tar":
            with tarfile.open(name, "w") as out:
                for key, value in values.items():
                    member = tarfile.TarInfo(key + ".bin")
                    member.size = len(value)
                    out.addfile(member, io.BytesIO(value))
        else:
            with zipfile.ZipFile(name, "w") as out:
                for key, value in values.items():
                    out.writestr(key + ".bin", value)
    local = ps.open(served / pattern)
    with Server(served) as server:
        remote = ps.open(f"{server.root}/{pattern}")
        assert state_of(remote) == state_of(local)
        fields = {"bin": ps.raw()}
        rows = [
            [
                (key, np.asarray(value).tobytes())
                for batch in loader
                for key, value in zip(batch["__key__"], batch["bin"])
            ]
            for loader in (ps.Loader(local, transforms=fields), ps.Loader(remote, transforms=fields))
        ]
        assert rows[0] == rows[1]
        before = len(log_of(server))
        assert len(ps.open(f"{server.root}/{pattern}")) == len(local)
        again = len(log_of(server)) - before
        assert again <= 10, "the kept indexes are proved, not made again"


@pytest.mark.parametrize("cache", [False, True])
def test_an_object_that_is_replaced_while_it_is_read_is_an_error(packed, tmp_path, cache):
    served = tmp_path / "served"
    ps.pack(ps.open(packed / "tar"), served, format="tar", shard_size=1 << 20, progress=False)
    options = {"disk_cache": tmp_path / "cache"} if cache else {}
    with Server(tmp_path) as server:
        loader = ps.Loader(
            f"{server.root}/served", batch_size=4, shuffle=True, transforms={"jpg": ps.raw()}, prefetch=1, **options
        )
        batches = iter(loader)
        next(batches)
        for shard in served.glob("*.tar"):
            content = bytearray(shard.read_bytes())
            shard.unlink()
            shard.write_bytes(content)  # another file: its ETag is another one, its bytes are not
        with pytest.raises(ps.Error) as error:
            for _ in range(20):
                for _ in loader:
                    pass
                if cache:  # what was kept of its first state may be all that is wanted
                    pytest.skip("all of it was kept before it was replaced; run this test alone")
        assert "changed while it was read" in str(error.value)
        assert "shard-0" in str(error.value)


def test_what_is_not_there_is_named(server):
    for place, words in {"/none": "none", "/tar/none.tar": "none.tar"}.items():
        with pytest.raises(ps.Error) as error:
            ps.open(server.root + place)
        assert words in str(error.value)


def test_secrets_of_an_address_are_not_shown(packed, server):
    secret = "s3cr3t"
    address = f"{server.root.replace('//', '//user:' + secret + '@')}/tar?token={secret}"
    dataset = ps.open(address)
    loader = ps.Loader(dataset, transforms={"jpg": ps.raw()})
    next(iter(loader))
    for told in (repr(dataset), str(dataset.path), json.dumps(loader.state_dict()), repr(loader), str(loader.stats())):
        assert secret not in told
    with pytest.raises(ps.Error) as error:
        ps.open(address.replace("/tar?", "/none?"))
    assert secret not in str(error.value)


def test_doctor_asks_a_server(packed, server):
    told = run("doctor", f"{server.root}/tar").stdout.decode()
    assert "libcurl" in told and "certificates" in told
    assert "sent without credentials" in told and "found a dataset packed by penstock" in told
    assert "found no dataset packed by penstock" in run("doctor", server.root).stdout.decode()
    secret = server.root.replace("http://", "http://user:a-password@") + "/tar"
    told = run("doctor", secret).stdout.decode()
    assert "sent with user and password" in told and "a-password" not in told
    with Server(packed, seed=1) as refusing:
        told = fails("doctor", f"{refusing.root}/~status=403:any/tar")
    assert "403" in told


def test_doctor_measures_a_server(server):
    address = f"{server.root.replace('//', '//user:a-password@')}/tar"
    told = run("doctor", "--bandwidth", address).stdout.decode()
    assert "a-password" not in told and not re.search(r"^(disk|page cache) ", told, re.MULTILINE)
    assert float(re.search(r"^store +([\d.]+) ", told, re.MULTILINE)[1]) > 0


def test_a_folder_of_others_on_a_web_server_is_refused_in_words(tmp_path):
    (tmp_path / "others").mkdir()
    serve = functools.partial(http.server.SimpleHTTPRequestHandler, directory=tmp_path)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), serve) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with pytest.raises(ps.Error, match="web servers cannot list files: name the shards"):
            ps.open(f"http://127.0.0.1:{server.server_port}/others")
        server.shutdown()
