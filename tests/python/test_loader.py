"""penstock.Loader: order, position, ranks, options and stats, as a training script meets them."""

import json
import os
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
    loader = ps.Loader(arrays, batch_size=16, shuffle=True, seed=1, fields=FIELDS)
    assert len(loader) == 3
    first, second = keys_of(loader), keys_of(loader)
    assert sorted(first) == sorted(second) == [f"{i:03}" for i in range(40)]
    assert first != second
    assert loader.epoch == 2
    loader.set_epoch(0)
    assert keys_of(loader) == first


def test_a_batch_holds_its_rows_as_the_samples_have_them(arrays):
    for batch in ps.Loader(arrays, batch_size=16, shuffle=True, fields=FIELDS):
        numbers = np.array([int(key) for key in batch["__key__"]])
        assert list(batch) == ["npy", "cls", "__key__", "__valid__"]
        np.testing.assert_array_equal(np.asarray(batch["npy"]), numbers[:, None] + np.arange(5))
        np.testing.assert_array_equal(np.asarray(batch["cls"]), numbers % 4)
        assert np.asarray(batch["__valid__"]).dtype == bool


def test_leaving_a_for_early_begins_the_next_epoch(arrays):
    loader = ps.Loader(arrays, batch_size=8, shuffle=True, fields=FIELDS)
    epochs = [keys_of(loader) for _ in range(3)]
    loader.set_epoch(0)
    for _ in loader:
        break
    assert keys_of(loader) == epochs[1]
    iter(loader)  # took nothing: begins nothing
    assert keys_of(loader) == epochs[2]


def test_an_iterator_ends_once_and_gives_way_to_a_later_one(arrays):
    loader = ps.Loader(arrays, batch_size=40, fields=FIELDS)
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
    with pytest.warns(UserWarning, match="about 16 samples share one; shuffle_block=16 shuffles blocks"):
        loader = ps.Loader(tmp_path / "x.h5", shuffle=True, block_cache=100)
    assert "shuffle_block=16" in loader.stats()["notes"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ps.Loader(tmp_path / "x.h5", shuffle=True, block_cache=100, shuffle_block=16)
        with pytest.raises(UserWarning, match="full shuffle"):
            ps.Loader(tmp_path / "x.h5", shuffle=True, block_cache=100)


def test_any_batch_is_rebuilt_without_moving(arrays):
    loader = ps.Loader(arrays, batch_size=8, shuffle=True, fields=FIELDS)
    iterator = iter(loader)
    second = (next(iterator), next(iterator))[1]
    again = loader.at(0, 1)
    assert again["__key__"] == second["__key__"]
    np.testing.assert_array_equal(np.asarray(again["npy"]), np.asarray(second["npy"]))
    del second, again
    assert len(list(batch["__key__"] for batch in iterator)) == 3
    with pytest.raises(ps.Error, match="epoch of 5"):
        loader.at(0, 5)


def test_explain_tells_what_a_row_was_made_of(icons):
    crop = ps.image.random_resized_crop(24) | ps.image.random_flip() | ps.image.channels_last()
    loader = ps.Loader(icons, batch_size=8, shuffle=True, seed=4, fields={"png": crop, "cls": ps.label()})
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
    with pytest.raises(ps.Error, match="row 8 of a batch of 8"):
        loader.explain(2, 3, 8)


def test_what_does_not_fill_a_batch(arrays):
    def sizes(**options):
        return [len(b["__key__"]) for b in ps.Loader(arrays, batch_size=16, fields=FIELDS, **options)]

    assert sizes() == [16, 16, 8]
    assert sizes(drop_last=True) == sizes(last="drop") == [16, 16]
    assert sizes(last="pad") == [16, 16, 16]
    batches = ps.Loader(arrays, batch_size=16, fields=FIELDS, last="pad")
    assert sum(int(np.asarray(batch["__valid__"]).sum()) for batch in batches) == 40


def test_ranks_share_an_epoch(arrays):
    seen = [keys_of(ps.Loader(arrays, batch_size=5, shuffle=True, fields=FIELDS, rank=r, world=4)) for r in range(4)]
    assert sorted(sum(seen, [])) == [f"{i:03}" for i in range(40)]


def test_rank_and_world_come_from_the_environment_only_when_asked(arrays, monkeypatch):
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    asked = ps.Loader(arrays, batch_size=20, fields=FIELDS, rank="env")
    assert keys_of(asked) == [f"{i:03}" for i in range(20, 40)]
    assert "rank 1 of 2 from RANK and WORLD_SIZE" in asked.stats()["notes"]
    assert "RANK and WORLD_SIZE" in str(asked.stats())
    assert len(ps.Loader(arrays, batch_size=20, fields=FIELDS)) == 2
    with pytest.raises(ps.Error, match="leave world out"):
        ps.Loader(arrays, fields=FIELDS, rank="env", world=2)
    monkeypatch.delenv("RANK")
    with pytest.raises(ps.Error, match="no launcher"):
        ps.Loader(arrays, fields=FIELDS, rank="env")


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"batch_size": 0}, "batch_size"),
        ({"last": "all"}, "last"),
        ({"last": "pad", "drop_last": True}, "drop_last"),
        ({"on_error": "skip"}, "on_error"),
        ({"missing": "no"}, "missing"),
        ({"engine": "magic"}, "magic"),
        ({"rank": "first"}, "rank"),
        ({"rank": 2, "world": 2}, "rank"),
        ({"timeout": -1}, "timeout"),
        ({"timeout": float("nan")}, "timeout"),
        ({"fields": {"cls": "label"}}, "cls"),
        ({"fields": {"__key__": ps.label()}}, "__key__"),
        ({"fields": {"nope": ps.label()}}, "nope"),
        ({"fields": {"npy": ps.image.decode() | ps.field("npy")}}, "must come first"),
        ({"classes": ["a"]}, "classes"),
    ],
)
def test_wrong_options_raise_and_name_the_option(arrays, options, text):
    with pytest.raises(ps.Error, match=text) as raised:
        ps.Loader(arrays, **{"fields": FIELDS, **options})
    assert raised.value.kind in ("invalid_argument", "shape")


def test_options_are_keyword_only_and_known(arrays):
    with pytest.raises(TypeError):
        ps.Loader(arrays, 64)
    with pytest.raises(TypeError):
        ps.Loader(arrays, batchsize=64)


def test_classes_must_be_the_datasets_own(icons):
    names = ps.open(icons).classes
    assert len(ps.Loader(icons, fields={"cls": ps.label()}, classes=names)) > 0
    with pytest.raises(ps.Error, match="number 0 is"):
        ps.Loader(icons, fields={"cls": ps.label()}, classes=list(reversed(names)))
    with pytest.raises(ps.Error, match=f"has {len(names)}"):
        ps.Loader(icons, fields={"cls": ps.label()}, classes=names[:-1])


def test_an_empty_subset_is_an_error(arrays):
    with pytest.raises(ps.Error, match="subset is empty"):
        ps.Loader(arrays, fields=FIELDS, subset=[])


def test_a_subset_is_delivered_in_its_order(arrays):
    assert keys_of(ps.Loader(arrays, batch_size=4, fields=FIELDS, subset=[7, 3, 9])) == ["007", "003", "009"]


def test_a_closed_loader_says_so_and_its_batches_stay(arrays):
    with ps.Loader(arrays, batch_size=8, fields=FIELDS) as loader:
        batch = next(iter(loader))
    loader.close()
    for use in (lambda: len(loader), lambda: iter(loader), loader.stats, loader.state_dict):
        with pytest.raises(ps.Error, match="closed"):
            use()
    np.testing.assert_array_equal(np.asarray(batch["npy"])[3], np.arange(3, 8))


def test_stats_are_numbers_and_a_table(arrays):
    loader = ps.Loader(arrays, batch_size=8, fields=FIELDS, workers=2)
    keys_of(loader)
    stats = loader.stats()
    assert json.loads(json.dumps(stats)) == stats
    assert stats["samples"] == 40 and stats["batches"] == 5 and stats["workers"] == 2
    assert sum(stats["waited_for"].values()) == pytest.approx(stats["consumer_wait_s"], abs=1e-6)
    assert set(stats["stages"]) >= {"plan", "read", "decode", "transform", "deliver"}
    assert "stalled in" in str(stats)


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
    loader = ps.Loader(icons, batch_size=64, seed=9, workers=workers, fields={name: ps.raw() for name in names})
    loader_shuffled = ps.Loader(
        icons, batch_size=64, seed=9, shuffle=True, workers=workers, fields={name: ps.raw() for name in names}
    )
    assert expected in (digest_of(loader), digest_of(loader_shuffled))


def test_fast_decoding_differs_a_little_where_images_become_much_smaller(images):
    def pixels(*steps):
        chain = steps[0]
        for step in steps[1:]:
            chain = chain | step
        loader = ps.Loader(images, batch_size=20, fields={"jpg": chain}, workers=2)
        return np.concatenate([np.asarray(batch["jpg"]).astype(int) for batch in loader])

    fast = ps.image.decode(fast=True)
    assert repr(fast) == "image.decode(fast=True)" and repr(ps.image.decode(fast=False)) == "image.decode()"
    for size, bound in [(150, 3), (80, 4), (32, 4)]:  # at 1/2, 1/4 and 1/8 of the stored size
        exact, near = pixels(ps.image.resize((size, size))), pixels(fast, ps.image.resize((size, size)))
        assert 0 < np.abs(exact - near).mean() < bound
    same = ps.image.resize((600, 600))  # not half as large: nothing to gain
    assert np.array_equal(pixels(same), pixels(fast, same))
    drawn = [ps.image.random_resized_crop(48), ps.image.random_flip()]
    # draws are keyed by a step's place in its chain
    assert np.abs(pixels(ps.image.decode(), *drawn) - pixels(fast, *drawn)).mean() < 4
