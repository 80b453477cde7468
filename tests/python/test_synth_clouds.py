"""Clouds that `penstock synth clouds` writes, as laspy reads them."""

import os
import subprocess

import numpy as np
import pytest

laspy = pytest.importorskip("laspy")


@pytest.mark.parametrize("layout, point_format", [("trees", 6), ("trees", 3), ("plots", 7), ("plots", 0), ("plots", 2)])
def test_laspy_reads_what_is_written(tmp_path, layout, point_format):
    words = [
        "-n",
        "6",
        "--num-classes",
        "3",
        "--points",
        "5k-9k",
        "--layout",
        layout,
        "--las-format",
        str(point_format),
    ]
    subprocess.run([os.environ["PENSTOCK_COMMAND"], "synth", "clouds", tmp_path / "clouds", *words], check=True)
    files = sorted((tmp_path / "clouds").rglob("*.las"))
    assert len(files) == 6
    for file in files:
        las = laspy.read(file)
        header = las.header
        assert header.point_format.id == point_format
        assert str(header.version) == ("1.4" if point_format >= 6 else "1.2")
        assert 5000 <= len(las.points) == header.point_count <= 9000
        xyz = las.xyz
        np.testing.assert_array_equal(xyz.min(axis=0), header.mins)
        np.testing.assert_array_equal(xyz.max(axis=0), header.maxs)
        returns = np.bincount(las.return_number, minlength=16)[1:]
        np.testing.assert_array_equal(
            returns[: len(header.number_of_points_by_return)], header.number_of_points_by_return
        )
        assert (np.asarray(las.return_number) <= np.asarray(las.number_of_returns)).all()
        assert set(np.unique(las.classification)) <= {2, 4, 5, 7}
        assert np.asarray(las.intensity).std() > 100
        assert np.abs(np.asarray(las.scan_angle if point_format >= 6 else las.scan_angle_rank)).max() > 5
        assert set(np.unique(las.point_source_id)) == {1, 2, 3, 4}
        if "gps_time" in header.point_format.dimension_names:
            assert (np.diff(las.gps_time) >= 0).all() and header.global_encoding.gps_time_type == 1
        if "red" in header.point_format.dimension_names:
            assert np.asarray(las.green).mean() > np.asarray(las.blue).mean()
        assert header.global_encoding.wkt == (point_format >= 6)
        assert len(header.vlrs) == (1 if point_format >= 6 else 0)
