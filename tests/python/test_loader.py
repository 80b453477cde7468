"""penstock.Loader: order, position, options, errors and stats, as a training script meets them."""

import gc
import itertools
import json
import os
import subprocess
import threading
import time
import warnings

import h5py
import numpy as np
import penstock as ps
import pytest
import xxhash
from PIL import Image

FIELDS = {"npy": ps.array.decode(), "cls": ps.label()}


def keys_of(loader):
    return [key for batch in loader for key in batch["__key__"]]


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


@pytest.mark.parametrize("load_after_iter", [False, True])
def test_a_saved_state_continues_at_the_next_batch(arrays, load_after_iter):
    options = {"batch_size": 8, "shuffle": True, "seed": 5, "fields": FIELDS}
    whole = ps.Loader(arrays, **options)
    epochs = [[batch["__key__"] for batch in whole] for _ in range(2)]
    saved = ps.Loader(arrays, **options)
    for number, _ in enumerate(saved):
        if number == 1:
            break
    state = json.loads(json.dumps(saved.state_dict()))
    restored = ps.Loader(arrays, **options)
    if load_after_iter:
        iterator = iter(restored)
        restored.load_state_dict(state)
        rest = [batch["__key__"] for batch in iterator]
    else:
        restored.load_state_dict(state)
        rest = [batch["__key__"] for batch in restored]
    assert rest == epochs[0][2:]
    assert [batch["__key__"] for batch in restored] == epochs[1]


def test_a_state_of_another_dataset_or_of_nothing_is_refused(arrays, icons):
    loader = ps.Loader(arrays, fields=FIELDS)
    with pytest.raises(ps.Error, match="dataset"):
        loader.load_state_dict(ps.Loader(icons, fields={"cls": ps.label()}).state_dict())
    with pytest.raises(ps.Error, match="loader state"):
        loader.load_state_dict({})


def test_a_state_of_another_order_is_refused_and_another_seed_or_chain_is_told(arrays):
    options = {"batch_size": 8, "shuffle": True, "fields": FIELDS}
    state = json.loads(json.dumps(ps.Loader(arrays, seed=7, shuffle_block=16, **options).state_dict()))
    loader = ps.Loader(arrays, **options)
    with pytest.raises(ps.Error, match="saved with shuffle_block=16, this loader has none") as raised:
        loader.load_state_dict(state)
    assert raised.value.kind == "invalid_argument"
    state = ps.Loader(arrays, seed=7, batch_size=8, shuffle=True, fields={"cls": ps.label()}).state_dict()
    with pytest.warns(UserWarning, match="its own seed=7, not with this loader's seed=0.*other codecs or transforms"):
        loader.load_state_dict(state)
    assert "seed=7" in loader.stats()["notes"]
    with pytest.warns(UserWarning, match="version 1, which does not say shuffle"):
        loader.load_state_dict({**state, "penstock_state": 1})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loader.load_state_dict({**ps.Loader(arrays, **options).state_dict(), "of a later penstock": [1]})
    assert loader.stats()["notes"] == ""
    with pytest.raises(ps.Error, match="version 3 was written by a newer penstock"):
        loader.load_state_dict({**state, "penstock_state": 3})


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


@pytest.fixture(name="broken")
def broken_fixture(tmp_path):
    for i in range(20):
        (tmp_path / f"{i:02}.cls").write_text("seven" if i == 13 else str(i))
    return tmp_path


def test_a_bad_sample_raises_with_its_context(broken):
    with pytest.raises(ps.Error) as raised:
        keys_of(ps.Loader(broken, batch_size=4, fields={"cls": ps.label()}))
    error = raised.value
    assert (error.kind, error.key, error.field) == ("corrupt", "13", "cls")
    assert error.dataset == str(broken) and "13" in str(error) and error.cause


def test_bad_samples_are_marked_or_replaced_and_listed(broken):
    for policy, valid in (("mark", 19), ("replace", 20)):
        loader = ps.Loader(broken, batch_size=4, fields={"cls": ps.label()}, on_error=policy, max_error_rate=0.5)
        assert sum(int(np.asarray(batch["__valid__"]).sum()) for batch in loader) == valid
        assert loader.stats()["bad_samples"] == 1
        assert loader.stats()["bad"][0]["key"] == "13"


def test_holding_more_than_held_names_held(long_arrays):
    with pytest.raises(ps.Error, match=r"held = 2 .*\.clone\(\).*held_max") as raised:
        list(ps.Loader(long_arrays, batch_size=4, fields=FIELDS, held=2))
    assert raised.value.kind == "resource"
    assert len(list(ps.Loader(long_arrays, batch_size=4, fields=FIELDS, held=10))) == 10


def test_held_max_lets_held_grow(long_arrays):
    def kept(**options):
        loader = ps.Loader(long_arrays, batch_size=4, fields=FIELDS, **options)
        bound = loader.stats()["slab_bytes"] + loader.stats()["held_max_bytes"]
        values = np.concatenate([batch["npy"] for batch in list(loader)])
        assert np.array_equal(values[:, 0], np.arange(40, dtype=np.float32))
        assert loader.stats()["slab_bytes"] <= bound
        return loader.stats()["slabs"]

    assert kept(held=2, held_max=10) > kept(held=10) - 10
    kept()
    with pytest.raises(ps.Error, match=r"held_max = 9 \(held = 4\)"):
        kept(held_max=9)
    with pytest.raises(ps.Error, match=r"held_max = 16 \(held = 4\)"):
        list(ps.Loader(long_arrays, batch_size=1, fields=FIELDS))
    with pytest.raises(ps.Error, match="held_max must be at least held"):
        kept(held=3, held_max=2)
    assert len(list(itertools.islice(ps.Loader(long_arrays, batch_size=1, fields=FIELDS, held_max=3), 3))) == 3


def test_small_rows_are_copies_that_hold_no_memory_of_the_loader(arrays, long_arrays):
    fields = {**FIELDS, "text": ps.field("cls") | ps.raw()}

    def loader(source=long_arrays):
        return ps.Loader(source, batch_size=4, fields=fields, held=2)

    labels, valid, text = [], [], []
    for batch in loader():
        labels.append(batch["cls"])
        valid.append(batch["__valid__"])
        text.append(batch["text"])
    assert np.concatenate(labels).tolist() == [i % 4 for i in range(40)]
    assert np.concatenate(valid).all()
    assert b"".join(rows[3].tobytes() for rows in text) == b"3" * 10
    assert len(list(loader(arrays))) == 10
    assert all((np.asarray(a["npy"]) == b["npy"]).all() for a, b in zip(loader(arrays), loader(arrays)))
    ordered = sorted(loader(arrays), key=lambda batch: -np.asarray(batch["npy"])[0, 0])
    assert [batch["__key__"][0] for batch in ordered] == [f"{i:03}" for i in range(36, -1, -4)]


def test_a_sum_over_ranks_is_asked_for_bad_samples_at_fixed_batches(arrays):
    asked = []

    def summed(number):
        asked.append(number)
        return number

    options = {"batch_size": 1, "fields": FIELDS, "on_error": "mark", "world": 2}
    assert "sum_over_ranks" in ps.Loader(arrays, **options, rank=0).stats()["notes"]
    loader = ps.Loader(arrays, **options, rank=0, sum_over_ranks=summed)
    assert "sum_over_ranks" not in loader.stats()["notes"]
    for _ in loader:
        pass
    assert asked == [0] * -(-len(loader) // 16)

    def fails(number):
        raise KeyError("no such group")

    with pytest.raises(KeyError, match="no such group"):
        list(batch["__key__"] for batch in ps.Loader(arrays, **options, rank=0, sum_over_ranks=fails))
    with pytest.raises(ps.Error, match="is a function of a number"):
        ps.Loader(arrays, sum_over_ranks=3)
    own = ps.Loader(arrays, **options, rank=0, sum_over_ranks=lambda number: len(own))
    with pytest.raises(ps.Error, match="sum_over_ranks cannot use a loader"):
        list(batch["__key__"] for batch in own)


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


def test_threads_may_share_an_epoch(arrays):
    loader = ps.Loader(arrays, batch_size=1, fields=FIELDS, held=8)
    iterator, seen = iter(loader), []

    def take():
        for batch in iterator:
            seen.append(batch["__key__"][0])

    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(seen) == [f"{i:03}" for i in range(40)]


@pytest.fixture(name="slow", scope="session")
def slow_fixture(tmp_path_factory):
    """64 rows in one compressed chunk of 64 MiB, which a loader without a block cache undoes for every row."""
    path = tmp_path_factory.mktemp("data") / "slow.h5"
    with h5py.File(path, "w") as file:
        shape = (64, 1 << 20)
        file.create_dataset("x", shape, np.uint8, np.zeros(shape, np.uint8), chunks=shape, compression="gzip")
    return path


def slow_loader(path, **options):
    return ps.Loader(path, batch_size=64, workers=1, block_cache=0, fields={"x": ps.array.decode()}, **options)


def test_a_timeout_ends_a_wait_and_names_what_is_under_way(slow):
    began = time.monotonic()
    with pytest.raises(ps.Error, match="no batch within 120 ms.*slabs free") as raised:
        next(iter(slow_loader(slow, timeout=0.12)))
    assert raised.value.kind == "resource" and time.monotonic() - began < 1


def test_close_ends_the_wait_of_another_thread(slow):
    loader = slow_loader(slow)
    timer = threading.Timer(0.1, loader.close)
    timer.start()
    began = time.monotonic()
    with pytest.raises(ps.Error, match="closed"):
        next(iter(loader))
    assert time.monotonic() - began < 1
    timer.join()


def test_stats_do_not_wait_for_the_thread_that_waits(slow):
    loader = slow_loader(slow)
    iterator = iter(loader)
    waiting = threading.Thread(target=lambda: pytest.raises(ps.Error, next, iterator))
    waiting.start()
    time.sleep(0.1)
    began = time.monotonic()
    assert loader.stats()["batches"] == 0
    assert time.monotonic() - began < 0.1
    loader.close()
    waiting.join()


def test_a_wait_lets_other_threads_run(slow):
    loader, ticks = slow_loader(slow), 0

    def wait():
        with pytest.raises(ps.Error):
            next(iter(loader))

    waiting = threading.Thread(target=wait)
    waiting.start()
    end = time.monotonic() + 0.2
    while time.monotonic() < end:
        ticks += 1
        time.sleep(0.001)
    loader.close()
    waiting.join()
    assert ticks > 50


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


def process_figures():
    with open("/proc/self/statm", encoding="ascii") as file:
        resident = int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return len(os.listdir("/proc/self/task")), resident


def test_two_thousand_loaders_leave_neither_threads_nor_memory(arrays):
    dataset = ps.open(arrays)
    kept = None

    def make(count):
        nonlocal kept
        for i in range(count):
            loader = ps.Loader(dataset, batch_size=8, fields=FIELDS, workers=2, shuffle=True, seed=i)
            if i % 4:
                kept = next(iter(loader))["npy"]  # outlives its loader
        del loader
        gc.collect()

    make(200)
    threads, memory = process_figures()
    began = time.monotonic()
    make(2000)
    threads_after, memory_after = process_figures()
    print(f"{(time.monotonic() - began) / 2000 * 1e3:.2f} ms a loader, {(memory_after - memory) / 1e6:.1f} MB more")
    assert threads_after <= threads
    assert memory_after - memory < 16e6
    assert np.asarray(kept).shape == (8, 5)


@pytest.mark.parametrize("cache", ["encoded", "decoded"])
def test_a_cache_gives_the_same_batches_and_is_counted(icons, cache):
    fields = {"png": ps.image.random_flip() | ps.image.normalize([0.5] * 3, [0.2] * 3), "cls": ps.label()}
    options = {"batch_size": 32, "shuffle": True, "seed": 4, "workers": 2, "fields": fields}
    plain = ps.Loader(icons, **options)
    kept = ps.Loader(icons, cache=cache, cache_bytes=16 << 20, **options)
    for _ in range(3):
        for expected, batch in zip(plain, kept, strict=True):
            assert np.array_equal(np.asarray(expected["png"]), np.asarray(batch["png"]))
            assert np.array_equal(np.asarray(expected["cls"]), np.asarray(batch["cls"]))
    told = kept.stats()["cache"]
    assert told["kind"] == cache and told["hits"] >= 4 * len(ps.open(icons)) - 1000
    assert 0 < told["used_bytes"] <= told["reserved_bytes"] <= 16 << 20
    assert "cache       " + cache in str(kept.stats())
    assert plain.stats()["cache"]["kind"] == "none"
    for wrong in [{"cache": "both"}, {"cache": cache, "cache_bytes": 100}]:
        with pytest.raises(ps.Error) as raised:
            ps.Loader(icons, **wrong, **options)
        assert raised.value.kind == "invalid_argument"


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
