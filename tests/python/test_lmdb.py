"""LMDB across programs: what penstock packs, py-lmdb reads; what py-lmdb writes, penstock lists."""

import io
import os
import pathlib
import subprocess

import lmdb
import msgpack
import numpy as np
import pytest

COMMAND = os.environ["PENSTOCK_COMMAND"]

LENGTHS = [0, 1, 100, 2030, 2040, 4079, 4080, 4081, 100_000]
KEYS = [f"class {i % 4}/{i:04}" + ("-b" if i % 7 == 0 else "") for i in range(300)] + ["caf\u00e9/\u6c34"]


def penstock(*arguments):
    done = subprocess.run([COMMAND, *map(str, arguments)], capture_output=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def fields_of(number):
    fields = {"txt": f"sample {number}".encode(), "json": b'"' + b"x" * LENGTHS[number % len(LENGTHS)] + b'"'}
    return fields if number % 5 else {"json": fields["json"]}


def values():
    return {f"{key}.{field}": value for i, key in enumerate(KEYS) for field, value in fields_of(i).items()}


def read_all(folder):
    with lmdb.open(str(folder), readonly=True, lock=False) as environment, environment.begin() as transaction:
        return {bytes(key).decode(): bytes(value) for key, value in transaction.cursor()}


@pytest.mark.parametrize("subdir", [True, False])
@pytest.mark.parametrize("writemap", [True, False])
def test_what_py_lmdb_writes_is_listed_and_read(tmp_path, subdir, writemap):
    path = tmp_path / "foreign.lmdb"
    with lmdb.open(str(path), subdir=subdir, writemap=writemap, map_size=64 << 20) as environment:
        for name, value in values().items():
            with environment.begin(write=True) as transaction:
                transaction.put(name.encode(), value)
    listed = penstock("ls", path).decode().splitlines()
    assert sorted(listed) == sorted(values())
    keys = [line.rsplit(".", 1)[0] for line in listed]
    assert keys == sorted(keys, key=str.encode)
    for name in [*values()][:40]:
        assert penstock("cat", path, name) == values()[name]


def test_values_without_a_dot_in_their_name_are_samples(tmp_path):
    with lmdb.open(str(tmp_path / "foreign"), map_size=1 << 20) as environment, environment.begin(write=True) as put:
        put.put(b"image-1", b"one")
        put.put(b"\x00\x01", b"two")
    assert penstock("ls", tmp_path / "foreign").decode().splitlines() == ["0001.value", "image-1.value"]
    assert penstock("cat", tmp_path / "foreign", "0001.value") == b"two"


def put_all(folder, named):
    """{database: {name: value}} as one LMDB; database None is the main one."""
    with lmdb.open(str(folder), map_size=16 << 20, max_dbs=4) as environment:
        for database, values in named.items():
            number = environment.open_db(database and database.encode())
            with environment.begin(write=True, db=number) as transaction:
                for name, value in values.items():
                    transaction.put(name.encode(), value)


def test_named_databases_are_fields(tmp_path):
    names = [f"{i:05}" for i in range(300)]
    images, labels = {n: n.encode() * 100 for n in names}, {n: str(int(n) % 7).encode() for n in names}
    put_all(tmp_path / "named", {"image": images, "cls": labels, None: {"__len__": b"300"}})
    assert penstock("ls", tmp_path / "named").decode().split() == [f"{n}.{f}" for n in names for f in ("cls", "image")]
    assert penstock("cat", tmp_path / "named", "00123.image") == images["00123"]
    assert penstock("cat", tmp_path / "named", "00123.cls") == labels["00123"]


def test_msgpack_maps_are_samples(tmp_path):
    rng = np.random.default_rng(1)
    samples = {}
    for i in range(10):
        array = rng.standard_normal((3, 2 + i % 2), dtype=np.float32)
        same = rng.integers(0, 255, (4, 5), dtype=np.uint16)
        samples[f"{i:04}"] = {
            "jpg": bytes(rng.integers(0, 255, 1000 * i, dtype=np.uint8)),
            "text": f"w\u00f6rt {i}",
            "label": -i,
            "score": i / 3,
            "x": array,
            "same": same,
            "list": [1, [2, 3]],
            "none": None,
        }
    put_all(
        tmp_path / "maps",
        {None: {key: msgpack.packb(sample, default=msgpack_numpy) for key, sample in samples.items()}},
    )
    dataset = tmp_path / "maps"
    for key, sample in samples.items():
        assert penstock("cat", dataset, f"{key}.jpg") == sample["jpg"]
        assert penstock("cat", dataset, f"{key}.text").decode() == sample["text"]
        assert int(penstock("cat", dataset, f"{key}.label")) == sample["label"]
        assert float(penstock("cat", dataset, f"{key}.score")) == sample["score"]
        np.testing.assert_array_equal(np.load(io.BytesIO(penstock("cat", dataset, f"{key}.x"))), sample["x"])
        assert penstock("cat", dataset, f"{key}.same") == sample["same"].tobytes()
    assert not any(line.endswith((".list", ".none")) for line in penstock("ls", dataset).decode().split())


def msgpack_numpy(array):
    return {b"nd": True, b"type": array.dtype.str, b"kind": b"", b"shape": list(array.shape), b"data": array.tobytes()}


@pytest.fixture(name="real")
def real_fixture(tmp_path, monkeypatch):
    folder = pathlib.Path(os.environ.get("PENSTOCK_TEST_DATA", "")) / "lmdb"
    if not folder.is_dir():
        pytest.skip("PENSTOCK_TEST_DATA has no lmdb folder")
    monkeypatch.setenv("PENSTOCK_INDEX_DIR", str(tmp_path / "indexes"))
    return folder


def test_caffes_datums_are_arrays_and_classes(real):
    for path in [real / "SuJack1+CaffeStart/train_lmdb", real / "wateryym+authorship-recognition/data/train_lmdb"]:
        stored = read_all(path)
        for name, value in stored.items():
            assert value[:2] == b"\x08\x03"  # three channels
            pixels = penstock("cat", path, f"{name}.data")
            assert pixels in value and value.index(pixels) < 16 and len(value) - len(pixels) < 20
            label = value[value.index(pixels) + len(pixels) :]
            assert label[0] == 0x28 and int(penstock("cat", path, f"{name}.cls")) == label[1]


def test_numbered_fields_and_msgpack_of_others(real):
    path = real / "zuoyuwei+crnn_torch_trt/data"
    stored = read_all(path)
    assert len(penstock("ls", path).decode().split()) == 2 * int(stored["num-samples"])
    for i in range(1, 9):
        assert penstock("cat", path, f"{i:09}.image") == stored[f"image-{i:09}"]
        assert penstock("cat", path, f"{i:09}.label") == stored[f"label-{i:09}"]
    path = real / "deepmodeling+deepmd-kit/lmdb_downsample_data/water_training.lmdb"
    stored = read_all(path)
    listed = penstock("ls", path).decode().split()
    assert len({line.split(".")[0] for line in listed}) == 80
    for name in ["000000000000", "000000000079"]:
        record = msgpack.unpackb(stored[name])
        arrays = {field: value for field, value in record.items() if isinstance(value, dict)}
        assert arrays
        for field, value in arrays.items():
            assert penstock("cat", path, f"{name}.{field}") == value["data"], field


@pytest.fixture(name="source", scope="module")
def source_fixture(tmp_path_factory):
    folder = tmp_path_factory.mktemp("source")
    for name, value in values().items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(value)
    return folder


def test_what_penstock_packs_is_read_by_py_lmdb(source, tmp_path):
    penstock("pack", source, tmp_path / "packed", "--format", "lmdb", "--shard-size", "2MiB")
    shards = sorted((tmp_path / "packed").glob("*.lmdb"))
    assert len(shards) > 1
    found = {}
    for shard in shards:
        assert [entry.name for entry in shard.iterdir()] == ["data.mdb"]
        found |= read_all(shard)
    assert found == values()


def test_two_packs_are_the_same_bytes(source, tmp_path):
    contents = []
    for name in ("one", "two"):
        penstock("pack", source, tmp_path / name, "--format", "lmdb")
        contents.append((tmp_path / name / "shard-000000.lmdb" / "data.mdb").read_bytes())
    assert contents[0] == contents[1]


def test_a_packed_dataset_is_appended_to_by_py_lmdb_and_read_without_its_index(source, tmp_path):
    penstock("pack", source, tmp_path / "packed", "--format", "lmdb")
    shard = tmp_path / "packed" / "shard-000000.lmdb"
    with lmdb.open(str(shard), map_size=64 << 20) as environment, environment.begin(write=True) as transaction:
        transaction.put(b"zz.txt", b"new")
    assert penstock("cat", shard, "zz.txt") == b"new"
    assert penstock("cat", shard, f"{KEYS[4]}.json") == fields_of(4)["json"]


def test_a_key_that_lmdb_cannot_hold_is_an_error_that_names_it(tmp_path):
    key = "/".join(["d" * 200] * 3)
    path = tmp_path / "source" / f"{key}.txt"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"x")
    arguments = [COMMAND, "pack", tmp_path / "source", tmp_path / "packed", "--format", "lmdb"]
    done = subprocess.run(arguments, capture_output=True, check=False, timeout=60)
    assert done.returncode == 1
    assert b"511" in done.stderr and b"ddd" in done.stderr
    assert not (tmp_path / "packed").exists()
