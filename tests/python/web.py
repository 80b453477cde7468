"""What tests of datasets on web servers share: the server that misbehaves when asked to, and whether there is a library to ask it."""

import json
import os
import pathlib
import sys
import urllib.request

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "remote"))
from server import Server

__all__ = ["PROBE", "Server", "log_of", "needs_remote"]

PROBE = os.environ.get("PENSTOCK_REMOTE_PROBE")
needs_remote = pytest.mark.skipif(
    not PROBE, reason="this build has no remote_probe; install libcurl4-openssl-dev and build again"
)


def log_of(server):
    """The requests that it was sent."""
    with urllib.request.urlopen(server.root + "/_log") as answer:
        return json.load(answer)
