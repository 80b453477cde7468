#!/usr/bin/env python3
"""Usage: swift_server.py FOLDER

OpenStack Swift (the PyPI package swift) with its S3 interface: its four servers, on loopback, with FOLDER for their data (on a
file system with extended attributes). Prints the address once it answers. Ends when its input ends. The key is "test:tester",
the secret "testing". Exits with 3 if FOLDER has no extended attributes."""

import os
import pathlib
import signal
import socket
import subprocess
import sys
import time

KINDS = ["account", "container", "object"]
COMMON = """
[DEFAULT]
bind_ip = 127.0.0.1
bind_port = {port}
user = {user}
swift_dir = {folder}
workers = 0
devices = {folder}/devices
mount_check = false
disable_fallocate = true
fallocate_reserve = 0
log_level = ERROR
"""
BACK = """
[pipeline:main]
pipeline = {kind}-server
[app:{kind}-server]
use = egg:swift#{kind}
"""
FRONT = """
[pipeline:main]
pipeline = catch_errors listing_formats s3api tempauth copy slo dlo proxy-server
[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
[filter:catch_errors]
use = egg:swift#catch_errors
[filter:listing_formats]
use = egg:swift#listing_formats
[filter:s3api]
use = egg:swift#s3api
location = us-east-1
s3_acl = false
# Parts of 5 MiB are the least elsewhere, too.
min_segment_size = 5242880
[filter:tempauth]
use = egg:swift#tempauth
user_test_tester = testing .admin
[filter:copy]
use = egg:swift#copy
[filter:slo]
use = egg:swift#slo
[filter:dlo]
use = egg:swift#dlo
"""


def free_ports(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def make_ring(folder, kind, port):
    from swift.common.ring import RingBuilder

    builder = RingBuilder(4, 1, 0)
    at = {"ip": "127.0.0.1", "port": port, "replication_ip": "127.0.0.1", "replication_port": port}
    builder.add_dev({"id": 0, "region": 1, "zone": 1, "weight": 1, "device": "disk", **at})
    builder.rebalance()
    builder.get_ring().save(f"{folder}/{kind}.ring.gz")


def serve(configuration, kind):
    """In a child: one of the servers."""
    from swift.common import utils
    from swift.common.wsgi import run_wsgi

    utils.HASH_PATH_SUFFIX, utils.HASH_PATH_PREFIX = b"suffix", b"prefix"  # else of /etc/swift
    utils.SWIFT_CONF_FILE = str(configuration.parent / "swift.conf")
    sys.exit(run_wsgi(str(configuration), kind, verbose=True, capture_stdout=False, capture_stderr=False))


def start(folder, kind, port, rest):
    configuration = folder / f"{kind}.conf"
    user = subprocess.run(["id", "-un"], capture_output=True, text=True, check=True).stdout.strip()
    configuration.write_text(COMMON.format(port=port, user=user, folder=folder) + rest.format(kind=kind))
    pid = os.fork()
    if pid == 0:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        with open(folder / f"{kind}.log", "wb") as log:
            os.dup2(log.fileno(), 1)
            os.dup2(log.fileno(), 2)
        serve(configuration, "proxy-server" if kind == "proxy" else f"{kind}-server")
    return pid


def answers(port, pids, folder):
    for _ in range(300):
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=1) as one:
                one.sendall(b"GET /info HTTP/1.0\r\n\r\n")
                if one.recv(100):
                    return
        except OSError:
            pass
        if any(os.waitpid(pid, os.WNOHANG)[0] for pid in pids):
            break
        time.sleep(0.1)
    logs = "\n".join(log.read_text()[-800:] for log in folder.glob("*.log"))
    sys.exit(f"Swift does not start: {logs}")


def main():
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        sys.exit(2)
    folder = pathlib.Path(sys.argv[1]).resolve()
    (folder / "devices" / "disk").mkdir(parents=True)
    try:
        os.setxattr(folder, "user.swift", b"x")
    except OSError as error:
        print(f"{folder} has no extended attributes: {error}", file=sys.stderr)
        sys.exit(3)
    (folder / "swift.conf").write_text(
        "[swift-hash]\nswift_hash_path_suffix = suffix\nswift_hash_path_prefix = prefix\n"
        "[storage-policy:0]\nname = one\ndefault = yes\n"
    )
    *ports, front = free_ports(4)
    for kind, port in zip(KINDS, ports):
        make_ring(folder, kind, port)
    pids = []
    try:
        for kind, port in zip(KINDS, ports):
            pids.append(start(folder, kind, port, BACK))
        pids.append(start(folder, "proxy", front, FRONT))
        answers(front, pids, folder)
        print(f"http://127.0.0.1:{front}", flush=True)
        sys.stdin.read()
    finally:
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass


if __name__ == "__main__":
    main()
