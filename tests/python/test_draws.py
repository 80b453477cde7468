"""weights, repeats, balance and shuffle_window: the batches are those that docs/order.md defines, computed by a model
written from that page alone."""

import functools
import json
import os
from collections import Counter

import draws_model
import numpy as np
import order_model
import penstock as ps
import pytest
from command import fails, run
from PIL import Image
from resuming import Epochs, goes_on, positions

SIZE = 53
CLASSES = ["9", "10", "7", "33", "10", "10", "9", "7"]  # of sample i: CLASSES[i % 8]
NUMBERS = [round(0.37 * (i % 9), 2) for i in range(SIZE)]
KINDS = ["weights", "once", "repeats", "balance", "window"]


def text_of(i):
    return CLASSES[i % len(CLASSES)]


@pytest.fixture(name="folder", scope="module")
def folder_fixture(tmp_path_factory):
    folder = tmp_path_factory.mktemp("draws") / "data"
    folder.mkdir()
    for i in range(SIZE):
        (folder / f"{i:03}.cls").write_text(text_of(i))
        (folder / f"{i:03}.json").write_text(json.dumps({"number": NUMBERS[i], "kind": "ab"[i % 2]}))
    return folder


@pytest.fixture(name="dataset", scope="module", params=["folder", "lmdb", "tar"])
def dataset_fixture(folder, request):
    if request.param == "folder":
        return ps.open(folder)
    packed = folder.parent / f"packed.{request.param}"
    if not packed.exists():
        ps.pack(folder, packed, format=request.param)
    return ps.open(packed)


def loader_of(dataset, **options):
    return ps.Loader(dataset, transforms={"cls": ps.label()}, workers=1, **options)


def rows_of(batch):
    keys = batch["__key__"]
    assert [str(label) for label in batch["cls"].tolist()] == [text_of(int(key)) for key in keys]
    return list(zip(keys, batch["__valid__"].tolist()))


def options_of(kind, samples=None):
    return {
        "weights": {"shuffle": True, "sampler": ps.sampler.weighted(NUMBERS, num_samples=samples)},
        "once": {
            "shuffle": True,
            "sampler": ps.sampler.weighted(
                np.array(NUMBERS, "f4").astype("f8"), replacement=False, num_samples=samples
            ),
        },
        "repeats": {"shuffle": True, "sampler": ps.sampler.repeated(NUMBERS, num_samples=samples)},
        "balance": {"shuffle": True, "sampler": ps.sampler.balanced("cls", num_samples=samples)},
        "window": {"shuffle": ps.shuffle.window(10)},
    }[kind]


def model_of(kind, seed, samples=None, shuffle=True, block=0, window=0):
    if kind == "weights":
        return draws_model.Weighted(NUMBERS, seed, samples)
    if kind == "once":
        return draws_model.Once([float(np.float32(number)) for number in NUMBERS], seed, samples)
    if kind == "repeats":
        return draws_model.Repeated(NUMBERS, seed, shuffle, block, window, samples)
    if kind == "balance":
        return draws_model.Balanced([text_of(i) for i in range(SIZE)], seed, shuffle, block, window, samples)
    return order_model.One(SIZE, shuffle, 0, seed, 10)


def epochs_of(model, last="keep"):
    return Epochs(model, lambda epoch, position: (f"{model.sample_at(epoch, position):03}",), last)


@pytest.mark.parametrize("last", ["keep", "drop", "pad"])
@pytest.mark.parametrize("kind", KINDS)
def test_batches_are_those_of_the_page(dataset, kind, last):
    model = model_of(kind, 3)
    for world, batch_size in ((1, 4), (2, 3), (3, 1), (8, 2)):
        for rank in {0, world // 2, world - 1}:
            options = {"seed": 3, "batch_size": batch_size, "rank": rank, "world_size": world, "last_batch": last}
            loader = loader_of(dataset, **options, **options_of(kind))
            for epoch in range(3):
                got = [rows_of(batch) for batch in loader]
                assert got == epochs_of(model, last).epoch(epoch, batch_size, rank, world), (world, rank, epoch)


@pytest.mark.parametrize("kind", ["weights", "once", "repeats", "balance"])
def test_epochs_are_as_long_as_they_are_told(dataset, kind):
    for samples in (1, 7, 40, 200):
        if kind == "once" and samples > sum(number > 0 for number in NUMBERS):
            continue
        loader = loader_of(dataset, batch_size=6, seed=1, **options_of(kind, samples))
        model = model_of(kind, 1, samples)
        for epoch in range(2):
            got = [rows_of(batch) for batch in loader]
            assert sum(map(len, got)) == samples
            assert got == epochs_of(model).epoch(epoch, 6)


@pytest.mark.parametrize("kind", ["repeats", "balance"])
@pytest.mark.parametrize(
    "shuffled", [{"shuffle": False}, {"shuffle": ps.shuffle.blocks(4)}, {"shuffle": ps.shuffle.window(9)}]
)
def test_repeats_and_balance_keep_to_the_shuffle(dataset, kind, shuffled):
    options = {**options_of(kind), **shuffled}
    block, window = (getattr(options["shuffle"], name, None) or 0 for name in ("block", "window"))
    model = model_of(kind, 5, shuffle=bool(options["shuffle"]), block=block, window=window)
    loader = loader_of(dataset, batch_size=6, seed=5, **options)
    for epoch in range(3):
        assert [rows_of(batch) for batch in loader] == epochs_of(model).epoch(epoch, 6)


@pytest.mark.parametrize("kind", KINDS)
def test_states_go_on_from_anywhere_with_any_world(dataset, kind):
    model = epochs_of(model_of(kind, 11))
    for draw in positions(kind):
        goes_on(draw, model, functools.partial(loader_of, dataset, seed=11, **options_of(kind)), rows_of)


@pytest.mark.parametrize("kind", KINDS)
def test_at_and_explain_tell_the_same(dataset, kind):
    loader = loader_of(dataset, batch_size=8, seed=1, **options_of(kind))
    model = model_of(kind, 1)
    for epoch in range(2):
        for number, batch in enumerate(loader):
            assert rows_of(loader.at(epoch, number)) == rows_of(batch)
            for row, (key, _) in enumerate(rows_of(batch)):
                told = loader.explain(epoch, number, row)
                assert told["key"] == key
                if kind != "window":
                    entry, occurrence = model.row(epoch, 8 * number + row)
                    assert (entry, occurrence) == (int(key), told.get("occurrence", 0))


def test_a_sample_that_comes_twice_is_not_cropped_alike(tmp_path):
    from PIL import Image

    pixels = np.random.default_rng(1).integers(0, 256, (64, 64, 3), "u1")
    for i in range(4):
        Image.fromarray(np.roll(pixels, i, 0)).save(tmp_path / f"{i}.png")
        (tmp_path / f"{i}.cls").write_text(str(i % 2))
    dataset = ps.open(tmp_path)
    for options in (
        {"sampler": ps.sampler.weighted([1, 1, 1, 1], num_samples=12)},
        {"sampler": ps.sampler.balanced("cls", num_samples=12)},
        {"sampler": ps.sampler.repeated([3, 3, 3, 3])},
    ):
        fields = {"png": ps.image.random_resized_crop(16)}
        for batch in ps.Loader(dataset, batch_size=12, shuffle=True, transforms=fields, **options):
            rows = [row.tobytes() for row in batch["png"].numpy()]
            assert len(set(rows)) == len(rows) == 12


def test_numbers_may_be_given_in_many_ways(dataset, tmp_path):
    np.save(tmp_path / "numbers.npy", np.array(NUMBERS, "f4"))
    (tmp_path / "numbers.txt").write_text("\n".join(map(str, NUMBERS)))
    torch = pytest.importorskip("torch")

    def epoch(weights):
        loader = loader_of(dataset, batch_size=9, shuffle=True, sampler=ps.sampler.weighted(weights))
        return [rows_of(batch) for batch in loader], loader.state_dict()["draws"]

    wanted = epoch(NUMBERS)
    for weights in (
        tuple(NUMBERS),
        (number for number in NUMBERS),
        np.array(NUMBERS),
        np.array(NUMBERS * 2)[: len(NUMBERS)],
        np.repeat(NUMBERS, 2)[::2],
        torch.tensor(NUMBERS, dtype=torch.float64, requires_grad=True),
        tmp_path / "numbers.txt",
        "json:number",
    ):
        assert epoch(weights) == wanted
    assert epoch(tmp_path / "numbers.npy") == epoch(np.array(NUMBERS, "f4"))
    by_class = {"9": 1, 10: 2, "7": 0, "33": 0.5}
    assert epoch(by_class) == epoch([by_class.get(text_of(i), by_class.get(int(text_of(i)))) for i in range(SIZE)])
    assert epoch({"json:kind": {"a": 1, "b": 2}}) == epoch([1 + i % 2 for i in range(SIZE)])


def test_counts_are_kept(dataset):
    loader = loader_of(dataset, batch_size=10, shuffle=True, sampler=ps.sampler.repeated({9: 3, 10: 1, 7: 0, 33: 2}))
    for _ in range(2):
        counts = Counter(key for batch in loader for key, _ in rows_of(batch))
        for i in range(SIZE):
            assert counts[f"{i:03}"] == {"9": 3, "10": 1, "7": 0, "33": 2}[text_of(i)]
    loader = loader_of(dataset, batch_size=8, shuffle=True, sampler=ps.sampler.balanced("cls", num_samples=400))
    for batch in loader:
        assert set(Counter(text_of(int(key)) for key, _ in rows_of(batch)).values()) == {2}


@pytest.mark.parametrize("kind", ["weights", "once", "repeats", "balance"])
def test_with_subsets_views_and_missing_fields(dataset, kind):
    chosen = [i for i in range(SIZE) if i % 3 != 1]
    view = dataset.filter(keys=[f"{i:03}" for i in chosen])
    numbers = [NUMBERS[i] for i in chosen]

    def of(which, weights, **options):
        given = options_of(kind)
        if kind != "balance":
            by = (
                ps.sampler.repeated(weights)
                if kind == "repeats"
                else ps.sampler.weighted(weights, replacement=kind == "weights")
            )
            given["sampler"] = by
        loader = loader_of(which, batch_size=7, seed=2, **given, **options)
        return [rows_of(batch) for batch in loader]

    assert of(dataset.select(chosen), numbers) == of(view, numbers)


def test_other_draws_are_refused_by_name(dataset):
    def refused(options, state):
        with pytest.raises(ps.Error) as told:
            loader_of(dataset, batch_size=4, **options).load_state_dict(state)
        return told.value.cause

    state = loader_of(dataset, batch_size=4, **options_of("weights")).state_dict()
    assert "weights from other numbers" in refused({"shuffle": True, "sampler": ps.sampler.weighted([1] * SIZE)}, state)
    assert "without replacement" in refused(
        {"shuffle": True, "sampler": ps.sampler.weighted(NUMBERS, replacement=False, num_samples=47)},
        {
            **state,
            "samples": 47,
        },
    )
    assert "each sample once" in refused({"shuffle": True}, state)
    plain = loader_of(dataset, batch_size=4, shuffle=True).state_dict()
    assert "draws" not in plain and "shuffle_window" not in plain
    assert "each sample once" in refused(options_of("balance"), plain)
    assert "shuffle_window=10" in refused(options_of("window"), plain)


@pytest.mark.parametrize(
    "options, told",
    [
        ({"sampler": ps.sampler.weighted([1.0])}, "weights: 1 numbers for 53 samples"),
        ({"sampler": ps.sampler.weighted([-1.0] * SIZE)}, "sample 0 has -1"),
        ({"sampler": ps.sampler.weighted([float("nan")] * SIZE)}, "sample 0 has nan"),
        ({"sampler": ps.sampler.weighted([0] * SIZE)}, "all numbers are 0"),
        ({"sampler": ps.sampler.weighted("score")}, 'there is no field "score"'),
        ({"sampler": ps.sampler.weighted("json:score")}, 'no member "score"'),
        ({"sampler": ps.sampler.weighted("json:kind")}, 'weights="json:kind": "a" is not a finite number'),
        ({"sampler": ps.sampler.weighted("json")}, '"json:NAME" selects a member of the object'),
        ({"sampler": ps.sampler.repeated("klass")}, 'repeats="klass": there is no field "klass"'),
        (
            {"sampler": ps.sampler.weighted("w.npy")},
            'for a file of numbers pass pathlib.Path("w.npy") or numpy.load("w.npy")',
        ),
        ({"sampler": ps.sampler.repeated(__file__)}, f'for a file of numbers pass pathlib.Path("{__file__}")'),
        ({"batching": ps.batching.by_length("w.npy")}, 'lengths="w.npy" names a field that does not exist'),
        ({"sampler": ps.sampler.weighted({"9": -1})}, 'weights by "cls": "9" has -1; expected a number of 0 or more'),
        ({"sampler": ps.sampler.weighted({"cat": 1})}, 'no number is given for "9"'),
        ({"sampler": ps.sampler.weighted([1] * SIZE), "shuffle": False}, "requires shuffle"),
        (
            {"sampler": ps.sampler.weighted([1] * SIZE), "shuffle": ps.shuffle.blocks(4)},
            "cannot be combined with shuffle.window() or shuffle.blocks()",
        ),
        (
            {"sampler": ps.sampler.weighted([1] * SIZE, replacement=False, num_samples=54)},
            "53 samples have a weight above 0",
        ),
        ({"sampler": ps.sampler.repeated([2e6] * SIZE)}, "from 0 to 1048576"),
        ({"sampler": ps.sampler.balanced("klass")}, 'there is no field "klass"'),
    ],
)
def test_what_cannot_be_is_one_clear_error(dataset, options, told):
    with pytest.raises(ps.Error) as error:
        loader_of(dataset, batch_size=4, **{"shuffle": True, **options})
    assert told in str(error.value)


@pytest.mark.parametrize(
    "make, told",
    [
        (lambda: ps.sampler.weighted([1] * SIZE, num_samples=-5), "num_samples must be 1 or more, or None, not -5"),
        (
            lambda: ps.sampler.repeated(np.ones(SIZE), num_samples=2.5),
            "num_samples must be 1 or more, or None, not 2.5",
        ),
        (lambda: ps.sampler.balanced("cls", num_samples=0), "num_samples must be 1 or more"),
        (lambda: ps.sampler.balanced(3), "field must be the name of a field"),
        (lambda: ps.batching.by_length([1] * SIZE, budget="4k"), "budget must be a number above 0"),
        (lambda: ps.batching.by_length([1] * SIZE, pool=0), "pool must be a number of samples"),
        (lambda: ps.shuffle.window(0), "requires a number of samples, 1 or more, not 0"),
        (lambda: ps.shuffle.blocks(True), "requires a number of samples, 1 or more, not True"),
    ],
)
def test_an_order_that_cannot_be_is_told_where_it_is_made(make, told):
    with pytest.raises(TypeError, match=told):
        make()


def test_samplers_of_torch_are_taken_or_explained(dataset):
    data = pytest.importorskip("torch.utils.data")
    sampler = data.WeightedRandomSampler(NUMBERS, 20, replacement=True)
    ours = loader_of(dataset, batch_size=7, sampler=ps.sampler.weighted(NUMBERS, num_samples=20))
    assert [rows_of(batch) for batch in loader_of(dataset, batch_size=7, sampler=sampler)] == [rows_of(b) for b in ours]
    chosen = data.SubsetRandomSampler([3, 5, 8])
    assert {key for batch in loader_of(dataset, batch_size=7, sampler=chosen) for key, _ in rows_of(batch)} == {
        "003",
        "005",
        "008",
    }
    for given, told in (
        (data.RandomSampler(range(SIZE)), "sampler cannot be a RandomSampler; pass shuffle=True"),
        (data.SequentialSampler(range(SIZE)), "sampler cannot be a SequentialSampler; pass shuffle=False"),
        (data.DistributedSampler(range(SIZE), 2, 0), 'pass rank="env", which reads'),
        ([1, 2], "not a value of type list"),
    ):
        with pytest.raises(TypeError, match=told):
            loader_of(dataset, sampler=given)


def test_wrong_types_are_told(dataset, tmp_path):
    for weights in (object(), 3, [[1.0]], ["a"]):
        with pytest.raises(TypeError, match="weights must be a field"):
            loader_of(dataset, batch_size=4, shuffle=True, sampler=ps.sampler.weighted(weights))
    with pytest.raises(TypeError, match="one number for each sample, not an array of 2 dimensions"):
        loader_of(dataset, batch_size=4, shuffle=True, sampler=ps.sampler.weighted(np.ones((SIZE, 1))))
    (tmp_path / "numbers").write_text("1\ntwo\n")
    with pytest.raises(ps.Error, match="numbers, line 2: 'two' is not a number"):
        loader_of(dataset, batch_size=4, shuffle=True, sampler=ps.sampler.weighted(tmp_path / "numbers"))


USES = {
    "weights": lambda file: {"sampler": ps.sampler.weighted(file)},
    "repeats": lambda file: {"sampler": ps.sampler.repeated(file)},
    "lengths": lambda file: {"batching": ps.batching.by_length(file)},
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("name", ["numbers.txt", "numbers.npy"])
def test_a_file_of_numbers_must_be_a_regular_file(dataset, tmp_path, use, name):
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "fifo")
    for other in ("/dev/zero", tmp_path / "fifo", tmp_path / "folder"):
        link = tmp_path / name
        link.symlink_to(other)
        with pytest.raises(ps.Error, match=f"{use}: {link} is not a regular file") as caught:
            loader_of(dataset, batch_size=4, shuffle=True, **USES[use](link))
        assert caught.value.kind == "invalid_argument"
        link.unlink()


@pytest.mark.parametrize("use", USES)
def test_an_array_file_that_holds_no_numbers_is_an_error_with_its_name(dataset, tmp_path, use):
    file = tmp_path / "numbers.npy"
    np.save(file, np.ones(SIZE))
    whole = file.read_bytes()
    np.save(file, np.array([{}] * SIZE, object), allow_pickle=True)
    objects = file.read_bytes()
    np.save(file, np.ones((SIZE, 2)))
    tables = file.read_bytes()
    np.save(file, np.array(["a"] * SIZE))
    for content in (objects, tables, file.read_bytes(), b"", b"1\n2\n", whole[:-1], whole.replace(b"shape", b"shap3")):
        file.write_bytes(content)
        with pytest.raises(ps.Error, match=f"{use}: cannot read numbers from {file}: ") as caught:
            loader_of(dataset, batch_size=4, shuffle=True, **USES[use](file))
        assert caught.value.kind == "corrupt"
    with pytest.raises(FileNotFoundError, match="gone.npy"):
        USES[use](tmp_path / "gone.npy")


def test_a_mixture_has_weights_of_its_own(dataset):
    mixture = ps.mixture({"a": dataset, "b": dataset})
    for option in (
        {"sampler": ps.sampler.balanced("cls")},
        {"sampler": ps.sampler.weighted({"a": 1, "b": 1})},
        {"sampler": ps.sampler.repeated([1] * 2 * SIZE)},
    ):
        with pytest.raises(ps.Error, match="sampler cannot be combined with a mixture"):
            loader_of(mixture, batch_size=4, shuffle=True, **option)


def test_what_a_field_holds_is_told_where_it_is_neither_number_nor_text(tmp_path):
    (tmp_path / "d").mkdir()
    for i in range(3):
        Image.fromarray(np.full((4, 4, 3), i, np.uint8)).save(tmp_path / "d" / f"{i}.png")
        np.save(tmp_path / "d" / f"{i}.npy", np.zeros(2))
    dataset = ps.open(tmp_path / "d")
    for make, named in (
        (ps.sampler.weighted, 'weights="FIELD"'),
        (ps.sampler.repeated, 'repeats="FIELD"'),
        (ps.sampler.balanced, r'balanced\("FIELD"\)'),
    ):
        for field, held in (("png", "images"), ("npy", "arrays")):
            told_so = named.replace("FIELD", field) + rf": the field holds {held} \({field}\), not a"
            with pytest.raises(ps.Error, match=told_so) as told:
                ps.Loader(dataset, shuffle=True, transforms={"png": ps.raw()}, sampler=make(field))
            assert told.value.kind == "invalid_argument" and told.value.field == field and not told.value.key
    for choice in (dataset.sort, lambda field: dataset.split({"a": 1, "b": 1}, by=field)):
        with pytest.raises(ps.Error, match="holds images"):
            choice("png")
    clip = ps.window("png", offsets=[0], order_by="png")
    with pytest.raises(ps.Error, match="holds images"):
        ps.Loader(dataset, transforms={"clip": clip})


def test_classes_are_told_as_they_are_written(tmp_path):
    for name in ("cat", "dog"):
        (tmp_path / "d" / name).mkdir(parents=True)
        Image.fromarray(np.zeros((4, 4, 3), np.uint8)).save(tmp_path / "d" / name / "a.png")
    for given, told in (
        ({"cat": 1}, 'no number is given for class "dog"'),
        ({"cat": 1, "dog": -1}, '"dog" has -1; expected a number of 0 or more'),
        ({"cat": 1, "dgo": 1}, '"dgo" is not one of the 2 classes'),
        ({0: 1, 1: 1, 7: 1}, '"7" is not one of the 2 classes'),
    ):
        for make, named in ((ps.sampler.weighted, "weights"), (ps.sampler.repeated, "repeats")):
            with pytest.raises(ps.Error, match=f'{named} by "cls": {told}'):
                ps.Loader(tmp_path / "d", shuffle=True, transforms={"cls": ps.label()}, sampler=make(given))


def test_true_is_no_number(dataset):
    for option in ("seed", "batch_size", "prefetch", "python_workers"):
        with pytest.raises(TypeError, match=f"{option} must be a whole number of 0 or more.*, not True"):
            loader_of(dataset, **{option: True})
    with pytest.raises(TypeError, match="num_samples must be 1 or more"):
        loader_of(dataset, sampler=ps.sampler.balanced("cls", num_samples=True))
    with pytest.raises(TypeError, match="seed must be a whole number of 0 or more, such as seed=1, not True"):
        dataset.split({"a": 1, "b": 1}, seed=True)
    loader_of(dataset, shuffle=True, read_options=ps.ReadOptions(direct_io=False), publish=False, drop_last=True)


def test_a_ledger_proves_epochs_of_draws(dataset, tmp_path):
    for kind in KINDS:
        folder = tmp_path / kind
        loader = loader_of(dataset, batch_size=4, delivery_log=folder, **options_of(kind))
        for _ in range(2):
            for _ in loader:
                pass
        loader.close()
        told = ps.audit(folder, dataset=dataset)
        assert [epoch["verdict"] for epoch in told["epochs"]] == ["proved"] * 2, str(told)
        with pytest.raises(ps.Error, match="another subset of the samples, or another order of them|samples an epoch"):
            loader_of(dataset, batch_size=4, shuffle=True, sampler=ps.sampler.repeated([2] * SIZE), delivery_log=folder)


def test_torch_takes_them(dataset):
    torch = pytest.importorskip("torch")
    whole = [key for batch in loader_of(dataset, batch_size=8, **options_of("weights")) for key, _ in rows_of(batch)]
    source = ps.torch.Loader(
        dataset, batch_size=8, transforms={"cls": ps.label()}, as_tuple=("cls", "__key__"), **options_of("weights")
    )
    keys = [key for _, names in torch.utils.data.DataLoader(source, batch_size=None) for key in names]
    assert keys == whole


def test_the_command_draws_as_the_loader_does(dataset, tmp_path):
    path = dataset.path
    for kind, words in (
        ("weights", ["--weights", "json:number"]),
        ("once", ["--weights", "json:number", "--no-replacement"]),
        ("repeats", ["--repeats", "json:number"]),
        ("balance", ["--balance", "cls"]),
        ("window", ["--shuffle-window", 10]),
    ):
        given = options_of(kind)
        if kind == "once":  # the command has the field's numbers, of 64 bits
            given["sampler"] = ps.sampler.weighted(NUMBERS, replacement=False)
        loader = loader_of(dataset, batch_size=8, seed=5, **given)
        batches = iter(loader)
        next(batches)
        state = tmp_path / f"{kind}.json"
        state.write_text(json.dumps(loader.state_dict()))
        key = next(batches)["__key__"][3]
        plain = ["inspect", path, "--seed", 5, "--batch-size", 8, "--batch", 1, "--row", 3, "--shuffle", *words]
        assert f"{key} (number" in run(*plain, "--fields", "cls=label()").stdout.decode()
        by_state = ["inspect", path, "--state", state, "--row", 3]
        if kind == "window":
            assert f"{key} (number" in run(*by_state).stdout.decode()
        else:
            assert f"{key} (number" in run(*by_state, *words).stdout.decode()
            assert "which a state does not contain" in fails(*by_state, code=2)
    rows = json.loads(run("bench", path, "--task", "raw", "--seconds", 0.2, "--balance", "cls", "--json", "-").stdout)[
        "rows"
    ]
    assert rows[0]["samples_per_s"] > 0
    assert 'no field "klass"' in fails("bench", path, "--balance", "klass", code=2)
    assert "--epoch-samples requires" in fails("bench", path, "--epoch-samples", 5, code=2)
