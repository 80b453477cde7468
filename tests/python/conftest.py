"""Makes data that several test files share."""

import compileall
import importlib.util
import io
import os

import numpy as np
import pytest
from command import FORMATS, run

pytest.register_assert_rewrite("augmentations", "clouds")  # so that their asserts tell values, too


def pytest_configure():
    """Compiles the package's modules once, into the build folder. The tests start many processes that import them, and
    these write no bytecode, to keep the source folders clean."""
    package = importlib.util.find_spec("penstock")
    if package is not None and package.origin is not None:  # not a folder of that name
        compileall.compile_dir(os.path.dirname(package.origin), quiet=2)


SKIPPED = []  # "test\treason", for tests/run.sh, which counts them by reason


def pytest_runtest_logreport(report):
    if report.skipped:
        reason = report.longrepr[2].removeprefix("Skipped: ") if isinstance(report.longrepr, tuple) else "expected"
        SKIPPED.append(f"{report.nodeid}\t{reason}")


def pytest_collectreport(report):
    pytest_runtest_logreport(report)


def pytest_sessionfinish():
    if account := os.environ.get("PENSTOCK_SKIPPED_CASES"):
        with open(account, "w", encoding="utf-8") as file:
            file.writelines(line.replace("\n", " ") + "\n" for line in SKIPPED)


@pytest.fixture(name="ps", scope="session")
def ps_fixture():
    """The package, for single cases of files that test the command, which builds without Python run, too."""
    return pytest.importorskip("penstock", reason="this build has no Python package; use the preset dev or release")


def synth(tmp_path_factory, kind, *options):
    folder = tmp_path_factory.mktemp("data") / kind
    run("synth", kind, folder, *options)
    return folder


@pytest.fixture(name="images", scope="session")
def images_fixture(tmp_path_factory):
    """A folder of 60 JPEGs in 3 class folders."""
    return synth(tmp_path_factory, "images", "-n", "60", "--num-classes", "3")


@pytest.fixture(name="icons", scope="session")
def icons_fixture(tmp_path_factory):
    """A folder of 500 small PNGs in class folders."""
    return synth(tmp_path_factory, "icons", "-n", "500", "--seed", "3")


@pytest.fixture(name="packed", scope="session")
def packed_fixture(tmp_path_factory, icons):
    """{format: the icons packed so}, in several shards each."""
    folder = tmp_path_factory.mktemp("packed")
    for format in FORMATS:
        run("pack", icons, folder / format, "--format", format, "--shard-size", "500KB")
    return {format: folder / format for format in FORMATS}


def write_arrays(folder, length):
    folder.mkdir()
    for i in range(40):
        encoded = io.BytesIO()
        np.save(encoded, np.arange(i, i + length, dtype=np.float32))
        (folder / f"{i:03}.npy").write_bytes(encoded.getvalue())
        (folder / f"{i:03}.cls").write_text(str(i % 4))
    return folder


@pytest.fixture(name="arrays", scope="session")
def arrays_fixture(tmp_path_factory):
    """A folder of 40 arrays of shape (5,), float32, with a class number each; array i is i, i + 1, ..."""
    return write_arrays(tmp_path_factory.mktemp("data") / "arrays", 5)


@pytest.fixture(name="long_arrays", scope="session")
def long_arrays_fixture(tmp_path_factory):
    """The same of shape (100,): rows too long to be handed out as copies."""
    return write_arrays(tmp_path_factory.mktemp("data") / "long_arrays", 100)
