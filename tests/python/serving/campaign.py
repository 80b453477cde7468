"""See tests/servers.sh."""

import argparse
import contextlib
import os
import pathlib
import re
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import penstock as ps

COMMAND = os.environ["PENSTOCK_COMMAND"]
BRIDGE, NETWORK, SERVERS = "penstock0", "10.231.77", 5
ROWS, ROW = 2048, (224, 224, 3)


def sh(*words):
    subprocess.run(list(map(str, words)), check=True)


@contextlib.contextmanager
def namespaces():
    """Makes namespaces "penstock1" and so on. Each has an address in NETWORK, and this one has the bridge's."""
    names = [f"penstock{number}" for number in range(1, SERVERS + 1)]
    try:
        sh("ip", "link", "add", BRIDGE, "type", "bridge")
        sh("ip", "address", "add", f"{NETWORK}.254/24", "dev", BRIDGE)
        sh("ip", "link", "set", BRIDGE, "up")
        for number, name in enumerate(names, 1):
            sh("ip", "netns", "add", name)
            sh("ip", "link", "add", f"penstock-v{number}", "type", "veth", "peer", "name", "eth0", "netns", name)
            sh("ip", "link", "set", f"penstock-v{number}", "master", BRIDGE, "up")
            sh("ip", "-n", name, "address", "add", f"{NETWORK}.{number}/24", "dev", "eth0")
            sh("ip", "-n", name, "link", "set", "eth0", "up")
        yield names
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "delete", name], stderr=subprocess.DEVNULL, check=False)
        subprocess.run(["ip", "link", "delete", BRIDGE], stderr=subprocess.DEVNULL, check=False)


class Server:
    def __init__(self, number, folder):
        self.number, self.folder = number, folder
        self.address = f"{NETWORK}.{number}:7710"
        self.start()

    def start(self):
        words = [
            "ip",
            "netns",
            "exec",
            f"penstock{self.number}",
            COMMAND,
            "serve",
            self.folder,
            "--address",
            self.address,
        ]
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        line = self.process.stderr.readline()
        assert self.address in line, line + self.process.stderr.read()

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.communicate()


def write_rows(folder):
    """Rows that are stored as they are delivered: uint8 arrays of one shape in HDF5."""
    folder.mkdir()
    generator = np.random.default_rng(1)
    for number in range(ROWS):
        np.save(folder / f"{number:05}.npy", generator.integers(0, 256, ROW, np.uint8))
    sh(COMMAND, "pack", folder, folder.parent / "rows.h5.d", "--format", "hdf5")
    return folder.parent / "rows.h5.d"


def options():
    return {"batch_size": 64, "shuffle": True, "seed": 7, "transforms": {"npy": ps.array.decode()}}


def digests(loader, seconds):
    """Yields the key and the checksum of each batch, epoch after epoch."""
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        for batch in loader:
            yield batch["__key__"][0], hash(np.asarray(batch["npy"]).tobytes())


def check_kills(dataset, count, seconds):
    servers = [Server(number, dataset) for number in range(1, count + 1)]
    plain = ps.Loader(dataset, **options())
    wanted = (
        pair for _ in range(10**6) for pair in ((b["__key__"][0], hash(np.asarray(b["npy"]).tobytes())) for b in plain)
    )
    loader = ps.Loader(dataset, **options(), servers=ps.ServersOptions([s.address for s in servers], patience=3))
    kills = batches = 0
    began = last = time.monotonic()
    for got in digests(loader, seconds):
        assert got == next(wanted), f"batch {batches} differs"
        batches += 1
        if time.monotonic() - last > 1:
            last = time.monotonic()
            servers[kills % count].kill()
            servers[kills % count].start()
            kills += 1
    found = loader.stats()["servers"]
    served = sum(each["batches"] for each in found["each"])
    print(
        f"{count} servers: {batches} batches equal in {time.monotonic() - began:.0f} s, {kills} kills, "
        f"{served} filled by servers, {found['filled_without_server']} by the loader",
        flush=True,
    )
    assert kills > 0 and served > 0
    loader.close()
    for server in servers:
        server.kill()


def check_connections(dataset):
    """1,000 connections that say nothing; a loader must be served, and the server's memory stays."""
    server = Server(1, dataset)
    pid = int(
        subprocess.run(
            ["pgrep", "-f", f"serve {dataset} --address {server.address}"], capture_output=True, text=True, check=True
        ).stdout.split()[-1]
    )

    def memory():
        return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text())[1]) / 1024

    before, host, port = memory(), *server.address.split(":")
    strangers = [socket.create_connection((host, int(port))) for _ in range(1000)]
    for number, stranger in enumerate(strangers):
        if number % 2:
            stranger.sendall(b"\x0c\0\0\0\xff\xff\x0f\0\0\0\0\0\0\0\0\0")  # announces the longest message, and stops
    after = memory()
    loader = ps.Loader(dataset, **options(), servers=[server.address])
    batches = sum(1 for _ in loader)
    found = loader.stats()["servers"]
    assert found["filled_without_server"] == 0, found
    print(f"1,000 connections: {after - before:.0f} MiB for them; {batches} batches served beside them", flush=True)
    for stranger in strangers:
        stranger.close()
    loader.close()
    server.kill()


COPY = """
import socket, sys
listens = socket.create_server((sys.argv[1], 7711))
print("ready", flush=True)
while True:
    client, _ = listens.accept()
    with client, open(sys.argv[2], "rb", buffering=0) as file:
        part = memoryview(bytearray(1 << 20))
        while got := file.readinto(part):
            client.sendall(part[:got])
"""


def measure(dataset, pairs=7):
    """Bytes per second of stored rows from one server, and of a copy of the shard: read, send, receive."""
    server = Server(1, dataset)
    shard = max(pathlib.Path(dataset).glob("*.h5"), key=lambda path: path.stat().st_size)
    copier = subprocess.Popen(
        ["ip", "netns", "exec", "penstock1", sys.executable, "-c", COPY, f"{NETWORK}.1", shard], stdout=subprocess.PIPE
    )
    copier.stdout.readline()
    loader = ps.Loader(dataset, **options(), servers=[server.address])
    part = bytearray(1 << 20)

    def rows():
        began, got = time.perf_counter(), 0
        for _ in range(3):
            for batch in loader:
                got += batch["npy"].nbytes
        return got / (time.perf_counter() - began)

    def copy():
        began, got = time.perf_counter(), 0
        for _ in range(3):
            with socket.create_connection((f"{NETWORK}.1", 7711)) as reads:
                while more := reads.recv_into(part):
                    got += more
        return got / (time.perf_counter() - began)

    rows(), copy()
    found = [(rows(), copy()) for _ in range(pairs)]
    ratio = statistics.median(one / other for one, other in found)
    assert loader.stats()["servers"]["filled_without_server"] == 0
    print(
        f"stored rows: {statistics.median(one for one, _ in found) / 1e9:.2f} GB/s, copy over TCP "
        f"{statistics.median(other for _, other in found) / 1e9:.2f} GB/s, median ratio {ratio:.2f} of {pairs} pairs",
        flush=True,
    )
    loader.close()
    copier.kill()
    server.kill()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=20)
    arguments = parser.parse_args()
    os.environ["PENSTOCK_TOKEN"] = "a token of the campaign"
    os.environ.setdefault("PYTHONHASHSEED", "0")
    with tempfile.TemporaryDirectory() as place, namespaces():
        dataset = write_rows(pathlib.Path(place) / "rows")
        measure(dataset)
        for count in (1, 2, 5):
            check_kills(dataset, count, arguments.seconds)
        check_connections(dataset)


if __name__ == "__main__":
    main()
