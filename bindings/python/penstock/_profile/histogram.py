"""Durations, counted so that percentiles of any number of them need 8 kB."""

from __future__ import annotations

_BITS = 64  # durations of more nanoseconds than that do not occur
_STEPS = 16  # to a doubling, so that a percentile is off by a thirty-second at most


class Histogram:
    """Below 16 ns each value has a bucket of its own, then each doubling has sixteen."""

    __slots__ = ("_buckets", "count", "max", "sum")

    def __init__(self) -> None:
        self._buckets = [0] * (_STEPS * (_BITS - 3))
        self.count = self.sum = self.max = 0

    def add(self, nanoseconds: int) -> None:
        doublings = nanoseconds.bit_length() - 5
        self._buckets[nanoseconds if doublings <= 0 else (doublings << 4) + (nanoseconds >> doublings)] += 1
        self.count += 1
        self.sum += nanoseconds
        if nanoseconds > self.max:
            self.max = nanoseconds

    def copy(self) -> Histogram:
        copied = Histogram()
        copied._buckets = self._buckets.copy()
        copied.count, copied.sum, copied.max = self.count, self.sum, self.max
        return copied

    @property
    def mean(self) -> float:
        return self.sum / self.count if self.count else 0.0

    def percentile(self, percent: float) -> int:
        """The middle of the bucket in which it lies, in nanoseconds; 0 of nothing."""
        wanted, below = percent / 100 * self.count, 0
        for bucket, count in enumerate(self._buckets):
            below += count
            if count and below >= wanted:
                return min(_middle(bucket), self.max)
        return 0

    def sums(self) -> dict[int, int]:
        """By how many bits they have, what the values come to, as near as the buckets tell."""
        sums: dict[int, int] = {}
        for bucket, count in enumerate(self._buckets):
            if count:
                bits = _middle(bucket).bit_length()
                sums[bits] = sums.get(bits, 0) + count * _middle(bucket)
        return sums

    def figures(self) -> dict[str, float]:
        """In seconds, but for the count."""
        points = {f"p{percent}": self.percentile(percent) * 1e-9 for percent in (50, 90, 99)}
        return {"count": self.count, "mean": self.mean * 1e-9, **points, "max": self.max * 1e-9}


def _middle(bucket: int) -> int:
    doublings = max(bucket // _STEPS - 1, 0)
    first = bucket if bucket < _STEPS else (_STEPS + bucket % _STEPS) << doublings
    return first + (1 << doublings) // 2
