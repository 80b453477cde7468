"""A model of "A schedule" of docs/order.md in plain Python: the rows of a mixture whose weights change.

Written from that page alone, for the sizes of tests: simple before fast. A phase may be as long as the training, so
nothing here has a list of its positions: one position at a time is walked down the tree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from order_model import DRAWN, DRAWN_BLOCK, SHARES, G, Mixture, Samples, _Node, key, mix, parts, permutation, tree

END = 2**48  # of the training


class _Phase:
    """An epoch of `length` positions of a mixture of k sources, of which single positions are asked for."""

    def __init__(self, weights: Sequence[int], sampling: str, seed: int, number: int, begin: int, end: int) -> None:
        self.k = len(weights)
        self.parts = list(weights)
        self.root = tree(weights)
        self.sampling = sampling
        self.seed = seed
        self.number = number  # the epoch, in all keys
        self.begin = begin  # in the training
        self.length = end - begin
        self._blocks: dict[int, list[tuple[int, int]]] = {}

    def counts(self, m: int) -> list[int]:
        """c(s, m) of all sources: what an epoch of m positions has of them."""
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

    def at(self, p: int) -> tuple[int, int]:
        """(s, x): position p is the x-th position of source s in the phase."""
        if not 0 <= p < self.length:
            raise IndexError(f"position {p} of {self.length}")
        if self.sampling == "random":
            return self._block(p // DRAWN_BLOCK)[p % DRAWN_BLOCK]
        node, m = self.root, self.length
        while node.lighter is not None and node.heavier is not None:
            lighter, heavier, light = node.lighter, node.heavier, node.light(m)
            below, is_place = self._places_below(node, m, p)
            node, m, p = (lighter, light, below) if is_place else (heavier, m - light, p - below)
        return node.source, p

    def before(self, p: int) -> list[int]:
        """How many of the first p positions are of each source, as they stand there."""
        if not 0 <= p <= self.length:
            raise IndexError(f"position {p} of {self.length}")
        if self.sampling == "random":
            f = p // DRAWN_BLOCK * DRAWN_BLOCK
            result = self.counts(f)
            for s, _ in self._block(p // DRAWN_BLOCK)[: p - f] if p > f else []:
                result[s] += 1
            return result
        result = [0] * self.k

        def walk(node: _Node, m: int, p: int) -> None:
            if node.lighter is None or node.heavier is None:
                result[node.source] = p
                return
            light = node.light(m)
            below, _ = self._places_below(node, m, p)
            walk(node.lighter, light, below)
            walk(node.heavier, m - light, p - below)

        walk(self.root, self.length, p)
        return result

    def _places_below(self, node: _Node, m: int, p: int) -> tuple[int, bool]:
        """How many of the lighter child's places among the node's m positions are below p, and whether p is one."""
        assert node.lighter is not None
        # begin(j) <= p where j * t <= p * l
        begun = min(p * node.lighter.parts // node.parts + 1, node.light(m))
        if begun == 0:
            return 0, False
        place = self._place(node, m, begun - 1)  # those before lie in intervals that end before p
        return (begun, False) if place < p else (begun - 1, place == p)

    def _place(self, node: _Node, m: int, j: int) -> int:
        """place(j): which of the node's m positions is the lighter child's j-th."""
        assert node.lighter is not None
        t, l = node.parts, node.lighter.parts
        begin = -(-j * t // l)
        room = min(-(-(j + 1) * t // l), m) - begin
        if node.narrow:
            middle = max(room // 8, 1)
            begin += (room - middle) // 2
            room = middle
        k = mix(key(self.seed, self.number, SHARES) + (node.place + 1) * G)
        return begin + (mix(k + j * G) >> 32) * room // 2**32

    def _block(self, q: int) -> list[tuple[int, int]]:
        """(s, x) of the positions of block q of sampling="random"."""
        if q not in self._blocks:
            f = q * DRAWN_BLOCK
            e = min(f + DRAWN_BLOCK, self.length)
            values = [
                (s, x) for s, (first, end) in enumerate(zip(self.counts(f), self.counts(e))) for x in range(first, end)
            ]
            if len(self._blocks) >= 64:
                self._blocks.clear()
            self._blocks[q] = [values[permutation(e - f, self.seed, self.number, DRAWN + q, i)] for i in range(e - f)]
        return self._blocks[q]


class Scheduled(Mixture):
    """The order of a mixture with a schedule, whose epochs have `stop` positions.

    What it has from Mixture as `parts`, `root`, `counts()` and `per_epoch` is phase 0's, and not used here. The x of
    positions() can be negative with sampling="random", where a block of draws goes on over the end of an epoch.
    """

    def __init__(
        self,
        sources: Mapping[str, Samples],
        weights: Mapping[str, float],
        schedule: Sequence[tuple[int, Mapping[str, float]]],
        stop: int,
        sampling: str = "shares",
        shuffle: bool = False,
        shuffle_block: int = 0,
        seed: int = 0,
        since: int = 0,
        before: Mapping[str, int] | None = None,
    ) -> None:
        if not isinstance(stop, int) or stop < 1:
            raise ValueError(f"stop {stop!r}")
        super().__init__(sources, weights, stop, sampling, shuffle, shuffle_block, seed, since, before)
        begins = [0] + [position for position, _ in schedule] + [END]
        if any(a > b for a, b in zip(begins, begins[1:])):
            raise ValueError(f"positions {begins[1:-1]} of a schedule")
        self.phases: list[_Phase] = []
        self._behind: list[list[int]] = [[0] * self.k]  # what the phases before each one have of each source
        for i, given in enumerate([weights] + [given for _, given in schedule]):
            numbers = parts([given[name] for name in self.names])
            if any(one.length == 0 and w > 0 for one, w in zip(self.ones, numbers)):
                raise ValueError("a source with a weight has no samples")
            phase = _Phase(numbers, sampling, seed, i, begins[i], begins[i + 1])
            self.phases.append(phase)
            self._behind.append([a + c for a, c in zip(self._behind[-1], phase.counts(phase.length))])

    def phase(self, position: int) -> int:
        """The phase of a position of the training."""
        if not 0 <= position < END:
            raise IndexError(f"position {position} of the training")
        return max(i for i, phase in enumerate(self.phases) if phase.begin <= position)

    def in_training(self, position: int) -> tuple[int, int]:
        """(s, x): a position of the training is the x-th position of source s in it."""
        i = self.phase(position)
        s, x = self.phases[i].at(position - self.phases[i].begin)
        return s, self._behind[i][s] + x

    def training_before(self, position: int) -> list[int]:
        """How many positions before one of the training are of each source."""
        i = self.phase(position)
        return [a + c for a, c in zip(self._behind[i], self.phases[i].before(position - self.phases[i].begin))]

    def positions(self, epoch: int) -> list[tuple[int, int]]:
        """(s, x) of all positions of an epoch: each is the x-th position of source s in it."""
        if epoch not in self._epochs:
            first = epoch * self.length
            behind = self.training_before(first)
            found = [self.in_training(position) for position in range(first, first + self.length)]
            if len(self._epochs) >= 8:
                self._epochs.clear()
            self._epochs[epoch] = [(s, x - behind[s]) for s, x in found]
        return self._epochs[epoch]

    def _given_before(self, epoch: int, s: int) -> int:
        """What source s gave, ever, before an epoch."""
        now, then = (self.training_before(e * self.length)[s] for e in (epoch, self.since))
        return self.before[s] + now - then
