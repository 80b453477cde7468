"""Translates transforms of torchvision, timm, open_clip and DINOv2. They are recognized by module and name, so none of
these libraries is imported."""

from __future__ import annotations

import functools
import math
import types
from collections.abc import Callable, Iterator
from typing import Any

from .._penstock import Chain
from .._steps import torch_dtype_name
from .translation import Options, Translation, Untranslatable, always, image, pair, size_of, whole

_LIBRARIES = {
    "torchvision.transforms.": "",
    "torch.nn.modules.": "nn.",
    "timm.data.": "timm.",
    "open_clip.transform": "open_clip.",
    "dinov2.data.transforms": "dinov2.",
}
"""The prefix of the names of a library's classes, by the start of their modules."""

_INERT = {
    *("__module__", "__qualname__", "__doc__", "__annotations__", "__firstlineno__", "__static_attributes__"),
    *("__init__", "__repr__", "extra_repr", "__dict__", "__weakref__", "__parameters__"),
}
"""Attributes of a class that do not change the result of its base."""

_Translate = Callable[[Translation, Options, float], None]
"""Adds a transform that is applied with a probability."""

_BY_INTEGER = {0: "nearest", 1: "lanczos", 2: "bilinear", 3: "bicubic", 4: "box", 5: "hamming"}  # Pillow's constants
_OURS = {"nearest": "nearest", "nearest-exact": "nearest", "box": "area", "bilinear": "bilinear", "bicubic": "bicubic"}


def from_torchvision(transforms: Any) -> Chain:
    """Translates torchvision transforms into a chain for an image.

        chain = ps.from_torchvision(transforms.Compose([
            transforms.RandomResizedCrop(224), transforms.RandomHorizontalFlip(), transforms.ToTensor(),
            transforms.Normalize(mean, std)]))

    The pixels are torchvision's for PIL images, and random numbers have the same distributions. docs/spec/translations.md
    lists the transforms and the differences. Images are RGB, as torchvision's ImageFolder loads them. Without ToTensor()
    or the like, the result is uint8 (C, H, W).

    transforms: a transform of torchvision.transforms, torchvision.transforms.v2, timm or open_clip, or a Compose,
      Sequential or list of them.

    Raises Error: unsupported, with each transform that has no exact translation, its position and the reason.
    """
    return translation_of(transforms).chain("from_torchvision")


def translation_of(transforms: Any) -> Translation:
    """The translation before it is a chain, with the transforms that it refused."""
    translation = Translation()
    parts, probability = _parts_of(transforms, 1.0)
    _add_all(translation, parts if parts is not None and probability == 1 else [transforms], "", 1.0)
    return translation


def named(transforms: Any) -> Iterator[tuple[str, Any]]:
    """Each transform with the name that TRANSLATED has for it, in their order. A RandomApply is one of them; other
    containers are not."""
    parts, _ = _parts_of(transforms, 1.0)
    name = _name_of(type(transforms)) or ""
    if parts is None or name == "RandomApply":
        yield name, transforms
        return
    for part in parts:
        yield from named(part)


def _parts_of(container: Any, probability: float) -> tuple[list[Any] | None, float]:
    """The transforms of a container, and the probability of each. None: it is not a container, or cannot be taken apart."""
    name = _name_of(type(container))
    if isinstance(container, (list, tuple)):
        parts = list(container)
    elif _changed(container):
        return None, probability
    elif name in ("Compose", "RandomApply"):
        parts = list(container.transforms)
        probability *= float(container.p) if name == "RandomApply" else 1
    elif name in ("nn.Sequential", "nn.ModuleList"):
        parts = list(container)
    else:
        return None, probability
    separable = probability == 1 or len(parts) == 1  # each part draws its own probability
    return parts if separable else None, probability


def _add_all(translation: Translation, transforms: list[Any], before: str, probability: float) -> None:
    for number, transform in enumerate(transforms, 1):
        position = f"{before}{number}"
        parts, share = _parts_of(transform, probability)
        if parts is not None:
            _add_all(translation, parts, f"{position}.", share)
        else:
            translation.run(position, transform, functools.partial(_add, translation, transform, probability))


def _add(translation: Translation, transform: Any, probability: float) -> None:
    if isinstance(transform, types.FunctionType):
        if (transform.__module__, transform.__name__) in _CONVERTS_TO_RGB:
            return
        raise Untranslatable("is a function of your own; if it only converts to RGB, leave it out")
    if isinstance(transform, type):
        raise Untranslatable("is a class: call it with its options")
    if not callable(transform) and not isinstance(transform, (list, tuple)):
        raise Untranslatable("is not a transform")
    if _changed(transform):
        raise Untranslatable("has hooks or another forward(), which may change its result")
    translate = TRANSLATED.get(_name_of(type(transform)) or "")
    if translate is None:
        raise Untranslatable(_reason(transform))
    options = Options(transform, internal=("training",))
    translate(translation, options, probability)
    options.require_all_read()


def _name_of(kind: type) -> str | None:
    """The name of a class of torchvision, or "timm.X", "open_clip.X", "dinov2.X" or "nn.X"; None for others.

    A subclass that only adds a constructor has the name of its base: its attributes determine what it does.
    """
    for base in kind.__mro__:
        inert = vars(base).keys() <= _INERT
        for module, prefix in _LIBRARIES.items():
            name = f"{prefix}{base.__qualname__}"
            if base.__module__.startswith(module) and (name in TRANSLATED or not inert):
                return name
        if not inert:
            return None
    return None


def _changed(transform: Any) -> bool:
    """Whether a program attached hooks to a module, or replaced its forward()."""
    own = getattr(transform, "__dict__", {})
    return any(own.get(name) for name in ("_forward_hooks", "_forward_pre_hooks", "forward"))


def _reason(transform: Any) -> str:
    kind = type(transform)
    name = "Compose" if isinstance(transform, (list, tuple)) else _name_of(kind)
    if name is not None:
        return _REASONS.get(name, "penstock has no such transform")
    if kind.__module__.partition(".")[0] == "albumentations":
        return "is of Albumentations: use ps.from_albumentations()"
    known = [each.__name__ for each in kind.__mro__[1:] if _name_of(each) in TRANSLATED]
    if known:
        return f"is a subclass of {known[0]}, which may differ from it"
    if hasattr(transform, "transforms"):
        return "is a class of your own: if it only applies its transforms, pass its attribute transforms"
    origin = "your script" if kind.__module__ == "__main__" else f"the module {kind.__module__}"
    return f"is a class of {origin}: use one of torchvision instead, or leave it out and apply it to the batches"


# ---- Options --------------------------------------------------------------------------------------------------------


def interpolation_name(given: Any) -> Any:
    """The name of an InterpolationMode, which may also be one of Pillow's integers."""
    value = getattr(given, "value", given)
    return _BY_INTEGER.get(value) if isinstance(value, int) else value


def _interpolation(options: Options) -> str:
    given = options["interpolation"]
    name = interpolation_name(given)
    if not isinstance(name, str) or name not in _OURS:
        raise Untranslatable(f"interpolation {name or given} is not nearest, box, bilinear or bicubic")
    return _OURS[name]


def _smooth_on_tensors(translation: Translation, options: Options, interpolation: str) -> bool:
    """Reads antialias. PIL images are always antialiased; tensors only if it is True, and not with "nearest"."""
    antialias = options.get("antialias", None)
    if translation.form == "uint8" and antialias is not True and not translation.lost:
        raise Untranslatable(f"antialias={antialias} for a tensor: pass antialias=True, or move it before ToImage()")
    return interpolation in ("bilinear", "bicubic")


def _padding(value: Any) -> tuple[int, int, int, int]:
    """(left, top, right, bottom) of a number, (number,), (left and right, top and bottom), or all four."""
    sides = [whole(side, "padding") for side in (value if isinstance(value, (list, tuple)) else [value])]
    if len(sides) not in (1, 2, 4):
        raise Untranslatable(f"padding {value} is not 1, 2 or 4 numbers")
    left, top, right, bottom = sides * (4 // len(sides))
    return left, top, right, bottom


# ---- Size and place -------------------------------------------------------------------------------------------------


def _resize(translation: Translation, options: Options, probability: float) -> None:
    always(probability)
    options.forbid("max_size", None, reason="max_size limits the long side, which penstock cannot")
    _resize_to(translation, options, options["size"])


def _resize_to(translation: Translation, options: Options, size: Any) -> None:
    interpolation = _interpolation(options)
    height, width = size_of(size)
    if isinstance(size, (list, tuple)) and len(size) == 2:
        step = image.resize((height, width), interpolation=interpolation)
    else:
        step = image.resize(height, interpolation=interpolation)  # the short side
    translation.resize(step, (height, width), tensors=_smooth_on_tensors(translation, options, interpolation))


def _random_resized_crop(translation: Translation, options: Options, probability: float) -> None:
    always(probability)
    size, interpolation = size_of(options["size"]), _interpolation(options)
    step = image.random_resized_crop(
        size,
        scale=pair(options["scale"], "scale"),
        ratio=pair(options["ratio"], "ratio"),
        interpolation=interpolation,
    )
    translation.resize(step, size, tensors=_smooth_on_tensors(translation, options, interpolation))


def _random_resized_crop_of_timm(translation: Translation, options: Options, probability: float) -> None:
    if isinstance(options["interpolation"], (list, tuple)):
        raise Untranslatable('draws its interpolation: pass interpolation="bilinear" or "bicubic"')
    if translation.form == "uint8":
        raise Untranslatable("gets a tensor: move it before MaybePILToTensor()")
    _random_resized_crop(translation, options, probability)


def _center_crop(translation: Translation, options: Options, probability: float) -> None:
    always(probability)
    translation.center_crop(size_of(options["size"]))


def _random_crop(translation: Translation, options: Options, probability: float) -> None:
    always(probability)
    size, padding, mode = size_of(options["size"]), options["padding"], options["padding_mode"]
    if padding is not None and options.is_of("torchvision.transforms.v2."):
        left, right, top, bottom = padding  # the order in which v2 stores them
        padding = [left, top, right, bottom]
    sides = _padding(padding if padding is not None else 0)
    pads = any(sides) or bool(options["pad_if_needed"])
    fill = translation.fill(options["fill"]) if pads and mode == "constant" else 0
    options.ignore("fill")
    step = image.random_crop(size, sides, pad_if_needed=bool(options["pad_if_needed"]), fill=fill, padding_mode=mode)
    translation.crop(step, size)


def _pad(translation: Translation, options: Options, probability: float) -> None:
    always(probability)
    sides, mode = _padding(options["padding"]), options["padding_mode"]
    fill = translation.fill(options["fill"]) if mode == "constant" else 0
    options.ignore("fill")
    translation.pad(image.pad(sides, fill=fill, padding_mode=mode), sides)


def _horizontal_flip(translation: Translation, options: Options, probability: float) -> None:
    translation.place(image.random_horizontal_flip(options["p"] * probability))


def _vertical_flip(translation: Translation, options: Options, probability: float) -> None:
    translation.place(image.random_vertical_flip(options["p"] * probability))


def _rotation(translation: Translation, options: Options, probability: float) -> None:
    always(probability)
    options.forbid("expand", False, reason="expand=True changes the size of the image, which penstock cannot")
    options.forbid("center", None, reason="rotates about another point than the middle")
    step = image.random_rotation(
        pair(options["degrees"], "degrees"),
        interpolation=_interpolation(options),
        fill=translation.fill(options["fill"]),
    )
    translation.pixels(step, tensors=False)


def _affine(translation: Translation, options: Options, probability: float) -> None:
    always(probability)
    options.forbid("center", None, reason="turns about another point than the middle")
    translate, scale, shear = options["translate"], options["scale"], options["shear"]
    step = image.random_affine(
        pair(options["degrees"], "degrees"),
        translate=pair(translate, "translate") if translate is not None else (0, 0),
        scale=pair(scale, "scale") if scale is not None else (1, 1),
        shear=tuple(shear) if shear is not None else (0, 0),  # type: ignore[arg-type]  # two or four numbers
        interpolation=_interpolation(options),
        fill=translation.fill(options["fill"]),
    )
    translation.pixels(step, tensors=False)


# ---- Colors ---------------------------------------------------------------------------------------------------------


def _color_jitter(translation: Translation, options: Options, probability: float) -> None:
    names = ("brightness", "contrast", "saturation")
    factors = {name: pair(options[name], name) for name in names if options[name] is not None}
    if options["hue"] is not None:
        factors["hue"] = pair(options["hue"], "hue")
    step = image.color_jitter(**factors, probability=probability)  # type: ignore[arg-type]  # all are pairs
    translation.pixels(step, tensors="hue" not in factors)


def _grayscale(translation: Translation, options: Options, probability: float) -> None:
    translation.grayscale(options["num_output_channels"], probability)


def _random_grayscale(translation: Translation, options: Options, probability: float) -> None:
    translation.pixels(image.random_grayscale(options["p"] * probability), tensors=True)


def _convert_mode(translation: Translation, options: Options, probability: float) -> None:
    options.forbid("mode", "RGB", reason="converts to another mode than RGB")


def _rgb(translation: Translation, options: Options, probability: float) -> None:
    if translation.channels != 3:
        raise Untranslatable("follows a Grayscale of one channel: pass num_output_channels=3 to that")


def _invert(translation: Translation, options: Options, probability: float) -> None:
    translation.pixels(image.random_invert(options["p"] * probability), tensors=True)


def _posterize(translation: Translation, options: Options, probability: float) -> None:
    step = image.random_posterize(whole(options["bits"], "bits"), options["p"] * probability)
    translation.pixels(step, tensors=True)


def _solarize(translation: Translation, options: Options, probability: float) -> None:
    translation.pixels(image.random_solarize(options["threshold"], options["p"] * probability), tensors=True)


def _sharpness(translation: Translation, options: Options, probability: float) -> None:
    translation.pixels(image.random_sharpness(options["sharpness_factor"], options["p"] * probability), tensors=True)


def _autocontrast(translation: Translation, options: Options, probability: float) -> None:
    translation.pixels(image.random_autocontrast(options["p"] * probability), tensors=True)


def _equalize(translation: Translation, options: Options, probability: float) -> None:
    translation.pixels(image.random_equalize(options["p"] * probability), tensors=True)


def _gaussian_blur(translation: Translation, options: Options, probability: float) -> None:
    width, height = (whole(side, "kernel_size") for side in options["kernel_size"])  # in this order
    step = image.gaussian_blur((height, width), pair(options["sigma"], "sigma"), probability=probability)
    translation.pixels(step, tensors=True)


def _rand_augment(translation: Translation, options: Options, probability: float) -> None:
    always(probability)
    step = image.rand_augment(
        options["num_ops"],
        options["magnitude"],
        options["num_magnitude_bins"],
        interpolation=_interpolation(options),
        fill=translation.fill(options["fill"]),
    )
    translation.pixels(step, tensors=False)


def _trivial_augment(translation: Translation, options: Options, probability: float) -> None:
    always(probability)
    step = image.trivial_augment(
        options["num_magnitude_bins"], interpolation=_interpolation(options), fill=translation.fill(options["fill"])
    )
    translation.pixels(step, tensors=False)


# ---- Conversions and numbers ----------------------------------------------------------------------------------------


def _identity(translation: Translation, options: Options, probability: float) -> None:
    pass


def _to_uint8_tensor(translation: Translation, options: Options, probability: float) -> None:
    always(probability)
    if translation.form == "image":
        translation.form = "uint8"


def _to_pil_image(translation: Translation, options: Options, probability: float) -> None:
    always(probability)
    options.forbid("mode", None, "RGB", reason="converts to another mode than RGB")
    if translation.form == "float":
        raise Untranslatable("converts numbers to pixels")
    translation.form = "image"


def _to_tensor(translation: Translation, options: Options, probability: float) -> None:
    always(probability)
    if translation.form != "image" and not translation.lost:
        raise Untranslatable("gets a tensor")
    translation.to_numbers(1)


def _to_dtype(translation: Translation, options: Options, probability: float) -> None:
    dtype = options["dtype"]
    if isinstance(dtype, dict):
        raise Untranslatable("has a dtype for each type: give one dtype")
    _convert(translation, torch_dtype_name(dtype) or "", bool(options["scale"]), probability)


def _convert_image_dtype(translation: Translation, options: Options, probability: float) -> None:
    _convert(translation, torch_dtype_name(options["dtype"]) or "", True, probability)


def _convert(translation: Translation, dtype: str, scale: bool, probability: float) -> None:
    always(probability)
    if translation.form == "image" and not translation.lost:
        raise Untranslatable("gets a PIL image, which it does not change: put ToImage() or PILToTensor() before it")
    if translation.form == "float":
        if dtype not in ("float32", "float16", "bfloat16"):
            raise Untranslatable(f"converts numbers to {dtype}")
        translation.to_dtype(dtype)
    elif dtype == "float32":
        translation.to_numbers(1 if scale else 255)
    elif dtype != "uint8":
        raise Untranslatable(f"converts pixels to {dtype}: convert to float32, and to {dtype} after Normalize()")


def _normalize(translation: Translation, options: Options, probability: float) -> None:
    always(probability)
    options.ignore("inplace")
    translation.normalize(options["mean"], options["std"])


def _random_erasing(translation: Translation, options: Options, probability: float) -> None:
    options.ignore("inplace")
    value = options["value"]  # v2 stores None for "random"
    translation.erase(
        options["p"] * probability, options["scale"], options["ratio"], "random" if value is None else value
    )


def _random_erasing_of_timm(translation: Translation, options: Options, probability: float) -> None:
    # num_splits is for batches, device for tensors on a GPU; per_pixel and rand_color contain the mode.
    options.ignore("num_splits", "device", "mode")
    counts = {options.get(name, 1) for name in ("count", "min_count", "max_count")}
    if counts != {1}:
        raise Untranslatable("erases several boxes: pass max_count=1")
    if options["rand_color"]:
        raise Untranslatable('draws one color for a box: pass mode="pixel" or "const"')
    low, high = pair(options["log_aspect_ratio"], "log_aspect_ratio")
    translation.erase(
        options["probability"] * probability,
        (options["min_area"], options["max_area"]),
        (math.exp(low), math.exp(high)),
        "random" if options["per_pixel"] else 0,
    )


def _image_classification(translation: Translation, options: Options, probability: float) -> None:
    always(probability)
    _resize_to(translation, options, options["resize_size"])
    translation.center_crop(size_of(options["crop_size"]))
    translation.to_numbers(1)
    translation.normalize(options["mean"], options["std"])


_REASONS = {
    "Lambda": "calls a function of your own",
    **dict.fromkeys(
        ("Compose", "RandomApply", "nn.Sequential", "nn.ModuleList"),
        "applies several transforms together to a part of the images",
    ),
    "RandomChoice": "draws one of several transforms",
    "RandomOrder": "draws the order of its transforms",
    "FiveCrop": "gives several images",
    "TenCrop": "gives several images",
    "MixUp": "mixes the images of a batch: use Loader(mix=...)",
    "CutMix": "mixes the images of a batch: use Loader(mix=...)",
}

_CONVERTS_TO_RGB = {("clip.clip", "_convert_image_to_rgb"), ("open_clip.transform", "_convert_to_rgb")}

TRANSLATED: dict[str, _Translate] = {
    "Resize": _resize,
    "RandomResizedCrop": _random_resized_crop,
    "CenterCrop": _center_crop,
    "RandomCrop": _random_crop,
    "Pad": _pad,
    "RandomHorizontalFlip": _horizontal_flip,
    "RandomVerticalFlip": _vertical_flip,
    "RandomRotation": _rotation,
    "RandomAffine": _affine,
    "ColorJitter": _color_jitter,
    "Grayscale": _grayscale,
    "RandomGrayscale": _random_grayscale,
    "RGB": _rgb,
    "RandomInvert": _invert,
    "RandomPosterize": _posterize,
    "RandomSolarize": _solarize,
    "RandomAdjustSharpness": _sharpness,
    "RandomAutocontrast": _autocontrast,
    "RandomEqualize": _equalize,
    "GaussianBlur": _gaussian_blur,
    "RandAugment": _rand_augment,
    "TrivialAugmentWide": _trivial_augment,
    "Identity": _identity,
    "nn.Identity": _identity,
    "ToPureTensor": _identity,
    "PILToTensor": _to_uint8_tensor,
    "ToImage": _to_uint8_tensor,
    "ToPILImage": _to_pil_image,
    "ToTensor": _to_tensor,
    "ToDtype": _to_dtype,
    "ConvertImageDtype": _convert_image_dtype,
    "Normalize": _normalize,
    "RandomErasing": _random_erasing,
    "ImageClassification": _image_classification,
    "timm.RandomResizedCropAndInterpolation": _random_resized_crop_of_timm,
    "timm.MaybeToTensor": _to_tensor,
    "timm.MaybePILToTensor": _to_uint8_tensor,
    "timm.RandomErasing": _random_erasing_of_timm,
    "open_clip.MaybeConvertMode": _convert_mode,
    "open_clip.MaybeToTensor": _to_tensor,
    "dinov2.MaybeToTensor": _to_tensor,
}
"""By the name that _name_of() returns."""
