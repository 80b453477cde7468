"""Windows with functions of the program in processes, and in PyTorch's DataLoader: the rows are those without."""

import itertools
import json

import numpy as np
import own_functions
import penstock as ps
import pytest
from PIL import Image
from window_model import Window

LENGTHS = [7, 1, 12, 3, 9]  # steps of each episode
OFFSETS = [-3, -1, 0, 0, 2]
KEYS = [f"ep{episode}/{step:03}" for episode, length in enumerate(LENGTHS) for step in range(length)]
NUMBER = {key: number for number, key in enumerate(KEYS)}
GROUPS = [key.split("/")[0] for key in KEYS]


@pytest.fixture(name="folder", scope="module")
def folder_fixture(tmp_path_factory):
    folder = tmp_path_factory.mktemp("windows_processes")
    draw = np.random.default_rng(1)
    for key, number in NUMBER.items():
        (folder / key).parent.mkdir(exist_ok=True)
        Image.fromarray(draw.integers(0, 256, (8, 10, 3), np.uint8)).save(folder / f"{key}.png")
        np.save(folder / f"{key}.npy", np.full(2, number, np.float32))
        (folder / f"{key}.json").write_text(json.dumps({"t": 0.1 * number}))
    ps.pack(folder, folder.parent / "windows_processes.tar", format="tar", progress=False)
    return folder.parent / "windows_processes.tar"


def clip(field="npy", **more):
    return ps.window(field, offsets=OFFSETS, group=r"^([^/]+)/", **more)


def plain(batch):
    return {name: value if isinstance(value, list) else np.asarray(value).tolist() for name, value in batch.items()}


def options_of(kind, edge):
    """Functions of a row, and of a sample, that get windows."""
    crop = clip("png", edge=edge) | ps.image.random_crop(6)
    if kind == "transform":
        fields = {"npy": clip(edge=edge) | ps.transform(own_functions.noisy), "png": crop}
        return {"transforms": {**fields, "inside": ps.follow("npy") | ps.window_valid()}}
    function = ps.sample_transform(own_functions.windows_put_together, ("npy", "png"))
    return {"transforms": {"npy": clip(edge=edge), "png": crop}, "sample_transform": function}


@pytest.mark.parametrize("edge", ["pad", "drop"])
@pytest.mark.parametrize("kind", ["transform", "sample"])
def test_functions_in_processes_get_the_same_windows(folder, kind, edge):
    options = {"batch_size": 5, "shuffle": True, "seed": 3, **options_of(kind, edge)}
    without = ps.Loader(folder, **options)
    wanted = [[plain(batch) for batch in without] for _ in range(2)]
    for workers in (1, 3):
        with ps.Loader(folder, python_workers=workers, **options) as loader:
            assert [[plain(batch) for batch in loader] for _ in range(2)] == wanted
            assert plain(loader.at(1, 2)) == wanted[1][2]
        with ps.Loader(folder, python_workers=workers, **options) as loader:
            batches = iter(loader)
            for _ in range(2):
                next(batches)
            state = loader.state_dict()
        with ps.Loader(folder, python_workers=workers, **options) as loader:
            loader.load_state_dict(state)
            assert [plain(batch) for batch in loader] == wanted[0][2:]


def test_an_image_step_behind_a_function_of_windows_is_told(folder):
    chain = clip("png") | ps.transform(own_functions.same)
    rest = ps.image.normalize((1,) * 3, (2,) * 3)
    with pytest.raises(ps.Error, match=r"that is not an image"):
        next(iter(ps.Loader(folder, batch_size=5, transforms={"png": chain | rest})))


@pytest.mark.parametrize(("edge", "workers", "start"), [("pad", 0, None), ("pad", 2, "fork"), ("drop", 2, "spawn")])
def test_dataloaders_deliver_windows(folder, edge, workers, start):
    torch = pytest.importorskip("torch")
    fields = {"npy": clip(edge=edge), "inside": ps.follow("npy") | ps.window_valid(), "png": clip("png", edge=edge)}
    dataset = ps.torch.Loader(folder, batch_size=4, shuffle=True, seed=2, transforms=fields)
    loader = torch.utils.data.DataLoader(dataset, batch_size=None, num_workers=workers, multiprocessing_context=start)
    model = Window(GROUPS, OFFSETS, edge)
    frames = {}
    for batch in ps.Loader(folder, batch_size=8, transforms={"png": ps.image.decode()}):
        frames.update(zip((NUMBER[key] for key in batch["__key__"]), np.array(batch["png"])))
    for _ in range(1 if start == "spawn" else 2):
        met = []
        for batch in loader:
            rows = zip(batch["__key__"], batch["npy"], batch["inside"], batch["png"])
            for key, row, inside, pixels in itertools.compress(rows, batch["__valid__"].tolist()):
                met.append(NUMBER[key])
                steps, held = zip(*model.row(NUMBER[key]))
                assert row[:, 0].tolist() == list(steps) and inside.tolist() == list(held)
                assert np.array_equal(pixels.numpy(), [frames[step] for step in steps])
        assert sorted(met) == [sample for sample in range(len(KEYS)) if model.serves(sample)]


@pytest.mark.parametrize("edge", ["pad", "drop"])
def test_a_dataloader_goes_on_where_it_was(folder, edge):
    torch = pytest.importorskip("torch")
    options = {"batch_size": 4, "shuffle": True, "seed": 2, "transforms": {"npy": clip(edge=edge)}}
    whole = [batch["npy"].tolist() for batch in ps.torch.Loader(folder, **options)]
    dataset = ps.torch.Loader(folder, **options)
    batches = iter(torch.utils.data.DataLoader(dataset, batch_size=None))
    for _ in range(3):
        next(batches)
    again = ps.torch.Loader(folder, **options)
    again.load_state_dict(dataset.state_dict())
    assert [batch["npy"].tolist() for batch in torch.utils.data.DataLoader(again, batch_size=None)] == whole[3:]
