"""A model of "Weights, repeats, balance" of docs/order.md in plain Python: which entry stands in which row.

Written from that page alone, for the sizes of tests: simple before fast. The rest of the page is order_model.py.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate

from order_model import G, One, key, mix

WEIGHTED = 0x77656967687465  # the stream of weights
ONCE = 0x6F6E6365  # that of weights with replacement=False
REPEATED = 0x72657065617473  # that of repeats
BALANCED = 0x62616C616E6365  # that of balance
MOST_REPEATS = 2**20
CACHED = 64  # epochs, or rounds

Row = tuple[int, int]  # entry, occurrence


def weight_parts(weights: Sequence[float]) -> list[int]:
    """W of weights: parts of about 2^60."""
    _check(weights)
    total = 0.0
    for w in weights:  # not sum(), which from Python 3.12 on does not round each addition
        total += float(w)
    if not math.isfinite(total):
        raise ValueError("the sum of the weights is not finite")
    scale = 2.0**60 / total
    return [_rounded(float(w) * scale) if w > 0 else 0 for w in weights]


def repeat_parts(repeats: Sequence[float]) -> list[int]:
    """W of repeats: 2^20 for each time."""
    _check(repeats)
    if max(repeats) > MOST_REPEATS:
        raise ValueError("repeats are at most 2^20")
    return [_rounded(float(w) * 2.0**20) if w > 0 else 0 for w in repeats]


def _check(numbers: Sequence[float]) -> None:
    if any(not math.isfinite(w) or w < 0 for w in numbers):
        raise ValueError("numbers are finite and not negative")
    if not any(w > 0 for w in numbers):
        raise ValueError("an entry needs a number")


def _rounded(x: float) -> int:
    return max(1, math.floor(x + 0.5))


def _before(parts: Sequence[int]) -> list[int]:
    """C(0), ..., C(n)."""
    return [0, *accumulate(parts)]


def _holding(begins: Sequence[int], value: int) -> int:
    """The e with begins[e] <= value < begins[e + 1]."""
    return bisect_right(begins, value) - 1


class Draws:
    """What the kinds have in common: as of order_model.One, `length` and the entry at a position."""

    def __init__(self, seed: int, length: int) -> None:
        if length < 1:
            raise ValueError("an epoch without positions")
        self.seed = seed
        self.length = length

    def sample_at(self, epoch: int, position: int) -> int:
        """The entry at a position of an epoch."""
        return self.row(epoch, position)[0]

    def row(self, epoch: int, position: int) -> Row:
        """The entry at a position of an epoch, and its occurrence."""
        if not 0 <= position < self.length:
            raise IndexError(f"position {position} of {self.length}")
        return self._row(epoch, position)

    def _row(self, epoch: int, position: int) -> Row:
        raise NotImplementedError


class Weighted(Draws):
    """The order with weights: each position draws anew."""

    def __init__(self, numbers: Sequence[float], seed: int, samples: int | None = None) -> None:
        super().__init__(seed, len(numbers) if samples is None else samples)
        self.begins = _before(weight_parts(numbers))

    def _row(self, epoch: int, position: int) -> Row:
        draw = mix(key(self.seed, epoch, WEIGHTED) + position * G)
        v = draw * self.begins[-1] >> 64
        return _holding(self.begins, v), position % 2**32


class Once(Draws):
    """The order with weights and replacement=False."""

    def __init__(self, numbers: Sequence[float], seed: int, samples: int | None = None) -> None:
        self.parts = weight_parts(numbers)
        most = sum(1 for part in self.parts if part > 0)
        super().__init__(seed, most if samples is None else samples)
        if self.length > most:
            raise ValueError(f"{self.length} samples, and {most} entries have parts")
        self._order = lru_cache(maxsize=CACHED)(self._sorted)

    def _row(self, epoch: int, position: int) -> Row:
        return self._order(epoch)[position], 0

    def _sorted(self, epoch: int) -> list[int]:
        """The entries that have parts, the shortest time first."""
        k = key(self.seed, epoch, ONCE)
        times = [(_time(mix(k + e * G) | 1, part), e) for e, part in enumerate(self.parts) if part > 0]
        return [e for _, e in sorted(times)]


def _time(x: int, part: int) -> float:
    """The time of an entry that drew x: about -log2(x / 2^64) * 2^32 / part."""
    z = 64 - x.bit_length()
    m, f = x << z, 0
    for _ in range(32):
        s = m * m
        if s >= 2**127:
            m, f = s >> 64, 2 * f + 1
        else:
            m, f = s >> 63, 2 * f
    return float((z + 1) * 2**32 - f) / float(part)


class Repeated(Draws):
    """The order with repeats."""

    def __init__(
        self,
        numbers: Sequence[float],
        seed: int,
        shuffle: bool,
        shuffle_block: int = 0,
        shuffle_window: int = 0,
        samples: int | None = None,
    ) -> None:
        self.begins = _before(repeat_parts(numbers))
        self.total = self.begins[-1]
        super().__init__(seed, max(1, (self.total + 2**19) // 2**20) if samples is None else samples)
        self.places = One(self.length, shuffle, shuffle_block, seed, shuffle_window)
        self._due_of = lru_cache(maxsize=CACHED)(self.due)

    def due(self, epoch: int) -> list[int]:
        """due(0), ..., due(n)."""
        u = (key(self.seed, 0, REPEATED) + epoch * G) % 2**64 * self.total >> 64
        return [(c * self.length + u) // self.total for c in self.begins]

    def _row(self, epoch: int, position: int) -> Row:
        place = self.places.sample_at(epoch, position)
        due = self._due_of(epoch)
        e = _holding(due, place)
        return e, place - due[e]


class Balanced(Draws):
    """The order with balance: rounds that have each class once."""

    def __init__(
        self,
        values: Sequence[str],
        seed: int,
        shuffle: bool,
        shuffle_block: int = 0,
        shuffle_window: int = 0,
        samples: int | None = None,
    ) -> None:
        super().__init__(seed, len(values) if samples is None else samples)
        self.shuffle = shuffle
        self.classes = _classes(values)
        self.k = len(self.classes)
        if self.k == 0:
            raise ValueError("no entries")
        self.ones = [
            One(len(entries), shuffle, shuffle_block, mix(seed + BALANCED + c), shuffle_window)
            for c, entries in enumerate(self.classes)
        ]
        self._round_of = lru_cache(maxsize=CACHED)(self.round)

    def round(self, r: int) -> list[int]:
        """The classes in the order of a round."""
        order = list(range(self.k))
        if not self.shuffle:
            return order
        q = mix(key(self.seed, 0, BALANCED) + (r + 1) * G)
        for i in range(self.k - 1, 0, -1):
            j = (mix(q + i * G) >> 32) * (i + 1) >> 32
            order[i], order[j] = order[j], order[i]
        return order

    def _row(self, epoch: int, position: int) -> Row:
        first = epoch * self.length
        r, j = divmod(first + position, self.k)
        c = self._round_of(r)[j]
        m = len(self.classes[c])
        number = self.ones[c].sample_at(r // m, r % m)
        return self.classes[c][number], r // m - first // self.k // m


def _classes(values: Sequence[str]) -> list[list[int]]:
    """The entries of each class: shorter texts first, equally long ones in bytewise order."""
    entries: dict[bytes, list[int]] = {}
    for e, value in enumerate(values):
        entries.setdefault(value.encode("utf-8"), []).append(e)
    return [entries[text] for text in sorted(entries, key=lambda text: (len(text), text))]
