"""PLY, PCD, OFF and tables as trimesh, pypcd4 and NumPy read them, attribute by attribute: real files, and files that are written
here."""

import numpy as np
import pytest
from cloud_readers import READERS
from clouds import DATA, check_close, decoded

FILES = sorted(path for kind in ("ply", "pcd", "off") for path in (DATA / kind).rglob(f"*.{kind}"))
COUNT = 500


def compare(path, expected, numbers=None):
    origin, xyz, values = decoded(path, numbers)
    picked = slice(None) if numbers is None else numbers
    coordinates, attributes = expected
    check_close(xyz, origin, coordinates[picked])
    assert list(attributes) == list(values)
    for name, want in attributes.items():
        assert values[name].dtype == want.dtype, name
        np.testing.assert_array_equal(values[name], want[picked], name)


@pytest.mark.skipif(not FILES, reason="PENSTOCK_TEST_DATA names no folder with pointcloud/{ply,pcd,off}")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_real_files(path):
    known = [told for told in (reader(path) for reader in READERS[path.suffix]) if told is not None]
    outcome = decoded(path)
    if isinstance(outcome, str):
        assert not known and ("corrupt" in outcome or "unsupported" in outcome), outcome
        return
    if not known and len(outcome[1]) > 0:
        pytest.skip("NumPy alone does not read this file; run scripts/python_environment.sh")
    for expected in known:
        compare(path, expected)
        if len(expected[0]) > 3:
            compare(path, expected, np.unique(np.random.default_rng(1).integers(0, len(expected[0]), 50)))


@pytest.fixture(name="columns")
def columns_fixture():
    random = np.random.default_rng(5)
    columns = {axis: (random.normal(0, 30, COUNT) + 5).astype(np.float32) for axis in "xyz"}
    columns |= {
        "nx": random.random(COUNT).astype(np.float32),
        "red": random.integers(0, 256, COUNT).astype(np.uint8),
        "ring": random.integers(0, 2**16, COUNT).astype(np.uint16),
        "label": random.integers(-(2**31), 2**31, COUNT).astype(np.int32),
        "time": random.random(COUNT) * 1e9,
    }
    return columns


def split(columns):
    attributes = {name: values for name, values in columns.items() if name not in "xyz"}
    return np.stack([columns[axis] for axis in "xyz"], 1), attributes


@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize("faces_first", [False, True])
def test_binary_ply_of_both_byte_orders(tmp_path, columns, order, faces_first):
    names = {"f4": "float", "u1": "uchar", "u2": "ushort", "i4": "int", "f8": "double"}
    dtype = np.dtype([(name, order + values.dtype.str[1:]) for name, values in columns.items()])
    rows = np.empty(COUNT, dtype)
    for name, values in columns.items():
        rows[name] = values
    faces = np.zeros(7, [("count", "u1"), ("corners", order + "i4", 3)])
    faces["count"] = 3
    vertex = f"element vertex {COUNT}\n" + "".join(f"property {names[dtype[n].str[1:]]} {n}\n" for n in dtype.names)
    parts = [(vertex, rows), ("element face 7\nproperty list uchar int vertex_indices\n", faces)]
    parts = parts[::-1] if faces_first else parts
    kind = "little" if order == "<" else "big"
    header = f"ply\nformat binary_{kind}_endian 1.0\n{''.join(text for text, _ in parts)}end_header\n"
    path = tmp_path / "made.ply"
    path.write_bytes(header.encode() + b"".join(data.tobytes() for _, data in parts))
    compare(path, split(columns))
    compare(path, split(columns), np.array([0, 3, 4, 250, COUNT - 1]))


@pytest.mark.parametrize("encoding", ["ascii", "binary"])
def test_ply_and_off_that_trimesh_writes(tmp_path, encoding):
    trimesh = pytest.importorskip("trimesh")
    mesh = trimesh.creation.icosphere(subdivisions=3, radius=7)
    mesh.vertices += [3, -40, 0.125]
    mesh.visual.vertex_colors = np.random.default_rng(2).integers(0, 256, (len(mesh.vertices), 4), np.uint8)
    path = tmp_path / "made.ply"
    path.write_bytes(trimesh.exchange.ply.export_ply(mesh, encoding=encoding, vertex_normal=True))
    origin, xyz, values = decoded(path)
    check_close(xyz, origin, mesh.vertices.astype(np.float32).astype(np.float64))
    for i, colour in enumerate(("red", "green", "blue", "alpha")):
        np.testing.assert_array_equal(values[colour], mesh.visual.vertex_colors[:, i])
    np.testing.assert_allclose(np.stack([values[n] for n in ("nx", "ny", "nz")], 1), mesh.vertex_normals, atol=1e-6)
    path = tmp_path / "made.off"
    path.write_text(trimesh.exchange.off.export_off(mesh, digits=12))
    origin, xyz, _ = decoded(path)
    np.testing.assert_allclose(xyz + origin, mesh.vertices, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("separator", [",", ";", "; "])
@pytest.mark.parametrize("missing", [False, True])
def test_csv_as_numpy_reads_it(tmp_path, columns, separator, missing):
    path = tmp_path / "made.csv"
    rows = [[repr(float(value)) for value in row] for row in zip(*columns.values())]
    if missing:
        for row in rows[::7]:
            row[3 + len(row) % 3] = row[-1] = ""
    lines = [separator.join(row) for row in [columns, *rows]]
    path.write_text("\r\n".join(lines) + "\r\n")
    read = np.genfromtxt(path, delimiter=separator.strip(), names=True, encoding="utf-8")
    assert read.dtype.names == tuple(columns)
    assert np.isnan(read["time"]).sum() == (len(rows[::7]) if missing else 0)
    told = {name: read[name] for name in columns}
    compare(path, split(told))
    compare(path, split(told), np.array([0, 3, 7, 250, COUNT - 1]))


@pytest.mark.parametrize("encoding", ["ascii", "binary", "binary_compressed"])
def test_pcd_that_pypcd4_writes(tmp_path, columns, encoding):
    pypcd4 = pytest.importorskip("pypcd4")
    path = tmp_path / "made.pcd"
    cloud = pypcd4.PointCloud.from_points(
        list(columns.values()), list(columns), [v.dtype.type for v in columns.values()]
    )
    cloud.save(path, encoding=pypcd4.Encoding[encoding.upper()])
    if encoding != "ascii":
        compare(path, split(columns))
        compare(path, split(columns), np.array([0, 3, 4, 250, COUNT - 1]))
        return
    compare(path, split({name: np.array(values) for name, values in pypcd4_columns(path).items()}))


def pypcd4_columns(path):
    """Text has fewer digits: what pypcd4 reads of its own file."""
    import pypcd4

    rows = pypcd4.PointCloud.from_path(path).pc_data
    return {name: rows[name] for name in rows.dtype.names}
