"""Reads ranges (or samples) with one library, for ranges.py, which runs it as a separate process to measure its CPU
time. Usage: python peers.py KIND ADDRESS SIZE COUNT FLIGHT. Prints the seconds and the CPU seconds of the timed part,
and the received bytes."""

import asyncio
import concurrent.futures
import json
import random
import resource
import sys
import time

SEED = 3


def offsets_of(size, count, total):
    draw = random.Random(SEED)
    return [draw.randrange(0, total // size) * size for _ in range(count)]


def in_threads(read, offsets, flight):
    with concurrent.futures.ThreadPoolExecutor(flight) as pool:
        return sum(pool.map(read, offsets))


def split(address):
    """Splits http://host:port/bucket/key."""
    scheme, rest = address.split("://")
    host, bucket, key = rest.split("/", 2)
    return f"{scheme}://{host}", bucket, key


def s3_of_obstore(endpoint, bucket):
    from obstore.store import S3Store

    return S3Store(
        bucket,
        endpoint=endpoint,
        region="us-east-1",
        skip_signature=True,
        virtual_hosted_style_request=False,
        client_options={"allow_http": True},
    )


def obstore_async(address, size, offsets, flight):
    import obstore

    endpoint, bucket, key = split(address)
    store = s3_of_obstore(endpoint, bucket)

    async def all_of_them():
        slots = asyncio.Semaphore(flight)

        async def one(offset):
            async with slots:
                return len(await obstore.get_range_async(store, key, start=offset, length=size))

        return sum(await asyncio.gather(*(one(offset) for offset in offsets)))

    return lambda: asyncio.run(all_of_them())


def obstore_threads(address, size, offsets, flight):
    import obstore

    endpoint, bucket, key = split(address)
    store = s3_of_obstore(endpoint, bucket)
    return lambda: in_threads(
        lambda offset: len(obstore.get_range(store, key, start=offset, length=size)), offsets, flight
    )


def obstore_ranges(address, size, offsets, flight):
    """Many ranges in one call, not coalesced."""
    import obstore

    endpoint, bucket, key = split(address)
    store = s3_of_obstore(endpoint, bucket)

    def run():
        came = 0
        for first in range(0, len(offsets), 8 * flight):
            part = offsets[first : first + 8 * flight]
            came += sum(
                len(piece)
                for piece in obstore.get_ranges(store, key, starts=part, lengths=[size] * len(part), coalesce=0)
            )
        return came

    return run


def fsspec_http(address, size, offsets, flight):
    import fsspec

    system = fsspec.filesystem("http")

    def run():
        came = 0
        for first in range(0, len(offsets), flight):
            part = offsets[first : first + flight]
            came += sum(map(len, system.cat_ranges([address] * len(part), part, [o + size for o in part])))
        return came

    return run


def s3fs_ranges(address, size, offsets, flight):
    import s3fs

    endpoint, bucket, key = split(address)
    system = s3fs.S3FileSystem(anon=True, endpoint_url=endpoint)

    def run():
        came = 0
        for first in range(0, len(offsets), flight):
            part = offsets[first : first + flight]
            came += sum(map(len, system.cat_ranges([f"{bucket}/{key}"] * len(part), part, [o + size for o in part])))
        return came

    return run


def s3torchconnector_ranges(address, size, offsets, flight):
    from s3torchconnector import S3ReaderConstructor
    from s3torchconnector._s3client import S3Client, S3ClientConfig

    endpoint, bucket, key = split(address)
    client = S3Client(
        region="us-east-1", endpoint=endpoint, s3client_config=S3ClientConfig(unsigned=True, force_path_style=True)
    )
    constructor = S3ReaderConstructor.range_based(buffer_size=0)

    def one(offset):
        reader = client.get_object(bucket, key, reader_constructor=constructor)
        reader.seek(offset)
        return len(reader.read(size))

    return lambda: in_threads(one, offsets, flight)


READERS = {
    "obstore async": obstore_async,
    "obstore threads": obstore_threads,
    "obstore get_ranges": obstore_ranges,
    "fsspec http": fsspec_http,
    "s3fs": s3fs_ranges,
    "s3torchconnector": s3torchconnector_ranges,
}


def processor_seconds():
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def samples_of_mosaic(address, size, count, flight):
    import shutil
    import tempfile

    from streaming import StreamingDataset

    local = tempfile.mkdtemp(prefix="mosaic-")
    _, bucket, key = split(address)
    dataset = StreamingDataset(
        remote=f"s3://{bucket}/{key}", local=local, shuffle=True, batch_size=64, num_canonical_nodes=1
    )

    def run():
        came = 0
        for sample in dataset:
            came += len(sample["x"])
        shutil.rmtree(local, ignore_errors=True)
        return came

    return run


def samples_of_litdata(address, size, count, flight):
    import tempfile

    import litdata.streaming.downloader
    from litdata import StreamingDataset

    litdata.streaming.downloader._OBSTORE_CLIENT_OPTIONS["allow_http"] = True  # there is no public option for it

    endpoint, bucket, key = split(address)
    dataset = StreamingDataset(
        f"s3://{bucket}/{key}",
        shuffle=True,
        cache_dir=tempfile.mkdtemp(prefix="litdata-"),
        storage_options={
            "endpoint_url": endpoint,
            "aws_access_key_id": "x",
            "aws_secret_access_key": "y",
            "region_name": "us-east-1",
        },
    )
    return lambda: sum(len(sample) for sample in dataset)


DATASETS = {"Mosaic Streaming": samples_of_mosaic, "LitData": samples_of_litdata}


def main():
    kind, address, size, count, flight = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:6])
    if kind in READERS:
        total = int(sys.argv[6])
        run = READERS[kind](address, size, offsets_of(size, count, total), flight)
        READERS[kind](address, size, offsets_of(size, 64, total), flight)()  # warm-up: connections, imports
    else:
        run = DATASETS[kind](address, size, count, flight)
    worked, began = processor_seconds(), time.perf_counter()
    came = run()
    print(json.dumps({"seconds": time.perf_counter() - began, "worked": processor_seconds() - worked, "bytes": came}))


if __name__ == "__main__":
    main()
