"""Tests what penstock.Loader does with bad samples: raised, marked, replaced, and summed over ranks."""

import io
import shutil
import tarfile

import numpy as np
import penstock as ps
import pytest
from loading import FIELDS, keys_of


@pytest.fixture(name="broken")
def broken_fixture(tmp_path):
    for i in range(20):
        (tmp_path / f"{i:02}.cls").write_text("seven" if i == 13 else str(i))
    return tmp_path


def test_a_bad_sample_raises_with_its_context(broken):
    with pytest.raises(ps.Error) as raised:
        keys_of(ps.Loader(broken, batch_size=4, transforms={"cls": ps.label()}))
    error = raised.value
    assert (error.kind, error.key, error.field) == ("corrupt", "13", "cls")
    assert error.dataset == str(broken) and "13" in str(error) and error.cause


def test_the_shard_of_an_error_is_a_file_also_for_relative_paths(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "inside").mkdir()
    for place in ("photos.tar", "inside/photos.tar"):
        with tarfile.open(place, "w") as archive:
            member = tarfile.TarInfo("0.cls")
            member.size = 3
            archive.addfile(member, io.BytesIO(b"cat"))
    for given in ("photos.tar", "./photos.tar", "inside/../photos.tar", str(tmp_path / "photos.tar")):
        with pytest.raises(ps.Error) as raised:
            keys_of(ps.Loader(given, batch_size=1, transforms={"cls": ps.label()}))
        assert (raised.value.dataset, raised.value.shard) == (given, "photos.tar")
        assert str(raised.value).startswith(f"{given}: sample 0: field cls: offset 512: ")
    for given in ("inside", "./inside", "inside/", str(tmp_path / "inside")):
        with pytest.raises(ps.Error) as raised:
            keys_of(ps.Loader(given, batch_size=1, transforms={"cls": ps.label()}))
        assert raised.value.shard == "photos.tar" and str(raised.value).startswith(f"{given}: photos.tar: sample 0: ")


def test_an_error_in_json_is_told_without_names_of_a_library(tmp_path):
    (tmp_path / "a.json").write_text("[1, 2]")
    (tmp_path / "b.json").write_text("[1, 2\n")
    with pytest.raises(
        ps.Error, match="sample b: field json: offset 0: corrupt: json: parse error at line 2, column 1"
    ):
        keys_of(ps.Loader(tmp_path, batch_size=2, transforms={"json": ps.array.decode("float32")}))


def test_bad_samples_are_marked_or_replaced_and_listed(broken):
    for policy, valid in (("mark", 19), ("replace", 20)):
        loader = ps.Loader(broken, batch_size=4, transforms={"cls": ps.label()}, on_error=policy, max_errors=0.5)
        assert sum(int(np.asarray(batch["__valid__"]).sum()) for batch in loader) == valid
        assert loader.stats()["bad_samples"] == 1
        assert loader.stats()["bad"][0]["key"] == "13"


def test_a_sum_over_ranks_is_asked_for_bad_samples_at_fixed_batches(arrays):
    asked = []

    def summed(number):
        asked.append(number)
        return number

    options = {"batch_size": 1, "transforms": FIELDS, "on_error": "mark", "world_size": 2}
    assert "all_reduce" in ps.Loader(arrays, **options, rank=0).stats()["notes"]
    loader = ps.Loader(arrays, **options, rank=0, all_reduce=summed)
    assert "all_reduce" not in loader.stats()["notes"]
    for _ in loader:
        pass
    assert asked == [0] * -(-len(loader) // 16)

    def fails(number):
        raise KeyError("no such group")

    with pytest.raises(KeyError, match="no such group"):
        list(batch["__key__"] for batch in ps.Loader(arrays, **options, rank=0, all_reduce=fails))
    with pytest.raises(ps.Error, match="must be a function of one number"):
        ps.Loader(arrays, all_reduce=3)
    own = ps.Loader(arrays, **options, rank=0, all_reduce=lambda number: len(own))
    with pytest.raises(ps.Error, match="all_reduce cannot use a loader"):
        list(batch["__key__"] for batch in own)


@pytest.mark.parametrize("cache", [None, "encoded"])
def test_unreadable_samples_are_not_read_and_count_as_bad(cache, arrays, tmp_path):
    shutil.copytree(arrays, tmp_path / "arrays")
    dataset = ps.open(tmp_path / "arrays")
    lost = ["000", "017"]  # of the first one a constructor reads the shape
    for key in lost:
        (tmp_path / "arrays" / f"{key}.npy").unlink()
    options = {"batch_size": 8, "transforms": FIELDS, "on_error": "mark", "max_errors": 0.1, "cache": cache}
    with pytest.raises(ps.Error, match="cannot open"):
        ps.Loader(dataset, **options)
    loader = ps.Loader(dataset, read_options=ps.ReadOptions(unreadable=lost[::-1]), **options)
    for _ in range(2):
        valid = [one for batch in loader for one in batch["__valid__"].tolist()]
        assert [key for key, one in zip(dataset.keys, valid) if not one] == lost
    assert [sample["key"] for sample in loader.stats()["bad"]] == 2 * lost
    assert "`unreadable` names the sample" in loader.stats()["bad"][0]["cause"]
    assert not set(lost) & set(
        keys_of(ps.Loader(dataset, read_options=ps.ReadOptions(unreadable=lost), **{**options, "on_error": "replace"}))
    )

    with pytest.raises(ps.Error, match='unreadable: the dataset has no sample "17"'):
        ps.Loader(dataset, read_options=ps.ReadOptions(unreadable=["17"]), **options)
    with pytest.raises(ps.Error, match='unreadable requires on_error "replace" or "mark"'):
        ps.Loader(dataset, read_options=ps.ReadOptions(unreadable=lost))
    with pytest.raises(TypeError, match="unreadable"):
        ps.Loader(dataset, read_options=ps.ReadOptions(unreadable="017"), **options)


def test_max_errors_is_a_count_or_a_share(arrays, tmp_path):
    for i in range(40):
        (tmp_path / f"{i:03}.npy").write_bytes(
            b"no array" if i in (3, 17, 30) else (arrays / f"{i:03}.npy").read_bytes()
        )
    options = {"batch_size": 8, "transforms": {"npy": ps.array.decode("float32")}, "on_error": "mark"}
    for limit in (3, np.int64(100), 0.075, np.float32(0.08), 1.0):
        assert len(list(ps.Loader(tmp_path, max_errors=limit, **options))) == 5
    for limit, told in (
        (2, "3 of 40 .* more than max_errors=2 allows"),
        (0, "max_errors=0 allows"),
        (0.07, "max_errors=0.07"),
    ):
        with pytest.raises(ps.Error, match=told):
            list(ps.Loader(tmp_path, max_errors=limit, **options))
    for limit in (-1, True, -0.5, 1.5):
        with pytest.raises((TypeError, ps.Error), match="max_errors"):
            ps.Loader(tmp_path, max_errors=limit, **options)
