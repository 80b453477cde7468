"""Translates Albumentations' transforms. They are recognized by module and name, so Albumentations is not imported."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .._penstock import Chain
from .translation import Options, Translation, Untranslatable, always, image, pair, size_of, whole

_Translate = Callable[["_Translation", Options, float], None]
"""Adds a transform that is applied with a probability."""

_STATE = {
    *("p", "params", "processors", "seed", "random_generator", "py_random", "invalid_args", "replay_mode"),
    *("deterministic", "save_key", "applied_in_replay"),
}
"""Attributes of every transform that are not options of its result."""

_OURS = {1: "bilinear", 2: "bicubic", 3: "area", 5: "bilinear", 6: "nearest"}
_EXACT = 6  # cv2.INTER_NEAREST_EXACT; the others do not antialias


class _Translation(Translation):
    def __init__(self, approximate: bool) -> None:
        super().__init__()
        self._approximate = approximate
        self.channels_last = True  # until ToTensorV2

    def approximate(self, difference: str) -> None:
        """Refuses a transform whose pixels differ, unless the program accepts that."""
        if not self._approximate:
            raise Untranslatable(f"{difference}: pass approximate=True to accept this")


def from_albumentations(transforms: Any, *, approximate: bool = False) -> Chain:
    """Translates Albumentations transforms into a chain for an image.

        chain = ps.from_albumentations(A.Compose([
            A.RandomResizedCrop((224, 224)), A.HorizontalFlip(), A.Normalize(), ToTensorV2()]), approximate=True)

    Random numbers have the same distributions, and pixels differ by at most one of 255 levels. docs/spec/translations.md
    lists the transforms. Images are RGB. Without ToTensorV2(), the result is (H, W, C).

    transforms: a transform, or a Compose, Sequential or list of them.
    approximate: also translates transforms whose pixels differ more. Albumentations resizes without antialiasing, and
      penstock with it.

    Raises Error: unsupported, with each transform that has no such translation, its position and the reason.
    """
    translation = _Translation(approximate)
    _add_all(translation, list(transforms) if isinstance(transforms, (list, tuple)) else [transforms], "")
    return translation.chain("from_albumentations")


def _add_all(translation: _Translation, transforms: list[Any], before: str) -> None:
    for number, transform in enumerate(transforms, 1):
        position = f"{before}{number}"
        if _name_of(transform) in ("Compose", "Sequential"):
            translation.run(position, transform, functools.partial(_require_plain, transform))
            inner = list(transform.transforms)
            _add_all(translation, inner, "" if len(transforms) == 1 else f"{position}.")
        else:
            translation.run(position, transform, functools.partial(_add, translation, transform))


def _require_plain(compose: Any) -> None:
    always(float(compose.p))
    if getattr(compose, "processors", None) or getattr(compose, "_additional_targets", None):
        raise Untranslatable("has boxes, keypoints or additional targets: use ps.sample_transform()")


def _add(translation: _Translation, transform: Any) -> None:
    name = _name_of(transform)
    translate = TRANSLATED.get(name)
    if translate is None:
        library = type(transform).__module__.partition(".")[0]
        if library == "albumentations":
            raise Untranslatable("penstock has no transform that computes the same")
        raise Untranslatable(f"is of the module {type(transform).__module__}, not of Albumentations")
    if not translation.channels_last and not translation.lost:
        raise Untranslatable("comes after ToTensorV2")
    options = Options(transform, internal=_STATE)
    probability = min(max(float(transform.p), 0.0), 1.0)
    translate(translation, options, probability)
    options.require_all_read()


def _name_of(transform: object) -> str:
    """The name of a class of Albumentations; empty for other classes."""
    kind = type(transform)
    return kind.__qualname__ if kind.__module__.partition(".")[0] == "albumentations" else ""


# ---- Size and place -------------------------------------------------------------------------------------------------


def _interpolation(translation: _Translation, options: Options) -> str:
    number = int(options["interpolation"])
    options.ignore("mask_interpolation")
    for_downscale = options.get("area_for_downscale", None)
    if number not in _OURS:
        raise Untranslatable(f"interpolation {number} of OpenCV: pass cv2.INTER_NEAREST_EXACT, LINEAR, CUBIC or AREA")
    if number != _EXACT or for_downscale is not None:
        translation.approximate("OpenCV does not antialias, so pixels differ by 1 to 8 of 255 levels on average")
    return _OURS[number]


def _resize(translation: _Translation, options: Options, probability: float) -> None:
    always(probability)
    size = size_of((options["height"], options["width"]))
    step = image.resize(size, interpolation=_interpolation(translation, options))
    translation.resize(step, size, tensors=True)


def _smallest_max_size(translation: _Translation, options: Options, probability: float) -> None:
    always(probability)
    options.forbid("max_size_hw", None, reason="max_size_hw limits each side: pass max_size")
    if isinstance(options["max_size"], (list, tuple)):
        raise Untranslatable("draws its size: pass one number")
    short = whole(options["max_size"], "max_size")
    translation.approximate("rounds the long side, and penstock rounds it down")
    step = image.resize(short, interpolation=_interpolation(translation, options))
    translation.resize(step, (short, short), tensors=True)


def _random_resized_crop(translation: _Translation, options: Options, probability: float) -> None:
    always(probability)
    size = size_of(options["size"])
    step = image.random_resized_crop(
        size,
        scale=pair(options["scale"], "scale"),
        ratio=pair(options["ratio"], "ratio"),
        interpolation=_interpolation(translation, options),
    )
    translation.resize(step, size, tensors=True)


def _crop_size(options: Options, probability: float) -> tuple[int, int]:
    always(probability)
    options.forbid("pad_if_needed", False, reason="pads small images: put a Resize before it")
    options.ignore("border_mode", "fill", "fill_mask", "pad_position")
    return size_of((options["height"], options["width"]))


def _center_crop(translation: _Translation, options: Options, probability: float) -> None:
    size = _crop_size(options, probability)
    translation.approximate(
        "Albumentations rounds an odd margin down, and penstock to even, so crops may be one pixel apart"
    )
    translation.center_crop(size)


def _random_crop(translation: _Translation, options: Options, probability: float) -> None:
    size = _crop_size(options, probability)
    translation.crop(image.random_crop(size), size)


def _horizontal_flip(translation: _Translation, options: Options, probability: float) -> None:
    translation.place(image.random_horizontal_flip(probability))


def _vertical_flip(translation: _Translation, options: Options, probability: float) -> None:
    translation.place(image.random_vertical_flip(probability))


# ---- Colors ---------------------------------------------------------------------------------------------------------


def _color_jitter(translation: _Translation, options: Options, probability: float) -> None:
    names = ("brightness", "contrast", "saturation", "hue")
    factors = {name: pair(options[name], name) for name in names}
    options.ignore("transforms")
    if factors["hue"] != (0, 0):
        translation.approximate("OpenCV has 180 hues, so pixels differ by half a level on average, and by 15 at most")
    step = image.color_jitter(**factors, probability=probability)  # type: ignore[arg-type]  # all are pairs
    translation.pixels(step, tensors=True)


def _to_gray(translation: _Translation, options: Options, probability: float) -> None:
    options.forbid("method", "weighted_average", reason='computes another gray: pass method="weighted_average"')
    translation.grayscale(options["num_output_channels"], probability)


def _invert(translation: _Translation, options: Options, probability: float) -> None:
    translation.pixels(image.random_invert(probability), tensors=True)


def _posterize(translation: _Translation, options: Options, probability: float) -> None:
    bits = options["num_bits"]
    if isinstance(bits, (list, tuple)) and len(set(bits)) == 1:
        bits = bits[0]
    translation.pixels(image.random_posterize(whole(bits, "num_bits"), probability), tensors=True)


def _solarize(translation: _Translation, options: Options, probability: float) -> None:
    low, high = pair(options["threshold_range"], "threshold_range")
    if low != high:
        raise Untranslatable("draws its threshold: pass one threshold, threshold_range=(x, x)")
    translation.pixels(image.random_solarize(low * 255, probability), tensors=True)


def _gaussian_blur(translation: _Translation, options: Options, probability: float) -> None:
    low, high = (whole(side, "blur_limit") for side in options["blur_limit"])
    if low != high or low % 2 == 0:
        raise Untranslatable("draws the size of its kernel: pass one odd size, blur_limit=(x, x)")
    sigma = pair(options["sigma_limit"], "sigma_limit")
    translation.pixels(image.gaussian_blur(low, sigma, probability=probability), tensors=True)


# ---- Numbers --------------------------------------------------------------------------------------------------------


def _no_op(translation: _Translation, options: Options, probability: float) -> None:
    pass


def _normalize(translation: _Translation, options: Options, probability: float) -> None:
    always(probability)
    options.forbid("normalization", "standard", reason='uses numbers of the image: pass normalization="standard"')
    options.ignore("mean_np", "denominator")  # computed from the others
    if translation.form == "float" and not translation.lost:
        raise Untranslatable("gets numbers: remove ToFloat before it")
    white = 255 / float(options["max_pixel_value"])
    translation.to_numbers(white)
    translation.normalize(options["mean"], options["std"])


def _to_float(translation: _Translation, options: Options, probability: float) -> None:
    always(probability)
    if translation.form == "float" and not translation.lost:
        raise Untranslatable("gets numbers")
    options.forbid("max_value", None, 255, reason="divides by another number than 255")
    translation.to_numbers(1)


def _to_tensor(translation: _Translation, options: Options, probability: float) -> None:
    always(probability)
    options.ignore("transpose_mask")
    translation.channels_last = False


TRANSLATED: dict[str, _Translate] = {
    "Resize": _resize,
    "SmallestMaxSize": _smallest_max_size,
    "RandomResizedCrop": _random_resized_crop,
    "CenterCrop": _center_crop,
    "RandomCrop": _random_crop,
    "HorizontalFlip": _horizontal_flip,
    "VerticalFlip": _vertical_flip,
    "ColorJitter": _color_jitter,
    "ToGray": _to_gray,
    "InvertImg": _invert,
    "Posterize": _posterize,
    "Solarize": _solarize,
    "GaussianBlur": _gaussian_blur,
    "NoOp": _no_op,
    "Normalize": _normalize,
    "ToFloat": _to_float,
    "ToTensorV2": _to_tensor,
}
"""By the name of the class."""
