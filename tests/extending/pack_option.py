"""Uses the option of packing of docs/extending.md: Python takes and checks its keyword, and the command has its flag."""

import subprocess
import sys

import penstock as ps
from penstock import _penstock

_penstock.PackOptions(sync_shards=True)
for wrong in ({"sync_shards": "yes"}, {"sync_shard": True}):
    try:
        _penstock.PackOptions(**wrong)
    except TypeError:
        continue
    raise SystemExit(f"PackOptions takes {wrong}")
assert "sync_shards: Waits until the disk has a shard" in (ps.pack.__doc__ or ""), ps.pack.__doc__
for command in sys.argv[2:]:
    told = subprocess.run([command, "pack", "--help"], check=True, stdout=subprocess.PIPE, text=True).stdout
    assert "--sync-shards" in told and "Waits until the disk has a shard" in told, told
