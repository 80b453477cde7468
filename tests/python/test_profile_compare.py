"""ps.profile(): what penstock would give from the same files is measured and told."""

import os
import types

import h5py
import numpy as np
import pytest
from penstock._profile import about, profile
from penstock._profile.batch import delivered
from planted_clock import Planted, clock_fixture, run, torch_data_fixture  # noqa: F401

import penstock as ps


class Pictures:
    """As ImageFolder: samples of (path, class)."""

    def __init__(self, root, chosen=None):
        paths = sorted(root.rglob("*.jpg"))
        classes = sorted({path.parent.name for path in paths})
        self.root = str(root)
        self.samples = [(str(path), classes.index(path.parent.name)) for path in paths][:chosen]

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, number):
        return np.zeros((3, 48, 32), np.float32), self.samples[number][1]


def compared(loader, *words, **options):
    for _ in loader:
        pass
    return loader.compare(*words, seconds=0.02, **options)


def test_pictures_in_class_folders_are_compared(torch_data, images, clock):
    loader = ps.profile(torch_data.DataLoader(Pictures(images), batch_size=6, shuffle=True))
    run(loader, clock, 5)
    with pytest.raises(ps.Error, match="take two batches or more first"):
        ps.profile(loader.wrapped).compare()
    said = loader.compare(seconds=0.02)
    assert said.penstock_samples_per_s > 0 and said.step_s == pytest.approx(5e-3)
    assert said.step_with_penstock_s == max(5e-3, 6 / said.penstock_samples_per_s)
    assert said.times == said.penstock_samples_per_s / said.loader_samples_per_s
    assert f"60 files of {images}" in said.assumed and "batches of 6 in shuffled order" in said.assumed
    assert "images decoded, cropped at random to 48 x 32 (as in the batches), normalized" in said.assumed
    both = loader.verdict(compare=True)
    assert both.binds == "model" and "times as many samples a second" in str(both) and "\nassumed: " in str(both)


def test_what_a_step_becomes_follows_from_the_figures(clock):
    loader = ps.profile(Planted(clock, [80] * 10))
    run(loader, clock, 20)
    times = loader._recorder.times()
    of = profile.compare_with.__globals__["_comparison"]
    said = of(about.About("DataLoader", 0), 8, times, 1000.0, ("this",))
    assert (said.loader_samples_per_s, said.times) == pytest.approx((100, 10)) and said.step_with_penstock_s == 20e-3
    assert str(said) == (
        "penstock delivers 10 times as many samples a second from the same files (1,000 against 100): a step of 100.0 ms "
        "becomes 20.0 ms\nassumed: this"
    )
    said = of(about.About("DataLoader", 4), 8, times, 200.0, ())
    assert (said.loader_samples_per_s, said.times, said.step_with_penstock_s) == pytest.approx((80, 2.5, 40e-3))


def test_only_the_samples_of_a_part_are_compared(torch_data, images, monkeypatch):
    seen = []
    measured = profile.compare_with.__globals__["_measured"]

    def spy(loader, seconds):
        seen.append(sorted(key for batch in loader for key in batch["__key__"]))
        return measured(loader, seconds)

    monkeypatch.setitem(profile.compare_with.__globals__, "_measured", spy)
    everything = Pictures(images)
    part = torch_data.Subset(torch_data.Subset(everything, list(range(10, 40))), [0, 5, 7])
    compared(ps.profile(torch_data.DataLoader(part, batch_size=1)))
    wanted = sorted(os.path.relpath(everything.samples[number][0], images)[: -len(".jpg")] for number in (10, 15, 17))
    assert seen == [wanted]
    said = compared(ps.profile(torch_data.DataLoader(Pictures(images, 20), batch_size=2)))
    assert len(seen[1]) == 20 and "batches of 2 in their order" in said.assumed


def test_tar_shards_of_webdataset_are_compared(tmp_path, images):
    wds = pytest.importorskip("webdataset")
    pictures = sorted(images.rglob("*.jpg"))
    for shard in range(2):
        with wds.TarWriter(str(tmp_path / f"shard-{shard}.tar")) as tar:
            for number, path in enumerate(pictures[shard::2]):
                tar.write({"__key__": f"{shard}-{number:03}", "jpg": path.read_bytes(), "cls": number % 3})
    before = sorted(tmp_path.iterdir())
    dataset = wds.WebDataset(str(tmp_path / "shard-{0..1}.tar"), shardshuffle=False).map(
        lambda _: np.zeros((3, 40, 40))
    )
    said = compared(ps.profile(wds.WebLoader(dataset, batch_size=5)))
    assert said.penstock_samples_per_s > 0 and said.assumed[0].startswith("2 tar shards, ")
    assert "cropped at random to 40 x 40" in said.assumed[1]
    assert sorted(tmp_path.iterdir()) == before, "an index was left beside the data"
    (tmp_path / "shard-1.tar").unlink()
    with pytest.raises(ps.Error, match="shard-1.tar is not a file on this machine"):
        not_run(dataset).compare()


def not_run(dataset):
    """A profile of a dataset that cannot be read, with figures."""
    loader = ps.profile(dataset)
    loader._recorder.first(0, 1, 1)
    loader._recorder.taken(1, 1)
    loader._recorder.delivered = delivered([np.zeros((4, 3, 8, 8))])
    return loader


class Table:
    def __init__(self, path):
        self.file = h5py.File(path)
        self.images = self.file["images"]

    def __len__(self):
        return len(self.images)

    def __getitem__(self, number):
        return np.moveaxis(self.images[number], 2, 0).astype(np.float32)


def test_an_hdf5_file_is_compared(torch_data, tmp_path):
    with h5py.File(tmp_path / "table.h5", "w") as file:
        file["images"] = np.zeros((30, 8, 8, 3), np.uint8)
        file["others"] = np.zeros((30, 2), np.float32)
    dataset = Table(tmp_path / "table.h5")
    said = compared(ps.profile(torch_data.DataLoader(dataset, batch_size=5)))
    assert said.assumed[1] == "images decoded, normalized" and said.assumed[0] == str(tmp_path / "table.h5")


def test_files_that_are_named_are_compared_whatever_the_loader_is(arrays):
    loader = ps.profile([np.zeros((4, 5), np.float32)] * 8)
    said = compared(loader, arrays, workers=1)
    assert said.assumed[:2] == (str(arrays), "npy as it is") and "batches of 4 in shuffled order" in said.assumed
    said = loader.compare(arrays, fields={"cls": ps.label()}, seconds=0.02)
    assert "npy as it is" not in said.assumed


def test_a_loader_whose_files_cannot_be_seen_is_refused(torch_data, images, tmp_path):
    with pytest.raises(
        ps.Error, match="cannot see the files of this loader: generator has neither a dataset with"
    ) as raised:
        compared(ps.profile(np.zeros((2, 3, 8, 8)) for _ in range(8)))
    assert raised.value.kind == "unsupported"
    with pytest.raises(ps.Error, match="the number of samples in a batch is unknown"):
        compared(ps.profile(iter(range(8))))
    with pytest.raises(ps.Error, match="it is a penstock loader already"):
        compared(ps.profile(ps.Loader(images, batch_size=10, transforms={"cls": ps.label()})))
    gone = Pictures(images)
    gone.samples[3] = (str(images / "class_00" / "absent.jpg"), 0)
    with pytest.raises(ps.Error, match="1 of its 60 files are not samples of .*, such as .*absent.jpg"):
        compared(ps.profile(torch_data.DataLoader(gone, batch_size=4)))


@pytest.mark.parametrize(
    ("batch", "told"),
    [
        ((np.zeros((4, 3, 8, 9), np.float32), np.zeros(4)), (4, (8, 9), True)),
        ({"image": np.zeros((4, 8, 9, 3), np.uint8), "label": [1, 2, 3, 4]}, (4, (8, 9), False)),
        ([{"data": np.zeros((4, 7))}], (4, None, True)),
        ([1, 2, 3], (3, None, True)),
        (7, (None, None, True)),
        (types.SimpleNamespace(shape=("many",)), (None, None, True)),
    ],
)
def test_a_batch_tells_its_rows_and_the_size_of_its_images(batch, told):
    seen = delivered(batch)
    assert (seen.rows, seen.size, seen.floats) == told
