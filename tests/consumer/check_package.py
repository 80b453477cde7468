"""Usage: check_package.py PREFIX

Loads a dataset with the Python package and the command in a prefix of cmake --install. Ends with an error unless
penstock's libraries, including the one for object stores, come from that prefix.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

prefix = pathlib.Path(sys.argv[1]).resolve()
sys.path.insert(0, str(next(prefix.glob("lib/python3*/site-packages"))))
import penstock as ps  # noqa: E402

with tempfile.TemporaryDirectory() as folder:
    subprocess.run([prefix / "bin" / "penstock", "synth", "images", f"{folder}/photos", "-n", "4"], check=True)
    batch = next(iter(ps.Loader(f"{folder}/photos", batch_size=4, transforms={"jpg": ps.image.resize((8, 8))})))
    assert batch["jpg"].shape == (4, 3, 8, 8), batch["jpg"].shape
try:
    ps.open("http://localhost:1/photos.tar")
except ps.Error as error:
    print(error)
maps = pathlib.Path("/proc/self/maps").read_text()
libraries = set(re.findall(r"\S*/(?:lib|_)penstock\S*\.so\S*", maps))
print("\n".join(sorted(libraries)))
assert len(libraries) >= 2, libraries
assert all(pathlib.Path(library).is_relative_to(prefix) for library in libraries), libraries
