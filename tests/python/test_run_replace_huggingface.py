"""`penstock run --replace` with datasets of Hugging Face: replaced loaders deliver PyTorch's batches, others are left alone."""

import importlib.util
import io
import os
import pathlib
import re
import shutil
import textwrap

import pytest
from torchvision_package import require_torchvision

require_torchvision()
pytest.importorskip("datasets")

import datasets
import huggingface_recipes as recipes  # after torchvision
import torch
import torchvision.transforms as T
from penstock._run.replace import definitions
from penstock._run.replace.batches import Batches, Form
from penstock._run.replace.iterator import ReplacedIterator
from penstock._run.replace.places import Places, Refused
from penstock._run.replace.recognize import recognize
from penstock._run.replace.source import Unmade
from PIL import Image
from replaced_loaders import (
    drawn,
    epochs,
    largest_difference,
    line_with,
    replacing,
    run_both,
    same_but_images,
    seed,
)

IMAGES = pathlib.Path(os.environ.get("PENSTOCK_TEST_DATA", "")) / "images"
SMALL = [path for path in sorted((IMAGES / "imagenet500").rglob("*.JPEG")) if path.stat().st_size < 32_000]
PHOTOS = SMALL[::2][:25]

pytestmark = pytest.mark.skipif(not PHOTOS, reason="PENSTOCK_TEST_DATA has no images; set it to a folder with images/")
torch.set_num_threads(1)


def table_of(images, labels=None):
    """images: paths, or dicts of bytes."""
    count = len(images)
    columns = {
        "image": images,
        "label": [number % 4 for number in range(count)] if labels is None else labels,
        "name": [f"number {number}" for number in range(count)],
    }
    rows = datasets.Dataset.from_dict(columns).cast_column("image", datasets.Image())
    return rows.cast_column("label", datasets.ClassLabel(num_classes=4))


def paths():
    return table_of([str(path) for path in PHOTOS])


def contents():
    return table_of([{"bytes": path.read_bytes(), "path": None} for path in PHOTOS])


def is_replaced(lines):
    found = re.match(
        r"Replaced: DataLoader\(datasets.Dataset\)( at \S+:\d+)?; checked \d+ samples; [\d,]+ -> ", lines[0]
    )
    return found is not None


# ---- Recipes ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stored", [paths, contents])
@pytest.mark.parametrize("make", recipes.REPLACED, ids=lambda make: make.__name__)
def test_a_replaced_loader_delivers_torchs_batches(make, stored):
    _, theirs = epochs(make, stored())
    with replacing() as lines:
        loader, ours = epochs(make, stored())
    assert is_replaced(lines) and len(lines) == 1, lines
    recipe = recognize(loader, Places())
    image = recipe.source.image_key()
    same_but_images(ours, theirs, image)
    difference = largest_difference(ours, theirs, image)
    assert difference > 0.1 if recipe.random else difference <= 1e-5


@pytest.mark.parametrize("make", recipes.NOT_REPLACED, ids=lambda make: make.__name__)
def test_a_loader_that_may_differ_is_left_alone(make):
    with replacing() as lines:
        seed()
        loader = make(paths())
        try:
            iterator = iter(loader)
        except Exception:  # spawned workers cannot import this test
            iterator = None
        del loader
    assert not isinstance(iterator, ReplacedIterator)
    found = re.match(r"Not replaced: (\S+huggingface_recipes.py):(\d+): ", lines[0])
    assert len(lines) == 1 and found, lines
    assert recipes.NOT_REPLACED[make] in lines[0]
    line = pathlib.Path(found[1]).read_text().splitlines()[int(found[2]) - 1]
    assert "refused" in line or "DataLoader(" in line or "shuffled(" in line, line


def test_a_refused_function_runs_as_often_as_with_torch():
    def make(rows):
        recipes.SEEN.clear()
        return recipes.shuffled(rows.with_transform(recipes.counts_rows), num_workers=0)

    _, theirs = epochs(make, contents(), 1)
    calls = list(recipes.SEEN)
    with replacing() as lines:
        _, ours = epochs(make, contents(), 1)
    assert recipes.SEEN == calls and lines[0].startswith("Not replaced")
    same_but_images(ours, theirs, None)


def test_a_loader_inside_that_of_accelerate_is_replaced():
    accelerate = pytest.importorskip("accelerate")

    def run():
        seed()
        loader = accelerate.Accelerator(cpu=True).prepare(recipes.shuffled(contents().with_transform(squeezed)))
        return [(batch, drawn(loader.base_dataloader)) for _ in range(2) for batch in loader]

    theirs = run()
    with replacing() as lines:
        ours = run()
    assert is_replaced(lines) and len(lines) == 1
    same_but_images(ours, theirs, "pixel_values")
    assert largest_difference(ours, theirs, "pixel_values") <= 1e-5


def test_a_folder_of_images_is_replaced(tmp_path):
    for number, path in enumerate(PHOTOS):
        (tmp_path / f"class{number % 4}").mkdir(exist_ok=True)
        os.symlink(path, tmp_path / f"class{number % 4}" / f"{number}.jpg")
    rows = datasets.load_dataset(
        "imagefolder", data_dir=str(tmp_path), split="train", cache_dir=str(tmp_path / "cache")
    )

    def make(rows):
        return recipes.shuffled(rows.with_transform(recipes.evaluated))

    _, theirs = epochs(make, rows)
    with replacing() as lines:
        _, ours = epochs(make, rows)
    assert is_replaced(lines)
    same_but_images(ours, theirs, "pixel_values")
    assert largest_difference(ours, theirs, "pixel_values") <= 1e-5


# ---- Images ----------------------------------------------------------------------------------------------------------

ORIENTATION = 0x112


def encoded(image, suffix="JPEG", orientation=None, **options):
    file = io.BytesIO()
    if orientation is not None:
        exif = Image.Exif()
        exif[ORIENTATION] = orientation
        options["exif"] = exif
    image.save(file, suffix, **options)
    return {"bytes": file.getvalue(), "path": None}


def small(mode="RGB"):
    return Image.open(PHOTOS[3]).convert("RGB").resize((90, 120)).convert(mode)


def with_xmp():
    return encoded(small(), xmp=b'<x:xmpmeta><rdf:Description tiff:Orientation="6"/></x:xmpmeta>')


def with_long_orientation():
    """EXIF that stores the orientation with 32 bits instead of 16."""
    exif = b"Exif\0\0MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x04\0\0\0\x01\0\0\0\x06\0\0\0\0"
    return encoded(small(), exif=exif)


ALIKE = {
    **{f"orientation {number}": lambda number=number: encoded(small(), orientation=number) for number in range(1, 9)},
    "PNG with an orientation": lambda: encoded(small(), "PNG", orientation=8),
    "CMYK": lambda: encoded(small("CMYK")),
    "gray": lambda: encoded(small("L")),
    "palette": lambda: encoded(small("P"), "PNG"),
    "transparent": lambda: encoded(small("RGBA"), "PNG"),
}
UNMADE = {
    "XMP": with_xmp,
    "long orientation": with_long_orientation,
    "16 bits": lambda: encoded(Image.new("I;16", (80, 90), 3000), "PNG"),
    "interlaced": lambda: {"bytes": INTERLACED.read_bytes(), "path": None},
}
INTERLACED = IMAGES / "pngsuite/lunapaint+pngsuite/basi2c08.png"
SQUEEZED = T.Compose([T.Resize((40, 40)), T.ToTensor()])


def squeezed(examples):
    examples["pixel_values"] = [SQUEEZED(image.convert("RGB")) for image in examples["image"]]
    return examples


def unconverted(examples):
    examples["pixel_values"] = [SQUEEZED(image) for image in examples["image"]]
    return examples


def made(image, function):
    """PyTorch's item of one image, and penstock's images of its batch."""
    loader = recipes.shuffled(table_of([image]).with_transform(function), num_workers=0)
    batches = Batches(recognize(loader, Places()), Form((3, 40, 40), torch.float32), False)
    return loader.dataset[0]["pixel_values"], batches.make([0], 0, 1)["pixel_values"][0]


@pytest.mark.parametrize("name", ALIKE)
def test_an_image_has_the_pixels_of_datasets(name):
    theirs, ours = made(ALIKE[name](), squeezed)
    assert float((theirs - ours).abs().max()) <= 1e-5


@pytest.mark.parametrize("name", UNMADE)
def test_an_image_that_may_differ_is_left_to_torch(name):
    with pytest.raises(Unmade):
        made(UNMADE[name](), squeezed)


@pytest.mark.parametrize("name", ["CMYK", "gray", "palette", "transparent"])
def test_an_image_that_is_not_rgb_is_not_converted(name):
    with pytest.raises(Unmade, match="not RGB"):
        made(ALIKE[name](), unconverted)


def many(odd, labels=None):
    """100 images, of which number 37 is odd and not in the sample."""
    photo = encoded(small())
    return table_of([odd if number == 37 else photo for number in range(100)], labels)


def ordered(rows):
    return recipes.shuffled(rows.with_transform(squeezed), shuffle=False, batch_size=20, num_workers=0)


def test_torch_makes_the_batch_of_an_odd_image():
    rows = many(with_xmp())
    _, theirs = epochs(ordered, rows, 1)
    with replacing() as lines:
        _, ours = epochs(ordered, rows, 1)
    assert is_replaced(lines) and len(lines) == 2 and "row 37: its orientation may be another" in lines[1]
    same_but_images(ours, theirs, "pixel_values")
    assert largest_difference(ours, theirs, "pixel_values") <= 1e-5
    with replacing() as lines:
        next(iter(ordered(rows.select(range(30, 50)))))
    assert lines[0].startswith("Not replaced: ") and "its orientation may be another" in lines[0]


def until_error(rows, workers):
    seen = []
    seed()
    loader = recipes.shuffled(rows.with_transform(squeezed), shuffle=False, batch_size=20, num_workers=workers)
    try:
        for batch in loader:
            seen.append((batch["labels"].tolist(), drawn(loader)))
    except Exception as failure:  # noqa: BLE001
        text = str(failure).splitlines()
        return seen, type(failure), text[0], text[-1]
    raise AssertionError("no exception")


@pytest.mark.parametrize("workers", [0, 1])
@pytest.mark.parametrize("missing", ["image", "label"])
def test_a_missing_value_raises_torchs_exception(missing, workers):
    labels = [None if number == 37 else 1 for number in range(100)] if missing == "label" else None
    rows = many(None if missing == "image" else encoded(small()), labels)
    theirs = until_error(rows, workers)
    with replacing() as lines:
        ours = until_error(rows, workers)
    assert ours == theirs and is_replaced(lines) and "row 37: " in lines[1]


# ---- Changes while the program runs ----------------------------------------------------------------------------------

CURRENT = recipes.EVAL


def by_current(examples):
    examples["pixel_values"] = [CURRENT(image.convert("RGB")) for image in examples["image"]]
    return examples


def brightened(image):
    return recipes.EVAL(image) + 1


def run_with(change, workers):
    """Batches of three epochs. change: called after the third batch of the second epoch, with the dataset."""
    global CURRENT
    CURRENT = recipes.EVAL
    seed()
    rows = contents()
    rows.set_transform(by_current)
    loader = recipes.shuffled(rows, num_workers=workers, batch_size=4)
    seen = []
    for epoch in range(3):
        for number, batch in enumerate(loader):
            seen.append((batch, drawn(loader)))
            if (epoch, number) == (1, 2):
                change(rows)
    return seen


def other_transform(rows):
    global CURRENT
    CURRENT = T.Compose([T.Resize((64, 64)), T.ToTensor()])


def own_function(rows):
    global CURRENT
    CURRENT = brightened


def other_function(rows):
    rows.set_transform(recipes.evaluated)


def refused_function(rows):
    rows.set_transform(recipes.counts_rows)


def other_code(rows):
    def replaced(examples):
        return {"pixel_values": [CURRENT(image) + 1 for image in examples["image"]], "label": examples["label"]}

    kept = by_current.__code__
    by_current.__code__ = replaced.__code__
    CODES.append(kept)


CODES = []


@pytest.mark.parametrize("workers", [0, 1])
@pytest.mark.parametrize(
    ("change", "last"),
    [
        (other_transform, "Replaced"),
        (own_function, "brightened() (test_run_replace_huggingface.py:"),
        (other_function, "Replaced"),
        (refused_function, "SEEN.append(len(examples['image'])): may have effects"),
        (other_code, "CURRENT(image) + 1"),
    ],
)
def test_changes_are_seen_when_torch_sees_them(change, last, workers):
    try:
        theirs = run_with(change, workers)
        while CODES:
            by_current.__code__ = CODES.pop()
        with replacing() as lines:
            ours = run_with(change, workers)
    finally:
        while CODES:
            by_current.__code__ = CODES.pop()
    assert is_replaced(lines) and last in lines[-1] and len(lines) == 2, lines
    same_but_images(ours, theirs, "pixel_values")
    assert largest_difference(ours, theirs, "pixel_values") <= 1e-5


def test_datasets_of_one_table_keep_their_rows_and_functions():
    def run():
        seed()
        whole = contents()
        train, test = whole.select(range(12, 25)), whole.select(range(12))
        train.set_transform(squeezed)
        test.set_transform(recipes.evaluated)
        loaders = [recipes.shuffled(rows, num_workers=1) for rows in (train, test, whole.with_transform(squeezed))]
        return [(batch, drawn(loaders[0])) for loader in loaders for batch in loader]

    theirs = run()
    with replacing() as lines:
        ours = run()
    assert len(lines) == 3 and all(line.startswith("Replaced") for line in lines)
    same_but_images(ours, theirs, "pixel_values")
    assert largest_difference(ours, theirs, "pixel_values") <= 1e-5


def test_a_function_of_an_edited_file_is_left_alone(tmp_path):
    file = tmp_path / "edited.py"
    source = """
        def apply(examples):
            examples["pixel_values"] = [T(image.convert("RGB")) for image in examples["image"]]
            return examples
    """
    file.write_text(textwrap.dedent(source))
    spec = importlib.util.spec_from_file_location("edited", file)
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    program.T = SQUEEZED
    recognize(recipes.shuffled(contents().with_transform(program.apply)), Places())
    definitions.definition_of.cache_clear()
    file.write_text(file.read_text().replace("RGB", "CMYK"))
    with pytest.raises(Refused, match=r"edited.py:2: set_transform\(apply\): has no source in its file"):
        recognize(recipes.shuffled(contents().with_transform(program.apply)), Places())


# ---- Whole programs --------------------------------------------------------------------------------------------------

TRAINING = """
    import hashlib, sys
    import torch
    import torchvision.transforms as T
    from datasets import load_dataset
    from torch.utils.data import DataLoader

    def main():
        dataset = load_dataset("imagefolder", data_dir=sys.argv[1], split="train", cache_dir="cache")
        dataset = dataset.train_test_split(0.25, seed=1)
        sized = T.Compose([T.Resize(72), T.CenterCrop(64), T.ToTensor()])
        seen = []

        def train_transforms(example_batch):
            example_batch["pixel_values"] = [sized(image.convert("RGB")) for image in example_batch["image"]]
            return example_batch

        def test_transforms(example_batch):
            seen.append(len(example_batch["image"]))
            return train_transforms(example_batch)

        def collate_fn(examples):
            pixel_values = torch.stack([example["pixel_values"] for example in examples])
            labels = torch.tensor([example["label"] for example in examples])
            return {"pixel_values": pixel_values, "labels": labels}

        dataset["train"].set_transform(train_transforms)
        dataset["test"].set_transform(test_transforms)
        train = DataLoader(dataset["train"], shuffle=True, batch_size=6, collate_fn=collate_fn, num_workers=2)
        test = DataLoader(dataset["test"], batch_size=6, collate_fn=collate_fn)
        for epoch in range(2):
            pixels = hashlib.sha256()
            for loader in train, test:
                for batch in loader:
                    pixels.update((batch["pixel_values"] * 255).round().byte().numpy().tobytes())
                    pixels.update(batch["labels"].numpy().tobytes())
            print(epoch, pixels.hexdigest(), torch.rand(1).item(), seen)

    if __name__ == "__main__":
        torch.manual_seed(5)
        torch.set_num_threads(1)
        main()
"""


def test_a_script_has_the_same_result(tmp_path):
    for number, path in enumerate(PHOTOS):
        (tmp_path / f"photos/class{number % 4}").mkdir(parents=True, exist_ok=True)
        shutil.copy(path, tmp_path / f"photos/class{number % 4}/{number}.jpg")
    (tmp_path / "train.py").write_text(textwrap.dedent(TRAINING))
    code, told = run_both(["train.py", "photos"], tmp_path)
    assert code == 0
    used, refused = line_with(TRAINING, "train = Data"), line_with(TRAINING, "seen.app")
    assert f"penstock run: Replaced: DataLoader(datasets.Dataset) at train.py:{used}; checked 18 samples; " in told
    assert f"penstock run: Not replaced: train.py:{refused}: set_transform(test_transforms): seen.append(" in told
