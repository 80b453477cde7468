"""Tables (.csv) in archives and folders: points where they can be, text as it is stored where not."""

import io
import json
import tarfile

import numpy as np
import penstock as ps
import pytest
from command import run
from packing import pack

POINTS = {
    "plain": "1,2,3\n4,5,6\n",
    "named": "x,y,z,label\n1,2,3,tree\n4,5,6,\n",
    "named behind others": "kind,when,X,Y,Z\ntree,9:30,1,2,3\n",
    "in quotes": '"x";"y";"z"\r\n"1";"2";"3e-5"\r\n;;\r\n',
    "blanks": "1 2\t3\n",
    "comments": "# made by hand\n//x y z\n\n1, 2, 3\n# more\n4, 5, 6\n",
    "marked": "\ufeffx,y,z\n1,2,3\n",
    "counted": "2\n1 2 3\n4 5 6\n",
    "missing values": "x,y,z\n1,2,3\n,,\nnan,,+1\n",
    "beyond double": "1e999,2,3\n",
    "names alone": "x,y,z\n",
    "no line": "",
    "a number cut off at the end": "x,y,z\n" + "1000,2,3\n" * 20_000,
}
TEXTS = {
    "words": "name,label\na,b\n",
    "two columns": "1,2\n3,4\n",
    "words first": "key,a,b\nk1,1,2\nk2,3,4\n",
    "words in the second line": "1,2,3\nfour,5,6\n",
    "words in a column of points": "x,y,z\n1,2,high\n",
    "names of something else": "name,label,count\n",
    "prose": "It was a dark and stormy night.\n",
    "one word": "word",
}


def archive(path, values):
    with tarfile.open(path, "w") as tar:
        for key, value in values.items():
            member = tarfile.TarInfo(f"{key}.csv")
            member.size = len(value)
            tar.addfile(member, io.BytesIO(value))
    return path


def folder(path, values):
    path.mkdir()
    for key, value in values.items():
        (path / f"{key}.csv").write_bytes(value)
    return path


MAKERS = pytest.mark.parametrize("make", [archive, folder])


@MAKERS
@pytest.mark.parametrize("name", POINTS)
def test_tables_of_points_are_clouds(make, name, tmp_path):
    dataset = ps.open(make(tmp_path / "data", {"a": POINTS[name].encode()}))
    assert [(field.name, field.codec) for field in dataset.fields] == [("csv", "xyz")]
    if name not in ("names alone", "no line", "beyond double"):
        with ps.Loader(
            dataset, batch_size=1, transforms={"csv": ps.points.drop_nonfinite() | ps.points.sample(4)}
        ) as loader:
            assert next(iter(loader))["csv"].shape[-1] == 3


@MAKERS
@pytest.mark.parametrize("name", TEXTS)
def test_other_tables_are_text_as_it_is_stored(make, name, tmp_path):
    values = {"a": TEXTS[name].encode(), "b": b"x,y,z\n1,2,3\n"}  # the first one tells
    path = make(tmp_path / "data", values)
    dataset = ps.open(path)
    assert [(field.name, field.codec) for field in dataset.fields] == [("csv", "txt")]
    assert {key: bytes(sample["csv"]) for key, sample in zip(dataset.keys, dataset)} == values
    packed, _ = pack(path, tmp_path)
    assert [(field.name, field.codec) for field in packed.fields] == [("csv", "txt")]
    assert [bytes(sample["csv"]) for sample in packed] == list(values.values())
    assert json.loads(run("info", path, "--json").stdout)["fields"][0]["codec"] == "txt"
    with pytest.raises(ps.Error, match="csv"):
        ps.Loader(dataset, batch_size=1, transforms={"csv": ps.points.sample(4)})


@MAKERS
def test_tables_of_several_fields_are_told_one_by_one(make, tmp_path):
    dataset = ps.open(make(tmp_path / "data", {"a.left": b"1,2,3\n", "a.right": b"one,two\n"}))
    assert {field.name: field.codec for field in dataset.fields} == {"left.csv": "xyz", "right.csv": "txt"}


def is_read(path):
    """Whether the codec of point clouds finds points in the one file of a folder."""
    try:
        with ps.Loader(
            path, batch_size=1, transforms={"xyz": ps.points.drop_nonfinite() | ps.points.sample(4)}
        ) as loader:
            return len(list(loader)) == 1
    except ps.Error:
        return False


def test_whatever_the_codec_reads_stays_a_cloud(tmp_path):
    random = np.random.default_rng(7)
    numbers, words = ["1", "-2.5", "+3e2", "nan", '"4"', " 5 "], ["word", "", "#", "x y"]
    read = 0
    for number in range(400):
        text, columns, separator = "", random.integers(2, 6), random.choice([",", ";", " ", "\t", ", "])
        wordy = random.integers(0, columns + 4)
        for _ in range(random.integers(1, 5)):
            cells = [random.choice(words if i == wordy else numbers) for i in range(columns)]
            text += separator.join(cells) + random.choice(["\n", "\n", "\r\n", ",\n", "\n\n", "\n# note\n"])
        if random.integers(0, 2):
            text = random.choice(["x,y,z\n", "# x y z\n", "a,b,c\n", "z;label;y;x\n", "3\n"]) + text
        (tmp_path / f"{number}").mkdir()
        for extension in ("xyz", "csv"):
            (tmp_path / f"{number}" / extension).mkdir()
            (tmp_path / f"{number}" / extension / f"a.{extension}").write_bytes(text.encode())
        if is_read(tmp_path / f"{number}" / "xyz"):
            read += 1
            assert ps.open(tmp_path / f"{number}" / "csv").fields[0].codec == "xyz", text
    assert read > 50
