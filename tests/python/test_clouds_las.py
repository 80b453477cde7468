"""LAS and LAZ as laspy reads them, attribute by attribute: real files, and files that laspy writes here."""

import struct

import numpy as np
import pytest
from clouds import DATA, check_close, decoded

laspy = pytest.importorskip("laspy")
pytest.importorskip("lazrs")

FOLDERS = ("las", "laz", "copc", "trees")
ENDLESS = "garbage_nVariableLength.las"  # laspy does not return from it
FILES = sorted(path for folder in FOLDERS for path in (DATA / folder).rglob("*.la[sz]") if path.name != ENDLESS)


def expected_attributes(las):
    for dimension in las.point_format.dimensions:
        name = dimension.name
        if name in ("X", "Y", "Z"):
            continue
        values = np.asarray(las[name])
        if values.ndim == 1:
            yield name, values
        else:
            yield from ((f"{name}[{i}]", values[:, i]) for i in range(values.shape[1]))


def compare(path, las, numbers=None):
    origin, xyz, values = decoded(path, numbers)
    picked = slice(None) if numbers is None else numbers
    check_close(xyz, origin, np.stack([las.x, las.y, las.z], 1)[picked])
    expected = dict(expected_attributes(las))
    assert list(expected) == list(values)
    for name, want in expected.items():
        assert values[name].dtype == want.dtype, name
        assert values[name].tobytes() == np.ascontiguousarray(want[picked]).tobytes(), name


@pytest.mark.skipif(not FILES, reason="no LAS files in PENSTOCK_TEST_DATA")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_real_files(path):
    try:
        las = laspy.read(path)
        whole = len(las) == las.header.point_count
    except BaseException as error:  # lazrs panics with an exception that is no Exception
        if isinstance(error, (KeyboardInterrupt, SystemExit)):
            raise
        whole = False
    if not whole:
        outcome = decoded(path)
        if path.name == "simple-laszip-compressor-version-1.2r0.laz":  # sound: items of version 1, without a table
            return compare(path, laspy.read(path.with_name("simple.laz")))
        assert isinstance(outcome, str) and ("corrupt" in outcome or "unsupported" in outcome)
        return None
    compare(path, las)
    if len(las) > 3:
        numbers = np.unique(np.random.default_rng(1).integers(0, len(las), 50))
        compare(path, las, numbers)
    return None


def forest(point_format, count, seed=0, channels=1):
    """Laser returns in a wood, pulse by pulse: what compression is made for."""
    random = np.random.default_rng(seed)
    header = laspy.LasHeader(point_format=point_format, version="1.4")
    header.scales, header.offsets = [0.001, 0.001, 0.001], [481000, 5900000, 100]
    header.add_extra_dim(laspy.ExtraBytesParams("reflectance", "i2", scales=np.array([0.01]), offsets=np.array([-5.0])))
    header.add_extra_dim(laspy.ExtraBytesParams("normal", "3f4"))
    las = laspy.LasData(header)
    returns = random.integers(1, 6, count)
    pulse = np.repeat(np.arange(count), returns)[:count]
    number = (np.arange(count) - np.searchsorted(pulse, pulse) + 1).astype(np.uint8)
    las.x = 481000 + 50 * np.abs(np.sin(pulse * 0.01)) + random.normal(0, 0.02, count)
    las.y = 5900000 + pulse * 0.003 + random.normal(0, 0.02, count)
    las.z = 120 + random.gamma(2, 4, count) / number
    las.intensity = random.gamma(3, 2000, count).clip(0, 65535)
    las.return_number = number
    las.number_of_returns = np.maximum(returns[pulse], number)
    las.classification = random.choice([1, 2, 3, 4, 5], count)
    las.user_data = random.integers(0, 3, count)
    las.point_source_id = 7 + pulse // 5000
    if "gps_time" in point_format.dimension_names:
        las.gps_time = 2.5e8 + pulse * 1e-5 + (pulse // 3000) * 17.5
    las.edge_of_flight_line = pulse % 500 == 0
    las.withheld = random.random(count) < 0.01
    if point_format.id >= 6:
        las.scan_angle = (3000 * np.sin(pulse * 0.01)).astype(np.int16)
        if channels > 1:
            las.scanner_channel = random.integers(0, channels, count)
    else:
        las.scan_angle_rank = (20 * np.sin(pulse * 0.01)).astype(np.int8)
    if "red" in point_format.dimension_names:
        for i, name in enumerate(("red", "green", "blue")):
            las[name] = (random.normal(90 + 20 * i, 20, count).clip(0, 255) * 257).astype(np.uint16)
    if "nir" in point_format.dimension_names:
        las.nir = random.integers(0, 65536, count)
    if "wavepacket_index" in point_format.dimension_names:
        las.wavepacket_index = pulse % 3
        las.wavepacket_offset = (60 + pulse * 256 + (pulse // 1000) * 2**34).astype(np.uint64)
        las.wavepacket_size = np.full(count, 256)
        las.return_point_wave_location = random.random(count).astype(np.float32)
        las.x_t, las.y_t, las.z_t = random.random((3, count)).astype(np.float32)
    las["reflectance"] = random.normal(-10, 5, count)
    las["normal"] = random.random((count, 3)).astype(np.float32)
    return las


@pytest.mark.parametrize("suffix", ["las", "laz"])
@pytest.mark.parametrize("number", range(11))
def test_each_point_format(tmp_path, number, suffix):
    las = forest(laspy.PointFormat(number), 60000, seed=number)
    path = tmp_path / f"forest.{suffix}"
    las.write(path)
    compare(path, las)
    compare(path, las, np.array([0, 1, 49999, 50000, 50001, 59999]))
    compare(path, las, np.array([52000]))


@pytest.mark.parametrize("number", [6, 7, 8])  # lazrs 0.8 codes wave packets of several channels unlike LASzip
def test_scanner_channels_have_models_of_their_own(tmp_path, number):
    las = forest(laspy.PointFormat(number), 20000, seed=20 + number, channels=4)
    las.write(tmp_path / "forest.laz")
    compare(tmp_path / "forest.laz", las)


def test_no_points(tmp_path):
    for number in (3, 6):
        las = laspy.LasData(laspy.LasHeader(point_format=number, version="1.4"))
        for suffix in ("las", "laz"):
            las.write(tmp_path / f"empty.{suffix}")
            compare(tmp_path / f"empty.{suffix}", las)


@pytest.mark.parametrize("suffix", ["las", "laz"])
@pytest.mark.parametrize("number", [0, 3, 6])
def test_wrong_bounds_do_not_cost_precision(tmp_path, number, suffix):
    las = forest(laspy.PointFormat(number), 5000, seed=40 + number)
    path = tmp_path / f"forest.{suffix}"
    las.write(path)
    file = bytearray(path.read_bytes())
    bounds = struct.unpack("<6d", file[179:227])
    for wrong in ([v * 1000 for v in bounds], [v / 1000 for v in bounds], [0.0] * 6, [float("nan")] * 6):
        file[179:227] = struct.pack("<6d", *wrong)
        path.write_bytes(file)
        compare(path, las)
        compare(path, las, np.array([3, 4, 700, 4999]))
