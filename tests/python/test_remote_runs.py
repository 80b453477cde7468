"""Whole runs over stores: credentials that are renewed meanwhile, few connections, few descriptors, hosts that nobody knows."""

import json
import os
import subprocess
import sys
import textwrap
import threading
import time

import pytest
import stores
from command import COMMAND
from served import pack_bytes
from web import Server

# A minute is what a cloud would give at least; the run takes two lives and a half.
LIVES = float(os.environ.get("PENSTOCK_TOKEN_SECONDS", "3"))


@pytest.fixture(scope="module", name="served")
def served_fixture(tmp_path_factory):
    return pack_bytes(tmp_path_factory.mktemp("served"), count=256, shard_size=400_000)


class Expiring:
    """A store that takes tokens while they live, and a metadata service that gives them."""

    def __init__(self, folder):
        self.folder, self.given, self.refused, self.puts, self.lock = folder, {}, 0, {}, threading.Lock()

    def service(self, request):
        if request.command == "PUT":
            return 200, {}, b"of-the-session"
        if request.path.endswith("/security-credentials/"):
            return 200, {}, b"a-role"
        with self.lock:
            token = f"{stores.TOKEN}{len(self.given)}"
            self.given[token] = time.time() + LIVES
        until = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(int(time.time() + LIVES)))
        return (
            200,
            {},
            json.dumps(
                {"AccessKeyId": stores.KEY, "SecretAccessKey": stores.SECRET, "Token": token, "Expiration": until}
            ).encode(),
        )

    def store(self, request):
        token = request.headers.get("x-amz-security-token", "")
        path, _, query = request.path.partition("?")
        if self.given.get(token, 0) < time.time():
            self.refused += 1
            return 400, {}, b"" if request.command == "HEAD" else stores.error("ExpiredToken", f"{token} has expired")
        name = path.removeprefix("/bucket/")
        if request.command == "PUT":
            self.puts[name] = request.body
            return 200, {"ETag": '"0123"'}, b""
        if request.command == "DELETE":
            self.puts.pop(name, None)
            return 204, {}, b""
        if "list-type=2" in query:
            prefix = next(part[7:] for part in query.split("&") if part.startswith("prefix=")).replace("%2F", "/")
            sizes = {name: len(data) for name, data in self.puts.items()}
            sizes.update(
                {str(file.relative_to(self.folder)): file.stat().st_size for file in self.folder.glob("tar/*")}
            )
            keys = "".join(
                f'<Contents><Key>{key}</Key><Size>{size}</Size><ETag>"0123"</ETag></Contents>'
                for key, size in sorted(sizes.items())
                if key.startswith(prefix) and "/" not in key[len(prefix) :]
            )
            return (
                200,
                {},
                f"<?xml version='1.0'?><ListBucketResult><IsTruncated>false</IsTruncated>{keys}</ListBucketResult>".encode(),
            )
        if name in self.puts:
            return stores.part_of(self.puts[name], request.headers)
        file = self.folder / name
        return (
            stores.part_of(file.read_bytes(), request.headers)
            if file.is_file()
            else (404, {}, stores.error("NoSuchKey"))
        )


def ran(program, timeout=300, **own):
    told = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, timeout=timeout, check=False, env=own
    )
    assert told.returncode == 0, told.stderr.decode()
    return told.stdout.decode(), told.stderr.decode()


def test_keys_are_renewed_in_the_middle_of_a_run(served, tmp_path):
    store = Expiring(served)
    with stores.served(store.store) as server, stores.served(store.service) as service:
        own = stores.surroundings(tmp_path, AWS_ENDPOINT_URL=server.address, AWS_EC2_METADATA_DISABLED="false",
                                  AWS_EC2_METADATA_SERVICE_ENDPOINT=service.address, AWS_REGION="us-east-1")  # fmt: skip
        told = ran(
            f"""
            import time, pickle
            import penstock as ps
            dataset = ps.open("s3://bucket/tar")
            loader = ps.Loader(dataset, batch_size=32, shuffle=True, seed=1, transforms={{"bin": ps.raw(), "cls": ps.label()}})
            until, epochs, writer = time.monotonic() + {2.5 * LIVES}, 0, ps.Writer("s3://bucket/written")
            while time.monotonic() < until:
                keys = [key for batch in loader for key, valid in zip(batch["__key__"], batch["__valid__"]) if valid]
                assert len(set(keys)) == 256, len(keys)
                writer.add(str(epochs), {{"bin": b"x" * 1000}})
                epochs += 1
                time.sleep({LIVES} / 30)
            writer.finish()
            assert len(ps.open("s3://bucket/written")) == epochs
            print(epochs, loader.state_dict())
        """,
            **own,
        )
    assert len(store.given) >= 3
    if LIVES >= 60:  # else a slow machine may take longer than the fifth of a life that is left when keys are renewed
        assert store.refused == 0
    assert stores.TOKEN not in "".join(told) and stores.SECRET not in "".join(told)


def test_loaders_share_the_connections_of_the_process(served, tmp_path):
    with Server(served) as server:
        own = stores.surroundings(tmp_path, PENSTOCK_REMOTE_CONNECTIONS="6")
        out, _ = ran(
            f"""
            import os, threading, time
            import penstock as ps
            def sockets():
                count = 0
                for name in os.listdir("/proc/self/fd"):
                    try:
                        count += os.readlink(f"/proc/self/fd/{{name}}").startswith("socket:")
                    except OSError:
                        pass
                return count
            before, seen, over = sockets(), [], threading.Event()
            def watch():
                while not over.wait(0.005):
                    seen.append(sockets() - before)
            threading.Thread(target=watch, daemon=True).start()
            dataset, counts = ps.open("{server.root}/~latency=0.02/tar"), []
            def run():
                loader = ps.Loader(dataset, batch_size=32, shuffle=True, workers=1, transforms={{"bin": ps.raw()}})
                counts.append(sum(int(sum(batch["__valid__"].numpy())) for batch in loader))
            threads = [threading.Thread(target=run) for _ in range(8)]
            [thread.start() for thread in threads]
            [thread.join() for thread in threads]
            over.set()
            assert counts == [256] * 8, counts
            print(max(seen))
        """,
            **own,
        )
    assert 2 <= int(out) <= 6 + 2  # libcurl has a pair of sockets to wake itself


@pytest.mark.parametrize("spare", [4, 8, 16, 40])
def test_few_descriptors_are_borne_or_one_error(served, tmp_path, spare):
    with Server(served) as server:
        out, _ = ran(
            f"""
            import os, resource
            import numpy
            import penstock as ps
            import penstock._own.step, penstock._warn
            there = len(os.listdir("/proc/self/fd"))
            resource.setrlimit(resource.RLIMIT_NOFILE, (there + {spare}, there + {spare}))
            try:
                loader = ps.Loader("{server.root}/~latency=0.02/tar", batch_size=32, shuffle=True, transforms={{"bin": ps.raw()}})
                print("read", sum(int(sum(batch["__valid__"].numpy())) for batch in loader))
            except ps.Error as error:
                print("refused", error.kind, error)
        """,
            **stores.surroundings(tmp_path, PENSTOCK_REMOTE_DEADLINE="5"),
        )
    assert out.startswith(("read 256", "refused resource", "refused io")), out
    if spare == 40:
        assert out.startswith("read 256"), out


def test_a_host_that_nobody_knows_is_one_error_soon(tmp_path):
    began = time.monotonic()
    told = subprocess.run([COMMAND, "info", "https://no-such-host.invalid/x"], capture_output=True, timeout=60, check=False,
                          env=stores.surroundings(tmp_path, PENSTOCK_REMOTE_DEADLINE="300"))  # fmt: skip
    assert told.returncode == 1 and b"no-such-host.invalid" in told.stderr
    assert time.monotonic() - began < 60


def test_workers_of_a_dataloader_open_for_themselves(served, tmp_path):
    pytest.importorskip("torch")
    with Server(served) as server:
        for start in ("fork", "spawn"):
            file = tmp_path / f"{start}.py"
            file.write_text(
                textwrap.dedent(f"""
                import torch
                import penstock as ps
                class Samples(torch.utils.data.Dataset):
                    def __init__(self, dataset): self.dataset = dataset
                    def __len__(self): return len(self.dataset)
                    def __getitem__(self, index): return len(self.dataset[index]["bin"])
                if __name__ == "__main__":
                    dataset = ps.open("{server.root}/tar")
                    assert len(dataset[0]["bin"]) == 20000  # the transport is alive before the workers begin
                    loader = torch.utils.data.DataLoader(Samples(dataset), batch_size=32, num_workers=2, multiprocessing_context="{start}")
                    assert sum(int(batch.sum()) for batch in loader) == 256 * 20000
                    assert len(dataset[255]["bin"]) == 20000
            """)
            )
            told = subprocess.run(
                [sys.executable, file],
                capture_output=True,
                timeout=120,
                check=False,
                env={**stores.surroundings(tmp_path), "PYTHONPATH": os.environ.get("PYTHONPATH", "")},
            )
            assert told.returncode == 0, told.stderr.decode()
