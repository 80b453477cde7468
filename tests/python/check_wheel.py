"""Usage: python check_wheel.py    with a Python that a wheel was installed for, and nothing else

The command makes images and packs them in every format; the package loads them, and the batches are the same. Fails if
a library was in use that is not in the wheel, but for those that every Linux has."""

import hashlib
import pathlib
import re
import subprocess
import sys
import sysconfig
import tempfile

OF_EVERY_LINUX = r"(ld-linux-x86-64|libc|libm|libdl|librt|libpthread|libresolv|libstdc\+\+|libgcc_s|libz)\.so"


def libraries():
    return set(re.findall(r"(/\S*\.so[\d.]*)$", pathlib.Path("/proc/self/maps").read_text(), re.MULTILINE))


OF_PYTHON = libraries()
import penstock as ps  # noqa: E402


def digest(dataset):
    fields = {"jpg": ps.image.random_resized_crop(64) | ps.image.normalize((0.5,) * 3, (0.5,) * 3), "cls": ps.label()}
    sums = hashlib.sha256()
    for batch in ps.Loader(dataset, batch_size=16, shuffle=True, fields=fields):
        sums.update(batch["jpg"].tobytes() + batch["cls"].tobytes())
    return sums.hexdigest()


def main():
    command = pathlib.Path(sysconfig.get_path("scripts")) / "penstock"
    quiet = {"check": True, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with tempfile.TemporaryDirectory() as folder:
        photos = f"{folder}/photos"
        subprocess.run([command, "synth", "images", photos, "-n", "50"], **quiet)
        digests = {digest(photos)}
        for packing in ("tar", "lmdb", "hdf5"):
            packed = f"{folder}/{packing}"
            subprocess.run([command, "pack", photos, packed, "--format", packing], **quiet)
            digests.add(digest(packed))
    assert len(digests) == 1, "packings give different batches"
    package = str(pathlib.Path(ps.__file__).parents[1])
    outside = [path for path in libraries() - OF_PYTHON if not path.startswith(package) and "/lib-dynload/" not in path]
    strange = sorted(path for path in outside if not re.match(OF_EVERY_LINUX, path.rsplit("/", 1)[1]))
    assert not strange, f"not in the wheel: {strange}"
    print(f"penstock {ps.__version__} in Python {sys.version.split()[0]}: images, tar, LMDB and HDF5 load")


if __name__ == "__main__":
    main()
