"""penstock.Writer: samples made in Python become a packed dataset."""

import array
import datetime
import decimal
import hashlib
import io
import json
import os
import pathlib
import random
import resource
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import penstock as ps
import pytest
from PIL import Image, ImageOps


def digest(folder):
    """Of every file's name and content."""
    folder = pathlib.Path(folder)
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def written(tmp_path, samples, **options):
    options = {"format": "tar", "progress": False, **options}
    with ps.Writer(tmp_path / "out", **options) as writer:
        for key, fields in samples.items():
            writer.add(key, fields)
    return ps.open(tmp_path / "out")


def from_npy(stored):
    return np.load(io.BytesIO(stored))


def test_a_value_becomes_the_bytes_that_its_type_and_its_field_tell(tmp_path):
    image = Image.fromarray(np.random.default_rng(1).integers(0, 256, (9, 7, 3), np.uint8))
    numbers = np.arange(6, dtype=np.float32).reshape(2, 3)
    dataset = written(
        tmp_path,
        {
            "k": {
                "bin": bytearray(b"1"),
                "view": memoryview(b"abcdef")[::2],
                "buffer": memoryview(array.array("h", [1, 2])),
                "txt": "größe",
                "n.txt": 1.5,
                "cls": np.int64(3),
                "json": {"a": [1, np.float32(2.5)], "b": np.arange(2), "c": "ß"},
                "meta": {"x": None},
                "dated.json": {"on": datetime.date(2026, 1, 2), "cost": decimal.Decimal("1.10")},
                "npy": numbers.T,
                "list.npy": [[1, 2], [3, 4]],
                "whole": 7,
                "real": 0.25,
                "flag": True,
                "scalar": np.float16(0.5),
                "png": image,
                "array.png": np.asarray(image),
                "gray.png": np.arange(4, dtype=np.uint8).reshape(2, 2, 1),
                "palette.jpg": image.convert("P"),
                "alpha.jpg": image.convert("RGBA"),
            }
        },
    )
    sample = dataset[0]
    assert [sample[name] for name in ("bin", "view", "txt", "n.txt", "cls")] == [
        b"1",
        b"ace",
        "größe".encode(),
        b"1.5",
        b"3",
    ]
    assert sample["buffer"] == array.array("h", [1, 2]).tobytes()
    assert json.loads(sample["json"]) == {"a": [1, 2.5], "b": [0, 1], "c": "ß"}
    assert json.loads(sample["meta"]) == {"x": None}
    assert json.loads(sample["dated.json"]) == {"on": "2026-01-02", "cost": "1.10"}
    for name, value in {"npy": numbers.T, "list.npy": np.array([[1, 2], [3, 4]])}.items():
        assert np.array_equal(from_npy(sample[name]), value)
    for name, value in {"whole": 7, "real": 0.25, "flag": True, "scalar": np.float16(0.5)}.items():
        stored = from_npy(sample[name])
        assert stored.shape == () and stored == value and stored.dtype == np.asarray(value).dtype
    for name in ("png", "array.png"):
        assert np.array_equal(np.asarray(Image.open(io.BytesIO(sample[name]))), np.asarray(image))
    assert Image.open(io.BytesIO(sample["gray.png"])).mode == "L"
    for name in ("palette.jpg", "alpha.jpg"):
        assert Image.open(io.BytesIO(sample[name])).format == "JPEG"
    batch = next(iter(ps.Loader(dataset, batch_size=1, transforms={"whole": ps.array.decode(), "cls": ps.label()})))
    assert np.asarray(batch["whole"]).tolist() == [7] and np.asarray(batch["cls"]).tolist() == [3]


def test_tensors_of_torch_become_arrays(tmp_path):
    torch = pytest.importorskip("torch")
    tensor = torch.arange(6.0).reshape(2, 3).requires_grad_()
    dataset = written(tmp_path, {"k": {"npy": tensor, "cls": torch.tensor(4)}})
    assert from_npy(dataset[0]["npy"]).tolist() == tensor.tolist()
    assert dataset[0]["cls"] == b"4"


class OnlyDLPack:
    def __init__(self, array):
        self._array = array

    def __dlpack__(self, **options):
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()


def test_what_speaks_dlpack_becomes_an_array(tmp_path):
    numbers = np.arange(5, dtype=np.int32)
    dataset = written(tmp_path, {"k": {"npy": OnlyDLPack(numbers)}})
    assert np.array_equal(from_npy(dataset[0]["npy"]), numbers)


def test_images_have_the_quality_asked_for(tmp_path):
    pixels = np.random.default_rng(2).integers(0, 256, (64, 64, 3), np.uint8)
    coarse = written(tmp_path / "coarse", {"k": {"jpg": pixels}}, quality=20)[0]["jpg"]
    fine = written(tmp_path / "fine", {"k": {"jpg": pixels}}, quality=95)[0]["jpg"]
    assert len(coarse) * 2 < len(fine)


def test_an_image_with_an_orientation_is_stored_upright(tmp_path):
    pixels = np.random.default_rng(3).integers(0, 256, (6, 9, 3), np.uint8)
    samples, expected = {}, {}
    for orientation in range(1, 9):
        exif = Image.Exif()
        exif[0x112] = orientation
        file = io.BytesIO()
        Image.fromarray(pixels).save(file, "PNG", exif=exif)
        samples[str(orientation)] = {"png": Image.open(file)}
        expected[str(orientation)] = np.asarray(ImageOps.exif_transpose(Image.open(file)))
    dataset = written(tmp_path, samples)
    for key, sample in zip(dataset.keys, dataset):
        image = Image.open(io.BytesIO(sample["png"]))
        assert image.getexif().get(0x112, 1) == 1, key
        assert np.array_equal(np.asarray(image), expected[key]), key


def test_bits_and_16_bit_levels_keep_their_values(tmp_path):
    levels = np.arange(64, dtype=np.uint16).reshape(8, 8) * 1000
    bits = levels > 30000
    sample = written(tmp_path, {"k": {"png": levels, "mask.png": bits, "jpg": bits}})[0]
    assert np.array_equal(np.asarray(Image.open(io.BytesIO(sample["png"]))), levels)
    assert np.array_equal(np.asarray(Image.open(io.BytesIO(sample["mask.png"]))).astype(bool), bits)
    assert Image.open(io.BytesIO(sample["jpg"])).mode == "L"


def test_classes_may_be_named(tmp_path):
    dataset = written(tmp_path, {"a": {"cls": "dog"}, "b": {"cls": 0}, "c": {"cls": "1"}}, classes=["cat", "dog"])
    assert [sample["cls"] for sample in dataset] == [b"1", b"0", b"1"] and dataset.classes == ["cat", "dog"]


@pytest.mark.parametrize(
    ("field", "value", "cause"),
    [
        ("npy", object(), "builtins.object"),
        ("npy", np.array(["a", "b"]), "<U1"),
        ("npy", np.array([{}], object), "object"),
        ("bin", {1, 2}, "builtins.set"),
        ("bin", None, "cannot be None"),
        ("cls", 1.5, "float"),
        ("cls", "cow", "not one of the 2 classes"),
        ("cls", 2, "not one of the 2 classes"),
        ("cls", -1, "not one of the 2 classes"),
        ("json", {"x": object()}, "JSON cannot hold a value of type object"),
        ("json", {"x": float("nan")}, "JSON"),
        ("jpg", np.zeros((3, 20, 20), np.uint8), "(3, 20, 20)"),
        ("jpg", 3, "int"),
        ("jpg", np.zeros((4, 4), np.uint16), "JPEG stores 8 bits per channel, not uint16; name the field png"),
        ("x.jpeg", np.zeros((4, 4), np.float32), "not float32; name the field png for uint16 (H, W), or npy"),
        ("jpg", np.zeros((4, 4, 3), np.float64), "JPEG stores 8 bits per channel, not float64"),
        ("jpg", np.zeros((4, 4), np.int32), "JPEG stores 8 bits per channel, not int32"),
        ("jpg", Image.fromarray(np.zeros((4, 4), np.uint16)), "JPEG stores 8 bits per channel, not uint16"),
        ("webp", np.zeros((4, 4), np.uint16), "WEBP stores 8 bits per channel, not uint16"),
        ("png", np.zeros((4, 4), np.float32), "PNG stores 8 or 16 bits per channel, not float32"),
        ("image", Image.new("RGB", (2, 2)), "image.png"),
        ("big", 1 << 70, "64 bits"),
        ("npy", b"\x93NUMPY no", "npy"),
        ("jpg", pathlib.Path("/nowhere/at/all.jpg"), "/nowhere/at/all.jpg"),
        ("a/b", b"", "slash"),
        (5, b"", "must be a str"),
    ],
)
def test_a_value_that_cannot_be_written_is_refused_by_name_and_the_writer_goes_on(tmp_path, field, value, cause):
    with ps.Writer(tmp_path / "out", format="tar", classes=["cat", "dog"], progress=False) as writer:
        with pytest.raises(ps.Error) as raised:
            writer.add("folder/key", {"ok.txt": "fine", field: value})
        writer.add("other", {"txt": "fine"})
    error = raised.value
    assert error.key == "folder/key" and (error.field == field or field == 5) and cause in error.cause
    assert str(tmp_path / "out") in str(error) and "sample folder/key" in str(error)
    assert ps.open(tmp_path / "out").keys == ["other"]


def test_samples_of_webdatasets_writers_are_taken_as_they_are(tmp_path):
    with ps.Writer(tmp_path / "out", format="tar", progress=False) as writer:
        writer.write({"__key__": "a/1", "__url__": "x", "_hidden": 3, "txt": "one", "cls": 1})
        with pytest.raises(ps.Error, match="__key__"):
            writer.write({"txt": "one"})
        with pytest.raises(ps.Error, match="a key must be a str, not 17"):
            writer.add(17, {"txt": "one"})
        assert writer.samples == 1 and writer.bytes == 4
    assert writer.result["samples"] == 1
    assert dict(ps.open(tmp_path / "out")[0]) == {"txt": b"one", "cls": b"1"}


def test_webdataset_reads_what_was_written(tmp_path):
    webdataset = pytest.importorskip("webdataset")
    samples = {f"s{i}": {"txt": f"text {i}", "cls": i, "npy": np.full(3, i)} for i in range(30)}
    written(tmp_path, samples, shard_size=20_000)
    shards = sorted(str(path) for path in (tmp_path / "out").glob("*.tar"))
    assert len(shards) > 1
    seen = {}
    for sample in webdataset.WebDataset(shards, shardshuffle=False).decode():
        seen[sample["__key__"]] = sample
    assert list(seen) == sorted(samples)
    for key, fields in samples.items():
        assert seen[key]["txt"] == fields["txt"] and seen[key]["cls"] == fields["cls"]
        assert np.array_equal(seen[key]["npy"], fields["npy"])


@pytest.mark.parametrize("packing", ["tar", "lmdb", "hdf5"])
def test_the_bytes_do_not_depend_on_threads_or_order(tmp_path, packing):
    rng = np.random.default_rng(4)
    samples = {f"{i % 7}/{i}": {"bin": rng.bytes(int(rng.integers(0, 3000))), "cls": i % 7} for i in range(800)}
    written(tmp_path / "sorted", dict(sorted(samples.items())), format=packing, shard_size=200_000)
    for seed in (1, 2):
        items = list(samples.items())
        random.Random(seed).shuffle(items)
        waiting = iter(items)
        lock = threading.Lock()
        with ps.Writer(tmp_path / f"{seed}", format=packing, shard_size=200_000, progress=False) as writer:

            def work():
                while True:
                    with lock:
                        key, fields = next(waiting, (None, None))
                    if key is None:
                        return
                    writer.add(key, dict(reversed(fields.items())) if hash(key) % 2 else fields)

            threads = [threading.Thread(target=work) for _ in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        assert digest(tmp_path / f"{seed}") == digest(tmp_path / "sorted" / "out")


def test_a_folder_of_the_same_samples_packs_to_the_same_bytes(arrays, tmp_path):
    ps.pack(arrays, tmp_path / "packed", format="tar", progress=False)
    with ps.Writer(tmp_path / "paths", format="tar", progress=False) as writer:
        for path in arrays.glob("*.npy"):
            writer.add(path.stem, {"npy": path, "cls": path.with_suffix(".cls").read_text()})
    assert digest(tmp_path / "paths") == digest(tmp_path / "packed")


def test_two_samples_of_one_key_are_an_error_that_names_it(tmp_path):
    with ps.Writer(tmp_path / "out", format="tar", progress=False) as writer:
        writer.add("twin", {"txt": "first"})
        with pytest.raises(ps.Error, match="two samples have this key") as raised:
            writer.add("twin", {"txt": "second"})
    assert raised.value.key == "twin"
    assert ps.open(tmp_path / "out")[0]["txt"] == b"first"


class NoPath(os.PathLike):
    def __fspath__(self):
        raise OSError("gone")


def test_a_sample_that_is_refused_lets_go_of_the_values_before_the_one_that_is_wrong(tmp_path):
    value = bytearray(b"1")
    with ps.Writer(tmp_path / "out", format="tar", progress=False) as writer:
        with pytest.raises(TypeError, match="a field must be bytes, or the path of a file"):
            writer.add("key", {"txt": value, "bin": NoPath()})
        value.extend(b"2")  # a BufferError while anybody holds a view of it
        writer.add("key", {"txt": value})
    assert ps.open(tmp_path / "out")[0]["txt"] == b"12"


def test_a_memoryview_of_columns_is_written_row_by_row(tmp_path):
    columns = np.asfortranarray(np.arange(6, dtype=np.uint8).reshape(2, 3))
    with ps.Writer(tmp_path / "out", format="tar", progress=False) as writer:
        writer.add("key", {"bin": memoryview(columns)})
    assert ps.open(tmp_path / "out")[0]["bin"] == bytes(range(6))


class Stop(Exception):
    pass


@pytest.mark.parametrize("when", ["while adding", "while packing"])
def test_an_exception_leaves_nothing(tmp_path, when):
    def stop(*now):
        raise Stop

    with pytest.raises(Stop):  # noqa: SIM117
        with ps.Writer(tmp_path / "sub" / "out", format="tar", progress=stop) as writer:
            for i in range(2000):
                writer.add(str(i), {"bin": b"x" * 1000})
            if when == "while adding":
                raise Stop
    assert os.listdir(tmp_path / "sub") == []
    with pytest.raises(ps.Error, match="finished"):
        writer.add("more", {"bin": b""})


def test_a_destination_that_exists_is_refused_before_the_first_sample(tmp_path):
    written(tmp_path, {"a": {"txt": "old"}})
    with pytest.raises(ps.Error, match="already exists"):
        ps.Writer(tmp_path / "out", format="tar")
    assert written(tmp_path, {"a": {"txt": "new"}}, overwrite=True)[0]["txt"] == b"new"
    with pytest.raises(ps.Error, match="zoo"):
        ps.Writer(tmp_path / "other", format="zoo")
    assert os.listdir(tmp_path) == ["out"]


CTRL_C = """
import sys, penstock as ps
with ps.Writer(sys.argv[1] + "/out", format="lmdb", progress=lambda *now: print("packing", flush=True)) as writer:
    if sys.argv[2] == "while adding":
        print("adding", flush=True)
    endless = sys.argv[2] == "while adding"  # small values: a machine that is busy elsewhere must not fill its disk meanwhile
    for i in range(10_000_000 if endless else 20_000):
        writer.add(str(i), {"bin": b"x" * (50 if endless else 5000)})
"""


@pytest.mark.parametrize("when", ["while adding", "while packing"])
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGKILL])
def test_ctrl_c_leaves_nothing_and_so_does_a_kill_before_the_end(tmp_path, when, sent):
    command = [sys.executable, "-c", CTRL_C, str(tmp_path), when]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert child.stdout.readline() == (b"adding\n" if when == "while adding" else b"packing\n")
    time.sleep(0.2 if when == "while adding" else 0)
    child.send_signal(sent)
    err = child.communicate(timeout=60)[1]
    if sent == signal.SIGINT:
        assert b"KeyboardInterrupt" in err
    if sent == signal.SIGKILL and when == "while packing":
        assert not (tmp_path / "out").exists()
        with pytest.raises(ps.Error, match="overwrite"):  # a killed program cannot tidy up: the next one is told
            ps.Writer(tmp_path / "out", format="tar")
        written(tmp_path, {"a": {"txt": "new"}}, overwrite=True)
        assert os.listdir(tmp_path) == ["out"]
    else:
        assert os.listdir(tmp_path) == []


MANY = """
import resource, sys, penstock as ps
def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
with ps.Writer(sys.argv[1], format="tar", progress=False) as writer:
    writer.add("first", {"txt": "x", "cls": 1})
    before = peak()
    count = int(sys.argv[2])
    for i in range(count):
        writer.add(f"{i * 7919 % count:06}", {"txt": b"x" * 500, "cls": i % 10})
    print((peak() - before) / count)
"""


def test_200000_small_samples_need_bounded_memory(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", MANY, str(tmp_path / "out"), "200000"], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    # 48 for two fields, 6 for the key, 8 + 11 for its place: 73, and half as much again while vectors grow.
    assert float(done.stdout) < 250
    assert len(ps.open(tmp_path / "out")) == 200_001


def test_samples_wait_in_the_folder_asked_for(tmp_path):
    assert written(tmp_path, {"a": {"txt": "x"}}, temp_dir=tmp_path / "scratch")[0]["txt"] == b"x"
    assert sorted(os.listdir(tmp_path)) == ["out", "scratch"] and os.listdir(tmp_path / "scratch") == []
    with pytest.raises(ps.Error, match="/proc/here") as raised:
        ps.Writer(tmp_path / "other", format="tar", temp_dir="/proc/here")
    assert raised.value.kind == "io"


def test_a_full_disk_gives_one_clear_error_and_leaves_nothing(tmp_path):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        with pytest.raises(ps.Error) as raised:  # noqa: SIM117
            with ps.Writer(tmp_path / "out", format="tar", progress=False) as writer:
                resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, before[1]))
                for i in range(100):
                    writer.add(str(i), {"bin": b"x" * 100_000})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert raised.value.kind == "io" and "File too large" in str(raised.value) and str(tmp_path) in str(raised.value)
    assert os.listdir(tmp_path) == []
