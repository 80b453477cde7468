"""ps.token_blocks(): blocks are those that docs/spec/tokens.md defines, computed by a model written from that page alone."""

import json
import os
import random
import re
import struct

import numpy as np
import order_model
import penstock as ps
import pytest
import tokens_model
from command import run
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from resuming import Epochs, goes_on, positions

CODES = {np.uint8: 1, np.int8: 2, np.int16: 3, np.int32: 4, np.int64: 5, np.uint16: 8}


def documents_of(lengths, dtype=np.uint16, seed=0):
    """Tokens that are told apart: consecutive numbers from a start drawn for each document."""
    most = int(np.iinfo(dtype).max)
    draw = random.Random(seed)
    return [((draw.randrange(most) + np.arange(n)) % most).astype(dtype) for n in lengths]


def write_megatron(path, documents, dtype=np.uint16, sequences=1, gap=0):
    """Documents as NAME.bin and NAME.idx, each in as many sequences, with unused bytes between them."""
    lengths, pointers, bounds, data = [], [], [0], b""
    for document in documents:
        for part in np.array_split(np.asarray(document, dtype), sequences):
            lengths.append(len(part))
            pointers.append(len(data))
            data += part.tobytes() + b"\xee" * gap
        bounds.append(len(lengths))
    path.with_suffix(".bin").write_bytes(data)
    header = b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, CODES[dtype], len(lengths), len(bounds))
    tables = (
        np.array(lengths, "<i4").tobytes() + np.array(pointers, "<i8").tobytes() + np.array(bounds, "<i8").tobytes()
    )
    path.with_suffix(".idx").write_bytes(header + tables)
    return path.with_suffix(".idx")


def write_npy(folder, documents):
    folder.mkdir()
    for i, document in enumerate(documents):
        np.save(folder / f"{i:05}.npy", document)
    return folder


def delivered(blocks, field, **options):
    """All rows of an epoch, in the order of blocks, by field; ragged ones as lists."""
    got = {}
    for batch in ps.Loader(blocks, batch_size=7, workers=1, **options):
        for name in (field, "positions", "segment_ids", "cu_lengths"):
            if name not in batch:
                continue
            ragged = name == "cu_lengths"
            assert str((batch[name].values if ragged else batch[name]).dtype) == ("int64" if name == field else "int32")
            rows = batch[name] if ragged else batch[name].numpy()
            got.setdefault(name, []).extend(np.asarray(row).tolist() for row in rows)
    return got


def check(blocks, model, field="tokens"):
    got = delivered(blocks, field)
    assert len(blocks) == len(model)
    for name, rows in got.items():
        told = model.tokens if name == field else getattr(model, name)
        assert rows == [told(block) for block in range(len(model))], name
    assert set(got) == {spec.name for spec in blocks.fields}


LENGTHS = [5, 0, 130, 1, 64, 63, 65, 200, 0, 3, 17, 300, 64, 2, 9, 128]
EVERYTHING = ["positions", "segment_ids", "cu_lengths"]


@pytest.mark.parametrize("end", [None, 60000])
@pytest.mark.parametrize("seed", [None, 0, 7])
@pytest.mark.parametrize(
    "options",
    [{"last": "drop"}, {"last": "pad", "pad": 9}, {"packing": "best_fit", "window": 5}, {"packing": "best_fit"}],
)
@pytest.mark.parametrize("length", [1, 7, 64, 1000])
def test_blocks_are_those_of_the_page(tmp_path, length, options, seed, end):
    documents = documents_of(LENGTHS)
    dataset = ps.open(write_megatron(tmp_path / "corpus", documents, sequences=2))
    model = tokens_model.Blocks(documents, length, end=end, shuffle_documents=seed, **options)
    if not model:
        return
    check(ps.token_blocks(dataset, length, end=end, shuffle_documents=seed, add=EVERYTHING, **options), model)


@settings(
    max_examples=int(os.environ.get("PENSTOCK_EXAMPLES", "60")), deadline=None, suppress_health_check=list(HealthCheck)
)
@given(
    st.lists(st.integers(0, 90), min_size=1, max_size=60),
    st.integers(1, 40),
    st.integers(1, 70),
    st.booleans(),
    st.one_of(st.none(), st.integers(0, 5)),
)
def test_every_token_comes_once_and_padding_is_little(tmp_path_factory, lengths, length, window, shuffled, end):
    if sum(lengths) == 0:
        return
    folder = tmp_path_factory.mktemp("tokens")
    documents = documents_of(lengths)
    dataset = ps.open(write_megatron(folder / "corpus", documents))
    order = 5 if shuffled else None
    more = sum(n > 0 for n in lengths) if end is not None else 0
    cut = ps.token_blocks(dataset, length, last="pad", pad=65535, end=end, shuffle_documents=order)
    check(cut, tokens_model.Blocks(documents, length, last="pad", pad=65535, end=end, shuffle_documents=order))
    wanted = sorted([int(t) for d in documents for t in d] + [end] * more)
    rows = [t for row in delivered(cut, "tokens")["tokens"] for t in row]
    assert sorted(rows[: len(wanted)]) == wanted and set(rows[len(wanted) :]) <= {65535}
    assert len(cut) == -(-len(wanted) // length)

    packed = ps.token_blocks(dataset, length, packing="best_fit", window=window, end=end, shuffle_documents=order)
    model = tokens_model.Blocks(documents, length, "best_fit", window=window, end=end, shuffle_documents=order)
    check(packed, model)
    got = delivered(packed, "tokens")
    filled = [t for row, ids in zip(got["tokens"], got["segment_ids"]) for t, k in zip(row, ids) if k]
    assert sorted(filled) == wanted
    for block in model.blocks:  # what fits into a block stands in one
        for segment in block:
            n = len(model.documents[segment.position])
            assert segment.count == length or segment.count == n % length
    # No more blocks than best fit with as many open bins as there are documents takes, on the same documents.
    ends = [len(d) for d in model.documents]
    for begin in range(0, len(ends), window):
        part = ends[begin : begin + window]
        online = sum(n // length for n in part) + len(
            tokens_model.best_fit_bins([(0, n % length) for n in part if n % length], length)
        )
        own = [b for b in model.blocks if begin <= b[0].position < begin + window]
        assert len(own) <= online


@pytest.fixture(name="corpus", scope="module")
def corpus_fixture(tmp_path_factory):
    draw = random.Random(2)
    documents = documents_of([draw.randrange(0, 90) for _ in range(300)], seed=3)
    return ps.open(write_megatron(tmp_path_factory.mktemp("corpus") / "corpus", documents)), documents


@pytest.mark.parametrize("packing", ["cut", "best_fit"])
def test_states_go_on_from_anywhere_with_any_world(corpus, packing):
    dataset, documents = corpus
    options = {"packing": packing, "shuffle_documents": 4}
    blocks = tokens_model.Blocks(documents, 32, **options)
    order = order_model.One(len(blocks), shuffle=True, seed=11)
    model = Epochs(order, lambda epoch, position: (blocks.tokens(order.sample_at(epoch, position)),))

    def loader_of(**more):  # of blocks made anew, as after a crash
        return ps.Loader(ps.token_blocks(dataset, 32, **options), shuffle=True, seed=11, workers=1, **more)

    def rows_of(batch):
        return list(zip(batch["tokens"].numpy().tolist(), batch["__valid__"].tolist()))

    for draw in positions(packing):
        goes_on(draw, model, loader_of, rows_of)


def test_a_state_of_other_blocks_is_refused(corpus):
    dataset, _ = corpus
    ways = [
        {},
        {"shuffle_documents": 1},
        {"end": 1},
        {"packing": "best_fit"},
        {"packing": "best_fit", "window": 10},
        {"last": "pad"},
        {"last": "pad", "pad": 1},
    ]
    for one in ways:
        blocks = ps.token_blocks(dataset, 32, add=[], **one)
        loader = ps.Loader(blocks.take(50), batch_size=4)
        next(iter(loader))
        for other in ways:
            fresh = ps.Loader(ps.token_blocks(dataset, 32, add=[], **other).take(50), batch_size=4)
            if other == one:
                fresh.load_state_dict(loader.state_dict())
            else:
                with pytest.raises(ps.Error, match="dataset"):
                    fresh.load_state_dict(loader.state_dict())


def packings(tmp_path, documents):
    """The same documents in other packings: (dataset, field)."""
    arrays = write_npy(tmp_path / "npy", documents)
    yield ps.open(arrays), "npy", {}
    for kind in ("tar", "lmdb", "zip", "tfrecord", "mds", "hdf5"):
        ps.pack(arrays, tmp_path / f"packed.{kind}", format=kind)
        yield ps.open(tmp_path / f"packed.{kind}"), "npy", {}
    (tmp_path / "flat").mkdir()
    for i, document in enumerate(documents):
        (tmp_path / "flat" / f"{i:05}.bin").write_bytes(document.tobytes())
    yield ps.open(tmp_path / "flat"), "bin", {"dtype": "uint16"}
    ps.pack(tmp_path / "flat", tmp_path / "flat.tar", format="tar")
    yield ps.open(tmp_path / "flat.tar"), "bin", {"dtype": np.uint16}


@pytest.mark.parametrize("options", [{"last": "pad"}, {"packing": "best_fit"}])
def test_any_packing_gives_the_same_blocks(tmp_path, options):
    documents = documents_of([n for n in LENGTHS if n], seed=9)
    model = tokens_model.Blocks(documents, 48, **options)
    for dataset, field, how in packings(tmp_path, documents):
        check(ps.token_blocks(dataset, 48, field=field, **how, **options), model, field)


def test_tokens_of_two_dtypes_do_not_mix(tmp_path):
    folder = tmp_path / "both"
    folder.mkdir()
    small = write_megatron(folder / "small", documents_of([8]), np.uint16)
    wide = write_megatron(folder / "wide", documents_of([8], np.int32), np.int32)
    for together in (
        lambda: ps.concat([small, wide]),
        lambda: ps.concat([wide, small]),
        lambda: ps.open(folder),
        lambda: ps.mixture({"a": small, "b": wide}),
    ):
        with pytest.raises(ps.Error, match="holds tokens of u?int[0-9]+ here and of u?int[0-9]+ before"):
            together()


def test_a_folder_of_pairs_has_keys_of_its_own_and_is_packed(tmp_path):
    folder = tmp_path / "pairs"
    folder.mkdir()
    for name in "ab":
        write_megatron(folder / name, documents_of([3, 4, 5]))
    dataset = ps.open(folder)
    assert list(dataset.keys) == ["a/0", "a/1", "a/2", "b/0", "b/1", "b/2"]
    ps.pack(folder, tmp_path / "packed", format="tar")
    assert list(ps.open(tmp_path / "packed").keys) == list(dataset.keys)


def test_lengths_of_tokens_are_counted_in_tokens(tmp_path):
    idx = write_megatron(tmp_path / "corpus", documents_of([10, 20, 30, 40]))
    for dataset in (ps.open(idx), ps.open(idx).take(4)):
        loader = ps.Loader(dataset, batch_size=4, batching=ps.batching.by_length("tokens", pool=4, budget=40))
        assert sum(len(batch["__key__"]) for batch in loader) == 4
    with pytest.raises(ps.Error, match="40, is more than budget=39"):
        ps.Loader(ps.open(idx), batch_size=4, batching=ps.batching.by_length("tokens", budget=39))


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int16, np.int32, np.int64, np.uint16])
def test_any_integers(tmp_path, dtype):
    documents = documents_of([5, 70, 33], dtype)
    if np.iinfo(dtype).min < 0:
        documents[1] = -documents[1]
    model = tokens_model.Blocks(documents, 20)
    check(ps.token_blocks(write_megatron(tmp_path / "corpus", documents, dtype), 20), model)
    check(ps.token_blocks(write_npy(tmp_path / "npy", documents), 20, field="npy"), model, "npy")


def test_views_of_blocks_are_views(corpus, tmp_path):
    dataset, documents = corpus
    blocks = ps.token_blocks(dataset, 32)
    model = tokens_model.Blocks(documents, 32)
    both = ps.concat(
        [blocks.take(3), ps.token_blocks(dataset, 32, packing="best_fit", add=[]), blocks.skip(len(blocks) - 2)]
    )
    packed = tokens_model.Blocks(documents, 32, "best_fit")
    wanted = [model.tokens(b) for b in range(3)] + [packed.tokens(b) for b in range(len(packed))]
    wanted += [model.tokens(len(model) - 2), model.tokens(len(model) - 1)]
    assert delivered(both, "tokens")["tokens"] == wanted
    assert len(set(both.keys)) == len(both)
    assert both[1].key == blocks.keys[1] and blocks.find(blocks.keys[5]) == 5

    few = ps.token_blocks(dataset.filter(lambda sample: sample.number % 3 == 0), 32)
    check(few, tokens_model.Blocks(documents[::3], 32))
    parts = blocks.split({"train": 0.8, "val": 0.2})
    assert sum(map(len, parts.values())) == len(blocks)

    twice = ps.token_blocks(blocks, 48)  # blocks are documents too
    flat = [t for b in range(len(model)) for t in model.tokens(b)]
    assert delivered(twice, "tokens")["tokens"] == [flat[at : at + 48] for at in range(0, len(flat) - 47, 48)]

    everything = ps.token_blocks(dataset, 32, packing="best_fit", add=EVERYTHING)
    ps.pack(everything, tmp_path / "blocks.tar", format="tar")
    check(ps.open(tmp_path / "blocks.tar"), packed)
    ps.pack(blocks, tmp_path / "cut.tar", format="tar")
    copy = ps.open(tmp_path / "cut.tar")
    loader = ps.Loader(blocks, batch_size=5, shuffle=True)
    next(iter(loader))
    other = ps.Loader(copy, batch_size=5, shuffle=True)
    other.load_state_dict(loader.state_dict())
    assert next(iter(other))["tokens"].numpy().tolist() == loader.at(loader.epoch, 1)["tokens"].numpy().tolist()


def test_blocks_in_mixtures_caches_and_chains(corpus):
    dataset, documents = corpus
    blocks, shuffled = ps.token_blocks(dataset, 32), ps.token_blocks(dataset, 32, shuffle_documents=1)
    models = [tokens_model.Blocks(documents, 32), tokens_model.Blocks(documents, 32, shuffle_documents=1)]
    known = {tuple(model.tokens(b)): s for s, model in enumerate(models) for b in range(len(model))}
    mixture = ps.mixture({"a": blocks, "b": shuffled}, {"a": 3, "b": 1})
    for batch in itertools_first(ps.Loader(mixture, batch_size=8, shuffle=True), 5):
        for row, source in zip(batch["tokens"].numpy().tolist(), batch["__source__"].tolist()):
            assert known[tuple(row)] == source
    plain = delivered(blocks, "tokens")
    assert all(delivered(blocks, "tokens", cache=kind) == plain for kind in ("encoded", "decoded"))
    small = next(iter(ps.Loader(blocks, batch_size=4, transforms={"tokens": ps.array.cast("int32")})))
    assert str(small["tokens"].dtype) == "int32" and small["tokens"].numpy().tolist() == plain["tokens"][:4]
    stored = next(iter(ps.Loader(blocks, batch_size=2, transforms={"tokens": ps.raw()})))
    assert np.asarray(stored["tokens"][0]).view(np.uint16).tolist() == plain["tokens"][0]
    for engine in ("pread", "mmap", "io_uring"):
        assert delivered(blocks, "tokens", read_options=ps.ReadOptions(engine=engine)) == plain


def itertools_first(batches, count):
    for _, batch in zip(range(count), batches):
        yield batch


def test_documents_are_ragged_int64(corpus):
    dataset, documents = corpus
    batch = next(iter(ps.Loader(dataset, batch_size=4)))
    assert [np.asarray(row).tolist() for row in batch["tokens"]] == [d.tolist() for d in documents[:4]]
    assert str(batch["tokens"].values.dtype) == "int64"


def test_the_hint_of_whole_documents_counts_what_stands_in_front_of_tokens(tmp_path):
    for i in range(8):
        np.save(tmp_path / f"{i}.npy", np.zeros(4 * i + 1, np.uint16))
    dataset = ps.open(tmp_path)
    for end in (None, 5):
        with pytest.raises(ps.Error) as told:
            ps.token_blocks(dataset, 13, field="npy", packing="best_fit", documents="whole", end=end)
        most = re.search(r'leave them out with filter\(lengths=\{"npy": \(None, (\d+)\)\}\)', told.value.cause)
        short = dataset.filter(lengths={"npy": (None, int(most[1]))})
        assert len(short) == (4 if end is None else 3)
        ps.token_blocks(short, 13, field="npy", packing="best_fit", documents="whole", end=end)


def test_documents_are_shuffled_by_a_seed_alone(corpus):
    for seed in (True, False, "x", 2.5, -1):
        with pytest.raises(TypeError, match="shuffle_documents must be .*a whole number of 0 or more"):
            ps.token_blocks(corpus[0], 8, shuffle_documents=seed)


def test_the_command_tells_the_dtype_that_is_stored(corpus):
    path = corpus[0].path
    told = json.loads(run("info", path, "--json").stdout)
    assert [(field["codec"], field["dtype"]) for field in told["fields"]] == [("tokens", "uint16")]
    assert re.search(r"codec +tokens uint16\n", run("info", path).stdout.decode())
    shown = run("inspect", path).stdout.decode()
    assert re.search(r"stored .*, tokens uint16 \(\d+,\)", shown)


def refused(match, *arguments, **options):
    with pytest.raises(ps.Error, match=match) as caught:
        ps.token_blocks(*arguments, **options)
    return caught.value


def test_what_makes_no_blocks_is_refused(corpus, tmp_path):
    dataset, documents = corpus
    total = sum(map(len, documents))
    assert refused("must be at least 1", dataset, 0).kind == "invalid_argument"
    refused("length must be 0 or more, not -1", dataset, -1)
    refused(f"longer than the {total:,} tokens of the dataset", dataset, total + 1)
    assert len(ps.token_blocks(dataset, total + 1, last="pad")) == 1
    assert "its fields are tokens" in refused('there is no field "text"', dataset, 8, field="text").cause
    refused("holds uint16, not int32", dataset, 8, dtype="int32")
    refused("tokens are integers", dataset, 8, dtype="float32")
    refused('unknown dtype "uint17"', dataset, 8, dtype="uint17")
    refused("end is 70000, but the dtype of the stored tokens, uint16,", dataset, 8, end=70000)
    refused("pad is -1, but the dtype of the stored tokens, uint16,", dataset, 8, pad=-1, last="pad")
    refused('pad with packing "cut" requires last="pad"', dataset, 8, pad=5)
    refused('window requires packing "best_fit"', dataset, 8, window=5)
    refused("window must be between", dataset, 8, packing="best_fit", window=0)
    refused('"best_fit"; "cut" cuts documents', dataset, 8, documents="whole")
    refused('last requires packing "cut"', dataset, 8, packing="best_fit", last="pad")
    for word in ("packing", "last", "documents"):
        refused(word, dataset, 8, **{word: "other"})
    refused("add", dataset, 8, add=["masks"])
    with pytest.raises(TypeError, match="a list of names"):
        ps.token_blocks(dataset, 8, add="positions")
    error = refused("more than a block of 80", dataset, 80, packing="best_fit", documents="whole")
    assert error.key == dataset.keys[next(i for i, d in enumerate(documents) if len(d) > 80)]
    short = dataset.filter(lengths={"tokens": (None, 160)})
    check(
        ps.token_blocks(short, 80, packing="best_fit", documents="whole"),
        tokens_model.Blocks([d for d in documents if len(d) <= 80], 80, "best_fit"),
    )

    empty = write_megatron(tmp_path / "empty", [[], []])
    refused("contains no tokens: all 2 documents are empty", empty, 8)


def test_documents_that_are_no_lists_of_integers_are_refused(tmp_path):
    def saved(name, *arrays):
        return write_npy(tmp_path / name, arrays)

    refused("holds float32, but tokens are integers", saved("float", np.zeros(4, "f4")), 2, field="npy")
    refused("holds bool", saved("bool", np.zeros(4, bool)), 2, field="npy")
    refused(r"has shape \(2, 2\)", saved("square", np.zeros(4, "i4"), np.zeros((2, 2), "i4")), 2, field="npy")
    error = refused(
        "holds int64, but the first document holds int32",
        saved("mixed", np.zeros(4, "i4"), np.zeros(4, "i8")),
        2,
        field="npy",
    )
    assert error.key == "00001" and error.field == "npy"
    refused("big-endian", saved("big", np.zeros(4, ">i4")), 2, field="npy")
    cut = saved("short", np.zeros(4, "i4"), np.zeros(40, "i4"))
    (cut / "00001.npy").write_bytes((cut / "00001.npy").read_bytes()[:-3])
    assert refused("157 bytes follow the header, which declares 160", cut, 2, field="npy").key == "00001"

    folder = tmp_path / "bytes"
    folder.mkdir()
    (folder / "a.bin").write_bytes(b"12345")
    np.save(folder / "b.npy", np.zeros(3, "i4"))
    (folder / "a.txt").write_text("text")
    refused("the dtype of the stored tokens is unknown", folder, 2, field="bin")
    assert (
        refused(
            "5 bytes are not a whole number of uint16",
            ps.open(folder).filter(has="bin"),
            2,
            field="bin",
            dtype="uint16",
        ).key
        == "a"
    )
    lacking = refused("lacks the field", folder, 2, field="bin", dtype="uint16")
    assert lacking.key == "b" and 'filter(has="bin")' in lacking.cause
    refused("its values are txt", ps.open(folder), 2, field="txt")


def test_headers_of_any_length(tmp_path):
    documents = documents_of([30, 40, 50])
    folder = write_npy(tmp_path / "npy", documents)
    array = documents[1]
    with open(folder / "00001.npy", "wb") as file:  # a header longer than the first look
        text = f"{{'descr': '<u2', 'fortran_order': False, 'shape': ({len(array)},), }}".ljust(999) + "\n"
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + array.tobytes())
    check(ps.token_blocks(folder, 16, field="npy"), tokens_model.Blocks(documents, 16), "npy")


def test_megatron_files_are_opened_by_any_name(tmp_path):
    documents = documents_of(LENGTHS)
    index = write_megatron(tmp_path / "corpus", documents, sequences=3, gap=4)
    model = tokens_model.Blocks(documents, 64)
    for path in (index, index.with_suffix(".bin"), tmp_path):
        dataset = ps.open(path)
        assert dataset.format == "megatron" and len(dataset) == len(documents)
        check(ps.token_blocks(dataset, 64), model)
    write_megatron(tmp_path / "second", documents[:3])
    check(ps.token_blocks(tmp_path, 64), tokens_model.Blocks(documents + documents[:3], 64))
    assert ps.open(tmp_path)[2]["tokens"] == documents[2].tobytes()
    ps.stage(index, tmp_path / "staged")
    check(ps.token_blocks(tmp_path / "staged", 64), model)


def test_damaged_megatron_files_are_told(tmp_path):
    documents = documents_of([5, 9, 2])
    index = write_megatron(tmp_path / "corpus", documents)
    good, data = index.read_bytes(), index.with_suffix(".bin").read_bytes()
    lengths, pointers, bounds = 34, 34 + 3 * 4, 34 + 3 * 12

    def opened(change, match, offset):
        index.write_bytes(bytes(change))
        with pytest.raises(ps.Error, match=match) as caught:
            ps.open(index)
        assert caught.value.offset == offset and "corpus.idx" in str(caught.value)

    def put(at, text):
        return good[:at] + text + good[at + len(text) :]

    opened(good[:20], "ends inside its header", 20)
    opened(put(9, struct.pack("<Q", 2)), "has version 2", 9)
    opened(put(17, b"\x06"), "floating-point", 17)
    opened(put(17, b"\x63"), "dtype 99", 17)
    opened(put(18, struct.pack("<Q", 2**62)), "ends early", 18)
    opened(put(26, struct.pack("<Q", 2**62)), "ends early", 26)
    opened(put(26, struct.pack("<Q", 1)), "24 bytes follow", len(good) - 24)
    opened(good[:-1], "ends early", 26)
    opened(good + b"\0\0\0", "modes", len(good))
    opened(put(lengths + 4, struct.pack("<i", -1)), "sequence 1 has -1 tokens", lengths + 4)
    opened(put(pointers + 8, struct.pack("<q", -4)), "at byte -4", pointers + 8)
    opened(put(pointers + 16, struct.pack("<q", 30)), "sequence 2 has 4 bytes at byte 30", pointers + 16)
    whole = put(lengths, struct.pack("<iii", 16, 16, 16))
    whole = whole[:pointers] + bytes(24) + struct.pack("<qqqq", 0, 1, 2, 3)
    assert len(whole) == len(good)
    index.write_bytes(whole)
    assert [len(sample["tokens"]) for sample in ps.open(index)] == [32] * 3  # of one file each
    opened(whole[:bounds] + struct.pack("<qqqq", 0, 0, 1, 3), "document 2 has more than the 32 bytes", pointers + 16)
    opened(put(bounds, struct.pack("<q", 1)), "document 0 begins at sequence 1", bounds)
    opened(put(bounds + 8, struct.pack("<q", 7)), "document 1 begins at sequence 7", bounds + 8)
    opened(put(bounds + 24, struct.pack("<q", 2)), "document 3 begins at sequence 2", bounds + 24)
    index.write_bytes(good)
    index.with_suffix(".bin").write_bytes(data[:-1])
    with pytest.raises(ps.Error, match="its data file, which has 31"):
        ps.open(index)
    index.with_suffix(".bin").unlink()
    with pytest.raises(ps.Error, match=r"corpus\.bin"):
        ps.open(index)
