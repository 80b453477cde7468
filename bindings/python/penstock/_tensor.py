"""Converts a Tensor to Python numbers."""

from __future__ import annotations

from typing import Any

from ._penstock import Tensor


def tolist(tensor: Tensor) -> Any:
    """Nested lists of numbers; a single number if the tensor has no dimensions."""
    import numpy

    host = tensor if tensor.device == "cpu" else tensor.cpu()
    if host.dtype != "bfloat16":
        return numpy.asarray(host).tolist()
    upper_halves = numpy.frombuffer(host.tobytes(), "<u2").astype("<u4")
    return (upper_halves << 16).view("<f4").reshape(host.shape).tolist()
