"""States that are saved after an exception: a loader that restores one delivers what the exception kept back, once."""

import contextlib
import itertools
import json
import os
import signal
import threading
import time

import h5py
import numpy as np
import own_functions
import penstock as ps
import pytest
from command import run

SAMPLES, ROWS = 40, 6  # seven batches an epoch, the last one short
FIELDS = {"npy": ps.array.decode("float32"), "cls": ps.label()}
FLIPPED = {**FIELDS, "npy": FIELDS["npy"] | ps.transform(np.flip)}
COPIED = {**FIELDS, "npy": FIELDS["npy"] | ps.transform(own_functions.same)}


@pytest.fixture(name="folder")
def folder_fixture(tmp_path):
    """Arrays whose first number is their sample's, of two drives, with a class and a list of 1 to 7 tokens each."""
    folder = tmp_path / "data"
    folder.mkdir()
    for i in range(SAMPLES):
        np.save(folder / f"{i % 2}_{i:03}.npy", np.arange(i, i + 8, dtype=np.float32))
        (folder / f"{i % 2}_{i:03}.cls").write_text(str(i % 4))
        np.save(folder / f"{i % 2}_{i:03}.tokens.npy", np.full(1 + i % 7, i, np.int32))
    return folder


@contextlib.contextmanager
def lost(file):
    """The file is away: reading it is an I/O error."""
    file.rename(file.with_suffix(".away"))
    yield
    file.with_suffix(".away").rename(file)


@contextlib.contextmanager
def damaged(file):
    """Bytes of the file are others: reading it finds invalid data."""
    good, times = file.read_bytes(), (file.stat().st_atime_ns, file.stat().st_mtime_ns)
    file.write_bytes(b"x" * len(good))
    yield
    file.write_bytes(good)
    os.utime(file, ns=times)


def plain(batch):
    def bytes_of(value):
        if isinstance(value, ps.Ragged):
            return [np.asarray(row).tobytes() for row in value]
        return value if isinstance(value, list) else np.asarray(value).tobytes()

    return {name: bytes_of(value) for name, value in batch.items()}


def take(batches, into):
    """What ended it: an exception, or None at the end of the epoch."""
    try:
        for batch in batches:
            into.append(plain(batch))
    except BaseException as error:
        return error
    return None


def loader_of(source, **options):
    return ps.Loader(source, **{"batch_size": ROWS, "transforms": FIELDS, "workers": 2, **options})


def restored(make, state):
    loader = make()
    loader.load_state_dict(json.loads(json.dumps(state)))
    return loader


def keys_of(batches):
    return [key for batch in batches for key in batch["__key__"]]


def mixed(dataset):
    return ps.mixture({"a": dataset.take(25), "b": dataset.skip(25)}, {"a": 5, "b": 3}, stop=SAMPLES)


def blocks(dataset):
    return ps.token_blocks(dataset, 4, field="tokens.npy", last="pad")


def turned(dataset):
    return dataset.filter(keys="1_*") + dataset.filter(keys="0_*")


SHUFFLED = {"shuffle": True, "seed": 7}
CLIP = {"clip": ps.window("npy", offsets=[-1, 0], group=r"^(\d)_") | ps.array.decode("float32"), "cls": ps.label()}
TOKENS = {"tokens": ps.field("tokens.npy") | ps.array.decode("int32", ragged=True), "npy": FIELDS["npy"]}
BUCKETS = {**SHUFFLED, "transforms": TOKENS, "batching": ps.batching.by_length("tokens.npy", pool=40)}

LOADERS = {
    "in order": {},
    "shuffled": {**SHUFFLED, "prefetch": 5},
    "block shuffle": {**SHUFFLED, "shuffle": ps.shuffle.blocks(4)},
    "one worker": {"workers": 1, "prefetch": 1, "read_options": ps.ReadOptions(engine="inline")},
    "pread": {**SHUFFLED, "read_options": ps.ReadOptions(engine="pread")},
    "drop": {**SHUFFLED, "last_batch": "drop"},
    "pad": {**SHUFFLED, "last_batch": "pad"},
    "a rank": {**SHUFFLED, "batch_size": 3, "rank": 1, "world_size": 3},
    "subset": {"sampler": ps.sampler.subset([*range(0, 40, 2), *range(1, 40, 2)])},
    "weights": {**SHUFFLED, "sampler": ps.sampler.weighted([*range(1, 41)])},
    "cache": {**SHUFFLED, "cache": "decoded"},
    "mixture": {**SHUFFLED, "source": mixed},
    "windows": {**SHUFFLED, "transforms": CLIP},
    "token blocks": {**SHUFFLED, "source": blocks, "batch_size": 5, "transforms": None},
    "buckets": BUCKETS,
    "budget": {**BUCKETS, "batching": ps.batching.by_length("tokens.npy", pool=40, budget=30)},
    "a view": {"source": turned},
    "a device": {**SHUFFLED, "device": "host"},
    "own function": {**SHUFFLED, "transforms": FLIPPED},
    "processes": {**SHUFFLED, "transforms": COPIED, "python_workers": 2},
}


# Damaged tokens are other tokens. Starting processes takes time.
FAULTS = {"token blocks": [lost], "processes": [lost]}


@pytest.mark.parametrize(
    ("kind", "fault"), [(kind, fault) for kind in LOADERS for fault in FAULTS.get(kind, [lost, damaged])]
)
def test_an_epoch_is_whole_after_a_read_error(kind, fault, folder):
    options = dict(LOADERS[kind])
    source = options.pop("source", lambda dataset: dataset)(ps.open(folder))

    def make():
        return loader_of(source, **options)

    with make() as loader:
        whole = [[plain(batch) for batch in loader] for _ in range(3)]
    failing = [(0, 0), (0, len(whole[0]) // 2), (1, len(whole[1]) - 1)]
    for epoch, number in failing[1:2] if kind == "processes" else failing:
        # Not the first of a dataset, which constructors read to learn its shape.
        key = next(key for key in whole[epoch][number]["__key__"] if key not in ("0_000", "1_001"))
        file = folder / ("1_009.tokens.npy" if kind == "token blocks" else f"{key}.npy")
        got = []
        with fault(file), make() as loader:
            loader.set_epoch(epoch)
            error = take(loader, got)
            state = loader.state_dict()
        assert isinstance(error, ps.Error) and error.kind == ("io" if fault is lost else "corrupt"), error
        assert (state["epoch"], state["batch"]) == (epoch, len(got))
        with restored(make, state) as loader:
            assert take(loader, got) is None
            assert got == whole[epoch]
            assert [plain(batch) for batch in loader] == whole[epoch + 1]


def test_a_state_names_the_first_of_several_failed_batches_until_the_program_goes_on(folder):
    """Batches 2, 3 and the last one fail; every next() is told with the state behind it."""
    dataset = ps.open(folder)
    with contextlib.ExitStack() as faults:
        for position in (13, 20, 38):
            faults.enter_context(damaged(folder / f"{dataset.keys[position]}.npy"))
        loader = loader_of(dataset)
        batches, told = iter(loader), []
        for _ in range(8):
            try:
                outcome = dataset.keys.index(next(batches)["__key__"][0])
            except StopIteration:
                outcome = "end"
            except ps.Error as error:
                outcome = f"{dataset.keys.index(error.key)} failed"
            state = loader.state_dict()
            told.append((outcome, state["epoch"], state["batch"]))
    assert told == [
        (0, 0, 1),
        (6, 0, 2),
        ("13 failed", 0, 2),
        ("20 failed", 0, 2),
        (24, 0, 5),
        (30, 0, 6),
        ("38 failed", 0, 6),
        ("end", 1, 0),
    ]


def test_the_same_loader_tries_again_and_another_for_goes_on(folder):
    dataset, got = ps.open(folder), []
    with lost(folder / "1_021.npy"):
        loader = loader_of(dataset, **SHUFFLED)  # from here on it reads ahead
        assert take(loader, got).key == "1_021"
        loader.load_state_dict(loader.state_dict())
        assert take(loader, got).key == "1_021"
        state = loader.state_dict()
        loader.set_epoch(4)
        assert (loader.state_dict()["epoch"], loader.state_dict()["batch"]) == (4, 0)
    loader.load_state_dict(state)
    assert take(loader, got) is None
    assert sorted(keys_of(got)) == loader.dataset.keys
    with damaged(folder / "1_021.npy"):
        loader.set_epoch(2)  # discards epoch 1, which was read ahead
        assert take(loader, []).key == "1_021"
        batches = iter(loader)  # leaves the epoch, as a `for` that was left by break does
    assert (loader.state_dict()["epoch"], loader.state_dict()["batch"]) == (3, 0)
    assert len(next(batches)["__key__"]) == ROWS


@pytest.mark.parametrize("shape", [(1, 7), (3, 2), (2, 5)])
def test_other_ranks_and_batch_sizes_go_on_after_an_error(shape, folder):
    dataset = ps.open(folder)
    world, rows = shape
    for options in ({}, {"source": mixed}, BUCKETS):
        options = {**SHUFFLED, **options}
        source = options.pop("source", lambda dataset: dataset)(dataset)
        got = []
        with damaged(folder / "0_020.npy"), loader_of(source, **options) as loader:
            assert take(loader, got).key == "0_020"
            state = loader.state_dict()
        for rank in range(world):
            again = {**options, "batch_size": rows, "rank": rank, "world_size": world}
            with restored(lambda source=source, again=again: loader_of(source, **again), state) as loader:
                for batch in loader:
                    valid = np.asarray(batch["__valid__"])
                    got.append({"__key__": [key for key, one in zip(batch["__key__"], valid) if one]})
        with loader_of(source, **options) as loader:
            assert sorted(keys_of(got)) == sorted(keys_of(loader))


class Once:
    """A function that raises at its call of that number, once in all, or does something else then."""

    def __init__(self, call, does):
        self.calls, self.call, self.does = itertools.count(), call, does

    def __call__(self, value, *more):
        if next(self.calls) == self.call:
            self.does()
        return value


def raises_once(call):
    def fail():
        raise KeyError("once")

    return Once(call, fail)


def on_batch(_):
    return {"batch_transform": raises_once(3)}


def own_transform(_):
    return {"transforms": {**FIELDS, "npy": FIELDS["npy"] | ps.transform(raises_once(3 * ROWS + 2))}}


def in_a_process(folder):
    once = own_functions.FailsOnce(folder.parent / "failed", row=3 * ROWS + 2)
    return {"shuffle": False, "transforms": {**FIELDS, "npy": FIELDS["npy"] | ps.transform(once)}, "python_workers": 2}


def sum_over_ranks(_):
    return {"batch_size": 1, "on_error": "mark", "all_reduce": raises_once(1)}


def timeout(_):
    return {"timeout": 0.2, "prefetch": 1, "batch_transform": Once(3, lambda: time.sleep(1))}


def interrupt(_):
    """Ctrl-C while the loop waits."""

    def press():
        time.sleep(0.2)
        signal.raise_signal(signal.SIGINT)
        time.sleep(0.2)

    return {"prefetch": 1, "batch_transform": Once(3, press)}


def too_many_bad(_):
    return {"on_error": "mark", "max_errors": 0.0}


def without_memory(_):
    """A batch that cannot be made into Python's objects."""
    return {}


@pytest.mark.parametrize(
    "trouble", [on_batch, own_transform, in_a_process, sum_over_ranks, timeout, interrupt, too_many_bad, without_memory]
)
def test_an_epoch_is_whole_after_other_exceptions(trouble, folder, monkeypatch):
    dataset, got = ps.open(folder), []
    options = {**SHUFFLED, **trouble(folder)}
    calm = {name: value for name, value in options.items() if name not in ("batch_transform", "all_reduce", "timeout")}
    if trouble in (own_transform, in_a_process):
        calm["transforms"] = COPIED
    with loader_of(dataset, **calm) as loader:
        whole = [plain(batch) for batch in loader]
    with contextlib.ExitStack() as faults:
        if trouble is too_many_bad:
            faults.enter_context(damaged(folder / "0_010.npy"))
        if trouble is without_memory:
            made, once = ps._batch.Batch, raises_once(3)
            faults.enter_context(monkeypatch.context()).setattr(ps._batch, "Batch", lambda: once(made()))
        with loader_of(dataset, **options) as loader:
            assert take(loader, got) is not None
            state = loader.state_dict()
    assert 0 < len(got) < len(whole)
    assert state["batch"] == len(got)
    with restored(lambda: loader_of(dataset, **calm), state) as loader:
        assert take(loader, got) is None
    assert got == whole


def test_a_sum_that_raises_stop_iteration_does_not_end_the_epoch(folder):
    def stops(_):
        raise StopIteration

    loader = loader_of(ps.open(folder), batch_size=1, on_error="mark", all_reduce=stops)
    got = []
    assert type(take(loader, got)) is RuntimeError
    assert loader.state_dict()["batch"] == len(got) == 15


def test_a_signal_handler_may_save_the_state_while_next_waits(folder):
    loader = loader_of(ps.open(folder), prefetch=1, batch_transform=Once(3, lambda: time.sleep(0.5)))
    saved = []
    before = signal.signal(signal.SIGUSR1, lambda *_: saved.append(loader.state_dict()["batch"]))
    try:
        batches = iter(loader)
        for _ in range(3):
            next(batches)
        threading.Timer(0.15, signal.raise_signal, [signal.SIGUSR1]).start()
        assert next(batches)["__key__"][0] == "0_036"
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert saved == [3]


@pytest.mark.parametrize("world", [1, 2])
def test_a_ledger_has_a_failed_batch_once_it_was_delivered(world, folder, tmp_path):
    dataset, ledger = ps.open(folder), tmp_path / "ledger"

    def make(rank):
        return loader_of(dataset, rank=rank, world_size=world, batch_size=4, delivery_log=ledger, **SHUFFLED)

    with make(0) as loader:
        key = loader.at(0, 3)["__key__"][1]
    states = []
    with damaged(folder / f"{key}.npy"):
        for rank in range(world):
            with make(rank) as loader:
                error = take(loader, [])
                states += [loader.state_dict()] if error is not None else []
    assert [state["batch"] for state in states] == [3]
    told = ps.audit(ledger, dataset=folder)
    assert not told["good"] and "the loader raised an error instead of a batch" in str(told), str(told)
    for rank in range(world):
        with restored(lambda rank=rank: make(rank), states[0]) as loader:
            assert take(loader, []) is None
    told = ps.audit(ledger, dataset=folder)
    assert told["good"] and "proved: 1 epoch, each sample delivered once" in str(told), str(told)
    assert run("audit", ledger, "--dataset", folder)


def test_a_batch_that_python_could_not_take_is_not_delivered_in_the_ledger(folder, tmp_path, monkeypatch):
    """It fails at the last moment: the loader has it, the program does not get it."""
    dataset, ledger = ps.open(folder), tmp_path / "ledger"
    loader = loader_of(dataset, delivery_log=ledger)
    batches = iter(loader)
    next(batches)
    with monkeypatch.context() as patched:
        patched.setattr(ps._batch, "Batch", None)
        with pytest.raises(TypeError):
            next(batches)
    assert len(list(batches)) == 5
    told = ps.audit(ledger)
    assert not told["good"] and "6 of 40 samples were not delivered" in str(told), str(told)
    loader.close()


def fault_of(kind, folder):
    return {"io": lost, "corrupt": damaged}[kind](folder / "0_020.npy")


@pytest.mark.parametrize("policy", ["replace", "mark"])
@pytest.mark.parametrize("kind", ["io", "corrupt"])
@pytest.mark.parametrize("more", ["shuffled", "windows", "mixture", "cache", "a device", "one worker"])
def test_a_fault_that_lasts_is_told_again_with_what_leaves_the_sample_out(more, kind, policy, folder):
    """What the message names goes on from the same state, without the sample alone."""
    options = dict(LOADERS[more])
    source = options.pop("source", lambda dataset: dataset)(ps.open(folder))
    with loader_of(source, **options) as loader:
        whole = [batch["__key__"] for batch in loader]
    got = []
    with fault_of(kind, folder):
        with loader_of(source, **options) as loader:
            first = take(loader, got)
            state = loader.state_dict()
        with restored(lambda: loader_of(source, **options), state) as loader:
            again = take(loader, [])
            assert loader.state_dict() == state
            later = take(iter(loader), [])  # of the next epoch
        assert str(again).startswith(f"{first}; the restored state begins with this batch: "), str(again)
        assert "restored" not in str(later) and (again.kind, again.key) == (first.kind, "0_020")
        remedy = {"on_error": policy, "max_errors": 0.2}
        assert 'on_error="replace" or "mark"' in again.cause
        assert ('unreadable=["0_020"]' in again.cause) == (kind == "io")
        if kind == "io":
            with restored(lambda: loader_of(source, **{**options, **remedy}), state) as loader:
                alone = take(loader, [])
            assert 'to resume without the sample, pass read_options=ps.ReadOptions(unreadable=["0_020"])' in str(alone)
            engine = options.get("read_options", ps.ReadOptions()).engine
            remedy["read_options"] = ps.ReadOptions(engine=engine, unreadable=["0_020"])
        with restored(lambda: loader_of(source, **{**options, **remedy}), state) as loader:
            rest = []
            for batch in loader:
                valid = np.asarray(batch["__valid__"])
                rest.append((batch["__key__"], valid))
            bad = {sample["key"] for sample in loader.stats()["bad"]}
    assert bad == {"0_020"}
    wanted = whole[len(got) :]
    assert len(rest) == len(wanted)
    for (keys, valid), planned in zip(rest, wanted):
        for key, good, own in zip(keys, valid, planned):
            assert key != "0_020" or not good
            assert key == own or policy == "replace"
            assert good or policy == "mark"


def test_an_error_of_the_program_is_raised_as_it_is_after_a_restore(folder):
    dataset = ps.open(folder)
    state = loader_of(dataset).state_dict()
    with restored(lambda: loader_of(dataset, batch_transform=raises_once(0)), state) as loader:
        error = take(loader, [])
    assert type(error) is KeyError and error.args == ("once",)


def test_a_key_that_several_samples_have_is_not_unreadable(tmp_path):
    for shard in "ab":
        with h5py.File(tmp_path / f"{shard}.h5", "w") as file:
            file["__key__"] = np.array([b"0", b"1"])
            file["x"] = np.arange(2.0)
    with pytest.raises(ps.Error, match='several samples have the key "1"'):
        ps.Loader(
            tmp_path,
            batch_size=2,
            transforms={"x": ps.array.decode()},
            on_error="mark",
            read_options=ps.ReadOptions(unreadable=["1"]),
        )
