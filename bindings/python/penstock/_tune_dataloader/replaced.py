"""The data of a DataLoader through penstock."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Any

from .._error import Error


class CannotReplace(Exception):
    """str() names the reason."""


def replaced(loader: Any, batches: int | None) -> Any:
    """A ps.torch.Loader with the images and labels of torchvision's ImageFolder, or of a Subset of one.

    batches: an epoch has only this number, with samples from all of the data. Raises CannotReplace."""
    import torch

    from .. import label
    from .._encodings import encoding_of_codec
    from .._penstock import field
    from .._profile.files import found
    from ..torch import Loader

    dataset = loader.dataset
    folder = dataset.dataset if type(dataset) is torch.utils.data.Subset else dataset
    chain = _chain_of(folder)
    shuffle = _shuffles(loader)
    try:
        with _no_new_index(folder.root), found(loader, None) as files:
            opened = files.dataset
            names = [each.name for each in opened.fields if encoding_of_codec(each.codec).kind == "image"]
            if not names or list(opened.classes) != list(folder.classes):
                raise CannotReplace("penstock opens the folder with other classes or without images")
            chosen = files.subset if files.subset is not None else range(len(opened))
            if batches is not None and batches * loader.batch_size < len(chosen):
                count = batches * loader.batch_size
                chosen = [chosen[place * len(chosen) // count] for place in range(count)]
            return Loader(
                opened.select(list(chosen)),
                batch_size=loader.batch_size,
                shuffle=shuffle,
                last_batch="drop" if loader.drop_last else "keep",
                transforms={"image": field("|".join(names)) | chain, "cls": label()},
                as_tuple=("image", "cls"),
            )
    except Error as error:
        raise CannotReplace(str(error)) from None


@contextlib.contextmanager
def _no_new_index(root: str) -> Iterator[None]:
    """Removes the index that penstock stores in the folder, if there was none before. The opened dataset keeps it."""
    index = os.path.join(root, ".penstock-idx")
    existed = os.path.lexists(index)
    try:
        yield
    finally:
        if not existed:
            with contextlib.suppress(OSError):
                os.unlink(index)


def _chain_of(folder: Any) -> Any:
    """The translation of the transforms."""
    from ..torch import ImageFolder

    kind = type(folder)
    if (kind.__module__, kind.__qualname__) != ("torchvision.datasets.folder", "ImageFolder"):
        raise CannotReplace(
            f"the dataset is a {kind.__module__}.{kind.__qualname__}, and not torchvision's ImageFolder"
        )
    if getattr(folder.loader, "__module__", "") != "torchvision.datasets.folder":
        raise CannotReplace("the ImageFolder has a loader function of the program")
    if folder.target_transform is not None:
        raise CannotReplace("the ImageFolder has a target_transform of the program")
    try:
        ours = ImageFolder(folder.root, folder.transform)
    except Error as error:
        raise CannotReplace(str(error)) from None
    if ours.samples != folder.samples:
        raise CannotReplace("the program chose other files than the default of ImageFolder")
    if len(folder) > 0:
        _require_equal(ours[0][0], folder[0][0])
    return ours.transform


def _require_equal(ours: Any, theirs: Any) -> None:
    """Random transforms change pixels, but not the form of an image."""
    mine, other = _form(ours), _form(theirs)
    if mine != other:
        raise CannotReplace(f"the images differ: {mine} instead of {other}")


def _form(value: Any) -> str:
    shape = getattr(value, "shape", None)
    return type(value).__name__ + (f" {tuple(shape)} {value.dtype}" if shape is not None else "")


def _shuffles(loader: Any) -> bool:
    from torch.utils.data import BatchSampler, RandomSampler, SequentialSampler, default_collate

    if type(loader.batch_sampler) is not BatchSampler or type(loader.sampler) not in (RandomSampler, SequentialSampler):
        kind = type(loader.sampler if type(loader.batch_sampler) is BatchSampler else loader.batch_sampler)
        raise CannotReplace(f"the sampler is a {kind.__module__}.{kind.__qualname__}")
    if loader.collate_fn is not default_collate:
        raise CannotReplace("the DataLoader has a collate_fn of the program")
    return type(loader.sampler) is RandomSampler
