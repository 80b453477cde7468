"""A model of docs/order.md in plain Python: which sample stands in which row.

Written from that page alone, for the sizes of tests: simple before fast.
"""

from __future__ import annotations

import math
import struct
from functools import lru_cache
from typing import Dict, List, Mapping, Optional, Sequence, Tuple, Union

MASK = 2**64 - 1
G = 0x9E3779B97F4A7C15
SHARES = 0x736861726573  # the stream of sampling="shares"
DRAWN = 0x647261776E * 2**24  # that of block 0 of sampling="random"
DRAWN_BLOCK = 4096  # positions
WINDOW = 16  # slots
RESET = 256  # steps until `given` begins anew

Samples = Union[int, Sequence[int]]  # how many there are, or the list given as subset
Row = Tuple[int, bool]  # position, valid


def mix(x: int) -> int:
    """SplitMix64's finalizer."""
    x &= MASK
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB & MASK
    return x ^ (x >> 31)


def key(seed: int, epoch: int, stream: int) -> int:
    """The number from which everything of a stream is drawn."""
    state = mix(seed + G)
    state = mix((state ^ epoch) + G)
    return mix((state ^ stream) + G)


@lru_cache(maxsize=1024)
def _rounds(size: int, seed: int, epoch: int, stream: int) -> Tuple[int, Tuple[int, ...]]:
    """h and the six round keys of a permutation."""
    h = next(h for h in range(3, 33) if size <= 4**h)
    first = key(seed, epoch, stream)
    return h, tuple(mix(first + (r + 1) * G) for r in range(6))


def permutation(size: int, seed: int, epoch: int, stream: int, position: int) -> int:
    """The value of a position below size."""
    if not 0 <= position < size:
        raise IndexError(f"position {position} of {size}")
    h, keys = _rounds(size, seed, epoch, stream)
    low = 2**h - 1
    value = position
    while True:
        left, right = value >> h, value & low
        for k in keys:
            left, right = right, left ^ (mix(right + k) & low)
        value = (left << h) + right
        if value < size:
            return value


class One:
    """The order of one dataset."""

    def __init__(
        self,
        samples: Samples,
        shuffle: bool = False,
        shuffle_block: int = 0,
        seed: int = 0,
        shuffle_window: int = 0,
    ) -> None:
        if shuffle_block and shuffle_window:
            raise ValueError("shuffle_block or shuffle_window, not both")
        self.subset: Optional[List[int]] = None if isinstance(samples, int) else list(samples)
        self.length: int = samples if isinstance(samples, int) else len(samples)
        self.shuffle = shuffle
        self.block = shuffle_block if shuffle else 0
        self.window = shuffle_window if shuffle else 0
        self.seed = seed
        self._orders: Dict[int, List[int]] = {}

    def sample_at(self, epoch: int, position: int) -> int:
        """The sample at a position of an epoch; with a subset the entry of that list."""
        if not 0 <= position < self.length:
            raise IndexError(f"position {position} of {self.length}")
        if self.block:
            sample = self._in_blocks(epoch)[position]
        elif self.window:
            sample = self._in_window(epoch, position)
        elif self.shuffle:
            sample = permutation(self.length, self.seed, epoch, 0, position)
        else:
            sample = position
        return sample if self.subset is None else self.subset[sample]

    def _in_window(self, epoch: int, position: int) -> int:
        """The sample at a position of an epoch with shuffle_window."""
        w, q = divmod(position, self.window)
        first = w * self.window
        m = min(self.window, self.length - first)
        return first + permutation(m, self.seed, epoch, w + 1, q)

    def _in_blocks(self, epoch: int) -> List[int]:
        """An epoch with shuffle_block, window by window."""
        if epoch in self._orders:
            return self._orders[epoch]
        n, b = self.length, self.block
        blocks = -(-n // b)
        slots = [permutation(blocks, self.seed, epoch, 0, slot) for slot in range(blocks)]
        order: List[int] = []
        for w in range(-(-blocks // WINDOW)):
            window = [
                sample
                for block in slots[WINDOW * w : WINDOW * (w + 1)]
                for sample in range(block * b, min((block + 1) * b, n))
            ]
            m = len(window)
            order += [window[permutation(m, self.seed, epoch, w + 1, q)] for q in range(m)]
        if len(self._orders) >= 64:
            self._orders.clear()
        self._orders[epoch] = order
        return order


def source_seed(name: str, seed: int) -> int:
    """The seed of a source of a mixture."""
    fnv = 0xCBF29CE484222325
    for c in name.encode("utf-8"):
        fnv = (fnv ^ c) * 0x100000001B3 & MASK
    return mix(seed + mix(fnv))


def parts(weights: Sequence[float]) -> List[int]:
    """The weights as parts of about 2^32."""
    if any(not math.isfinite(w) or w < 0 for w in weights):
        raise ValueError("weights are finite and not negative")
    total = 0.0
    for w in weights:  # not sum(), which from Python 3.12 on does not round each addition
        total += w
    if not 0 < total < math.inf:
        raise ValueError("a source needs a weight")
    return [max(1, math.floor(w / total * 2.0**32 + 0.5)) if w > 0 else 0 for w in weights]


class _Node:
    """A leaf (with a source), or a node with two children."""

    def __init__(
        self,
        number: int,
        weight: int,
        source: int = -1,
        lighter: Optional[_Node] = None,
        heavier: Optional[_Node] = None,
        place: int = -1,
    ) -> None:
        self.number = number
        self.parts = weight
        self.source = source
        self.lighter = lighter
        self.heavier = heavier
        self.place = place  # i: of the nodes that were made
        self.narrow = False

    def light(self, m: int) -> int:
        """How many of m positions belong to the lighter child."""
        assert self.lighter is not None
        return (2 * m * self.lighter.parts + self.parts - 1) // (2 * self.parts)


def tree(weights: Sequence[int]) -> _Node:
    """The root of the tree of parts."""
    k = len(weights)
    nodes = [_Node(s, w, source=s) for s, w in enumerate(weights) if w > 0]
    made = 0
    while len(nodes) > 1:
        nodes.sort(key=lambda node: (node.parts, node.number))
        a, b = nodes[:2]
        nodes = nodes[2:] + [_Node(k + made, a.parts + b.parts, lighter=a, heavier=b, place=made)]
        made += 1
    _mark_narrow(nodes[0], [])
    return nodes[0]


def _mark_narrow(node: _Node, above: List[_Node]) -> None:
    """Marks the narrow nodes; above are those above this one, the root first."""
    if node.lighter is not None and node.heavier is not None:
        _mark_narrow(node.lighter, above + [node])
        _mark_narrow(node.heavier, above + [node])
        return
    bound = 1.0
    for a in reversed(above[1:]):
        bound += node.parts / a.parts
    if bound > 2:
        for a in above:
            a.narrow = True


class Mixture:
    """The order of a mixture. `since` and `before` (of a source by its name) are E0 and B of a state carried over."""

    def __init__(
        self,
        sources: Mapping[str, Samples],
        weights: Mapping[str, float],
        stop: Union[str, int] = "first_exhausted",
        sampling: str = "shares",
        shuffle: bool = False,
        shuffle_block: int = 0,
        seed: int = 0,
        since: int = 0,
        before: Optional[Mapping[str, int]] = None,
    ) -> None:
        if sampling not in ("shares", "random"):
            raise ValueError(f"sampling {sampling!r}")
        self.names = list(sources)
        self.k = len(self.names)
        self.parts = parts([weights[name] for name in self.names])
        self.ones = [One(sources[name], shuffle, shuffle_block, source_seed(name, seed)) for name in self.names]
        if any(one.length == 0 and w > 0 for one, w in zip(self.ones, self.parts)):
            raise ValueError("a source with a weight has no samples")
        self.sampling = sampling
        self.seed = seed
        self.since = since
        self.before = [(before or {}).get(name, 0) for name in self.names]
        self.root = tree(self.parts)
        self.length = self._length(stop)
        self.per_epoch = self.counts(self.length)
        self._epochs: Dict[int, List[Tuple[int, int]]] = {}
        self._counted: Dict[int, List[List[int]]] = {}

    def counts(self, m: int) -> List[int]:
        """c(s, m) of all sources."""
        result = [0] * self.k

        def walk(node: _Node, m: int) -> None:
            if node.lighter is None or node.heavier is None:
                result[node.source] = m
                return
            light = node.light(m)
            walk(node.lighter, light)
            walk(node.heavier, m - light)

        walk(self.root, m)
        return result

    def _length(self, stop: Union[str, int]) -> int:
        """N, the positions of an epoch."""
        if isinstance(stop, int):
            return stop
        sizes = [one.length for one in self.ones]

        def above(m: int) -> bool:
            return any(c > n for c, n in zip(self.counts(m), sizes))

        def enough(m: int) -> bool:
            return all(c >= n for c, n, w in zip(self.counts(m), sizes, self.parts) if w > 0)

        if stop not in ("first_exhausted", "all_exhausted"):
            raise ValueError(f"stop {stop!r}")
        reached = above if stop == "first_exhausted" else enough
        low, high = -1, 1  # reached(high), not reached(low): counts do not fall where m grows
        while not reached(high):
            low, high = high, high * 2
        while high - low > 1:
            middle = (low + high) // 2
            if reached(middle):
                high = middle
            else:
                low = middle
        return high - 1 if stop == "first_exhausted" else high

    def positions(self, epoch: int) -> List[Tuple[int, int]]:
        """(s, x) of all positions of an epoch: each is the x-th position of source s in it."""
        if epoch not in self._epochs:
            if len(self._epochs) >= 8:
                self._epochs.clear()
            self._epochs[epoch] = self._shares(epoch) if self.sampling == "shares" else self._random(epoch)
        return self._epochs[epoch]

    def _shares(self, epoch: int) -> List[Tuple[int, int]]:
        result = [(-1, -1)] * self.length
        base = key(self.seed, epoch, SHARES)

        def walk(node: _Node, here: List[int]) -> None:
            """Gives the positions of the epoch that this node has, in their order, to its leaves."""
            if node.lighter is None or node.heavier is None:
                for x, p in enumerate(here):
                    result[p] = (node.source, x)
                return
            lighter = self._places(node, len(here), mix(base + (node.place + 1) * G))
            others = set(lighter)
            walk(node.lighter, [here[p] for p in lighter])
            walk(node.heavier, [p for i, p in enumerate(here) if i not in others])

        walk(self.root, list(range(self.length)))
        return result

    @staticmethod
    def _places(node: _Node, m: int, k: int) -> List[int]:
        """place(0), place(1), ...: those of the node's m positions that the lighter child has."""
        assert node.lighter is not None
        t, l = node.parts, node.lighter.parts
        places = []
        for j in range(node.light(m)):
            begin = -(-j * t // l)
            room = min(-(-(j + 1) * t // l), m) - begin
            if node.narrow:
                middle = max(room // 8, 1)
                begin += (room - middle) // 2
                room = middle
            draw = mix(k + j * G) >> 32
            places.append(begin + draw * room // 2**32)
        return places

    def _random(self, epoch: int) -> List[Tuple[int, int]]:
        result: List[Tuple[int, int]] = []
        for f in range(0, self.length, DRAWN_BLOCK):
            e = min(f + DRAWN_BLOCK, self.length)
            values = [
                (s, x) for s, (first, end) in enumerate(zip(self.counts(f), self.counts(e))) for x in range(first, end)
            ]
            stream = DRAWN + f // DRAWN_BLOCK
            result += [values[permutation(e - f, self.seed, epoch, stream, i)] for i in range(e - f)]
        return result

    def row(self, epoch: int, position: int) -> Tuple[int, int, int]:
        """The source, its sample, and the passes over the source that the epoch had before that of this row."""
        if not 0 <= position < self.length:
            raise IndexError(f"position {position} of {self.length}")
        s, x = self.positions(epoch)[position]
        n = self.ones[s].length
        first = self._given_before(epoch, s)
        g = first + x

        return s, self.ones[s].sample_at(g // n, g % n), g // n - first // n

    def _given_before(self, epoch: int, s: int) -> int:
        """What source s gave, ever, before an epoch."""
        return self.before[s] + (epoch - self.since) * self.per_epoch[s]

    def counted(self, epoch: int, position: int) -> List[int]:
        """How many of the first positions of an epoch are of each source, as they stand there."""
        if epoch not in self._counted:
            so_far = [0] * self.k
            table = [list(so_far)]
            for s, _ in self.positions(epoch):
                so_far[s] += 1
                table.append(list(so_far))
            if len(self._counted) >= 8:
                self._counted.clear()
            self._counted[epoch] = table
        return self._counted[epoch][position]

    def taken(self, epoch: int, position: int) -> List[int]:
        """What each source gave, ever, before a position of an epoch."""
        counted = self.counted(epoch, min(position, self.length))
        return [self._given_before(epoch, s) + c for s, c in enumerate(counted)]

    def carried(self, epoch: int, position: int) -> Tuple[int, Dict[str, int]]:
        """`since` and `before` of a mixture of other weights or sources that goes on here, with on_change="carry"."""
        return epoch if position == 0 else epoch + 1, dict(zip(self.names, self.taken(epoch, position)))


Order = Union[One, Mixture]


def steps(length: int, batch_size: int, world: int, last: str, start: int = 0) -> int:
    """How many steps the rest of an epoch has."""
    left, whole = max(length - start, 0), world * batch_size
    return left // whole if last == "drop" else -(-left // whole)


def batches(
    order: Order, epoch: int, batch_size: int, rank: int, world: int, last: str, start: int = 0
) -> List[List[Row]]:
    """The batches of a rank from `start` on: of each row the position, and whether it is valid."""
    if last not in ("drop", "pad", "keep"):
        raise ValueError(f"last {last!r}")
    n, whole = order.length, world * batch_size
    dealing = _Dealing(order, epoch, batch_size, world) if isinstance(order, Mixture) else None
    result: List[List[Row]] = []
    for b in range(steps(n, batch_size, world, last, start)):
        begin = start + b * whole
        if begin + whole > n:
            rows = batch_size if last == "pad" else min(batch_size, n - begin)
            first = begin + rank * batch_size

            result.append([(p % n, p < n) for p in range(first, first + rows)])
        elif dealing is not None and order.sampling == "shares":
            result.append([(p, True) for p in dealing.step(b, begin)[rank]])
        else:
            first = begin + rank * batch_size
            result.append([(p, True) for p in range(first, first + batch_size)])
    return result


class _Dealing:
    """Deals the whole steps of an epoch to the ranks; they have to be asked for from step 0 on, one by one."""

    def __init__(self, mixture: Mixture, epoch: int, batch_size: int, world: int) -> None:
        self.mixture = mixture
        self.epoch = epoch
        self.batch_size = batch_size
        self.world = world
        self.given: List[List[int]] = []  # of each rank, of each source

    def step(self, b: int, begin: int) -> List[List[int]]:
        """The positions of each rank."""
        k, world = self.mixture.k, self.world
        positions = self.mixture.positions(self.epoch)
        of_source: List[List[int]] = [[] for _ in range(k)]
        for p in range(begin, begin + world * self.batch_size):
            of_source[positions[p][0]].append(p)

        if b % RESET == 0:
            a = self.mixture.counted(self.epoch, begin)
            self.given = [[1 if r < a[s] % world else 0 for s in range(k)] for r in range(world)]

        got = [[len(of_source[s]) // world for s in range(k)] for _ in range(world)]
        room = [self.batch_size - sum(got[r]) for r in range(world)]
        for s in [(b + i) % k for i in range(k)] if k > 2 else range(k):
            left = len(of_source[s]) % world
            while left > 0:
                ranks = sorted((r for r in range(world) if room[r] > 0), key=lambda r: (self.given[r][s], r))[:left]
                for r in ranks:
                    got[r][s] += 1
                    self.given[r][s] += 1
                    room[r] -= 1
                left -= len(ranks)

        result: List[List[int]] = [[] for _ in range(world)]
        for s in range(k):
            at = 0
            for r in range(world):
                result[r] += of_source[s][at : at + got[r][s]]
                at += got[r][s]
        return [sorted(rows) for rows in result]


BATCHES = 0x62617463686573  # the stream of window 0's batches
ROWS = 0x726F777300000000  # that of the rows of a batch that begins at place 0


class Buckets:
    """One epoch of batches by length: the places of its windows, and its global batches."""

    def __init__(
        self,
        lengths: Sequence[float],
        window: int,
        batch_size: int,
        world: int,
        budget: Optional[float],
        shuffle: bool,
        seed: int,
        epoch: int,
    ) -> None:
        """`lengths`: that of the sample at each position of the epoch."""
        self.length = len(lengths)
        self.budget, self.ranks = budget, world
        self.positions: List[int] = []  # of each place
        self.batches: List[Tuple[int, int]] = []  # first place, places
        rows = batch_size * world
        size = max(1, window // rows) * rows
        unit = rows if budget is None else world
        for w, begin in enumerate(range(0, self.length, size)):
            here = list(range(begin, min(begin + size, self.length)))
            k = len(here) // unit * unit
            order = sorted(here[:k], key=lambda p: (-lengths[p], p))
            cut = []
            while order:
                longest = lengths[order[0]]
                fit = batch_size if budget is None or longest == 0 else min(batch_size, math.floor(budget / longest))
                cut.append(order[: fit * world])
                order = order[fit * world :]
            for t in range(len(cut)):
                batch = cut[permutation(len(cut), seed, epoch, BATCHES + w, t)] if shuffle else cut[t]
                first = len(self.positions)
                if shuffle:
                    batch = [batch[permutation(len(batch), seed, epoch, ROWS + first, i)] for i in range(len(batch))]
                self.batches.append((first, len(batch)))
                self.positions += batch
            if k < len(here):
                self.batches.append((len(self.positions), len(here) - k))
                self.positions += here[k:]

    def rank(
        self, batch_size: int, rank: int, world: int, last: str, start: int = 0, batch: int = 0
    ) -> List[List[Row]]:
        """What a rank has of the epoch from step `batch` on: of each row the position, and whether it is valid."""
        if self.budget is None:
            n, whole = self.length, world * batch_size
            result = []
            for b in range(steps(n, batch_size, world, last, start)):
                begin = start + b * whole
                rows = batch_size if last == "pad" or begin + whole <= n else min(batch_size, n - begin)
                first = begin + rank * batch_size
                result.append([(self.positions[p % n], p < n) for p in range(first, first + rows)])
            return result[batch:]
        result = []
        for f, s in self.batches:
            if last == "drop" and f >= self.length - self.length % self.ranks:
                break
            q = -(-s // world)
            result.append([(self.positions[f + i % s], i < s) for i in range(rank * q, (rank + 1) * q)])
        return result[batch:]


def fingerprint_of_lengths(lengths: Sequence[Optional[float]]) -> int:
    h = 0
    for length in lengths:
        bits = MASK if length is None else int.from_bytes(struct.pack("<d", length), "little")
        h = mix((h ^ bits) + G)
    return h
