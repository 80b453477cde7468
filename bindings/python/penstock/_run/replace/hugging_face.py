"""Datasets of Hugging Face with images. Their set_transform() applies transforms of torchvision."""

from __future__ import annotations

import dataclasses
import functools
import io
import multiprocessing
import os
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

from . import files, functions
from .image_folder import is_default_collate
from .originals import changed_method, is_original, name_of
from .places import Place, Refused, of_object
from .source import Sample, Unmade

_INTEGERS = {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
_READS = ("_getitem", "__getitem__", "__getitems__", "__len__", "with_format")


class Entry(NamedTuple):
    """An entry of a batch."""

    key: str
    item_key: str
    column: str | None
    """The column of the numbers. None: the images."""


@dataclasses.dataclass(frozen=True)
class Layout:
    entries: tuple[Entry, ...]
    image: str  # the column
    converts: bool

    def image_entry(self) -> Entry:
        return next(entry for entry in self.entries if entry.column is None)

    def numbers(self) -> tuple[Entry, ...]:
        return tuple(entry for entry in self.entries if entry.column is not None)


class TableSource:
    kind = "datasets.Dataset"
    reads = True

    def __init__(self, dataset: Any, layout: Layout) -> None:
        self.upright = _turns_upright()
        self._dataset, self._layout = dataset, layout
        self._feature = dataset.features[layout.image]

    @property
    def key(self) -> tuple[Any, ...]:
        return self._dataset._fingerprint, self._layout, repr(self._feature)

    @functools.cached_property
    def _rows(self) -> Any:
        """A copy of the dataset without its transform."""
        return self._dataset.with_format("arrow")

    def validate(self, made: Place | None) -> None:
        """The schema of the table has been checked."""

    def samples(self, indices: Sequence[Any], folder: str = "") -> list[Sample]:
        table = self._rows[list(indices)]
        columns = [table.column(entry.column).to_pylist() for entry in self._layout.numbers()]
        numbers = list(zip(*columns)) if columns else [()] * table.num_rows
        images = table.column(self._layout.image).to_pylist()
        return [_sample(*row, folder) for row in zip(indices, images, numbers)]

    def paths(self) -> list[str | None]:
        import pyarrow.compute as pc

        paths = pc.struct_field(self._rows.data.column(self._layout.image), "path")
        places = self._rows._indices
        listed: list[str | None] = (paths if places is None else paths.take(places.column(0))).to_pylist()
        return listed

    def require_plain(self, sample: Sample) -> None:
        files.require_usual_png(sample)
        if self.upright:
            files.require_usual_orientation(sample)
        if not self._layout.converts and self._feature.mode is None:
            files.require_rgb(sample)

    def opened(self, sample: Sample) -> Any:
        image = self._feature.decode_example({"path": None, "bytes": sample.value})
        return image.convert("RGB") if self._layout.converts else image

    def size(self, sample: Sample) -> tuple[int, int]:
        return files.size(sample, upright=self.upright)

    def of_item(self, item: Any) -> tuple[Any, tuple[Any, ...]]:
        return item[self._layout.image_entry().item_key], tuple(item[one.item_key] for one in self._layout.numbers())

    def batch(self, images: Any, numbers: list[Any]) -> Any:
        rest = iter(numbers)
        return {entry.key: images if entry.column is None else next(rest) for entry in self._layout.entries}

    def image_key(self) -> str:
        return self._layout.image_entry().key

    def copied(self) -> TableSource:
        copy = TableSource(self._rows, self._layout)
        copy._rows = self._rows
        return copy


def _sample(index: Any, image: Any, numbers: tuple[Any, ...], folder: str) -> Sample:
    name = f"row {index}"
    if image is None or (image["bytes"] is None and image["path"] is None):
        raise Unmade(f"{name}: has no image")
    content = image["bytes"]
    if content is None:
        name = os.path.join(folder, image["path"])
        with open(name, "rb") as file:
            content = file.read()
    return Sample(name, content, numbers)


@functools.lru_cache(maxsize=1)
def _turns_upright() -> bool:
    """Whether this version of datasets applies the orientation of EXIF."""
    import datasets
    from PIL import Image

    exif, file = Image.Exif(), io.BytesIO()
    exif[0x112] = 6
    Image.new("RGB", (16, 8)).save(file, "JPEG", exif=exif)
    shape: tuple[int, int] = datasets.Image().decode_example({"path": None, "bytes": file.getvalue()}).size
    return shape == (8, 16)


# ---- Recognition -----------------------------------------------------------------------------------------------------


def source_of(dataset: Any, loader: Any, made: Place | None) -> tuple[TableSource, Any]:
    """The source and the transform. Raises Refused."""
    function = _transform_of(dataset, made)
    columns = dataset._format_columns
    columns = [name for name in dataset.column_names if columns is None or name in columns]
    _require_known_features(dataset, columns, of_object(function, made))
    layout, transform = _layout_of(function, columns, dataset, loader, made)
    if loader.num_workers and _start_method(loader) != "fork":
        raise Refused(
            made, f"DataLoader(num_workers={loader.num_workers})", "starts workers that import your functions again"
        )
    return TableSource(dataset, layout), transform


def _transform_of(dataset: Any, made: Place | None) -> Any:
    library: Any = sys.modules["datasets"]
    kind = type(dataset)
    if kind is not library.Dataset:
        raise Refused(of_object(dataset, made), kind.__name__, "is not a datasets.Dataset with rows by number")
    read = [getattr(kind, name) for name in _READS]
    if not all(map(is_original, (*read, library.Image.decode_example, library.Features.decode_batch))):
        raise Refused(of_object(dataset, made), kind.__name__, "has a changed method")
    changed = changed_method(dataset)
    if changed is not None:
        raise Refused(of_object(dataset, made), f"{kind.__name__}.{changed}", "is replaced by the program")
    options = dataset._format_kwargs
    if dataset._format_type != "custom" or set(options) != {"transform"}:
        raise Refused(made, "Dataset", "has no set_transform() that applies transforms of torchvision")
    if dataset._output_all_columns:
        raise Refused(made, "set_transform(output_all_columns=True)", "adds columns to the result")
    return options["transform"]


def _require_known_features(dataset: Any, columns: list[str], place: Place | None) -> None:
    library: Any = sys.modules["datasets"]
    for name in columns:
        kind = type(dataset.features[name])
        if kind not in (library.Image, library.ClassLabel, library.Value):
            raise Refused(place, f"column {name!r}", f"is {kind.__name__}, not an image or a single value")
    images = [name for name in columns if type(dataset.features[name]) is library.Image]
    if len(images) > 1:
        raise Refused(place, f"column {images[1]!r}", "is a second image, which datasets decodes, too: remove it")


def _layout_of(function: Any, columns: list[str], dataset: Any, loader: Any, made: Place | None) -> tuple[Layout, Any]:
    """The layout and the transform."""
    stated = functions.Function(function, "set_transform", made)
    values = functions.transformed(stated, columns)
    images = [(key, value) for key, value in values.items() if isinstance(value, functions.Transformed)]
    if len(images) != 1:
        raise stated.refused(stated.definition, f"has {len(images)} lists of images in its result, not one")
    (image_key, image), features = images[0], dataset.features
    feature = features[image.column]
    if type(feature) is not sys.modules["datasets"].Image or not feature.decode or feature.mode not in (None, "RGB"):
        raise stated.refused(stated.definition, f"column {image.column!r} is {feature}")
    if is_default_collate(loader.collate_fn):
        joined = {key: functions.Joined(key, key == image_key) for key in values}
        place = of_object(function, made)
    else:
        collate = functions.Function(loader.collate_fn, "collate_fn", made)
        joined = functions.collated(collate)
        place = of_object(loader.collate_fn, made)
    entries = []
    for key, (item_key, of_images) in joined.items():
        value = values.get(item_key)
        if of_images == (item_key == image_key) and (of_images or _is_integer(features.get(value))):
            entries.append(Entry(key, item_key, None if of_images else str(value)))
            continue
        raise Refused(place, f"{name_of(loader.collate_fn)}: {item_key!r}", _reason(value, features))
    if sum(entry.column is None for entry in entries) != 1:
        raise Refused(place, name_of(loader.collate_fn), "does not return the images once")
    return Layout(tuple(entries), image.column, image.converts), image.transform


def _is_integer(feature: Any) -> bool:
    library: Any = sys.modules["datasets"]
    return type(feature) is library.ClassLabel or (type(feature) is library.Value and feature.dtype in _INTEGERS)


def _reason(value: Any, features: Any) -> str:
    if value is None:
        return "is not in the items"
    return f"is {features[value]}, not an integer" if isinstance(value, str) else "is the image, not a number"


def _start_method(loader: Any) -> str:
    chosen = getattr(loader.multiprocessing_context, "get_start_method", None)
    if chosen is not None:
        return str(chosen())
    # get_start_method() would fix the default
    return multiprocessing.get_start_method(allow_none=True) or multiprocessing.get_all_start_methods()[0]
