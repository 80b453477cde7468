"""Tables of paths and labels (CSV, JSON, pickles, Parquet) as datasets, for ps.open, ps.pack and the command."""

import csv
import io
import json
import os
import pickle
import random

import numpy as np
import penstock as ps
import pytest
from command import fails, run
from packing import encoded, pack

KINDS = ["cat", "dog", "ant"]


@pytest.fixture(name="listed")
def listed_fixture(tmp_path):
    """A folder of 30 images."""
    for i in range(30):
        path = tmp_path / "list" / "images" / f"{i % 3}" / f"{i}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(encoded("JPEG", i))
    return tmp_path / "list"


def rows_of(order=1):
    rows = [{"path": f"images/{i % 3}/{i}.jpg", "label": KINDS[i % 3], "note": f"no. {i}, big"} for i in range(30)]
    random.Random(order).shuffle(rows)
    return rows


def csv_text(rows, **options):
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), **options)
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def columns_in(rows):
    return {name: [row[name] for row in rows] for name in rows[0]}


FORMS = {
    "t.csv": lambda rows: csv_text(rows),
    "quoted.csv": lambda rows: csv_text(rows, quoting=csv.QUOTE_ALL, lineterminator="\n"),
    "marked.CSV": lambda rows: "\ufeff" + csv_text(rows, delimiter=";"),
    "t.tsv": lambda rows: csv_text(rows, delimiter="\t"),
    "t.json": json.dumps,
    "columns.json": lambda rows: json.dumps(columns_in(rows)),
    "pandas.json": lambda rows: json.dumps(
        {name: dict(enumerate(values)) for name, values in columns_in(rows).items()}
    ),
    "t.jsonl": lambda rows: "\n".join(map(json.dumps, rows)),
    "t.pkl": pickle.dumps,
    "columns.pickle": lambda rows: pickle.dumps({name: np.array(values) for name, values in columns_in(rows).items()}),
}


def write(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_a_table_opens_to_the_same_samples(listed, form):
    rows = rows_of()
    dataset = ps.open(write(listed / form, FORMS[form](rows)))
    if form == "pandas.json":  # its rows are in bytewise order of their numbers
        rows = [rows[int(number)] for number in sorted(map(str, range(30)))]
    assert dataset.classes == ["ant", "cat", "dog"] and dataset.format == "table"
    assert dataset.keys == [row["path"].removesuffix(".jpg") for row in rows]
    for sample, row in zip(dataset, rows):
        number = int(sample.key.rpartition("/")[2])
        assert sample["jpg"] == encoded("JPEG", number) and sample["note.txt"] == row["note"].encode()
        assert sample["cls"] == b"120"[number % 3 : number % 3 + 1]


def test_a_table_loads_packs_and_verifies_like_a_folder(listed, tmp_path):
    table = write(listed / "train.csv", csv_text(rows_of()))
    loader = ps.Loader(table, batch_size=30, transforms={"jpg": ps.image.decode(), "cls": ps.label()})
    batch = next(iter(loader))
    assert batch["jpg"].shape[0] == 30 and sorted(batch["cls"].tolist()) == [0] * 10 + [1] * 10 + [2] * 10
    run("pack", table, tmp_path / "out.d")
    run("verify", tmp_path / "out.d", "--against", table)
    packed = ps.open(tmp_path / "out.d")
    assert packed.keys == sorted(ps.open(table).keys) and packed.classes == ["ant", "cat", "dog"]
    given, _ = pack(table, tmp_path, "given", classes=["dog", "fox", "cat", "ant"])
    assert given.classes[0] == "dog" and given[given.find("images/0/0")]["cls"] == b"2"
    assert "table" in run("info", table).stdout.decode()
    run("pack", table, tmp_path / "out.d", "--resume", "--overwrite")


def test_columns_and_the_folder_of_paths_can_be_named(listed, tmp_path):
    rows = [{"a": "0/0.jpg", "b": "x", "c": "y"}, {"a": "../images/1/1.jpg", "b": "z", "c": "y"}]
    table = write(tmp_path / "t.csv", csv_text(rows))
    with pytest.raises(ps.Error, match=r"pass path_column= \(--path-column\): the columns are a, b, c"):
        ps.open(table)
    with pytest.raises(ps.Error, match='has no column "path"; it has a, b, c'):
        ps.open(table, path_column="path")
    dataset = ps.open(table, path_column="a", label_column="b", root=listed / "images")
    assert dataset.keys == ["0/0", "images/1/1"] and dataset.classes == ["x", "z"]
    assert dict(dataset[1]) == {"jpg": encoded("JPEG", 1), "cls": b"1", "c.txt": b"y"}
    options = ["--path-column", "a", "--label-column", "c", "--root", listed / "images"]
    run("pack", table, tmp_path / "out", *options)
    assert ps.open(tmp_path / "out").classes == ["y"]
    absolute = write(tmp_path / "absolute.csv", f"file\n{listed}/images/2/2.jpg\n")
    assert dict(ps.open(absolute)[0]) == {"jpg": encoded("JPEG", 2)}
    assert ps.open(absolute).keys == [f"{str(listed)[1:]}/images/2/2"]


def test_other_columns_become_numbers_json_or_text(listed):
    path = "images/0/0.jpg"
    rows = [
        {"path": path, "Age (y)": 7, "size": 1.5, "box": [1, 2, 3, 4], "tags": ["a"], "who": {"x": 1}, "t": "1"},
        {"path": path, "Age (y)": -1, "size": 2, "box": [5, 6, 7, 8], "tags": [], "who": None, "t": ""},
    ]
    dataset = ps.open(write(listed / "t.json", json.dumps(rows)))
    first, second = (dict(sample) for sample in dataset)
    assert np.frombuffer(first["age__y_"], np.int64) == [7] and np.frombuffer(second["size"], np.float32) == [2]
    assert np.frombuffer(second["box"], np.int64).tolist() == [5, 6, 7, 8]
    assert json.loads(first["tags.json"]) == ["a"] and json.loads(first["who.json"]) == {"x": 1}
    assert "who.json" not in second and first["t.txt"] == b"1" and second["t.txt"] == b""
    loader = ps.Loader(listed / "t.json", batch_size=2, transforms={"box": ps.array.decode("float32")})
    assert next(iter(loader))["box"].shape == (2, 4)
    clash = write(listed / "clash.csv", f"path,jpg,x\n{path},1,2\n")
    with pytest.raises(ps.Error, match='column "jpg" would be the field "jpg", which exists: rename the column'):
        ps.open(clash)


def test_rows_may_name_a_file_again(listed, tmp_path):
    text = "path,caption\n" + "".join(f"images/0/0.jpg,caption {i}\n" for i in range(3)) + "images/0/../0/3.jpg,x\n"
    dataset = ps.open(write(listed / "t.csv", text), label_column="caption")
    assert dataset.keys == ["images/0/0", "images/0/0#2", "images/0/0#3", "images/0/3"]
    again, _ = pack(dataset, tmp_path)
    assert again.keys == dataset.keys and again[2]["jpg"] == encoded("JPEG", 0)


@pytest.mark.parametrize(
    ("labels", "classes", "values"),
    [
        (["3", "0", "12"], [], ["3", "0", "12"]),
        (["1.0", "2.0", "10.0"], [], ["1", "2", "10"]),
        (["0", "", "2.0"], [], ["0", None, "2"]),
        (["cat", "  ", "ant"], ["ant", "cat"], ["1", None, "0"]),
        ([" cat", "cat ", "ant"], ["ant", "cat"], ["1", "1", "0"]),
        (["007", "12", "7"], ["007", "12", "7"], ["0", "1", "2"]),
        (["", "", ""], [], [None, None, None]),
    ],
)
def test_labels_are_numbers_if_all_are_whole_and_empty_ones_are_missing(tmp_path, labels, classes, values):
    for i in range(3):
        (tmp_path / f"{i}.png").write_bytes(encoded("PNG", i))
    table = write(tmp_path / "t.csv", "path,label\n" + "".join(f"{i}.png,{label}\n" for i, label in enumerate(labels)))
    dataset = ps.open(table)
    assert dataset.classes == classes
    assert [sample["cls"].decode() if "cls" in sample else None for sample in dataset] == values


def test_given_classes_number_the_labels_of_a_table(listed):
    table = write(listed / "t.csv", csv_text(rows_of()))
    assert ps.open(table, classes=["dog", "ant", "cat"])[0]["cls"] in b"012"
    assert ps.open(table, classes=["dog", "ant", "cat"]).classes == ["dog", "ant", "cat"]
    with pytest.raises(ps.Error, match='unknown class "'):
        ps.open(table, classes=["dog"])


def test_missing_files_are_one_error_that_names_rows_or_are_left_out(listed, tmp_path):
    rows = rows_of(order=2)
    table = write(listed / "t.csv", csv_text(rows))
    gone = [rows[3]["path"], rows[7]["path"]]
    for path in gone:
        (listed / path).unlink()
    with pytest.raises(ps.Error) as raised:
        ps.open(table)
    assert raised.value.kind == "io" and "2 of 30 files cannot be opened: line 5: " in raised.value.cause
    assert gone[0] in raised.value.cause and 'missing_files="skip"' in raised.value.cause
    assert len(ps.open(table, missing_files="skip")) == 28
    assert "line 5" in repr(ps.open(table, missing_files="skip"))
    assert "2 of 30 files" in fails("pack", table, tmp_path / "out")
    told = run("pack", table, tmp_path / "out", "--on-error", "skip").stderr.decode()
    assert "left out line 5: " in told and "28 samples" in told
    packed, _ = pack(table, tmp_path, "python", on_error="skip")
    assert len(packed) == 28
    with pytest.raises(ps.Error, match=r"30 of 30 files cannot be opened: .*; pass the folder of the paths as root="):
        ps.open(table, root=tmp_path / "none", missing_files="skip")
    with pytest.raises(ps.Error, match='missing_files must be "raise" or "skip"'):
        ps.open(table, missing_files="ignore")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("t.csv", "path,label\ns3://b/x.jpg,1\n", 'line 2: "s3://b/x.jpg" is an address; a table lists files of this'),
        ("t.csv", "path,label\nimages/0/0.jpg,1\n,2\n", "line 3 has no path"),
        ("t.csv", "path,label\nimages,1\n", "cannot be opened: line 2: .*images: Is a directory"),
        ("t.csv", "path,label\n", "contains no rows"),
        ("t.csv", "path,label\na,b,c\n", "line 2 has 3 columns, the header has 2"),
        ("t.csv", 'path,label\n"a\n', "line 2: a quote is not closed"),
        ("t.json", '{"a": 1', "is neither a JSON object nor a list"),
        ("t.json", '{"path": "a.jpg"}\n{', "line 2 is not JSON"),
        ("t.json", "[1]", "row 1 is neither an object nor a pair of a name and a label"),
        ("t.json", '{"path": ["a.jpg"], "label": []}', 'column "path" has 1 values, and "label" has 0'),
        ("t.pkl", "cos\nsystem\n.", 'offset 0: unsupported: pickle: needs "os.system"'),
    ],
)
def test_what_is_wrong_with_a_table_is_told_with_its_place(listed, name, text, message):
    with pytest.raises(ps.Error, match=message) as raised:
        ps.open(write(listed / name, text))
    assert name in str(raised.value)


def test_a_listed_file_that_changes_later_is_noticed_and_a_touched_one_is_not(listed):
    rows = rows_of()
    table = write(listed / "t.csv", "img,kind\n" + "".join(f"{row['path']},{row['label']}\n" for row in rows))
    dataset = ps.open(table, path_column="img", label_column="kind")
    assert not list(listed.glob("*.penstock-idx"))
    os.utime(listed / rows[0]["path"])
    assert dataset[0]["jpg"].startswith(b"\xff\xd8")
    (listed / rows[1]["path"]).write_bytes(b"other")
    with pytest.raises(ps.Error, match="was replaced or written to"):
        dataset[1]["jpg"]
    assert len(ps.open(table, path_column="img")) == 30


def test_a_table_is_staged_with_its_files(listed, tmp_path):
    table = write(listed / "t.csv", csv_text(rows_of()))
    run("stage", table, tmp_path / "copy")
    copies = [path for path in (tmp_path / "copy").rglob("*") if path.is_file()]
    assert len([path for path in copies if path.suffix == ".jpg"]) == 30
    assert not [path for path in copies if path.name.endswith("penstock-idx")]
    assert ps.open(tmp_path / "copy" / "t.csv").keys == ps.open(table).keys


def test_a_parquet_table_of_paths_is_packed(listed, tmp_path):
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = rows_of()
    (listed / rows[4]["path"]).unlink()
    parquet.write_table(pa.Table.from_pylist(rows), listed / "t.parquet")
    source = ps.sources.parquet(listed / "t.parquet", path_column="path", fields={"label": "cls"})
    with pytest.raises(ps.Error, match=f"row 4: there is no file .*{rows[4]['path']}"):
        pack(source, tmp_path)
    dataset, told = pack(source, tmp_path, on_error="skip")
    assert [bad["key"] for bad in told["bad"]] == [rows[4]["path"].removesuffix(".jpg")]
    assert len(dataset) == 29 and dataset.classes == ["ant", "cat", "dog"]
    for sample in dataset:
        number = int(sample.key.rpartition("/")[2])
        assert sample["jpg"] == encoded("JPEG", number) and sample["cls"] == b"120"[number % 3 : number % 3 + 1]
    with pytest.raises(ps.Error, match="unknown column 'file'; the columns are path, label, note"):
        ps.sources.parquet(listed / "t.parquet", path_column="file")
    everything, _ = pack(
        ps.sources.parquet(listed / "t.parquet", path_column="path", root=listed), tmp_path, "all", on_error="skip"
    )
    assert everything[0]["note.txt"].startswith(b"no. ")
