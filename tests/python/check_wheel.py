"""Usage: python check_wheel.py [--since SECONDS] [--command PATH] [--runner COMMAND] [--of-this-system]
with a Python that a wheel was installed for, and nothing else

The command makes images and packs them in every format; the package loads them, and the batches are the same, also from a web server
with TLS whose certificate the environment tells to trust (wheel_tls.py). Fails if a library was in use that is not in the wheel, but for those that every Linux has; and, where --since says when the installation
began (seconds since 1970), if the first batch came more than 15 s later. --command is the
command, where it is not beside that Python; --runner is put before it (an emulator). With --of-this-system, penstock was compiled
here, and its libraries may be this system's."""

import argparse
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import sysconfig
import tempfile
import time

import wheel_tls

MOST_SECONDS = 15
OF_EVERY_LINUX = (
    r"(ld-linux-x86-64|ld-linux-aarch64|libc|libm|libdl|librt|libpthread|libresolv|libstdc\+\+|libgcc_s|libz)\.so"
)


def libraries():
    return set(re.findall(r"(/\S*\.so[\d.]*)$", pathlib.Path("/proc/self/maps").read_text(), re.MULTILINE))


OF_PYTHON = libraries()  # also those of its ssl module

import penstock as ps


def digest(dataset):
    fields = {"jpg": ps.image.random_resized_crop(64) | ps.image.normalize((0.5,) * 3, (0.5,) * 3), "cls": ps.label()}
    sums = hashlib.sha256()
    for batch in ps.Loader(dataset, batch_size=16, shuffle=True, transforms=fields):
        sums.update(batch["jpg"].tobytes() + batch["cls"].tobytes())
    return sums.hexdigest()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--since", type=float)
    parser.add_argument("--runner", default="")
    parser.add_argument("--of-this-system", action="store_true")
    parser.add_argument("--command", default=str(pathlib.Path(sysconfig.get_path("scripts")) / "penstock"))
    arguments = parser.parse_args()
    wheel_tls.runner = arguments.runner.split()
    command = [*wheel_tls.runner, arguments.command]
    quiet = {"check": True, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with tempfile.TemporaryDirectory() as folder:
        os.environ["PENSTOCK_INDEX_DIR"] = f"{folder}/indexes"  # leaves nothing in the home
        photos = f"{folder}/photos"
        subprocess.run([*command, "synth", "images", photos, "-n", "20"], **quiet)
        next(iter(ps.Loader(photos, batch_size=16, transforms={"jpg": ps.image.resize((64, 64))})))
        if arguments.since:
            seconds = time.time() - arguments.since
            print(f"the first batch came {seconds:.1f} s after the installation began, 20 photographs made on the way")
            assert seconds <= MOST_SECONDS, f"that is more than {MOST_SECONDS} s"
        digests = {digest(photos)}
        for packing in ("tar", "lmdb", "hdf5"):
            packed = f"{folder}/{packing}"
            subprocess.run([*command, "pack", photos, packed, "--format", packing], **quiet)
            digests.add(digest(packed))
        wheel_tls.check_tls(folder, "tar", digest(f"{folder}/tar"), command)
    assert len(digests) == 1, "packings give different batches"
    package = str(pathlib.Path(ps.__file__).parents[1])
    outside = [path for path in libraries() - OF_PYTHON if not path.startswith(package) and "/lib-dynload/" not in path]
    strange = sorted(path for path in outside if not re.match(OF_EVERY_LINUX, path.rsplit("/", 1)[1]))
    assert arguments.of_this_system or not strange, f"not in the wheel: {strange}"
    print(
        f"penstock {ps.__version__} in Python {sys.version.split()[0]}: images, tar, LMDB and HDF5 load, and tar by TLS"
    )


if __name__ == "__main__":
    main()
