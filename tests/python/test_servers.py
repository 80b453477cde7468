"""Loaders whose batches `penstock serve` fills: the same bytes, states, own functions, and servers that end."""

import os
import re
import signal
import subprocess

import numpy as np
import penstock as ps
import pytest
from command import COMMAND
from loading import lines_of, shuffled, write_numbers

TOKEN = "a token of the tests"


@pytest.fixture(autouse=True)
def token(monkeypatch):
    monkeypatch.setenv("PENSTOCK_TOKEN", TOKEN)


@pytest.fixture
def folder(tmp_path):
    return write_numbers(tmp_path / "data", 50)


class Server:
    def __init__(self, *words):
        command = [COMMAND, "serve", *map(str, words)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.line = self.process.stderr.readline()
        self.address = re.search(r"at (\S+)$", self.line)[1]

    def end(self, number=signal.SIGINT):
        self.process.send_signal(number)
        return self.process.communicate(timeout=60)[0]


@pytest.fixture
def server(folder):
    serves = Server(folder, "--workers", 2)
    yield serves
    serves.end(signal.SIGKILL)


def test_a_server_fills_batches_and_says_what_it_did(folder, server):
    wanted = lines_of(ps.Loader(folder, **shuffled()))
    loader = ps.Loader(folder, **shuffled(servers=[server.address]))
    assert lines_of(loader) == wanted
    servers = loader.stats()["servers"]
    assert servers["filled_without_server"] == 0
    assert servers["each"][0].items() >= {"address": server.address, "ready": True, "problem": ""}.items()
    assert servers["each"][0]["batches"] >= len(wanted)
    loader.close()
    assert "50 samples" in server.line
    assert re.fullmatch(r"filled \d+ batches of \d+ rows, .*; refused 0 connections\n", server.end())


def test_own_functions_run_in_the_loader(folder, server):
    own = {"npy": ps.array.decode() | ps.transform(lambda values: values * 2 + os.getpid() * 0), "cls": ps.label()}
    more = {
        "transforms": own,
        "batch_transform": lambda batch: (list(batch["__key__"]), np.asarray(batch["npy"]).sum()),
    }
    wanted = [batch for batch in ps.Loader(folder, **shuffled(**more))]
    loader = ps.Loader(folder, **shuffled(servers=ps.ServersOptions([server.address], patience=5), **more))
    assert [batch for batch in loader] == wanted
    assert loader.stats()["servers"]["filled_without_server"] == 0


def test_a_state_goes_on_with_or_without_servers(folder, server):
    wanted = lines_of(ps.Loader(folder, **shuffled()))
    first = ps.Loader(folder, **shuffled(servers=[server.address]))
    batches = iter(first)
    for _ in range(5):
        next(batches)
    state = first.state_dict()
    second = ps.Loader(folder, **shuffled())
    second.load_state_dict(state)
    assert lines_of(second, 1) == wanted[5:13]
    third = ps.Loader(folder, **shuffled(servers=[server.address]))
    third.load_state_dict(state)
    assert lines_of(third, 1) == wanted[5:13]


def test_a_killed_server_changes_nothing(folder, server):
    wanted = lines_of(ps.Loader(folder, **shuffled()), 60)
    loader, got = ps.Loader(folder, **shuffled(servers=[server.address])), []
    for epoch in range(60):
        got += lines_of(loader, 1)
        if epoch == 1:
            server.end(signal.SIGKILL)
    assert got == wanted
    servers = loader.stats()["servers"]
    assert servers["filled_without_server"] > 0 and not servers["each"][0]["ready"]


def test_what_servers_cannot_do_is_refused(folder, monkeypatch):
    mixture = ps.mixture({"a": ps.open(folder), "b": ps.open(folder)}, weights={"a": 1, "b": 1})
    with pytest.raises(ps.Error, match="a mixture has several datasets"):
        ps.Loader(mixture, **shuffled(servers=["127.0.0.1:1"]))
    with pytest.raises(ps.Error, match="HOST:PORT"):
        ps.Loader(folder, **shuffled(servers=["node7"]))
    monkeypatch.delenv("PENSTOCK_TOKEN")
    with pytest.raises(ps.Error, match="PENSTOCK_TOKEN"):
        ps.Loader(folder, **shuffled(servers=["127.0.0.1:1"]))
    done = subprocess.run([COMMAND, "serve", folder], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "PENSTOCK_TOKEN" in done.stderr


def test_a_token_is_in_no_text(folder):
    loader = ps.Loader(folder, **shuffled(servers=["127.0.0.1:1"]))
    shown = repr(ps.ServersOptions(["127.0.0.1:1"], token=TOKEN)) + repr(loader.stats()) + repr(loader.state_dict())
    assert TOKEN not in shown
