"""Datasets that tests put on servers, and what an epoch over one of them gives."""

import subprocess
import sys

import numpy as np
from command import FORMATS

import penstock as ps

EPOCH = """
import hashlib, sys
import numpy as np
import penstock as ps
digest, field = hashlib.sha256(), sys.argv[2]
for batch in ps.Loader(sys.argv[1], batch_size=8, shuffle=True, seed=3, transforms={field: ps.raw(), "cls": ps.label()}):
    for key, value, label in zip(batch["__key__"], batch[field], np.asarray(batch["cls"])):
        digest.update(f"{key} {label} ".encode() + np.asarray(value).tobytes())
print(digest.hexdigest())
"""


def digest_of_epoch(dataset, field, environment):
    """In a process of its own, which reads its environment once."""
    words = [sys.executable, "-c", EPOCH, str(dataset), field]
    ran = subprocess.run(words, capture_output=True, text=True, check=False, env=environment)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def pack_bytes(folder, count=64, length=20_000, shard_size=200_000):
    """Random bytes and classes as tar at folder/tar, and copies of its shards as those of others: folder/other-0.tar, ..."""
    random = np.random.default_rng(3)
    samples = ({"__key__": f"{i:04d}", "bin": random.bytes(length), "cls": str(i % 3)} for i in range(count))
    ps.pack(samples, folder / "tar", format="tar", shard_size=shard_size, progress=False)
    for number, shard in enumerate(sorted((folder / "tar").glob("shard-*.tar"))):
        (folder / f"other-{number}.tar").write_bytes(shard.read_bytes())
    return folder


def pack_images(images, folder):
    """In every packing, each in a folder of its name."""
    for packing in FORMATS:
        ps.pack(images, folder / packing, format=packing, shard_size=1 << 20, progress=False)
    return folder
