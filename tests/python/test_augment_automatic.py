"""TrivialAugment and RandAugment: the operations and magnitudes that were drawn, done again on PIL images."""

import math

import numpy as np
import pytest
from augmentations import delivered, inverse_affine
from PIL import Image, ImageEnhance, ImageOps

pytest_plugins = ["augmentations"]  # its fixtures


def bins(high, count, low=0.0):
    """torch.linspace in float32: from the nearer end, product and sum rounded once."""
    step, i = float((np.float32(high) - np.float32(low)) / np.float32(count - 1)), np.arange(count)
    ends = float(np.float32(low)), float(np.float32(high))
    return np.where(i < count // 2, ends[0] + step * i, ends[1] - step * (count - 1 - i)).astype(np.float32)


def test_magnitudes_are_those_of_torchs_linspace():
    torch = pytest.importorskip("torch", minversion="2.0")  # before, sums were rounded otherwise
    for count in (2, 10, 31):
        for high in (0.3, 0.99, 30, 32, 135, 0.9, 150 / 331 * 224):
            assert bins(high, count).tolist() == torch.linspace(0.0, high, count).tolist()
        assert bins(0, count, 1).tolist() == torch.linspace(1.0, 0.0, count).tolist()


def augmented(image, name, magnitude, fill):
    def affine(center=(0, 0), translate=(0, 0), shear=(0, 0)):
        data = inverse_affine(center, 0, translate, 1, shear)[:2].ravel().tolist()
        return image.transform(image.size, Image.Transform.AFFINE, data, Image.Resampling.NEAREST, fillcolor=fill)

    degrees = math.degrees(math.atan(magnitude))
    return {
        "Identity": lambda: image,
        "ShearX": lambda: affine(shear=(degrees, 0)),
        "ShearY": lambda: affine(shear=(0, degrees)),
        "TranslateX": lambda: affine(translate=(int(magnitude), 0)),
        "TranslateY": lambda: affine(translate=(0, int(magnitude))),
        "Rotate": lambda: image.rotate(magnitude, fillcolor=fill),
        "Brightness": lambda: ImageEnhance.Brightness(image).enhance(1 + magnitude),
        "Color": lambda: ImageEnhance.Color(image).enhance(1 + magnitude),
        "Contrast": lambda: ImageEnhance.Contrast(image).enhance(1 + magnitude),
        "Sharpness": lambda: ImageEnhance.Sharpness(image).enhance(1 + magnitude),
        "Posterize": lambda: ImageOps.posterize(image, int(magnitude)),
        "Solarize": lambda: ImageOps.solarize(image, 255 * magnitude),
        "AutoContrast": lambda: ImageOps.autocontrast(image),
        "Equalize": lambda: ImageOps.equalize(image),
    }[name]()


def exact_magnitude(name, told, choices):
    """The bin that six digits tell."""
    if told is None:
        return 0.0
    near = [value for value in choices[name] if math.isclose(abs(float(told)), value, rel_tol=1e-5, abs_tol=1e-9)]
    assert near, (name, told)
    return math.copysign(near[0], float(told))


def space(image, wide, count, chosen=None):
    most = (
        {"ShearX": 0.99, "ShearY": 0.99, "TranslateX": 32, "TranslateY": 32, "Rotate": 135}
        if wide
        else {
            "ShearX": 0.3,
            "ShearY": 0.3,
            "TranslateX": 150 / 331 * image.width,
            "TranslateY": 150 / 331 * image.height,
            "Rotate": 30,
        }
    )
    most |= dict.fromkeys(["Brightness", "Color", "Contrast", "Sharpness"], 0.99 if wide else 0.9)
    found = {name: [float(x) for x in bins(high, count)] for name, high in most.items()}
    lost = np.arange(count) / ((count - 1) / (6 if wide else 4))
    found["Posterize"] = [float(x) for x in np.round((8 - lost).astype(np.float32))]
    found["Solarize"] = [float(x) for x in bins(0, count, 1)]
    return {name: values if chosen is None else [values[chosen]] for name, values in found.items()}


@pytest.mark.parametrize(
    "chain, wide, count, chosen",
    [
        ("image.trivial_augment(fill=(1, 2, 3))", True, 31, None),
        ("image.rand_augment(3, 14, fill=(1, 2, 3))", False, 31, 14),
        ("image.rand_augment(1, 9, 10, fill=(1, 2, 3))", False, 10, 9),
    ],
)
def test_automatic_augmentations_are_torchvisions_on_pillow(waves_file, chain, wide, count, chosen):
    image, path = waves_file
    choices = space(image, wide, count, chosen)
    seen = set()
    for told, row in delivered(path, chain, 200):
        wanted = image
        for part in told[0].split(", "):
            name, *magnitude = part.split()
            seen.add((name, bool(magnitude) and magnitude[0].startswith("-")))
            wanted = augmented(wanted, name, exact_magnitude(name, *(magnitude or [None]), choices), (1, 2, 3))
        # Shears have a matrix that is another one in its last bits.
        assert (row != np.asarray(wanted)).mean() < (2e-3 if "Shear" in told[0] else 1e-9), told
    signed = ["ShearX", "ShearY", "TranslateX", "TranslateY", "Rotate", "Brightness", "Color", "Contrast", "Sharpness"]
    unsigned = ["Identity", "Posterize", "Solarize", "AutoContrast", "Equalize"]
    expected = {(name, sign) for name in signed for sign in (False, True)} | {(name, False) for name in unsigned}
    assert seen == expected
