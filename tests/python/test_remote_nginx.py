"""A web server that others wrote: nginx over TLS, whose certificate is verified, and whose ranges are a dataset's bytes."""

import collections
import json
import os
import shutil
import subprocess
import sys
import time

import pytest
from certificates import Authority
from command import run
from served import digest_of_epoch
from stores import free_port
from web import PROBE, needs_remote

PACKINGS = ("tar", "hdf5", "mds")
UNPACKED = f"{sys.prefix}/nginx/usr/sbin"  # by scripts/python_environment.sh
NGINX = shutil.which("nginx", path=os.pathsep.join([os.environ["PATH"], "/usr/sbin", UNPACKED]))
pytestmark = [
    needs_remote,
    pytest.mark.skipif(not NGINX, reason="nginx is not installed; apt-get install nginx"),
]
CONFIGURATION = """
{user} worker_processes 1; pid {folder}/pid; error_log {folder}/error.log; daemon off;
events {{ worker_connections 256; }}
http {{
  log_format told '$connection $status $request_method $uri $http_range';
  access_log {folder}/access.log told; keepalive_requests 100000; keepalive_timeout 60s;
  client_body_temp_path {folder}/tmp; proxy_temp_path {folder}/tmp; fastcgi_temp_path {folder}/tmp;
  uwsgi_temp_path {folder}/tmp; scgi_temp_path {folder}/tmp;
  server {{ listen 127.0.0.1:{port} ssl; ssl_certificate {certificate}; ssl_certificate_key {key}; root {root}; }}
}}
"""


class Nginx:
    def __init__(self, folder, root, pair):
        self.folder, port = folder, free_port()
        self.address = f"https://127.0.0.1:{port}"
        configuration = folder / "nginx.conf"
        user = "user root;" if os.getuid() == 0 else ""
        configuration.write_text(
            CONFIGURATION.format(user=user, folder=folder, root=root, port=port, certificate=pair[0], key=pair[1])
        )
        self.process = subprocess.Popen(  # pylint: disable=consider-using-with
            [NGINX, "-c", configuration, "-p", folder], stderr=subprocess.DEVNULL
        )
        for _ in range(50):
            if (folder / "pid").exists() or self.process.poll() is not None:
                break
            time.sleep(0.1)
        if self.process.poll() is not None:
            raise AssertionError("nginx does not start: " + (folder / "error.log").read_text()[-300:])

    def requests(self):
        """[connection, status, method, path, range] of each."""
        lines = (self.folder / "access.log").read_text().splitlines()
        return [line.split(" ", 4) for line in lines]

    def end(self):
        self.process.terminate()
        self.process.wait(20)


@pytest.fixture(scope="module", name="packed")
def packed_fixture(images, tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    for packing in PACKINGS:
        run("pack", images, folder / packing, "--format", packing, "--shard-size", "1MB")
    return folder


@pytest.fixture(scope="module", name="authority")
def authority_fixture(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(name="nginx")
def nginx_fixture(packed, authority, tmp_path):
    server = Nginx(tmp_path, packed, authority.made("nginx", "IP:127.0.0.1"))
    yield server
    server.end()


def surroundings(**more):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SSL_", "CURL_"))}
    return {**kept, "PENSTOCK_REMOTE_DEADLINE": "20", **{name: str(value) for name, value in more.items()}}


def test_digests_over_tls_are_those_of_the_local_files(nginx, packed, authority):
    for packing in PACKINGS:
        local = digest_of_epoch(packed / packing, "jpg", surroundings())
        assert digest_of_epoch(f"{nginx.address}/{packing}", "jpg", surroundings(SSL_CERT_FILE=authority.file)) == local
    asked = nginx.requests()
    assert {status for _, status, *_ in asked} <= {"200", "206", "404"}
    assert sum(one[4].startswith("bytes=") for one in asked) > 60


def test_a_certificate_of_nobody_that_is_trusted_is_refused(nginx, authority, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    for name, value in {
        "SSL_CERT_FILE": Authority(other).file,
        "CURL_CA_BUNDLE": "/etc/ssl/certs/ca-certificates.crt",
    }.items():
        environment = surroundings(**{name: value})
        began = time.monotonic()
        ran = subprocess.run(
            [PROBE, "find", nginx.address + "/tar/penstock.json"],
            capture_output=True,
            text=True,
            check=True,
            env=environment,
        )
        told = json.loads(ran.stdout)
        assert "certificate" in told["error"] and nginx.address in told["error"], told
        assert time.monotonic() - began < 10, "it is no use to ask again"
    assert not (nginx.folder / "access.log").read_text(), "nothing was asked for"
    told = run("info", nginx.address + "/tar", env=surroundings(SSL_CERT_FILE=authority.file))
    assert b"60" in told.stdout


def test_connections_are_kept(nginx, packed, authority):
    file = next((packed / "tar").glob("*.tar"))
    environment = surroundings(SSL_CERT_FILE=authority.file, PENSTOCK_REMOTE_CONNECTIONS=4)
    words = [PROBE, "ranges", f"{nginx.address}/tar/{file.name}", file, "--reads", "400", "--size", "5000"]
    ran = subprocess.run(words, capture_output=True, text=True, check=True, env=environment)
    lines = [json.loads(line) for line in ran.stdout.splitlines()]
    assert lines[:-1] == [{"right": True}] * 400
    assert lines[-1]["requests"] == 400 and lines[-1]["connections"] <= 4
    used = collections.Counter(one[0] for one in nginx.requests())
    assert len(used) <= 5, used  # one of them may be the first question's alone
