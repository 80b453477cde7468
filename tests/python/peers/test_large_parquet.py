"""The rows of a Parquet file with map keys of 1 GiB, which pyarrow does not convert to Python. It takes 40 s and 8 GB."""

import os
import pathlib

import pytest

import penstock as ps


def test_strings_of_a_gigabyte_are_read():
    place = pathlib.Path(os.environ.get("PENSTOCK_TEST_DATA", "/nowhere"))
    files = list(place.glob("parquet/**/large_string_map.brotli.parquet"))
    if not files:
        pytest.skip("no Parquet files in PENSTOCK_TEST_DATA")
    for file in files:
        source = ps.sources.parquet(file)
        (field,) = source.columns.values()
        sizes = []
        for sample in source:
            (entry,) = sample[field]  # a map of one pair
            sizes.append(len(entry if isinstance(entry, str) else entry[0]))
        assert sizes == [2**30, 2**30]
