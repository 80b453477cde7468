"""ps.mixture(schedule=...): weights that change on the way, as docs/order.md defines them; by a model of that page."""

import functools

import penstock as ps
import pytest
import schedule_model
from resuming import Epochs, goes_on, positions

SIZES = {"a": 37, "b": 11, "c": 5}
FIRST = {"a": 1, "b": 0, "c": 0}
SCHEDULE = [
    (30, {"a": 1, "b": 1, "c": 0}),
    (95, {"a": 0.2, "b": 0.3, "c": 0.5}),
    (100, {"a": 0, "b": 1, "c": 1}),
    (261, {"a": 3, "b": 2, "c": 1}),
]


@pytest.fixture(name="datasets", scope="module")
def datasets_fixture(tmp_path_factory):
    folder = tmp_path_factory.mktemp("schedule")
    for name, size in SIZES.items():
        (folder / name).mkdir()
        for i in range(size):
            (folder / name / f"{name}{i:03}.cls").write_text(str(i))
    return {name: ps.open(folder / name) for name in SIZES}


def loader_of(datasets, stop=50, schedule=None, carry="raise", **options):
    schedule = SCHEDULE if schedule is None else schedule
    mixture = ps.mixture(datasets, FIRST, stop=stop, schedule=schedule, on_change=carry)
    return ps.Loader(mixture, transforms={"cls": ps.label()}, workers=1, shuffle=True, **options)


def rows_of(batch):
    return list(zip(batch["__key__"], batch["__source__"].tolist(), batch["__valid__"].tolist()))


def epochs_of(model, last="keep"):
    def row(epoch, position):
        source, sample, _ = model.row(epoch, position)
        return f"{model.names[source]}{sample:03}", source

    return Epochs(model, row, last)


def model_of(stop=50, seed=0):
    return schedule_model.Scheduled(SIZES, FIRST, schedule=SCHEDULE, stop=stop, shuffle=True, seed=seed)


@pytest.mark.parametrize("last", ["keep", "drop", "pad"])
@pytest.mark.parametrize("stop", [50, 333])
def test_batches_are_those_of_the_page(datasets, stop, last):
    model = model_of(stop, seed=3)
    for world, batch_size in ((1, 4), (2, 3), (3, 1), (8, 2)):
        for rank in {0, world // 2, world - 1}:
            options = {"batch_size": batch_size, "seed": 3, "last_batch": last, "rank": rank, "world_size": world}
            loader = loader_of(datasets, stop, **options)
            for epoch in range(7 if stop == 50 else 2):
                got = [rows_of(batch) for batch in loader]
                assert got == epochs_of(model, last).epoch(epoch, batch_size, rank, world), (world, rank, epoch)


def test_states_go_on_from_anywhere_with_any_world(datasets):
    model = epochs_of(model_of(150, seed=11))
    for draw in positions("schedule"):
        goes_on(draw, model, functools.partial(loader_of, datasets, 150, seed=11), rows_of)


def test_each_phase_has_its_weights_and_each_source_goes_on(datasets):
    loader = loader_of(datasets, 50, batch_size=1, seed=2)
    rows = [rows_of(batch)[0] for _ in range(8) for batch in loader]
    phases = [(0, FIRST), *SCHEDULE, (400, None)]
    for (begin, weights), (end, _) in zip(phases, phases[1:]):
        for number, name in enumerate(SIZES):
            for n in range(1, end - begin):
                met = sum(source == number for _, source, _ in rows[begin : begin + n])
                assert abs(met - n * weights[name] / sum(weights.values())) <= 2
    for name, size in SIZES.items():
        met = [key for key, _, _ in rows if key[0] == name]
        for at in range(0, len(met) - size + 1, size):
            assert len(set(met[at : at + size])) == size


def test_states_tell_the_schedule(datasets):
    loader = loader_of(datasets, batch_size=4)
    next(iter(loader))
    state = loader.state_dict()
    plain = loader_of(datasets, batch_size=4, schedule=[])
    assert "schedule" in state["mixture"] and "schedule" not in plain.state_dict()["mixture"]
    with pytest.raises(ps.Error, match="the schedule of weights .* has no schedule of weights"):
        plain.load_state_dict(state)
    with pytest.raises(ps.Error, match="the schedule of weights"):
        loader_of(datasets, batch_size=4, schedule=SCHEDULE[:2]).load_state_dict(state)


def test_a_schedule_takes_up_what_another_mixture_gave(datasets):
    plain = ps.mixture(datasets, {"a": 2, "b": 1, "c": 1}, stop=50)
    loader = ps.Loader(plain, transforms={"cls": ps.label()}, workers=1, shuffle=True, batch_size=5)
    met = [key for _ in range(2) for batch in loader for key, _, _ in rows_of(batch)]
    other = loader_of(datasets, carry="carry", batch_size=5)
    with pytest.warns(UserWarning, match="of a mixture with other weights"):
        other.load_state_dict(loader.state_dict())
    met += [key for _ in range(5) for batch in other for key, _, _ in rows_of(batch)]
    for name, size in SIZES.items():
        own = [key for key in met if key[0] == name]
        for at in range(0, len(own) - size + 1, size):
            assert len(set(own[at : at + size])) == size
    state = other.state_dict()
    again = loader_of(datasets, carry="carry", batch_size=5)
    again.load_state_dict(state)
    assert [rows_of(batch) for batch in again] == [rows_of(batch) for batch in other]


@pytest.mark.parametrize(
    "schedule, stop, told",
    [
        ([(10, FIRST)], "first_exhausted", "requires stop to be a number"),
        ([(0, FIRST)], 50, "positions must be above 0"),
        ([(10, FIRST), (10, FIRST)], 50, "10 comes after 10"),
        ([(10, {"a": -1, "b": 1, "c": 1})], 50, 'weight of source "a" from position 10 on'),
        ([(10, {"a": 0, "b": 0, "c": 0})], 50, "from position 10 on are 0"),
        ([(10, {"a": 1})], 50, 'source "b" has no weight'),
        ([(2**48, FIRST)], 50, "positions of a schedule must be below 2^48"),
    ],
)
def test_what_cannot_be_is_one_clear_error(datasets, schedule, stop, told):
    with pytest.raises(ps.Error) as error:
        ps.mixture(datasets, FIRST, stop=stop, schedule=schedule)
    assert told in str(error.value)


def test_other_things_than_schedules_are_told(datasets):
    for schedule in ([1], [(1, 2)], [("x", FIRST)]):
        with pytest.raises(TypeError, match="schedule must be a list"):
            ps.mixture(datasets, FIRST, stop=50, schedule=schedule)


def test_a_schedule_goes_with_shares_alone(datasets):
    with pytest.raises(ps.Error, match='requires sampling "shares"'):
        ps.mixture(datasets, FIRST, stop=50, schedule=SCHEDULE, sampling="random")
