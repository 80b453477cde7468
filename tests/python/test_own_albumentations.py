"""Albumentations in the middle of a chain and over several outputs: rows do not depend on processes, nor on who drew before."""

import numpy as np
import penstock as ps
import pytest

A = pytest.importorskip("albumentations")

END = ps.image.normalize((0.5, 0.5, 0.5), (0.5, 0.5, 0.5))
OPTIONS = {"batch_size": 8, "shuffle": True, "seed": 3}


def rows_of(loader):
    with loader:
        return [np.array(batch["jpg"]) for _ in range(2) for batch in loader]


@pytest.mark.parametrize("workers", [0, 2])
def test_rows_of_a_compose_are_functions_of_the_sample(images, workers):
    def options(number):
        augment = A.Compose([A.RandomBrightnessContrast(p=0.5), A.GaussNoise(p=1.0), A.HorizontalFlip(p=0.5)])

        def augmented(image):
            assert image.shape == (32, 24, 3) and image.flags.c_contiguous
            return augment(image=image)["image"]

        chain = ps.image.random_resized_crop((32, 24)) | ps.transform(augmented, layout="HWC") | END
        return {"transforms": {"jpg": chain}, "python_workers": number, **OPTIONS}

    pytest.importorskip("cloudpickle")
    expected = rows_of(ps.Loader(images, **options(0)))
    assert expected[0].shape == (8, 3, 32, 24) and (expected[0] != expected[8]).any()
    for made, rows in zip(rows_of(ps.Loader(images, **options(workers))), expected):
        np.testing.assert_array_equal(made, rows)


@pytest.mark.parametrize("workers", [0, 2])
def test_a_compose_takes_image_and_boxes_of_a_sample(images, workers):
    def boxes(row):
        return np.array([[2, 2, 10, 12, 0], [20, 1, 31, 30, 1]], np.float32)

    compose = A.Compose(
        [A.RandomCrop(16, 16), A.HorizontalFlip(p=0.5)],
        bbox_params=A.BboxParams(format="pascal_voc", min_visibility=0.2),
    )
    sample = ps.sample_transform(
        compose,
        {"jpg": "image", "boxes": "bboxes"},
        shapes={"boxes": (None, 5)},
        dtypes={"boxes": "float32"},
        layout="HWC",
        after={"jpg": END},
    )
    fields = {
        "jpg": ps.image.resize((32, 32)),
        "boxes": ps.field("cls") | ps.raw() | ps.transform(boxes),
    }
    pytest.importorskip("cloudpickle")

    def drawn(number):
        with ps.Loader(images, transforms=fields, sample_transform=sample, python_workers=number, **OPTIONS) as loader:
            return [(np.array(b["jpg"]), [np.asarray(row).tolist() for row in b["boxes"]]) for b in loader]

    counts = set()
    for (made, rows), (expected, expected_rows) in zip(drawn(workers), drawn(0)):
        np.testing.assert_array_equal(made, expected)
        assert made.shape[1:] == (3, 16, 16) and rows == expected_rows
        counts |= set(map(len, rows))
    assert len(counts) > 1


@pytest.mark.parametrize("whole", [False, True])
def test_an_error_for_channels_that_come_first_names_layout(images, whole):
    compose = A.Compose([A.RandomCrop(16, 16)])
    fields = {"jpg": ps.image.random_resized_crop((32, 24))}
    options = {"sample_transform": ps.sample_transform(compose, {"jpg": "image"})}
    if not whole:
        fields["jpg"] |= ps.transform(lambda image: compose(image=image)["image"])
        options = {}
    with pytest.raises(Exception) as raised, ps.Loader(images, transforms=fields, **options, **OPTIONS) as loader:
        next(iter(loader))
    assert 'the images were (C, H, W); with layout="HWC" the function gets' in raised.value.__notes__[0]
