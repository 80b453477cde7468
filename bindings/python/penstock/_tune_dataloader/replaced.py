"""The dataset of a DataLoader as a dataset of penstock."""

from __future__ import annotations

from typing import Any

from .._error import Error


class CannotReplace(Exception):
    """str() names the reason."""


def replaced(dataset: Any) -> Any:
    """A ps.torch.ImageFolder with the same samples, for an ImageFolder of torchvision or a Subset of one. Raises
    CannotReplace."""
    import torch

    from ..torch import ImageFolder

    kind = type(dataset)
    if kind is torch.utils.data.Subset:
        return torch.utils.data.Subset(replaced(dataset.dataset), dataset.indices)
    if (kind.__module__, kind.__qualname__) != ("torchvision.datasets.folder", "ImageFolder"):
        raise CannotReplace(
            f"the dataset is a {kind.__module__}.{kind.__qualname__}, and not torchvision's ImageFolder"
        )
    if getattr(dataset.loader, "__module__", "") != "torchvision.datasets.folder":
        raise CannotReplace("the ImageFolder has a loader function of the program")
    try:
        ours = ImageFolder(dataset.root, dataset.transform, dataset.target_transform)
    except Error as error:
        raise CannotReplace(str(error)) from None
    if ours.samples != dataset.samples:
        raise CannotReplace("the program chose other files than the default of ImageFolder")
    if len(dataset) > 0:
        _require_equal(ours[0], dataset[0])
    return ours


def _require_equal(ours: Any, theirs: Any) -> None:
    """Random transforms change pixels, but not the form of an item."""
    for mine, other in zip(ours, theirs):
        forms = [(type(each), getattr(each, "shape", None), getattr(each, "dtype", None)) for each in (mine, other)]
        if forms[0] != forms[1]:
            raise CannotReplace(f"the items differ: {_form(*forms[0])} instead of {_form(*forms[1])}")


def _form(kind: type, shape: Any, dtype: Any) -> str:
    return kind.__name__ if shape is None else f"{kind.__name__} {tuple(shape)} {dtype}"
