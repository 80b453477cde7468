"""penstock.pack from Parquet files."""

import io
import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import penstock as ps
import pytest
from packing import encoded, from_npy, pack


@pytest.fixture(name="table")
def table_fixture():
    pa = pytest.importorskip("pyarrow")
    count = 50
    return pa.table(
        {
            "id": [f"row-{i:03}" for i in range(count)],
            "image": pa.array([encoded("JPEG", i) for i in range(count)], pa.large_binary()),
            "mask": [encoded("PNG", i) for i in range(count)],
            "label": pa.array([i % 4 for i in range(count)], pa.int8()),
            "caption": [f"größe {i}" if i % 2 else None for i in range(count)],
            "weight": pa.array([i / 8 for i in range(count)], pa.float32()),
            "points": pa.array([[[i, 1.5], [2, 3]] for i in range(count)], pa.list_(pa.list_(pa.float32(), 2))),
            "tokens": pa.array([list(range(i)) for i in range(count)], pa.list_(pa.uint16())),
            "tags": [["a", "b"]] * count,
            "more": [{"x": i, "y": None} for i in range(count)],
            "kind": pa.array(["p", "q"] * (count // 2)).dictionary_encode(),
            "empty": pa.nulls(count),
        }
    )


def test_every_column_of_a_parquet_file_becomes_a_field(table, tmp_path):
    import pyarrow.parquet as pq

    pq.write_table(table, tmp_path / "table.parquet", row_group_size=7)
    dataset, _ = pack(ps.sources.parquet(tmp_path / "table.parquet", key="id"), tmp_path)
    assert dataset.keys == table["id"].to_pylist()
    for number in (3, 48):
        sample = dataset[number]
        row = table.slice(number, 1).to_pylist()[0]
        names = {"jpg", "png", "cls", "weight.npy", "points.npy", "tokens.npy", "tags.json", "more.json", "kind.txt"}
        assert set(sample) == names | ({"caption.txt"} if number % 2 else set())
        assert sample["jpg"] == row["image"] and sample["png"] == row["mask"]
        assert sample["cls"] == str(row["label"]).encode() and sample["kind.txt"].decode() == row["kind"]
        assert "caption.txt" not in sample or sample["caption.txt"].decode() == row["caption"]
        weight, points, tokens = (from_npy(sample[name]) for name in ("weight.npy", "points.npy", "tokens.npy"))
        assert weight.dtype == np.float32 and weight.shape == () and weight == row["weight"]
        assert points.dtype == np.float32 and points.tolist() == row["points"]
        assert tokens.dtype == np.uint16 and tokens.tolist() == row["tokens"]
        assert json.loads(sample["tags.json"]) == row["tags"] and json.loads(sample["more.json"]) == row["more"]


def cloud(extension):
    if extension in ("las", "laz"):
        laspy = pytest.importorskip("laspy")
        pytest.importorskip("lazrs")
        las = laspy.LasData(laspy.LasHeader(point_format=3, version="1.2"))
        las.x, las.y, las.z = np.arange(3.0), np.arange(3.0), np.arange(3.0)
        out = io.BytesIO()
        las.write(out, do_compress=extension == "laz")
        return out.getvalue()
    coordinates = "".join(f"property float {axis}\n" for axis in "xyz")
    return {
        "ply": f"ply\nformat ascii 1.0\nelement vertex 1\n{coordinates}end_header\n1 2 3\n",
        "pcd": "VERSION .7\nFIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nWIDTH 1\nHEIGHT 1\nDATA ascii\n1 2 3\n",
        "off": "OFF\n1 0 0\n1 2 3\n",
    }[extension].encode()


@pytest.mark.parametrize("codec", ["las", "laz", "ply", "pcd", "off"])
def test_columns_of_clouds_are_known_by_their_first_bytes_and_by_their_names(codec, tmp_path):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    value = cloud(codec)
    columns = {"scan": [value] * 2, "word": ["a", "b"], f"second.{codec}": [value] * 2, "xyz": ["1", "2"]}
    pq.write_table(pa.table(columns), tmp_path / "table.parquet")
    dataset, _ = pack(ps.sources.parquet(tmp_path / "table.parquet"), tmp_path)
    codecs = {field.name: field.codec for field in dataset.fields}
    assert codecs == {f"scan.{codec}": codec, "word.txt": "txt", f"second.{codec}": codec, "xyz.txt": "txt"}
    assert dataset[1][f"scan.{codec}"] == value
    pq.write_table(pa.table({"scan": [value]}), tmp_path / "one.parquet")
    one, _ = pack(ps.sources.parquet(tmp_path / "one.parquet"), tmp_path, "one")
    assert [(field.name, field.codec) for field in one.fields] == [(codec, codec)]


def test_a_column_of_numbers_is_no_cloud_whatever_it_is_called(tmp_path):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"off": [1, 2], "xyz": [[0.5], [1.5]]}), tmp_path / "table.parquet")
    dataset, _ = pack(ps.sources.parquet(tmp_path / "table.parquet"), tmp_path)
    assert [(field.name, field.codec) for field in dataset.fields] == [("off.npy", "npy"), ("xyz.npy", "npy")]


def test_columns_are_chosen_and_named_and_words_become_classes(table, tmp_path):
    import pyarrow.parquet as pq

    pq.write_table(table, tmp_path / "table.parquet")
    fields = {"image": "jpg", "kind": "cls", "weight": "weight.txt"}
    dataset, _ = pack(tmp_path / "table.parquet", tmp_path, fields=fields)
    assert dataset.classes == ["p", "q"] and dataset.keys[:2] == [f"{0:012}", f"{1:012}"]
    assert dict(dataset[9]) == {"jpg": encoded("JPEG", 9), "cls": b"1", "weight.txt": b"1.125"}
    with pytest.raises(ps.Error, match="unknown column 'imag'"):
        ps.sources.parquet(tmp_path / "table.parquet", fields={"imag": "jpg"})
    with pytest.raises(ps.Error, match="unknown column 'name' for the keys"):
        ps.sources.parquet(tmp_path / "table.parquet", key="name")


def test_a_folder_of_parquet_files_is_one_dataset(table, tmp_path):
    import pyarrow.parquet as pq

    folder = tmp_path / "tables"
    for number, split in enumerate(["a", "a", "b"]):
        (folder / f"kind={split}").mkdir(parents=True, exist_ok=True)
        part = table.select(["id", "image"]).slice(number * 10, 10)
        pq.write_table(part, folder / f"kind={split}" / f"{number}.parquet")
    (folder / "_SUCCESS").write_text("")
    dataset, _ = pack(folder, tmp_path, fields={"image": "jpg", "kind": "cls"})
    assert len(dataset) == 30 and dataset.classes == ["a", "b"]
    assert dict(dataset[25]) == {"jpg": encoded("JPEG", 25), "cls": b"1"}


@pytest.mark.parametrize(
    ("columns", "classes", "values"),
    [
        ([["1", "2.0"], ["10", ""]], [], ["1", "2", "10", None]),
        ([[1.0, 2.0], [None, 10.0]], [], ["1", "2", None, "10"]),
        ([[1, -1], [3, None]], [], ["1", "-1", "3", None]),
        ([["1", "2"], ["x", "10"]], ["1", "10", "2", "x"], ["0", "2", "3", "1"]),
        ([["007", "7"], ["7", None]], ["007", "7"], ["0", "1", "1", None]),
        ([[" a", "b "], ["a", " "]], ["a", "b"], ["0", "1", "0", None]),
        ([[1, 2], ["x", "2"]], ["1", "2", "x"], ["0", "1", "2", "1"]),
        ([[1, 2], [3.0, 4.0]], [], ["1", "2", "3", "4"]),
    ],
)
def test_labels_of_all_files_decide_whether_they_are_numbers(tmp_path, columns, classes, values):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    (tmp_path / "tables").mkdir()
    for number, labels in enumerate(columns):
        table = pa.table({"label": labels, "text": ["t"] * len(labels)})
        pq.write_table(table, tmp_path / "tables" / f"{number}.parquet")
    dataset, _ = pack(tmp_path / "tables", tmp_path, fields={"label": "cls", "text": "txt"})
    assert dataset.classes == classes
    assert [sample["cls"].decode() if "cls" in sample else None for sample in dataset] == values


@pytest.mark.parametrize("labels", [["1", "1.5"], [1.0, 1.5], [1.0, float("nan")], ["cat", "0.5"]])
def test_a_label_that_is_a_fraction_is_an_error_that_names_the_column(tmp_path, labels):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"label": labels}), tmp_path / "a.parquet")
    with pytest.raises(ps.Error, match="column 'label': the label .* is not a whole number; fields="):
        ps.sources.parquet(tmp_path / "a.parquet", fields={"label": "cls"})


def test_rows_that_cannot_be_read_are_named_or_skipped(tmp_path):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    file = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    (tmp_path / "t").mkdir()
    for name in ("a", "b"):
        rows = [{"bytes": encoded("PNG"), "path": None}, {"bytes": None, "path": "no/such.png"}]
        pq.write_table(pa.table({"x": pa.array(rows[: 1 + (name == "b")], file)}), tmp_path / "t" / f"{name}.parquet")
    cause = "row 1, column 'x': its bytes are null, and the file no/such.png does not exist"
    with pytest.raises(ps.Error, match=f"t/b.parquet: sample {2:012}: field png: shape: {cause}"):
        pack(tmp_path / "t", tmp_path)
    dataset, told = pack(tmp_path / "t", tmp_path, on_error="skip")
    assert dataset.keys == [f"{0:012}", f"{1:012}"] and told["skipped"] == 1


def test_a_row_of_nulls_is_no_sample(tmp_path):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"x": [1, None, 3]}), tmp_path / "t.parquet")
    with pytest.raises(ps.Error, match=r"sample 000000000001: shape: row 1: all columns of the row are null$"):
        pack(tmp_path / "t.parquet", tmp_path)
    assert pack(tmp_path / "t.parquet", tmp_path, on_error="skip")[0].keys == [f"{i:012}" for i in (0, 2)]


def test_a_source_without_samples_is_an_error(tmp_path):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"x": pa.array([], pa.int32())}), tmp_path / "t.parquet")
    with pytest.raises(ps.Error, match="t.parquet: invalid argument: nothing to pack: the source gave no samples$"):
        pack(tmp_path / "t.parquet", tmp_path)
    pq.write_table(pa.table({"x": pa.array([None, None], pa.int32())}), tmp_path / "t.parquet")
    with pytest.raises(ps.Error, match="the source gave no samples, 2 were left out"):
        pack(tmp_path / "t.parquet", tmp_path, on_error="skip")
    assert os.listdir(tmp_path) == ["t.parquet"]


def test_real_parquet_files_are_never_packed_to_nothing(tmp_path):
    files = sorted(pathlib.Path(os.environ.get("PENSTOCK_TEST_DATA", "/nowhere")).glob("found/parquet/**/*.parquet"))
    if not files:
        pytest.skip("no found files in PENSTOCK_TEST_DATA")
    for number, file in enumerate(files):
        try:
            told = ps.pack(ps.sources.parquet(file), tmp_path / str(number), format="tar")
        except ps.Error as error:
            assert str(file) in str(error) or "field" in str(error)
            assert not (tmp_path / str(number)).exists()
        else:
            assert told["samples"] > 0 and file.name != "parquet_column_num_values_mismatch.parquet"


def test_a_broken_parquet_file_raises_with_its_name_whatever_is_to_be_skipped(table, tmp_path):
    import pyarrow.parquet as pq

    path = tmp_path / "t" / "broken.parquet"
    path.parent.mkdir()
    pq.write_table(table.select(["id", "image"]), path)
    whole = path.read_bytes()
    for broken in (whole[: len(whole) // 2], whole[:2000] + b"\xff" * 3000 + whole[5000:]):
        path.write_bytes(broken)
        with pytest.raises(ps.Error, match="broken.parquet: corrupt"):
            pack(tmp_path / "t", tmp_path, on_error="skip")
    assert os.listdir(tmp_path) == ["t"]


def rows_that_can_be_read(source):
    """(number, sample) of all rows but those that are refused by name."""
    items = iter(source)
    for number in range(1 << 30):
        try:
            yield number, next(items)
        except StopIteration:
            return
        except ps.sources.ItemError as error:
            assert error.key == f"{number:012}" and error.dataset == source.name


def is_same(value, expected):
    if isinstance(value, memoryview):
        return bytes(value) == (expected.encode() if isinstance(expected, str) else expected)
    if isinstance(value, np.ndarray):
        other = np.array(expected, value.dtype)
        return value.tolist() == expected or np.array_equal(value, other, equal_nan=value.dtype.kind == "f")
    if isinstance(value, np.generic):
        return value == expected or (np.isnan(value) and np.isnan(expected))
    if isinstance(value, (dict, list)) and value != expected:  # times are text in JSON
        return ps.encode("json", value) == ps.encode("json", expected)
    return value == expected or value == str(expected)


def test_parquet_files_of_every_kind_give_what_pyarrow_reads_or_an_error_that_names_them():
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    files = sorted(pathlib.Path(os.environ.get("PENSTOCK_TEST_DATA", "/nowhere")).glob("parquet/**/*.parquet"))
    if not files:
        pytest.skip("no Parquet files in PENSTOCK_TEST_DATA")
    refused, compared = [], 0
    for file in files:
        if file.name == "large_string_map.brotli.parquet":
            continue  # its strings have 1 GiB: peers/test_large_parquet.py reads them
        try:
            source = ps.sources.parquet(file)
            rows = list(rows_that_can_be_read(source))
        except ps.Error as error:
            assert str(file) in str(error)
            refused.append(file.name)
            continue
        try:
            columns = {name: pq.ParquetFile(file).read(columns=[name]).column(0).to_pylist() for name in source.columns}
        except (pa.ArrowException, OverflowError, ValueError):
            continue  # values that Python has none for
        for number, sample in rows:
            for name, field in source.columns.items():
                if field in sample:
                    assert is_same(sample[field], columns[name][number]), (file, number, name)
                    compared += 1
    assert compared > 10_000 and len(refused) < len(files) // 10
    assert "datapage_v1-corrupt-checksum.parquet" in refused


PEAK = """
import resource, sys, penstock as ps
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
count = sum(1 for sample in ps.sources.parquet(sys.argv[1]))
print(count, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


def test_a_row_group_of_400_mb_needs_bounded_memory(tmp_path):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    values = pa.array([os.urandom(100_000) for _ in range(1000)] * 4, pa.binary())
    with pq.ParquetWriter(tmp_path / "t.parquet", pa.schema({"x": pa.binary()}), use_dictionary=False) as file:
        file.write_table(pa.table({"x": values}), row_group_size=4000)
    assert pq.read_metadata(tmp_path / "t.parquet").num_row_groups == 1
    done = subprocess.run(
        [sys.executable, "-c", PEAK, str(tmp_path / "t.parquet")], capture_output=True, text=True, check=True
    )
    count, megabytes = map(int, done.stdout.split())
    assert count == 4000 and megabytes < 200
