"""missing= by output: policies and numbers for samples without a field, and __present__, which marks the others."""

import itertools
import json

import numpy as np
import own_functions
import penstock as ps
import pytest
from PIL import Image

SAMPLES = 20
FIELDS = {
    "jpg": ps.image.random_crop(6) | ps.image.random_horizontal_flip(),
    "mask": ps.field("png") | ps.follow("jpg"),
    "cls": ps.label(),
    "npy": ps.array.decode(),
}
NUMBERS = {"mask": 255, "cls": -100, "npy": float("nan")}


def has(field, i):
    return {"png": i % 3 != 1, "cls": i % 4 != 2, "npy": i % 5 != 3, "txt": i % 2 == 0}.get(field, True)


@pytest.fixture(name="folder", scope="module")
def folder_fixture(tmp_path_factory):
    """Photographs; only some have masks, labels, arrays and texts."""
    folder = tmp_path_factory.mktemp("missing")
    draws = np.random.default_rng(1)
    for i in range(SAMPLES):
        Image.fromarray(draws.integers(0, 256, (9, 10, 3), np.uint8)).save(folder / f"{i:03}.jpg")
        if has("png", i):
            Image.fromarray(draws.integers(0, 200, (9, 10), np.uint8)).save(folder / f"{i:03}.png")
        if has("cls", i):
            (folder / f"{i:03}.cls").write_text(str(i))
        if has("npy", i):
            np.save(folder / f"{i:03}.npy", np.full(3, i, np.float32))
        if has("txt", i):
            (folder / f"{i:03}.txt").write_text("word" * i)
    return folder


def rows_of(loader):
    """{key: {output: (value, whether it is marked present)}} of one epoch."""
    rows = {}
    for batch in loader:
        marks = batch["__present__"]
        for row, key in enumerate(batch["__key__"]):
            rows[int(key)] = {o: (np.asarray(batch[o])[row], bool(np.asarray(marks[o])[row])) for o in marks}
    return rows


def check_numbers(rows):
    for i, outputs in rows.items():
        mask, label, array = outputs["mask"], outputs["cls"], outputs["npy"]
        assert mask[1] == has("png", i) and (mask[0] == 255).all() == (not has("png", i))
        assert label[1] == has("cls", i) and label[0] == (i if has("cls", i) else -100)
        assert array[1] == has("npy", i) and np.isnan(array[0]).all() == (not has("npy", i))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"cache": "encoded"},
        {"cache": "decoded"},
        {"read_options": ps.ReadOptions(engine="pread"), "workers": 3},
        {"device": "host"},
        {"on_error": "mark"},
        {"on_error": "replace"},
        {"batch_transform": own_functions.same},
    ],
)
def test_numbers_fill_the_rows_of_samples_without_the_field(folder, options):
    loader = ps.Loader(folder, batch_size=6, shuffle=True, transforms=FIELDS, missing=NUMBERS, **options)
    for _ in range(2):
        rows = rows_of(loader)
        assert len(rows) == SAMPLES
        check_numbers(rows)


def test_marks_are_delivered_as_validity_is(folder):
    batch = next(iter(ps.Loader(folder, batch_size=4, transforms=FIELDS, missing=NUMBERS)))
    assert list(batch) == ["jpg", "mask", "cls", "npy", "__key__", "__valid__", "__present__"]
    assert list(batch["__present__"]) == ["mask", "cls", "npy"]
    mask = batch["__present__"]["mask"]
    assert type(mask) is type(batch["__valid__"]) and mask.dtype == "bool"
    assert mask.tolist() == [True, False, True, True]
    assert "__present__ {mask: bool (4,), cls: bool (4,), npy: bool (4,)}" in repr(batch)
    assert "__present__" in batch._repr_html_()
    assert np.from_dlpack(mask).tolist() == [True, False, True, True]
    assert "__present__" not in next(iter(ps.Loader(folder, batch_size=4, transforms={"jpg": FIELDS["jpg"]})))


def test_marks_become_torch_tensors(folder):
    torch = pytest.importorskip("torch")
    batch = next(iter(ps.torch.Loader(folder, batch_size=4, transforms=FIELDS, missing=NUMBERS)))
    assert batch["__present__"]["cls"].dtype == torch.bool and batch["__present__"]["cls"].tolist() == [1, 1, 0, 1]
    options = {"batch_size": 4, "transforms": FIELDS, "missing": NUMBERS}
    for labels, marks in ps.torch.Loader(folder, as_tuple=("cls", "__present__"), **options):
        assert ((labels != -100) == marks["cls"]).all()


def test_marks_go_to_jax(folder):
    jax = pytest.importorskip("jax")
    batch = next(iter(ps.Loader(folder, batch_size=4, transforms=FIELDS, missing=NUMBERS)))
    assert jax.numpy.from_dlpack(batch["__present__"]["cls"]).tolist() == [True, True, False, True]


def test_states_resume_with_filled_rows(folder):
    options = {"batch_size": 3, "shuffle": True, "seed": 4, "transforms": FIELDS, "missing": NUMBERS}
    loader = ps.Loader(folder, **options)
    batches = iter(loader)
    first = list(itertools.islice(batches, 2))
    state = json.loads(json.dumps(loader.state_dict()))
    rest = [(batch["__key__"], batch["cls"].tolist(), batch["__present__"]["mask"].tolist()) for batch in batches]
    again = ps.Loader(folder, **options)
    again.load_state_dict(state)
    made = [(batch["__key__"], batch["cls"].tolist(), batch["__present__"]["mask"].tolist()) for batch in again]
    assert made == rest and len(first) + len(rest) == 7
    rebuilt = again.at(0, 1)
    assert rebuilt["__present__"]["cls"].tolist() == first[1]["__present__"]["cls"].tolist()
    told = again.explain(0, 0, 0)
    assert set(told["outputs"]) >= {"jpg"}


def test_ranks_that_pad_mark_repeated_rows_as_their_sample(folder):
    seen = []
    for rank in range(3):
        options = {"rank": rank, "world_size": 3, "last_batch": "pad", "transforms": FIELDS, "missing": NUMBERS}
        for batch in ps.Loader(folder, batch_size=4, **options):
            for key, valid, mark in zip(
                batch["__key__"], batch["__valid__"].tolist(), batch["__present__"]["cls"].tolist()
            ):
                assert mark == has("cls", int(key))
                seen += [int(key)] if valid else []
    assert sorted(seen) == list(range(SAMPLES))


def test_words_and_numbers_are_combined_by_output(folder):
    fields = {"jpg": FIELDS["jpg"], "cls": ps.label(), "npy": ps.array.decode()}
    rows = rows_of(ps.Loader(folder, transforms=fields, missing={"cls": -1, "*": "exclude"}))
    assert sorted(rows) == [i for i in range(SAMPLES) if has("npy", i)]
    assert all(set(outputs) == {"cls"} for outputs in rows.values())
    loader = ps.Loader(folder, transforms=fields, missing={"cls": "exclude", "npy": 0})
    assert sorted(rows_of(loader)) == [i for i in range(SAMPLES) if has("cls", i)]
    assert loader.stats()["excluded_samples"] == sum(not has("cls", i) for i in range(SAMPLES))
    with pytest.raises(ps.Error, match=r"no field for output 'npy'.*missing=\{\"npy\": 0\} fills"):
        ps.Loader(folder, transforms=fields, missing={"cls": -1})


@pytest.mark.parametrize("missing", [-1, {"*": -1}, {"*": np.int64(-1)}, {"*": np.float32(-1)}])
def test_one_number_fills_all_outputs_that_can_have_it(folder, missing):
    rows = rows_of(ps.Loader(folder, transforms={"cls": ps.label(), "npy": ps.array.decode()}, missing=missing))
    assert all(rows[i]["cls"][0] == -1 for i in range(SAMPLES) if not has("cls", i))
    assert all((rows[i]["npy"][0] == -1).all() for i in range(SAMPLES) if not has("npy", i))
    with pytest.raises(ps.Error, match="output 'mask'.*missing = -1: its rows are uint8, which cannot represent"):
        ps.Loader(folder, transforms={"jpg": FIELDS["jpg"], "mask": FIELDS["mask"]}, missing=missing)


def test_ragged_rows_are_empty_and_marked(folder):
    fields = {"txt": ps.raw(), "npy": ps.array.decode(ragged=True), "count": ps.follow("npy") | ps.lengths()}
    for batch in ps.Loader(folder, batch_size=7, transforms=fields, missing="empty"):
        assert list(batch["__present__"]) == ["txt", "npy"]
        for row, key in enumerate(map(int, batch["__key__"])):
            assert batch["__present__"]["txt"].tolist()[row] == has("txt", key)
            assert len(batch["txt"][row]) == (4 * key if has("txt", key) else 0)
            assert batch["count"].tolist()[row] == (3 if has("npy", key) else 0)


@pytest.mark.parametrize(
    "output, rows, told",
    [
        ("mask", -100, r'missing\["mask"\] = -100: its rows are uint8, which cannot represent the number'),
        ("cls", 0.5, r'missing\["cls"\] = 0.5: its rows are int64'),
        ("cls", 1 << 70, "more than 64 bits"),
        ("txt", 0, 'differ in length or size, as those of text.*use "empty"'),
        ("cls", "empty", "only rows of items can be empty"),
        ("cls", "no", r'missing\["cls"\] must be "raise", "exclude", "empty" or a number, not "no"'),
        ("msk", 255, 'missing: "msk" is not an output; did you mean "mask"'),
        ("jpg", 0, 'missing\\["mask"\\] = "raise": it follows "jpg"'),
    ],
)
def test_what_does_not_fit_is_an_error(folder, output, rows, told):
    with pytest.raises(ps.Error, match=told):
        ps.Loader(folder, transforms=FIELDS | {"txt": ps.raw()}, missing={output: rows})


@pytest.mark.parametrize("missing", [True, [1], {"cls": None}, {"cls": [1]}, {3: 0}, b"raise", object()])
def test_values_of_another_type_are_an_error(folder, missing):
    with pytest.raises(TypeError, match="missing"):
        ps.Loader(folder, transforms=FIELDS, missing=missing)


def test_reserved_names_are_no_outputs(folder):
    with pytest.raises(ps.Error, match="__present__ is reserved"):
        ps.Loader(folder, transforms={"__present__": ps.field("cls") | ps.label()})


def test_sources_of_a_mixture_may_lack_different_fields(folder, tmp_path):
    for i in range(8):
        Image.new("RGB", (9, 9), (i, i, i)).save(tmp_path / f"{100 + i}.jpg")  # no masks, labels or arrays at all
    mixture = ps.mixture({"some": ps.open(folder), "none": ps.open(tmp_path)}, {"some": 1, "none": 1}, stop=24)
    sources = set()
    for batch in ps.Loader(mixture, batch_size=6, shuffle=True, transforms=FIELDS, missing=NUMBERS):
        for row, key in enumerate(map(int, batch["__key__"])):
            sources.add(key >= 100)
            there = key < 100 and has("png", key)
            assert batch["__present__"]["mask"].tolist()[row] == there
            assert (np.asarray(batch["mask"])[row] == 255).all() == (not there)
            assert batch["cls"].tolist()[row] == (key if key < 100 and has("cls", key) else -100)
    assert sources == {True, False}


def test_views_and_packed_datasets_are_filled(folder, tmp_path):
    ps.pack(folder, tmp_path / "tar", format="tar", progress=False)
    for dataset in (ps.open(tmp_path / "tar"), ps.open(folder).skip(3).take(9), ps.open(folder).select(range(5, 15))):
        rows = rows_of(ps.Loader(dataset, batch_size=4, transforms=FIELDS, missing=NUMBERS))
        assert len(rows) == len(dataset)
        check_numbers(rows)


def test_windows_have_their_own_rule(tmp_path):
    for i in range(6):
        np.save(tmp_path / f"a-{i}.npy", np.full(2, i, np.float32))
        if i % 2 == 0:
            (tmp_path / f"a-{i}.cls").write_text(str(i))
    window = ps.window("npy", offsets=range(-1, 1), edge="pad")
    fields = {"clip": window | ps.array.decode(), "cls": ps.label()}
    with pytest.raises(ps.Error, match=r'missing\["clip"\] = 0: its rows are windows'):
        ps.Loader(tmp_path, transforms=fields, missing={"clip": 0, "cls": -1})
    for missing in ({"cls": -1}, -1):
        (batch,) = ps.Loader(tmp_path, transforms=fields, missing=missing, batch_size=6)
        assert batch["cls"].tolist() == [0, -1, 2, -1, 4, -1]
        assert list(batch["__present__"]) == ["cls"]
        assert batch["__present__"]["cls"].tolist() == [True, False] * 3


def test_a_shape_that_no_sample_shows_is_an_error(folder):
    dataset = ps.open(folder).select([i for i in range(SAMPLES) if not has("npy", i)])
    with pytest.raises(ps.Error, match='output "npy"'):
        ps.Loader(dataset, transforms={"npy": ps.array.decode()}, missing={"npy": 0})


# ---- own functions of a program


@pytest.mark.parametrize("workers", [0, 2])
def test_functions_do_not_see_rows_without_the_field(folder, workers):
    fields = {"mask": FIELDS["mask"] | ps.transform(own_functions.as_float), "jpg": FIELDS["jpg"], "cls": ps.label()}
    missing = {"mask": -1.5, "cls": -100}
    plain = rows_of(ps.Loader(folder, transforms=FIELDS, missing=NUMBERS))
    for first in (0, 1):  # sample 1 has no mask, so the batch's first row does not show the shape
        dataset = ps.open(folder).skip(first)
        loader = ps.Loader(dataset, batch_size=7, transforms=fields, missing=missing, python_workers=workers)
        for _ in range(2):
            rows = rows_of(loader)
            assert sorted(rows) == list(range(first, SAMPLES))
            for i, outputs in rows.items():
                value, mark = outputs["mask"]
                assert mark == has("png", i) and value.dtype == np.float32
                assert (value == -1.5).all() if not mark else value.shape == plain[i]["mask"][0].shape
        loader.close()


@pytest.mark.parametrize("workers", [0, 2])
def test_a_function_of_several_outputs_gets_zeros(folder, workers):
    step = ps.sample_transform(own_functions.flipped_sideways, {"jpg": "image", "mask": "mask"})
    fields = {"jpg": ps.image.resize(8), "mask": ps.field("png") | ps.follow("jpg")}
    plain = ps.Loader(folder, batch_size=6, transforms=fields, missing={"mask": 9})
    loader = ps.Loader(
        folder, batch_size=6, transforms=fields, missing={"mask": 255}, sample_transform=step, python_workers=workers
    )
    for before, batch in zip(plain, loader):
        assert (np.asarray(batch["jpg"]) == np.asarray(before["jpg"])[:, :, :, ::-1]).all()
        for row, mark in enumerate(batch["__present__"]["mask"].tolist()):
            was = np.asarray(before["mask"])[row]
            assert (np.asarray(batch["mask"])[row] == (was[:, ::-1] if mark else 255)).all()
    loader.close()


@pytest.mark.parametrize("workers", [0, 2])
def test_text_that_a_function_decodes_is_filled(folder, workers):
    decode = ps.transform(own_functions.first_bytes, shape=(4,), dtype="int16")
    options = {"transforms": {"txt": ps.raw() | decode, "jpg": FIELDS["jpg"]}, "python_workers": workers}
    loader = ps.Loader(folder, batch_size=1, missing={"txt": -7}, **options)
    for batch in loader:
        mark = has("txt", int(batch["__key__"][0]))
        assert batch["__present__"]["txt"].tolist() == [mark]
        assert (np.asarray(batch["txt"])[0] == -7).all() == (not mark)
    loader.close()
    with pytest.raises(ps.Error, match='output "txt": missing = 70000: its rows are int16, which cannot represent'):
        list(ps.Loader(folder, batch_size=4, missing={"txt": 70000}, **options))


def test_a_batch_without_a_row_requires_a_known_shape(folder):
    fields = {"txt": ps.raw() | ps.transform(own_functions.first_bytes)}
    with pytest.raises(ps.Error, match="no sample of the batch has a valid value; pass shape= and dtype="):
        list(ps.Loader(folder, batch_size=1, missing={"txt": 0}, transforms=fields))
