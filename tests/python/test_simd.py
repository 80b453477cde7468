"""PENSTOCK_SIMD limits the SIMD level. Batches are the same at each level."""

import os
import pathlib
import platform
import subprocess
import sys

import penstock as ps
import pytest
from command import COMMAND

DIGESTS = pathlib.Path(__file__).with_name("digests.py")
X86 = platform.machine() == "x86_64"


def run(*words, **variables):
    return subprocess.run(
        words, env={**os.environ, **variables}, capture_output=True, text=True, check=False, timeout=600
    )


def level(**variables):
    lines = run(COMMAND, "doctor", **variables).stdout.splitlines()
    return next(line.split(maxsplit=1)[1] for line in lines if line.startswith("  SIMD "))


def test_batches_are_the_same_at_each_level(tmp_path):
    made = run(sys.executable, DIGESTS, tmp_path / "data", "--make", PENSTOCK_COMMAND=str(COMMAND))
    assert made.returncode == 0 and len(made.stdout.splitlines()) > 20, made.stderr
    for name in ("scalar", "sse4", "avx2") if X86 else ("scalar",):
        limited = run(sys.executable, DIGESTS, tmp_path / "data", PENSTOCK_SIMD=name)
        assert limited.stdout == made.stdout, (name, limited.stderr)


def test_doctor_reports_the_level(monkeypatch):
    monkeypatch.delenv("PENSTOCK_SIMD", raising=False)
    assert level() in ("avx512", "avx2", "sse4", "ssse3", "neon", "scalar")
    assert level(PENSTOCK_SIMD="scalar") == "scalar (limited by PENSTOCK_SIMD)"
    if X86 and level() == "avx512":
        assert level(PENSTOCK_SIMD="avx2") == "avx2 (limited by PENSTOCK_SIMD)"
        assert level(PENSTOCK_SIMD="sse4") == "sse4 (limited by PENSTOCK_SIMD)"


def test_an_unknown_level_is_an_error(images, monkeypatch):
    expected = "PENSTOCK_SIMD is 'avx'; set it to scalar, sse4, avx2 or avx512, or unset it"
    assert expected in run(COMMAND, "doctor", PENSTOCK_SIMD="avx").stderr
    monkeypatch.setenv("PENSTOCK_SIMD", "avx")
    with pytest.raises(ps.Error, match=expected):
        ps.Loader(images)
