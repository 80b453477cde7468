"""penstock.pack from anything: iterables, torch, Hugging Face, Parquet, Petastorm, CSV."""

import importlib.util
import io
import json
import os
import pathlib
import pickle
import random
import subprocess
import sys
import threading
import time
import types

import numpy as np
import penstock as ps
import pytest
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


class Squares:
    """A map-style dataset, as torch has them: pairs of an image and a class."""

    classes = ("even", "odd")

    def __init__(self, count, broken=()):
        self.count, self.broken, self.threads = count, broken, set()

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        if i in self.broken:
            raise ValueError(f"no luck with {i}")
        self.threads.add(threading.current_thread().name)
        time.sleep(random.random() * 0.002)
        return Image.fromarray(np.full((4, 4, 3), i % 256, np.uint8)), i % 2


# Iterables


def test_a_generator_of_dicts_is_packed_and_numbered(tmp_path):
    seen = []
    told = ps.pack(
        ({"txt": f"text {i}", "cls": i % 3} for i in range(120)),
        tmp_path / "out",
        format="lmdb",
        progress=lambda *now: seen.append(now),
    )
    dataset = ps.open(tmp_path / "out")
    assert told["samples"] == len(dataset) == 120
    assert dataset.keys == [f"{i:012}" for i in range(120)] and dataset[7]["txt"] == b"text 7"
    assert seen[119][:2] == (120, 0) and seen[-1][:2] == (120, 120)  # gathered, of how many nobody knows; then packed
    assert os.listdir(tmp_path) == ["out"]


def test_keys_and_names_are_the_items_own(tmp_path):
    items = [{"__key__": f"k{9 - i}", "__url__": "x", "image": encoded("PNG", i), "n": i} for i in range(10)]
    dataset, _ = pack(items, tmp_path, fields={"image": "png"})
    assert dataset.keys == [f"k{i}" for i in range(10)]
    assert dict(dataset[0]) == {"png": items[9]["image"]}
    pairs, _ = pack([(encoded("JPEG", i), i) for i in range(3)], tmp_path, "pairs", fields=("jpg", "cls"))
    assert [sample["cls"] for sample in pairs] == [b"0", b"1", b"2"]


def test_an_item_that_cannot_be_packed_raises_or_is_skipped_and_told(tmp_path):
    items = [{"txt": "fine"}, {"txt": {1}}, {"txt": "fine"}, 5, {"txt": "fine"}]
    with pytest.raises(ps.Error) as raised:
        pack(items, tmp_path)
    assert raised.value.key == f"{1:012}" and raised.value.field == "txt" and "set" in raised.value.cause
    dataset, told = pack(items, tmp_path, on_error="skip")
    assert dataset.keys == [f"{i:012}" for i in (0, 2, 4)]
    assert told["skipped"] == 2 and [bad["sample"] for bad in told["bad"]] == [1, 3]
    twins = [{"__key__": "a", "txt": "1"}, {"__key__": "a", "txt": "2"}]
    with pytest.raises(ps.Error, match="two samples have this key"):
        pack(twins, tmp_path, "twins", on_error="skip")


def test_what_a_generator_raises_ends_packing_and_leaves_nothing(tmp_path):
    def items():
        yield {"txt": "fine"}
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        pack(items(), tmp_path, on_error="skip")
    assert os.listdir(tmp_path) == []


def test_wrong_use_is_told(tmp_path):
    with pytest.raises(ps.Error, match="tuples"):
        pack([(1, 2)], tmp_path)
    with pytest.raises(ps.Error, match="resumed"):
        pack([{"txt": "x"}], tmp_path, resume=True)
    with pytest.raises(ps.Error, match="on_error"):
        pack([{"txt": "x"}], tmp_path, on_error="ignore")
    with pytest.raises(TypeError, match="int"):
        pack(5, tmp_path)
    assert os.listdir(tmp_path) == []


def test_labels_kept_apart_go_with_any_source(tmp_path):
    (tmp_path / "labels.csv").write_text("key,age\na,1.5\nb,2.5\n")
    items = [{"__key__": key, "txt": key} for key in "ba"]
    dataset, _ = pack(items, tmp_path, labels=f"{tmp_path / 'labels.csv'}:age")
    assert np.frombuffer(dataset[1]["age"], np.float32) == [2.5]


def test_a_pipeline_of_webdataset_is_packed_to_the_bytes_of_its_shards(arrays, tmp_path):
    webdataset = pytest.importorskip("webdataset")
    ps.pack(arrays, tmp_path / "first", format="tar", progress=False)
    shards = [str(path) for path in sorted((tmp_path / "first").glob("*.tar"))]
    pack(webdataset.WebDataset(shards, shardshuffle=False), tmp_path)
    (again,) = (tmp_path / "out").glob("*.tar")
    assert again.read_bytes() == pathlib.Path(shards[0]).read_bytes()


# Map-style datasets


@pytest.mark.parametrize("how", [{}, {"threads": 5}, {"processes": 2}], ids=str)
def test_a_map_style_dataset_is_the_same_however_it_is_read(tmp_path, how):
    if "processes" in how:
        pytest.importorskip("torch")
    squares = Squares(60)
    source = ps.sources.torch(squares, fields=("png", "cls"), **how)
    assert len(source) == 60
    dataset, _ = pack(source, tmp_path)
    assert dataset.classes == ["even", "odd"] and [sample["cls"] for sample in dataset] == [b"0", b"1"] * 30
    images = [np.asarray(Image.open(io.BytesIO(sample["png"])))[0, 0, 0] for sample in dataset]
    assert images == list(range(60))
    if "threads" in how:
        assert len(squares.threads) > 1


@pytest.mark.parametrize("how", [{}, {"threads": 3}, {"processes": 2}], ids=str)
def test_an_item_that_raises_is_named_or_skipped(tmp_path, how):
    if "processes" in how:
        pytest.importorskip("torch")
    source = ps.sources.torch(Squares(20, broken=(4, 11)), fields=("png", "cls"), **how)
    with pytest.raises(ps.Error, match=f"Squares: sample {4:012}: corrupt: ValueError: no luck with 4"):
        pack(source, tmp_path)
    dataset, told = pack(source, tmp_path, on_error="skip")
    assert len(dataset) == 18 and [bad["sample"] for bad in told["bad"]] == [4, 11] and told["skipped"] == 2


def test_a_dataset_of_torch_is_taken_as_it_is(tmp_path):
    torch = pytest.importorskip("torch")
    from torch.utils.data import Subset, TensorDataset

    numbers = TensorDataset(torch.arange(12.0).reshape(6, 2), torch.arange(6))
    dataset, _ = pack(Subset(numbers, [5, 0, 3]), tmp_path, fields=("npy", "cls"))
    assert [sample["cls"] for sample in dataset] == [b"5", b"0", b"3"]
    assert from_npy(dataset[0]["npy"]).tolist() == [10.0, 11.0]


# CSV


@pytest.fixture(name="listed")
def listed_fixture(tmp_path):
    """A folder of images and a CSV file that lists them."""
    rows = []
    for i in range(30):
        path = tmp_path / "list" / "images" / f"{i % 3}" / f"{i}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(encoded("JPEG", i))
        rows.append(f"images/{i % 3}/{i}.jpg,{['cat', 'dog', 'ant'][i % 3]},no. {i}")
    random.Random(1).shuffle(rows)
    (tmp_path / "list" / "train.csv").write_text("\n".join(["path,label,note", *rows, ""]))
    return tmp_path / "list"


def test_a_csv_file_of_paths_and_labels_is_packed(listed, tmp_path):
    dataset, _ = pack(listed / "train.csv", tmp_path)
    assert len(dataset) == 30 and dataset.classes == ["ant", "cat", "dog"]
    for sample in dataset:
        number = int(sample.key.rpartition("/")[2])
        assert sample["jpg"] == encoded("JPEG", number) and sample["cls"] == b"120"[number % 3 : number % 3 + 1]
    given, _ = pack(listed / "train.csv", tmp_path, "given", classes=["dog", "fox", "cat", "ant"])
    assert given.classes[0] == "dog" and given[given.find("images/0/0")]["cls"] == b"2"


def test_columns_of_a_csv_file_can_be_named(tmp_path):
    (tmp_path / "a.png").write_bytes(encoded("PNG"))
    (tmp_path / "list.tsv").write_text("file\tdigit\tcaption\na.png\t7\ta thing, red\n")
    source = ps.sources.csv(tmp_path / "list.tsv", path="file", label="digit", fields={"caption": "txt"})
    dataset, _ = pack(source, tmp_path)
    assert dict(dataset[0]) == {"png": encoded("PNG"), "cls": b"7", "txt": b"a thing, red"}
    assert len(source) == 1 and dataset.classes == []
    with pytest.raises(ps.Error, match="no column 'path'; there are file, digit, caption"):
        ps.sources.csv(tmp_path / "list.tsv")


def test_a_file_that_is_missing_is_named_with_its_key_or_skipped(listed, tmp_path):
    (listed / "images/1/4.jpg").unlink()
    with pytest.raises(ps.Error, match="images/1/4.jpg") as raised:
        pack(listed / "train.csv", tmp_path)
    assert raised.value.key == "images/1/4" and raised.value.field == "jpg"
    dataset, told = pack(listed / "train.csv", tmp_path, on_error="skip")
    assert len(dataset) == 29 and [bad["key"] for bad in told["bad"]] == ["images/1/4"]


# Parquet


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


def test_columns_are_chosen_and_named_and_words_become_classes(table, tmp_path):
    import pyarrow.parquet as pq

    pq.write_table(table, tmp_path / "table.parquet")
    fields = {"image": "jpg", "kind": "cls", "weight": "weight.txt"}
    dataset, _ = pack(tmp_path / "table.parquet", tmp_path, fields=fields)
    assert dataset.classes == ["p", "q"] and dataset.keys[:2] == [f"{0:012}", f"{1:012}"]
    assert dict(dataset[9]) == {"jpg": encoded("JPEG", 9), "cls": b"1", "weight.txt": b"1.125"}
    with pytest.raises(ps.Error, match="no column 'imag'"):
        ps.sources.parquet(tmp_path / "table.parquet", fields={"imag": "jpg"})
    with pytest.raises(ps.Error, match="no column 'name' for the keys"):
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


def test_rows_that_cannot_be_read_are_named_or_skipped(tmp_path):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"x": [[[1.0], [2.0]], [[1.0], [2.0, 3.0]], [[1.0], None]]}), tmp_path / "t.parquet")
    with pytest.raises(ps.Error, match=f"t.parquet: sample {1:012}: field x.npy: corrupt: ValueError: lists of diff"):
        pack(tmp_path / "t.parquet", tmp_path)
    dataset, told = pack(tmp_path / "t.parquet", tmp_path, on_error="skip")
    assert dataset.keys == [f"{0:012}"] and told["skipped"] == 2


def test_a_row_of_nulls_is_no_sample(tmp_path):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"x": [1, None, 3]}), tmp_path / "t.parquet")
    with pytest.raises(ps.Error, match="all columns of the row are null"):
        pack(tmp_path / "t.parquet", tmp_path)
    assert pack(tmp_path / "t.parquet", tmp_path, on_error="skip")[0].keys == [f"{i:012}" for i in (0, 2)]


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
        return bytes(value) == expected
    if isinstance(value, np.ndarray):
        other = np.array(expected, value.dtype)
        return value.tolist() == expected or np.array_equal(value, other, equal_nan=value.dtype.kind == "f")
    if isinstance(value, np.generic):
        return value == expected or (np.isnan(value) and np.isnan(expected))
    return value == expected or value == str(expected)


def test_parquet_files_of_every_kind_give_what_pyarrow_reads_or_an_error_that_names_them():
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    files = sorted(pathlib.Path(os.environ.get("PENSTOCK_TEST_DATA", "/nowhere")).glob("parquet/**/*.parquet"))
    if not files:
        pytest.skip("no Parquet files in PENSTOCK_TEST_DATA")
    refused, compared = [], 0
    for file in files:
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


# Petastorm


@pytest.fixture(name="petastorm")
def petastorm_fixture(monkeypatch):
    """The real codecs and Unischema of Petastorm, without the parts that need Spark; its scalars ask for Spark's types by
    name, which are made here."""
    pytest.importorskip("pyarrow")
    found = importlib.util.find_spec("petastorm")
    if found is None or importlib.util.find_spec("six") is None:
        pytest.skip("petastorm is not installed: pip install --no-deps petastorm six")
    package = types.ModuleType("petastorm")
    package.__path__ = list(found.submodule_search_locations)
    spark, sql, kinds = (types.ModuleType(name) for name in ("pyspark", "pyspark.sql", "pyspark.sql.types"))
    names = "Byte Short Integer Long Float Double Boolean String Binary".split()
    for name in names:
        kind = type(name + "Type", (), {"__module__": "pyspark.sql.types"})
        setattr(kinds, name + "Type", kind)
    for module in (package, spark, sql, kinds):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    spark.sql, sql.types = sql, kinds
    return types.SimpleNamespace(
        codecs=importlib.import_module("petastorm.codecs"),
        unischema=importlib.import_module("petastorm.unischema"),
        spark=kinds,
    )


def image_codec(codecs, name):
    codec = object.__new__(codecs.CompressedImageCodec)  # making one needs OpenCV, which is not needed here
    codec._image_codec, codec._quality = "." + name, 80
    return codec


def write_petastorm(folder, petastorm, rows, protocol):
    import pyarrow as pa
    import pyarrow.parquet as pq

    codecs, Field, spark = petastorm.codecs, petastorm.unischema.UnischemaField, petastorm.spark
    schema = petastorm.unischema.Unischema(
        "Schema",
        [
            Field("id", np.str_, (), codecs.ScalarCodec(spark.StringType()), False),
            Field("small", np.uint8, (), codecs.ScalarCodec(spark.IntegerType()), False),
            Field("real", np.float32, (), codecs.ScalarCodec(spark.DoubleType()), True),
            Field("plain", np.int16, (), None, False),
            Field("image", np.uint8, (None, None, 3), image_codec(codecs, "png"), False),
            Field("array", np.float32, (None, 2), codecs.NdarrayCodec(), False),
            Field("turned", np.int32, (2, 3), codecs.NdarrayCodec(), False),
            Field("packed", np.int64, (3,), codecs.CompressedNdarrayCodec(), False),
        ],
    )
    stored = {name: [] for name in schema.fields}
    for row in rows:
        for name, field in schema.fields.items():
            value = row[name]
            kept = isinstance(value, bytes) or field.codec is None or value is None
            stored[name].append(value if kept else field.codec.encode(field, value))
    kinds = {"small": pa.int32(), "real": pa.float64(), "plain": pa.int16()}
    table = pa.table(
        {
            name: pa.array([bytes(v) if isinstance(v, bytearray) else v for v in values], kinds.get(name))
            for name, values in stored.items()
        }
    )
    folder.mkdir()
    pq.write_table(table.slice(0, 4), folder / "part-0.parquet")
    pq.write_table(table.slice(4), folder / "part-1.parquet")
    pickled = pickle.dumps(schema, protocol=protocol)
    metadata = {b"dataset-toolkit.unischema.v1": pickled}
    pq.write_metadata(table.schema.with_metadata(metadata), folder / "_common_metadata")


@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_a_dataset_of_petastorm_is_read_without_it(petastorm, tmp_path, monkeypatch, protocol):
    rows = [
        {
            "id": f"k{i}",
            "small": np.uint8(i),
            "real": None if i == 2 else np.float32(i / 4),
            "plain": i,
            "image": encoded("PNG", i),
            "array": np.arange(2 * i, dtype=np.float32).reshape(i, 2),
            "turned": np.asfortranarray(np.arange(6, dtype=np.int32).reshape(2, 3) + i),
            "packed": np.arange(3) * i,
        }
        for i in range(9)
    ]
    write_petastorm(tmp_path / "peta", petastorm, rows, protocol)
    for name in [name for name in sys.modules if name.partition(".")[0] in ("petastorm", "pyspark")]:
        monkeypatch.delitem(sys.modules, name)
    dataset, _ = pack(ps.sources.petastorm(tmp_path / "peta", key="id"), tmp_path)
    assert "petastorm" not in sys.modules and dataset.keys == [row["id"] for row in rows]
    for sample, row in zip(dataset, rows):
        assert sample["png"] == row["image"]
        for name in ("small", "real", "plain", "array", "turned", "packed"):
            if row[name] is None:
                assert f"{name}.npy" not in sample
                continue
            value = from_npy(sample[f"{name}.npy"])
            expected = np.asarray(row[name], np.int16) if name == "plain" else np.asarray(row[name])
            assert value.dtype == expected.dtype and np.array_equal(value, expected)
    found, _ = pack(tmp_path / "peta", tmp_path, "found", fields={"image": "png", "small": "cls"})
    assert dict(found[3]) == {"png": rows[3]["image"], "cls": b"3"}
    batch = next(iter(ps.Loader(dataset, batch_size=9, fields={"turned.npy": ps.array.decode()})))
    assert np.asarray(batch["turned.npy"])[8, 1, 2] == 13


class Foreign:
    def __reduce__(self):
        return (os.mkdir, (os.environ["PENSTOCK_MUST_NOT_BE_MADE"],))


def test_a_schema_that_asks_for_foreign_code_is_refused_and_nothing_runs(petastorm, tmp_path, monkeypatch):
    import pyarrow as pa
    import pyarrow.parquet as pq

    monkeypatch.setenv("PENSTOCK_MUST_NOT_BE_MADE", str(tmp_path / "made"))
    field = petastorm.unischema.UnischemaField("x", np.int64, (), Foreign(), False)
    schema = petastorm.unischema.Unischema("Schema", [field])
    table = pa.table({"x": [1, 2]})
    (tmp_path / "peta").mkdir()
    pq.write_table(table, tmp_path / "peta" / "a.parquet")
    for pickled, cause in {
        pickle.dumps(schema, protocol=2): "posix.mkdir, which is not part of Petastorm's schemas",
        b"cbuiltins\neval\n(S'1'\ntR.": "builtins.eval, which is not part",
        b"rubbish": "cannot be read",
        pickle.dumps([1]): "cannot be read",
    }.items():
        metadata = table.schema.with_metadata({b"dataset-toolkit.unischema.v1": pickled})
        pq.write_metadata(metadata, tmp_path / "peta" / "_common_metadata")
        with pytest.raises(ps.Error) as raised:
            pack(tmp_path / "peta", tmp_path)
        assert cause in raised.value.cause and "peta" in raised.value.dataset
    assert sorted(os.listdir(tmp_path)) == ["peta"]


# Hugging Face


@pytest.fixture(name="hub")
def hub_fixture(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    datasets = pytest.importorskip("datasets")
    path = tmp_path / "file.png"
    path.write_bytes(encoded("PNG", 100))
    features = datasets.Features(
        {
            "image": datasets.Image(),
            "label": datasets.ClassLabel(names=["cat", "dog"]),
            "text": datasets.Value("string"),
            "matrix": datasets.Array2D((2, 2), "float32"),
            "boxes": datasets.Sequence(datasets.Value("int32")),
        }
    )
    rows = {
        "image": [{"bytes": encoded("PNG", i), "path": None} for i in range(20)] + [str(path)],
        "label": [i % 2 for i in range(20)] + [-1],
        "text": [f"t{i}" for i in range(21)],
        "matrix": [[[i, 1.0], [2.0, 3.0]] for i in range(21)],
        "boxes": [list(range(i)) for i in range(21)],
    }
    return datasets.Dataset.from_dict(rows, features=features)


def check_hub(dataset, order):
    assert len(dataset) == len(order) and dataset.classes == ["cat", "dog"]
    for sample, i in zip(dataset, order):
        assert sample["png"] == encoded("PNG", 100 if i == 20 else i)  # the stored bytes, not encoded again
        assert (sample["cls"] == str(i % 2).encode()) if i != 20 else "cls" not in sample
        assert sample["text.txt"] == f"t{i}".encode() and from_npy(sample["boxes.npy"]).tolist() == list(range(i))
        assert from_npy(sample["matrix.npy"]).tolist() == [[i, 1.0], [2.0, 3.0]]


def test_a_dataset_of_hugging_face_is_packed_without_decoding_images(hub, tmp_path):
    out = tmp_path / "packed"
    out.mkdir()
    source = ps.sources.huggingface(hub)
    assert len(source) == 21 and source.classes == ["cat", "dog"]
    check_hub(pack(hub, out)[0], range(21))
    order = [20, 3, 17]
    check_hub(pack(hub.select(order), out, "chosen")[0], order)
    named, _ = pack(hub, out, "named", fields={"image": "photo.png", "label": "cls"})
    assert set(named[0]) == {"photo.png", "cls"}
    keyed, _ = pack(ps.sources.huggingface(hub, key="text"), out, "keyed")
    assert keyed.keys == sorted(f"t{i}" for i in range(21))


def test_streams_saved_folders_and_exported_parquet_of_hugging_face_are_packed(hub, tmp_path):
    datasets = pytest.importorskip("datasets")
    check_hub(pack(hub.to_iterable_dataset(), tmp_path, "stream")[0], range(21))
    hub.save_to_disk(tmp_path / "saved")
    check_hub(pack(tmp_path / "saved", tmp_path, "from-saved")[0], range(21))
    hub.to_parquet(tmp_path / "hub.parquet")
    check_hub(pack(tmp_path / "hub.parquet", tmp_path, "from-parquet")[0], range(21))
    with pytest.raises(ps.Error, match="choose one of its splits: train"):
        pack(datasets.DatasetDict({"train": hub}), tmp_path, "never")


def test_importing_penstock_brings_none_of_what_the_sources_need():
    wanted = {"numpy", "torch", "pyarrow", "datasets", "PIL", "pandas"}
    code = f"import penstock, sys; print(sorted({wanted!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_the_bar_tells_both_halves(tmp_path):
    code = (
        "import sys, pty, os, penstock as ps\n"
        "def main():\n"
        "    ps.pack([{'txt': str(i)} for i in range(3000)], sys.argv[1], format='tar')\n"
        "pid, fd = pty.fork()\n"
        "if pid == 0:\n"
        "    main(); os._exit(0)\n"
        "text = b''\n"
        "while True:\n"
        "    try: part = os.read(fd, 65536)\n"
        "    except OSError: break\n"
        "    if not part: break\n"
        "    text += part\n"
        "sys.stdout.buffer.write(text)"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "out")]
    shown = subprocess.run(command, capture_output=True, check=True).stdout.decode()
    assert "gathering  3,000/3,000 samples  100%" in shown and "packing  3,000/3,000 samples  100%" in shown
    assert len(ps.open(pathlib.Path(tmp_path / "out"))) == 3000
