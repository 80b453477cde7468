"""batching.by_length(): the batches are those that docs/order.md defines, computed by a model of that page."""

import json

import numpy as np
import order_model
import penstock as ps
import pytest
from resuming import WORLDS, goes_on, positions

SAMPLES = 137


def tokens(i):
    return (i * 37 + i * i) % 61


LENGTHS = [tokens(i) for i in range(SAMPLES)]


@pytest.fixture(name="texts", scope="module")
def texts_fixture(tmp_path_factory):
    """Samples that are told by their keys, of an array of `tokens(i)` numbers."""
    folder = tmp_path_factory.mktemp("lengths") / "texts"
    folder.mkdir()
    for i in range(SAMPLES):
        np.save(folder / f"{i:04}.npy", np.full(tokens(i), i, np.int32))
        (folder / f"{i:04}.json").write_text(json.dumps({"seconds": tokens(i) / 8}))
    return ps.open(folder)


def loader_of(dataset, by=LENGTHS, pool=100_000, budget=None, **options):
    chain = {"npy": ps.array.decode("int32", ragged=True)}
    batching = ps.batching.by_length(by, pool=pool, budget=budget)
    return ps.Loader(dataset, batching=batching, transforms=chain, workers=1, **options)


def rows_of(batch):
    """(number, valid) of each row; what is read is what the key says."""
    keys = [int(key) for key in batch["__key__"]]
    for key, row in zip(keys, batch["npy"]):
        assert np.asarray(row).tolist() == [key] * tokens(key)
    return list(zip(keys, batch["__valid__"].tolist()))


def epoch_of(epoch, shuffle, seed, batch_size, world, window, budget, lengths=LENGTHS):
    """(one, buckets): of the model."""
    one = order_model.One(len(lengths), shuffle=shuffle, seed=seed)
    by_position = [lengths[one.sample_at(epoch, p)] for p in range(one.length)]
    return one, order_model.Buckets(by_position, window, batch_size, world, budget, shuffle, seed, epoch)


def named(one, epoch, batches):
    return [[(one.sample_at(epoch, p), valid) for p, valid in batch] for batch in batches]


@pytest.mark.parametrize("last", ["keep", "drop", "pad"])
@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("budget", [None, 60, 100.5])
def test_batches_are_those_of_the_page(texts, budget, shuffle, last):
    for world, batch_size, window in ((1, 4, 50), (2, 3, 137), (3, 5, 15), (8, 2, 40)):
        met = {epoch: [] for epoch in range(2)}
        for rank in range(world):
            loader = loader_of(
                texts, batch_size=batch_size, pool=window, budget=budget, shuffle=shuffle, seed=3,
                rank=rank, world_size=world, last_batch=last,
            )  # fmt: skip
            for epoch in range(2):
                one, buckets = epoch_of(epoch, shuffle, 3, batch_size, world, window, budget)
                modelled = named(one, epoch, buckets.rank(batch_size, rank, world, last))
                assert len(loader) == len(modelled)
                got = [rows_of(batch) for batch in loader]
                assert got == modelled, (world, rank, epoch)
                met[epoch] += [number for batch in got for number, valid in batch if valid]
                if budget is not None:
                    assert all(max(tokens(number) for number, _ in batch) * len(batch) <= budget for batch in got)
        unit = world if budget is not None else batch_size * world
        left_out = SAMPLES % unit if last == "drop" else 0
        for numbers in met.values():
            assert len(set(numbers)) == len(numbers) == SAMPLES - left_out


class Composed:
    """What a loader delivers, as Epochs of resuming.py: an epoch keeps the batches that it was begun with."""

    def __init__(self, window, total=None):
        self.window, self.total = window, total  # the budget of all ranks

    def begin(self, epoch, batch_size, world):
        return epoch, None, 0  # composed for who begins it

    def after(self, where, batches, batch_size, world):
        epoch, composed, passed = where
        passed += batches * (1 if self.total else batch_size * world)
        return epoch, (composed or self.composed(epoch, batch_size, world)) if passed else None, passed

    def rest(self, where, batch_size, rank, world):
        epoch, composed, passed = where
        one, buckets = composed or self.composed(epoch, batch_size, world)
        start = {"batch": passed} if self.total else {"start": passed}
        return named(one, epoch, buckets.rank(batch_size, rank, world, "keep", **start))

    def composed(self, epoch, batch_size, world):
        return epoch_of(epoch, True, 11, batch_size, world, self.window, self.total / world if self.total else None)


@pytest.mark.parametrize("budget", [None, 1])
def test_states_go_on_from_anywhere_with_other_ranks(texts, budget):
    """Those whose global batches are as large divide the same ones; without a budget others cut the same places."""
    for draw in positions(f"lengths {budget}", few=40):
        window = draw.randrange(72, 137)
        total = draw.randrange(60 * 8, 3000) // 24 * 24 if budget else None
        options = {"shuffle": True, "seed": 11, "pool": window}

        def for_ranks(world_size, total=total, options=options, **more):
            return loader_of(
                texts, world_size=world_size, **options, **more, **({"budget": total / world_size} if total else {})
            )

        def shape_of(draw):
            world = draw.choice(WORLDS)
            return 24 // world if budget or draw.random() < 0.5 else draw.randint(1, 9), world

        goes_on(draw, Composed(window, total), for_ranks, rows_of, shape_of, epochs=3)


def test_other_batch_sizes_cut_the_same_places(texts):
    loader = loader_of(texts, batch_size=10, pool=60, shuffle=True, seed=1)
    batches = iter(loader)
    for _ in range(5):
        next(batches)
    state = loader.state_dict()
    one, buckets = epoch_of(0, True, 1, 10, 1, 60, None)
    for rank in range(2):
        other = loader_of(texts, batch_size=7, pool=60, shuffle=True, seed=1, rank=rank, world_size=2)
        other.load_state_dict(state)
        assert [rows_of(batch) for batch in other] == named(one, 0, buckets.rank(7, rank, 2, "keep", start=50))
        one_more, later = epoch_of(1, True, 1, 7, 2, 60, None)
        assert [rows_of(batch) for batch in other] == named(one_more, 1, later.rank(7, rank, 2, "keep"))


def test_a_state_says_what_the_page_says(texts):
    loader = loader_of(texts, batch_size=10, pool=60, budget=600)
    assert loader.state_dict()["buckets"] == {
        "by": "",
        "lengths": f"{order_model.fingerprint_of_lengths(LENGTHS):016x}",
        "window": 60,
        "batch_size": 10,
        "world": 1,
        "batch_budget": 600,
    }
    assert "buckets" not in ps.Loader(texts).state_dict()


def test_states_of_other_batches_are_refused_in_words(texts):
    loader = loader_of(texts, batch_size=10, budget=100)
    next(iter(loader))
    state = loader.state_dict()
    for options, cause in (
        ({"by": [1] * SAMPLES, "budget": 100}, "saved with other lengths"),
        ({"budget": 100, "pool": 99}, "pool=100000, this loader has pool=99"),
        ({"budget": 90}, "1 rank with batch_size=10 and budget=90"),
        ({}, "1 rank with batch_size=10 and no budget"),
    ):
        with pytest.raises(ps.Error, match=cause):
            loader_of(texts, batch_size=10, **options).load_state_dict(state)
    with pytest.raises(ps.Error, match="this loader has no batching by length"):
        ps.Loader(texts, batch_size=10).load_state_dict(state)
    with pytest.raises(ps.Error, match="saved with no batching by length"):
        loader.load_state_dict(ps.Loader(texts, batch_size=10).state_dict())


@pytest.mark.parametrize("packing", ["folder", "hdf5", "tar"])
def test_lengths_of_fields(texts, tmp_path, packing):
    dataset = texts
    if packing != "folder":
        ps.pack(texts.path, tmp_path / "packed", format=packing)
        dataset = ps.open(tmp_path / "packed")
    seconds = [length / 8 for length in LENGTHS]
    file = tmp_path / "lengths.npy"
    np.save(file, np.array(LENGTHS, np.int16))
    for by, lengths in (("npy", LENGTHS), ("json:seconds", seconds), (np.array(LENGTHS)[:], LENGTHS), (file, LENGTHS)):
        loader = ps.Loader(
            dataset, batching=ps.batching.by_length(by, pool=SAMPLES), batch_size=SAMPLES, transforms={"json": ps.raw()}
        )
        assert loader.state_dict()["buckets"]["lengths"] == f"{order_model.fingerprint_of_lengths(lengths):016x}"
    loader = ps.Loader(
        dataset, batching=ps.batching.by_length("bytes:json", pool=SAMPLES), batch_size=8, transforms={"json": ps.raw()}
    )
    sizes = [[len(row) for row in batch["json"]] for batch in loader]
    assert sum(sizes[:-1], []) == sorted(sum(sizes[:-1], []), reverse=True)


def test_arrays_of_raw_elements_count_as_the_index_has_them(tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "tokens.h5", "w") as file:
        data = file.create_dataset("tokens", (SAMPLES,), dtype=h5py.vlen_dtype(np.uint16))
        for i in range(SAMPLES):
            data[i] = np.full(tokens(i), i, np.uint16)
        file.create_dataset("seconds", data=np.array(LENGTHS, np.float32) / 8)
    dataset = ps.open(tmp_path / "tokens.h5")
    for by, lengths in (("tokens", LENGTHS), ("seconds", [length / 8 for length in LENGTHS])):
        state = ps.Loader(dataset, batching=ps.batching.by_length(by), transforms={"tokens": ps.raw()}).state_dict()
        assert state["buckets"]["lengths"] == f"{order_model.fingerprint_of_lengths(lengths):016x}", by


def test_images_by_their_headers(images):
    dataset = ps.open(images)
    loader = ps.Loader(
        dataset, batch_size=6, batching=ps.batching.by_length("pixels:jpg", pool=60), transforms={"jpg": ps.raw()}
    )
    decoded = ps.Loader(dataset, batch_size=1, transforms={"jpg": ps.image.decode(ragged=True)})
    shapes = {batch["__key__"][0]: np.asarray(batch["jpg"][0]).shape[1:] for batch in decoded}
    pixels = [height * width for height, width in (shapes[key] for batch in loader for key in batch["__key__"])]
    assert pixels == sorted(pixels, reverse=True)
    loader = ps.Loader(
        dataset, batch_size=6, batching=ps.batching.by_length("shape:jpg", pool=60), transforms={"jpg": ps.raw()}
    )
    sides = [shapes[key] for batch in loader for key in batch["__key__"]]
    assert sides == sorted(sides, reverse=True)
    with pytest.raises(
        ps.Error, match='budget cannot be combined with shapes, which are not lengths; pass "pixels:jpg"'
    ):
        ps.Loader(dataset, batching=ps.batching.by_length("shape:jpg", budget=1000))
    for by in ("height:jpg", "width:jpg"):
        assert (
            len(
                list(ps.Loader(dataset, batch_size=8, batching=ps.batching.by_length(by), transforms={"jpg": ps.raw()}))
            )
            == 8
        )


def test_padding_is_small_and_masks_say_what_counts(texts):
    def padding(**options):
        fields = {"ids": ps.field("npy") | ps.array.decode("int32", ragged=True) | ps.pad(multiple_of=4),
                  "mask": ps.follow("ids") | ps.valid_mask(), "length": ps.follow("ids") | ps.lengths()}  # fmt: skip
        loader = ps.Loader(texts, shuffle=True, transforms=fields, **options)
        all_of, used = 0, 0
        for batch in loader:
            mask = batch["mask"].numpy()
            assert mask.shape == batch["ids"].shape[:2] and mask.shape[1] % 4 == 0
            assert mask.sum(axis=1).tolist() == batch["length"].tolist() == [tokens(int(k)) for k in batch["__key__"]]
            all_of, used = all_of + mask.size, used + mask.sum()
        assert used == sum(LENGTHS)
        return 1 - used / all_of

    plain = padding(batch_size=8)
    assert padding(batch_size=8, batching=ps.batching.by_length("npy")) < plain / 3
    assert padding(batch_size=64, batching=ps.batching.by_length("npy", budget=256)) < plain / 3


@pytest.mark.parametrize(
    "options, cause",
    [
        ({"batching": ps.batching.by_length("nothing")}, 'there is no field "nothing"; its fields are'),
        ({"batching": ps.batching.by_length("json:weight")}, 'has no member "weight"'),
        ({"batching": ps.batching.by_length([1] * 5)}, "5 lengths and 137 samples"),
        (
            {"batching": ps.batching.by_length([-1] + [1] * 136)},
            "the length of sample 0 is -1; a length must be a number of 0 or more",
        ),
        ({"batching": ps.batching.by_length([float("nan")] * SAMPLES)}, "the length of sample 0 is not a number"),
        ({"batching": ps.batching.by_length("npy", pool=63)}, "pool=63 is smaller than a batch of all ranks, 64 rows"),
        ({"batching": ps.batching.by_length("npy", budget=max(LENGTHS) - 0.5)}, r"is more than budget=\d+\.5"),
    ],
)
def test_what_cannot_be_is_told_in_words(texts, options, cause):
    with pytest.raises(ps.Error, match=cause):
        ps.Loader(texts, **options)


def test_lengths_that_are_none_are_told(texts, tmp_path):
    with pytest.raises(TypeError, match="lengths must be a field"):
        ps.Loader(texts, batching=ps.batching.by_length(3))
    with pytest.raises(TypeError, match="not a dict"):
        ps.Loader(texts, batching=ps.batching.by_length({"a": 1}))
    with pytest.raises(TypeError, match="not an array of 2 dimensions"):
        ps.Loader(texts, batching=ps.batching.by_length(np.ones((5, 2))))
    (tmp_path / "a.txt").write_text("one")
    (tmp_path / "b.cls").write_text("1")
    with pytest.raises(ps.Error, match='sample b: .*has no value that by_length."txt". can measure'):
        ps.Loader(tmp_path, batching=ps.batching.by_length("txt"), transforms={"txt": ps.raw()}, missing="empty")


@pytest.mark.parametrize("budget", [None, 400])
def test_a_ledger_proves_batches_by_length_across_worlds(texts, tmp_path, budget):
    def of(ranks, rank, **more):
        more = {"budget": budget / ranks, **more} if budget else more
        return loader_of(
            texts, batch_size=12 // ranks, pool=40, shuffle=True, rank=rank, world_size=ranks,
            delivery_log=tmp_path / "ledger", **more,
        )  # fmt: skip

    first = of(1, 0)
    batches = iter(first)
    for _ in range(4):
        next(batches)
    state = first.state_dict()
    next(batches)
    first.close()
    for rank in range(2):
        again = of(2, rank)
        again.load_state_dict(state)
        for _ in again:
            pass
        again.close()
    audit = ps.audit(tmp_path / "ledger", dataset=texts)
    assert audit["epochs"][0]["verdict"] == "proved", str(audit)
    with pytest.raises(ps.Error, match="batches by length"):
        ps.Loader(texts, shuffle=True, delivery_log=tmp_path / "ledger")


def test_at_explain_and_bad_samples_follow_the_batches(texts, tmp_path):
    loader = loader_of(texts, batch_size=8, pool=40, budget=200, shuffle=True)
    for number, batch in enumerate(loader):
        assert rows_of(loader.at(0, number)) == rows_of(batch)
        assert loader.explain(0, number, 0)["key"] == batch["__key__"][0]
    for i in range(20):
        np.save(tmp_path / f"{i:04}.npy", np.full(i, i, np.int32))
    (tmp_path / "0007.npy").write_bytes((tmp_path / "0007.npy").read_bytes()[:-1])
    fields = {"npy": ps.array.decode("int32", ragged=True)}
    lengths = list(range(20))
    marked = ps.Loader(
        tmp_path,
        batch_size=4,
        transforms=fields,
        batching=ps.batching.by_length(lengths, budget=40),
        on_error="mark",
        max_errors=0.1,
    )
    valid = {key: ok for batch in marked for key, ok in zip(batch["__key__"], batch["__valid__"].tolist())}
    assert [key for key, ok in valid.items() if not ok] == ["0007"] and len(valid) == 20


def test_mixtures_keep_each_sample_and_carry_at_the_end_of_epochs_alone(texts):
    parts = {"a": texts.take(60), "b": texts.skip(60)}

    def of(weights, by, **more):
        mixture = ps.mixture(parts, weights, stop="all_exhausted", on_change="carry")
        return ps.Loader(mixture, batch_size=5, batching=ps.batching.by_length(by, pool=30), shuffle=True, **more)

    loader = of({"a": 1, "b": 1}, LENGTHS, transforms={"npy": ps.raw()})
    seen = [key for batch in loader for key in batch["__key__"]]
    assert set(seen) == {f"{i:04}" for i in range(SAMPLES)}
    at_end = loader.state_dict()
    next(iter(loader))
    other = of({"a": 1, "b": 2}, LENGTHS, transforms={"npy": ps.raw()})
    with pytest.raises(ps.Error, match="only at the end of an epoch"):
        other.load_state_dict(loader.state_dict())
    with pytest.warns(UserWarning, match="other weights"):
        other.load_state_dict(at_end)
    resumed = of({"a": 1, "b": 1}, LENGTHS, transforms={"npy": ps.raw()})
    resumed.load_state_dict(loader.state_dict())
    assert [b["__key__"] for b in resumed] == [b["__key__"] for b in loader_rest(loader)]


def loader_rest(loader):
    """What a loader would deliver, had it not been left: of the epoch that it stands in."""
    state = loader.state_dict()
    loader.load_state_dict(state)
    return loader
