"""Arrays and labels in HDF5 shards: h5py reads them as datasets, and penstock delivers the same batches as from tar."""

import io
import json

import h5py
import numpy as np
import penstock as ps
import pytest
from command import run

SHARD = "shard-000000.h5"


def npy(value, order="C"):
    out = io.BytesIO()
    np.save(out, np.asarray(value, order=order))
    return out.getvalue()


def written(path, samples, format="hdf5", **options):
    with ps.Writer(path, format=format, progress=False, **options) as writer:
        for key, fields in samples.items():
            writer.add(key, fields)
    return path


def column(path, name="x"):
    """The values, or None if the field is a group of bytes and offsets."""
    with h5py.File(path / SHARD) as file:
        return file[name][()] if isinstance(file[name], h5py.Dataset) else None


def folder_of(path, files):
    path.mkdir()
    for name, data in files.items():
        (path / name).write_bytes(data)
    return path


def batches(path, **transforms):
    with ps.Loader(path, batch_size=4, transforms=transforms or None) as loader:
        return [{name: np.array(batch[name]) for name in batch} for batch in loader]


def packed(source, path, format="hdf5", **options):
    ps.pack(source, path, format=format, progress=False, **options)
    return path


def verified(path, source, check=True):
    return run("verify", path, "--against", source, check=check).stdout.decode()


def made_with(path):
    return json.loads((path / "penstock.json").read_text())["made_with"]


RNG = np.random.default_rng(53)
ARRAYS = {
    "float32": [RNG.normal(size=(4, 3)).astype("f4") for _ in range(9)],
    "float16": [RNG.normal(size=7).astype("f2") for _ in range(9)],
    "float64": [RNG.normal(size=(2, 1, 2)) for _ in range(9)],
    "bool": [RNG.integers(0, 2, 5).astype(bool) for _ in range(9)],
    "uint64": [RNG.integers(0, 2**64, (3,), np.uint64) for _ in range(9)],
    "pixels": [RNG.integers(0, 256, (5, 4, 3), np.uint8) for _ in range(9)],
    "one number": [np.float32(i) / 3 for i in range(9)],
    "one bool": [np.bool_(i % 2) for i in range(9)],
    "Python's int": [i - 4 for i in range(9)],
    "Fortran": [np.asfortranarray(RNG.normal(size=(4, 3, 2))) for _ in range(9)],
    "Fortran or not": [np.asarray(RNG.normal(size=(4, 3)), order="CF"[i % 2]) for i in range(9)],
    "big-endian": [RNG.normal(size=(4, 3)).astype(">f4") for _ in range(9)],
    "large": [RNG.normal(size=(150, 130)).astype("f4") for _ in range(9)],
}


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_of_one_shape_and_dtype_are_a_dataset_for_h5py(tmp_path, name):
    arrays = ARRAYS[name]
    samples = {f"{i:02}": {"x": array, "cls": i} for i, array in enumerate(arrays)}
    path, tar = written(tmp_path / "h", samples), written(tmp_path / "t", samples, "tar")
    expected = np.stack(arrays)
    expected = expected.astype(expected.dtype.newbyteorder("="))
    stored = column(path)
    assert stored.dtype == expected.dtype and stored.shape == expected.shape
    np.testing.assert_array_equal(stored, expected)
    (field,) = (field for field in ps.open(path).fields if field.name == "x")
    assert (field.codec, field.dtype, tuple(field.shape)) == ("raw", expected.dtype.name, expected.shape[1:])
    assert ps.open(path)[3]["x"] == expected[3].tobytes()
    chains = {"x": ps.array.decode(), "cls": ps.label()}
    for ours, theirs in zip(batches(path, **chains), batches(tar, **chains), strict=True):
        for output in chains:
            assert ours[output].dtype == theirs[output].dtype
            np.testing.assert_array_equal(ours[output], theirs[output])
    for ours, theirs in zip(batches(path), batches(tar), strict=True):  # with the chains that penstock chooses
        np.testing.assert_array_equal(ours["x"], theirs["x"])


OTHERS = {
    "two shapes": [np.zeros(3, "f4"), np.zeros(4, "f4")],
    "one length, two shapes": [np.zeros((2, 8), "f4"), np.zeros((4, 4), "f4")],
    "two dtypes": [np.zeros(4, "f4"), np.zeros(4, "i4")],
    "no elements": [np.zeros((0, 3), "f4")] * 2,
    "dates": [npy(np.zeros(2, "M8[s]"))] * 2,
    "complex": [npy(np.zeros(2, "c8"))] * 2,
    "strings": [npy(np.array(["ab", "c"]))] * 2,
    "structures": [npy(np.zeros(2, [("a", "f4"), ("b", "i2")]))] * 2,
    "an array that ends early": [npy(np.zeros(4, "f4")), npy(np.zeros(4, "f4"))[:-1]],
    "more dimensions than HDF5 has": [npy(np.zeros((1,) * 32, "f4"))] * 2,
    "text": ["one", "two"],
    "text beside an array": ["one", np.zeros(3, "f4")],
    "other bytes": [b"\0\1", b"\2\3"],
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_values_keep_their_bytes(tmp_path, name):
    samples = {f"{i:02}": {"x": value, "y.npy": np.zeros(1)} for i, value in enumerate(OTHERS[name])}
    path, tar = written(tmp_path / "h", samples), written(tmp_path / "t", samples, "tar")
    assert column(path) is None
    assert [sample["x"] for sample in ps.open(path)] == [sample["x"] for sample in ps.open(tar)]
    assert made_with(path)["arrays"] == ["y.npy"]


@pytest.mark.parametrize("name", ["npy", "x.npy"])
def test_arrays_of_other_sources_are_datasets_and_verify_as_their_source(tmp_path, name):
    arrays = [RNG.normal(size=(3, 2)) for _ in range(10)]
    arrays[2] = np.asfortranarray(arrays[2])
    files = {f"{i}.{name}": npy(array, "A") for i, array in enumerate(arrays)}
    source = folder_of(tmp_path / "source", files)
    for middle in [None, "tar", "zip", "lmdb", "tfrecord", "mds"]:
        start = source if middle is None else packed(source, tmp_path / f"m-{middle}", middle)
        path = packed(start, tmp_path / f"h-{middle}")
        np.testing.assert_array_equal(column(path, name), np.stack(arrays))
        for against in (source, start):
            assert "10 values compared with" in verified(path, against)
        assert (path / SHARD).read_bytes() == (tmp_path / "h-None" / SHARD).read_bytes()


def test_verification_finds_an_array_that_differs_from_the_source(tmp_path):
    source = folder_of(tmp_path / "source", {f"{i}.npy": npy(np.full(5, i, "f4")) for i in range(6)})
    path = packed(source, tmp_path / "h")
    for name, other in {"1": np.full(5, 9, "f4"), "2": np.full(5, 2, "f8"), "3": np.full((1, 5), 3, "f4")}.items():
        (source / f"{name}.npy").write_bytes(npy(other))
    (source / "4.npy").write_bytes(npy(np.full(5, 4, ">f4")))  # the same numbers
    (source / "5.npy").write_bytes(b"no array")
    lines = [line for line in verified(path, source, check=False).splitlines() if "bad" in line or ": " in line]
    print(lines)


def test_rows_become_arrays_again_in_other_formats(tmp_path):
    files = {f"{i}.npy": npy(np.full((2, 3), i, "i2")) for i in range(6)} | {f"{i}.cls": b"%d" % i for i in range(6)}
    source = folder_of(tmp_path / "source", files)
    rows = packed(packed(source, tmp_path / "h1"), tmp_path / "h2")
    assert made_with(rows)["arrays"] == ["npy"]
    assert (rows / SHARD).read_bytes() == (tmp_path / "h1" / SHARD).read_bytes()
    for format in ("tar", "zip", "lmdb", "tfrecord", "mds"):
        back = packed(rows, tmp_path / format, format)
        assert [dict(sample) for sample in ps.open(back)] == [dict(sample) for sample in ps.open(source)]
        verified(back, rows)
        assert "arrays" not in made_with(back)
    some = packed(ps.open(rows).take(3), tmp_path / "some", "tar")
    assert ps.open(some)[2]["npy"] == files["2.npy"]


def test_rows_of_a_file_that_others_wrote_stay_rows(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["x"] = np.arange(12, dtype="f4").reshape(4, 3)
    path = packed(tmp_path / "a.h5", tmp_path / "h")
    np.testing.assert_array_equal(column(path), np.arange(12).reshape(4, 3))
    assert "arrays" not in made_with(path)
    assert ps.open(packed(path, tmp_path / "t", "tar"))[1]["x"] == np.arange(3, 6, dtype="f4").tobytes()


def test_samples_without_the_field_have_a_row_of_zeros(tmp_path):
    samples = {f"{i}": {"txt": "t"} | ({"x": np.full(3, i + 1, "f4"), "cls": i} if i % 3 else {}) for i in range(9)}
    path = written(tmp_path / "h", samples)
    present = np.arange(9) % 3 != 0
    np.testing.assert_array_equal(column(path), np.repeat((np.arange(9) + 1)[:, None], 3, 1) * present[:, None])
    np.testing.assert_array_equal(column(path, "cls"), np.arange(9) * present)
    with h5py.File(path / SHARD) as file:
        for name in ("x", "cls"):
            np.testing.assert_array_equal(file[f"__present__/{name}"][()], present)
    for dataset in (ps.open(path), ps.open(path / SHARD)):
        assert [set(sample) for sample in dataset] == [{"txt", "x", "cls"} if has else {"txt"} for has in present]


def test_a_field_that_most_samples_lack_keeps_its_bytes(tmp_path):
    samples = {f"{i}": {"txt": "t"} | ({"x": np.ones(3, "f4")} if i < 4 else {}) for i in range(9)}
    assert column(written(tmp_path / "h", samples)) is None
    assert column(written(tmp_path / "g", {**samples, "4": {"x": np.ones(3, "f4")}})).shape == (9, 3)


def test_labels_are_integers_for_h5py_and_stay_text_for_penstock(tmp_path):
    samples = {f"{i:03}": {"cls": "dog" if i % 2 else "cat", "txt": "t"} for i in range(40)}
    path = written(tmp_path / "h", samples, classes=["cat", "dog"])
    labels = column(path, "cls")
    assert labels.dtype == np.int64 and labels.tolist() == [0, 1] * 20
    for dataset in (ps.open(path), ps.open(path / SHARD)):
        assert [sample["cls"] for sample in dataset] == [b"0", b"1"] * 20
        assert dataset.classes == ["cat", "dog"]
        assert dataset.filter(labels=["dog"]).keys == [f"{i:03}" for i in range(1, 40, 2)]
    again = packed(path, tmp_path / "again", classes=["dog", "cat"])
    assert column(again, "cls").tolist() == [1, 0] * 20
    verified(again, path)


@pytest.mark.parametrize("label", [b"cat", b"007", b"+1", b"1\n", b"", b"1.0", b"9223372036854775808"])
def test_labels_that_are_not_plain_integers_keep_their_bytes(tmp_path, label):
    source = folder_of(tmp_path / "s", {"0.cls": b"3", "1.cls": label, "0.txt": b"t", "1.txt": b"t"})
    path = packed(source, tmp_path / "h")
    assert column(path, "cls") is None
    assert [sample["cls"] for sample in ps.open(path)] == [b"3", label]
    verified(path, source)


def test_negative_labels_and_labels_of_a_table_are_integers(tmp_path):
    assert column(written(tmp_path / "h", {"a": {"cls": -5}, "b": {"cls": 2**62}}), "cls").tolist() == [-5, 2**62]
    source = folder_of(tmp_path / "s", {f"{i}.npy": npy(np.float32(i)) for i in range(3)})
    (tmp_path / "labels.csv").write_text("key,label\n0,b\n1,a\n2,b\n")
    path = packed(source, tmp_path / "p", labels=str(tmp_path / "labels.csv"))
    assert column(path, "cls").tolist() == [1, 0, 1] and column(path, "npy").tolist() == [0, 1, 2]


def test_every_shard_has_the_same_form(tmp_path):
    arrays = [np.full(1000, i, "f4") for i in range(40)]
    files = {f"{i:02}.npy": npy(array) for i, array in enumerate(arrays)}
    path = packed(folder_of(tmp_path / "s", files), tmp_path / "h", shard_size=20_000)
    shards = sorted(path.glob("*.h5"))
    assert len(shards) > 5
    seen = []
    for shard in shards:
        with h5py.File(shard) as file:
            seen.extend(file["npy"][()])
    np.testing.assert_array_equal(seen, arrays)
    # Only the last value differs, which is in another shard than the first.
    (tmp_path / "s/39.npy").write_bytes(npy(np.zeros((500, 2), "f4")))
    other = packed(tmp_path / "s", tmp_path / "o", shard_size=20_000)
    for shard in other.glob("*.h5"):
        with h5py.File(shard) as file:
            assert set(file["npy"]) == {"bytes", "offsets"}
    verified(other, tmp_path / "s")


def test_rows_do_not_depend_on_workers_and_parts(tmp_path):
    files = {f"{i:02}.npy": npy(np.full(1000, i, "f4")) for i in range(40)}
    source = folder_of(tmp_path / "s", files)
    for workers in (1, 3):
        packed(source, tmp_path / f"w{workers}", shard_size=20_000, workers=workers)
    for world in (1, 3):
        for rank in range(world):
            packed(source, tmp_path / f"p{world}", shard_size=20_000, rank=rank, world=world)
        ps.finish_pack(tmp_path / f"p{world}")
    for one, other in (("w1", "w3"), ("p1", "p3")):
        assert sorted(p.name for p in (tmp_path / one).iterdir()) == sorted(
            p.name for p in (tmp_path / other).iterdir()
        )
        for file in (tmp_path / one).glob("shard*"):
            assert file.read_bytes() == (tmp_path / other / file.name).read_bytes()
    for name in ("w1", "p1"):
        assert len(list((tmp_path / name).glob("*.h5"))) > 5
        assert column(tmp_path / name, "npy").dtype == np.float32
        verified(tmp_path / name, source)


def test_a_part_refuses_the_value_that_differs_from_those_it_looked_at(tmp_path):
    """A rank looks at 1,000 values, because all ranks would read all of them otherwise."""
    files = {f"{i:04}.npy": npy(np.zeros((4, 4), "f4")) for i in range(3000)}
    files["1501.npy"] = npy(np.zeros((2, 8), "f4"))
    source = folder_of(tmp_path / "s", files)
    with pytest.raises(ps.Error) as caught:
        packed(source, tmp_path / "p", rank=0, world=1)
    for word in ("1501", "npy", "(2, 8)", "(4, 4)", "without rank"):
        assert word in str(caught.value), caught.value
    assert column(packed(source, tmp_path / "h"), "npy") is None  # which looks at all of them


def test_a_value_that_changes_while_packing_is_refused(tmp_path):
    """All values were looked at before; the last one is replaced by one of the same length."""
    files = {f"{i:04}.npy": npy(np.full((64, 64), i, "f4")) for i in range(400)}
    source = folder_of(tmp_path / "s", files)

    def replace(done, total, size):
        with open(source / "0399.npy", "r+b") as file:  # in place, and never shorter
            file.write(npy(np.full((64, 64), 9, "i4")))

    with pytest.raises(ps.Error) as caught:
        ps.pack(source, tmp_path / "p", format="hdf5", progress=replace, workers=1)
    for word in ("0399", "npy", "int32 (64, 64)", "float32 (64, 64)", "the source has changed"):
        assert word in str(caught.value), caught.value
    assert not (tmp_path / "p").exists()


class Interrupted(Exception):
    pass


def test_packing_resumes_unless_the_arrays_have_another_form_now(tmp_path):
    files = {f"{i:02}.npy": npy(np.full(1000, i, "f4")) for i in range(40)}
    source = folder_of(tmp_path / "s", files)
    whole = packed(source, tmp_path / "whole", shard_size=20_000)
    path = tmp_path / "h"

    def interrupt(done, total, size):
        if len(list(tmp_path.glob("h.partial/*.idx"))) > 1:
            raise Interrupted

    with pytest.raises(Interrupted):
        ps.pack(source, path, format="hdf5", shard_size=20_000, progress=interrupt, workers=1)
    (source / "30.npy").write_bytes(npy(np.full((10, 100), 30, "f4")))
    with pytest.raises(ps.Error, match="was started with other options: fields was"):
        packed(source, path, shard_size=20_000, resume=True)
    (source / "30.npy").write_bytes(files["30.npy"])
    result = ps.pack(source, path, format="hdf5", shard_size=20_000, resume=True, progress=False)
    assert result["resumed"] > 0
    for shard in whole.glob("*.h5"):
        assert shard.read_bytes() == (path / shard.name).read_bytes()


def test_arrays_that_are_rows_serve_every_chain(tmp_path):
    arrays = [np.arange(24, dtype="i4").reshape(8, 3) + i for i in range(8)]
    pixels = [RNG.integers(0, 256, (6, 5, 3), np.uint8) for _ in range(8)]
    points = [RNG.normal(size=(20, 3)).astype("f4") for _ in range(8)]
    samples = {
        f"{i}": {"x": array, "pixels": pixels[i], "points": points[i], "tokens": array[:, 0]}
        for i, array in enumerate(arrays)
    }
    path, tar = written(tmp_path / "h", samples), written(tmp_path / "t", samples, "tar")
    for chain in (
        {"x": ps.array.random_slice(4)},
        {"x": ps.array.cast("float32")},
        {"x": ps.array.decode("float64")},
        {"pixels": ps.image.resize((4, 4))},
        {"points": ps.points.sample(5)},
    ):
        for ours, theirs in zip(batches(path, **chain), batches(tar, **chain), strict=True):
            for name in chain:
                np.testing.assert_array_equal(ours[name], theirs[name])
    ragged = {"x": ps.array.decode(ragged=True)}
    with ps.Loader(path, batch_size=8, transforms=ragged) as a, ps.Loader(tar, batch_size=8, transforms=ragged) as b:
        for ours, theirs in zip(next(iter(a))["x"], next(iter(b))["x"], strict=True):
            np.testing.assert_array_equal(ours, theirs)
    blocks = [ps.token_blocks(ps.open(place), 5, field="tokens") for place in (path, tar)]
    assert len(blocks[0]) == len(blocks[1]) > 0


def test_one_sample_and_no_samples(tmp_path):
    assert column(written(tmp_path / "one", {"a": {"x": np.ones((2, 2), "f4")}})).shape == (1, 2, 2)
    empty = written(tmp_path / "none", {})
    with pytest.warns(UserWarning, match="no sample was packed"):
        assert len(ps.open(empty)) == 0


def test_rows_and_npy_values_are_read_together(tmp_path):
    """Datasets of arrays that are all alike have rows, others have `.npy` values, as all packed ones had once."""
    rows = written(tmp_path / "rows", {f"r{i}": {"x": np.full((2, 3), i, "f4")} for i in range(4)})
    files = {f"n{i}": {"x": np.full((2, 3), 9 + i, ">f4" if i % 2 else "f4")} for i in range(4)}
    others = [written(tmp_path / "tar", files, "tar"), written(tmp_path / "two", {**files, "z": {"x": np.zeros(1)}})]
    keys = [f"{first}{i}" for first in "rn" for i in range(4)]
    for other in others:
        for places in ([rows, other], [other, rows]):
            dataset = ps.concat([ps.open(place) for place in places]).filter(keys=keys)
            with ps.Loader(dataset, batch_size=8, transforms={"x": ps.array.decode()}) as loader:
                (batch,) = loader
                seen = {key: np.array(batch["x"])[row] for row, key in enumerate(batch["__key__"])}
            for i in range(4):
                np.testing.assert_array_equal(seen[f"r{i}"], np.full((2, 3), i))
                np.testing.assert_array_equal(seen[f"n{i}"], np.full((2, 3), 9 + i))
            assert {sample["x"][:6] for sample in dataset} == {b"\x93NUMPY"}
            path = packed(dataset, tmp_path / f"{other.name}-{places[0].name}")
            assert column(path).shape == (8, 2, 3)
    with open(next(rows.glob("*.h5")), "r+b") as file:
        data = file.read()
        at = data.index(np.full(6, 3, "f4").tobytes())
        file.seek(at)
        file.write(b"damaged!")
    with pytest.raises(ps.Error, match="CRC-32C"):
        list(
            ps.Loader(ps.concat([ps.open(rows), ps.open(others[0])]), batch_size=8, transforms={"x": ps.array.decode()})
        )
