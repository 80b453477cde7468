"""Items of rows behind functions: pad(), lengths() and valid_mask() go by what the functions gave."""

import numpy as np
import own_functions
import penstock as ps
import pytest

SAMPLES = 11
TOKENS = ps.array.decode("int64", ragged=True, shape=())
COUNT = ps.follow("tokens.txt") | ps.lengths()
MASK = ps.follow("tokens.txt") | ps.valid_mask()


def stored(i):
    return [10 * i + k for k in range((i * 5) % 7)]


def halved(row):
    return row[::2]


@pytest.fixture(name="folder", scope="module")
def folder_fixture(tmp_path_factory):
    folder = tmp_path_factory.mktemp("items")
    for i in range(SAMPLES):
        (folder / f"{i:02}.tokens.txt").write_text(" ".join(map(str, stored(i))))
        (folder / f"{i:02}.score.txt").write_text(str(i))
    return folder


def batches(folder, fields, **options):
    with ps.Loader(folder, batch_size=4, transforms=fields, **options) as loader:
        return list(loader)


def check(batch, first, length=None, multiple=1, value=0, mask=True, most=None):
    """Beside plain Python: rows are halved, and padded where a `length` or a multiple is said."""
    rows = [stored(first + k)[::2][:most] for k in range(len(batch["__key__"]))]
    assert batch["n"].tolist() == [len(row) for row in rows] and batch["n"].dtype == np.int64
    if length is None:
        length = -(-max(map(len, rows)) // multiple) * multiple
    assert batch["tokens.txt"].tolist() == [row + [value] * (length - len(row)) for row in rows]
    if mask:
        assert batch["mask"].dtype == np.bool_
        assert batch["mask"].tolist() == [[k < len(row) for k in range(length)] for row in rows]


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize(
    ("chain", "expected"),
    [
        (ps.pad(), {}),
        (ps.pad(multiple_of=4, value=-1), {"multiple": 4, "value": -1}),
        (ps.pad(5, value=7), {"length": 5, "value": 7}),
        (ps.pad(2, longer="truncate"), {"length": 2, "most": 2}),
        (ps.array.cast("float32") | ps.pad(value=0.5), {"value": 0.5}),
    ],
)
def test_pad_behind_a_function_and_what_counts_it(folder, chain, expected, workers):
    for function in (ps.transform(own_functions.halved), ps.transform(own_functions.halved, shape=(None,))):
        fields = {"mask": MASK, "tokens.txt": TOKENS | function | chain, "n": COUNT, "score.txt": ps.label()}
        made = batches(folder, fields, python_workers=workers)
        for number, batch in enumerate(made):
            check(batch, 4 * number, **expected)
            assert [name for name in batch if not name.startswith("__")] == list(fields)
        assert len(made) == 3


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("behind", [None, ps.array.cast("float32")])
def test_lengths_of_ragged_rows_are_those_delivered(folder, behind, workers):
    function = ps.transform(own_functions.halved, shape=(None,))
    chain = TOKENS | function if behind is None else TOKENS | function | behind
    for number, batch in enumerate(batches(folder, {"tokens.txt": chain, "n": COUNT}, python_workers=workers)):
        rows = [stored(4 * number + k)[::2] for k in range(len(batch["__key__"]))]
        assert [row.tolist() for row in batch["tokens.txt"]] == rows and batch["n"].tolist() == [
            len(row) for row in rows
        ]
        assert batch["tokens.txt"].values.dtype == ("int64" if behind is None else "float32")


@pytest.mark.parametrize("workers", [0, 2])
def test_what_on_sample_gives_is_counted_and_padded(folder, workers):
    def cut(ids):
        return {"ids": ids[::2]}

    pytest.importorskip("cloudpickle")
    for after, expected in ((ps.pad(), {}), (ps.pad(4), {"length": 4})):
        sample = ps.sample_transform(cut, {"tokens.txt": "ids"}, after={"tokens.txt": after})
        fields = {"tokens.txt": TOKENS, "n": COUNT, "mask": MASK}
        for number, batch in enumerate(batches(folder, fields, sample_transform=sample, python_workers=workers)):
            check(batch, 4 * number, **expected)
    sample = ps.sample_transform(cut, {"tokens.txt": "ids"})
    for number, batch in enumerate(batches(folder, {"tokens.txt": TOKENS, "n": COUNT}, sample_transform=sample)):
        assert batch["n"].tolist() == [len(stored(4 * number + k)[::2]) for k in range(len(batch["__key__"]))]


def test_on_sample_gets_the_count_of_what_it_gets(folder):
    def check_count(ids, n):
        assert len(ids) == n
        return {"ids": ids[:1], "n": n}

    sample = ps.sample_transform(check_count, {"tokens.txt": "ids", "n": "n"})
    made = batches(folder, {"tokens.txt": TOKENS, "n": COUNT}, sample_transform=sample)
    assert made[0]["n"].tolist() == [len(stored(k)) for k in range(4)]


def test_functions_behind_pad_leave_its_counts_as_they_are_unless_they_change_the_length(folder):
    plus = ps.transform(lambda row: row + 1)
    for pad in (ps.pad(), ps.pad(8)):  # before the function
        for batch in batches(folder, {"tokens.txt": TOKENS | pad | plus, "n": COUNT, "mask": MASK}):
            assert (
                batch["mask"].numpy().sum(1).tolist() == batch["n"].tolist()
                and batch["mask"].shape == batch["tokens.txt"].shape
            )
    fields = {"tokens.txt": TOKENS | ps.transform(halved) | ps.pad(8) | plus, "n": COUNT, "mask": MASK}
    for number, batch in enumerate(batches(folder, fields)):
        batch["tokens.txt"] = batch["tokens.txt"] - 1
        check(batch, 4 * number, length=8)
    cut = ps.transform(lambda row: row[:3])
    with pytest.raises(ps.Error, match=r'"tokens.txt", which pad\(\) made 8.*gave int64 \(3,\)') as raised:
        batches(folder, {"tokens.txt": TOKENS | ps.pad(8) | cut, "n": COUNT})
    assert (raised.value.field, raised.value.key) == ("n", "00")
    with pytest.raises(ps.Error, match=r'"tokens.txt", which pad\(\) made 8.*gave int64 \(3,\)'):
        batches(folder, {"tokens.txt": TOKENS | ps.transform(halved) | ps.pad(8) | cut, "mask": MASK})


def test_rows_that_do_not_count_have_no_items(folder, tmp_path):
    for i in range(6):
        (tmp_path / f"{i}.tokens.txt").write_text("no number" if i in (1, 4, 5) else "3 4 5")
    options = {"batch_size": 2, "on_error": "mark", "max_errors": 1.0}
    fields = {"tokens.txt": TOKENS | ps.transform(halved) | ps.pad(value=9), "n": COUNT, "mask": MASK}
    made = list(ps.Loader(tmp_path, transforms=fields, **options))
    assert [batch["n"].tolist() for batch in made] == [[2, 0], [2, 2], [0, 0]]
    assert made[0]["tokens.txt"].tolist() == [[3, 5], [9, 9]] and made[0]["mask"].tolist() == [
        [True, True],
        [False, False],
    ]


def test_at_counts_too(folder):
    fields = {"tokens.txt": TOKENS | ps.transform(halved) | ps.pad(), "n": COUNT, "mask": MASK}
    with ps.Loader(folder, batch_size=4, transforms=fields) as loader:
        check(loader.at(0, 1), 4)


@pytest.mark.parametrize(
    ("fields", "cause"),
    [
        (
            {"tokens.txt": TOKENS | ps.transform(halved), "n": COUNT},
            r"whose rows all have the same length after transform\(halved\)",
        ),
        (
            {"tokens.txt": TOKENS | ps.transform(halved, shape=(None,)), "n": MASK},
            r"no pad\(\) comes after transform\(halved\)",
        ),
        (
            {"tokens.txt": TOKENS | ps.transform(halved) | ps.pad() | ps.transform(halved)},
            r"pad\(\) to the longest row.*must come last",
        ),
        (
            {"tokens.txt": TOKENS | ps.transform(halved) | ps.pad(4) | ps.array.cast("float32")},
            r"cast\(float32\) must come before pad\(4\)",
        ),
        (
            {"tokens.txt": TOKENS | ps.transform(halved) | ps.pad(), "n": COUNT | ps.transform(halved)},
            "cannot have a function itself",
        ),
    ],
)
def test_what_cannot_be_had_is_told_before_a_thread_starts(folder, fields, cause):
    with pytest.raises(ps.Error, match=cause) as raised:
        ps.Loader(folder, transforms=fields)
    assert raised.value.kind == "invalid_argument"


@pytest.mark.parametrize(
    ("chain", "cause", "kind"),
    [
        (ps.transform(halved) | ps.pad(2), r"has 3 items, more than pad\(2\); pass longer=\"truncate\"", "shape"),
        (ps.transform(lambda row: 1) | ps.pad(2), "a single number, not a list of items", "shape"),
        (
            ps.transform(lambda row: row.astype("uint8")) | ps.pad(value=-1),
            "the value does not fit uint8",
            "invalid_argument",
        ),
        (
            ps.transform(lambda row: row.astype("uint8")) | ps.pad(9, value=-1),
            "the value does not fit uint8",
            "invalid_argument",
        ),
    ],
)
def test_rows_that_do_not_fit_are_told_with_sample_and_field(folder, chain, cause, kind):
    with pytest.raises(ps.Error, match=cause) as raised:
        batches(folder, {"tokens.txt": TOKENS | chain})
    assert (raised.value.field, raised.value.kind) == ("tokens.txt", kind)
