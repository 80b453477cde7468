#!/usr/bin/env python3
"""Usage: PYTHONPATH=build/release/python python bench/studies/index_speed.py [options]

Measures how long a large tar that penstock did not make takes to open. The first open lists its members and stores the
index beside it; later ones use that index. Both are measured warm, and with a cold page cache. Every open is a separate
process. The file is made once, in --folder: --members files of --bytes each, one per sample. Needs penstock.
"""

import argparse
import os
import pathlib
import sys
import time

import beside

BLOCK = 512


def write_tar(path, members, length):
    """Writes a ustar archive in GNU tar's layout. Only name and checksum change from header to header."""
    head, tail = bytearray(BLOCK), os.urandom(length) + bytes(-length % BLOCK)
    head[100:156] = b"0000644\0000000000\0000000000\0%011o\00000000000000\0        " % length
    head[156:157], head[257:265] = b"0", b"ustar\00000"
    fixed = sum(head)
    with open(path, "wb", buffering=1 << 20) as file:
        for i in range(members):
            name = b"%03d/%08d.bin" % (i // 10000, i)
            head[: len(name)] = name
            head[148:156] = b"%06o\0 " % (fixed + sum(name))
            file.write(head)
            file.write(tail)
        file.write(bytes(2 * BLOCK))


def opened(path):
    """Seconds that one open takes, up to the point where a batch would follow."""
    beside.begin_run()
    import penstock as ps

    began = time.perf_counter()
    samples = len(ps.open(path))
    beside.end_run({"seconds": time.perf_counter() - began, "samples": samples})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--members", type=int, default=1_000_000)
    parser.add_argument("--bytes", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--folder", type=pathlib.Path, default=pathlib.Path("build/beside"), help="folder for the generated file"
    )
    parser.add_argument("--run", help=argparse.SUPPRESS)
    options = parser.parse_args()
    path = options.folder / f"{options.members}x{options.bytes}.tar"
    if options.run:
        return opened(str(path))
    options.folder.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        partial = path.with_suffix(".partial")
        write_tar(partial, options.members, options.bytes)
        partial.rename(path)
    sidecar = path.with_name(path.name + ".penstock-idx")
    times = {"first open, warm": [], "later, warm": [], "first open, cold": [], "later, cold": []}
    for _ in range(options.rounds):
        for what, found in times.items():
            if what.startswith("first"):
                sidecar.unlink(missing_ok=True)
            if what.endswith("cold"):
                beside.drop_page_cache([path] if what.startswith("first") else [path, sidecar])
            elif what.startswith("first"):
                warm(path)
            told = beside.run_apart(sys.argv[1:], "open")
            assert told["samples"] == options.members
            found.append(1e3 * told["seconds"])
    print(f"tar of {options.members:,} members of {options.bytes:,} bytes, {path.stat().st_size / 1e6:,.0f} MB; "
          f"its index {sidecar.stat().st_size / 1e6:,.0f} MB")  # fmt: skip
    print(f"{beside.machine()}; cold: the files' pages dropped")
    for what, found in times.items():
        print(f"{what:18}{beside.middle(found, 1)} ms, median of {options.rounds}")
    return None


def warm(path):
    with open(path, "rb", buffering=0) as file:
        while file.read(1 << 24):
            pass


if __name__ == "__main__":
    main()
