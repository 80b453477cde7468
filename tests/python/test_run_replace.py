"""`penstock run --replace`: a replaced loader delivers what PyTorch's delivers, and each other loader is left alone."""

import argparse
import dataclasses
import functools
import gc
import importlib
import json
import os
import pathlib
import random
import re
import sys
import textwrap
import threading
import time

import numpy as np
import pytest
from torchvision_package import HERE, require_torchvision

import penstock as ps

require_torchvision()

import replace_recipes as recipes  # after torchvision
import torch
import torchvision.transforms as T
from penstock._run import watch
from penstock._run.replace import threads, transforms
from penstock._run.replace.check import Check
from penstock._run.replace.iterator import ReplacedIterator
from penstock._run.replace.places import Places, call_of
from penstock._run.replace.recognize import Refused, recognize
from penstock._run.replace.replacer import Replacer
from penstock._run.replace.seeding import only_seeds
from PIL import Image
from replaced_loaders import (
    drawn,
    epochs,
    execute,
    largest_difference,
    line_with,
    replacing,
    run_both,
    same_but_images,
    seed,
)
from torch.utils import data
from torch.utils.data import DataLoader
from torchvision.datasets import ImageFolder

IMAGES = pathlib.Path(os.environ.get("PENSTOCK_TEST_DATA", "")) / "images"
SMALL = [path for path in sorted((IMAGES / "imagenet500").rglob("*.JPEG")) if path.stat().st_size < 32_000]
PHOTOS = SMALL[::2][:32]
ICONS = sorted((IMAGES / "cifar10_png").rglob("*.png"))[::80]
CLASSES = 4

pytestmark = pytest.mark.skipif(not PHOTOS, reason="PENSTOCK_TEST_DATA has no images; set it to a folder with images/")
torch.set_num_threads(1)


def folder_of(files, root):
    for number, file in enumerate(files):
        (root / f"class{number % CLASSES}").mkdir(exist_ok=True)
        os.symlink(file, root / f"class{number % CLASSES}" / file.name)
    return root


@pytest.fixture(name="photos", scope="module")
def photos_fixture(tmp_path_factory):
    return folder_of(PHOTOS, tmp_path_factory.mktemp("photos"))


@pytest.fixture(name="icons", scope="module")
def icons_fixture(tmp_path_factory):
    return folder_of(ICONS, tmp_path_factory.mktemp("icons"))


# ---- Recipes ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", recipes.REPLACED, ids=lambda make: make.__name__)
def test_a_replaced_loader_delivers_torchs_batches(photos, icons, make):
    root = icons if "icons" in make.__name__ else photos
    _, theirs = epochs(make, root)
    with replacing() as lines:
        loader, ours = epochs(make, root)
    assert re.match(
        r"Replaced: DataLoader\(\w+\) at .*replace_recipes.py:\d+; checked \d+ samples; [\d,]+ -> ", lines[0]
    )
    assert len(lines) == 1
    same_but_images(ours, theirs)
    recipe = recognize(loader, Places())
    if recipe.random:
        assert largest_difference(ours, theirs) > 0.1  # other draws
    elif make is recipes.tensors_of_v2:  # docs/spec/translations.md: 2 levels
        assert 1e-5 < largest_difference(ours, theirs) <= max(recipe.translation.levels()) * 2 + 1e-5
    else:
        assert largest_difference(ours, theirs) <= 1e-5


@pytest.mark.parametrize("make", recipes.NOT_REPLACED, ids=lambda make: make.__name__)
def test_a_loader_that_may_differ_is_left_alone(photos, make):
    with replacing() as lines:
        seed()
        loader = make(photos)
        iterator = iter(loader)
        next(iterator)
    assert not isinstance(iterator, ReplacedIterator)
    assert len(lines) == 1 and re.match(r"Not replaced: \S+replace_recipes.py:\d+: ", lines[0]), lines
    assert recipes.NOT_REPLACED[make] in lines[0]


SEED, OPTIONS = 7, argparse.Namespace(seed=7, name="x")
CHANGED = []


def seeds_with_numbers(worker, ranks, rank):
    seed = ranks * rank + worker + SEED
    np.random.seed(seed)
    torch.manual_seed(int(seed) % 2**32)


def seeds_with_a_closure(offset):
    def seeds(worker):
        random.seed(OPTIONS.seed + worker + offset)

    return seeds


def stores(worker):
    OPTIONS.seed = worker


def calls_an_option(worker, option=CHANGED.append):
    option(worker)


def imports(worker):
    import os

    os.nice(worker)


def asks_the_worker(worker):
    random.seed(data.get_worker_info().seed)


@pytest.mark.parametrize(
    ("expected", "function"),
    [
        (True, recipes.seed_worker),
        (True, functools.partial(seeds_with_numbers, rank=1, ranks=2)),
        (True, seeds_with_a_closure(3)),
        (True, lambda worker: np.random.seed(worker)),
        (False, functools.partial(seeds_with_numbers, rank=CHANGED, ranks=2)),
        (False, seeds_with_a_closure(CHANGED)),
        (False, stores),
        (False, calls_an_option),
        (False, imports),
        (False, asks_the_worker),
        (False, lambda worker: CHANGED.append(worker)),
        (False, lambda worker: random.shuffle(CHANGED)),
        (False, lambda worker: OPTIONS.name.upper()),
        (False, lambda worker: setattr(OPTIONS, "seed", worker)),
        (False, random.seed),
    ],
)
def test_a_function_that_only_seeds_is_known(expected, function):
    assert only_seeds(function) == expected


# ---- The check finds differences -------------------------------------------------------------------------------------


def refusal(loader, **changes):
    """The reason why a recipe with these changes is refused; None if it is accepted."""
    recipe = dataclasses.replace(recognize(loader, Places()), **changes)
    try:
        Check(loader, recipe, None).run()
    except Refused as reason:
        return str(reason)
    return None


@pytest.mark.parametrize(
    ("expected", "other"),
    [
        ("float32 (8, 3, 62, 62)", [T.Resize(72), T.CenterCrop(62), *recipes.NORMALIZED]),
        ("other pixels", [T.Resize(73), T.CenterCrop(64), *recipes.NORMALIZED]),
        ("other pixels", [T.Resize(72, recipes.BICUBIC), T.CenterCrop(64), *recipes.NORMALIZED]),
        (
            "other pixels",
            [T.Resize(72), T.CenterCrop(64), T.ToTensor(), T.Normalize(recipes.MEAN, (0.23, 0.224, 0.225))],
        ),
    ],
)
def test_other_pixels_are_refused(photos, expected, other):
    assert expected in refusal(recipes.shuffled(photos, recipes.EVAL), chain=ps.from_torchvision(other))


@pytest.mark.parametrize(
    "other",
    [
        [T.RandomResizedCrop(64, scale=(0.5, 1.0)), T.RandomHorizontalFlip()],
        [T.RandomResizedCrop(64, ratio=(0.3, 3.0)), T.RandomHorizontalFlip()],
        [T.RandomResizedCrop(64), T.RandomHorizontalFlip(0.9)],
        [T.RandomResizedCrop(64), T.RandomHorizontalFlip(), T.ColorJitter(brightness=0.3)],
        [T.Resize((64, 64)), T.RandomHorizontalFlip()],
    ],
)
def test_other_distributions_are_refused(photos, other):
    chain = ps.from_torchvision([*other, *recipes.NORMALIZED])
    assert "another distribution" in refusal(recipes.shuffled(photos, recipes.TRAIN), chain=chain)


def test_another_translation_of_the_fixed_transforms_is_refused(photos, monkeypatch):
    translate = transforms.chain_of

    def wrong(listed):
        chain, translation = translate([T.Resize((63, 63)), T.Pad((0, 0, 1, 1)), *recipes.NORMALIZED])
        return chain, translation

    monkeypatch.setattr(transforms, "chain_of", wrong)
    assert "other pixels" in refusal(recipes.shuffled(photos, recipes.TRAIN))
    monkeypatch.setattr(transforms, "chain_of", translate)
    assert refusal(recipes.shuffled(photos, recipes.TRAIN)) is None


def test_other_labels_are_refused(photos):
    loader = recipes.shuffled(photos, recipes.EVAL)
    source = recognize(loader, Places()).source.copied()
    source._folder.samples = [(path, CLASSES - label) for path, label in loader.dataset.samples]
    assert "has the label" in refusal(loader, source=source)


def test_relative_paths_are_those_of_the_epochs_start(photos, tmp_path, monkeypatch):
    def labels(leave):
        monkeypatch.chdir(photos.parent)
        loader = recipes.shuffled(photos.name, recipes.EVAL, shuffle=False, batch_size=1)
        iterator = iter(loader)
        monkeypatch.chdir(tmp_path if leave else photos.parent)
        return [label.item() for _, label in iterator]

    with replacing() as lines:
        assert labels(leave=True) == labels(leave=False)
    assert len(lines) == 1 and lines[0].startswith("Replaced")


PATCHES = {
    "a function of torchvision": (T.functional, "resize", "penstock computes other pixels"),
    "the default loader": (sys.modules["torchvision.datasets.folder"], "pil_loader", "penstock computes other pixels"),
    "a method of a transform": (T.CenterCrop, "forward", "has a changed method"),
    "a method of the dataset": (
        sys.modules["torchvision.datasets.folder"].DatasetFolder,
        "__getitem__",
        "changed method",
    ),
    "a method of a sampler": (torch.utils.data.RandomSampler, "__iter__", "has a changed method"),
    "the collate function": (torch.utils.data._utils.collate, "default_collate", "may change the batches"),
}


@pytest.mark.parametrize("name", PATCHES)
def test_a_program_that_patches_a_library_keeps_its_loader(photos, monkeypatch, name):
    owner, attribute, reason = PATCHES[name]
    original = getattr(owner, attribute)

    def patched(*arguments, **keywords):
        result = original(*arguments, **keywords)
        return result.point(lambda level: 255 - level) if isinstance(result, Image.Image) else result

    monkeypatch.setattr(owner, attribute, patched)
    with replacing() as lines:
        next(iter(recipes.shuffled(photos, recipes.EVAL, num_workers=0)))
    assert "Not replaced: " in lines[0] and reason in lines[0]


def test_odd_files_keep_torchs_pixels(tmp_path):
    (tmp_path / "a").mkdir()
    for number in range(100):
        deep = np.full((80, 80), 300 * number, np.uint16) if number == 37 else np.full((80, 80), number, np.uint8)
        Image.fromarray(deep).save(tmp_path / f"a/{number:03}.png")

    def make(root):
        return DataLoader(ImageFolder(root, recipes.EVAL), batch_size=20)

    _, theirs = epochs(make, tmp_path, 1)
    with replacing() as lines:
        _, ours = epochs(make, tmp_path, 1)
    same_but_images(ours, theirs)
    assert largest_difference(ours, theirs) <= 1e-5
    assert len(lines) == 2 and "PyTorch made a batch" in lines[1] and "037.png" in lines[1]
    os.rename(tmp_path / "a/037.png", tmp_path / "a/000.png")  # now in the sample
    with replacing() as lines:
        next(iter(make(tmp_path)))
    assert "Not replaced: " in lines[0] and "one without 8 bits" in lines[0]


def test_tolerances_are_those_of_the_page():
    page = HERE.parents[1] / "docs/spec/translations.md"
    rows = dict(re.findall(r"^\| `([^|]+) \|.*\| ([^|]+) \|$", page.read_text(), re.MULTILINE))
    stated = {name.replace("`", ""): cell for name, cell in rows.items()}
    for name, allowed in transforms.ON_TENSORS.items():
        for kind, numbers in allowed.items() if isinstance(allowed, dict) else [(None, allowed)]:
            row = stated.get(f"{name}, {kind}") or stated[name]
            if (name, kind) != ("RandomResizedCrop", "bicubic"):  # differs like Resize
                assert tuple(map(float, row.split(" / "))) == numbers


# ---- The life of a replaced loader -----------------------------------------------------------------------------------


def left_early(loader):
    seen = []
    for _ in range(3):
        for batch in loader:
            seen.append((batch, drawn(loader)))
            if len(seen) % 2 == 0:
                break
    return seen


@pytest.mark.parametrize(
    "options", [{"num_workers": 2}, {"num_workers": 1, "persistent_workers": True}, {"num_workers": 0}]
)
def test_an_epoch_can_be_left_early(photos, options):
    seed()
    theirs = left_early(recipes.shuffled(photos, recipes.EVAL, batch_size=4, **options))
    running = threading.active_count()
    with replacing() as lines:
        seed()
        ours = left_early(recipes.shuffled(photos, recipes.EVAL, batch_size=4, **options))
    assert lines[0].startswith("Replaced")
    same_but_images(ours, theirs)
    assert largest_difference(ours, theirs) <= 1e-5
    gc.collect()
    for thread in threading.enumerate()[running:]:  # they end after their last batch
        thread.join(timeout=10)
    assert threading.active_count() <= running


def until_error(loader):
    seen, iterator = [], iter(loader)
    while len(seen) < 100:
        try:
            seen.append((next(iterator)[1].tolist(), drawn(loader)))
        except StopIteration:
            return seen
        except Exception as failure:
            seen.append(
                (type(failure).__name__, str(failure).splitlines()[0], str(failure).splitlines()[-1], drawn(loader))
            )
    raise AssertionError("the iterator does not end")


@pytest.mark.parametrize("workers", [0, 2])
def test_a_corrupt_file_raises_torchs_exception(photos, tmp_path, workers):
    root = folder_of(PHOTOS, tmp_path)
    loader = recipes.shuffled(root, recipes.TRAIN)
    for path, _ in loader.dataset.samples[5:7]:
        os.unlink(path)
        pathlib.Path(path).write_bytes(b"\xff\xd8\xff no JPEG")
    for make in (recipes.TRAIN, recipes.EVAL):
        seed()
        theirs = until_error(recipes.shuffled(root, make, shuffle=False, batch_size=4, num_workers=workers))
        with replacing() as lines:
            seed()
            ours = until_error(recipes.shuffled(root, make, shuffle=False, batch_size=4, num_workers=workers))
        assert ours == theirs and any("UnidentifiedImageError" in entry for entry in theirs)
        assert lines[0].startswith("Replaced") and len(lines) == 2


@pytest.mark.parametrize("workers", [0, 1])
def test_changes_of_the_dataset_are_seen_when_torch_sees_them(photos, workers):
    def run():
        seed()
        loader = recipes.shuffled(photos, recipes.EVAL, num_workers=workers, batch_size=4)
        seen = []
        for epoch in range(4):
            for number, batch in enumerate(loader):
                seen.append((batch, drawn(loader)))
                if (epoch, number) == (0, 3):
                    loader.dataset.samples.reverse()
                if (epoch, number) == (2, 3):
                    loader.dataset.transform = T.Compose([T.Resize((60, 60)), T.ToTensor()])
        return seen

    theirs = run()
    with replacing() as lines:
        ours = run()
    assert len(lines) == 2 and all(line.startswith("Replaced") for line in lines)
    same_but_images(ours, theirs)
    assert largest_difference(ours, theirs) <= 1e-5


def test_batches_depend_on_the_seed_only(photos):
    with replacing():
        one, again = (epochs(recipes.imagenet_example, photos)[1] for _ in range(2))
        other = epochs(recipes.imagenet_example, photos)[1]
    assert largest_difference(one, again) == largest_difference(one, other) == 0
    first, second = ([batch[0] for batch, _ in one if isinstance(batch, list)][place] for place in (0, 1))
    assert not torch.equal(first, second)


def test_epochs_of_persistent_workers_differ(photos):
    with replacing():
        loader = recipes.shuffled(photos, recipes.TRAIN, shuffle=False, persistent_workers=True)
        one, other = (torch.cat([images for images, _ in loader]) for _ in range(2))
    assert not any(torch.equal(image, again) for image, again in zip(one, other))


def test_the_exit_does_not_wait_for_queued_batches():
    pool, gate, ran = threads.Threads(1), threading.Event(), []
    pool.call(gate.wait)
    for number in range(3):
        pool.call(ran.append, number)
    closing = threading.Thread(target=threads._close_all)
    closing.start()
    while pool._threads:  # until the queued calls are dropped
        time.sleep(0.001)
    gate.set()
    closing.join()
    assert ran == []


def test_the_check_counts_for_no_loop(monkeypatch):
    watched = watch.Watch(None, None, None, None)
    clock = watched._clocks.mine

    class Deciding:
        def decide(self, loader):
            assert clock.inside

    times = iter([100, 350])
    monkeypatch.setattr(watch, "_now", lambda: next(times))
    watched._decide(Deciding(), object())
    assert (clock.counted, clock.inside) == (250, False)


def test_an_interrupted_check_is_reported(photos, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Check, "run", interrupted)
    replacer = Replacer(print)
    with pytest.raises(KeyboardInterrupt):
        replacer.decide(DataLoader(ImageFolder(photos, T.ToTensor()), batch_size=4))
    assert replacer.notes() == ["Not replaced: the check was interrupted"]


def test_a_check_keeps_the_number_of_threads(photos):
    torch.set_num_threads(2)
    try:
        assert refusal(recipes.shuffled(photos, recipes.EVAL)) is None and torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(1)


def test_a_line_of_the_program_is_found():
    line = call_of("AutoAugment", None)
    text = pathlib.Path(line.file).read_text().splitlines()[line.line - 1]
    assert "AutoAugment(" in text


def test_only_files_of_the_program_are_searched(tmp_path, monkeypatch):
    for folder, name in ("site-packages", "installed_with_user"), ("source", "own_of_program"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / f"{name}.py").write_text(f"def make():\n    return Call_{name}()\n")
        monkeypatch.syspath_prepend(tmp_path / folder)
        importlib.import_module(name)
        found = call_of(f"Call_{name}", None)
        assert found == ((str(tmp_path / folder / f"{name}.py"), 2) if folder == "source" else None)


# ---- Whole programs --------------------------------------------------------------------------------------------------

TRAINING = """
    import hashlib, random, sys
    import torch
    import torchvision.transforms as T
    from torch.utils.data import DataLoader
    from torchvision.datasets import ImageFolder

    SIZED = [T.Resize(72), T.CenterCrop(64), T.ToTensor()]

    if __name__ == "__main__":
        torch.manual_seed(5)
        torch.set_num_threads(1)
        data = ImageFolder(sys.argv[1], T.Compose(SIZED))
        doubled = ImageFolder(sys.argv[1], T.Compose([
            *SIZED,
            T.Lambda(lambda image: image * 2)]))
        train = DataLoader(data, batch_size=6, shuffle=True, num_workers=2, drop_last=True)
        test = DataLoader(doubled, batch_size=8, num_workers=1)
        model = torch.nn.Sequential(torch.nn.AdaptiveAvgPool2d(4), torch.nn.Flatten(), torch.nn.Linear(48, 4))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for epoch in range(2):
            pixels = hashlib.sha256()
            for images, labels in train:
                pixels.update((images * 255).round().byte().numpy().tobytes())
                loss = torch.nn.functional.cross_entropy(model(images), labels)
                optimizer.zero_grad(); loss.backward(); optimizer.step()
            for images, labels in test:
                pixels.update(images.numpy().tobytes() + labels.numpy().tobytes())
            print(epoch, f"{loss.item():.5f}", pixels.hexdigest(), torch.rand(1).item(), random.random() < 2)
        iterator = iter(train)  # still open at the end
        next(iterator)
        sys.exit(3)
"""


def test_a_script_has_the_same_result(photos, tmp_path):
    (tmp_path / "train.py").write_text(textwrap.dedent(TRAINING))
    code, told = run_both(["train.py", photos], tmp_path, "--json", "run.json")
    assert code == 3
    made, refused = line_with(TRAINING, "train = Data"), line_with(TRAINING, "T.Lambda(")
    assert f"penstock run: Replaced: DataLoader(ImageFolder) at train.py:{made}; checked 32 samples; " in told
    assert f"penstock run: Not replaced: train.py:{refused}: Lambda(): calls a function of your own\n" in told
    figures = json.loads((tmp_path / "run.json").read_text())
    assert [note.partition(":")[0] for note in figures["notes"]] == ["Replaced", "Not replaced"]
    (loader,) = (loader for loader in figures["loaders"] if loader["penstock"] is not None)
    assert loader["penstock"]["binds"] == "cores" and (loader["fetch_s"], loader["num_workers"]) == (None, None)
    assert loader["epochs"] == 3 and loader["first_batch_s"] < figures["wall_s"]


RANKS = """
    import sys
    import torch
    import torch.distributed
    from replace_recipes import TRAIN
    from torch.utils.data import DataLoader, DistributedSampler
    from torchvision.datasets import ImageFolder
    torch.distributed.init_process_group("gloo")
    data = ImageFolder(sys.argv[1], TRAIN)
    sampler = DistributedSampler(data)
    loader = DataLoader(data, 4, sampler=sampler, num_workers=1)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        seen = [None, None]
        torch.distributed.all_gather_object(seen, [label for _, labels in loader for label in labels.tolist()])
        if torch.distributed.get_rank() == 0:
            print(seen)
    torch.distributed.destroy_process_group()
"""


def order_of(folder, rank, epoch):
    sampler = torch.utils.data.DistributedSampler(folder, num_replicas=2, rank=rank)
    sampler.set_epoch(epoch)
    return [folder.targets[index] for index in sampler]


def test_each_rank_decides(photos, tmp_path):
    (tmp_path / "train.py").write_text(textwrap.dedent(RANKS))
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", 2]
    done = execute([*launch, "-m", "penstock", "run", "--replace", "train.py", photos], tmp_path)
    assert done.returncode == 0, done.stderr
    folder = ImageFolder(photos)
    assert done.stdout == "".join(f"{[order_of(folder, rank, epoch) for rank in (0, 1)]}\n" for epoch in (0, 1))
    for rank in 0, 1:
        assert f"penstock run: rank {rank}: Replaced: DataLoader(ImageFolder) at train.py:11; " in done.stderr
