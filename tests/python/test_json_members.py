"""json:MEMBER in a chain: a member of the objects in a JSON field is a field of its own."""

import json

import numpy as np
import penstock as ps
import pytest
from command import run

OBJECTS = [
    {"weather": "rain", "score": 3, "ratio": 0.5, "box": [1, 2, 3, 4], "tags": [1, 2], "n": "7"},
    {"weather": "fög", "score": -1, "ratio": 2, "box": [5, 6, 7, 8], "tags": [], "n": " 8"},
    {"weather": "", "score": 0, "ratio": -1.25, "box": [9, 10, 11, 12], "tags": [3, 4, 5], "n": "9"},
]


@pytest.fixture(params=["folder", "tar", "hdf5", "lmdb"])
def data(tmp_path, request):
    folder = tmp_path / "data"
    folder.mkdir()
    for i, value in enumerate(OBJECTS):
        (folder / f"{i}.json").write_text(json.dumps(value))
        (folder / f"{i}.cls").write_text(str(i))
    if request.param == "folder":
        return folder
    ps.pack(folder, tmp_path / "packed", format=request.param, progress=False)
    return tmp_path / "packed"


def one(data, transforms, **options):
    (batch,) = ps.Loader(data, batch_size=len(OBJECTS), transforms=transforms, **options)
    return batch


def test_each_kind_of_value(data):
    batch = one(
        data,
        {
            "json:score": ps.label(),
            "n": ps.field("json:n") | ps.label(),
            "hot": ps.field("json:n") | ps.label(num_classes=10),
            "ratio": ps.field("json:ratio") | ps.array.decode("float32"),
            "json:box": ps.array.decode("float32"),
            "tags": ps.field("json:tags") | ps.array.decode("int64", ragged=True),
            "padded": ps.field("json:tags") | ps.array.decode("int64", ragged=True) | ps.pad(value=-7),
            "cls": ps.label(),
        },
    )
    assert list(batch["json:score"]) == [3, -1, 0] and list(batch["n"]) == [7, 8, 9] and list(batch["cls"]) == [0, 1, 2]
    assert np.asarray(batch["hot"]).argmax(1).tolist() == [7, 8, 9]
    assert np.asarray(batch["ratio"]).tolist() == [0.5, 2, -1.25]
    assert np.asarray(batch["json:box"]).tolist() == [value["box"] for value in OBJECTS]
    assert [np.asarray(row).tolist() for row in batch["tags"]] == [value["tags"] for value in OBJECTS]
    assert np.asarray(batch["padded"]).tolist() == [[1, 2, -7], [-7, -7, -7], [3, 4, 5]]


def test_text_is_delivered_without_quotes(data):
    batch = one(data, {"w": ps.field("json:weather"), "bytes": ps.field("json:weather") | ps.raw()})
    for name in ("w", "bytes"):
        assert [bytes(row).decode() for row in batch[name]] == [value["weather"] for value in OBJECTS]


def test_own_functions_get_the_member(data):
    batch = one(data, {"x": ps.field("json:ratio") | ps.array.decode("float64") | ps.transform(lambda x: x * 2)})
    assert np.asarray(batch["x"]).tolist() == [1, 4, -2.5]


def test_a_field_of_that_name_comes_first(tmp_path):
    with ps.Writer(tmp_path / "d", format="lmdb", progress=False) as writer:
        writer.add("a", {"json": {"x": 1}, "json:x": np.float32(5)})
    assert one_row(tmp_path / "d", {"json:x": None}) == 5


def one_row(data, transforms):
    ((value,),) = (
        [next(iter(batch.values())) for batch in ps.Loader(data, batch_size=1)]
        if not transforms
        else [list(batch["json:x"]) for batch in ps.Loader(data, batch_size=1, transforms=transforms)]
    )
    return value


def test_windows_resume_and_workers(data):
    transforms = {
        "box": ps.window("json:box", offsets=[-1, 0], group="", order_by="json:ratio") | ps.array.decode("int64")
    }
    batch = one(data, transforms)
    order = sorted(range(3), key=lambda i: OBJECTS[i]["ratio"])
    for i in range(3):
        place = order.index(i)
        assert np.asarray(batch["box"])[i].tolist() == [OBJECTS[order[max(place - 1, 0)]]["box"], OBJECTS[i]["box"]]
    loader = ps.Loader(data, batch_size=1, shuffle=True, seed=3, transforms={"s": ps.field("json:score") | ps.label()})
    rows = [int(batch["s"][0]) for batch in loader]
    first = iter(
        ps.Loader(data, batch_size=1, shuffle=True, seed=3, transforms={"s": ps.field("json:score") | ps.label()})
    )
    assert int(next(first)["s"][0]) == rows[0]


def test_errors_name_member_and_sample(data, tmp_path):
    with pytest.raises(ps.Error, match='no object in the field "json" has the member "colour"'):
        one(data, {"c": ps.field("json:colour") | ps.label()})
    with pytest.raises(ps.Error, match='label\\(\\) expects an integer, not "rain"'):
        one(data, {"c": ps.field("json:weather") | ps.label()})
    with pytest.raises(ps.Error, match='two members of the field "json"'):
        one(data, {"c": ps.field("json:n|json:score") | ps.label()})
    with pytest.raises(ps.Error, match='no field "cls:x"|not valid JSON|has the member "x"'):
        one(data, {"c": ps.field("cls:x") | ps.label()})
    with pytest.raises(ps.Error, match='has no field "jsn:n"'):
        one(data, {"c": ps.field("jsn:n") | ps.label()})


def test_a_sample_without_the_member_is_an_error_of_that_sample(tmp_path):
    folder = tmp_path / "d"
    folder.mkdir()
    for i, value in enumerate([{"y": 1}, {"x": 2}, {"x": 3}]):
        (folder / f"{i}.json").write_text(json.dumps(value))
    transforms = {"x": ps.field("json:x") | ps.label()}
    with pytest.raises(ps.Error, match=r'sample 0: field json: .*its JSON has no member "x"'):
        list(ps.Loader(folder, batch_size=1, transforms=transforms))
    loader = ps.Loader(folder, batch_size=3, transforms=transforms, on_error="mark", max_errors=1.0)
    (batch,) = loader
    assert list(batch["x"])[1:] == [2, 3]


def test_the_command_reads_members(data):
    told = run("inspect", data, "--fields", "s=field(json:score) | label()", "--batch-size", "3").stdout
    assert b"label()" in told
