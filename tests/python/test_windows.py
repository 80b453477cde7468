"""ps.window(): rows are the steps that docs/spec/windows.md defines, decoded as Pillow does and never of another group."""

import json
import pickle
import random
import re
import warnings

import numpy as np
import penstock as ps
import pytest
from command import run
from PIL import Image
from window_model import Window

LENGTHS = [7, 1, 12, 3, 9]  # steps of each episode
SIZE = (8, 10)  # height and width
OFFSETS = [-3, -1, 0, 2]
BY_KEY = r"^([^/]+)/"


def names():
    return [(f"ep{episode}", step) for episode, length in enumerate(LENGTHS) for step in range(length)]


KEYS = [f"{episode}/{step:03}" for episode, step in names()]
GROUPS = [episode for episode, _ in names()]
NUMBER = {key: number for number, key in enumerate(KEYS)}
BROKEN = NUMBER["ep2/005"]


def write_samples(folder):
    draw = np.random.default_rng(1)
    for key, (episode, step) in zip(KEYS, names()):
        (folder / key).parent.mkdir(exist_ok=True, parents=True)
        pixels = draw.integers(0, 256, (*SIZE, 3), np.uint8)
        Image.fromarray(pixels).save(folder / f"{key}.png")
        Image.fromarray(pixels[..., 0]).save(folder / f"{key}.seg.png")
        np.save(folder / f"{key}.npy", np.full((2,), NUMBER[key], np.float32))
        told = {"episode": episode, "t": 10.0 * step, "back": -step}
        (folder / f"{key}.json").write_text(json.dumps(told))
        (folder / f"{key}.cls").write_text(str(NUMBER[key]))


@pytest.fixture(name="folder", scope="module")
def folder_fixture(tmp_path_factory):
    folder = tmp_path_factory.mktemp("windows") / "in"
    write_samples(folder)
    return folder


@pytest.fixture(name="packed", scope="module")
def packed_fixture(folder):
    ps.pack(folder, folder.parent / "packed", format="tar", progress=False)
    return ps.open(folder.parent / "packed")


@pytest.fixture(name="frames", scope="module")
def frames_fixture(folder):
    """By number, (C, H, W), as Pillow decodes them."""
    return np.stack([np.asarray(Image.open(folder / f"{key}.png")).transpose(2, 0, 1) for key in KEYS])


def window(field="png", offsets=OFFSETS, group=BY_KEY, **more):
    return ps.window(field, offsets=offsets, group=group, **more)


def fields_of(clip=None):
    return {"clip": clip or window(), "cls": ps.label(), "inside": ps.follow("clip") | ps.window_valid()}


def rows_of(loader, epochs=1):
    """Of each valid row, its sample, and copies of what it has."""
    rows = []
    for _ in range(epochs):
        for batch in loader:
            for row in np.flatnonzero(np.asarray(batch["__valid__"])):
                values = {name: np.array(np.asarray(batch[name])[row]) for name in ("clip", "inside") if name in batch}
                rows.append((NUMBER[batch["__key__"][row]], values))
    return rows


def check(rows, model, frames):
    for sample, values in rows:
        steps = model.row(sample)
        assert {GROUPS[step] for step, _ in steps} == {GROUPS[sample]}
        assert np.array_equal(values["clip"], frames[[step for step, _ in steps]])
        if "inside" in values:
            assert values["inside"].tolist() == [inside for _, inside in steps]


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("engine", ["inline", "mmap", "pread", "auto"])
@pytest.mark.parametrize("group", [BY_KEY, "json:episode"])
def test_rows_are_the_steps_of_the_page(packed, frames, group, engine, shuffle):
    chain = window(group=group)
    loader = ps.Loader(
        packed,
        batch_size=5,
        shuffle=shuffle,
        seed=2,
        read_options=ps.ReadOptions(engine=engine),
        transforms=fields_of(chain),
        workers=2,
    )
    rows = rows_of(loader)
    assert sorted(sample for sample, _ in rows) == list(range(len(KEYS)))
    assert rows[0][1]["clip"].shape == (4, 3, *SIZE)
    check(rows, Window(GROUPS, OFFSETS), frames)


def test_all_samples_are_one_group_without_one(packed, frames):
    loader = ps.Loader(packed, batch_size=8, transforms={"clip": ps.window("png", offsets=[-1, 0, 1])})
    for sample, values in rows_of(loader):
        steps = [min(max(sample + offset, 0), len(KEYS) - 1) for offset in (-1, 0, 1)]
        assert np.array_equal(values["clip"], frames[steps])


@pytest.mark.parametrize("world", [1, 2, 3, 8])
def test_all_ranks_have_every_whole_window_once(packed, frames, world):
    model = Window(GROUPS, OFFSETS, "drop")
    whole = [sample for sample in range(len(KEYS)) if model.serves(sample)]
    rows = []
    for rank in range(world):
        fields = fields_of(window(edge="drop"))
        loader = ps.Loader(packed, batch_size=3, shuffle=True, seed=4, transforms=fields, rank=rank, world_size=world)
        assert loader.stats()["excluded_samples"] == len(KEYS) - len(whole)
        rows += rows_of(loader)
    assert sorted(sample for sample, _ in rows) == whole
    assert all(values["inside"].all() for _, values in rows)
    check(rows, model, frames)


def test_order_by_a_number(packed, frames):
    back = [-step for _, step in names()]
    loader = ps.Loader(packed, batch_size=4, transforms=fields_of(window(order_by="json:back")))
    check(rows_of(loader), Window(GROUPS, OFFSETS, order_by=back), frames)


@pytest.mark.parametrize("edge", ["pad", "drop"])
def test_offsets_of_a_timestamp(packed, frames, edge):
    offsets = [-25, -10, -0.5, 0, 14.9]
    times = [10.0 * step for _, step in names()]
    model = Window(GROUPS, offsets, edge, at=times)
    loader = ps.Loader(
        packed, batch_size=4, shuffle=True, transforms=fields_of(window(offsets=offsets, at="json:t", edge=edge))
    )
    rows = rows_of(loader)
    assert sorted(sample for sample, _ in rows) == [sample for sample in range(len(KEYS)) if model.serves(sample)]
    check(rows, model, frames)


def write_sensors(folder):
    """A camera every 100 ms and a laser every 70, samples of one dataset, in two drives."""
    for drive in ("a", "b"):
        for number in range(9):
            time = 100 * number + 3
            (folder / f"{drive}-{time:05}-camera.json").write_text(json.dumps({"drive": drive, "t": time}))
            (folder / f"{drive}-{time:05}-camera.cls").write_text(str(time))
        for number in range(11):
            time = 70 * number
            (folder / f"{drive}-{time:05}-laser.json").write_text(json.dumps({"drive": drive, "t": time}))
            np.save(folder / f"{drive}-{time:05}-laser.npy", np.array([time], np.int64))


@pytest.mark.parametrize("at", [None, "json:t"])
def test_fields_of_other_rates_are_joined(tmp_path, at):
    write_sensors(tmp_path)
    offsets = [-150, 0] if at else [-2, 0]
    sweeps = ps.window("npy", offsets=offsets, group="json:drive", order_by=None if at else "json:t", at=at)
    fields = {"camera": ps.field("cls") | ps.label(), "sweeps": sweeps}
    loader = ps.Loader(tmp_path, batch_size=4, shuffle=True, missing="exclude", transforms=fields)
    met = 0
    for batch in loader:
        for time, row in zip(np.asarray(batch["camera"]), np.asarray(batch["sweeps"])[..., 0]):
            last = min(time // 70, 10)
            wanted = [max(0, min((time - 150) // 70, 10)), last] if at else [max(0, last - 2), last]
            assert row.tolist() == [70 * number for number in wanted]
            met += 1
    assert met == 18


def test_a_row_is_drawn_alike_and_another_row_for_itself(folder, tmp_path):
    pixels = np.random.default_rng(3).integers(0, 256, (64, 64, 3), np.uint8)
    for key in KEYS:
        (tmp_path / key).parent.mkdir(exist_ok=True)
        Image.fromarray(pixels).save(tmp_path / f"{key}.png")
    fields = {"clip": window() | ps.image.random_resized_crop(16) | ps.image.random_horizontal_flip()}
    loader = ps.Loader(tmp_path, batch_size=8, transforms=fields, shuffle=True)
    rows = [values["clip"] for _, values in rows_of(loader, epochs=2)]
    assert all(np.array_equal(step, row[0]) for row in rows for step in row)
    assert len({row[0].tobytes() for row in rows}) > 1.8 * len(KEYS)


def test_draws_are_those_of_the_rows_sample(packed, frames):
    """A row of one step, 0, is the chain of the sample alone, whatever other rows read the same frame."""
    chain = ps.image.random_resized_crop(6) | ps.image.random_horizontal_flip()
    options = {"batch_size": 16, "shuffle": True, "seed": 9}
    alone = ps.Loader(packed, transforms={"clip": ps.field("png") | chain}, **options)
    rows = ps.Loader(packed, transforms={"clip": ps.window("png", offsets=[-1, 0], group=BY_KEY) | chain}, **options)
    for (sample, one), (other, row) in zip(rows_of(alone), rows_of(rows)):
        assert sample == other
        assert np.array_equal(one["clip"], row["clip"][1])


def test_followers_take_the_steps_of_what_they_follow(packed, folder):
    fields = {
        "clip": window() | ps.image.random_crop(6) | ps.image.random_horizontal_flip(),
        "mask": ps.follow("clip") | ps.field("seg.png"),
    }
    for batch in ps.Loader(packed, batch_size=4, transforms=fields, shuffle=True):
        masks = np.asarray(batch["mask"])
        assert np.array_equal(
            masks.reshape(np.asarray(batch["clip"])[:, :, 0].shape), np.asarray(batch["clip"])[:, :, 0]
        )


def test_several_windows_and_arrays(packed):
    fields = {
        "actions": window("npy", offsets=[1, 2]),
        "state": window("npy", offsets=[-1, 0]),
        "npy": ps.array.decode(),
        "label": ps.window("cls", offsets=[0, 1], group=BY_KEY) | ps.label(),
    }
    for batch in ps.Loader(packed, batch_size=7, transforms=fields, shuffle=True):
        for row, key in enumerate(batch["__key__"]):
            for name, offsets in (("actions", [1, 2]), ("state", [-1, 0])):
                steps = [step for step, _ in Window(GROUPS, offsets).row(NUMBER[key])]
                assert np.asarray(batch[name])[row, :, 0].tolist() == steps
            steps = [step for step, _ in Window(GROUPS, [0, 1]).row(NUMBER[key])]
            assert np.asarray(batch["label"])[row].tolist() == steps
            assert np.asarray(batch["npy"])[row, 0] == NUMBER[key]


@pytest.mark.parametrize("engine", ["inline", "mmap", "pread", "auto"])
@pytest.mark.parametrize("field", ["png", "npy"])
def test_a_value_is_read_once_for_a_batch(packed, field, engine):
    """Whatever rows, windows and steps ask for it: one batch of all samples reads all values once."""
    fields = {
        "clip": window(field, offsets=list(range(-7, 1))),
        "pair": window(field, offsets=[0, 1]),
        field: ps.array.decode() if field == "npy" else ps.image.decode(),
    }
    alone = ps.Loader(
        packed,
        batch_size=len(KEYS),
        read_options=ps.ReadOptions(engine=engine),
        transforms={field: fields[field]},
        checksums="off",
    )
    rows = ps.Loader(
        packed, batch_size=len(KEYS), read_options=ps.ReadOptions(engine=engine), transforms=fields, checksums="off"
    )
    read = [next(iter(loader)) is not None and loader.stats()["stored_bytes"] for loader in (alone, rows)]
    assert read[0] == read[1] > 0


@pytest.mark.parametrize("world", [1, 2, 3, 8])
def test_resumed_anywhere_and_on_other_worlds(packed, world):
    fields = {"clip": window("npy", edge="drop"), "cls": ps.label()}
    options = {"batch_size": 2, "shuffle": True, "seed": 5, "transforms": fields, "last_batch": "pad"}
    loaders = [ps.Loader(packed, rank=rank, world_size=world, **options) for rank in range(world)]
    whole = [[np.array(np.asarray(batch["clip"])) for batch in loader] for loader in loaders]
    draw = random.Random(world)
    for _ in range(20):
        rank, number = draw.randrange(world), draw.randrange(len(whole[0]))
        state = {**loaders[rank].state_dict(), "epoch": 0, "batch": number}
        again = ps.Loader(packed, rank=rank, world_size=world, **options)
        again.load_state_dict(state)
        for expected, batch in zip(whole[rank][number:], again):
            assert np.array_equal(expected, np.asarray(batch["clip"]))
    # what is left of an epoch, on another world
    number = len(whole[0]) // 2
    state = {**loaders[0].state_dict(), "epoch": 0, "batch": number}
    delivered = sorted(row[0, 0] for rank in whole for batch in rank[:number] for row in batch)
    for rank in range(3):
        other = ps.Loader(packed, rank=rank, world_size=3, **options)
        other.load_state_dict(state)
        for batch in other:
            valid = np.flatnonzero(np.asarray(batch["__valid__"]))
            delivered += [row[0, 0] for row in np.asarray(batch["clip"])[valid]]
    model = Window(GROUPS, OFFSETS, "drop")
    assert sorted(delivered) == sorted(model.row(sample)[0][0] for sample in range(len(KEYS)) if model.serves(sample))


def digest(loader):
    return [(batch["__key__"], np.array(np.asarray(batch["clip"])).tobytes()) for batch in loader]


@pytest.mark.parametrize("chain", [ps.image.resize((6, 6)), ps.image.random_crop(5)])
def test_bytes_do_not_depend_on_how_they_are_made(packed, folder, chain):
    fields = {"clip": window() | chain | ps.image.normalize((0.5,) * 3, (0.2,) * 3), "cls": ps.label()}
    options = {"batch_size": 6, "shuffle": True, "seed": 1, "transforms": fields}
    one = ps.Loader(packed, workers=1, **options)
    expected = [digest(one), digest(one)]
    for more in (
        {"workers": 3, "prefetch": 4},
        {"workers": 2, "max_workers": 8},
        {"cache": "encoded"},
        {"cache": "decoded"},
        {"read_options": ps.ReadOptions(engine="pread")},
        {"read_options": ps.ReadOptions(engine="pread", direct_io=True)},
        {"read_options": ps.ReadOptions(engine="inline")},
        {"read_options": ps.ReadOptions(engine="mmap")},
        {"checksums": "always"},
        {"checksums": "off"},
        {"read_options": ps.ReadOptions(read_ahead_bytes=4096, engine="pread")},
        {"on_error": "mark"},
        {"on_error": "replace"},
        {"device": "host"},
        {"device": "host", "device_options": ps.DeviceOptions(gpu_jpeg=1.0)},
        {"device": "host", "device_options": ps.DeviceOptions(gpu_direct=True)},
    ):
        loader = ps.Loader(packed, **{"workers": 2, **options, **more})
        assert [digest(loader), digest(loader)] == expected, more
    at = ps.Loader(packed, **options)
    assert (at.at(0, 2)["__key__"], np.asarray(at.at(0, 2)["clip"]).tobytes()) == expected[0][2]
    assert digest(ps.Loader(folder, **options)) == expected[0]


def test_views_and_subsets(packed, frames):
    view = packed.filter(keys="ep[024]/*")
    groups = [GROUPS[NUMBER[key]] for key in view.keys]
    loader = ps.Loader(view, batch_size=4, transforms=fields_of(window(edge="drop")))
    model = Window(groups, OFFSETS, "drop")
    of = [NUMBER[key] for key in view.keys]
    rows = rows_of(loader)
    assert [sample for sample, _ in rows] == [of[i] for i in range(len(of)) if model.serves(i)]
    check(rows, Window(GROUPS, OFFSETS), frames)
    subset = ps.Loader(packed, batch_size=4, transforms=fields_of(), sampler=ps.sampler.subset([5, 30, 5]))
    rows = rows_of(subset)
    assert [sample for sample, _ in rows] == [5, 30, 5]
    check(rows, Window(GROUPS, OFFSETS), frames)


def test_samples_that_come_twice_are_drawn_for_anew(packed):
    fields = {"clip": window() | ps.image.random_crop((4, 5)), "plain": window() | ps.image.center_crop(6)}
    rows = {}
    for batch in ps.Loader(
        packed, batch_size=8, shuffle=True, transforms=fields, sampler=ps.sampler.repeated([2] * len(KEYS))
    ):
        for row, key in enumerate(batch["__key__"]):
            rows.setdefault(key, []).append([np.array(np.asarray(batch[name])[row]) for name in fields])
    assert all(len(twice) == 2 and np.array_equal(twice[0][1], twice[1][1]) for twice in rows.values())
    assert sum(not np.array_equal(twice[0][0], twice[1][0]) for twice in rows.values()) > 0.7 * len(KEYS)


def test_a_mixtures_windows_stay_in_their_source(packed, frames):
    mixture = ps.mixture({"x": packed.take(10), "y": packed.skip(10)}, {"x": 0.5, "y": 0.5}, stop=60)
    loader = ps.Loader(
        mixture, batch_size=4, shuffle=True, transforms={"clip": ps.window("cls", offsets=[-30, 0, 30]) | ps.label()}
    )
    met = set()
    for batch in loader:
        for source, row in zip(np.asarray(batch["__source__"]), np.asarray(batch["clip"])):
            assert [row[0], row[2]] == ([0, 9] if source == 0 else [10, len(KEYS) - 1])
            met.add(int(source))
    assert met == {0, 1}


@pytest.fixture(name="broken", scope="module")
def broken_fixture(tmp_path_factory):
    folder = tmp_path_factory.mktemp("broken")
    write_samples(folder)
    value = (folder / "ep2/005.png").read_bytes()
    (folder / "ep2/005.png").write_bytes(value[:60] + bytes(20) + value[80:])
    return folder


@pytest.mark.parametrize("draws", [False, True])
def test_a_broken_step_is_told_with_its_key(broken, draws):
    fields = {"clip": window() | (ps.image.random_crop(4) if draws else ps.image.resize((4, 4)))}
    with pytest.raises(ps.Error, match="ep2/005") as told:
        for _ in ps.Loader(broken, batch_size=4, transforms=fields):
            pass
    assert told.value.field == "png"


@pytest.mark.parametrize("draws", [False, True])
def test_rows_with_a_broken_step_are_marked_or_replaced(broken, frames, draws):
    chain = window() | (ps.image.random_crop(4) if draws else ps.image.decode())
    model = Window(GROUPS, OFFSETS)
    bad = [sample for sample in range(len(KEYS)) if BROKEN in [step for step, _ in model.row(sample)]]
    options = {"batch_size": 5, "max_errors": 1.0, "transforms": {"clip": chain, "cls": ps.label()}}
    marked = ps.Loader(broken, on_error="mark", **options)
    for batch in marked:
        for key, valid, row in zip(batch["__key__"], np.asarray(batch["__valid__"]), np.asarray(batch["clip"])):
            assert bool(valid) == (NUMBER[key] not in bad)
            assert valid or not row.any()
    told = marked.stats()
    assert told["bad_samples"] == len(bad)
    replaced = ps.Loader(broken, on_error="replace", shuffle=True, **options)
    for batch in replaced:
        for key, label, row in zip(batch["__key__"], np.asarray(batch["cls"]), np.asarray(batch["clip"])):
            assert NUMBER[key] not in bad
            assert label == NUMBER[key]
            if not draws:
                assert np.array_equal(row, frames[[step for step, _ in model.row(NUMBER[key])]])
    assert replaced.stats()["bad_samples"] == len(bad)
    again = ps.Loader(broken, on_error="replace", shuffle=True, workers=1, **options)
    assert digest(again) == digest(ps.Loader(broken, on_error="replace", shuffle=True, workers=4, **options))


@pytest.mark.parametrize("batch_size", [4, len(KEYS)])
@pytest.mark.parametrize("engine", ["inline", "pread"])
def test_a_broken_field_breaks_only_rows_that_have_it(folder, tmp_path, engine, batch_size):
    """Also where its sample is read at once for rows that have another field of it: its checksum tells."""
    ps.pack(folder, tmp_path / "packed", format="tar", progress=False)
    (shard,) = (tmp_path / "packed").glob("*.tar")
    value, stored = np.full((2,), BROKEN, np.float32).tobytes(), shard.read_bytes()
    assert stored.count(value) == 1
    shard.write_bytes(stored.replace(value, np.full((2,), -1, np.float32).tobytes()))
    last = window("cls", offsets=[-1, 0]) | ps.label()
    fields = {"next": window("npy", offsets=[1, 2]), "last": last, "cls": ps.label()}
    options = {
        "batch_size": batch_size,
        "on_error": "mark",
        "max_errors": 1.0,
        "read_options": ps.ReadOptions(engine=engine),
    }
    bad = [sample for sample in range(len(KEYS)) if BROKEN in [step for step, _ in Window(GROUPS, [1, 2]).row(sample)]]
    marked = []
    for batch in ps.Loader(tmp_path / "packed", transforms=fields, **options):
        marked += [NUMBER[key] for key, valid in zip(batch["__key__"], np.asarray(batch["__valid__"])) if not valid]
    assert marked == bad


def test_states_name_the_window(packed):
    first = ps.Loader(packed, transforms={"clip": window()})
    state = first.state_dict()
    written = 'clip = window("png", offsets=[-3, -1, 0, 2]'
    assert written.replace('"', '\\"') in json.dumps(state)
    other = ps.Loader(packed, transforms={"clip": window(offsets=[0, 1])})
    with pytest.warns(
        UserWarning, match=r"was made with clip = window\(.*\), this loader has clip = window\(.*\): the"
    ) as told:
        other.load_state_dict(state)
    assert len(told) == 1 and "the order is the same, but rows have other contents" in str(told[0].message)
    assert written in str(told[0].message) and "transforms" not in str(told[0].message)
    same = ps.Loader(packed, transforms={"clip": window()})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        same.load_state_dict(state)


def test_states_of_windows_that_leave_out_other_samples_are_refused_by_name(packed):
    def of(**options):
        return ps.Loader(packed, transforms={"clip": window(**options), "cls": ps.label()}, batch_size=4)

    def refused(loader, saved):
        with pytest.raises(ps.Error) as told:
            loader.load_state_dict(saved)
        return told.value.cause

    dropped = of(offsets=[0, 1], edge="drop").state_dict()
    for options, state in (
        ({"offsets": [-1, 0], "edge": "drop"}, dropped),  # as many samples
        ({"offsets": [0, 2], "edge": "drop"}, dropped),
        ({"offsets": [0, 1]}, dropped),
        ({"offsets": [0, 1], "edge": "drop"}, of(offsets=[0, 1]).state_dict()),
    ):
        cause = refused(of(**options), state)
        assert cause.count("clip = window(") == 2 and cause.endswith("samples have rows, so the order differs")
    plain = ps.Loader(packed, transforms={"cls": ps.label()}, batch_size=4)
    assert "this loader has no windows" in refused(plain, dropped)
    assert "the state was saved with no windows" in refused(of(edge="drop"), plain.state_dict())


def test_explain_names_every_frame(packed):
    loader = ps.Loader(packed, batch_size=4, transforms=fields_of(window() | ps.image.random_crop(6)))
    told = loader.explain(0, 2, 1)
    sample = NUMBER[told["key"]]
    steps = Window(GROUPS, OFFSETS).row(sample)
    frames = told["outputs"]["clip"]["frames"]
    assert [(frame["key"], frame["inside"]) for frame in frames] == [(KEYS[step], inside) for step, inside in steps]
    assert len({str(frame["steps"]) for frame in frames}) == 1
    assert "inside" not in told["outputs"]


def test_show_lists_the_frames_also_from_a_state(packed, folder, tmp_path):
    chain = f"window('png', offsets=[-1, 0, 1], group='{BY_KEY}', edge='drop')"
    loader = ps.Loader(
        packed, batch_size=4, seed=3, shuffle=True, transforms={"clip": window(offsets=[-1, 0, 1], edge="drop")}
    )
    told = loader.explain(0, 1, 2)
    (tmp_path / "state.json").write_text(json.dumps({**loader.state_dict(), "epoch": 0, "batch": 1}))
    options = ["--seed", 3, "--shuffle", "--batch", 1, "--batch-size", 4, "--fields", f"clip={chain}"]
    for given in (options, ["--state", tmp_path / "state.json"]):
        shown = run("inspect", folder.parent / "packed", "--row", 2, *given).stdout.decode()
        frames = re.findall(r"^ +frame \d+ +(\S+), png", shown, re.M)
        assert frames == [frame["key"] for frame in told["outputs"]["clip"]["frames"]]


def test_chains_are_written_pickled_and_composed():
    chain = ps.window("png|jpg", offsets=range(-1, 2), group="a(b)", edge="drop", at=None) | ps.image.resize((4, 4))
    assert repr(chain).startswith('window("png|jpg", offsets=[-1, 0, 1], group="a(b)", edge="drop") | image.resize(4')
    assert repr(pickle.loads(pickle.dumps(chain))) == repr(chain)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: ps.window("png", offsets=[]), "offsets must not be empty"),
        (lambda: ps.window("png", offsets=[0.5]), "must be a whole number of steps"),
        (lambda: ps.window("png", offsets=[1e300]), "larger than any group"),
        (lambda: ps.window("png", offsets=[float("nan")], at="json:t"), "offsets must be finite"),
        (lambda: ps.window("png", offsets=[0] * 70000), "at most 65536"),
        (lambda: ps.window("png", offsets=[0], edge="wrap"), "edge must be"),
        (lambda: ps.window("png", offsets=[0], order_by="json:t", at="json:t"), "cannot be combined with order_by"),
    ],
)
def test_windows_that_make_no_sense(make, said):
    with pytest.raises(ps.Error, match=said):
        make()


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"clip": window(group="drive")}, 'no field "drive"'),
        ({"clip": window(group="json:drive")}, 'no member "drive"'),
        ({"clip": window(group="(unclosed")}, "not a regular expression"),
        ({"clip": window(group="^x(.)")}, "does not match"),
        ({"clip": window("jpg")}, 'no field "jpg"'),
        ({"clip": window(order_by="json:episode")}, "not a finite number"),
        ({"clip": window(offsets=range(-20, 1), edge="drop")}, "longest of 5 groups has 12 steps"),
        ({"clip": window("npy") | ps.raw()}, "must have one shape"),
        ({"cls": ps.label(), "x": ps.follow("cls") | ps.window_valid()}, "has no window"),
        ({"clip": ps.image.decode() | window()}, "must come first"),
        ({"clip": window(), "m": ps.follow("clip") | window("seg.png")}, "remove window"),
    ],
)
def test_windows_that_the_dataset_has_not(packed, fields, said):
    with pytest.raises(ps.Error, match=said):
        ps.Loader(packed, transforms=fields)


def test_windows_are_not_mixed(packed):
    fields = {"clip": window() | ps.image.normalize((0,) * 3, (1,) * 3), "cls": ps.label()}
    with pytest.raises(ps.Error, match="steps of a window"):
        ps.Loader(packed, transforms=fields, mix=ps.mixup(0.2, num_classes=40))


def test_huge_offsets_pad(packed, frames):
    far = 2**52
    loader = ps.Loader(packed, batch_size=4, transforms=fields_of(window(offsets=[-far, far])))
    check(rows_of(loader), Window(GROUPS, [-far, far]), frames)


def test_doors_around_the_loader(packed, tmp_path):
    fields = {"clip": window("npy"), "cls": ps.label()}
    plain = digest(ps.Loader(packed, batch_size=4, transforms=fields))
    assert digest(ps.Loader(packed, batch_size=4, transforms=fields, delivery_log=tmp_path / "ledger")) == plain
    own = {"clip": window("npy") | ps.transform(doubled, shape=(4, 2), dtype="float32"), "cls": ps.label()}
    found = digest(ps.Loader(packed, batch_size=4, transforms=own))
    assert [np.frombuffer(clip, np.float32).tolist() for _, clip in found] == [
        (2 * np.frombuffer(clip, np.float32)).tolist() for _, clip in plain
    ]


def doubled(row):
    return 2 * np.asarray(row)
