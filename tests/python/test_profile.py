"""ps.profile(): any loader stays as it was, and its figures and its verdict are right."""

import copy
import gc
import math
import random
import threading
import time
import types

import numpy as np
import pytest
import slow_files
from planted_clock import MS, Planted, clock_fixture, run, torch_data_fixture  # noqa: F401
from penstock._penstock import DurationCounter
from penstock._profile import about, profile, scheduling, verdict
from penstock._profile.times import Recorder

import penstock as ps

# ---- Figures ---------------------------------------------------------------------------------------------------------


def test_waits_and_steps_are_the_wall_to_the_nanosecond(clock):
    loader = ps.profile(Planted(clock, [7, 3, 5, 4], ends=2, begins=10))
    begun = clock.now
    run(loader, clock, 20, epochs=2)
    stats = loader.stats()
    assert stats["wall_s"] == pytest.approx((clock.now - begun) * 1e-9, abs=1e-12)
    assert stats["data_wait_s"] == pytest.approx(2 * (10 + 7 + 3 + 5 + 4 + 2) * 1e-3, abs=1e-12)
    assert stats["step_s"] == pytest.approx(2 * 4 * 20e-3, abs=1e-12)
    assert stats["data_wait_s"] + stats["step_s"] == pytest.approx(stats["wall_s"], abs=1e-12)
    assert (stats["batches"], stats["epochs"], stats["errors"]) == (8, 2, 0)
    assert stats["first_batch_s"] == pytest.approx(17e-3) and stats["first_batches_s"] == pytest.approx(2 * 17e-3)
    assert stats["ends_s"] == pytest.approx(2 * 2e-3)
    assert stats["data_wait"] == pytest.approx(2 * 12 / (2 * 12 + 2 * 80))
    assert stats["percentiles"]["data_wait"]["count"] == 6 and stats["percentiles"]["step"]["count"] == 8
    assert stats["percentiles"]["data_wait"]["max"] == pytest.approx(5e-3)
    assert stats["percentiles"]["step"]["mean"] == pytest.approx(20e-3)


def test_what_passes_between_epochs_is_no_step(clock):
    loader = ps.profile(Planted(clock, [1, 1]))
    for _ in range(2):
        run(loader, clock, 5)
        clock.passes(10_000)  # a validation
    assert loader.stats()["wall_s"] == pytest.approx(2 * (2 + 10) * 1e-3)


def test_an_end_that_is_asked_for_again_counts_once(clock):
    loop = iter(ps.profile(Planted(clock, [1])))
    next(loop)
    for _ in range(3):
        with pytest.raises(StopIteration):
            next(loop)
        clock.passes(1000)
    assert loop._recorder.times().wall == 1 * MS


def test_the_real_clock_gives_sums_that_agree():
    loader = ps.profile([1, 2, 3])
    begun = time.perf_counter()
    for _ in loader:
        pass
    passed = time.perf_counter() - begun
    stats = loader.stats()
    assert 0 < stats["wall_s"] <= passed
    assert stats["data_wait_s"] + stats["step_s"] == pytest.approx(stats["wall_s"], abs=1e-9)


def test_the_table_has_a_line_for_each_part_of_the_time(clock):
    loader = ps.profile(Planted(clock, [4] * 10, ends=2, begins=6))
    run(loader, clock, 4)
    table = str(loader.stats())
    assert table.startswith("10 batches in 1 epoch, 88.0 ms: 114 batches/s, first batch after 10.0 ms\n")
    assert [line.split()[0] for line in table.splitlines()[1:]] == ["seconds", "data", "steps", "first", "ends"]
    assert "data wait        0.036   41 %    4.0 ms    4.0 ms    4.0 ms    4.0 ms" in table


def test_a_loader_that_was_not_run_has_figures_too():
    loader = ps.profile([])
    assert list(loader) == [] and loader.stats()["batches"] == 0 and "0 batches" in str(loader.stats())
    assert loader.verdict().binds == "unknown"


def test_reset_stats_begins_anew(clock):
    loader = ps.profile(Planted(clock, [1] * 5))
    run(loader, clock, 1)
    loader.reset_stats()
    assert loader.stats()["wall_s"] == 0 and loader.stats()["batches"] == 0
    run(loader, clock, 2)
    assert loader.stats()["step_s"] == pytest.approx(10e-3)


def test_a_batch_costs_two_looks_at_the_clock(clock):
    loader = ps.profile(range(2000))
    loop = iter(loader)
    next(loop), next(loop)
    loader._scheduling.due = math.inf
    before = clock.calls
    for _ in range(1000):
        next(loop)
    assert clock.calls - before == 2 * 1000


def test_looks_at_the_kernels_figures_take_a_small_part_of_the_time(monkeypatch, clock):
    reads = []
    monkeypatch.setattr(scheduling, "_spent", clock)
    monkeypatch.setattr(scheduling, "waited", lambda *_: (reads.append(clock.passes(0.01)), 0)[1])
    run(ps.profile(Planted(clock, [0.1] * 5000)), clock, 0.1)
    assert len(reads) > 10
    assert len(reads) * 0.01 * MS < (clock.now - 1000 * MS) / 100


def test_percentiles_of_a_million_are_near_the_exact_ones():
    draw = random.Random(7)
    counter, values = DurationCounter(), [int(draw.lognormvariate(12, 3)) for _ in range(20_000)]
    for value in values:
        counter.add(value)
    values.sort()
    durations = counter.get()
    for percent in (1, 50, 90, 99, 100):
        exact = values[max(math.ceil(percent / 100 * len(values)) - 1, 0)]
        assert durations.quantile(percent / 100) == pytest.approx(exact, rel=1 / 32, abs=0.5)
    assert durations.max == values[-1] and durations.sum == sum(values)
    by_bits = [sum(value for value in values if value.bit_length() == bits) for bits in range(65)]
    assert sum(durations.sums_by_width().values()) == pytest.approx(sum(values), rel=1 / 32)
    for bits, whole in durations.sums_by_width().items():
        assert whole == pytest.approx(by_bits[bits], rel=1 / 16)


@pytest.mark.parametrize("value", [0, 1, 15, 16, 17, 31, 32, 33, 2**40, 2**63, 2**64 - 1])
def test_every_duration_has_a_bucket(value):
    counter = DurationCounter()
    counter.add(value)
    durations = counter.get()
    assert durations.quantile(0.5) == pytest.approx(value, rel=1 / 32) and durations.max == value
    counter.add(1)
    assert (durations.count, counter.get().count) == (1, 2)


def test_another_thread_reads_figures_that_belong_together():
    loader, done = ps.profile(range(30_000)), threading.Event()
    seen = []

    def read():
        while not done.is_set():
            times = loader._recorder.times()
            seen.append(
                (times.batches, times.waits.count, times.waits.sum == times.wait, times.steps.sum <= times.step)
            )

    reader = threading.Thread(target=read)
    reader.start()
    for _ in loader:
        pass
    done.set()
    reader.join()
    assert all(batches in (waits, waits + 1) and waited and stepped for batches, waits, waited, stepped in seen)
    assert [batches for batches, *_ in seen] == sorted(batches for batches, *_ in seen)


# ---- The loader as it was --------------------------------------------------------------------------------------------


class Loader:
    """As those of libraries: attributes, an epoch, a length."""

    def __init__(self):
        self.batch_size, self.epochs = 4, []

    def __iter__(self):
        return iter([10, 20, 30])

    def __len__(self):
        return 3

    def __getitem__(self, place):
        return place * 10

    def set_epoch(self, epoch):
        self.epochs.append(epoch)


def test_attributes_are_the_wrapped_ones():
    wrapped = Loader()
    loader = ps.profile(wrapped)
    loader.set_epoch(3)
    loader.batch_size = 8
    loader.added = 1
    assert wrapped.epochs == [3] and wrapped.batch_size == 8 and wrapped.added == 1
    del loader.added
    assert not hasattr(loader, "added") and {"set_epoch", "verdict"} <= set(dir(loader))
    assert len(loader) == 3 and loader[2] == 20 and list(loader) == [10, 20, 30] and list(loader) == [10, 20, 30]
    assert loader.wrapped is wrapped and isinstance(loader, ps.Profile)
    with pytest.raises(AttributeError, match="'Loader' object has no attribute 'nothing'"):
        _ = loader.nothing


def test_a_copy_has_figures_of_its_own():
    loader = ps.profile([1, 2], synchronize=True)
    list(loader)
    copied = copy.deepcopy(loader)
    assert list(copied) == [1, 2] and copied.stats()["epochs"] == 1 and loader.stats()["epochs"] == 1
    assert copied._synchronize and copied.wrapped is not loader.wrapped


def test_what_the_wrapped_class_has_not_a_profile_has_not():
    loader = ps.profile(number for number in range(3))
    with pytest.raises(TypeError, match="has no len"):
        len(loader)
    with pytest.raises(TypeError, match="not subscriptable"):
        _ = loader[0]
    with pytest.raises(TypeError):
        next(ps.profile([1]))
    assert bool(loader) and not ps.profile([])
    with pytest.raises(TypeError, match="must be an iterable, not int"):
        ps.profile(3)


def test_a_generator_stays_one():
    closed = []

    def batches():
        try:
            yield from range(5)
        finally:
            closed.append(True)

    loader = ps.profile(batches())
    assert next(loader) == 0 and next(loader) == 1
    for batch in loader:
        assert batch == 2
        break
    loader.close()
    assert closed == [True] and list(loader) == [] and loader.stats()["batches"] == 3


def test_a_generator_ends_with_the_last_that_holds_its_profile():
    closed = []

    def batches():
        try:
            yield from range(5)
        finally:
            closed.append(True)

    gc.disable()
    try:
        loader = ps.profile(batches())
        next(loader)
        del loader
        assert closed == [True]
    finally:
        gc.enable()


def test_an_iterator_that_begins_anew_after_its_end_has_epochs(clock):
    class Resets:
        left = 0

        def __next__(self):
            clock.passes(4)
            if not self.left:
                self.left = 2
                raise StopIteration
            self.left -= 1
            return self.left

        def __iter__(self):
            return self

    loader = ps.profile(Resets())
    loader.left = 2
    for _ in range(2):
        assert next(loader) == 1 and next(loader) == 0
        with pytest.raises(StopIteration):
            next(loader)
    stats = loader.stats()
    assert (stats["batches"], stats["epochs"]) == (4, 2) and stats["first_batches_s"] == pytest.approx(8e-3)


def test_threads_may_share_a_loop(clock):
    loop = iter(ps.profile(Planted(clock, [1, 1, 1])))
    next(loop)
    loop._last += 5 * MS  # as another thread leaves it, which got a batch since this one began to ask
    next(loop)
    times = loop._recorder.times()
    assert times.step == 0 and times.steps.count == 1 and times.wait == 1 * MS


def test_a_loop_that_is_left_lets_its_iterator_go():
    closed = []

    class Loads:
        def __iter__(self):
            try:
                yield from range(5)
            finally:
                closed.append(True)

    for _ in ps.profile(Loads()):
        break
    gc.collect()
    assert closed == [True]


def test_the_loop_of_an_iterator_has_its_attributes_and_close():
    def batches():
        yield 1
        yield 2

    loop = iter(ps.profile(batches()))
    assert iter(loop) is loop and next(loop) == 1 and loop.gi_frame is not None
    loop.close()
    assert list(loop) == []


def test_an_error_passes_unchanged_and_the_loop_may_go_on(clock):
    error = ValueError("a broken sample")

    class Fails:
        def __init__(self):
            self.left = [1, error, 2]

        def __iter__(self):
            return self

        def __next__(self):
            clock.passes(3)
            if not self.left:
                raise StopIteration
            batch = self.left.pop(0)
            if batch is error:
                raise error
            return batch

    loader = ps.profile(Fails())
    loop = iter(loader)
    assert next(loop) == 1
    clock.passes(5)
    with pytest.raises(ValueError) as raised:
        next(loop)
    assert raised.value is error and next(loop) == 2
    stats = loader.stats()
    assert stats["errors"] == 1 and stats["batches"] == 2 and "1 error raised by next()" in str(stats)
    assert stats["wall_s"] == pytest.approx(14e-3) == stats["data_wait_s"] + stats["step_s"]


def test_a_with_statement_is_the_wrapped_ones(arrays):
    with ps.profile(ps.Loader(arrays, batch_size=10, transforms={"npy": ps.array.decode()})) as loader:
        assert len(loader) == 4 and [len(batch["npy"]) for batch in loader] == [10] * 4
    with pytest.raises(ps.Error, match="closed"):
        next(iter(loader))


def test_synchronize_waits_for_the_gpu_before_each_next(monkeypatch, clock):
    calls = []

    def synchronize():
        calls.append(clock.now)
        clock.passes(30)

    cuda = types.SimpleNamespace(is_available=lambda: True, is_initialized=lambda: True, synchronize=synchronize)
    monkeypatch.setitem(profile.sys.modules, "torch", types.SimpleNamespace(cuda=cuda))
    loader = ps.profile(Planted(clock, [1] * 6), synchronize=True)
    run(loader, clock, 2)
    assert len(calls) == 7 and loader.stats()["step_s"] == pytest.approx(6 * 32e-3 + 30e-3)
    cuda.is_available = lambda: False
    run(loader, clock, 2)
    assert len(calls) == 7
    run(ps.profile(Planted(clock, [1])), clock, 2)
    assert len(calls) == 7


# ---- Verdicts --------------------------------------------------------------------------------------------------------


def test_a_loop_that_waits_is_bound_by_its_loader(clock):
    loader = ps.profile(Planted(clock, [30] * 10))
    run(loader, clock, 10)
    said = loader.verdict()
    assert said.binds == "loader" and said.data_wait == pytest.approx(9 * 30 / (9 * 30 + 10 * 10))
    assert str(said).startswith(
        "the loop waited 73 % of its time for batches: 30.0 ms for each (median 29.9 ms, longest 30.0 ms), and a step "
        "takes 10.0 ms; without waits it would be 3.7 times as fast; "
    )


def test_a_loop_that_hardly_waits_is_bound_by_its_model(clock):
    loader = ps.profile(Planted(clock, [1] * 20, begins=80))
    run(loader, clock, 50)
    said = loader.verdict()
    assert said.binds == "model" and said.data_wait == pytest.approx(19 / (19 + 1000))
    assert (
        "the loop waited 2 % of its time" in said.text
        and "takes 50.0 ms; the first batch came after 81.0 ms" in said.text
    )


def test_few_batches_tell_nothing(clock):
    loader = ps.profile(Planted(clock, [30] * 5))
    run(loader, clock, 10)
    assert loader.verdict().binds == "start-up"
    assert loader.verdict().text == "too few batches for a diagnosis: 5 were taken; the first came after 30.0 ms"


@pytest.mark.parametrize("place", [0, 10])
def test_one_wait_that_is_most_of_the_run_is_start_up(clock, place):
    waits = [1] * 20
    waits[place] = 2000
    loader = ps.profile(Planted(clock, waits))
    run(loader, clock, 10)
    said = loader.verdict()
    assert said.binds == "start-up"
    assert "the wait for one batch took most of the time, 2.00 s of a run of 2.22 s" in said.text


def test_epochs_that_begin_anew_each_time_are_start_up(clock):
    loader = ps.profile(Planted(clock, [0.1] * 20, begins=150, ends=50))
    run(loader, clock, 10, epochs=3)
    said = loader.verdict()
    assert said.binds == "start-up" and said.data_wait < 0.05
    assert "epochs take long to start and to end: 200.1 ms each, 50 % of the time" in said.text


NOTHING = scheduling.Shares()


def judged(of_workers=NOTHING, here=NOTHING, **of_loader):
    """The verdict of a loop that waits half of its time."""
    recorder = Recorder()
    recorder.first(0, 10 * MS, 10 * MS)
    for _ in range(20):
        recorder.taken(10 * MS, 10 * MS)
    times = recorder.times()
    seen = scheduling.Scheduling()
    seen.workers, seen.looked = of_workers, {(10 * MS).bit_length(): here}
    said = verdict.verdict_of(times, seen, about.About("DataLoader", **of_loader))
    assert said.binds == "loader" and said.data_wait == 0.5
    return said.text


def test_what_helps_a_data_loader_follows_from_what_its_processes_did(monkeypatch):
    def shares(core, waiting):
        return scheduling.Shares(observed=1000, core=core, waiting=waiting, processes=4)

    monkeypatch.setattr(verdict, "usable_cores", lambda: 8)
    assert "try num_workers=8 on 8 cores" in judged(num_workers=0, here=shares(900, 0))
    assert "which waits for storage or a lock meanwhile (10 % " in judged(num_workers=0, here=shares(100, 50))
    assert "which computes meanwhile (30 % of the time on a core, 60 % waiting for one)" in judged(
        num_workers=0, here=shares(300, 600)
    )
    assert "4 worker processes on 8 cores, 95 % of the time on a core: they compute, so num_workers=8 helps" in judged(
        shares(950, 0), num_workers=4
    )
    assert (
        "16 worker processes on 8 cores, 50 % of the time on a core, 45 % waiting for one: the cores are the bottleneck"
        in judged(shares(500, 450), num_workers=16)
    )
    assert "5 % of the time on a core: they wait for storage" in judged(shares(50, 0), num_workers=4)
    assert "50 % of the time on a core: they partly compute" in judged(shares(500, 0), num_workers=4)
    assert "their load could not be measured" in judged(num_workers=4)
    assert "this process itself computes meanwhile (90 % " in judged(shares(50, 0), shares(900, 0), num_workers=4)
    assert "load ahead" in judged(here=shares(900, 0)) and "outside this thread" in judged(here=shares(10, 0))


def test_what_was_not_seen_is_not_called_waiting():
    text = judged(num_workers=0)
    assert (
        "the loader loads in this process (num_workers=0), and loads nothing during a step: " in text
        and "meanwhile" not in text
    )


def test_waits_on_both_sides_of_a_power_of_two_stand_for_each_other():
    seen, edge = scheduling.Scheduling(), 1 << 25
    counter = DurationCounter()
    for _ in range(10):
        counter.add(edge + 2 * MS)
    waits = counter.get()
    seen.looked = {edge.bit_length() - 1: scheduling.Shares(observed=1000, core=900)}
    assert seen.here(waits).on_core == pytest.approx(0.9)
    seen.looked[edge.bit_length()] = scheduling.Shares(observed=1000, core=100)
    assert seen.here(waits).on_core == pytest.approx(0.1)
    seen.looked = {edge.bit_length() - 2: scheduling.Shares(observed=1000, core=900)}
    assert seen.here(waits).observed == 0


@pytest.mark.parametrize(
    ("binds", "ours"), [("storage latency", "loader"), ("consumer", "model"), ("unknown", "unknown")]
)
def test_the_verdict_of_penstocks_own_loader_is_passed_on(arrays, monkeypatch, binds, ours):
    loader = ps.profile(ps.Loader(arrays, batch_size=10, transforms={"npy": ps.array.decode()}))
    list(loader)
    monkeypatch.setattr(
        ps.Loader, "stats", lambda _: {"verdict": {"binds": binds, "data_wait": 0.25, "text": "so it is"}}
    )
    assert loader.verdict() == ps.Verdict(ours, 0.25, "so it is")
    monkeypatch.setattr(ps.Loader, "stats", lambda _: {})
    assert loader.verdict().binds == "start-up"


def test_the_share_of_the_waits_of_penstocks_own_loader_is_one_figure(arrays):
    with ps.Loader(arrays, batch_size=10, transforms={"npy": ps.array.decode()}) as wrapped:
        loader = ps.profile(wrapped)
        for _ in range(3):
            list(loader)
        shares = [loader.stats()["data_wait"], loader.verdict().data_wait, wrapped.stats()["verdict"]["data_wait"]]
        assert shares[0] > 0 and len(set(shares)) == 1
        loader.reset_stats()
        assert wrapped.stats()["batches"] == 0


# ---- PyTorch ---------------------------------------------------------------------------------------------------------


class Rows:
    """A map-style dataset whose rows take what a function does."""

    def __init__(self, count, row):
        self.count, self.row = count, row

    def __len__(self):
        return self.count

    def __getitem__(self, number):
        self.row()
        return number


def test_a_slow_dataset_in_a_data_loader_is_the_loader(torch_data, clock):
    loader = ps.profile(torch_data.DataLoader(Rows(40, lambda: clock.passes(10)), batch_size=4))
    for epoch in range(2):
        assert [batch.tolist() for batch in loader] == [list(range(at, at + 4)) for at in range(0, 40, 4)], epoch
    assert len(loader) == 10 and loader.batch_size == 4 and len(loader.dataset) == 40 and loader.sampler is not None
    stats = loader.stats()
    assert stats["batches"] == 20 and stats["batch_size"] == 4 and stats["epochs"] == 2 and stats["num_workers"] == 0
    said = loader.verdict()
    assert said.binds == "loader" and "(num_workers=0)" in said.text and "40.0 ms for each" in said.text


def test_a_slow_step_beside_a_data_loader_is_the_model(torch_data, clock):
    loader = ps.profile(torch_data.DataLoader(Rows(40, lambda: None), batch_size=4))
    run(loader, clock, 20)
    assert loader.verdict().binds == "model"


def compute():
    ends = time.thread_time() + 0.02  # of its own time, however busy the machine is
    while time.thread_time() < ends:
        pass


def rest():
    time.sleep(0.04)


@pytest.mark.parametrize(("row", "computes"), [(compute, True), (rest, False)])
def test_worker_processes_that_compute_are_told_from_those_that_rest(torch_data, monkeypatch, row, computes):
    monkeypatch.setattr(scheduling, "_SELDOM", 1)
    loader = ps.profile(torch_data.DataLoader(Rows(60, row), batch_size=2, num_workers=2))
    for _ in loader:
        pass
    workers = loader.stats()["workers"]
    assert workers["processes"] == 2 and workers["observed_s"] > 0.1
    assert (workers["on_core"] + workers["runnable"] > 0.7) == computes
    said = loader.verdict().text
    assert "2 worker processes on" in said and ("they wait for storage" not in said) == computes
    assert "2 worker processes on a core" in str(loader.stats())


def test_short_waits_behind_long_ones_do_not_stand_for_all():
    def bursts():
        for _ in range(60):
            rest()
            yield 0
            for _ in range(3):
                ends = time.thread_time() + 0.001
                while time.thread_time() < ends:
                    pass
                yield 0

    loader = ps.profile(bursts())
    for _ in loader:
        pass
    assert loader.stats()["thread"]["on_core"] < 0.5
    assert "the thread of the loop is idle" in loader.verdict().text


def test_penstock_behind_a_data_loader_is_known_as_its_own(torch_data, arrays, monkeypatch):
    dataset = ps.torch.Loader(arrays, batch_size=10, transforms={"npy": ps.array.decode()})
    loader = ps.profile(torch_data.DataLoader(dataset, batch_size=None))
    assert [len(batch["npy"]) for batch in loader] == [10] * 4
    said = {"verdict": {"binds": "cores", "data_wait": 0.5, "text": "so it is"}}
    monkeypatch.setattr(ps.torch.Loader, "stats", lambda _: said)
    assert loader.verdict().text == "so it is"


def test_worker_processes_that_stay_serve_every_epoch(torch_data):
    data = torch_data.DataLoader(Rows(12, lambda: None), batch_size=2, num_workers=1, persistent_workers=True)
    loader = ps.profile(data)
    for epoch in range(2):
        assert [batch.tolist() for batch in loader] == [[at, at + 1] for at in range(0, 12, 2)], epoch
    for _ in loader:
        break
    assert loader.stats()["epochs"] == 3 and loader.stats()["batches"] == 13


def test_an_error_in_a_worker_process_arrives_as_it_was(torch_data):
    def fails():
        raise KeyError("no such row")

    loader = ps.profile(torch_data.DataLoader(Rows(8, fails), batch_size=2, num_workers=1))
    with pytest.raises(KeyError, match="no such row"):
        next(iter(loader))
    assert loader.stats()["errors"] == 1


def test_accelerate_prepares_first(torch_data):
    accelerate = pytest.importorskip("accelerate")
    prepared = accelerate.Accelerator(cpu=True).prepare(torch_data.DataLoader(Rows(16, lambda: None), batch_size=2))
    loader = ps.profile(prepared)
    assert [len(batch) for batch in loader] == [2] * 8 and loader.stats()["num_workers"] == 0
    assert loader.stats()["batch_size"] == 2


# ---- A file system that answers late ---------------------------------------------------------------------------------


class Read:
    """A map-style dataset of files, each read whole."""

    def __init__(self, folder):
        self.files = sorted(folder.iterdir())

    def __len__(self):
        return len(self.files)

    def __getitem__(self, number):
        return len(self.files[number].read_bytes())


@pytest.mark.parametrize("workers", [0, 2])
def test_a_data_loader_whose_files_come_late_waits_for_storage(torch_data, tmp_path, monkeypatch, workers):
    monkeypatch.setattr(scheduling, "_SELDOM", 1)
    files = tmp_path / "files"
    files.mkdir()
    for number in range(120):
        (files / f"{number:03}.bin").write_bytes(bytes(1000))
    with slow_files.mounted(files, tmp_path / "slow", 0.04) as slow:
        loader = ps.profile(torch_data.DataLoader(Read(slow), batch_size=4, num_workers=workers))
        assert sum(sum(batch.tolist()) for batch in loader) == 120_000
        said = loader.verdict()
    assert said.binds == "loader"
    assert ("they wait for storage" if workers else "which waits for storage or a lock") in said.text


def test_a_loader_whose_files_come_late_waits_for_storage_that_answers_late(tmp_path):
    files = tmp_path / "files"
    files.mkdir()
    for number in range(96):
        np.save(files / f"{number:03}.npy", np.zeros(100, np.float32))
    with (
        slow_files.mounted(files, tmp_path / "slow", 0.02) as slow,
        ps.Loader(slow, batch_size=8, workers=2, read_options=ps.ReadOptions(engine="inline")) as loader,
    ):
        profiled = ps.profile(loader)
        for _ in profiled:
            pass
        assert profiled.verdict().binds == "loader"
        assert loader.stats()["verdict"]["binds"] == "storage latency"
