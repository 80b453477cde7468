"""penstock.Loader: order, position, ranks, options and stats, as a training script meets them."""

import copy
import json
import os
import pickle
import subprocess
import warnings

import h5py
import numpy as np
import penstock as ps
import pytest
import xxhash
from loading import FIELDS, keys_of
from PIL import Image


def test_one_for_is_one_epoch_and_the_next_for_is_the_next_one(arrays):
    loader = ps.Loader(arrays, batch_size=16, shuffle=True, seed=1, transforms=FIELDS)
    assert len(loader) == 3
    first, second = keys_of(loader), keys_of(loader)
    assert sorted(first) == sorted(second) == [f"{i:03}" for i in range(40)]
    assert first != second
    assert loader.epoch == 2
    loader.set_epoch(0)
    assert keys_of(loader) == first


def test_a_batch_holds_its_rows_as_the_samples_have_them(arrays):
    for batch in ps.Loader(arrays, batch_size=16, shuffle=True, transforms=FIELDS):
        numbers = np.array([int(key) for key in batch["__key__"]])
        assert list(batch) == ["npy", "cls", "__key__", "__valid__"]
        np.testing.assert_array_equal(np.asarray(batch["npy"]), numbers[:, None] + np.arange(5))
        np.testing.assert_array_equal(np.asarray(batch["cls"]), numbers % 4)
        assert np.asarray(batch["__valid__"]).dtype == bool


def test_leaving_a_for_early_begins_the_next_epoch(arrays):
    loader = ps.Loader(arrays, batch_size=8, shuffle=True, transforms=FIELDS)
    epochs = [keys_of(loader) for _ in range(3)]
    loader.set_epoch(0)
    for _ in loader:
        break
    assert keys_of(loader) == epochs[1]
    iter(loader)  # took nothing: begins nothing
    assert keys_of(loader) == epochs[2]


def test_an_iterator_ends_once_and_gives_way_to_a_later_one(arrays):
    loader = ps.Loader(arrays, batch_size=40, transforms=FIELDS)
    iterator = iter(loader)
    assert len(next(iterator)["__key__"]) == 40
    for _ in range(2):
        with pytest.raises(StopIteration):
            next(iterator)
    earlier, later = iter(loader), iter(loader)
    next(later)
    with pytest.raises(ps.Error, match="later `for`"):
        next(earlier)


def test_what_a_full_shuffle_over_shared_blocks_costs_is_a_warning(tmp_path):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("x", data=np.zeros((64, 8), "int32"), chunks=(16, 8), compression="gzip")
    with pytest.warns(
        UserWarning, match=r"about 16 samples share a block; shuffle=ps.shuffle.blocks\(16\) decompresses each once"
    ):
        loader = ps.Loader(tmp_path / "x.h5", shuffle=True, memory_options=ps.MemoryOptions(block_cache_bytes=100))
    assert "ps.shuffle.blocks(16)" in loader.stats()["notes"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ps.Loader(
            tmp_path / "x.h5", shuffle=ps.shuffle.blocks(16), memory_options=ps.MemoryOptions(block_cache_bytes=100)
        )
        with pytest.raises(UserWarning, match="full shuffle"):
            ps.Loader(tmp_path / "x.h5", shuffle=True, memory_options=ps.MemoryOptions(block_cache_bytes=100))


def test_any_batch_is_rebuilt_without_moving(arrays):
    loader = ps.Loader(arrays, batch_size=8, shuffle=True, transforms=FIELDS)
    iterator = iter(loader)
    second = (next(iterator), next(iterator))[1]
    again = loader.at(0, 1)
    assert again["__key__"] == second["__key__"]
    np.testing.assert_array_equal(np.asarray(again["npy"]), np.asarray(second["npy"]))
    del second, again
    assert len(list(batch["__key__"] for batch in iterator)) == 3
    with pytest.raises(ps.Error, match="the epoch has 5"):
        loader.at(0, 5)


def test_explain_tells_what_a_row_was_made_of(icons):
    crop = ps.image.random_resized_crop(24) | ps.image.random_horizontal_flip() | ps.image.channels_last()
    loader = ps.Loader(icons, batch_size=8, shuffle=True, seed=4, transforms={"png": crop, "cls": ps.label()})
    batch = loader.at(2, 3)
    flips = 0
    for row, key in enumerate(batch["__key__"]):
        told = loader.explain(2, 3, row)
        assert (told["key"], told["epoch"], told["seed"]) == (key, 2, 4)
        assert list(told["outputs"]) == ["png", "cls"]
        png = told["outputs"]["png"]
        assert (png["file"], png["offset"], png["codec"]) == (f"{key}.png", 0, "png")
        assert png["chain"] == repr(crop)
        assert [step for step, _ in png["steps"]] == repr(crop).split(" | ")[:2]
        with Image.open(icons / png["file"]) as image:
            assert png["shape"] == (image.height, image.width, 3)
            x, y, width, height = png["box"]
            cut = image.convert("RGB").crop((x, y, x + width, y + height)).resize((24, 24), Image.Resampling.BILINEAR)
        pixels = np.asarray(cut)[:, ::-1] if png["flip"] else np.asarray(cut)
        np.testing.assert_array_equal(np.asarray(batch["png"])[row], pixels)
        flips += png["flip"]
    assert 0 < flips < 8
    with pytest.raises(ps.Error, match="there is no row 8: the batch has 8 rows"):
        loader.explain(2, 3, 8)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"batch_size": 41}, "an epoch of 40 samples has no full batch of 41, and last_batch"),
        ({"batch_size": 14, "rank": 1, "world_size": 3}, "no full batch of 14 for each of 3 ranks, and last_batch"),
    ],
)
def test_an_epoch_without_batches_is_a_warning(arrays, options, told):
    with pytest.warns(UserWarning, match=told) as caught:
        loader = ps.Loader(arrays, transforms=FIELDS, last_batch="drop", **options)
    assert list(loader) == list(loader) == [] and len(caught) == 1 and told in loader.stats()["notes"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        options["batch_size"] -= 1
        assert len(ps.Loader(arrays, transforms=FIELDS, last_batch="drop", **options)) == 1
        options["batch_size"] += 1
        assert len(ps.Loader(arrays, transforms=FIELDS, **options)) == 1


def test_what_does_not_fill_a_batch(arrays):
    def sizes(**options):
        return [len(b["__key__"]) for b in ps.Loader(arrays, batch_size=16, transforms=FIELDS, **options)]

    assert sizes() == [16, 16, 8]
    assert sizes(drop_last=True) == sizes(last_batch="drop") == [16, 16]
    assert sizes(last_batch="pad") == [16, 16, 16]
    batches = ps.Loader(arrays, batch_size=16, transforms=FIELDS, last_batch="pad")
    assert sum(int(np.asarray(batch["__valid__"]).sum()) for batch in batches) == 40


def test_ranks_share_an_epoch(arrays):
    seen = [
        keys_of(ps.Loader(arrays, batch_size=5, shuffle=True, transforms=FIELDS, rank=r, world_size=4))
        for r in range(4)
    ]
    assert sorted(sum(seen, [])) == [f"{i:03}" for i in range(40)]


def test_rank_and_world_come_from_the_environment_only_when_asked(arrays, monkeypatch):
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    asked = ps.Loader(arrays, batch_size=20, transforms=FIELDS, rank="env")
    assert keys_of(asked) == [f"{i:03}" for i in range(20, 40)]
    assert "rank 1 of 2 from RANK and WORLD_SIZE" in asked.stats()["notes"]
    assert "RANK and WORLD_SIZE" in str(asked.stats())
    assert len(ps.Loader(arrays, batch_size=20, transforms=FIELDS)) == 2
    with pytest.raises(ps.Error, match="cannot be combined with world_size"):
        ps.Loader(arrays, transforms=FIELDS, rank="env", world_size=2)
    monkeypatch.delenv("RANK")
    with pytest.raises(ps.Error, match="no launcher"):
        ps.Loader(arrays, transforms=FIELDS, rank="env")


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"batch_size": 0}, "batch_size"),
        ({"last_batch": "all"}, "last_batch"),
        ({"last_batch": "pad", "drop_last": True}, "drop_last"),
        ({"on_error": "skip"}, "on_error"),
        ({"missing": "no"}, "missing"),
        ({"rank": "first"}, "rank"),
        ({"rank": 2, "world_size": 2}, "rank"),
        ({"timeout": -1}, "timeout"),
        ({"timeout": float("nan")}, "timeout"),
        ({"transforms": {"cls": "label"}}, "cls"),
        ({"transforms": {"__key__": ps.label()}}, "__key__"),
        ({"transforms": {"nope": ps.label()}}, "nope"),
        ({"transforms": {"npy": ps.image.decode() | ps.field("npy")}}, "must come first"),
        ({"expect_classes": ["a"]}, "expect_classes"),
    ],
)
def test_wrong_options_raise_and_name_the_option(arrays, options, text):
    with pytest.raises(ps.Error, match=text) as raised:
        ps.Loader(arrays, **{"transforms": FIELDS, **options})
    assert raised.value.kind in ("invalid_argument", "shape")


def test_options_are_keyword_only_and_known(arrays):
    with pytest.raises(TypeError):
        ps.Loader(arrays, 64)
    with pytest.raises(TypeError):
        ps.Loader(arrays, batchsize=64)


def test_classes_must_be_the_datasets_own(icons):
    names = ps.open(icons).classes
    assert len(ps.Loader(icons, transforms={"cls": ps.label()}, expect_classes=names)) > 0
    with pytest.raises(ps.Error, match="class 0 is"):
        ps.Loader(icons, transforms={"cls": ps.label()}, expect_classes=list(reversed(names)))
    with pytest.raises(ps.Error, match=f"has {len(names)}"):
        ps.Loader(icons, transforms={"cls": ps.label()}, expect_classes=names[:-1])


def test_an_empty_subset_is_an_error(arrays):
    with pytest.raises(ps.Error, match="subset is empty"):
        ps.Loader(arrays, transforms=FIELDS, sampler=ps.sampler.subset([]))


def test_a_subset_is_delivered_in_its_order(arrays):
    assert keys_of(ps.Loader(arrays, batch_size=4, transforms=FIELDS, sampler=ps.sampler.subset([7, 3, 9]))) == [
        "007",
        "003",
        "009",
    ]


def test_a_closed_loader_says_so_and_its_batches_stay(arrays):
    with ps.Loader(arrays, batch_size=8, transforms=FIELDS) as loader:
        batch = next(iter(loader))
    loader.close()
    for use in (lambda: len(loader), lambda: iter(loader), loader.stats, loader.state_dict):
        with pytest.raises(ps.Error, match="closed"):
            use()
    np.testing.assert_array_equal(np.asarray(batch["npy"])[3], np.arange(3, 8))


def test_stats_are_numbers_and_a_table(arrays):
    loader = ps.Loader(arrays, batch_size=8, transforms=FIELDS, workers=2)
    keys_of(loader)
    stats = loader.stats()
    assert json.loads(json.dumps(stats)) == stats
    assert stats["samples"] == 40 and stats["batches"] == 5 and stats["workers"] == 2
    assert sum(stats["data_wait_by_stage_s"].values()) == pytest.approx(stats["data_wait_s"], abs=1e-6)
    assert set(stats["stages"]) >= {"plan", "read", "decode", "transform", "deliver"}
    assert "input wait s" in str(stats)


def digest_of(loader):
    """As bench/measure/digest.hpp defines it."""
    digest = xxhash.xxh64()

    def add_text(text):
        digest.update(len(text.encode()).to_bytes(8, "little") + text.encode())

    for batch in loader:
        for key in batch["__key__"]:
            add_text(key)
        digest.update(batch["__valid__"].tobytes())
        for name in (name for name in batch if not name.startswith("__")):
            ragged = isinstance(batch[name], ps.Ragged)
            values = batch[name].values if ragged else batch[name]
            add_text(name)
            add_text(values.dtype)
            digest.update(np.array(values.shape, np.int64).tobytes())
            digest.update(batch[name].offsets.tobytes() if ragged else b"")
            digest.update(values.tobytes())
    return digest.hexdigest()


@pytest.mark.parametrize("workers", [1, 3])
def test_batches_are_those_of_the_command(icons, workers):
    command = [os.environ["PENSTOCK_COMMAND"], "bench", str(icons), "--digest", "--task", "raw", "--seed", "9"]
    report = subprocess.run([*command, "--batch-size", "64", "--json", "-"], check=True, capture_output=True).stdout
    expected = json.loads(report[report.index(b"{") :])["rows"][0]["digest"]
    names = [field.name for field in ps.open(icons).fields]
    loader = ps.Loader(icons, batch_size=64, seed=9, workers=workers, transforms={name: ps.raw() for name in names})
    loader_shuffled = ps.Loader(
        icons, batch_size=64, seed=9, shuffle=True, workers=workers, transforms={name: ps.raw() for name in names}
    )
    assert expected in (digest_of(loader), digest_of(loader_shuffled))


def test_fast_decoding_differs_a_little_where_images_become_much_smaller(images):
    def pixels(*steps):
        chain = steps[0]
        for step in steps[1:]:
            chain = chain | step
        loader = ps.Loader(images, batch_size=20, transforms={"jpg": chain}, workers=2)
        return np.concatenate([np.array(batch["jpg"]) for batch in loader])

    def difference(one, other):
        return np.abs(one.astype(np.int16) - other).mean()

    fast = ps.image.decode(fast=True)
    assert repr(fast) == "image.decode(fast=True)" and repr(ps.image.decode(fast=False)) == "image.decode()"
    for size, bound in [(150, 3), (80, 4), (32, 4)]:  # at 1/2, 1/4 and 1/8 of the stored size
        exact, near = pixels(ps.image.resize((size, size))), pixels(fast, ps.image.resize((size, size)))
        assert 0 < difference(exact, near) < bound
    same = ps.image.resize((600, 600))  # not half as large: nothing to gain
    assert np.array_equal(pixels(same), pixels(fast, same))
    drawn = [ps.image.random_resized_crop(48), ps.image.random_horizontal_flip()]
    # draws are keyed by a step's place in its chain
    assert difference(pixels(ps.image.decode(), *drawn), pixels(fast, *drawn)) < 4


def test_no_number_of_workers_is_all_cores_and_0_is_refused_with_a_hint(arrays):
    with pytest.raises(ps.Error, match="leave workers out for all cores, or give workers=1"):
        ps.Loader(arrays, transforms=FIELDS, workers=0)
    assert ps.Loader(arrays, transforms=FIELDS, workers=None).stats()["workers"] >= 1


def test_objects_of_options_are_values(arrays):
    cache = ps.CacheOptions("decoded", limit="64MiB")
    assert (cache.kind, cache.limit, cache.shared) == ("decoded", "64MiB", "process")
    assert cache == pickle.loads(pickle.dumps(cache)) == copy.deepcopy(cache) != ps.CacheOptions("decoded")
    assert eval(repr(cache), {"penstock": ps}) == cache
    cache.__getstate__()["kind"] = "encoded"
    assert cache.kind == "decoded"
    with pytest.raises(TypeError, match="has no keyword later"):
        ps.ReadOptions.__new__(ps.ReadOptions).__setstate__({"later": 1})  # of a newer penstock
    for options in ({"cache": cache}, {"cache": "decoded"}, {"read_options": ps.ReadOptions(engine="pread")}):
        assert len(keys_of(ps.Loader(arrays, transforms=FIELDS, **options))) == 40
    assert ps.Loader(arrays, read_options=ps.ReadOptions(engine="pread")).stats()["engine"].startswith("pread")


@pytest.mark.parametrize(
    "make, told",
    [
        (lambda: ps.CacheOptions(), "needs kind"),
        (lambda: ps.CacheOptions("x"), 'kind must be "encoded" or "decoded", not "x"'),
        (lambda: ps.CacheOptions("decoded", limit="8X"), "limit must be a size such as 4096, 256MiB or 1G, not '8X'"),
        (lambda: ps.DiskCacheOptions(3), "path must be a str or a path, not 3"),
        (lambda: ps.ReadOptions(engine=5), "engine must be a str, not 5"),
        (lambda: ps.ReadOptions(window=5), "has no keyword window"),
        (lambda: ps.MemoryOptions(max_items=True), "max_items must be a whole number of 0 or more, not True"),
        (lambda: ps.MemoryOptions(reserved_batches="x"), "reserved_batches must be a whole number"),
        (lambda: ps.DeviceOptions(finish_on="gpu"), 'finish_on must be "auto", "host" or "device"'),
    ],
)
def test_an_option_that_cannot_be_is_told_where_its_object_is_made(make, told):
    with pytest.raises((TypeError, ps.Error)) as raised:
        make()
    assert told in str(raised.value)
