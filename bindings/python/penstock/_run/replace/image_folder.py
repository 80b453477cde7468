"""ImageFolder of torchvision."""

from __future__ import annotations

import operator
import os
import sys
import types
from collections.abc import Sequence
from typing import Any

import torch

from . import files
from .originals import changed_method, is_original, name_of
from .places import Place, Refused, of_object
from .source import Sample

_READS = ("__getitem__", "__getitems__", "__len__", "__getattr__", "__getattribute__")


class FolderSource:
    reads = False
    upright = False

    def __init__(self, folder: Any, kind: str = "") -> None:
        self._folder = folder
        self.kind = kind or type(folder).__name__

    @property
    def key(self) -> tuple[Any, ...]:
        return str(self._folder.root), len(self._folder.samples)

    def validate(self, made: Place | None) -> None:
        for entry in self._folder.samples:
            if type(entry) is not tuple or len(entry) != 2:
                raise Refused(made, "ImageFolder.samples", f"has {entry!r}, not a pair of a path and a label")
            path, label = entry
            if not isinstance(path, str) or type(label) is not int:
                reason = f"has {path!r} with the label {label!r}, not a path with an int"
                raise Refused(made, "ImageFolder.samples", reason)

    def samples(self, indices: Sequence[Any], folder: str = "") -> list[Sample]:
        found = []
        for index in indices:
            path, label = self._folder.samples[operator.index(index)]
            path = os.path.join(folder, path)
            found.append(Sample(path, path, (label,)))
        return found

    def paths(self) -> list[str]:
        return [path for path, _ in self._folder.samples]

    def require_plain(self, sample: Sample) -> None:
        files.require_usual_png(sample)

    def opened(self, sample: Sample) -> Any:
        return self._folder.loader(sample.value)

    def size(self, sample: Sample) -> tuple[int, int]:
        return files.size(sample, upright=False)

    def of_item(self, item: Any) -> tuple[Any, tuple[Any, ...]]:
        image, label = item
        return image, (label,)

    def batch(self, images: Any, numbers: list[Any]) -> Any:
        return [images, *numbers]

    def image_key(self) -> int:
        return 0

    def copied(self) -> FolderSource:
        folder = types.SimpleNamespace(root=self._folder.root, samples=list(self._folder.samples))
        return FolderSource(folder, self.kind)


def source_of(dataset: Any, made: Place | None) -> FolderSource:
    """Raises Refused."""
    kind = type(dataset)

    def refused(what: str, reason: str) -> Refused:
        return Refused(of_object(dataset, made), what, reason)

    module: Any = sys.modules.get("torchvision.datasets.folder")
    if module is None or not isinstance(dataset, module.DatasetFolder):
        raise refused(kind.__name__, "is not an ImageFolder of torchvision")
    same = all(getattr(kind, name, None) is getattr(module.DatasetFolder, name, None) for name in _READS)
    if not same or not is_original(kind):
        own = kind.__module__.partition(".")[0] != "torchvision"
        reason = "is a subclass of ImageFolder, which may change the samples" if own else "has a changed method"
        raise refused(kind.__name__, reason)
    changed = changed_method(dataset)
    if changed is not None:
        raise refused(f"{kind.__name__}.{changed}", "is replaced by the program")
    if dataset.loader not in (module.default_loader, module.pil_loader) or not is_original(dataset.loader):
        raise refused(f"{kind.__name__}(loader={name_of(dataset.loader)})", "is a loader of your own")
    if sys.modules["torchvision"].get_image_backend() != "PIL":
        raise refused("torchvision.set_image_backend()", "chooses another decoder than Pillow")
    if dataset.target_transform is not None:
        raise refused(f"{kind.__name__}(target_transform={name_of(dataset.target_transform)})", "changes labels")
    return FolderSource(dataset)


def require_default_collate(collate_fn: Any, made: Place | None) -> None:
    if not is_default_collate(collate_fn):
        raise Refused(made, f"DataLoader(collate_fn={name_of(collate_fn)})", "may change the batches")


def is_default_collate(collate_fn: Any) -> bool:
    default = torch.utils.data._utils.collate.default_collate
    return collate_fn is default and is_original(default)
