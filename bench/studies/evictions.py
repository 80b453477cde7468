"""Usage: python bench/studies/evictions.py [--samples 2000] [--mean 110000] [--epochs 10] [--shares 25,50,75]
[--workers 1]
    [--step 0]

Runs epochs in full shuffle from a loopback web server (nginx, which logs each range), with disk caches that hold these
shares of the dataset. Prints the fetched blocks beside those of Belady's rule and of LRU. Both are simulated on the
same requests in the order of the batches, with as many blocks of the same size as the cache held. Also prints the bytes
of an epoch with an empty cache, beside the bytes of its samples. Samples have log-normal sizes, like photographs.
"""

import argparse
import bisect
import collections
import heapq
import pathlib
import random
import shutil
import sys
import tarfile
import tempfile
import time

from nginx import Nginx

import penstock as ps

SMALLEST, LARGEST = 4096, 256 << 10


def make_dataset(folder, given):
    draw = random.Random(5)
    samples = (
        {"__key__": f"{i:06d}", "bin": draw.randbytes(int(draw.lognormvariate(0, 0.5) * given.mean / 1.133))}
        for i in range(given.samples)
    )
    ps.pack(samples, folder / "packed", format="tar", shard_size=64 << 20, progress=False)
    return folder / "packed"


def places_of(dataset):
    """Maps each key to its shard, and to the begin and end of its value in the shard."""
    places = {}
    for shard in sorted(dataset.glob("*.tar")):
        with tarfile.open(shard) as archive:
            for member in archive:
                key = member.name.rsplit(".", 1)[0]
                places[key] = shard.name, member.offset_data, member.offset_data + member.size
    return places


def block_size(places):
    """The rule of docs/remote.md: an eighth of a value, between two limits, rounded down to a power of two."""
    mean = sum(end - begin for _, begin, end in places.values()) / len(places)
    return min(max(1 << (int(mean) // 8).bit_length() - 1, SMALLEST), LARGEST)


def blocks_of(keys, places, size):
    for key in keys:
        shard, begin, end = places[key]
        for block in range(begin // size, (end - 1) // size + 1):
            yield shard, block


def fetched_by_belady(requests, room):
    """The minimum number of fetches of any cache that may drop a fetched block at once."""
    later = collections.defaultdict(list)
    for at, block in enumerate(requests):
        later[block].append(at)
    kept, heap, fetched = {}, [], 0
    for at, block in enumerate(requests):
        uses = later[block]
        following = bisect.bisect_right(uses, at)
        due = uses[following] if following < len(uses) else None
        if kept.pop(block, None) is None:
            fetched += 1
        if due is None:
            continue
        kept[block] = due
        heapq.heappush(heap, (-due, block))
        while len(kept) > room:
            last, worst = heapq.heappop(heap)
            if kept.get(worst) == -last:
                del kept[worst]
    return fetched


def fetched_by_lru(requests, room):
    kept, fetched = collections.OrderedDict(), 0
    for block in requests:
        if block in kept:
            kept.move_to_end(block)
            continue
        fetched += 1
        kept[block] = True
        if len(kept) > room:
            kept.popitem(last=False)
    return fetched


def ranges_of(log):
    """(shard, begin, end) of all requests for shards."""
    for line in log.read_text().splitlines():
        asked, _, path = line.split(" ")
        if path.endswith(".tar") and asked.startswith("bytes="):
            begin, last = asked.removeprefix("bytes=").split("-")
            yield pathlib.PurePath(path).name, int(begin), int(last) + 1


def consumed(batch, seconds):
    time.sleep(seconds)
    return batch["__key__"]


def train(address, cache, limit, given):
    """Keys in the order of the batches, by epoch, and the bytes fetched until the end of each epoch."""
    loader = ps.Loader(
        address, batch_size=64, shuffle=True, seed=3, workers=given.workers, transforms={"bin": ps.raw()}, disk_cache=ps.DiskCacheOptions(cache, limit=limit)
    )  # fmt: skip
    epochs = [[key for batch in loader for key in consumed(batch, given.step)] for _ in range(given.epochs)]
    notes = str(loader.stats()["notes"])
    if "cache" in notes:
        sys.exit(notes)
    return epochs


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=2000)
    parser.add_argument("--mean", type=int, default=110_000, help="mean size of a sample in bytes")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--shares", default="25,50,75", help="cache sizes in percent of the dataset")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--step", type=float, default=0.0, help="seconds that the consumer takes for a batch of 64")
    parser.add_argument("--port", type=int, default=8126)
    given = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="penstock-evictions-"))
    folder.chmod(0o755)
    try:
        dataset = make_dataset(folder, given)
        places = places_of(dataset)
        size = block_size(places)
        stored = sum(end - begin for _, begin, end in places.values())
        print(
            f"{len(places)} samples of {stored / len(places):,.0f} bytes, blocks of {size} bytes, {given.epochs} epochs, {given.workers} workers"
        )
        print(
            f"{'cache':>6}{'requests':>12}{'fetched':>12}{'Belady':>12}{'ratio':>8}{'LRU':>12}{'ratio':>8}{'bytes beside samples, no cache':>32}"
        )
        for share in [int(one) for one in given.shares.split(",")]:
            with Nginx(folder, folder, given.port, log=True) as server:
                server.log.write_text("")
                cache = folder / f"cache-{share}"
                files = sum(file.stat().st_size for file in dataset.glob("*.tar"))
                epochs = train(f"{server.address}/packed", cache, files * share // 100, given)
            requests = [block for keys in epochs for block in blocks_of(keys, places, size)]
            # The last block of a shard may be incomplete, so the division rounds up.
            came = [(shard, begin, end) for shard, begin, end in ranges_of(server.log)]
            fetched = sum(-(-(end - begin) // size) for _, begin, end in came)
            held = sum(file.lstat().st_blocks * 512 for file in (cache / "objects").glob("*.data")) // size
            belady, lru = fetched_by_belady(requests, held), fetched_by_lru(requests, held)
            alone = sum(size for _ in requests) / (stored * given.epochs)
            print(
                f"{share:5d}%{len(requests):12,}{fetched:12,}{belady:12,}{fetched / belady:8.4f}{lru:12,}{lru / belady:8.2f}{alone:32.3f}",
                flush=True,
            )
            shutil.rmtree(cache)
            if {key for keys in epochs for key in keys} != set(places):
                sys.exit("an epoch lacks samples")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
