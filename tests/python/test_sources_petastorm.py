"""penstock.pack from datasets of Petastorm."""

import importlib.util
import os
import pickle
import sys
import types

import numpy as np
import penstock as ps
import pytest
from packing import encoded, from_npy, pack


@pytest.fixture(name="petastorm")
def petastorm_fixture(monkeypatch):
    """The real codecs and Unischema of Petastorm, without the parts that need Spark; its scalars ask for Spark's types by
    name, which are made here."""
    pytest.importorskip("pyarrow")
    found = importlib.util.find_spec("petastorm")
    if found is None or importlib.util.find_spec("six") is None:
        pytest.skip("petastorm is not installed; run scripts/python_environment.sh")
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
    batch = next(iter(ps.Loader(dataset, batch_size=9, transforms={"turned.npy": ps.array.decode()})))
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
