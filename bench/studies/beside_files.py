"""The files for comparisons of penstock with other readers. They are packed by the usual tools, none by penstock.

Small samples are cut from synthetic pictures, photographs come from a folder. Everything is made once.
"""

import io
import sys
import tarfile

import h5py
import lmdb
import numpy as np
from PIL import Image

SIDE, ICON = 96, 32  # pixels
CHUNK = 32  # rows per chunk
SAMPLES = {"rows": 4096, "raw": 1 << 16, "png": 1 << 15, "jpg": 2000}
MANY = {"raw": 1 << 18, "jpg": 8000}  # about 1 GB, for measurements of a single pass


def pictures(count, seed=0):
    """Smooth pictures with a little noise, which compress to about a half, like photographs with lossless compression."""
    draw = np.random.default_rng(seed)
    y, x = np.mgrid[0:SIDE, 0:SIDE] / SIDE
    for _ in range(count):
        waves = [np.sin(draw.uniform(2, 20) * x + draw.uniform(2, 20) * y + c) for c in range(3)]
        yield np.clip(np.stack(waves, -1) * 90 + 128 + draw.normal(0, 2, (SIDE, SIDE, 3)), 0, 255).astype(np.uint8)


def icons(count):
    for picture in pictures(-(-count // 9)):
        for y in range(0, SIDE, ICON):
            for x in range(0, SIDE, ICON):
                yield np.ascontiguousarray(picture[y : y + ICON, x : x + ICON])


def png(icon):
    out = io.BytesIO()
    Image.fromarray(icon).save(out, "png")
    return out.getvalue()


def values(kind, images):
    """The distinct values of a kind. Samples repeat them."""
    if kind == "jpg":
        return [path.read_bytes() for path in photographs(images)]
    return [icon.tobytes() if kind == "raw" else png(icon) for icon in icons(2048)]


def write_hdf5(path, rows):
    with h5py.File(path, "w") as file:
        shape, chunk = (SAMPLES["rows"], SIDE, SIDE, 3), (rows, SIDE, SIDE, 3)
        data = file.create_dataset("images", shape, "u1", chunks=chunk, compression="gzip", compression_opts=4)
        stack = np.stack(list(pictures(512)))
        for first in range(0, len(data), len(stack)):
            data[first : first + len(stack)] = stack
        file["labels"] = np.arange(len(data)) % 10


def samples(kind, images, count):
    known = values(kind, images)
    return ((f"{i:08d}", known[i % len(known)], str(i % 10).encode()) for i in range(count))


def write_lmdb(path, kind, images):
    with lmdb.open(str(path), map_size=1 << 34) as file, file.begin(write=True) as transaction:
        for key, value, label in samples(kind, images, SAMPLES[kind]):
            transaction.put(f"{key}.{kind}".encode(), value)
            transaction.put(f"{key}.cls".encode(), label)


def write_tars(path, kind, images, count=None, shards=8):
    count = count or SAMPLES[kind]
    path.mkdir()
    files = [tarfile.open(path / f"{shard:03d}.tar", "w", format=tarfile.USTAR_FORMAT) for shard in range(shards)]
    for i, (key, value, label) in enumerate(samples(kind, images, count)):
        for name, content in ((f"{key}.{kind}", value), (f"{key}.cls", label)):
            member = tarfile.TarInfo(name)
            member.size = len(content)
            files[i * shards // count].addfile(member, io.BytesIO(content))
    for file in files:
        file.close()


DATA = {
    "chunks.h5": lambda path, images: write_hdf5(path, CHUNK),
    "single.h5": lambda path, images: write_hdf5(path, 1),
    **{
        f"{kind}.lmdb": lambda path, images, kind=kind: write_lmdb(path, kind, images) for kind in ("raw", "png", "jpg")
    },
    **{
        f"{kind}.tars": lambda path, images, kind=kind: write_tars(path, kind, images) for kind in ("raw", "png", "jpg")
    },
    **{
        f"{kind}-many.tars": lambda path, images, kind=kind: write_tars(path, kind, images, MANY[kind]) for kind in MANY
    },
}


def make(name, folder, images):
    """Makes the file if it is missing. An incomplete file has another name."""
    path = folder / name
    if not path.exists():
        print(f"making {path}", file=sys.stderr)
        folder.mkdir(parents=True, exist_ok=True)
        partial = folder / f"partial-{name}"
        DATA[name](partial, images)
        partial.rename(path)
    return path


def photographs(folder):
    return sorted(path for path in folder.rglob("*") if path.suffix.lower() in (".jpg", ".jpeg"))
