"""Values that a codec recognises but cannot decode: errors in a loader, copied by pack."""

import io
import os
import subprocess

import numpy as np
import penstock as ps
import pytest

COMMAND = os.environ["PENSTOCK_COMMAND"]

PCD = b"VERSION .7\nFIELDS a b\nSIZE 4 4\nTYPE F F\nCOUNT 1 1\nWIDTH 1\nHEIGHT 1\nPOINTS 1\nDATA ascii\n1 2\n"
GOOD_PLY = (
    b"ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float y\nproperty float z\n"
    b"end_header\n1 2 3\n"
)
PLY = GOOD_PLY.replace(b"1.0", b"2.0")


def npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


VALUES = {
    "complex.npy": npy(np.zeros((3, 4), np.complex64)),
    "strings.npy": npy(np.array(["cat", "dog"])),
    "structures.npy": npy(np.zeros(2, [("a", "f4"), ("b", "i2")])),
    "dates.npy": npy(np.zeros(2, "M8[s]")),
    "fields.pcd": PCD,
    "version.ply": PLY,
    "four.off": b"STOFF\n1 0 0\n0 0 0 .5 .5\n",
}


def put(folder, name, data):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data)
    return folder


@pytest.mark.parametrize("name", VALUES)
def test_the_default_loader_names_the_sample_and_raw_delivers_its_bytes(tmp_path, name):
    stem, _, field = name.partition(".")
    data = put(tmp_path / "data", name, VALUES[name])
    with pytest.raises(ps.Error, match=rf"sample {stem}: field {field}: unsupported: .*; raw\(\) delivers") as caught:
        ps.Loader(data, batch_size=1)
    assert caught.value.kind == "unsupported"
    with ps.Loader(data, batch_size=1, transforms={field: ps.raw()}) as loader:
        (batch,) = loader
        assert np.array(batch[field][0]).tobytes() == VALUES[name]


@pytest.mark.parametrize("name", ["sound.mp3", "field.bin", "notes.json", "table.txt"])
def test_values_without_a_codec_and_texts_are_delivered_as_stored(tmp_path, name):
    value = b'{"a": "text"}'
    with ps.Loader(put(tmp_path / "data", name, value), batch_size=1) as loader:
        (batch,) = loader
        assert np.array(batch[name.partition(".")[2]][0]).tobytes() == value


def test_a_value_without_an_extension_is_judged_by_its_first_bytes(tmp_path):
    data = put(tmp_path / "data", "x.bin", VALUES["complex.npy"])
    with pytest.raises(ps.Error, match=r"sample x: field bin: unsupported: npy: .*; raw\(\) delivers"):
        ps.Loader(data, batch_size=1)


@pytest.mark.parametrize("form", ["tar", "hdf5"])
@pytest.mark.parametrize("name", [*VALUES, "broken.npy", "broken.pcd", "broken.ply"])
def test_pack_copies_them_beside_other_samples(tmp_path, name, form):
    value = VALUES.get(name, b"\x93NUMPY no" if name.endswith("npy") else VALUES["fields.pcd"][:30])
    data = put(tmp_path / "data", name, value)
    put(data, "a.bin", b"neighbour")
    subprocess.run([COMMAND, "pack", data, tmp_path / "skip", "--format", form, "--on-error", "skip"], check=True)
    subprocess.run([COMMAND, "pack", data, tmp_path / "out", "--format", form], check=True)
    for packed in ("skip", "out"):
        subprocess.run([COMMAND, "verify", tmp_path / packed, "--against", data], check=True)
        dataset = ps.open(tmp_path / packed)
        stem, _, field = name.partition(".")
        assert dict(dict(zip(dataset.keys, dataset))[stem]) == {field: value} and len(dataset) == 2


def test_pack_keeps_the_photograph_of_the_same_sample(tmp_path):
    data = put(tmp_path / "data", "a.npy", VALUES["complex.npy"])
    put(data, "a.jpg", b"\xff\xd8 no photograph")
    subprocess.run([COMMAND, "pack", data, tmp_path / "out", "--on-error", "skip"], check=True)
    assert set(ps.open(tmp_path / "out")[0]) == {"jpg", "npy"}


def test_a_writer_takes_bytes_that_no_codec_decodes(tmp_path):
    with ps.Writer(tmp_path / "out", format="tar", progress=False) as writer:
        writer.add("a", {"npy": VALUES["complex.npy"]})
    assert ps.open(tmp_path / "out")[0]["npy"] == VALUES["complex.npy"]


def test_a_later_value_is_an_error_of_its_sample(tmp_path):
    data = put(tmp_path / "data", "a.npy", npy(np.zeros((3, 4))))
    put(data, "b.npy", VALUES["complex.npy"])
    subprocess.run([COMMAND, "pack", data, tmp_path / "out"], check=True)
    for path in (data, tmp_path / "out"):
        with ps.Loader(path, batch_size=2, on_error="mark", max_errors=1.0) as loader:
            (batch,) = loader
            assert np.array(batch["__valid__"]).tolist() == [True, False]
        with ps.Loader(path, batch_size=2, transforms={"npy": ps.array.random_slice(2)}) as loader:
            with pytest.raises(ps.Error, match="sample b: field npy: .*unsupported: npy"):
                next(iter(loader))


def test_clouds_that_cannot_be_decoded_are_errors_of_their_samples(tmp_path):
    data = put(put(tmp_path / "data", "a.ply", GOOD_PLY), "b.ply", PLY)
    subprocess.run([COMMAND, "pack", data, tmp_path / "out"], check=True)
    for path in (data, tmp_path / "out"):
        with ps.Loader(
            path, batch_size=2, transforms={"ply": ps.points.sample(1)}, on_error="mark", max_errors=1.0
        ) as rows:
            (batch,) = rows
            assert np.array(batch["__valid__"]).tolist() == [True, False]
