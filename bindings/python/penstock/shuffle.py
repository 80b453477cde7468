"""Orders of an epoch other than a full shuffle: Loader(shuffle=ps.shuffle.blocks(1000))."""

from __future__ import annotations

from dataclasses import dataclass

from ._words import keywords_in_words

__all__ = ["blocks", "window"]


@dataclass(frozen=True)
class Shuffle:
    """A way to shuffle an epoch; blocks() and window() make it."""

    block: int | None = None
    window: int | None = None


def _samples(number: int, function: str) -> int:
    if isinstance(number, bool) or not isinstance(number, int) or number < 1:
        raise TypeError(f"penstock.shuffle.{function}() requires a number of samples, 1 or more, not {number!r}")
    return number


@keywords_in_words
def blocks(samples: int) -> Shuffle:
    """Permutes blocks of `samples` samples, and the samples inside 16 blocks at a time.

    Use it for HDF5 with compressed chunks (give the samples of a chunk), and for disks that are slow at random reads.
    """
    return Shuffle(block=_samples(samples, "blocks"))


@keywords_in_words
def window(samples: int) -> Shuffle:
    """Shuffles the samples inside each window of `samples` neighbours, and leaves the windows in their order.

    Use it for a curriculum, to keep a sorted dataset, dataset.sort("score"), in roughly that order.
    """
    return Shuffle(window=_samples(samples, "window"))
