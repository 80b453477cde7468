"""Usage: inspect_wheel.py WHEEL    (with the packages of requirements.txt)

Checks a manylinux_2_28 wheel. Ends with an error unless the wheel has at most 16 MB, needs only libraries of every
Linux, and uses no glibc symbol newer than 2.28. Only Python's entry may be exported, so that the included libraries do
not clash with other copies. The wheel must contain the licence of each library inside (licenses.sh).
"""

import pathlib
import re
import subprocess
import sys
import zipfile

from elftools.elf.elffile import ELFFile

MOST_BYTES = 16_000_000
OF_EVERY_LINUX = r"(ld-linux-(x86-64|aarch64)|libc|libm|libdl|librt|libpthread|libgcc_s)\.so[.\d]*"
PYTHON_ENTRY = "PyInit__penstock"
NOT_DEBIAN = ["libcxx", "compiler-rt", "nanobind", "robin_map"]  # whose licences licenses.sh takes from elsewhere


def version(text):
    return tuple(int(part) for part in text.split("."))


def check_elf(name, elf):
    """Yields what is wrong with a compiled file."""
    needed = [tag.needed for tag in elf.get_section_by_name(".dynamic").iter_tags("DT_NEEDED")]
    strange = [library for library in needed if not re.fullmatch(OF_EVERY_LINUX, library)]
    if strange:
        yield f"{name} needs {', '.join(strange)}"
    required = elf.get_section_by_name(".gnu.version_r")
    names = [symbol.name for _, symbols in required.iter_versions() for symbol in symbols]
    newer = [text for text in names if text.startswith("GLIBC_") and version(text[6:]) > (2, 28)]
    if newer:
        yield f"{name} needs {', '.join(sorted(newer))}"
    exported = [
        symbol.name
        for symbol in elf.get_section_by_name(".dynsym").iter_symbols()
        if symbol["st_shndx"] != "SHN_UNDEF"
        and symbol["st_info"]["bind"] != "STB_LOCAL"
        and symbol["st_info"]["type"] != "STT_NOTYPE"
        and symbol.name != PYTHON_ENTRY
    ]
    if exported:
        yield f"{name} exports {len(exported)} symbols, {', '.join(exported[:5])} among them"


def check(wheel):
    """Yields what is wrong with the wheel."""
    size = wheel.stat().st_size
    if size > MOST_BYTES:
        yield f"it has {size} bytes, more than {MOST_BYTES}"
    shown = subprocess.run(["auditwheel", "show", wheel], capture_output=True, text=True, check=False)
    arch = re.search(r"manylinux_2_28_(\w+)\.whl$", wheel.name)
    tag = re.search(rf'"manylinux_(\d+_\d+)_{arch[1] if arch else ""}"', shown.stdout)
    if shown.returncode != 0 or not tag or version(tag[1].replace("_", ".")) > (2, 28):
        yield f"auditwheel does not confirm manylinux_2_28: {shown.stdout}{shown.stderr}"
    with zipfile.ZipFile(wheel) as archive:
        compiled = []
        for entry in archive.infolist():
            with archive.open(entry) as file:
                if file.read(4) == b"\x7fELF":
                    compiled.append(entry.filename)
        if len(compiled) != 2:
            yield f"it has other compiled files than the module and the command: {', '.join(compiled)}"
        for name in compiled:
            with archive.open(name) as file:
                yield from check_elf(name, ELFFile(file))
        sources = (pathlib.Path(__file__).parent / "sources.txt").read_text().splitlines()
        packages = [line.split()[0] for line in sources if not line.startswith("#")] + NOT_DEBIAN
        for package in packages:
            inside = re.compile(rf"penstock-[^/]*\.dist-info/licenses/{re.escape(package)}/[^/]+")
            if not any(inside.match(entry.filename) and entry.file_size for entry in archive.infolist()):
                yield f"it has no licence of {package}"


def main():
    wheel = pathlib.Path(sys.argv[1])
    wrong = list(check(wheel))
    if wrong:
        sys.exit("\n".join(f"inspect_wheel: {wheel.name}: {line}" for line in wrong))
    print(
        f"{wheel.name}: {wheel.stat().st_size // 1000} kB, only libraries of every Linux, exports only Python's entry"
    )


main()
