"""ps.Loader(python_workers=N): the batches are those without, whatever becomes of the processes."""

import contextlib
import functools
import os
import signal
import sys
import threading
import time

import numpy as np
import own_functions
import penstock as ps
import pytest
from own_functions import processes
from own_programs import gone, program
from penstock._own.batch import BatchRows
from penstock._own.processes import _Rows
from penstock._own.step import own_step

OPTIONS = {"batch_size": 8, "shuffle": True, "seed": 3}
KILLS = int(os.environ.get("PENSTOCK_KILLS", "6"))  # of the campaign: 100 take some minutes


def plain(value):
    if isinstance(value, ps.Ragged):
        return [np.asarray(row).tolist() for row in value]
    return value if isinstance(value, list) else np.asarray(value).tolist()


def epochs_of(loader, count=2):
    return [[{name: plain(value) for name, value in batch.items()} for batch in loader] for _ in range(count)]


def chains(function):
    return {"npy": ps.array.decode() | ps.transform(function), "cls": ps.label()}


@functools.cache
def expected(arrays, function):
    return epochs_of(ps.Loader(arrays, transforms=chains(function), **OPTIONS))


@pytest.mark.parametrize("function", ["same", "noisy", "drawn", "changes_what_it_gets"])
@pytest.mark.parametrize("workers", [1, 2, 5])
def test_batches_are_those_without_processes(arrays, function, workers):
    function = getattr(own_functions, function)
    with ps.Loader(arrays, transforms=chains(function), python_workers=workers, **OPTIONS) as loader:
        assert epochs_of(loader) == expected(arrays, function)
        assert loader.at(1, 3)["npy"].tolist() == expected(arrays, function)[1][3]["npy"]
        assert loader.stats()["python_workers"] == workers


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_several_outputs_and_rows_of_different_length(arrays, workers):
    def options():
        sample = ps.sample_transform(
            own_functions.of_sample, ["npy", "cls"], shapes={"cls": (None,)}, dtypes={"cls": "int32"}
        )
        return {
            "transforms": {**chains(own_functions.noisy), "raw": ps.field("cls") | ps.raw()},
            "sample_transform": sample,
            **OPTIONS,
        }

    without = epochs_of(ps.Loader(arrays, **options()))
    with ps.Loader(arrays, **options(), python_workers=workers) as loader:
        assert epochs_of(loader) == without
    assert sorted(map(len, (row for batch in without[0] for row in batch["cls"]))) == sorted([0, 1, 2, 3] * 10)


@pytest.mark.parametrize("function", ["swapped", "turned"])
def test_outputs_may_be_views_of_each_others_rows(arrays, function):
    def options():
        fields = {name: ps.field("npy") | ps.array.decode() for name in ("one", "other")}
        return {
            "transforms": fields,
            "sample_transform": ps.sample_transform(getattr(own_functions, function), ["one", "other"]),
            **OPTIONS,
        }

    with ps.Loader(arrays, **options(), python_workers=2) as loader:
        assert epochs_of(loader) == epochs_of(ps.Loader(arrays, **options()))


def test_steps_behind_one_output_leave_anothers_view_of_it_alone(images):
    def options():
        fields = {name: ps.field("jpg") | ps.image.resize((32, 24)) for name in ("one", "other")}
        after = {"one": ps.image.color_jitter(0.5) | ps.image.channels_last()}
        sample = ps.sample_transform(own_functions.mirrored, ["one", "other"], layout="HWC", after=after)
        return {"transforms": fields, "sample_transform": sample, **OPTIONS}

    with ps.Loader(images, **options(), python_workers=2) as loader:
        assert epochs_of(loader) == epochs_of(ps.Loader(images, **options()))


@pytest.mark.parametrize("workers", [0, 1])
def test_a_row_that_imports_what_is_seeded_is_changed_once(arrays, workers):
    before = sys.modules.pop("albumentations", None)
    try:
        with ps.Loader(
            arrays, transforms=chains(own_functions.imports_late), python_workers=workers, **OPTIONS
        ) as loader:
            assert epochs_of(loader) == expected(arrays, own_functions.changes_what_it_gets)
    finally:
        sys.modules.pop("albumentations", None)
        if before is not None:
            sys.modules["albumentations"] = before


def test_images_of_the_middle_of_a_chain(images):
    def jitter(row):  # of this function alone: taken along
        return np.minimum(row, np.random.randint(0, 255, (1, 1, 3), np.uint8))

    def options(workers):
        chain = (
            ps.image.random_resized_crop((32, 24))
            | ps.transform(jitter, layout="HWC")
            | ps.image.random_horizontal_flip()
        )
        chain = chain | ps.image.normalize((0.5, 0.5, 0.5), (0.5, 0.5, 0.5))
        return {"transforms": {"jpg": chain}, "python_workers": workers, **OPTIONS}

    pytest.importorskip("cloudpickle")
    without = [np.asarray(batch["jpg"]) for batch in ps.Loader(images, **options(0))]
    with ps.Loader(images, **options(2)) as loader:
        kept = list(loader)  # memory of one batch is not another's
        for batch, rows in zip(kept, without):
            np.testing.assert_array_equal(batch["jpg"], rows)
        again = [np.array(batch["jpg"]) for batch in loader]
        for batch, rows in zip(kept, without):
            np.testing.assert_array_equal(batch["jpg"], rows)
        assert (again[0] != without[0]).any()
    np.testing.assert_array_equal(kept[0]["jpg"], without[0])


def test_a_restored_loader_goes_on_alike(arrays):
    options = {"transforms": chains(own_functions.drawn), "python_workers": 2, **OPTIONS}
    with ps.Loader(arrays, **options) as loader, ps.Loader(arrays, **options) as restored:
        next(iter(loader))
        restored.load_state_dict(loader.state_dict())
        assert epochs_of(restored, 1)[0] == expected(arrays, own_functions.drawn)[0][1:]


def test_functions_run_in_processes_of_their_own_with_one_thread_each(arrays):
    threads = set()

    def on_batch(batch):
        threads.add(threading.get_ident())
        return batch

    with ps.Loader(
        arrays, transforms=chains(own_functions.where), batch_transform=on_batch, python_workers=2, **OPTIONS
    ) as loader:
        rows = np.concatenate([batch["npy"] for batch in loader])
        pids = processes()
        assert set(rows[:, 0]) <= set(pids) and len(pids) == 2
        assert set(rows[:, 1]) == {1} and set(rows[:, 2]) == {5}
    assert len(threads) == 1 and gone(pids)


def test_rows_are_handed_out_in_as_few_messages_as_is_worth_it():
    _, step = own_step({"npy": ps.array.decode() | ps.transform(own_functions.same)}, None, None, 2)

    def sizes(*took_s):
        for seconds in took_s:
            step._processes.took(64 * seconds, 64)
        columns = {"npy": np.zeros((64, 3)), "__key__": [str(i) for i in range(64)]}
        rows = _Rows(step._processes, BatchRows(columns, 0, 0, list(range(64)), list(range(64)), step._work))
        rows._known = True
        return [len(each) for each in iter(rows._next_rows, [])]

    assert sizes(1) == [16, 12, 9, 7, 5, 4, 3, 2, 2, 1, 1, 1, 1]
    assert sizes(1e-4) == [16, 12, 10, 10, 10, 6]
    assert sizes(1e-5) == [32, 32]
    assert sizes(1e-6) == [64]
    assert sizes(*[1] * 7) == [64]  # a process that had to wait says nothing of the function
    assert sum(sizes(1)) == 64 and len(sizes(1)) > 10
    step.close()


def test_an_exception_is_the_original_one_with_notes_and_where_it_was_raised(arrays):
    options = {"transforms": chains(own_functions.fails_at_eleven), "batch_size": 8, "on_error": "replace"}
    with ps.Loader(arrays, python_workers=2, max_errors=1.0, **options) as loader:
        iterator = iter(loader)
        next(iterator)
        with pytest.raises(own_functions.OwnError) as caught:
            next(iterator)
        assert caught.value.number == 11
        assert caught.value.__notes__[0].endswith("of output 'npy', sample '011', row 3")
        assert caught.value.__notes__[1] == "penstock: epoch 0, batch 1"
        assert "in fails_at_eleven" in str(caught.value.__cause__)
        assert next(iterator)["__key__"][0] == "016"
        with pytest.raises(RuntimeError, match="Unpicklable: only this") as other:
            next(iterator)
        assert "sample '030'" in other.value.__notes__[0]
        assert len(processes()) == 2


def test_rows_that_differ_in_shape_are_told_as_without_processes(arrays):
    def told(workers):
        uneven = ps.transform(lambda row: row[: 3 if row[0] in (2, 19) else 5])
        with ps.Loader(arrays, batch_size=8, transforms={"npy": uneven}, python_workers=workers) as loader:
            iterator, errors = iter(loader), []
            for _ in range(5):
                try:
                    next(iterator)
                except ps.Error as error:
                    errors.append((str(error), error.kind, error.key, error.field))
            return errors

    pytest.importorskip("cloudpickle")
    assert told(2) == told(0) and [key for _, _, key, _ in told(2)] == ["002", "019"]


def test_of_several_faults_in_a_batch_the_first_row_tells(arrays):
    pytest.importorskip("cloudpickle")

    def told(uneven, fails, workers):
        def function(row):
            if row[0] in fails:
                time.sleep(0.05 if row[0] == min(fails) else 0)
                raise KeyError(int(row[0]))
            return row[: 3 if row[0] == uneven else 5]

        with ps.Loader(arrays, batch_size=8, transforms=chains(function), python_workers=workers) as loader:
            try:
                next(iter(loader))
            except (ps.Error, KeyError) as error:
                return repr(error)

    for uneven, fails, expected in ((5, {3, 7}, "KeyError(3)"), (2, {3}, "Error('sample 002"), (0, {6, 7}, "Error")):
        assert told(uneven, fails, 3) == told(uneven, fails, 0)
        assert told(uneven, fails, 3).startswith(expected)


def test_shapes_may_change_from_batch_to_batch(arrays):
    pytest.importorskip("cloudpickle")
    fields = {"npy": ps.transform(lambda row: row[: 3 if 8 <= row[0] < 16 else 5])}
    with ps.Loader(arrays, batch_size=8, transforms=fields, python_workers=2) as loader:
        assert [batch["npy"].shape for batch in loader] == [(8, 5), (8, 3), (8, 5), (8, 5), (8, 5)]


def test_rows_marked_bad_are_zeros(tmp_path):
    for i in range(12):
        (tmp_path / f"{i:02}.cls").write_text("broken" if i in (1, 8, 9, 10, 11) else str(i))
    fields = {"cls": ps.label() | ps.transform(own_functions.same, shape=(), dtype=np.int64)}
    options = {"batch_size": 4, "on_error": "mark", "max_errors": 1.0, "python_workers": 2}
    with ps.Loader(tmp_path, transforms=fields, **options) as loader:
        for _ in range(2):
            assert [batch["cls"].tolist() for batch in loader] == [[0, 0, 2, 3], [4, 5, 6, 7], [0, 0, 0, 0]]


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("on_error", ["raise", "mark", "replace"])
def test_functions_get_the_samples_that_pad_the_last_batch(arrays, workers, on_error):
    options = {"batch_size": 16, "world_size": 4, "last_batch": "pad", "max_errors": 1.0}
    options |= {"on_error": on_error, "python_workers": workers}
    for rank in range(4):  # 40 samples: 24 rows pad
        with ps.Loader(arrays, transforms=chains(own_functions.changes_what_it_gets), rank=rank, **options) as loader:
            (batch,) = loader
        assert batch["npy"][:, 0].tolist() == [int(key) + 1 for key in batch["__key__"]]
        assert np.asarray(batch["__valid__"]).sum() == [16, 16, 8, 0][rank]


@pytest.mark.parametrize("workers", [0, 1])
def test_an_invalid_sample_that_pads_is_zeros(tmp_path, workers):
    for i in range(4):
        (tmp_path / f"{i}.cls").write_text("broken" if i == 1 else str(i + 5))
    fields = {"cls": ps.label() | ps.transform(own_functions.same)}
    options = {"batch_size": 3, "on_error": "mark", "max_errors": 1.0, "last_batch": "pad", "python_workers": workers}
    with ps.Loader(tmp_path, transforms=fields, **options) as loader:
        batches = [(batch["cls"].tolist(), np.asarray(batch["__valid__"]).tolist()) for batch in loader]
    assert batches == [([5, 0, 7], [True, False, True]), ([8, 5, 0], [True, False, False])]


@pytest.mark.parametrize("outputs", [70, 300])
def test_any_number_of_outputs(arrays, outputs):
    chain = ps.field("npy") | ps.array.decode() | ps.transform(own_functions.changes_what_it_gets)
    with ps.Loader(
        arrays, batch_size=16, python_workers=2, transforms={f"o{i}": chain for i in range(outputs)}
    ) as loader:
        for _ in range(2):
            rows = 0
            for batch in loader:
                numbers = [int(key) + 1 for key in batch["__key__"]]
                assert all(batch[f"o{i}"][:, 0].tolist() == numbers for i in range(outputs))
                rows += len(numbers)
            assert rows == 40


def test_a_process_that_is_killed_is_replaced_and_its_rows_are_done_again(arrays, tmp_path):
    dies = own_functions.Dies(tmp_path, {0, 3, 17, 18, 39})
    changed = expected(arrays, own_functions.changes_what_it_gets)
    with ps.Loader(arrays, transforms=chains(dies), python_workers=2, **OPTIONS) as loader:
        assert epochs_of(loader) == changed
        assert loader.stats()["python_workers_replaced"] == 5
        assert len(processes()) == 2


@pytest.mark.parametrize("on_error", ["raise", "replace"])
def test_a_row_that_kills_two_processes_is_an_error_with_its_key(arrays, tmp_path, on_error):
    fields = chains(own_functions.Dies(tmp_path, {11}, always=True))
    with ps.Loader(arrays, batch_size=8, transforms=fields, python_workers=2, on_error=on_error) as loader:
        iterator = iter(loader)
        next(iterator)
        with pytest.raises(ps.Error, match=r"2 processes .*signal 9 \(SIGKILL\)") as caught:
            next(iterator)
        assert (caught.value.key, caught.value.kind) == ("011", "resource")
        assert next(iterator)["__key__"][0] == "016"
        assert loader.stats()["python_workers_replaced"] == 2


def test_kills_at_any_moment_lose_and_change_nothing(arrays):
    slow = expected(arrays, own_functions.slow)
    options = {"transforms": chains(own_functions.slow), **OPTIONS}
    random = np.random.default_rng(1)
    killed, stop, delivered = [], threading.Event(), threading.Event()

    def kill():
        while len(killed) < KILLS and not stop.wait(0.3 * random.random()):
            if not delivered.wait(1):  # none has begun since
                continue
            pids = [pid for pid in processes() if pid not in killed]
            if len(pids) < 2:  # one that is just beginning would make the campaign one of beginnings
                continue
            killed.append(pids[random.integers(len(pids))])
            os.kill(killed[-1], signal.SIGKILL)
            delivered.clear()
            stop.wait(0.2)

    with ps.Loader(arrays, python_workers=2, **options) as loader:
        next(iter(loader))  # they have begun
        loader.set_epoch(0)
        killer = threading.Thread(target=kill)
        killer.start()
        try:
            epoch = 0
            while len(killed) < KILLS:
                made = []
                for batch in loader:
                    made.append({name: plain(value) for name, value in batch.items()})
                    delivered.set()
                if epoch < 2:
                    assert made == slow[epoch]
                assert sorted(key for batch in made for key in batch["__key__"]) == [f"{i:03}" for i in range(40)]
                assert all(row[0] == int(key) for batch in made for key, row in zip(batch["__key__"], batch["npy"]))
                epoch += 1
        finally:
            stop.set()
            killer.join()
        assert loader.stats()["python_workers_replaced"] >= KILLS - 1
        pids = processes()
    assert gone(pids)


def test_a_batch_that_ctrl_c_ends_does_not_write_into_the_next_one(arrays):
    _, step = own_step({"npy": ps.array.decode() | ps.transform(own_functions.slowly)}, None, None, 2)

    def batch(value):
        rows = np.full((2, 3), value, np.float32)
        keys = {"__key__": ["0", "1"], "__valid__": np.ones(2, bool)}
        return step({"npy": rows, **keys}, 0, 0, 0, [0, 1], [0, 1])["npy"].tolist()

    def interrupt(*_):
        raise KeyboardInterrupt

    assert batch(1) == [[2] * 3] * 2
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        batch(10)
        raise AssertionError("it was not interrupted")
    except KeyboardInterrupt:  # kept by nobody, so that the batch's memory is free
        pass
    finally:
        signal.signal(signal.SIGALRM, before)
    assert batch(100) == [[101] * 3] * 2
    step.close()


def test_without_cloudpickle_functions_of_modules_run_and_others_are_told(arrays, monkeypatch):
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    with ps.Loader(arrays, transforms=chains(own_functions.noisy), python_workers=1, **OPTIONS) as loader:
        assert epochs_of(loader) == expected(arrays, own_functions.noisy)
    with pytest.raises(ps.Error, match="<lambda> cannot be imported by other processes, .* pip install cloudpickle"):
        ps.Loader(arrays, transforms=chains(lambda row: row), python_workers=1)


def test_what_cannot_be_taken_to_other_processes_is_told(arrays):
    lock = threading.Lock()
    with pytest.raises(ps.Error, match="cannot be pickled for other processes: TypeError: cannot pickle") as caught:
        ps.Loader(arrays, transforms=chains(functools.partial(own_functions.same, lock)), python_workers=1)
    assert caught.value.kind == "invalid_argument"
    with pytest.warns(UserWarning, match="python_workers has no effect without ps.transform"):
        ps.Loader(arrays, transforms={"cls": ps.label()}, python_workers=2)
    assert not processes()


def test_memory_that_cannot_be_had_is_an_error(arrays):
    code = (
        "import resource\n"
        "loader.close()\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))\n"  # of memory without a name, too
        "fields = {'npy': ps.array.decode() | ps.transform(own_functions.where)}\n"
        "try: ps.Loader(sys.argv[1], batch_size=40, transforms=fields, python_workers=1).at(0, 0); print('fits')\n"
        "except ps.Error as error: print(error.kind, error)\n"
        "fields = {'npy': ps.array.decode() | ps.transform(own_functions.large)}\n"
        "try: next(iter(ps.Loader(sys.argv[1], batch_size=40, transforms=fields, python_workers=1)))\n"
        "except ps.Error as error: print(error.kind, error)\n"
    )
    run = program(code, arrays)
    out, err = run.communicate(timeout=60)
    assert (run.returncode, err) == (0, "")
    assert out.splitlines()[0] == "fits"
    assert "resource" in out.splitlines()[1] and "of memory to share with other processes" in out.splitlines()[1]


def of_dev_shm(pid):
    """What a process has open or mapped there, but for the pages of `penstock top`; names alone may be of any program."""
    names = []
    for descriptor in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(FileNotFoundError):  # that of the listing
            names.append(os.readlink(f"/proc/{pid}/fd/{descriptor}"))
    with open(f"/proc/{pid}/maps") as maps:
        names += [line.rstrip().partition(" /")[2] for line in maps]
    return {name for name in names if "dev/shm/" in name and "/penstock-" not in name}


def test_nothing_in_dev_shm_is_used(arrays):
    before = of_dev_shm("self")
    with ps.Loader(arrays, transforms=chains(own_functions.same), python_workers=2, **OPTIONS) as loader:
        next(iter(loader))
        assert of_dev_shm("self") == before
        assert len(processes()) == 2
        for pid in processes():
            assert not of_dev_shm(pid)


def test_the_times_of_all_processes_are_told(arrays):
    with ps.Loader(arrays, transforms=chains(own_functions.slow), python_workers=2, **OPTIONS) as loader:
        for _ in loader:
            pass
        stats = loader.stats()
        assert stats["python_s"]["npy"] > 40 * 0.005
        assert stats["stages"]["custom_transform"]["busy_s"] > 0 and stats["python_workers"] == 2
        assert "2 processes" in str(stats)


def test_torch_gets_tensors_of_what_processes_made(arrays):
    torch = pytest.importorskip("torch")
    fields = {"npy": ps.array.decode() | ps.transform(own_functions.noisy), "cls": ps.label()}
    import penstock.torch

    dataset = penstock.torch.Loader(arrays, transforms=fields, as_tuple=("npy", "cls"), python_workers=2, **OPTIONS)
    for (rows, _), batch in zip(dataset, expected(arrays, own_functions.noisy)[0]):
        assert isinstance(rows, torch.Tensor) and rows.tolist() == batch["npy"]
    dataset.loader.close()
