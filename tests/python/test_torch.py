"""penstock.torch: the dataset for PyTorch's DataLoader, and the wait in its profiler."""

import itertools
import pickle
import warnings

import penstock as ps
import pytest

torch = pytest.importorskip("torch")
DataLoader = torch.utils.data.DataLoader

FIELDS = {"npy": ps.array.decode(), "cls": ps.label()}


def test_batches_are_torch_tensors_without_a_copy(arrays):
    batch = next(iter(ps.Loader(arrays, batch_size=8, transforms={**FIELDS, "raw": ps.field("cls") | ps.raw()})))
    taken = ps.torch.tensors(batch)
    assert taken["npy"].dtype == torch.float32 and taken["cls"].dtype == torch.int64
    assert taken["__valid__"].dtype == torch.bool
    assert taken["npy"].data_ptr() == torch.from_dlpack(batch["npy"]).data_ptr()
    values, offsets = taken["raw"]
    assert values.dtype == torch.uint8 and offsets.tolist() == list(range(9))
    assert taken["npy"].tolist()[2] == [2, 3, 4, 5, 6]


def test_a_dataloader_takes_it_as_it_is(arrays):
    dataset = ps.torch.Loader(arrays, batch_size=8, shuffle=True, transforms=FIELDS)
    loader = DataLoader(dataset, batch_size=None)
    assert len(loader) == 5
    epochs = [[key for batch in loader for key in batch["__key__"]] for _ in range(2)]
    assert sorted(epochs[0]) == sorted(epochs[1]) == [f"{i:03}" for i in range(40)]
    assert epochs[0] != epochs[1]


def test_columns_make_tuples(arrays):
    dataset = ps.torch.Loader(arrays, batch_size=8, transforms=FIELDS, as_tuple=("npy", "cls"))
    for values, labels in DataLoader(dataset, batch_size=None):
        assert values.shape == (8, 5) and labels.dtype == torch.int64
    with pytest.raises(TypeError, match="sequence"):
        ps.torch.Loader(arrays, as_tuple="cls")


def test_columns_that_are_no_outputs_are_named_with_those_there_are(arrays):
    with pytest.raises(ValueError, match='as_tuple: unknown output "jpg"; the outputs are npy, cls$'):
        ps.torch.Loader(arrays, transforms=FIELDS, as_tuple=("npy", "jpg"))
    for columns, options in [  # the first batch tells what outputs there are
        (("cls", "jpg"), {}),
        (("cls", "__origin__"), {"transforms": FIELDS}),
        (("npy", "jpg"), {"transforms": FIELDS, "batch_transform": lambda batch: batch}),
    ]:
        dataset = ps.torch.Loader(arrays, batch_size=8, as_tuple=columns, **options)
        with pytest.raises(ValueError, match=f'unknown output "{columns[1]}"; the outputs are .*__valid__'):
            next(iter(dataset))
    made = ps.torch.Loader(
        arrays,
        batch_size=8,
        transforms=FIELDS,
        as_tuple=("made",),
        batch_transform=lambda batch: {"made": batch["cls"] + 1},
    )
    assert next(iter(made))[0].tolist() == [1, 2, 3, 4] * 2


@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_epochs_advance_in_worker_processes_too(start, arrays):
    dataset = ps.torch.Loader(arrays, batch_size=5, shuffle=True, transforms={"cls": ps.label()})
    loader = DataLoader(dataset, batch_size=None, num_workers=2, multiprocessing_context=start)
    epochs = [[key for batch in loader for key in batch["__key__"]] for _ in range(2)]
    assert sorted(epochs[0]) == sorted(epochs[1]) == [f"{i:03}" for i in range(40)]
    assert epochs[0] != epochs[1]
    dataset.set_epoch(0)
    assert [key for batch in loader for key in batch["__key__"]] == epochs[0]


def test_worker_processes_share_an_epoch(arrays):
    dataset = ps.torch.Loader(arrays, batch_size=5, transforms=FIELDS)
    list(zip(dataset, range(1)))  # a loader in the parent, whose threads the children do not have
    loader = DataLoader(dataset, batch_size=None, num_workers=2)
    keys = [key for batch in loader for key in batch["__key__"]]
    assert sorted(keys) == [f"{i:03}" for i in range(40)]


def test_a_pickled_copy_makes_its_own_loader(arrays):
    dataset = ps.torch.Loader(ps.open(arrays), batch_size=8, shuffle=True, transforms=FIELDS)
    keys = [batch["__key__"] for batch in dataset]
    copy = pickle.loads(pickle.dumps(dataset))
    assert copy.loader is not dataset.loader
    assert [batch["__key__"] for batch in copy] == keys


def test_its_state_continues_elsewhere(arrays):
    dataset = ps.torch.Loader(arrays, batch_size=8, shuffle=True, transforms={"cls": ps.label()})
    whole = [batch["__key__"] for batch in dataset]
    dataset.set_epoch(0)
    iterator = iter(dataset)
    next(iterator)
    state = dataset.state_dict()
    other = ps.torch.Loader(arrays, batch_size=8, shuffle=True, transforms={"cls": ps.label()})
    other.load_state_dict(state)
    assert [batch["__key__"] for batch in other] == whole[1:]


def test_set_epoch_after_a_state_of_that_epoch_keeps_the_position(arrays):
    dataset = ps.torch.Loader(arrays, batch_size=8, shuffle=True, transforms={"cls": ps.label()})
    dataset.set_epoch(2)
    whole = [batch["__key__"] for batch in dataset]
    dataset.set_epoch(2)
    for _ in zip(range(3), dataset):
        state = dataset.state_dict()
    other = ps.torch.Loader(arrays, batch_size=8, shuffle=True, transforms={"cls": ps.label()})
    other.load_state_dict(state)
    epochs = []
    for epoch in range(2, 4):
        other.set_epoch(epoch)
        epochs.append([batch["__key__"] for batch in other])
    assert epochs[0] == whole[3:] and len(epochs[1]) == 5
    other.set_epoch(2)
    assert [batch["__key__"] for batch in other] == whole


@pytest.mark.filterwarnings("ignore:penstock")
@pytest.mark.parametrize("workers", [0, 1])
def test_the_epochs_after_a_restored_one_have_the_seed_of_its_state(arrays, workers):
    def dataset(seed):
        return ps.torch.Loader(arrays, batch_size=8, shuffle=True, seed=seed, transforms={"cls": ps.label()})

    whole = dataset(7)
    epochs = [[batch["__key__"] for batch in whole] for _ in range(3)]
    saved = dataset(7)
    next(iter(saved))
    restored = dataset(0)
    restored.load_state_dict(saved.state_dict())
    loader = torch.utils.data.DataLoader(restored, batch_size=None, num_workers=workers)
    assert [[batch["__key__"] for batch in loader] for _ in range(3)] == [epochs[0][1:], *epochs[1:]]
    restored.set_epoch(1)
    assert [batch["__key__"] for batch in loader] == epochs[1]
    restored.set_epoch(0)
    assert [batch["__key__"] for batch in loader] == epochs[0]


def test_it_has_the_methods_of_the_loader_that_diagnose(arrays, tmp_path):
    loader = ps.torch.Loader(arrays, batch_size=4)
    with loader.trace(tmp_path / "trace.json"):
        for _ in loader:
            loader.mark_step()
    assert (tmp_path / "trace.json").stat().st_size > 0
    assert loader.steps()["steps"] == len(loader)
    assert isinstance(loader.gains(), list)
    assert loader.explain(0, 0, 1)["key"] == loader.loader.explain(0, 0, 1)["key"]
    inside = {"at", "close", "dataset", "epoch", "share"}  # of loader.loader; frameworks look for some of these names
    names = {name for name in dir(ps.Loader) if not name.startswith("_")}
    assert names - set(dir(ps.torch.Loader)) == inside


def test_the_wait_is_dataloader_time_in_the_profiler(arrays):
    loader = ps.Loader(arrays, batch_size=8, transforms=FIELDS)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        for _ in loader:
            pass
    waits = [e for e in profile.key_averages() if e.key == "enumerate(DataLoader)#PenstockLoader.__next__"]
    assert len(waits) == 1 and waits[0].count == 6  # 5 batches and the end


def test_functions_of_the_program_get_and_give_tensors(arrays):
    def on_batch(batch, random):
        assert all(isinstance(batch[name], torch.Tensor) for name in ("npy", "own", "cls"))
        batch["sum"] = batch["npy"].sum(dim=1) + random.random() * 0
        return batch

    fields = {**FIELDS, "own": ps.field("npy") | ps.transform(lambda row: row * 2)}
    dataset = ps.torch.Loader(arrays, batch_size=8, transforms=fields, batch_transform=on_batch)
    for batch in DataLoader(dataset, batch_size=None):
        torch.testing.assert_close(batch["own"], batch["npy"] * 2)
        torch.testing.assert_close(batch["sum"], batch["npy"].sum(dim=1), check_dtype=False)
    dataset = ps.torch.Loader(arrays, batch_size=8, transforms=FIELDS, batch_transform=lambda batch: batch["cls"].sum())
    assert sum(dataset).item() == 60


def test_columns_without_valid_warn_once_where_rows_do_not_count(arrays):
    def dataset(**options):
        return ps.torch.Loader(arrays, batch_size=16, transforms=FIELDS, **options)

    padded = dataset(as_tuple=("npy", "cls"), last_batch="pad")
    with pytest.warns(UserWarning, match=r"8 of the 16 rows .*__valid__") as warned:
        assert sum(len(labels) for _, labels in padded) == 48
        assert sum(len(labels) for _, labels in padded) == 48
    assert len(warned) == 1 and "\n" not in str(warned[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        counted = dataset(as_tuple=("cls", "__valid__"), last_batch="pad")
        assert sum(int(valid.sum()) for _, valid in counted) == 40
        assert sum(len(labels) for (labels,) in dataset(as_tuple=("cls",))) == 40
        assert sum(len(batch["cls"]) for batch in dataset(last_batch="pad")) == 48


@pytest.mark.parametrize("failed", [0, 2, 4])
def test_a_batch_that_cannot_become_tensors_is_not_delivered(failed, arrays, monkeypatch):
    """The loader has it and the loop does not get it: a state goes on with it, a later batch gives it up."""
    options = {"batch_size": 8, "shuffle": True, "seed": 2, "transforms": FIELDS, "as_tuple": ("npy", "__key__")}
    whole = [keys for _, keys in ps.torch.Loader(arrays, **options)]
    batch_number = itertools.count()

    def fails_once(*_):
        if next(batch_number) == failed:
            raise MemoryError

    first, got = ps.torch.Loader(arrays, **options), []
    monkeypatch.setattr(ps.torch, "_require_outputs", fails_once)
    batches = iter(first)
    with pytest.raises(MemoryError):
        for _, keys in batches:
            got.append(keys)
    state = first.state_dict()
    assert [keys for _, keys in batches] == whole[failed + 1 :]
    assert first.state_dict()["epoch"] == 1
    again = ps.torch.Loader(arrays, **options)
    again.load_state_dict(state)
    again.set_epoch(0)  # as trainers do
    assert got + [keys for _, keys in again] == whole


def test_columns_that_on_batch_does_not_make_leave_the_position(arrays):
    dataset = ps.torch.Loader(
        arrays, as_tuple=("npy", "cls"), transforms=FIELDS, batch_transform=lambda batch: {"npy": 0}
    )
    with pytest.raises(ValueError, match='unknown output "cls"'):
        next(iter(dataset))
    assert dataset.state_dict()["batch"] == 0


def test_a_state_that_is_refused_leaves_no_loader_at_the_first_batch(arrays, icons):
    dataset = ps.torch.Loader(arrays, batch_size=8, transforms=FIELDS)
    dataset.load_state_dict(ps.Loader(icons, transforms={"cls": ps.label()}).state_dict())
    for _ in range(2):
        with pytest.raises(ps.Error, match="another dataset"):
            next(iter(dataset))
    dataset.load_state_dict(ps.Loader(arrays, batch_size=8, transforms=FIELDS).state_dict())
    batches = iter(dataset)
    next(batches)
    with pytest.raises(ps.Error, match="another dataset"):
        dataset.load_state_dict(ps.Loader(icons, transforms={"cls": ps.label()}).state_dict())
    assert dataset.state_dict()["batch"] == 1 and next(batches)["__key__"][0] == "008"


def test_a_dataloader_that_would_make_batches_of_batches_is_refused(arrays):
    loader = ps.torch.Loader(arrays, batch_size=8, transforms=FIELDS)
    for options in ({}, {"batch_size": 4}, {"num_workers": 1}):
        with pytest.raises(TypeError, match="pass batch_size=None to DataLoader"):
            next(iter(DataLoader(loader, **options)))
    assert len(list(DataLoader(loader, batch_size=None))) == len(list(loader)) == 5


def test_a_torch_device_is_taken_by_its_name(arrays):
    with pytest.raises(ps.Error, match="meta"):
        ps.Loader(arrays, transforms=FIELDS, device=torch.device("meta"))
