"""Several files are one dataset, and a field has one type in all of them: the smallest that has every value exactly, or
one error that names two files and what they have. Compared with a model in NumPy, in both orders of the files."""

import io
import json
import os
import struct

import h5py
import numpy as np
import pytest
from command import run
from records import message, varint, write_records

import penstock as ps

DTYPES = [
    "uint8",
    "int8",
    "uint16",
    "int16",
    "uint32",
    "int32",
    "uint64",
    "int64",
    "float16",
    "float32",
    "float64",
    "bool",
]


def info(path):
    return run("info", path).stdout.decode()


def together(*dtypes):
    """The dtype that has the numbers of all exactly, of their kind; None where there is none."""
    if len(set(dtypes)) == 1:
        return np.dtype(dtypes[0])
    kinds = {np.dtype(dtype).kind for dtype in dtypes}
    wide = np.result_type(*dtypes)
    return wide if kinds <= set("ui") and wide.kind in "ui" or kinds == {"f"} else None


def test_the_model_widens_exactly():
    assert together("uint8", "int8") == "int16" and together("uint32", "int32") == "int64"
    assert together("uint64", "int8") is None and together("int8", "float64") is None
    assert together("bool", "uint8") is None and together("float16", "float64") == "float64"


def numbers(dtype, file, shape=(), rows=3):
    """Values that only their own dtype reads right: extremes, and fractions of floats."""
    dtype = np.dtype(dtype)
    random = np.random.default_rng([file, rows, len(shape)])
    if dtype.kind == "b":
        return random.integers(0, 2, (rows, *shape)).astype(dtype)
    if dtype.kind == "f":
        return (random.integers(-500, 500, (rows, *shape)) / 8).astype(dtype)
    limits = np.iinfo(dtype)
    values = random.integers(limits.min, limits.max, (rows, *shape), dtype=dtype, endpoint=True)
    values.reshape(-1)[:2] = limits.min, limits.max
    return values


# ---- Files -----------------------------------------------------------------------------------------------------------


def keys_of(file, rows):
    return [f"{file}{row}" for row in range(rows)]


def write_hdf5(path, file, values):
    with h5py.File(path, "w") as h5:
        h5["__key__"] = np.array(keys_of(file, len(values)), "S")
        first = values[0]
        if isinstance(first, (str, bytes)):
            h5.create_dataset("x", data=list(values), dtype=h5py.string_dtype())
        elif isinstance(values, np.ndarray):
            h5["x"] = values
        else:
            rows = h5.create_dataset("x", len(values), h5py.vlen_dtype(first.dtype))
            for row, value in enumerate(values):
                rows[row] = value


def write_chunked(path, file, values):
    """Rows in compressed chunks that rows share, of which one was never written; big-endian."""
    with h5py.File(path, "w") as h5:
        h5["__key__"] = np.array(keys_of(file, len(values)), "S")
        big = values.astype(values.dtype.newbyteorder(">"))
        rows = h5.create_dataset(
            "x", big.shape, big.dtype, chunks=(2, *big.shape[1:]), compression="gzip", shuffle=True
        )
        rows[:] = big


def write_tiled(path, file, values):
    """Rows that are put together from chunks over several axes."""
    with h5py.File(path, "w") as h5:
        h5["__key__"] = np.array(keys_of(file, len(values)), "S")
        chunks = tuple(max(1, side - 1) for side in values.shape)
        h5.create_dataset("x", data=values, chunks=chunks, fillvalue=1)


def write_per_sample(path, file, values):
    with h5py.File(path, "w") as h5:
        for key, value in zip(keys_of(file, len(values)), values):
            h5[f"{key}/x"] = value
            h5[f"{key}/id"] = 1


def write_npz(path, file, values):
    np.savez(path, x=values)


def write_compressed_npz(path, file, values):
    np.savez_compressed(path, x=values)


def feature(value):
    if isinstance(value, (str, bytes)):
        return message(1, message(1, value.encode() if isinstance(value, str) else value))
    value = np.atleast_1d(value)
    if value.dtype.kind == "f":
        return message(2, message(1, value.astype("<f4").tobytes()))
    return message(3, message(1, b"".join(varint(int(number)) for number in value)))


def write_tfrecord(path, file, values):
    examples = []
    for key, value in zip(keys_of(file, len(values)), values):
        features = {"__key__": key, "x": value, "id": 1}
        entries = (message(1, message(1, name.encode()) + message(2, feature(v))) for name, v in features.items())
        examples.append(message(1, b"".join(entries)))
    write_records(path, *examples)


WRITERS = {
    "hdf5": (write_hdf5, "h5"),
    "chunked": (write_chunked, "h5"),
    "tiled": (write_tiled, "h5"),
    "per sample": (write_per_sample, "h5"),
    "npz": (write_npz, "npz"),
    "compressed npz": (write_compressed_npz, "npz"),
    "tfrecord": (write_tfrecord, "tfrecord"),
}


def write(folder, kind, files):
    """Writes {number: values}; the paths in this order."""
    folder.mkdir(parents=True, exist_ok=True)
    writer, ending = WRITERS[kind]
    paths = []
    for file, values in files.items():
        paths.append(folder / f"{file}.{ending}")
        writer(paths[-1], file, values)
    return paths


# ---- Doors -----------------------------------------------------------------------------------------------------------


def by_folder(paths):
    return ps.open(paths[0].parent)


def by_pattern(paths):
    return ps.open(str(paths[0].parent / f"*{paths[0].suffix}"))


def by_list(paths):
    return ps.concat([ps.open(path) for path in paths])


def by_mixture(paths):
    return ps.mixture({path.stem: ps.open(path) for path in paths})


def by_packing(format):
    def packed(paths):
        out = paths[0].parent / ("packed." + format)
        ps.pack(by_list(paths), out, format=format, progress=False, overwrite=True)
        return ps.open(out)

    packed.__name__ = "by_packing_" + format
    return packed


PACKINGS = [by_packing(format) for format in ("tar", "hdf5")]
DOORS = [by_folder, by_pattern, by_list, by_mixture, *PACKINGS]


def rows(dataset, chain=None):
    fields = {"x": ps.field("x") if chain is None else chain}
    with ps.Loader(dataset, batch_size=1, workers=1, publish=False, transforms=fields) as loader:
        for batch in loader:
            value = np.array(batch["x"][0])
            yield batch["__key__"][0], value if value.ndim else np.array(batch["x"])[0]  # not Python's number


def outcome(paths, door, chain=None):
    """{key: value}, or the text of the error."""
    try:
        return dict(rows(door(paths), chain))
    except ps.Error as error:
        return str(error)


def check_values(found, files, dtype, keys=keys_of):
    assert isinstance(found, dict), found
    want = {key: value for file, values in files.items() for key, value in zip(keys(file, len(values)), values)}
    assert found.keys() == want.keys()
    for key, value in want.items():
        value = np.asarray(value)
        assert found[key].dtype == dtype and np.array_equal(found[key].reshape(value.shape), value.astype(dtype)), key


def check_refused(found, paths, *words):
    assert isinstance(found, str), f"values where an error was wanted: {found}"
    for word in [path.name for path in paths] + list(words):
        assert word in found, f"{word!r} is not told: {found}"


def both_orders(folder, kind, first, second):
    """The same two files under names of both orders."""
    for name, files in (("straight", {"a": first, "b": second}), ("turned", {"a": second, "b": first})):
        yield write(folder / name, kind, files), files


# ---- Numbers ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("first", DTYPES)
def test_scalars_of_two_dtypes(tmp_path, first):
    for second in DTYPES:
        files = {"a": numbers(first, 1), "b": numbers(second, 2)}
        paths = write(tmp_path / second, "hdf5", files)
        found = outcome(paths, by_list)
        if together(first, second) is None:
            check_refused(found, paths, first, second)
        else:
            check_values(found, files, together(first, second))
            if first != second:
                assert first in ps.open(tmp_path / second).fields[0].differs


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
def test_every_door_has_the_same_rule(tmp_path, door):
    for number, (first, second) in enumerate([("uint8", "int32"), ("float16", "float64"), ("int32", "float32")]):
        sides = numbers(first, 1, (2, 3)), numbers(second, 2, (2, 3))
        for paths, files in both_orders(tmp_path / str(number), "hdf5", *sides):
            found = outcome(paths, door)
            if together(first, second) is None:
                check_refused(found, paths, first, second)
            else:
                check_values(found, files, together(first, second))


@pytest.mark.parametrize("kind", ["hdf5", "chunked", "tiled", "npz", "compressed npz", "per sample"])
@pytest.mark.parametrize("shape", [(), (5,), (2, 3)], ids=str)
def test_rows_wherever_they_lie(tmp_path, kind, shape):
    pairs = [("int8", "uint16"), ("float16", "float32"), ("bool", "uint8"), ("uint8", "float64"), ("uint32", "uint32")]
    for first, second in pairs:
        folder = tmp_path / f"{first} {second}"
        for paths, files in both_orders(folder, kind, numbers(first, 1, shape), numbers(second, 2, shape)):
            found = outcome(paths, by_pattern) if "npz" not in kind else outcome_by_number(paths)
            if together(first, second) is None:
                check_refused(found, paths, first, second)
            else:
                check_values(found, files, together(first, second))


def outcome_by_number(paths):
    """Of rows without keys of their own: those of file a, then those of file b."""
    try:
        found = [value for _, value in rows(by_pattern(paths))]
    except ps.Error as error:
        return str(error)
    return dict(zip(keys_of("a", 3) + keys_of("b", 3), found))


def test_each_way_to_read_has_the_widened_values(tmp_path):
    files = {"a": numbers("int16", 1, (4,)), "b": numbers("uint16", 2, (4,))}
    write(tmp_path / "x", "hdf5", files)
    dataset = ps.open(tmp_path / "x")
    assert dataset.fields[0].dtype == "int32" and dataset.fields[0].shape == (4,)
    want = np.concatenate([files["a"], files["b"]]).astype("int32")
    assert [dataset[row]["x"] for row in range(6)] == [row.tobytes() for row in want]
    for engine in ("pread", "mmap", "io_uring", "inline"):
        try:
            with ps.Loader(
                dataset, batch_size=6, workers=2, publish=False, read_options=ps.ReadOptions(engine=engine)
            ) as loader:
                got = np.array(next(iter(loader))["x"])
        except (ps.Error, ValueError) as error:
            assert "engine" in str(error) or "io_uring" in str(error)
            continue
        assert np.array_equal(got, want)
    window = dict(rows(dataset, ps.array.random_slice(2)))
    assert all(value.dtype == "int32" and value.shape == (2,) for value in window.values())
    told = info(tmp_path / "x")
    assert "int16 (4,) in a.h5 and uint16 (4,) in b.h5 (widened)" in told
    run("verify", tmp_path / "x")
    ps.pack(dataset, tmp_path / "packed", progress=False)
    run("verify", tmp_path / "packed", "--against", tmp_path / "x")


def test_checksums_of_packed_files_are_compared_with_what_they_are_of(tmp_path):
    paths = write(tmp_path / "x", "hdf5", {"a": numbers("int16", 1, (4,)), "b": numbers("int32", 2, (4,))})
    for path in paths:
        ps.pack(path, path.with_suffix(""), format="tar", progress=False)
    parts = [path.with_suffix("") for path in paths]
    whole = ps.concat([ps.open(part) for part in parts])
    check_values(dict(rows(whole)), {"a": numbers("int16", 1, (4,)), "b": numbers("int32", 2, (4,))}, np.int32)
    shard = next(parts[0].glob("*.tar"))
    stored = bytearray(shard.read_bytes())
    at = stored.index(numbers("int16", 1, (4,))[1].tobytes())
    os.chmod(shard, 0o644)
    with open(shard, "r+b") as file:
        file.seek(at)
        file.write(bytes([stored[at] ^ 1]))
    broken = ps.concat([ps.open(part) for part in parts])
    with pytest.raises(ps.Error, match="CRC-32C"):
        dict(rows(broken))


def test_three_files_do_not_depend_on_their_order(tmp_path):
    sides = {"i": numbers("int8", 1), "u": numbers("uint16", 2), "w": numbers("uint32", 3)}
    for order in ("iuw", "uwi", "wiu", "wui"):
        paths = write(tmp_path / order, "hdf5", {name: sides[name] for name in order})
        check_values(outcome(paths, by_list), sides, np.dtype("int64"))
        nested = ps.concat([ps.concat([ps.open(path) for path in paths[:2]]), ps.open(paths[2])])
        check_values(dict(rows(nested)), sides, np.dtype("int64"))
    sides["v"] = numbers("uint64", 4)
    for order in ("iuv", "vui", "uvi"):
        paths = write(tmp_path / order, "hdf5", {name: sides[name] for name in order})
        check_refused(outcome(paths, by_list), [paths[order.index("i")], paths[order.index("v")]], "int8", "uint64")


def test_a_file_without_rows_has_no_say(tmp_path):
    files = {"a": np.zeros((0, 2), "float64"), "b": numbers("uint8", 1, (2,))}
    with h5py.File(tmp_path / "a.h5", "w") as h5:
        h5["__key__"], h5["x"] = np.zeros(0, "S1"), files["a"]
    write_hdf5(tmp_path / "b.h5", "b", files["b"])
    ps.open(tmp_path / "a.h5")
    check_values(outcome([tmp_path / "a.h5", tmp_path / "b.h5"], by_folder), {"b": files["b"]}, np.uint8)


# ---- Shapes ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("door", [by_folder, by_list, by_mixture, *PACKINGS], ids=lambda door: door.__name__)
@pytest.mark.parametrize("shapes", [((3, 4), (4, 3)), ((), (2, 3)), ((2, 3), (3,)), ((2, 3, 4), (3, 4))], ids=str)
def test_other_shapes_are_refused(tmp_path, shapes, door):
    for paths, _ in both_orders(tmp_path, "hdf5", *(numbers("float32", 1, shape) for shape in shapes)):
        for chain in (None, ps.array.decode(), ps.array.decode("float64"), ps.array.decode(ragged=True)):
            check_refused(outcome(paths, door, chain), paths, *map(str, shapes))


@pytest.mark.parametrize("door", [by_folder, by_list, by_mixture], ids=lambda door: door.__name__)
def test_rows_of_other_numbers_are_ragged(tmp_path, door):
    for shape in ((), (4,)):
        sides = numbers("int16", 1, (2, *shape)), numbers("int32", 2, (3, *shape))
        for paths, files in both_orders(tmp_path / str(shape), "hdf5", *sides):
            check_values(outcome(paths, door, ps.array.decode(ragged=True)), files, np.dtype("int32"))
            window = outcome(paths, door, ps.array.random_slice(2))
            assert {value.shape for value in window.values()} == {(2, *shape)}
            for chain in (None, ps.array.decode(), ps.array.decode("float32"), ps.label()):
                check_refused(outcome(paths, door, chain), paths, "(2,", "(3,")


def test_a_single_number_is_a_list_of_one(tmp_path):
    for paths, files in both_orders(tmp_path / "two", "hdf5", numbers("int16", 1), numbers("int32", 2, (2,))):
        want = {name: [np.atleast_1d(value) for value in values] for name, values in files.items()}
        found = outcome(paths, by_list, ps.array.decode(ragged=True))
        check_values(found, want, np.dtype("int32"))
        assert {value.ndim for value in found.values()} == {1}
        for chain in (None, ps.array.decode(), ps.label()):
            check_refused(outcome(paths, by_list, chain), paths, "int16 ()", "int32 (2,)")
    for paths, files in both_orders(tmp_path / "one", "hdf5", numbers("int16", 1), numbers("int32", 2, (1,))):
        found = outcome(paths, by_folder, ps.label())
        check_values(found, {name: values.reshape(-1) for name, values in files.items()}, np.dtype("int64"))


def test_bytes_of_other_lengths_are_delivered_as_they_are(tmp_path):
    for paths, files in both_orders(tmp_path, "hdf5", numbers("uint8", 1, (5,)), numbers("uint8", 2, (7,))):
        check_values(outcome(paths, by_folder), files, np.dtype("uint8"))


def test_lists_beside_rows(tmp_path):
    lists = [np.arange(size, dtype="int16") for size in (1, 4, 2)]
    for paths, files in both_orders(tmp_path / "same", "hdf5", lists, numbers("int16", 2, (3,))):
        check_values(outcome(paths, by_list, ps.array.decode(ragged=True)), files, np.dtype("int16"))
        check_refused(outcome(paths, by_list), paths, "lists", "(3,)")
    for paths, files in both_orders(tmp_path / "wide", "hdf5", lists, numbers("int64", 2, (3,))):
        check_values(outcome(paths, by_list, ps.array.decode(ragged=True)), files, np.dtype("int64"))
    for paths, files in both_orders(tmp_path / "lists", "hdf5", lists, [np.arange(2, dtype="int8")] * 3):
        check_values(outcome(paths, by_list, ps.array.decode(ragged=True)), files, np.dtype("int16"))
    for paths, _ in both_orders(tmp_path / "other", "hdf5", lists, [np.arange(2, dtype="float32")] * 3):
        check_refused(outcome(paths, by_list, ps.array.decode(ragged=True)), paths, "int16", "float32")


# ---- Text, images, and what tells itself -----------------------------------------------------------------------------


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
def test_text_beside_numbers(tmp_path, door):
    for paths, _ in both_orders(tmp_path, "hdf5", ["one", "two", "three"], numbers("int32", 1)):
        for chain in (None, ps.raw(), ps.array.decode("float32"), ps.label()):
            check_refused(outcome(paths, door, chain), paths, "txt", "int32")


def test_a_field_that_nobody_asks_for_keeps_no_other_from_being_read(tmp_path):
    for name, values in (("a", numbers("int32", 1)), ("b", numbers("float32", 2))):
        with h5py.File(tmp_path / f"{name}.h5", "w") as h5:
            h5["x"], h5["y"] = values, np.arange(3)
    dataset = ps.open(tmp_path)
    with ps.Loader(dataset, batch_size=6, workers=1, publish=False, transforms={"y": ps.array.decode()}) as loader:
        assert np.array(next(iter(loader))["y"]).tolist() == [0, 1, 2, 0, 1, 2]
    assert dataset[0].keys() == ["x", "y"] and dataset[4]["y"] == np.int64(1).tobytes()
    told = "float32 () in b.h5 and int32 () in a.h5"
    assert told in repr(dataset.fields[0])
    for read in (
        lambda: dataset[0]["x"],
        lambda: dataset.filter(lambda sample: sample["x"]),
        lambda: ps.Loader(
            dataset,
            batch_size=2,
            transforms={"y": ps.array.decode()},
            batching=ps.batching.by_length("x"),
            publish=False,
        ),
        lambda: ps.Loader(dataset, batch_size=2, transforms={"x": ps.raw()}, on_error="replace", publish=False),
    ):
        with pytest.raises(ps.Error, match="int32 .* in a.h5"):
            read()
    assert told in info(tmp_path)
    verified = run("verify", tmp_path, check=False)
    assert verified.returncode != 0 and told.encode() in verified.stdout + verified.stderr


def png(pixels):
    from PIL import Image

    out = io.BytesIO()
    Image.fromarray(pixels).save(out, "png")
    return out.getvalue()


def test_widened_pixels_are_no_image(tmp_path):
    sides = numbers("uint8", 1, (4, 4, 3)), numbers("uint16", 2, (4, 4, 3))
    for paths, files in both_orders(tmp_path, "hdf5", *sides):
        for chain in (ps.image.resize(2), ps.image.channels_last(), ps.image.center_crop(2)):
            check_refused(outcome(paths, by_folder, chain), paths, "uint8 (4, 4, 3)", "uint16 (4, 4, 3)")
        check_values(outcome(paths, by_folder, ps.array.decode()), files, np.dtype("uint16"))


def test_files_of_two_kinds_of_values_tell_themselves(tmp_path):
    pixels = numbers("uint8", 1, (4, 5, 3), 1)[0]
    for name, value in (("a", png(pixels)), ("b", png(pixels[::-1].copy()))):
        folder = tmp_path / "tars" / name
        folder.mkdir(parents=True)
        (folder / f"{name}.png").write_bytes(value)
        ps.pack(folder, tmp_path / name, progress=False)
    found = ps.concat([ps.open(tmp_path / name) for name in "ab"])
    with ps.Loader(
        found, batch_size=2, workers=1, publish=False, transforms={"png": ps.image.channels_last()}
    ) as loader:
        assert np.array_equal(np.array(next(iter(loader))["png"]), [pixels, pixels[::-1]])


@pytest.mark.parametrize("difference", [("int32", "float32", (2,), (2,)), ("int16", "int16", (2,), (3,))], ids=str)
@pytest.mark.parametrize("packing", ["folder", "tar", "zip", "lmdb"])
def test_npy_values_are_never_read_as_the_first_one(tmp_path, packing, difference):
    first, second, shape, other = difference
    for order in ("ab", "ba"):
        sides = dict(zip(order, (numbers(first, 1, shape, 1)[0], numbers(second, 2, other, 1)[0])))
        parts = []
        for name, value in sides.items():
            folder = tmp_path / order / name
            folder.mkdir(parents=True)
            np.save(folder / f"{name}.npy", value)
            if packing != "folder":
                ps.pack(folder, tmp_path / order / ("p" + name), format=packing, progress=False)
                folder = tmp_path / order / ("p" + name)
            parts.append(folder)
        dataset = ps.concat([ps.open(part) for part in parts])

        def read(chain, dataset=dataset):
            try:
                with ps.Loader(dataset, batch_size=1, workers=1, publish=False, transforms={"npy": chain}) as loader:
                    return {batch["__key__"][0]: np.array(batch["npy"][0]) for batch in loader}
            except ps.Error as error:
                return str(error)

        told = read(ps.array.decode())
        assert isinstance(told, str) and f"{first} {shape}" in told and f"{second} {other}" in told
        found = read(ps.array.decode("float64", ragged=True))
        assert all(np.array_equal(found[name], value) for name, value in sides.items())
        if first == second:
            found = read(ps.array.decode(ragged=True))
            assert all(found[name].dtype == first and np.array_equal(found[name], sides[name]) for name in sides)


# ---- TFRecord --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("door", [by_folder, by_pattern, by_list, by_mixture, PACKINGS[0]], ids=lambda d: d.__name__)
def test_a_feature_of_one_number_in_one_file_and_of_several_in_another(tmp_path, door):
    one, several = [np.int64(7), np.int64(-3)], [np.array([1, 2]), np.array([3, -(2**62)])]
    for paths, files in both_orders(tmp_path / "whole", "tfrecord", one, several):
        want = {name: [np.atleast_1d(value) for value in values] for name, values in files.items()}
        check_values(outcome(paths, door, ps.array.decode("int64", ragged=True)), want, np.dtype("int64"))
        check_values(outcome(paths, door, ps.array.decode(ragged=True)), want, np.dtype("int64"))
        check_refused(outcome(paths, door, ps.array.decode()), [], "int64 (1,)")
    floats = [np.array([0.5], "f4"), np.array([1.5], "f4")]
    for paths, files in both_orders(tmp_path / "floats", "tfrecord", one, floats):
        check_values(outcome(paths, door, ps.array.decode("float32")), files, np.dtype("float32"))
        check_refused(outcome(paths, door), [], "int64 (1,)", "float32 (1,)")


@pytest.mark.parametrize("door", [by_folder, by_list, by_mixture, PACKINGS[0]], ids=lambda door: door.__name__)
def test_a_feature_of_bytes_in_one_file_and_of_numbers_in_another(tmp_path, door):
    for name, value in (("one", [np.int64(7)] * 2), ("several", [np.array([1, 2])] * 2)):
        for paths, _ in both_orders(tmp_path / name, "tfrecord", [b"\1\2\3", b"\4"], value):
            for chain in (None, ps.array.decode(), ps.array.decode("float32")):
                check_refused(outcome(paths, door, chain), paths if door is not PACKINGS[0] or name == "one" else [])


# ---- MDS -------------------------------------------------------------------------------------------------------------


def write_mds(folder, shards):
    """Shards of {column: (encoding, values of a fixed size)}, as MDSWriter lays them out."""
    folder.mkdir(parents=True, exist_ok=True)
    listed = []
    for number, columns in enumerate(shards):
        count = len(next(iter(columns.values()))[1])
        samples = [b"".join(np.asarray(v[row]).tobytes() for _, v in columns.values()) for row in range(count)]
        data = b"{}".join([b"", b""]) + b"".join(samples)
        begin = 4 + 4 * (count + 1)
        ends = np.cumsum([begin + 2] + [len(sample) for sample in samples], dtype="<u4")
        raw = struct.pack("<I", count) + ends.tobytes() + data
        name = f"shard.{number:05}.mds"
        (folder / name).write_bytes(raw)
        listed.append(
            {
                "column_names": list(columns),
                "column_encodings": [encoding for encoding, _ in columns.values()],
                "column_sizes": [int(np.asarray(v[0]).nbytes) for _, v in columns.values()],
                "compression": None,
                "format": "mds",
                "hashes": [],
                "raw_data": {"basename": name, "bytes": len(raw), "hashes": {}},
                "samples": count,
                "size_limit": 1 << 26,
                "version": 2,
                "zip_data": None,
            }
        )
    (folder / "index.json").write_text(json.dumps({"version": 2, "shards": listed}))


@pytest.mark.parametrize("pair", [("int32", "float32"), ("int16", "int64"), ("int32", "int32")], ids=str)
def test_a_column_of_two_encodings(tmp_path, pair):
    for order in (pair, pair[::-1]):
        folder = tmp_path / "-".join(order)
        write_mds(folder, [{"x": (d, numbers(d, i)), "y": ("int", np.arange(3))} for i, d in enumerate(order)])
        dataset = ps.open(folder)
        names = [field.name for field in dataset.fields]
        if pair[0] == pair[1]:
            assert names == ["x", "y"]
            found = [value for _, value in rows(dataset)]
            assert np.array_equal(found, np.concatenate([numbers(d, i) for i, d in enumerate(order)]))
            continue
        assert names == ["y"]
        told = info(folder)
        assert all(word in told for word in (*order, "shard.00000.mds", "shard.00001.mds", "left out"))
        parts = []
        for i, dtype in enumerate(order):
            write_mds(folder / str(i), [{"x": (dtype, numbers(dtype, i))}])
            parts.append(ps.open(folder / str(i)))
        try:
            found = [value for _, value in rows(ps.concat(parts))]
            assert together(*pair) is not None and {value.dtype for value in found} == {together(*pair)}
            assert np.array_equal(
                found, np.concatenate([numbers(d, i).astype(together(*pair)) for i, d in enumerate(order)])
            )
        except ps.Error as error:
            assert together(*pair) is None and all(dtype in str(error) for dtype in pair)


# ---- One dataset per sample ------------------------------------------------------------------------------------------


def per_sample(path, values, **attributes):
    """{key: value of x}, with the field `id` in each sample."""
    with h5py.File(path, "w") as h5:
        for key, value in values.items():
            if isinstance(value, tuple):
                made = h5.create_dataset(f"{key}/x", (), h5py.vlen_dtype(value[0]))
                made[()] = np.array(value[1], value[0])
            else:
                h5[f"{key}/x"] = value
            h5[f"{key}/id"] = 1
    return ps.open(path)


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"a": "a cat", "b": np.arange(3)}, ["text in a", "int64 (3,) in b"]),
        ({"a": np.arange(3), "b": "a cat"}, ["int64 (3,) in a", "text in b"]),
        ({"a": "a cat", "b": np.float32(1)}, ["text in a", "float32 () in b"]),
        ({"a": np.array([b"ab", b"cd"]), "b": np.arange(3)}, ["a list of texts in a", "int64 (3,) in b"]),
        ({"a": np.array([b"ab", b"cd"]), "b": "ef"}, ["a list of texts in a", "text in b"]),
        ({"a": "ef", "b": np.array([b"ab", b"cd"])}, ["text in a", "a list of texts in b"]),
        ({"a": ("i4", [1, 2, 3]), "b": ("f8", [1.5])}, ["a sequence of int32 in a", "a sequence of float64 in b"]),
        ({"a": ("i4", [1, 2, 3]), "b": np.int32(1)}, ["a sequence of int32 in a", "int32 () in b"]),
        ({"a": ("i4", [1, 2, 3]), "b": "text"}, ["a sequence of int32 in a", "text in b"]),
        ({"a": np.int32(1), "b": np.float32(1)}, ["int32 () in a", "float32 () in b"]),
        ({"a": np.int32(1), "b": np.int64(1)}, ["int32 () in a", "int64 () in b"]),
        ({"a": np.int32(1), "b": np.int32(2), "c": np.uint8(1)}, ["int32 () in a", "uint8 () in c"]),
        (
            {"a": np.frombuffer(b"\xff\xd8\xff\xe0", "u1"), "b": np.ones((2, 2), "u1")},
            ["bytes in a", "uint8 (2, 2) in b"],
        ),
        ({"a": np.frombuffer(b"\xff\xd8\xff\xe0", "u1"), "b": np.arange(3)}, ["bytes in a", "int64 (3,) in b"]),
    ],
    ids=lambda value: str(value) if isinstance(value, list) else "",
)
def test_samples_whose_values_have_different_types(tmp_path, values, told):
    dataset = per_sample(tmp_path / "x.h5", values)
    assert [field.name for field in dataset.fields] == ["id"] and len(dataset) == len(values)
    left_out = info(tmp_path / "x.h5")
    assert all(text in left_out for text in ["left out     x: values of different types", *told]), left_out
    with pytest.raises(ps.Error):
        dict(rows(dataset))


def test_samples_whose_values_have_one_type(tmp_path):
    texts = per_sample(tmp_path / "texts.h5", {"a": "a", "b": np.array([b"b"]), "c": np.bytes_("c")})
    assert texts.fields[1].codec == "txt" and [texts[i]["x"] for i in range(3)] == [b"a", b"b", b"c"]
    for name, order in (("one", "ab"), ("two", "ba")):
        lists = dict(zip(order, (np.array([b"ef"]), np.array([b"ab", b"cd"]))))
        found = per_sample(tmp_path / f"{name}.h5", lists)
        assert {found[i].key: json.loads(found[i]["x"]) for i in range(2)} == {
            key: [text.decode() for text in value] for key, value in lists.items()
        }
    sequences = per_sample(tmp_path / "s.h5", {"a": ("i4", [1, 2, 3]), "b": ("i4", [4]), "c": np.array([5, 6], "i4")})
    assert {key: value.tolist() for key, value in rows(sequences, ps.array.decode(ragged=True))} == {
        "a": [1, 2, 3],
        "b": [4],
        "c": [5, 6],
    }


def test_attributes_of_samples_that_have_different_types(tmp_path):
    with h5py.File(tmp_path / "x.h5", "w") as h5:
        for number, label in enumerate(["cat", 5, "dog"]):
            h5[f"g/s{number}"] = np.arange(3)
            h5[f"g/s{number}"].attrs["label"] = label
    dataset = ps.open(tmp_path / "x.h5")
    assert "label" not in dataset[1] and [dataset[i]["label"] for i in (0, 2)] == [b"cat", b"dog"]
    told = info(tmp_path / "x.h5")
    assert "left out     label: in some samples" in told and "text in s0, int64 in s1" in told


def test_types_of_samples_in_two_files(tmp_path):
    per_sample(tmp_path / "a.h5", {"a": np.int32(1), "b": np.int32(2)})
    per_sample(tmp_path / "b.h5", {"c": "one", "d": "two"})
    with pytest.raises(ps.Error, match="int32 .* in a.h5 and txt in b.h5"):
        dict(rows(ps.open(tmp_path)))


def test_integers_beside_floats_whatever_the_chain(tmp_path):
    for paths, _ in both_orders(tmp_path, "hdf5", np.array([1.5, 2.5, 3.5], "f4"), np.array([4, 5, 6], "i4")):
        for chain in (ps.array.decode("float32"), ps.label(), ps.raw(), None):
            check_refused(outcome(paths, by_folder, chain), paths, "float32 ()", "int32 ()")
