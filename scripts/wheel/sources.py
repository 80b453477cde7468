"""The pinned sources of the libraries inside wheels: Debian's source packages, without dpkg.

    sources.py list ARCHIVES            prints each package that lacks a file in ARCHIVES, as NAME=VERSION
    sources.py unpack ARCHIVES FOLDER   unpacks each package into FOLDER/NAME, with Debian's patches

Both read sources.txt and build_tools.txt beside this file. They name each package's .dsc by its SHA-256, and the .dsc
has the sums of the other files. A wrong sum ends the program. Sources that are already unpacked stay as they are.
Requires GNU patch. Layout of a .dsc: dsc(5); of the archives: dpkg-source(1), format "3.0 (quilt)".
"""

import hashlib
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from typing import NamedTuple

HERE = pathlib.Path(__file__).parent


class Package(NamedTuple):
    name: str
    version: str  # with Debian's epoch, as apt-get takes it
    digest: str  # SHA-256 of the .dsc

    @property
    def dsc(self) -> str:
        return f"{self.name}_{self.version.split(':')[-1]}.dsc"


def packages() -> Iterator[Package]:
    for pins in "sources.txt", "build_tools.txt":
        for line in (HERE / pins).read_text().splitlines():
            if not line.startswith("#"):
                yield Package(*line.split())


def fail(package: Package, cause: str) -> None:
    sys.exit(f"sources: {package.name} {package.version}: {cause}")


def verify(package: Package, file: pathlib.Path, digest: str) -> bytes:
    """The bytes of the file. Ends the program if the file is missing or has another sum."""
    if not file.exists():
        fail(package, f"no {file}; run scripts/wheel.sh --fetch-only where there is a network, and copy the cache here")
    content = file.read_bytes()
    found = hashlib.sha256(content).hexdigest()
    if found != digest:
        fail(package, f"{file} has the SHA-256 {found} instead of {digest}; delete the file and fetch it again")
    return content


def files_of(package: Package, archives: pathlib.Path) -> dict[str, str]:
    """Name and SHA-256 of each file that the .dsc lists."""
    text = verify(package, archives / package.dsc, package.digest).decode()
    listed = re.search(r"^Checksums-Sha256:\s*\n((?: .*\n)+)", text, re.MULTILINE)
    files = {line.split()[2]: line.split()[0] for line in listed[1].splitlines()} if listed else {}
    if "\nFormat: 3.0 (quilt)\n" not in f"\n{text}" or not files:
        fail(package, f"{package.dsc} is not a source package of format 3.0 (quilt) with SHA-256 sums")
    return files


def unpack(package: Package, archives: pathlib.Path, folder: pathlib.Path) -> None:
    """Unpacks the original archive without its topmost folder, then Debian's folder, and applies Debian's patches."""
    files = files_of(package, archives)
    for name, digest in files.items():
        verify(package, archives / name, digest)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    original = next(name for name in files if ".orig.tar." in name and not name.endswith(".asc"))
    extract(archives / original, folder / ".original")
    top = list((folder / ".original").iterdir())
    for entry in (top[0] if len(top) == 1 and top[0].is_dir() else folder / ".original").iterdir():
        entry.rename(folder / entry.name)
    shutil.rmtree(folder / ".original")
    shutil.rmtree(folder / "debian", ignore_errors=True)
    extract(archives / next(name for name in files if ".debian.tar." in name), folder)
    patches = folder / "debian" / "patches"
    series = (patches / "series").read_text() if (patches / "series").exists() else ""
    for line in series.splitlines():
        name = line.split("#")[0].strip()
        if name:
            arguments = ["patch", "-p1", "-F0", "-N", "-s", "-t", "-E", "--no-backup-if-mismatch", "-i", patches / name]
            done = subprocess.run(arguments, cwd=folder, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                fail(package, f"debian/patches/{name} does not apply: {done.stdout}{done.stderr}")


def extract(archive: pathlib.Path, folder: pathlib.Path) -> None:
    with tarfile.open(archive) as tar:
        tar.extractall(folder, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))


def main() -> None:
    command, archives = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
    for package in packages():
        if command == "list":
            dsc = archives / package.dsc
            if not dsc.exists() or not all((archives / name).exists() for name in files_of(package, archives)):
                print(f"{package.name}={package.version}")
        else:
            folder = pathlib.Path(sys.argv[3]).resolve() / package.name
            pin = folder / ".penstock_pin"
            if not pin.exists() or pin.read_text() != f"{package.version} {package.digest}\n":
                unpack(package, archives, folder)
                pin.write_text(f"{package.version} {package.digest}\n")


main()
