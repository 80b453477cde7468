"""LMDB across programs: what penstock packs, py-lmdb reads; what py-lmdb writes, penstock lists."""

import os
import subprocess

import lmdb
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
