"""ps.from_torchvision(): the chains of common recipes, and the transforms that are refused, each with its reason."""

import pathlib
import re

import numpy as np
import penstock as ps
import pytest
from torchvision_package import require_torchvision

require_torchvision()

import torch  # after torchvision
import torchvision
import torchvision.transforms as T
from penstock._translate.torchvision import TRANSLATED
from torchvision.transforms import v2

PAGE = pathlib.Path(__file__).parents[2] / "docs/spec/translations.md"
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
END = "image.normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])"
CROP = "image.random_resized_crop(224, 224, scale=(0.08, 1), ratio=(0.75, 1.3333333333333333))"
FLIP = "image.random_horizontal_flip(0.5)"
TENSOR = [T.ToTensor(), T.Normalize(MEAN, STD)]


def foreign(module, name, base=object, **attributes):
    """An object of a class of a package that is not installed."""
    made = type(name, (base,), {"__module__": module, "__init__": lambda self: base.__init__(self), "__call__": abs})()
    vars(made).update(attributes)
    return made


TIMM_CROP = {"size": (224, 224), "scale": (0.08, 1.0), "ratio": (3 / 4, 4 / 3)}
TIMM_ERASING = {
    "probability": 0.25,
    "min_area": 0.02,
    "max_area": 1 / 3,
    "log_aspect_ratio": (np.log(0.3), -np.log(0.3)),
    "min_count": 1,
    "max_count": 1,
    "num_splits": 0,
    "device": "cpu",
    "rand_color": False,
    "per_pixel": True,
}


def timm_train(*inner, **crop):
    options = {**TIMM_CROP, "interpolation": T.InterpolationMode.BICUBIC, **crop}
    return T.Compose(
        [
            foreign("timm.data.transforms", "RandomResizedCropAndInterpolation", **options),
            T.RandomHorizontalFlip(p=0.5),
            *inner,
            foreign("timm.data.transforms", "MaybeToTensor", T.ToTensor),
            T.Normalize(mean=torch.tensor(MEAN), std=torch.tensor(STD)),
        ]
    )


JITTER = T.RandomApply([T.ColorJitter(0.4, 0.4, 0.4, 0.1)], p=0.8)
JITTER_TEXT = (
    "image.color_jitter(brightness=(0.6, 1.4), contrast=(0.6, 1.4), saturation=(0.6, 1.4), hue=(-0.1, 0.1), "
    "probability=0.8)"
)

RECIPES = {
    "pytorch/examples, imagenet, training": (
        T.Compose([T.RandomResizedCrop(224), T.RandomHorizontalFlip(), *TENSOR]),
        f"{CROP} | {FLIP} | {END}",
    ),
    "pytorch/examples, imagenet, validation": (
        T.Compose([T.Resize(256), T.CenterCrop(224), *TENSOR]),
        f"image.resize(256) | image.center_crop(224) | {END}",
    ),
    "pytorch/vision, references, v1": (
        T.Compose(
            [
                T.RandomResizedCrop(176, interpolation=T.InterpolationMode.BILINEAR),
                T.RandomHorizontalFlip(0.5),
                T.TrivialAugmentWide(interpolation=T.InterpolationMode.BILINEAR),
                T.PILToTensor(),
                T.ConvertImageDtype(torch.float),
                T.Normalize(mean=MEAN, std=STD),
                T.RandomErasing(p=0.1),
            ]
        ),
        f"{CROP.replace('224', '176')} | {FLIP} | image.trivial_augment(31, interpolation=bilinear) | {END} | "
        "image.random_erasing(0.1, scale=(0.02, 0.33), ratio=(0.3, 3.3), value=(0))",
    ),
    "pytorch/vision, references, v2 with tensors": (
        v2.Compose(
            [
                v2.PILToTensor(),
                v2.RandomResizedCrop(224, interpolation=T.InterpolationMode.BILINEAR, antialias=True),
                v2.RandomHorizontalFlip(p=0.5),
                v2.ToDtype(torch.float, scale=True),
                v2.Normalize(mean=MEAN, std=STD),
                v2.ToPureTensor(),
            ]
        ),
        f"{CROP} | {FLIP} | {END}",
    ),
    "torchvision, v2, getting started": (
        v2.Compose(
            [
                v2.ToImage(),
                v2.ToDtype(torch.uint8, scale=True),
                v2.RandomResizedCrop(size=(224, 224), antialias=True),
                v2.RandomHorizontalFlip(p=0.5),
                v2.ToDtype(torch.float32, scale=True),
                v2.Normalize(mean=MEAN, std=STD),
            ]
        ),
        f"{CROP} | {FLIP} | {END}",
    ),
    "torchvision, ResNet50_Weights": (
        torchvision.models.ResNet50_Weights.IMAGENET1K_V2.transforms(),
        f"image.resize(232) | image.center_crop(224) | {END}",
    ),
    "kuangliu/pytorch-cifar": (
        T.Compose(
            [
                T.RandomCrop(32, padding=4),
                T.RandomHorizontalFlip(),
                T.ToTensor(),
                T.Normalize((0.4914, 0.4822, 0.4465), (0.2023, 0.1994, 0.2010)),
            ]
        ),
        f"image.random_crop(32, 32, padding=(4, 4, 4, 4)) | {FLIP} | "
        "image.normalize([0.4914, 0.4822, 0.4465], [0.2023, 0.1994, 0.201])",
    ),
    "weiaicunzai/pytorch-cifar100": (
        T.Compose([T.RandomCrop(32, padding=4), T.RandomHorizontalFlip(), T.RandomRotation(15), *TENSOR]),
        f"image.random_crop(32, 32, padding=(4, 4, 4, 4)) | {FLIP} | image.random_rotation((-15, 15)) | {END}",
    ),
    "pytorch/examples, dcgan": (
        T.Compose([T.Resize(64), T.CenterCrop(64), T.ToTensor(), T.Normalize((0.5, 0.5, 0.5), (0.5, 0.5, 0.5))]),
        "image.resize(64) | image.center_crop(64) | image.normalize([0.5, 0.5, 0.5], [0.5, 0.5, 0.5])",
    ),
    "huggingface/transformers, image classification": (
        T.Compose([T.RandomResizedCrop((224, 224)), T.RandomHorizontalFlip(), *TENSOR]),
        f"{CROP} | {FLIP} | {END}",
    ),
    "facebookresearch/mae, pretraining": (
        T.Compose([T.RandomResizedCrop(224, scale=(0.2, 1.0), interpolation=3), T.RandomHorizontalFlip(), *TENSOR]),
        "image.random_resized_crop(224, 224, scale=(0.2, 1), ratio=(0.75, 1.3333333333333333), "
        f"interpolation=bicubic) | {FLIP} | {END}",
    ),
    "facebookresearch/moco, v1": (
        T.Compose(
            [
                T.RandomResizedCrop(224, scale=(0.2, 1.0)),
                T.RandomGrayscale(p=0.2),
                T.ColorJitter(0.4, 0.4, 0.4, 0.4),
                T.RandomHorizontalFlip(),
                *TENSOR,
            ]
        ),
        f"{CROP.replace('0.08', '0.2')} | image.random_grayscale(0.2) | image.color_jitter(brightness=(0.6, 1.4), "
        f"contrast=(0.6, 1.4), saturation=(0.6, 1.4), hue=(-0.4, 0.4)) | {FLIP} | {END}",
    ),
    "HobbitLong/SupContrast": (
        T.Compose(
            [
                T.RandomResizedCrop(size=32, scale=(0.2, 1.0)),
                T.RandomHorizontalFlip(),
                JITTER,
                T.RandomGrayscale(p=0.2),
                *TENSOR,
            ]
        ),
        f"{CROP.replace('224', '32').replace('0.08', '0.2')} | {FLIP} | {JITTER_TEXT} | image.random_grayscale(0.2) "
        f"| {END}",
    ),
    "SimCLR with torchvision's blur": (
        T.Compose([T.RandomResizedCrop(96), JITTER, T.RandomApply([T.GaussianBlur(9)], p=0.5), T.ToTensor()]),
        f"{CROP.replace('224', '96')} | {JITTER_TEXT} | image.gaussian_blur(9, 9, sigma=(0.1, 2), probability=0.5) | "
        "image.normalize([0, 0, 0], [1, 1, 1])",
    ),
    "mlfoundations/open_clip, training": (
        T.Compose(
            [
                T.RandomResizedCrop(224, scale=(0.9, 1.0), interpolation=T.InterpolationMode.BICUBIC),
                foreign("open_clip.transform", "MaybeConvertMode", mode="RGB"),
                foreign("open_clip.transform", "MaybeToTensor", T.ToTensor),
                T.Normalize(mean=MEAN, std=STD),
            ]
        ),
        "image.random_resized_crop(224, 224, scale=(0.9, 1), ratio=(0.75, 1.3333333333333333), "
        f"interpolation=bicubic) | {END}",
    ),
    "timm, create_transform(is_training=True)": (
        timm_train(T.ColorJitter(0.4, 0.4, 0.4)),
        f"{CROP[:-1]}, interpolation=bicubic) | {FLIP} | image.color_jitter(brightness=(0.6, 1.4), "
        f"contrast=(0.6, 1.4), saturation=(0.6, 1.4), hue=(0, 0)) | {END}",
    ),
}


@pytest.mark.parametrize("name", RECIPES)
def test_recipes_become_these_chains(name):
    transforms, text = RECIPES[name]
    chain = ps.from_torchvision(transforms)
    assert re.sub(r"(0\.\d{3})\d{4,}", r"\1", str(chain)) == re.sub(r"(0\.\d{3})\d{4,}", r"\1", text)


def refused(transforms):
    with pytest.raises(ps.Error) as raised:
        ps.from_torchvision(transforms)
    assert raised.value.kind == "unsupported"
    return str(raised.value)


class OwnCrop(T.RandomCrop):
    def forward(self, image):
        return image


class OwnBlur(T.RandomApply):
    """As in DINOv2: only the constructor differs."""

    def __init__(self, *, p):
        super().__init__([T.GaussianBlur(9, (0.1, 2.0))], p=1 - p)


class OwnCropOfV2(v2.RandomCrop):
    def __init__(self):
        super().__init__(9, padding=[1, 2, 3, 4])
        self.shift = 3


class OwnPreset:
    def __init__(self):
        self.transforms = T.Compose(TENSOR)

    def __call__(self, image):
        return self.transforms(image)


def hooked():
    flip = T.RandomHorizontalFlip()
    flip.register_forward_hook(lambda *_: None)
    return flip


def replaced():
    flip = T.RandomHorizontalFlip()
    flip.forward = lambda image: image
    return flip


BICUBIC_CROP = foreign(
    "timm.data.transforms",
    "RandomResizedCropAndInterpolation",
    **TIMM_CROP,
    interpolation=(T.InterpolationMode.BILINEAR, T.InterpolationMode.BICUBIC),
)

REFUSALS = [
    (OwnCrop(3), "is a subclass of RandomCrop"),
    (OwnCropOfV2(), "subclass of RandomCrop|attribute shift"),
    (OwnPreset(), "pass its attribute transforms"),
    (foreign("__main__", "Noise"), "Noise.*is a class of your script: use one of torchvision.* to the batches"),
    (foreign("kornia.augmentation", "Noise"), "is a class of the module kornia.augmentation: use one of torchvision"),
    (hooked(), "has hooks"),
    (replaced(), "another forward"),
    (
        T.RandomApply([T.Compose([T.RandomInvert(), T.Grayscale(3)])], p=0.5),
        "1.1. Compose.*several transforms together",
    ),
    (
        torch.nn.Sequential(T.RandomApply([[T.RandomInvert(), T.Grayscale(3)]], p=0.5)),
        "1.1. .*several transforms together",
    ),
    ([v2.ToImage(), v2.ToDtype(torch.float32), v2.RandomErasing(value="random")], "scale=True"),
    (T.Lambda(abs), "calls a function of your own"),
    (lambda image: image, r"<lambda>\(\) \(test_from_torchvision.py:\d+\): is a function of your own"),
    (7, "7: is not a transform"),
    (ps.image.resize(3), "resize.*: is not a transform"),
    (T.RandomCrop, "is a class: call it"),
    (T.RandomChoice([T.Grayscale(3)]), "draws one of several transforms"),
    (T.RandomOrder([T.Grayscale(3)]), "draws the order"),
    (T.RandomApply([T.RandomInvert(), T.Grayscale(3)]), "applies several transforms together"),
    (T.RandomApply([T.RandomRotation(3)]), "1.1. RandomRotation.*applied with probability 0.5"),
    (T.RandomApply([T.Grayscale(1)]), "another number of channels"),
    (T.RandomPerspective(), "no such transform"),
    (T.ElasticTransform(), "no such transform"),
    (T.AutoAugment(), "no such transform"),
    (T.FiveCrop(3), "gives several images"),
    (v2.MixUp(num_classes=3), r"use Loader\(mix=...\)"),
    (T.Resize(9, max_size=20), "max_size"),
    (T.Resize(9, interpolation=T.InterpolationMode.LANCZOS), "interpolation lanczos"),
    (T.RandomRotation(9, expand=True), "expand=True"),
    (T.RandomRotation(9, center=(1, 2)), "another point"),
    (T.RandomAffine(9, center=(1, 2)), "another point"),
    (v2.Pad(3, fill={torch.Tensor: 3}), "fill for each type"),
    (T.Pad(3, fill=(1, 2)), "fill of 2 values"),
    (T.Pad(3, fill=0.5), "fill 0.5 is not a whole number"),
    ([T.Resize(64), T.CenterCrop(80)], "2. CenterCrop.*may be larger than the image, 64 x 64"),
    ([T.Grayscale(), T.ToTensor(), T.Normalize(MEAN, STD)], "3 means for an image of 1 channels"),
    ([T.Normalize(MEAN, STD)], "before the pixels are numbers"),
    ([T.ToTensor(), T.Normalize(MEAN, STD), T.Normalize(MEAN, STD)], "3. Normalize.*second Normalize"),
    ([T.ToTensor(), T.Normalize(MEAN, (0, 1, 1))], "2. Normalize.*above 0"),
    ([T.ToTensor(), T.Resize(9)], r"2. Resize.*before ToTensor\(\)"),
    ([T.ToTensor(), T.Grayscale()], "computes on numbers"),
    ([T.ToTensor(), T.Pad(2, fill=0.3)], "fill 76.5 is not a whole number"),
    ([*TENSOR, T.RandomCrop(9, padding=2)], "fills after"),
    ([T.RandomErasing()], "erases pixels"),
    ([T.ToTensor(), T.RandomErasing(), T.RandomHorizontalFlip()], "comes after RandomErasing"),
    ([T.ToTensor(), T.RandomErasing(value="random"), T.Normalize(MEAN, STD)], "follows RandomErasing"),
    ([T.ToTensor(), T.ToTensor()], "2. ToTensor.*gets a tensor"),
    ([v2.ToDtype(torch.float32, scale=True)], "gets a PIL image"),
    ([v2.ToImage(), v2.ToDtype(torch.float16, scale=True)], "converts pixels to float16"),
    ([v2.ToImage(), v2.ToDtype({torch.Tensor: torch.float32})], "dtype for each type"),
    ([T.ToTensor(), T.ConvertImageDtype(torch.int16)], "converts numbers to int16"),
    ([T.ToTensor(), T.ConvertImageDtype(torch.float16), T.Normalize(MEAN, STD)], "16 bits"),
    ([v2.ToImage(), v2.Resize(9, antialias=False)], "antialias=False for a tensor"),
    ([v2.ToImage(), v2.Resize(9, interpolation=0, antialias=True)], "other pixels from a tensor"),
    ([v2.ToImage(), v2.ColorJitter(hue=0.1)], "other pixels from a tensor"),
    ([v2.ToImage(), v2.RandomRotation(9)], "other pixels from a tensor"),
    ([v2.ToImage(), v2.RandAugment()], "other pixels from a tensor"),
    (BICUBIC_CROP, "draws its interpolation"),
    (timm_train(foreign("timm.data.auto_augment", "RandAugment")), "3. .*RandAugment.*no such transform"),
    (
        [*TENSOR, foreign("timm.data.random_erasing", "RandomErasing", **{**TIMM_ERASING, "max_count": 3})],
        "several boxes",
    ),
    (
        [*TENSOR, foreign("timm.data.random_erasing", "RandomErasing", **{**TIMM_ERASING, "rand_color": True})],
        "one color",
    ),
]


@pytest.mark.parametrize("transforms, reason", REFUSALS, ids=[reason for _, reason in REFUSALS])
def test_a_transform_without_an_exact_translation_is_named_with_its_reason(transforms, reason):
    assert re.search(reason, refused(transforms))


def test_chains_and_loaders_name_the_translation(tmp_path):
    with pytest.raises(TypeError, match=r"ps\.from_torchvision\(\) translates it"):
        ps.image.resize(3) | T.ToTensor()
    (tmp_path / "a.txt").write_text("text")
    with pytest.raises(ps.Error, match=r"ps\.from_torchvision\(\) translates it"):
        ps.Loader(tmp_path, batch_size=1, transforms={"txt": T.Compose([T.ToTensor()])})


def test_one_error_names_all_refused_transforms():
    text = refused(T.Compose([T.Resize(9), T.Compose([T.ToTensor(), T.Lambda(abs)]), len, T.RandomPerspective()]))
    assert re.search(r"cannot translate 3 transforms: 2\.2\. Lambda.*; 3\. .*len.*; 4\. RandomPerspective", text)
    # A refused transform may have changed the form of the image, so later ones are not refused for the form.
    assert "cannot translate 1 transform: 1. " in refused([T.Lambda(abs), T.Normalize(MEAN, STD), T.Resize(3)])


@pytest.mark.parametrize(
    "transforms, text",
    [
        ([], "image.decode()"),
        (T.ToTensor(), "image.normalize([0, 0, 0], [1, 1, 1])"),
        (T.PILToTensor(), "image.decode()"),
        (
            [T.Resize([20]), T.Resize((10, 12))],
            "image.resize(20) | image.random_posterize(8, 1) | image.resize(10, 12)",
        ),
        ([v2.ToImage(), v2.ToDtype(torch.float32)], "cast(float32)"),
        ([T.ToTensor(), T.ConvertImageDtype(torch.bfloat16)], "image.normalize([0, 0, 0], [1, 1, 1]) | cast(bfloat16)"),
        (torch.nn.Sequential(T.CenterCrop((8, 9)), torch.nn.Identity()), "image.center_crop(8, 9)"),
        (
            [T.Grayscale(), T.ToTensor(), T.Normalize((0.5,), (0.5,))],
            "image.grayscale(1) | image.normalize([0.5], [0.5])",
        ),
        ([T.ToTensor(), T.Normalize((0.5,), (0.5,))], "image.normalize([0.5, 0.5, 0.5], [0.5, 0.5, 0.5])"),
        (OwnBlur(p=0.25), "image.gaussian_blur(9, 9, sigma=(0.1, 2), probability=0.75)"),
        (v2.RandomCrop(9, padding=[1, 2, 3, 4]), "image.random_crop(9, 9, padding=(1, 2, 3, 4))"),
        (T.RandomCrop(9, padding=(1, 2)), "image.random_crop(9, 9, padding=(1, 2, 1, 2))"),
        (T.RandomApply([T.RandomGrayscale(0.5)], p=0.5), "image.random_grayscale(0.25)"),
        (T.RandomApply([T.Grayscale(3)], p=0.25), "image.random_grayscale(0.25)"),
        (
            T.RandomApply([T.RandomRotation(3), T.RandomInvert(1)], p=1),
            "image.random_rotation((-3, 3)) | image.random_invert(1)",
        ),
        (T.GaussianBlur((3, 5)), "image.gaussian_blur(5, 3, sigma=(0.1, 2))"),
    ],
)
def test_chains_of_single_transforms(transforms, text):
    assert str(ps.from_torchvision(transforms)) == text


def test_erased_values_are_normalized():
    chain = ps.from_torchvision([T.ToTensor(), T.RandomErasing(p=1, value=0.5), T.Normalize((0.25,), (0.5,))])
    assert str(chain).endswith("value=(0.5, 0.5, 0.5))")
    erasing = foreign("timm.data.random_erasing", "RandomErasing", **TIMM_ERASING, mode="pixel")
    assert "ratio=(0.3, 3.333" in str(ps.from_torchvision([*TENSOR, erasing])) and erasing
    assert str(ps.from_torchvision([*TENSOR, erasing])).endswith("value=random)")


def test_the_page_lists_what_is_translated():
    page = PAGE.read_text()
    table = page.split("<!-- begin of translations -->")[1].split("<!-- end of translations -->")[0]
    first = [line.split(" | ")[0] for line in table.strip().splitlines()[2:]]
    names = [name for cell in first for name in re.findall(r"`([\w.]+)`", cell)]
    assert set(names) == set(TRANSLATED)
