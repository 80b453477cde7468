"""mixup, cutmix and the augmentations of images, as Python spells them."""

import pickle

import numpy as np
import penstock as ps
import pytest

CLASSES = 7


@pytest.fixture(name="pictures", scope="module")
def pictures_fixture(tmp_path_factory):
    """A folder of 21 uint8 arrays (20, 24, 3) with a class number each."""
    folder = tmp_path_factory.mktemp("data") / "pictures"
    folder.mkdir()
    random = np.random.default_rng(3)
    for i in range(21):
        np.save(folder / f"{i:03}.npy", random.integers(0, 256, (20, 24, 3), np.uint8))
        (folder / f"{i:03}.cls").write_text(str(i % CLASSES))
    return folder


def loader(folder, **options):
    fields = {"npy": ps.image.random_crop(16) | ps.image.cast("float32"), "cls": ps.label()}
    return ps.Loader(folder, **{"batch_size": 6, "shuffle": True, "seed": 4, "transforms": fields, **options})


@pytest.mark.parametrize("mix", [ps.mixup(0.4, num_classes=CLASSES), ps.cutmix(1, num_classes=CLASSES)], ids=str)
def test_batches_are_torchvisions_formula_over_batches_rolled_by_one(pictures, mix):
    mixed, plain = loader(pictures, mix=mix), loader(pictures)
    sizes = []
    for number, (batch, before) in enumerate(zip(mixed, plain, strict=True)):
        told = mixed.explain(0, number, 0)["mix"]
        share = np.float32(told["lambda"])
        images, labels = np.asarray(before["npy"]), np.eye(CLASSES, dtype=np.float32)[np.asarray(before["cls"])]
        sizes.append(len(images))
        assert told["partner"] == len(images) - 1
        if told["kind"] == "mixup":
            wanted = np.roll(images, 1, 0) * np.float32(1 - told["lambda"]) + images * share
        else:
            x, y, width, height = told["box"]
            wanted = images.copy()
            wanted[..., y : y + height, x : x + width] = np.roll(images, 1, 0)[..., y : y + height, x : x + width]
            assert abs(share - (1 - width * height / 256)) < 1e-6
        np.testing.assert_array_equal(np.asarray(batch["npy"]), wanted)
        np.testing.assert_allclose(
            np.asarray(batch["cls"]), np.roll(labels, 1, 0) * (1 - share) + labels * share, atol=1e-6
        )
    assert sizes == [6, 6, 6, 3]


def test_a_restored_loader_mixes_as_before(pictures):
    mix = [ps.mixup(0.4, num_classes=CLASSES), ps.cutmix(num_classes=CLASSES)]
    first = loader(pictures, mix=mix)
    batches = [np.asarray(batch["npy"]).copy() for batch in first]
    again = loader(pictures, mix=mix, workers=3)
    again.load_state_dict(loader(pictures, mix=mix).state_dict())
    for batch, expected in zip(again, batches, strict=True):
        np.testing.assert_array_equal(np.asarray(batch["npy"]), expected)


def test_a_mix_prints_compares_and_pickles():
    mix = ps.mixup(0.2, num_classes=1000)
    assert repr(mix) == "mixup(0.2, num_classes=1000)"
    assert pickle.loads(pickle.dumps(mix)) == mix != ps.cutmix(0.2, num_classes=1000)
    with pytest.raises(ps.Error, match="alpha must be above 0"):
        ps.mixup(0, num_classes=3)
    with pytest.raises(ps.Error, match="num_classes must be at least 1"):
        ps.cutmix(1, num_classes=0)


def test_uint8_images_are_refused_for_mixup(pictures):
    with pytest.raises(ps.Error, match="uint8: mixup"):
        loader(
            pictures, mix=ps.mixup(num_classes=CLASSES), transforms={"npy": ps.image.center_crop(16), "cls": ps.label()}
        )


def test_labels_can_be_classes_without_mixing(pictures):
    batch = next(iter(loader(pictures, transforms={"cls": ps.label(CLASSES), "number": ps.field("cls") | ps.label()})))
    np.testing.assert_array_equal(np.asarray(batch["cls"]), np.eye(CLASSES)[np.asarray(batch["number"])])


STEPS = {
    ps.image.resize((3, 4), interpolation="area"): "image.resize(3, 4, interpolation=area)",
    ps.image.random_crop(32, 4): "image.random_crop(32, 32, padding=(4, 4, 4, 4))",
    ps.image.random_crop((3, 4), (1, 2), pad_if_needed=True, fill=(1, 2, 3)): (
        "image.random_crop(3, 4, padding=(1, 2, 1, 2), pad_if_needed=true, fill=(1, 2, 3))"
    ),
    ps.image.pad((1, 2, 3, 4), padding_mode="reflect"): "image.pad((1, 2, 3, 4), padding_mode=reflect)",
    ps.image.random_rotation(10, fill=5): "image.random_rotation((-10, 10), fill=(5))",
    ps.image.random_affine((0, 5), translate=(0.1, 0.2), shear=3): (
        "image.random_affine((0, 5), translate=(0.1, 0.2), shear=(-3, 3, 0, 0))"
    ),
    ps.image.color_jitter(0.5, (0.25, 2), hue=0.25): (
        "image.color_jitter(brightness=(0.5, 1.5), contrast=(0.25, 2), saturation=(1, 1), hue=(-0.25, 0.25))"
    ),
    ps.image.gaussian_blur(
        23, 0.5, probability=0.25
    ): "image.gaussian_blur(23, 23, sigma=(0.5, 0.5), probability=0.25)",
    ps.image.rand_augment(): "image.rand_augment(2, 9, 31)",
    ps.image.trivial_augment(interpolation="bilinear"): "image.trivial_augment(31, interpolation=bilinear)",
    ps.image.random_erasing(0.25, value="random"): (
        "image.random_erasing(0.25, scale=(0.02, 0.33), ratio=(0.3, 3.3), value=random)"
    ),
    ps.image.random_erasing(value=(1, 2, 3)): (
        "image.random_erasing(0.5, scale=(0.02, 0.33), ratio=(0.3, 3.3), value=(1, 2, 3))"
    ),
}


@pytest.mark.parametrize("step", STEPS, ids=str)
def test_steps_print_as_they_are_written_as_text(step):
    assert repr(step) == STEPS[step]
    assert repr(pickle.loads(pickle.dumps(step))) == STEPS[step]


def test_what_a_step_drew_is_told(pictures):
    fields = {"npy": ps.image.random_crop(16, 2) | ps.image.random_vertical_flip(1) | ps.image.trivial_augment()}
    told = loader(pictures, transforms=fields).explain(0, 0, 0)["outputs"]["npy"]
    steps = dict(told["steps"])
    assert steps["image.random_crop(16, 16, padding=(2, 2, 2, 2))"].endswith("of 28 x 24, padded")
    assert steps["image.random_vertical_flip(1)"].startswith("flipped: drew 0.")
    assert steps["image.trivial_augment(31)"]
    assert told["flip_vertical"] and not told["flip"]


def test_arguments_that_make_no_sense_are_refused(pictures):
    with pytest.raises(ps.Error, match="interpolation must be nearest, area, bilinear or bicubic"):
        ps.image.resize((4, 4), interpolation="cubic")
    with pytest.raises(ps.Error, match="value must be one number, three numbers or"):
        ps.image.random_erasing(value="noise")
    with pytest.raises(TypeError):
        ps.image.pad((1, 2, 3))
