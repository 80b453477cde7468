"""Puts samples of similar length into batches: Loader(batching=ps.batching.by_length("tokens"))."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ._draws import numbers_of
from ._words import keywords_in_words

__all__ = ["by_length"]


@dataclass(frozen=True, eq=False)
class Batching:
    """A rule for putting samples into batches; by_length() makes it."""

    lengths: Any
    budget: float | None
    pool: int


@keywords_in_words
def by_length(
    lengths: str | os.PathLike[str] | Iterable[float], *, budget: float | None = None, pool: int = 100_000
) -> Batching:
    """Puts samples of similar length into batches, so that rows need little padding.

    lengths: "tokens", a field: the number of its elements if it is an array, else of its bytes. "pixels:jpg",
      "height:jpg", "width:jpg", "shape:jpg": sizes from the headers of images. "bytes:jpg": the size of any field.
      "json:length": a number in a field. Or one length for each sample: a list, an array or a file (.npy, or one a
      line).
    budget: upper limit for the longest length times the rows of a batch, for each rank. A batch has as many rows as
      fit, and at most batch_size. None: batch_size rows.
    pool: this many consecutive samples of the order are sorted by length and cut into batches, which are then shuffled.
      Lower it if the dataset is not many times as large, so that each epoch groups the samples differently.
    """
    if isinstance(budget, bool) or (
        budget is not None and not (hasattr(budget, "__float__") and math.isfinite(budget) and budget > 0)
    ):
        raise TypeError(f"penstock.batching.by_length(): budget must be a number above 0, or None, not {budget!r}")
    if isinstance(pool, bool) or not hasattr(pool, "__index__") or pool < 1:
        raise TypeError(f"penstock.batching.by_length(): pool must be a number of samples, 1 or more, not {pool!r}")
    if isinstance(lengths, dict):
        raise TypeError(
            "penstock.batching.by_length(): lengths must be a field, or one length for each sample, not a dict"
        )
    return Batching(numbers_of(lengths, "lengths"), None if budget is None else float(budget), int(pool))
