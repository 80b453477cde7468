"""penstock.pack from columns of every type in Parquet files: kept, kept in another form, or left out by name."""

import datetime
import decimal
import json
import sys
import warnings

import numpy as np
import penstock as ps
import pytest
from packing import encoded, from_npy, pack

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

JPEG = encoded("JPEG")
PNG = encoded("PNG")


@pytest.fixture(name="packed")
def packed_fixture(tmp_path):
    """Packs a table by way of a Parquet file; returns its samples as dicts, and what was said."""

    def packed(columns, **options):
        pq.write_table(pa.table(columns), tmp_path / "t.parquet", row_group_size=2)
        source = ps.sources.parquet(tmp_path / "t.parquet", **options)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            dataset, _ = pack(source, tmp_path, overwrite=True)
            list(source)  # says nothing again
        assert len(said) <= 1 and all(one.category is RuntimeWarning for one in said)
        assert all(str(one.message).startswith(f"{tmp_path / 't.parquet'}: column ") for one in said)
        return [dict(sample) for sample in dataset], str(said[0].message) if said else ""

    return packed


REST = pa.array([1, 2, 3])


def texts(samples, field):
    return [sample[field].decode() if field in sample else None for sample in samples]


@pytest.mark.parametrize("pandas", [True, False])
def test_times_of_any_unit_and_range_are_text_with_or_without_pandas(pandas, packed, monkeypatch):
    columns = {
        "ns": pa.array([1_700_000_000_123_456_789, None, 3], pa.timestamp("ns")),
        "zone": pa.array([1_700_000_000_123_456_789, None, 3_000], pa.timestamp("ns", "Europe/Berlin")),
        "us": pa.array([1_700_000_000_123_456, None, 0], pa.timestamp("us")),
        "clock": pa.array([1_234_567, None, 3_000_000_000], pa.time64("ns")),
        "for_ns": pa.array([-1, None, 86_400_000_001_000], pa.duration("ns")),
        "for_us": pa.array([-1, None, 86_400_000_001], pa.duration("us")),
        "for_s": pa.array([2**50, None, 3], pa.duration("s")),
        "day": pa.array([2**30, None, 3], pa.date32()),
        "inside": pa.array(
            [{"t": 1, "d": 5}, None, {"t": 2_000, "d": -1}],
            pa.struct([("t", pa.timestamp("ns")), ("d", pa.duration("us"))]),
        ),
    }
    if not pandas:
        monkeypatch.setitem(sys.modules, "pandas", None)
    samples, said = packed({**columns, "rest": REST})
    assert said == ""
    assert texts(samples, "ns.txt") == ["2023-11-14 22:13:20.123456789", None, "1970-01-01 00:00:00.000000003"]
    zoned = ["2023-11-14 23:13:20.123456789+01:00", None, "1970-01-01 01:00:00.000003+01:00"]
    assert texts(samples, "zone.txt") == zoned
    assert texts(samples, "us.txt") == ["2023-11-14 22:13:20.123456", None, "1970-01-01 00:00:00"]
    assert texts(samples, "clock.txt") == ["00:00:00.001234567", None, "00:00:03"]
    assert texts(samples, "for_ns.txt") == ["-1 days +23:59:59.999999999", None, "1 days 00:00:00.000001"]
    micros = [datetime.timedelta(microseconds=count) for count in (-1, 86_400_000_001)]
    assert texts(samples, "for_us.txt") == [str(micros[0]), None, str(micros[1])]
    assert texts(samples, "for_s.txt") == ["13031248921 days, 18:57:04", None, "0:00:03"]
    assert texts(samples, "day.txt") == ["2941775-04-07", None, "1970-01-04"]
    assert json.loads(samples[0]["inside.json"]) == {"t": "1970-01-01T00:00:00.000000001", "d": "P0DT0H0M0.000005S"}
    assert json.loads(samples[2]["inside.json"]) == {"t": "1970-01-01T00:00:00.000002", "d": "P-1DT23H59M59.999999S"}


def test_times_of_nanoseconds_are_what_pandas_prints():
    pandas = pytest.importorskip("pandas")
    from penstock.sources._arrow_values import text_of_time

    counts = np.random.default_rng(1).integers(-(2**62), 2**62, 500).tolist()
    counts += [0, 1, 999, 1000, 10**9, -1, -1000, -(10**9), 86_400 * 10**9, -86_400 * 10**9]
    for count in counts:
        for zone in (None, "UTC", "America/New_York"):
            moment = pandas.Timestamp(count, tz="UTC").tz_convert(zone) if zone else pandas.Timestamp(count)
            scalar = pa.scalar(count, pa.timestamp("ns", zone))
            assert (text_of_time(scalar), text_of_time(scalar, "T")) == (str(moment), moment.isoformat()), count
        span = pandas.Timedelta(count)
        scalar = pa.scalar(count, pa.duration("ns"))
        assert (text_of_time(scalar), text_of_time(scalar, "T")) == (str(span), span.isoformat()), count
        micros = datetime.timedelta(microseconds=count // 1000)
        assert text_of_time(pa.scalar(count // 1000, pa.duration("us"))) == str(micros), count


def test_columns_without_values_are_named(packed, tmp_path):
    file = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    empty = {"null": pa.nulls(3), "text": pa.array([None] * 3, pa.string()), "image": pa.array([None] * 3, file)}
    late = {"late": pa.array([None, None, JPEG], pa.binary())}  # no value in the first row group
    samples, said = packed({**empty, **late, "rest": REST})
    assert [set(sample) for sample in samples] == [{"rest.npy"}, {"rest.npy"}, {"rest.npy", "jpg"}]
    assert samples[2]["jpg"] == JPEG
    assert said.endswith("; ".join(f"column {name!r} is left out: it has no values" for name in empty))


def test_a_column_without_values_in_the_first_file_has_the_type_of_a_later_one(tmp_path):
    folder = tmp_path / "t"
    folder.mkdir()
    pq.write_table(pa.table({"x": pa.nulls(1), "y": [1]}), folder / "0.parquet")
    pq.write_table(pa.table({"x": ["a"], "y": [2], "more": [3]}), folder / "1.parquet")
    with pytest.warns(
        RuntimeWarning, match="column 'more' is left out: 1.parquet has it, but the first file lacks it$"
    ):
        dataset, _ = pack(folder, tmp_path)
    assert [set(sample) for sample in dataset] == [{"y.npy"}, {"x.txt", "y.npy"}] and dataset[1]["x.txt"] == b"a"


def test_lists_with_nulls_and_of_different_lengths_are_kept(packed):
    columns = {
        "real": pa.array([[1.0, None], [2.0], None], pa.list_(pa.float32())),
        "whole": pa.array([[1, 2], [3, None], None], pa.list_(pa.int32())),
        "good": pa.array([[1, 2], [3], []], pa.list_(pa.int32())),
        "rows": pa.array([[[1], [2]], [[1], [2, 3]], None], pa.list_(pa.list_(pa.int8()))),
        "holes": pa.array([[[1.0], None], [[1.0]], None]),
        "words": pa.array([["a", None], [], None]),
    }
    samples, said = packed({**columns, "rest": REST})
    reals = [from_npy(sample["real.npy"]) for sample in samples[:2]]
    assert all(one.dtype == np.float32 for one in reals)
    assert np.array_equal(reals[0], np.array([1, np.nan], np.float32), equal_nan=True) and reals[1].tolist() == [2]
    for name in ("whole", "rows", "holes", "words"):
        expected = columns[name].to_pylist()
        assert [json.loads(one[f"{name}.json"]) if f"{name}.json" in one else None for one in samples] == expected
    assert [from_npy(one["good.npy"]).tolist() for one in samples] == [[1, 2], [3], []]
    assert "column 'real' has NaN where its lists hold nulls" in said and "'good'" not in said and "'words'" not in said
    for name in ("whole", "rows", "holes"):
        assert f"column {name!r} is kept as JSON: its lists are of different length, or hold nulls" in said


def test_a_field_named_json_keeps_any_list(packed):
    lists = pa.array([[1, 2], [3], []], pa.list_(pa.int32()))
    samples, said = packed({"x": lists}, fields={"x": "x.json"})
    assert [sample["x.json"] for sample in samples] == [b"[1,2]", b"[3]", b"[]"] and said == ""


def test_bytes_inside_structs_and_lists_are_fields_as_they_are(packed):
    file = pa.struct([("bytes", pa.large_binary()), ("path", pa.string())])
    columns = {
        "image": pa.array([{"bytes": JPEG, "path": "a.jpg"}, {"bytes": JPEG, "path": None}, None], file),
        "images": pa.array([[{"bytes": PNG, "path": "a"}, {"bytes": PNG, "path": "b"}], [], None], pa.list_(file)),
        "scan": pa.array(
            [{"data": PNG, "size": 3}, {"data": None, "size": 4}, None],
            pa.struct([("data", pa.binary()), ("size", pa.int32())]),
        ),
        "blobs": pa.array([[b"\xff"], [b"\xfe", b"\xfd"], None], pa.list_(pa.binary())),
        "words": pa.array([[b"a", "ö".encode()], [b"b"], None], pa.list_(pa.binary())),
        "named": pa.array([[("a", b"\xff")], [], None], pa.map_(pa.string(), pa.binary())),
    }
    samples, said = packed({**columns, "rest": REST})
    assert [sample["rest.npy"] != b"" and len(sample) for sample in samples] == [8, 6, 1]
    assert samples[0]["jpg"] == samples[1]["jpg"] == JPEG
    assert samples[0]["images.0.png"] == samples[0]["images.1.png"] == samples[0]["scan.data.png"] == PNG
    assert [json.loads(sample["scan.json"])["size"] for sample in samples[:2]] == [3, 4]
    assert (samples[0]["blobs.0.bin"], samples[1]["blobs.0.bin"], samples[1]["blobs.1.bin"]) == (
        b"\xff",
        b"\xfe",
        b"\xfd",
    )
    assert json.loads(samples[0]["words.json"]) == ["a", "ö"]
    for name in ("images", "scan", "blobs"):
        assert f"column {name!r} is several fields: one for each value of bytes in it, and JSON for the rest" in said
    assert (
        "column 'named' is left out: bytes inside a map cannot be a field" in said
        and "'words'" not in said
        and "'image'" not in said
    )


def test_structs_that_look_like_files_but_are_none_are_json(packed):
    columns = {
        "whole": pa.array([{"bytes": 1, "path": "a"}], pa.struct([("bytes", pa.int32()), ("path", pa.string())])),
        "list": pa.array(
            [{"bytes": [1], "path": None}], pa.struct([("bytes", pa.list_(pa.uint8())), ("path", pa.string())])
        ),
    }
    samples, said = packed(columns)
    assert json.loads(samples[0]["whole.json"]) == {"bytes": 1, "path": "a"} and said == ""
    assert json.loads(samples[0]["list.json"]) == {"bytes": [1], "path": None}


def test_maps_decimals_and_numbers_that_json_lacks_are_kept(packed):
    columns = {
        "map": pa.array([[("a", 1)], [("b", None)], None], pa.map_(pa.string(), pa.int32())),
        "price": pa.array([decimal.Decimal("1.50"), None, decimal.Decimal("-3.00")], pa.decimal128(10, 2)),
        "prices": pa.array([[decimal.Decimal("1.50")], None, [None]], pa.list_(pa.decimal256(50, 2))),
        "struct": pa.array([{"a": float("nan")}, None, {"a": 1.5}]),
    }
    samples, said = packed({**columns, "rest": REST})
    assert [json.loads(sample["map.json"]) for sample in samples[:2]] == [[["a", 1]], [["b", None]]]
    assert texts(samples, "price.txt") == ["1.50", None, "-3.00"]
    assert texts(samples, "prices.json") == ['["1.50"]', None, "[null]"]
    assert texts(samples, "struct.json") == ['{"a":null}', None, '{"a":1.5}']
    assert said.endswith("column 'struct' has null where JSON has no number: for NaN and infinities")


@pytest.mark.parametrize(
    "kind", [pa.binary(), pa.large_binary(), pa.binary_view(), pa.dictionary(pa.int32(), pa.binary())]
)
def test_bytes_go_through_as_they_are(kind, packed):
    broken = JPEG[:40] + b"\0\1\2"  # nothing decodes it
    values = (
        pa.array([broken, None, JPEG], pa.binary()).cast(kind)
        if kind != pa.binary_view()
        else pa.array([broken, None, JPEG], kind)
    )
    samples, said = packed({"x": values, "rest": REST})
    assert [sample.get("jpg") for sample in samples] == [broken, None, JPEG] and said == ""


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())]
)
def test_text_goes_through_as_it_is(kind, packed):
    values = ["größe", None, ""]
    array = (
        pa.array(values, pa.string()).dictionary_encode() if pa.types.is_dictionary(kind) else pa.array(values, kind)
    )
    samples, said = packed({"x": array, "rest": REST})
    assert texts(samples, "x.txt") == values and said == ""


def test_text_that_is_no_utf8_is_kept_as_bytes(packed):
    samples, _ = packed({"x": pa.array([b"\xff\xfe", b"a"]).view(pa.string())})
    assert [sample["x.txt"] for sample in samples] == [b"\xff\xfe", b"a"]


def test_columns_that_no_field_can_be_called_or_hold_are_named(packed):
    names = ["a/b", "__index_level_0__", "_y", "x", "x.npy", "twice", "twice", "views", "rest"]
    views = pa.array([[1], None, [1, 2]], pa.list_view(pa.int32()))
    arrays = [REST, REST, REST, REST, REST, REST, REST, views, REST]
    table = pa.Table.from_arrays(arrays, names=names)
    samples, said = packed(table)
    assert all(set(sample) == {"x.npy", "rest.npy"} for sample in samples)
    for name, why in {
        "a/b": "the name of a field cannot contain a slash or begin with an underscore; fields={...} renames it",
        "_y": "the name of a field cannot contain a slash",
        "__index_level_0__": "the name of a field cannot contain a slash",
        "x.npy": "column 'x' is already the field x.npy",
        "twice": "2 columns have this name",
        "views": "list_view<element: int32> cannot be a field",
    }.items():
        assert f"column {name!r} is left out: {why}" in said
    samples, said = packed(table, fields={"a/b": "a_b.npy"})
    assert all(set(sample) == {"a_b.npy"} for sample in samples) and said == ""
    for name in ("twice", "views"):
        with pytest.raises(ps.Error, match=f"invalid argument: column {name}: .*; name the others in fields="):
            packed(table, fields={name: "x.npy"})


def test_a_column_is_no_image_or_class_by_its_name_alone(packed):
    samples, said = packed({"photo.jpg": ["a", "b"], "png": [1, 2], "cls": ["dog", "cat"], "part.cls": [0.5, 1.5]})
    assert [set(sample) for sample in samples] == [
        {"photo.jpg.txt", "png.npy", "cls", "part.cls.npy"}
    ] * 2 and said == ""
    assert [sample["cls"] for sample in samples] == [b"1", b"0"]


def test_columns_of_hugging_face_are_kept_in_the_same_way(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    datasets = pytest.importorskip("datasets")
    rows = {
        "images": [[{"bytes": PNG, "path": None}], [{"bytes": PNG, "path": None}] * 2],
        "tokens": [[1, 2], [3, None]],
        "empty": [None, None],
    }
    features = datasets.Features(
        {
            "images": datasets.Sequence(datasets.Image()),
            "tokens": datasets.Sequence(datasets.Value("int32")),
            "empty": datasets.Value("string"),
        }
    )
    hub = datasets.Dataset.from_dict(rows, features=features)
    for name, source in (("whole", hub), ("stream", hub.to_iterable_dataset())):
        with pytest.warns(RuntimeWarning) as said:
            dataset, _ = pack(source, tmp_path, name)
        assert [set(one) for one in dataset] == [
            {"images.0.png", "tokens.json"},
            {"images.0.png", "images.1.png", "tokens.json"},
        ]
        assert dataset[1]["images.1.png"] == PNG and json.loads(dataset[1]["tokens.json"]) == [3, None]
        assert sum("column 'empty' is left out: it has no values" in str(one.message) for one in said) == 1
