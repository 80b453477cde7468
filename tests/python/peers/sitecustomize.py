"""For other loaders' programs: torchvision's usual wheel is linked with CUDA; beside a torch without, its operators must be
declared before it is imported."""

import importlib.abc
import importlib.machinery
import pathlib
import sys


class _BeforeTorchvision(importlib.abc.MetaPathFinder):
    library = None

    def find_spec(self, name, path=None, target=None):
        if name == "torchvision":
            sys.meta_path.remove(self)
            spec = importlib.machinery.PathFinder.find_spec(name)
            if spec is not None:
                self._declare(pathlib.Path(spec.origin).parent)

    def _declare(self, package):
        import torch

        for extension in package.glob("_C*.so"):
            try:
                torch.ops.load_library(extension)
                return
            except (OSError, RuntimeError):
                pass
        _BeforeTorchvision.library = torch.library.Library("torchvision", "DEF")
        for operator in ("nms", "qnms"):
            self.library.define(f"{operator}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")


sys.meta_path.insert(0, _BeforeTorchvision())
