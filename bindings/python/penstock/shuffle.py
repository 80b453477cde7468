"""Orders of an epoch other than a full shuffle: Loader(shuffle=ps.shuffle.blocks(1000))."""

from __future__ import annotations

from dataclasses import dataclass

from ._words import keywords_in_words

__all__ = ["blocks", "window"]


@dataclass(frozen=True)
class Shuffle:
    """How an epoch is shuffled; blocks() and window() make it."""

    block: int | None = None
    window: int | None = None


def _samples(number: int, function: str) -> int:
    if isinstance(number, bool) or not isinstance(number, int) or number < 1:
        raise TypeError(f"penstock.shuffle.{function}() takes a number of samples, 1 or more, not {number!r}")
    return number


@keywords_in_words
def blocks(samples: int) -> Shuffle:
    """Permutes blocks of so many samples, and the samples inside 16 blocks at a time.

    For HDF5 with compressed chunks (give the samples of a chunk), and for disks that are slow at random reads.
    """
    return Shuffle(block=_samples(samples, "blocks"))


@keywords_in_words
def window(samples: int) -> Shuffle:
    """Shuffles the samples of each window of so many neighbours, and leaves the windows in their order.

    For a curriculum: a dataset that is sorted, dataset.sort("score"), in an order that is only roughly that.
    """
    return Shuffle(window=_samples(samples, "window"))
