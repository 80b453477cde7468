"""Makes data that tests of several libraries share. The fixtures of ../conftest.py are there, too."""

import profiled
import pytest

import penstock as ps


@pytest.fixture
def merged(arrays, tmp_path):
    """A merged trace of 5 steps."""
    with ps.Loader(arrays, batch_size=8, transforms={"npy": ps.array.decode(ragged=True)}, workers=2) as loader:
        return profiled.merged_trace(loader, tmp_path)
