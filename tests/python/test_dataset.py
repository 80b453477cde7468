"""penstock.open, random access and penstock.pack."""

import pickle
import shutil
import subprocess
import sys

import numpy as np
import penstock as ps
import pytest


def test_a_dataset_is_a_sequence_of_samples(arrays):
    dataset = ps.open(arrays)
    assert len(dataset) == 40 and dataset.format == "folder" and not dataset.packed
    assert dataset.keys == [f"{i:03}" for i in range(40)]
    assert {field.name: field.codec for field in dataset.fields} == {"npy": "npy", "cls": "cls"}
    assert dataset[7].key == dataset[-33].key == "007"
    assert dataset.find("011") == 11 and dataset.find("nobody") is None
    assert [sample.number for sample in dataset] == list(range(40))
    with pytest.raises(IndexError):
        dataset[40]


def test_a_sample_reads_its_fields_when_asked(arrays):
    sample = ps.open(arrays)[6]
    assert sample["cls"] == b"2" and sample["npy"].startswith(b"\x93NUMPY")
    assert set(sample) == set(sample.keys()) == {"npy", "cls"} and "cls" in sample and "jpg" not in sample
    assert dict(sample)["cls"] == b"2"
    with pytest.raises(KeyError):
        sample["jpg"]


def test_opening_nothing_raises_with_the_path(tmp_path):
    with pytest.raises(ps.Error) as raised:
        ps.open(tmp_path / "nothing")
    assert raised.value.kind == "io" and "nothing" in str(raised.value)
    with pytest.raises(TypeError):
        ps.open(3)


def test_keys_that_are_not_utf8_come_as_os_fsdecode_gives_them(tmp_path):
    with open(bytes(tmp_path) + b"/caf\xe9.cls", "wb") as file:
        file.write(b"1")
    dataset = ps.open(tmp_path)
    assert dataset.keys == ["caf\udce9"] and dataset.find("caf\udce9") == 0


@pytest.mark.parametrize("packing", ["tar", "lmdb", "hdf5", "zip", "tfrecord", "mds"])
def test_packing_keeps_every_byte(icons, tmp_path, packing, capsys):
    seen = []
    told = ps.pack(icons, tmp_path / "packed", format=packing, progress=lambda *now: seen.append(now))
    source, packed = ps.open(icons), ps.open(tmp_path / "packed")
    assert told["samples"] == len(source) == len(packed) and packed.packed and packed.format == packing
    assert packed.classes == source.classes
    assert seen[-1][:2] == (500, 500)
    for key in source.keys[::50]:
        sample = packed[packed.find(key)]
        assert dict(sample) == dict(source[source.find(key)])
    assert capsys.readouterr().err == ""


def test_what_progress_raises_leaves_pack_and_resume_goes_on(icons, tmp_path):
    class Stop(Exception):
        pass

    def stop(samples, total, nbytes):
        raise Stop

    with pytest.raises(Stop):
        ps.pack(icons, tmp_path / "packed", format="tar", progress=stop)
    assert not (tmp_path / "packed").exists()
    ps.pack(icons, tmp_path / "packed", format="tar", resume=True, progress=False)
    assert len(ps.open(tmp_path / "packed")) == 500


def test_packing_with_wrong_options_raises(icons, tmp_path):
    with pytest.raises(ps.Error, match="on_error"):
        ps.pack(icons, tmp_path / "packed", format="tar", on_error="ignore")
    with pytest.raises(ps.Error):
        ps.pack(icons, tmp_path / "packed", format="zoo", progress=False)


def test_chains_read_as_they_were_written():
    chain = ps.field("jpg|png") | ps.image.random_resized_crop(224) | ps.image.random_horizontal_flip()
    assert repr(chain).startswith("field(jpg|png) | image.random_resized_crop(224, 224")
    assert repr(ps.follow("jpg") | ps.boxes()) == "follow(jpg) | boxes()"
    assert repr(ps.image.resize((20, 30))) != repr(ps.image.resize(20))
    for wrong in (lambda: ps.image.cast("float8"), lambda: ps.array.cast("text")):
        with pytest.raises(ps.Error, match="dtype"):
            wrong()
    with pytest.raises(TypeError):
        ps.label() | 3


@pytest.mark.parametrize(
    "chain",
    [
        ps.field("jpg|png")
        | ps.image.random_resized_crop((2, 3), scale=(0.5, 1.0))
        | ps.image.random_horizontal_flip(0.25),
        ps.image.resize(20) | ps.image.center_crop(16) | ps.image.normalize([0.5], [0.25]) | ps.image.channels_last(),
        ps.follow("jpg") | ps.image.decode() | ps.image.cast("int64"),
        ps.follow("jpg") | ps.boxes(),
        ps.follow("jpg") | ps.keypoints(),
        ps.array.random_slice(7) | ps.array.cast("bfloat16"),
        ps.array.decode(),
        ps.raw(),
        ps.label(),
        ps.image.decode() | ps.field("jpg"),  # a mistake that the loader tells
    ],
    ids=repr,
)
def test_chains_survive_pickling(chain):
    again = pickle.loads(pickle.dumps(chain))
    assert repr(again) == repr(chain)
    assert again.__getstate__() == chain.__getstate__()


def test_ranks_pack_parts_that_are_joined(icons, tmp_path, monkeypatch):
    for rank in ("0", "1"):
        monkeypatch.setenv("RANK", rank)
        monkeypatch.setenv("WORLD_SIZE", "2")
        ps.pack(icons, tmp_path / "set", format="tar", shard_size=1 << 20, rank="env", progress=False)
    with pytest.raises(ps.Error, match="world"):
        ps.pack(icons, tmp_path / "set", format="tar", rank=1, progress=False)
    with pytest.raises(ps.Error, match="rank"):
        ps.pack(icons, tmp_path / "set", format="tar", world=2, progress=False)
    shutil.move(tmp_path / "set.partial" / "part-00001-of-00002", tmp_path / "kept")
    with pytest.raises(ps.Error, match="missing ranks: 1"):
        ps.finish_pack(tmp_path / "set")
    shutil.move(tmp_path / "kept", tmp_path / "set.partial" / "part-00001-of-00002")
    told = ps.finish_pack(tmp_path / "set", report=tmp_path / "report.jsonl")
    assert told["samples"] == 500 and told["skipped"] == 0 and told["shards"] > 1
    assert (tmp_path / "report.jsonl").read_text() == "" and len(ps.open(tmp_path / "set")) == 500


def test_images_packed_as_pixels_load_as_they_did_encoded(icons, tmp_path):
    told = ps.pack(icons, tmp_path / "sized", format="hdf5", decode=24, progress=False)
    assert told["samples"] == len(ps.open(icons))
    ps.pack(icons, tmp_path / "same", format="tar", decode=True, progress=False)
    drawn = ps.image.random_horizontal_flip() | ps.image.normalize([0.5] * 3, [0.2] * 3)
    options = {"batch_size": 50, "shuffle": True, "seed": 3, "workers": 2}
    for chain, stored, packed in [
        (ps.image.resize(24) | ps.image.center_crop(24), ps.image.decode(), "sized"),
        (ps.image.decode(), ps.image.decode(), "same"),
        (drawn, drawn, "same"),
    ]:
        encoded = ps.Loader(icons, transforms={"png": chain}, **options)
        pixels = ps.Loader(tmp_path / packed, transforms={"png": stored}, **options)
        for expected, batch in zip(encoded, pixels, strict=True):
            assert np.array_equal(np.asarray(expected["png"]), np.asarray(batch["png"]))
    with ps.Writer(tmp_path / "written", format="lmdb", decode="jpg=8x12", progress=False) as writer:
        writer.add("a", {"jpg": np.full((30, 40, 3), 9, np.uint8)})
    assert np.array_equal(np.frombuffer(ps.open(tmp_path / "written")[0]["jpg"], np.uint8), np.full(8 * 12 * 3, 9))
    for decode in ["", 0, "png=", "nothing=8"]:
        with pytest.raises(ps.Error) as raised:
            ps.pack(icons, tmp_path / "x", format="tar", decode=decode, progress=False)
        assert raised.value.kind == "invalid_argument"


def test_a_dataset_of_nothing_is_said_so(tmp_path):
    (tmp_path / "a.tar").write_bytes(bytes(10240))
    with pytest.warns(UserWarning, match="a.tar: 0 samples: its tar files hold no members"):
        dataset = ps.open(tmp_path / "a.tar")
    assert len(dataset) == 0
    with pytest.raises(ps.Error, match="nothing to pack: 0 samples"):
        ps.pack(dataset, tmp_path / "packed", format="tar")
    with pytest.raises(ps.Error, match="a.tar"):
        ps.Loader(dataset, transforms={"jpg": ps.raw()})
    assert not (tmp_path / "packed").exists()


def test_memory_that_runs_out_is_an_error_of_penstock(tmp_path):
    (tmp_path / "data").mkdir()
    with open(tmp_path / "data" / "large.bin", "wb") as file:
        file.truncate(64 << 30)
    program = """
import resource, sys, penstock as ps
dataset = ps.open(sys.argv[1])
resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
try:
    dataset[0]["bin"]
except ps.Error as error:
    print(error.kind, error.cause)
"""
    told = subprocess.run(
        [sys.executable, "-c", program, tmp_path / "data"], capture_output=True, text=True, check=True, timeout=300
    )
    assert told.stdout.startswith("resource ") and "enough memory" in told.stdout
