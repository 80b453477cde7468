"""Helpers of the tests of penstock.pack: packing into tar, and values to pack and to compare."""

import io

import numpy as np
import penstock as ps
from PIL import Image


def pack(source, tmp_path, name="out", **options):
    told = ps.pack(source, tmp_path / name, format="tar", progress=False, **options)
    return ps.open(tmp_path / name), told


def from_npy(stored):
    return np.load(io.BytesIO(stored))


def encoded(format, number=0, size=(8, 6)):
    pixels = np.random.default_rng(number).integers(0, 256, (*size, 3), np.uint8)
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, format)
    return out.getvalue()
