"""Arrays of different lengths, and what pads them: beside NumPy, which reads the same files."""

import io
import json
import warnings

import numpy as np
import penstock as ps
import pytest
from command import FORMATS, run
from PIL import Image

SAMPLES = 23
KEYS = [f"{i:03}" for i in range(SAMPLES)]


def tracks_of(i):
    """Float32 (n, 3): n is 0 for the first sample, too."""
    return np.random.default_rng(i).normal(size=((i * 7) % 11, 3)).astype(np.float32)


def write_folder(folder):
    folder.mkdir()
    for i, key in enumerate(KEYS):
        rng = np.random.default_rng(1000 + i)
        np.save(folder / f"{key}.npy", tracks_of(i))
        (folder / f"{key}.tokens.txt").write_text(" ".join(str(t) for t in rng.integers(0, 50000, i % 5)) + "\n")
        (folder / f"{key}.target.txt").write_text(f"{rng.normal():.6f}\n")
        height, width = 20 + i % 7, 24 + (i * 5) % 13
        Image.fromarray(rng.integers(0, 256, (height, width, 3), np.uint8)).save(folder / f"{key}.png")
        Image.fromarray(rng.integers(0, 9, (height, width), np.uint8)).save(folder / f"{key}.seg.png")
        count = (i * 3) % 6
        corners = rng.uniform(0, 20, (count, 2, 2))
        boxes = np.concatenate([corners.min(1), corners.max(1)], 1)
        (folder / f"{key}.boxes.json").write_text(json.dumps(boxes.tolist()))
        (folder / f"{key}.labels.json").write_text(json.dumps(list(range(100 * i, 100 * i + count))))
        lines = [f"{a},{b:.4f}" for a, b in zip(range(i % 4), rng.normal(size=i % 4))]
        (folder / f"{key}.table.csv").write_text("class,score\n" + "\n".join(lines) + "\n")
    return folder


@pytest.fixture(name="folder", scope="module")
def folder_fixture(tmp_path_factory):
    return write_folder(tmp_path_factory.mktemp("ragged") / "samples")


def number(key):
    return KEYS.index(key)


def stored(folder, key, field):
    path = folder / f"{key}.{field}"
    if field == "npy":
        return np.load(path)
    if field.endswith("json"):
        return np.array(json.loads(path.read_text()))
    skip = 1 if field.endswith("csv") else 0
    delimiter = "," if field.endswith("csv") else None
    text = "".join(path.read_text().splitlines(keepends=True)[skip:])
    return np.loadtxt(io.StringIO(text), delimiter=delimiter, ndmin=2) if text.strip() else np.empty((0, 1))


FIELDS = {
    "npy": ps.array.decode(ragged=True),
    "tokens.txt": ps.array.decode("int64", ragged=True, shape=()),
    "target.txt": ps.array.decode("float32"),
    "labels.json": ps.array.decode("int32", ragged=True),
    "table.csv": ps.array.decode("float64", ragged=True, shape=2),
}


def check_rows(folder, batch):
    for row, key in enumerate(batch["__key__"]):
        np.testing.assert_array_equal(np.asarray(batch["npy"][row]), stored(folder, key, "npy"))
        np.testing.assert_array_equal(np.asarray(batch["tokens.txt"][row]), stored(folder, key, "tokens.txt").ravel())
        assert np.asarray(batch["target.txt"])[row] == np.float32(float((folder / f"{key}.target.txt").read_text()))
        np.testing.assert_array_equal(np.asarray(batch["labels.json"][row]), stored(folder, key, "labels.json").ravel())
        np.testing.assert_array_equal(
            np.asarray(batch["table.csv"][row]), stored(folder, key, "table.csv").reshape(-1, 2)
        )


def values_of(batch):
    told = {}
    for name, value in batch.items():
        if isinstance(value, ps.Ragged):
            told[name] = [np.array(value[row]).tolist() for row in range(len(value))]
        else:
            told[name] = value if isinstance(value, list) else np.array(value).tolist()
    return told


def test_rows_are_what_numpy_reads(folder):
    seen = []
    for batch in ps.Loader(folder, batch_size=4, shuffle=True, seed=5, workers=2, transforms=FIELDS):
        assert batch["npy"].values.shape[1:] == (3,) and batch["npy"].values.dtype == "float32"
        assert batch["tokens.txt"].values.dtype == "int64" and batch["labels.json"].values.dtype == "int32"
        assert batch["table.csv"].values.shape[1:] == (2,) and batch["target.txt"].shape == (len(batch["__key__"]),)
        check_rows(folder, batch)
        seen += batch["__key__"]
    assert sorted(seen) == KEYS


@pytest.mark.parametrize("format", FORMATS)
def test_every_packing_gives_the_same_rows(folder, tmp_path, format):
    ps.pack(folder, tmp_path / "packed", format=format, shard_size=20000, progress=False)
    options = dict(batch_size=5, shuffle=True, seed=2, workers=2, transforms=FIELDS | PADDED | OWN_SIZE)
    for here, there in zip(ps.Loader(folder, **options), ps.Loader(tmp_path / "packed", **options), strict=True):
        check_rows(folder, there)
        assert values_of(here) == values_of(there)


PADDED = {
    "longest": ps.field("tokens.txt") | ps.array.decode("int64", ragged=True, shape=()) | ps.pad(value=-100),
    "longest.mask": ps.follow("longest") | ps.valid_mask(),
    "longest.lengths": ps.follow("longest") | ps.lengths(),
    "fours": ps.field("npy") | ps.array.decode(ragged=True) | ps.pad(multiple_of=4, value=-1.5),
    "fours.mask": ps.follow("fours") | ps.valid_mask(),
    "fixed": ps.field("npy") | ps.array.decode(ragged=True) | ps.array.cast("float16") | ps.pad(12),
    "fixed.mask": ps.follow("fixed") | ps.valid_mask(),
    "cut": ps.field("npy") | ps.array.decode(ragged=True) | ps.pad(3, value=7, longer="truncate"),
    "cut.mask": ps.follow("cut") | ps.valid_mask(),
    "cut.lengths": ps.follow("cut") | ps.lengths(),
    "text": ps.field("table.csv") | ps.raw() | ps.pad(multiple_of=16),
    "text.lengths": ps.follow("text") | ps.lengths(),
    "npy.lengths": ps.follow("npy") | ps.lengths(),
    "npy": FIELDS["npy"],
}

OWN_SIZE = {
    "png": ps.image.decode(ragged=True)
    | ps.image.random_horizontal_flip()
    | ps.image.normalize((0.5,) * 3, (0.5,) * 3),
    "seg.png": ps.follow("png"),
    "boxes.json": ps.follow("png") | ps.boxes(),
}


def padded(rows, length, value, dtype, item=()):
    out = np.full((len(rows), length, *item), value, dtype)
    for row, array in enumerate(rows):
        out[row, : len(array)] = array[:length]
    return out


def test_padding_and_masks_are_what_numpy_makes(folder):
    for batch in ps.Loader(folder, batch_size=6, shuffle=True, seed=9, workers=2, transforms=PADDED):
        keys = batch["__key__"]
        tokens = [stored(folder, key, "tokens.txt").ravel() for key in keys]
        tracks = [stored(folder, key, "npy") for key in keys]
        longest = max(len(row) for row in tokens)
        np.testing.assert_array_equal(np.asarray(batch["longest"]), padded(tokens, longest, -100, np.int64))
        np.testing.assert_array_equal(
            np.asarray(batch["longest.mask"]), np.arange(longest) < [[len(row)] for row in tokens]
        )
        assert batch["longest.mask"].dtype == "bool" and batch["longest.lengths"].dtype == "int64"
        assert batch["longest.lengths"].tolist() == [len(row) for row in tokens]
        fours = -(-max(len(row) for row in tracks) // 4) * 4
        np.testing.assert_array_equal(np.asarray(batch["fours"]), padded(tracks, fours, -1.5, np.float32, (3,)))
        np.testing.assert_array_equal(
            np.asarray(batch["fours.mask"]), np.arange(fours) < [[len(row)] for row in tracks]
        )
        np.testing.assert_array_equal(np.asarray(batch["fixed"]), padded(tracks, 12, 0, np.float16, (3,)))
        np.testing.assert_array_equal(np.asarray(batch["fixed.mask"]), np.arange(12) < [[len(row)] for row in tracks])
        np.testing.assert_array_equal(
            np.asarray(batch["cut"]), padded([row[:3] for row in tracks], 3, 7, np.float32, (3,))
        )
        assert batch["cut.lengths"].tolist() == [min(3, len(row)) for row in tracks]
        np.testing.assert_array_equal(np.asarray(batch["cut.mask"]), np.arange(3) < [[len(row)] for row in tracks])
        texts = [np.frombuffer((folder / f"{key}.table.csv").read_bytes(), np.uint8) for key in keys]
        np.testing.assert_array_equal(
            np.asarray(batch["text"]), padded(texts, -(-max(map(len, texts)) // 16) * 16, 0, np.uint8)
        )
        assert batch["text.lengths"].tolist() == [len(row) for row in texts]
        assert batch["npy.lengths"].tolist() == [len(row) for row in tracks]


def test_images_keep_sizes_of_their_own_and_masks_have_their_images(folder):
    flips = 0
    for batch in ps.Loader(
        folder,
        batch_size=5,
        shuffle=True,
        seed=1,
        workers=2,
        transforms=OWN_SIZE | {"plain": ps.field("png") | ps.image.decode(ragged=True) | ps.image.channels_last()},
    ):
        assert batch["png"].shapes.shape == (len(batch["__key__"]), 3) and batch["png"].values.dtype == "float32"
        for row, key in enumerate(batch["__key__"]):
            pixels = np.asarray(Image.open(folder / f"{key}.png"))
            mask = np.asarray(Image.open(folder / f"{key}.seg.png"))
            np.testing.assert_array_equal(np.asarray(batch["plain"][row]), pixels)
            found = np.round((np.asarray(batch["png"][row]) * 0.5 + 0.5) * 255).astype(np.uint8).transpose(1, 2, 0)
            flipped = not np.array_equal(found, pixels)
            flips += flipped
            np.testing.assert_array_equal(found, pixels[:, ::-1] if flipped else pixels)
            np.testing.assert_array_equal(np.asarray(batch["seg.png"][row]), mask[:, ::-1] if flipped else mask)
            assert batch["png"].shapes.tolist()[row] == [3, *pixels.shape[:2]]
    assert 0 < flips < SAMPLES


CROPPED = {
    "png": ps.image.random_crop(16),
    "boxes.json": ps.follow("png") | ps.boxes(min_size=3, min_visibility=0.3),
    "labels.json": ps.follow("boxes.json") | ps.array.decode("int64", ragged=True),
    "all": ps.field("boxes.json") | ps.follow("png") | ps.boxes(),
    "padded": ps.field("labels.json")
    | ps.follow("boxes.json")
    | ps.array.decode("int64", ragged=True)
    | ps.pad(value=-1),
    "count": ps.follow("boxes.json") | ps.lengths(),
    "mask": ps.follow("padded") | ps.valid_mask(),
}


def test_labels_lose_the_items_that_boxes_lose(folder):
    dropped = 0
    for batch in ps.Loader(folder, batch_size=4, shuffle=True, seed=3, workers=2, transforms=CROPPED):
        for row, key in enumerate(batch["__key__"]):
            before = stored(folder, key, "boxes.json").reshape(-1, 4)
            after = np.asarray(batch["all"][row]).astype(np.float64)
            width, height = after[:, 2] - after[:, 0], after[:, 3] - after[:, 1]
            whole = (before[:, 2] - before[:, 0]) * (before[:, 3] - before[:, 1])
            kept = np.flatnonzero((width >= 3) & (height >= 3) & (width * height >= 0.3 * whole))
            np.testing.assert_array_equal(np.asarray(batch["boxes.json"][row]), np.asarray(batch["all"][row])[kept])
            labels = stored(folder, key, "labels.json").ravel().astype(np.int64)[kept]
            np.testing.assert_array_equal(np.asarray(batch["labels.json"][row]), labels)
            assert np.asarray(batch["count"])[row] == len(kept)
            np.testing.assert_array_equal(np.asarray(batch["padded"])[row, : len(kept)], labels)
            assert (
                np.asarray(batch["mask"])[row].sum() == len(kept)
                and (np.asarray(batch["padded"])[row, len(kept) :] == -1).all()
            )
            dropped += len(before) - len(kept)
    assert dropped > 10


def everything():
    return (
        FIELDS
        | PADDED
        | OWN_SIZE
        | {
            f"crop.{name}" if name in OWN_SIZE else name: chain
            for name, chain in {
                "view": ps.field("png") | ps.image.random_crop(16),
                "view.boxes": ps.field("boxes.json") | ps.follow("view") | ps.boxes(min_size=3),
                "view.labels": ps.field("labels.json")
                | ps.follow("view.boxes")
                | ps.array.decode(ragged=True)
                | ps.pad(8),
            }.items()
        }
    )


@pytest.mark.parametrize(
    "options",
    [
        {"workers": 1},
        {"workers": 3, "prefetch": 4},
        {"cache": ps.CacheOptions("encoded", limit=1 << 22)},
        {"cache": ps.CacheOptions("decoded", limit=1 << 22)},
        {"device": "host"},
        {"device": "host", "device_options": ps.DeviceOptions(finish_on="device")},
        {"read_options": ps.ReadOptions(engine="pread")},
        {"on_error": "replace"},
        {"on_error": "mark"},
        {"memory_options": ps.MemoryOptions(max_items=5000)},
    ],
)
def test_batches_do_not_depend_on_options(folder, options):
    fields = everything()
    if "device_options" in options and options["device_options"].finish_on == "device":
        fields["view"] = ps.field("png") | ps.image.random_resized_crop(16) | ps.image.normalize((0.5,) * 3, (0.5,) * 3)
    plain = ps.Loader(folder, batch_size=4, shuffle=True, seed=11, transforms=fields)
    other = ps.Loader(folder, batch_size=4, shuffle=True, seed=11, transforms=fields, **options)
    for _ in range(2):
        for here, there in zip(plain, other, strict=True):
            assert values_of(here) == values_of(there)


def test_any_batch_is_built_again_and_states_go_on(folder):
    options = dict(batch_size=4, shuffle=True, seed=4, workers=2, transforms=everything())
    loader = ps.Loader(folder, **options)
    batches = [values_of(batch) for batch in loader]
    assert values_of(loader.at(0, 3)) == batches[3]
    again = ps.Loader(folder, **options)
    iterator = iter(again)
    next(iterator), next(iterator)
    state = json.loads(json.dumps(again.state_dict()))
    resumed = ps.Loader(folder, **options)
    resumed.load_state_dict(state)
    assert [values_of(batch) for batch in resumed] == batches[2:]


def test_ranks_share_an_epoch(folder):
    rows = []
    for rank in range(3):
        for batch in ps.Loader(folder, batch_size=2, shuffle=True, seed=4, rank=rank, world_size=3, transforms=FIELDS):
            check_rows(folder, batch)
            rows += [key for key, valid in zip(batch["__key__"], batch["__valid__"].tolist()) if valid]
    assert sorted(rows) == KEYS


def broken(tmp_path, name, text, field="tokens.txt"):
    folder = write_folder(tmp_path / name)
    (folder / f"007.{field}").write_text(text)
    return folder


BAD = [
    ("labels.json", "[[1], [2, 3]]", "different lengths"),
    ("labels.json", "[1, 2.5]", "2.5, does not fit int32"),
    ("labels.json", "[1, 5000000000]", "5000000000, does not fit int32"),
    ("labels.json", "[[1, 2]]", "items int32 (2,), but"),
    ("labels.json", "3", "single number"),
    ("labels.json", '{"a": 1}', "an object cannot be read as a number"),
    ("tokens.txt", "1 2 nan", 'line 1, column 3: "nan" is not a finite number'),
    ("tokens.txt", "1 2\nthree", 'line 2, column 1: "three"'),
    ("tokens.txt", "1,,2", "column 2 is empty"),
    ("table.csv", "class,score\n1,2\n3,4,5", "line 3 has 3 numbers, but the lines before it have 2"),
    ("table.csv", "class,score\n1,2,3", "lines of 3 numbers"),
    ("target.txt", "1e400", "not a finite number"),
    ("target.txt", "1e300", "does not fit float32"),
    ("target.txt", "1 2", "float32 (2,)"),
]


@pytest.mark.parametrize(("field", "text", "cause"), BAD)
def test_errors_name_sample_field_and_cause(tmp_path, field, text, cause):
    folder = broken(tmp_path, "bad", text, field)
    with pytest.raises(ps.Error) as raised:
        list(ps.Loader(folder, batch_size=4, transforms={field: FIELDS[field]}))
    assert raised.value.key == "007" and raised.value.field == field and cause in str(raised.value)


def test_a_dtype_that_differs_is_an_error_unless_one_is_named(folder, tmp_path):
    other = write_folder(tmp_path / "other")
    np.save(other / "007.npy", tracks_of(7).astype(np.float64))
    with pytest.raises(ps.Error, match="items float64 .3,., but the output's are float32 .3,."):
        list(ps.Loader(other, batch_size=4, transforms={"npy": ps.array.decode(ragged=True)}))
    named = ps.Loader(other, batch_size=SAMPLES, transforms={"npy": ps.array.decode("float32", ragged=True)})
    whole = ps.Loader(folder, batch_size=SAMPLES, transforms={"npy": ps.array.decode(ragged=True)})
    assert values_of(next(iter(named))) == values_of(next(iter(whole)))


def test_rows_marked_bad_are_empty(tmp_path):
    folder = broken(tmp_path, "marked", "what?")
    fields = {name: chain for name, chain in PADDED.items() if name.startswith("longest")} | {
        "tokens.txt": FIELDS["tokens.txt"],
        "fixed": ps.field("tokens.txt") | FIELDS["tokens.txt"] | ps.pad(9, value=-1),
        "fixed.mask": ps.follow("fixed") | ps.valid_mask(),
    }
    for batch in ps.Loader(folder, batch_size=8, on_error="mark", max_errors=1.0, transforms=fields):
        for row, key in enumerate(batch["__key__"]):
            assert batch["__valid__"].tolist()[row] == (key != "007")
            if key == "007":
                assert len(batch["tokens.txt"][row]) == 0 and batch["longest.lengths"].tolist()[row] == 0
                assert set(batch["longest"].tolist()[row]) == {-100} and not any(batch["longest.mask"].tolist()[row])
                assert batch["fixed"].tolist()[row] == [-1] * 9 and not any(batch["fixed.mask"].tolist()[row])


def test_samples_without_the_field_have_empty_rows_where_that_is_asked_for(tmp_path):
    folder = write_folder(tmp_path / "missing")
    for key in ("003", "008", "021"):
        for field in ("boxes.json", "labels.json", "tokens.txt"):
            (folder / f"{key}.{field}").unlink()
    fields = (
        CROPPED
        | {name: chain for name, chain in PADDED.items() if name.startswith("longest")}
        | {
            "raw": ps.field("tokens.txt") | ps.raw(),
            "fixed": ps.field("tokens.txt") | FIELDS["tokens.txt"] | ps.pad(5, value=-1),
            "fixed.lengths": ps.follow("fixed") | ps.lengths(),
        }
    )
    for options in ({}, {"on_error": "replace"}, {"cache": ps.CacheOptions("encoded", limit=1 << 22)}):
        loader = ps.Loader(
            folder,
            batch_size=3,
            shuffle=True,
            missing="empty",
            memory_options=ps.MemoryOptions(max_live_batches=16),
            transforms=fields,
            **options,
        )
        for _ in range(2):
            for batch in loader:
                for row, key in enumerate(batch["__key__"]):
                    gone = key in ("003", "008", "021")
                    tokens = [] if gone else stored(folder, key, "tokens.txt").ravel().tolist()
                    assert batch["raw"][row].tobytes() == (b"" if gone else (folder / f"{key}.tokens.txt").read_bytes())
                    assert batch["longest.lengths"].tolist()[row] == batch["fixed.lengths"].tolist()[row] == len(tokens)
                    assert batch["fixed"].tolist()[row] == tokens + [-1] * (5 - len(tokens))
                    if gone:
                        assert len(batch["labels.json"][row]) == 0 and batch["count"].tolist()[row] == 0


def test_lengths_that_differ_from_the_boxes_are_an_error(tmp_path):
    folder = broken(tmp_path, "unequal", "[1]", "labels.json")
    with pytest.raises(ps.Error, match="has 1 items, but the output that it follows has 3") as raised:
        list(ps.Loader(folder, batch_size=4, transforms=CROPPED))
    assert raised.value.key == "007" and raised.value.field == "labels.json"


def write_texts(folder, texts, field="words.txt"):
    folder.mkdir()
    for i, text in enumerate(texts):
        (folder / f"{i}.{field}").write_text(text)
    return folder


@pytest.mark.parametrize(
    "chain",
    [
        ps.array.decode("float32"),
        ps.array.decode("float32", ragged=True),
        ps.array.decode(ragged=True),
        ps.array.decode(ragged=True, shape=()),
    ],
)
def test_words_are_told_as_words_also_where_the_first_text_is_empty(tmp_path, chain):
    folder = write_texts(tmp_path / "words", ["", "hello", "world"])
    with pytest.raises(ps.Error, match='line 1, column 1: "hello" is not a finite number') as raised:
        ps.Loader(folder, batch_size=2, transforms={"words.txt": chain})
    assert raised.value.key == "1" and raised.value.field == "words.txt"


def test_texts_that_are_all_empty_are_not_told_to_be_missing(tmp_path):
    folder = write_texts(tmp_path / "empty", ["", "", ""])
    with pytest.raises(ps.Error, match="no value of this field contains a number"):
        ps.Loader(folder, batch_size=2, transforms={"words.txt": ps.array.decode("float32")})
    batch = next(
        iter(ps.Loader(folder, batch_size=2, transforms={"words.txt": ps.array.decode("float32", ragged=True)}))
    )
    assert [len(row) for row in batch["words.txt"]] == [0, 0] and batch["words.txt"].values.dtype == "float32"


@pytest.mark.parametrize(("field", "cause"), [("npy", "npy"), ("png", "png"), ("json", "json")])
def test_an_empty_file_is_told_as_broken_where_no_other_can_be_read(tmp_path, field, cause):
    folder = write_texts(tmp_path / "none", ["", "x"], field)
    with pytest.raises(ps.Error, match=cause) as raised:
        ps.Loader(folder, batch_size=2, transforms={field: ps.image.decode() if field == "png" else ps.array.decode()})
    assert "no sample has this field" not in str(raised.value) and raised.value.key == "0"


def test_a_warning_tells_of_labels_that_stay_while_their_boxes_go(folder):
    image = {"png": ps.image.random_crop(16)}
    boxes = ps.follow("png") | ps.boxes(min_size=1)
    labels = ps.array.decode("int64", ragged=True)
    with pytest.warns(
        UserWarning, match=r'"boxes.json" drops boxes, but "labels.json" keeps all its items.*ps.follow\("boxes.json"\)'
    ) as told:
        ps.Loader(folder, transforms={**image, "labels.json": labels, "boxes.json": boxes})
    assert len(told) == 1 and told[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ps.Loader(folder, transforms={**image, "labels.json": ps.follow("boxes.json") | labels, "boxes.json": boxes})
        ps.Loader(folder, transforms={**image, "labels.json": labels, "boxes.json": ps.follow("png") | ps.boxes()})
        ps.Loader(folder, transforms={**image, "target.txt": ps.array.decode("float32"), "boxes.json": boxes})


def test_longer_rows_than_a_length_are_an_error_unless_they_are_cut(folder):
    with pytest.raises(ps.Error, match=r"has 10 items, more than pad\(9\); pass longer=\"truncate\""):
        list(ps.Loader(folder, batch_size=4, transforms={"npy": FIELDS["npy"] | ps.pad(9)}))


@pytest.mark.parametrize(
    ("fields", "cause"),
    [
        ({"png": ps.image.random_crop(16) | ps.pad(3)}, "use image.pad() to add pixels"),
        ({"target.txt": ps.array.decode("float32") | ps.pad(3)}, "array.decode(ragged=True) before it"),
        ({"target.txt": ps.array.decode()}, 'is text: array.decode("float32") reads the numbers in it'),
        ({"target.txt": ps.array.cast("int64")}, 'is text: array.decode("int64") reads the numbers in it'),
        ({"table.csv": ps.array.cast("float32")}, 'is text: array.decode("float32") reads the numbers in it'),
        (
            {
                "npy": FIELDS["npy"] | ps.pad(300, value=float(1 << 20)),
                "labels.json": ps.array.decode("uint8", ragged=True) | ps.pad(9, value=-1),
            },
            "does not fit uint8",
        ),
        ({"npy": FIELDS["npy"], "mask": ps.follow("npy") | ps.valid_mask()}, "does not end with pad"),
        ({"png": ps.image.random_crop(16), "mask": ps.follow("png") | ps.valid_mask()}, "has no items"),
        (
            {"png": ps.image.random_crop(16), "labels.json": ps.follow("png") | ps.array.decode(ragged=True)},
            "has no items",
        ),
        ({"npy": ps.array.decode(ragged=True) | ps.array.random_slice(2)}, "cannot be combined with ragged=True"),
        ({"npy": FIELDS["npy"] | ps.pad() | ps.array.cast("float16")}, "must come before"),
        ({"npy": ps.lengths()}, "must come after follow"),
        ({"png": ps.image.decode(ragged=True) | ps.pad()}, "images of different sizes"),
        ({"png": ps.array.decode(ragged=True)}, "images"),
        ({"npy": ps.array.decode("float16", ragged=True) | ps.array.cast("float32")}, "already sets a dtype"),
    ],
)
def test_what_does_not_fit_is_told_before_a_thread_starts(folder, fields, cause):
    with pytest.raises(ps.Error) as raised:
        ps.Loader(folder, batch_size=2, transforms=fields)
    assert cause in str(raised.value), str(raised.value)


@pytest.mark.parametrize(
    ("make", "cause"),
    [
        (lambda: ps.array.decode(shape=3), "ragged=True"),
        (lambda: ps.pad(3, multiple_of=2), "cannot be combined with multiple_of"),
        (lambda: ps.pad(longer="truncate"), "requires a length"),
        (lambda: ps.pad(-1), "length"),
        (lambda: ps.pad(longer="cut"), "truncate"),
        (lambda: ps.boxes(min_visibility=2), "min_visibility"),
        (lambda: ps.array.decode("number"), "unknown dtype"),
        (lambda: ps.pad(value=float("nan")), "finite"),
    ],
)
def test_wrong_arguments_are_told_where_they_are_written(make, cause):
    with pytest.raises((ps.Error, TypeError), match=cause):
        make()


@pytest.mark.parametrize(
    "chain",
    [
        ps.array.decode("float32"),
        ps.array.decode("int64", ragged=True, shape=()),
        ps.array.decode(ragged=True, shape=(4, 2)),
        ps.array.decode() | ps.array.cast("uint8"),
        ps.pad(),
        ps.pad(512, value=-100, longer="truncate"),
        ps.pad(multiple_of=8),
        ps.follow("a") | ps.boxes(min_size=1, min_area=2.5, min_visibility=0.1),
        ps.follow("a") | ps.lengths(),
        ps.follow("a") | ps.valid_mask(),
        ps.image.decode(ragged=True),
    ],
)
def test_chains_read_back_as_they_print(chain):
    import pickle

    assert repr(pickle.loads(pickle.dumps(chain))) == repr(chain)


def test_chains_of_before_print_as_before():
    assert repr(ps.array.decode()) == "array.decode()" and repr(ps.follow("a") | ps.boxes()) == "follow(a) | boxes()"
    assert repr(ps.image.decode()) == "image.decode()"


@pytest.mark.parametrize("offset", [-1, 10**15])
def test_offsets_that_a_program_wrote_over_lead_nowhere(folder, offset):
    batch = next(iter(ps.Loader(folder, batch_size=4, transforms={"npy": ps.array.decode(ragged=True)})))
    batch["npy"].offsets.numpy()[2] = offset
    with pytest.raises(ValueError, match="row 1 .* offsets or shapes were changed"):
        batch["npy"][1]
    assert batch["npy"][3].shape[1:] == (3,)


def test_shapes_that_a_program_wrote_over_lead_nowhere(folder):
    batch = next(iter(ps.Loader(folder, batch_size=4, transforms={"png": ps.image.decode(ragged=True)})))
    assert batch["png"][1].shape[0] == 3
    for sizes in ([3, 2**40, 2**40], [-3, -20, 25]):
        batch["png"].shapes.numpy()[1] = sizes
        with pytest.raises(ValueError, match="row 1 .* offsets or shapes were changed"):
            batch["png"][1]


def test_own_functions_get_ragged_and_padded_rows(folder):
    fields = {
        "npy": FIELDS["npy"] | ps.transform(lambda row: np.float64(row.sum())),
        "lengths": ps.field("npy") | FIELDS["npy"] | ps.transform(lambda row: np.int64(len(row))),
        "padded": ps.field("npy") | FIELDS["npy"] | ps.pad(11) | ps.transform(lambda row: np.int64(len(row))),
    }
    for batch in ps.Loader(folder, batch_size=4, transforms=fields):
        for row, key in enumerate(batch["__key__"]):
            assert batch["lengths"][row] == len(stored(folder, key, "npy")) and batch["padded"][row] == 11
            assert batch["npy"][row] == stored(folder, key, "npy").sum()


def corner(row):
    return row[:20, :24]


def corners(image, mask):
    return {"image": image[:, :20, :24], "mask": mask[:20, :24]}


@pytest.mark.parametrize("processes", [0, 2])
def test_own_functions_get_images_of_their_own_sizes_and_make_them_alike(folder, processes):
    fields = {
        "png": ps.image.decode(ragged=True) | ps.image.channels_last() | ps.transform(corner),
        "pair": ps.field("png") | ps.image.decode(ragged=True),
        "seg.png": ps.follow("pair"),
    }
    both = ps.sample_transform(corners, {"pair": "image", "seg.png": "mask"})
    for batch in ps.Loader(folder, batch_size=4, transforms=fields, sample_transform=both, python_workers=processes):
        for row, key in enumerate(batch["__key__"]):
            pixels = np.asarray(Image.open(folder / f"{key}.png"))[:20, :24]
            np.testing.assert_array_equal(np.asarray(batch["png"])[row], pixels)
            np.testing.assert_array_equal(np.asarray(batch["pair"])[row], pixels.transpose(2, 0, 1))
            mask = np.asarray(Image.open(folder / f"{key}.seg.png"))[:20, :24]
            np.testing.assert_array_equal(np.asarray(batch["seg.png"])[row], mask)


def test_mixing_leaves_ragged_and_padded_rows_alone_and_refuses_images_of_their_own_sizes(folder, tmp_path):
    mixed = write_folder(tmp_path / "mixed")
    for i, key in enumerate(KEYS):
        (mixed / f"{key}.cls").write_text(str(i % 3))
    image = ps.image.random_resized_crop(16) | ps.image.normalize((0.5,) * 3, (0.5,) * 3)
    fields = {
        "npy": FIELDS["npy"],
        "padded": PADDED["fours"],
        "mask": ps.follow("padded") | ps.valid_mask(),
        "cls": ps.label(),
    }
    options = dict(batch_size=6, shuffle=True, seed=2, mix=[ps.mixup(0.2, num_classes=3)])
    plain = ps.Loader(mixed, batch_size=6, shuffle=True, seed=2, transforms={"png": image} | fields)
    for here, there in zip(plain, ps.Loader(mixed, transforms={"png": image} | fields, **options), strict=True):
        for name in ("npy", "padded", "mask", "__key__"):
            assert values_of(here)[name] == values_of(there)[name]
    with pytest.raises(ps.Error, match="images of different sizes, which cannot be mixed"):
        ps.Loader(mixed, transforms={"png": OWN_SIZE["png"]} | fields, **options)


def test_boxes_of_one_line_are_rows(tmp_path):
    """YOLO's files: a box a line, one box alone too."""
    folder = tmp_path / "yolo"
    folder.mkdir()
    for i in range(6):
        (folder / f"{i}.txt").write_text("".join(f"{j} 0.5 0.25 {i} 1e-3\n" for j in range((i + 1) % 3)))
    batch = next(iter(ps.Loader(folder, batch_size=6, transforms={"txt": ps.array.decode("float32", ragged=True)})))
    for i in range(6):
        wanted = np.array([[j, 0.5, 0.25, i, 1e-3] for j in range((i + 1) % 3)], np.float32).reshape(-1, 5)
        np.testing.assert_array_equal(np.asarray(batch["txt"][i]), wanted)


def test_a_loader_of_only_empty_values_takes_the_item_that_is_named(tmp_path):
    folder = tmp_path / "empty"
    folder.mkdir()
    for i in range(4):
        (folder / f"{i}.json").write_text("[]")
    batch = next(
        iter(ps.Loader(folder, batch_size=4, transforms={"json": ps.array.decode("float32", ragged=True, shape=4)}))
    )
    assert batch["json"].values.shape == (0, 4) and batch["json"].offsets.tolist() == [0] * 5
    batch = next(iter(ps.Loader(folder, batch_size=4, transforms={"json": ps.array.decode(ragged=True) | ps.pad()})))
    assert batch["json"].shape == (4, 0)


def test_torch_gets_pairs_lists_and_nested_tensors(folder, monkeypatch):
    torch = pytest.importorskip("torch")
    fields = {
        "npy": FIELDS["npy"],
        "tokens.txt": FIELDS["tokens.txt"],
        "png": OWN_SIZE["png"],
        "padded": PADDED["fours"],
        "mask": ps.follow("padded") | ps.valid_mask(),
    }
    fields["padded"] = PADDED["fours"]
    for batch in ps.torch.Loader(folder, batch_size=5, transforms=fields):
        keys = batch["__key__"]
        values, offsets = batch["npy"]
        rows = ps.torch.rows(batch["npy"])
        jagged = ps.torch.nested(batch["npy"])
        assert (
            values.dtype == torch.float32 and offsets.dtype == torch.int64 and jagged.shape[0] == len(keys) == len(rows)
        )
        assert jagged.values().data_ptr() == values.data_ptr() and torch.equal(jagged.offsets(), offsets)
        for row, key in enumerate(keys):
            np.testing.assert_array_equal(rows[row].numpy(), stored(folder, key, "npy"))
            np.testing.assert_array_equal(jagged[row].numpy(), stored(folder, key, "npy"))
            assert (
                isinstance(batch["png"], list)
                and batch["png"][row].shape[1:] == np.asarray(Image.open(folder / f"{key}.png")).shape[:2]
            )
        assert torch.equal(batch["padded"][batch["mask"]], values)
    batch = next(iter(ps.Loader(folder, batch_size=5, transforms=fields)))
    assert torch.equal(ps.torch.nested(batch["npy"]).values(), torch.from_dlpack(batch["npy"].values))
    with pytest.raises(ValueError, match="rows()"):
        ps.torch.nested(batch["png"])
    monkeypatch.delattr(torch.nested, "nested_tensor_from_jagged")
    with pytest.raises(RuntimeError, match="newer PyTorch"):
        ps.torch.nested(batch["npy"])


def test_the_command_tells_of_ragged_rows(folder):
    chains = [
        "npy=array.decode(ragged=True)",
        "png=image.decode(ragged=True)",
        "mask=follow(padded) | valid_mask()",
        "padded=field(npy) | array.decode(ragged=True) | pad(multiple_of=4)",
    ]
    words = [word for chain in chains for word in ("--fields", chain)]
    told = run("inspect", folder, "--batch", "1", "--row", "2", "--batch-size", "4", *words).stdout.decode()
    assert "(9, 3)" in told and "(3, 26, 28)" in told and "(12, 3)" in told, told
