"""ps.sample_transform(): one function of several outputs of each sample."""

import io

import numpy as np
import penstock as ps
import pytest
from PIL import Image

MEAN, STDDEV = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
SIZE = 12


@pytest.fixture(name="scenes", scope="module")
def scenes_fixture(tmp_path_factory):
    """A folder of 10 pictures, each with a mask, boxes (some have none) and a class."""
    folder = tmp_path_factory.mktemp("scenes")
    for i in range(10):
        random = np.random.default_rng(i)
        for name, shape in (("jpg.png", (SIZE, SIZE, 3)), ("mask.png", (SIZE, SIZE))):
            encoded = io.BytesIO()
            Image.fromarray(random.integers(0, 255, shape, np.uint8)).save(encoded, "png")
            (folder / f"{i}.{name}").write_bytes(encoded.getvalue())
        encoded = io.BytesIO()
        np.save(encoded, np.array([[n, n, n + 2, n + 3] for n in range(i % 3)], np.float32).reshape(-1, 4))
        (folder / f"{i}.box.npy").write_bytes(encoded.getvalue())
        (folder / f"{i}.cls").write_text(str(i))
    return folder


def fields(image=ps.image.decode()):
    return {
        "image": ps.field("jpg.png") | image,
        "mask": ps.field("mask.png") | ps.follow("image"),
        "boxes": ps.field("box.npy") | ps.follow("image") | ps.boxes(),
        "cls": ps.label(),
    }


def flipped(image, mask, boxes):
    """What flips all of them, HWC; boxes as lists, as Albumentations gives them."""
    flipped_boxes = [[SIZE - x1, y0, SIZE - x0, y1] for x0, y0, x1, y1 in boxes.tolist()]
    return {"image": image[:, ::-1], "mask": mask[:, ::-1], "boxes": flipped_boxes, "more": 1}


def test_a_function_gets_and_gives_several_outputs_of_a_sample(scenes):
    plain = ps.Loader(scenes, batch_size=4, transforms=fields())
    loader = ps.Loader(
        scenes,
        batch_size=4,
        transforms=fields(),
        sample_transform=ps.sample_transform(
            flipped, ("image", "mask", "boxes"), layout="HWC", after={"image": ps.image.normalize(MEAN, STDDEV)}
        ),
    )
    normalized = ps.Loader(
        scenes, batch_size=4, transforms={"image": ps.field("jpg.png") | ps.image.normalize(MEAN, STDDEV)}
    )
    for before, after, whole in zip(plain, loader, normalized):
        np.testing.assert_array_equal(after["image"], np.asarray(whole["image"])[..., ::-1])
        np.testing.assert_array_equal(after["mask"], np.asarray(before["mask"])[..., ::-1])
        assert isinstance(after["boxes"], ps.Ragged) and after["boxes"].values.dtype == "float32"
        for old, new in zip(before["boxes"], after["boxes"]):
            old, new = np.asarray(old), np.asarray(new)
            assert new.shape == old.shape
            np.testing.assert_array_equal(new[:, 0::2], SIZE - old[:, 2::-2])
        np.testing.assert_array_equal(after["cls"], before["cls"])
    assert loader.stats()["python_s"]["on_sample"] > 0


def test_outputs_have_the_keywords_and_shapes_that_are_said(scenes):
    seen = set()

    def function(picture, bboxes, label):
        seen.add((picture.shape, bboxes.shape[1:], label.shape))
        return {"picture": picture[0, ::2, ::2] / np.float32(255), "bboxes": bboxes[:1, :2], "label": [label, 1]}

    loader = ps.Loader(
        scenes,
        batch_size=5,
        transforms=fields(),
        sample_transform=ps.sample_transform(
            function,
            {"image": "picture", "boxes": "bboxes", "cls": "label"},
            shapes={"image": (6, 6), "boxes": (None, 2), "cls": (2,)},
            dtypes={"boxes": "float64", "cls": np.int32},
        ),
    )
    for batch in loader:
        assert batch["image"].shape == (5, 6, 6) and batch["image"].dtype == np.float32
        assert batch["boxes"].values.dtype == "float64" and batch["boxes"].values.shape[1:] == (2,)
        assert [len(row) for row in batch["boxes"]] == [min(1, int(key) % 3) for key in batch["__key__"]]
        assert batch["cls"].tolist() == [[int(key), 1] for key in batch["__key__"]]
    assert seen == {((3, SIZE, SIZE), (4,), ())}


@pytest.mark.parametrize("nothing", [[], np.zeros(0), np.zeros((0, 4)), np.zeros((0, 7), np.float32)])
def test_nothing_fits_rows_of_any_length(scenes, nothing):
    def drops(boxes):
        return {"boxes": boxes if len(boxes) == 2 else nothing}

    sample = ps.sample_transform(drops, ["boxes"], shapes={"boxes": (None, 4)}, dtypes={"boxes": "float32"})
    rows = [
        len(row) for batch in ps.Loader(scenes, transforms=fields(), sample_transform=sample) for row in batch["boxes"]
    ]
    assert rows == [0, 0, 2, 0, 0, 2, 0, 0, 2, 0]


def test_draws_behind_it_and_in_it_are_functions_of_the_sample(scenes):
    def noisy(random, image):
        return {"image": image ^ random.integers(0, 9, image.shape, np.uint8)}

    def options(**more):
        return {
            "batch_size": 3,
            "shuffle": True,
            "transforms": fields(),
            "sample_transform": ps.sample_transform(
                noisy, ["image"], layout="HWC", after={"image": ps.image.random_horizontal_flip()}
            ),
            **more,
        }

    loader = ps.Loader(scenes, **options())
    epochs = [[(batch["__key__"], batch["image"].copy()) for batch in loader] for _ in range(2)]
    assert any((a[1] != b[1]).any() for a, b in zip(*epochs))
    for (keys, rows), batch in zip(epochs[0], ps.Loader(scenes, **options(workers=1, prefetch=1))):
        assert batch["__key__"] == keys
        np.testing.assert_array_equal(batch["image"], rows)
    np.testing.assert_array_equal(loader.at(1, 2)["image"], epochs[1][2][1])


def test_it_comes_after_the_functions_of_chains_and_before_on_batch(scenes, arrays):
    loader = ps.Loader(
        scenes,
        batch_size=5,
        transforms={"cls": ps.label() | ps.transform(lambda label: label + 1)},
        sample_transform=ps.sample_transform(lambda cls: {"cls": cls * 10}, ["cls"]),
        batch_transform=lambda batch: batch["cls"].tolist(),
    )
    assert list(loader) == [[10, 20, 30, 40, 50], [60, 70, 80, 90, 100]]
    every = ps.Loader(arrays, batch_size=3, sample_transform=ps.sample_transform(lambda cls: {"cls": cls + 1}, ["cls"]))
    assert next(iter(every))["cls"].tolist() == [1, 2, 3]


def test_faults_of_a_function_are_told_with_the_sample(scenes):
    def run(function, **options):
        return list(
            ps.Loader(
                scenes, transforms=fields(), sample_transform=ps.sample_transform(function, ["image", "cls"], **options)
            )
        )

    def fails(image, cls):
        if cls == 3:
            raise LookupError("three")
        return {"image": image, "cls": cls}

    with pytest.raises(LookupError, match="three") as caught:
        run(fails)
    assert "sample_transform(" in caught.value.__notes__[0] and "sample '3', row 3" in caught.value.__notes__[0]
    assert caught.value.__notes__[1] == "penstock: epoch 0, batch 0"
    with pytest.raises(TypeError, match="returned tuple: return a dict of"):
        run(lambda image, cls: (image, cls))
    with pytest.raises(TypeError, match="without 'cls'"):
        run(lambda image, cls: {"image": image})
    with pytest.raises(ps.Error, match=r"gave uint8 \(3, 12, 12\), not \(12, 12, 3\)") as shape:
        run(lambda image, cls: {"image": image, "cls": cls}, shapes={"image": (12, 12, 3)})
    assert (shape.value.kind, shape.value.field, shape.value.key) == ("shape", "image", "0")
    with pytest.raises(ps.Error, match=r"and uint8 \(3, 12, 12\) for the rows before it"):
        run(lambda image, cls: {"image": image[: 3 if cls < 2 else 1], "cls": cls})


def test_what_does_not_fit_is_told_when_the_loader_is_made(scenes, arrays):
    same = ps.sample_transform(lambda **given: given, ["image"])
    with pytest.raises(TypeError, match="sequence of names"):
        ps.sample_transform(len, "image")
    with pytest.raises(TypeError, match="not one of its outputs"):
        ps.sample_transform(len, ["image"], shapes={"mask": (1,)})
    with pytest.raises(TypeError, match="requires a function"):
        ps.sample_transform(None, ["image"])
    with pytest.raises(TypeError, match="sample_transform must be ps.sample"):
        ps.Loader(scenes, transforms=fields(), sample_transform=len)
    with pytest.raises(ps.Error, match='"image": sample_transform requires it, but transforms has cls'):
        ps.Loader(scenes, transforms={"cls": ps.label()}, sample_transform=same)
    with pytest.raises(ps.Error, match="sample_transform requires it, but the batch has"):
        list(ps.Loader(arrays, sample_transform=same))
    with pytest.raises(ps.Error, match="add a step such as image.decode"):
        layout = ps.sample_transform(lambda **given: given, ["image"], layout="HWC")
        ps.Loader(scenes, transforms={"image": ps.field("jpg.png")}, sample_transform=layout)


def test_generators_of_the_process_are_seeded_for_each_sample_and_put_back(scenes):
    import random

    def draw(cls):
        return {"cls": [random.random(), np.random.random(), float(cls)]}

    def options():
        return {
            "batch_size": 4,
            "shuffle": True,
            "transforms": {"cls": ps.label()},
            "sample_transform": ps.sample_transform(draw, ["cls"], dtypes={"cls": "float64"}),
        }

    random.seed(1)
    np.random.seed(2)
    expected = random.Random(1).random(), np.random.RandomState(2).random()
    loader = ps.Loader(scenes, **options())
    drawn = {row[2]: row[:2] for batch in loader for row in batch["cls"].tolist()}
    again = {row[2]: row[:2] for batch in ps.Loader(scenes, **options(), prefetch=1) for row in batch["cls"].tolist()}
    assert drawn == again and len({tuple(row) for row in drawn.values()}) == 10
    loader.close()
    assert (random.random(), np.random.random()) == expected
