"""penstock.torch.ImageFolder: the classes, samples and items of torchvision's, in every kind of worker."""

import collections
import os
import pickle

import numpy as np
import penstock as ps
import pytest
from torchvision_package import require_torchvision

torchvision = require_torchvision()

import torch  # after torchvision
import torchvision.transforms as T
from penstock.torch import ImageFolder
from PIL import Image
from torch.utils.data import DataLoader, Subset

EVAL = T.Compose([T.Resize(40), T.CenterCrop(32), T.ToTensor(), T.Normalize((0.5,) * 3, (0.25,) * 3)])
TRAIN = T.Compose([T.RandomResizedCrop(24), T.RandomHorizontalFlip(), T.ToTensor()])


@pytest.fixture(name="root", scope="module")
def root_fixture(tmp_path_factory):
    """Three classes with folders inside, other files, and names whose order depends on the case."""
    root = tmp_path_factory.mktemp("photos")
    numbers = np.random.default_rng(0)
    for name in (
        "dog/b.jpg",
        "dog/A.JPEG",
        "dog/deep/er/c.png",
        "cat/x.webp",
        "cat/y.jpg",
        "Zebra/1.png",
        "Zebra/10.png",
    ):
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        width, height = numbers.integers(40, 90, 2)
        Image.fromarray(numbers.integers(0, 256, (height, width, 3), np.uint8)).save(file)
    (root / "cat/notes.txt").write_text("not an image")
    (root / "labels.csv").write_text("not a class")
    os.symlink(root / "cat", root / "dog/linked")
    return root


def batches(data, **options):
    torch.manual_seed(5)
    return torch.cat([images for images, _ in DataLoader(data, batch_size=3, shuffle=True, **options)])


def test_classes_samples_and_items_are_torchvisions(root):
    theirs, ours = torchvision.datasets.ImageFolder(root, EVAL), ImageFolder(root, EVAL)
    for name in ("classes", "class_to_idx", "samples", "imgs", "targets", "extensions"):
        assert getattr(ours, name) == getattr(theirs, name) or name == "extensions"
    assert len(ours) == len(theirs) == 9
    for (image, label), (their_image, their_label) in zip(ours, theirs):
        assert label == their_label and torch.allclose(image, their_image, atol=1e-5)
    chosen = [
        ImageFolder(str(root), is_valid_file=lambda path: path.endswith("g")),
    ]
    assert [os.path.basename(path) for path, _ in chosen[0].samples] == [
        "1.png",
        "10.png",
        "y.jpg",
        "b.jpg",
        "c.png",
        "y.jpg",
    ]


@pytest.mark.parametrize("context", [None, "fork", "spawn", "forkserver"])
def test_batches_depend_on_torchs_seed_alone(root, context):
    data = ImageFolder(root, TRAIN)
    options = {"num_workers": 2, "multiprocessing_context": context} if context else {}
    first = batches(data, **options)
    assert first.shape == (9, 3, 24, 24) and first.dtype == torch.float32
    assert torch.equal(first, batches(data, **options))
    twice = torch.stack([data[0][0] for _ in range(8)])
    assert len(torch.unique(twice, dim=0)) > 1


def test_items_of_a_batch_are_those_of_single_calls(root):
    data = ImageFolder(root, EVAL, target_transform=lambda label: -label)
    for (image, label), index in zip(data.__getitems__([2, 0, 8]), [2, 0, 8]):
        assert torch.equal(image, data[index][0]) and label == -data.targets[index]
    sizes = [image.shape for image, _ in ImageFolder(root).__getitems__([0, 1, 2])]  # of different sizes
    assert sizes == [ImageFolder(root)[index][0].shape for index in (0, 1, 2)] and len(set(sizes)) > 1
    assert next(iter(DataLoader(Subset(data, [1, 5]), batch_size=2)))[0].shape == (2, 3, 32, 32)


def test_a_subclass_changes_its_items(root):
    class Numbered(ImageFolder):
        def __getitem__(self, index):
            return (*super().__getitem__(index), index)

    images, labels, numbers = next(iter(DataLoader(Numbered(root, EVAL), batch_size=4)))
    assert images.shape == (4, 3, 32, 32) and numbers.tolist() == [0, 1, 2, 3]


def test_the_transform_is_a_chain(root):
    data = ImageFolder(root, ps.image.resize((8, 8)))
    assert str(data.transform) == "image.resize(8, 8)" and data[0][0].dtype == torch.uint8
    data.transform = T.Resize((9, 9))
    assert data[0][0].shape == (3, 9, 9) and "image.resize(9, 9)" in repr(data)
    assert pickle.loads(pickle.dumps(data))[3][0].shape == (3, 9, 9)
    data.transform = None
    assert np.array_equal(data[0][0].numpy(), ps.decode(data.samples[0][0]))
    with pytest.raises(ps.Error, match="1. RandomPerspective"):
        data.transform = T.RandomPerspective()
    with pytest.raises(TypeError, match="does not run Python functions"):
        ImageFolder(root, ps.image.decode() | ps.transform(abs))
    with pytest.raises(TypeError, match="loader"):
        ImageFolder(root, loader=abs)


def test_the_loader_takes_translated_chains(root):
    train = ps.torch.Loader(
        root,
        batch_size=2,
        as_tuple=("jpg", "cls"),
        missing="exclude",
        transforms={"jpg": ps.field("jpg|png|webp|jpeg") | ps.from_torchvision(EVAL), "cls": ps.label()},
    )
    images, labels = next(iter(train))
    assert images.shape == (2, 3, 32, 32) and images.dtype == torch.float32 and labels.dtype == torch.int64


def test_errors_name_the_place(root, tmp_path):
    with pytest.raises(ps.Error, match="none: io: No such file") as raised:
        ImageFolder(tmp_path / "none")
    assert raised.value.kind == "io"
    with pytest.raises(ps.Error, match="no class folders"):
        ImageFolder(tmp_path)
    for name in ("full", "empty"):
        (tmp_path / name).mkdir()
    (tmp_path / "full/a.jpg").write_bytes(b"BM not a JPEG" * 20)
    with pytest.raises(ps.Error, match="no valid file for the classes empty; pass allow_empty=True"):
        ImageFolder(tmp_path)
    data = ImageFolder(tmp_path, EVAL, allow_empty=True)
    assert data.classes == ["empty", "full"] and data.targets == [1]
    for read in (lambda: data[0], lambda: data.__getitems__([0])):
        with pytest.raises(ps.Error, match="full/a.jpg"):
            read()


def test_classes_are_balanced_by_torchs_sampler(root):
    data = ImageFolder(root, ps.image.resize((4, 4)))
    counts = collections.Counter(data.targets)
    weights = [1 / counts[target] for target in data.targets]
    sampler = torch.utils.data.WeightedRandomSampler(weights, 6)
    assert len(list(DataLoader(data, batch_size=2, sampler=sampler))) == 3
