"""Makes torchvision importable for a test file, from .venv/torchvision. Other programs must not find it there, because it
is linked with CUDA: see peers/sitecustomize.py."""

import importlib.util
import pathlib
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
_kept = []  # the operators are declared as long as this module exists


def require_torchvision():
    """The package torchvision. Skips the test file if it is not installed."""
    pytest.importorskip("torch", reason="PyTorch is not installed; run scripts/python_environment.sh")
    folder = HERE.parents[1] / ".venv/torchvision"
    if "torchvision" not in sys.modules and folder.exists():
        spec = importlib.util.spec_from_file_location("before_torchvision", HERE / "peers/sitecustomize.py")
        _kept.append(importlib.util.module_from_spec(spec))
        spec.loader.exec_module(_kept[-1])
        sys.path.append(str(folder))
    return pytest.importorskip("torchvision", reason="torchvision is not installed; run scripts/python_environment.sh")
