"""One rank of a training, run by test_disk_cache.py: reads two epochs of each dataset with each cache, and prints what came.
Usage: disk_cache_rank.py RANK WORLD JOBS, a JSON list of {"name", "dataset", "options"}."""

import hashlib
import json
import sys

import numpy as np
import penstock as ps


def epochs_of(dataset, options, rank, world):
    if isinstance(options.get("disk_cache"), list):
        path, limit = options["disk_cache"]
        options = {**options, "disk_cache": ps.DiskCacheOptions(path, limit=limit)}
    loader = ps.Loader(
        dataset,
        batch_size=16,
        shuffle=True,
        seed=5,
        workers=2,
        rank=rank,
        world_size=world,
        transforms={"jpg": ps.raw(), "cls": ps.label()},
        **options,
    )
    digest, rows = hashlib.sha256(), 0
    for _ in range(2):
        for batch in loader:
            rows += len(batch["__key__"])
            for key, value in zip(batch["__key__"], batch["jpg"]):
                digest.update(key.encode())
                digest.update(np.asarray(value).tobytes())
            digest.update(np.asarray(batch["cls"]).tobytes())
    return {"digest": digest.hexdigest(), "rows": rows, "notes": str(loader.stats().get("notes", ""))}


def main():
    rank, world = int(sys.argv[1]), int(sys.argv[2])
    told = {job["name"]: epochs_of(job["dataset"], job["options"], rank, world) for job in json.loads(sys.argv[3])}
    print(json.dumps(told))


if __name__ == "__main__":
    main()
