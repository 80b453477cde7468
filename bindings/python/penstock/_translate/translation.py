"""Collects the steps of a chain, and the transforms that have no translation.

A translation is exact or refused. Exact means: the pixels that the other library computes, within the differences that
docs/spec/translations.md lists, and the same distribution of random numbers.
"""

from __future__ import annotations

import operator
import os
import types
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from .. import _penstock
from .._error import Error, made
from .._penstock import Chain
from .._steps import called
from .._words import worded_steps

image = worded_steps(_penstock.image)


class Untranslatable(Exception):
    """The reason why a transform has no translation."""


class Refusal(NamedTuple):
    """A transform without a translation."""

    position: str
    transform: object
    reason: str


class Options:
    """The options of a transform: its public attributes.

    require_all_read() refuses a transform with an option that its translation did not read. A newer version of a
    library may add such an option, and a program may replace a method of one object.
    """

    def __init__(self, transform: object, internal: Iterable[str] = ()) -> None:
        self._classes = type(transform).__mro__
        hidden = set(internal)
        public = {name: value for name, value in vars(transform).items() if name[0] != "_" and name not in hidden}
        self._values: dict[str, Any] = public
        self._unread = set(public)

    def __getitem__(self, name: str) -> Any:
        if name not in self._values:
            raise Untranslatable(f"has no attribute {name}, so it belongs to a version that penstock does not know")
        self._unread.discard(name)
        return self._values[name]

    def get(self, name: str, default: Any) -> Any:
        return self[name] if name in self._values else default

    def is_of(self, module: str) -> bool:
        """Whether the class or a base is of a module whose name begins like this."""
        return any(each.__module__.startswith(module) for each in self._classes)

    def ignore(self, *names: str) -> None:
        """Marks options that do not change an image."""
        self._unread.difference_update(names)

    def forbid(self, name: str, *allowed: Any, reason: str) -> None:
        if self.get(name, allowed[0]) not in allowed:
            raise Untranslatable(reason)

    def require_all_read(self) -> None:
        if self._unread:
            raise Untranslatable(f"has the attribute {min(self._unread)}, which penstock does not know")


class Translation:
    """The state after the transforms so far: the form of the image, and the chain's steps."""

    def __init__(self) -> None:
        self.form = "image"
        """"image": 8-bit pixels outside torch. "uint8": a tensor of 8-bit pixels. "float": a tensor of numbers."""
        self.channels_last = False
        self.channels = 3
        self.white = 1.0
        """The number that a white pixel becomes in the form "float", before normalize()."""
        self.lost = False
        """Whether a transform was refused. Then the form is unknown, so later transforms are checked without it."""
        self._steps: list[Chain] = []
        self._least = (0, 0)
        """Least height and width that every image has now; 0 if unknown."""
        self._resampled = False
        self._mean: list[float] | None = None
        self._std: list[float] = []
        self._dtype: str | None = None
        self._erasings: list[dict[str, Any]] = []
        self.refused: list[Refusal] = []

    # ---- Transforms ----

    def run(self, position: str, transform: object, translate: Callable[[], None]) -> None:
        """Calls translate(). If it raises an error, chain() reports the transform."""
        try:
            translate()
        except Untranslatable as refusal:
            self.refuse(position, transform, str(refusal))
        except Error as error:
            self.refuse(position, transform, error.cause)
        except (TypeError, ValueError) as error:
            self.refuse(position, transform, str(error))

    def refuse(self, position: str, transform: object, reason: str) -> None:
        self.refused.append(Refusal(position, transform, reason))
        self.lost = True

    def pixels(self, step: Chain, *, tensors: bool) -> None:
        """Appends a step that computes new pixels. tensors: whether it also equals the library's on uint8 tensors."""
        if not self.lost and self.form == "float":
            raise Untranslatable("computes on numbers, and penstock on 8-bit pixels: move it before ToTensor()")
        if not self.lost and self.form == "uint8" and not tensors:
            raise Untranslatable(
                "torchvision computes other pixels from a tensor than from a PIL image, and penstock computes those of "
                "the PIL image: move it before ToImage() or PILToTensor()"
            )
        self._append(step)

    def place(self, step: Chain) -> None:
        """Appends a step that only moves pixels. Conversions to numbers do not change its result."""
        self._append(step)

    def _append(self, step: Chain) -> None:
        if self._erasings and not self.lost:
            raise Untranslatable("comes after RandomErasing: move it before")
        self._steps.append(step)

    def resize(self, step: Chain, size: tuple[int, int], *, tensors: bool) -> None:
        """Appends a step that resamples. size: the least height and width afterwards."""
        # A loader merges neighbouring resizes and resamples once. A step that works on pixels, and changes none here,
        # separates them, so that pixels are resampled twice as in the other library.
        if self._resampled:
            self.pixels(image.random_posterize(8, 1), tensors=True)
        self.pixels(step, tensors=tensors)
        self._resampled = True
        self._least = size

    def center_crop(self, size: tuple[int, int]) -> None:
        least = self._least
        if least != (0, 0) and (size[0] > least[0] or size[1] > least[1]):
            raise Untranslatable(
                f"{size[0]} x {size[1]} may be larger than the image, {least[0]} x {least[1]} after the transforms "
                "before: the library pads smaller images, and penstock raises an error"
            )
        self.crop(image.center_crop(size), size)

    def crop(self, step: Chain, size: tuple[int, int]) -> None:
        self.place(step)
        self._least = size

    def pad(self, step: Chain, sides: tuple[int, int, int, int]) -> None:
        """sides: left, top, right, bottom."""
        self.place(step)
        if self._least != (0, 0):
            self._least = (self._least[0] + sides[1] + sides[3], self._least[1] + sides[0] + sides[2])

    def grayscale(self, channels: int, probability: float) -> None:
        if probability == 1:
            self.pixels(image.grayscale(channels), tensors=True)
            self.channels = channels
        elif channels == self.channels:
            self.pixels(image.random_grayscale(probability), tensors=True)
        else:
            raise Untranslatable("gives some of the images another number of channels: pass num_output_channels=3")

    # ---- Numbers ----

    def to_numbers(self, white: float) -> None:
        """The image becomes float32. white: the number of a white pixel."""
        self.form, self.white = "float", white

    def normalize(self, mean: Any, std: Any) -> None:
        if not self.lost and self.form != "float":
            raise Untranslatable("comes before the pixels are numbers: move it after ToTensor()")
        if self._mean is not None:
            raise Untranslatable("is the second Normalize: merge the two")
        if self._dtype is not None:
            raise Untranslatable("computes with 16 bits: move the conversion of the dtype to the end")
        means, deviations = self._of_channels(mean, "means"), self._of_channels(std, "standard deviations")
        image.normalize(means, deviations)  # raises an Error for invalid numbers
        for erasing in self._erasings:
            if erasing["value"] == "random":
                raise Untranslatable("follows RandomErasing with random values: move RandomErasing after it")
            values = self._of_channels(erasing["value"], "values")
            erasing["value"] = [(v - m) / s for v, m, s in zip(values, means, deviations)]
        self._mean, self._std = means, deviations

    def _of_channels(self, values: Any, what: str) -> list[float]:
        given = [float(value) for value in (values if hasattr(values, "__iter__") else [values])]
        if len(given) == 1:
            return given * self.channels
        if len(given) != self.channels:
            raise Untranslatable(f"has {len(given)} {what} for an image of {self.channels} channels")
        return given

    def to_dtype(self, name: str) -> None:
        """The numbers become another dtype at the end of the chain."""
        if self._dtype is not None:
            raise Untranslatable("is the second conversion to a dtype of 16 bits")
        image.cast(name)  # raises an Error for other dtypes
        if name != "float32":
            self._dtype = name

    def erase(self, probability: float, scale: Any, ratio: Any, value: Any) -> None:
        """Erases boxes. value: in the units of the numbers so far, or "random"."""
        if not self.lost and self.form != "float":
            raise Untranslatable("erases pixels, and penstock erases numbers: move it after Normalize()")
        if value == "random" and self.white != 1:
            raise Untranslatable("draws normal numbers for pixels from 0 to 255: pass scale=True to ToDtype()")
        if value != "random":
            value = self._of_channels(value, "values")
            if len(set(value)) == 1:
                value = value[:1]
        erasing = {"scale": pair(scale, "scale"), "ratio": pair(ratio, "ratio"), "value": value}
        image.random_erasing(probability, **_compact(erasing))  # raises an Error for invalid numbers
        self._erasings.append({"probability": probability, **erasing})

    def fill(self, value: Any) -> int | tuple[int, int, int]:
        """The 8-bit pixel of a fill. The library gives it in the units of the image."""
        if value is None:
            value = 0
        if isinstance(value, dict):
            raise Untranslatable("has a fill for each type: give one fill for images")
        values = list(value) if hasattr(value, "__iter__") else [value]
        if len(values) not in (1, self.channels):
            raise Untranslatable(f"has a fill of {len(values)} values for an image of {self.channels} channels")
        if self._mean is not None:
            raise Untranslatable("fills after Normalize(): move it before")
        factor = 255 / self.white if self.form == "float" else 1
        pixels = [whole(each * factor, "fill") for each in values]
        return pixels[0] if len(set(pixels)) == 1 else (pixels[0], pixels[1], pixels[2])

    # ---- The result ----

    def levels(self) -> list[float]:
        """For each channel, the difference of the result's numbers for neighbouring pixels of 0 to 255."""
        level = self.white / 255 if self.form == "float" else 1.0
        return [level / deviation for deviation in self._std or [1.0] * self.channels]

    def chain(self, function: str) -> Chain:
        """The chain. Raises Error: unsupported, with every refused transform."""
        if self.refused:
            number = len(self.refused)
            listed = "; ".join(f"{place}. {shown(transform)}: {reason}" for place, transform, reason in self.refused)
            raise made(
                "unsupported",
                f"{function}() cannot translate {number} transform{'s' if number > 1 else ''}: {listed}. Change them, "
                "or translate the others and call these on the result, in a Dataset of your own or with ps.transform()",
            )
        steps = list(self._steps)
        if self._mean is not None:
            mean = [value / self.white for value in self._mean]
            steps.append(image.normalize(mean, [value / self.white for value in self._std]))
        elif self.form == "float" and self.white == 1:
            steps.append(image.normalize([0] * self.channels, [1] * self.channels))
        elif self.form == "float":
            steps.append(image.cast("float32"))
        if self._dtype is not None:
            steps.append(image.cast(self._dtype))
        if self.channels_last:
            steps.append(image.channels_last())
        for erasing in self._erasings:
            rest = _compact({name: value for name, value in erasing.items() if name != "probability"})
            steps.append(image.random_erasing(erasing["probability"], **rest))
        chain = steps[0] if steps else image.decode()
        for step in steps[1:]:
            chain = chain | step
        return chain


def _compact(erasing: dict[str, Any]) -> dict[str, Any]:
    value = erasing["value"]
    if value == "random":
        return erasing
    return {**erasing, "value": value[0] if len(value) == 1 else tuple(value)}


def shown(transform: object) -> str:
    if isinstance(transform, types.FunctionType):
        code = transform.__code__
        return f"{transform.__name__}() ({os.path.basename(code.co_filename)}:{code.co_firstlineno})"
    kind = type(transform)
    return f"{kind.__module__}.{kind.__qualname__}" if kind.__repr__ is object.__repr__ else called(transform)


def whole(value: Any, what: str) -> int:
    """A whole number, also if it is written as 224.0 or as an integer of NumPy."""
    try:
        return operator.index(value)
    except TypeError:
        if isinstance(value, float) and value.is_integer():
            return int(value)
        raise Untranslatable(f"{what} {called(value)} is not a whole number") from None


def pair(value: Any, what: str) -> tuple[float, float]:
    values = [float(each) for each in value]
    if len(values) != 2:
        raise Untranslatable(f"{what} {called(value)} is not a pair (low, high)")
    return values[0], values[1]


def always(probability: float) -> None:
    """Refuses a transform that is applied to a part of the images."""
    if probability < 1:
        raise Untranslatable(f"is applied with probability {probability:g}, and penstock applies it to every image")


def size_of(value: Any) -> tuple[int, int]:
    """(height, width) of a number, (number,) or (height, width)."""
    sides = list(value) if isinstance(value, Sequence) else [value]
    if len(sides) not in (1, 2):
        raise Untranslatable(f"size {called(value)} is not one number or (height, width)")
    return whole(sides[0], "size"), whole(sides[-1], "size")
