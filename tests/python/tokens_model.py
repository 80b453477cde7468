"""A model of docs/spec/tokens.md in plain Python: which tokens stand in which block.

Written from that page alone, for the sizes of tests: simple before fast.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from order_model import permutation

TOKENS = 0x746F6B656E73  # the stream of shuffle_documents

Item = tuple[int, int]  # position, tokens


class Segment(NamedTuple):
    """Tokens of a document that follow each other in a block."""

    position: int
    first: int
    count: int


Block = list[Segment]


def order_of(documents: int, seed: int | None) -> list[int]:
    """The document at each position."""
    if seed is None:
        return list(range(documents))
    return [permutation(documents, seed, 0, TOKENS, i) for i in range(documents)]


def cut(lengths: Sequence[int], length: int, last: str = "drop") -> list[Block]:
    """Blocks of documents of those lengths, by position."""
    row = [(i, t) for i, n in enumerate(lengths) for t in range(n)]
    blocks = [row[at : at + length] for at in range(0, len(row), length)]
    if last == "drop" and blocks and len(blocks[-1]) < length:
        blocks.pop()
    return [_segments(block) for block in blocks]


def _segments(tokens: Sequence[tuple[int, int]]) -> Block:
    block: Block = []
    for position, token in tokens:
        if block and block[-1].position == position:
            block[-1] = block[-1]._replace(count=block[-1].count + 1)
        else:
            block.append(Segment(position, token, 1))
    return block


def best_fit_bins(items: Sequence[Item], length: int) -> list[list[Item]]:
    """Items as they are placed into blocks, in the order given."""
    bins: list[list[Item]] = []
    room: list[int] = []
    placed: list[int] = []  # when an item was placed last
    for time, item in enumerate(items):
        fits = [b for b, left in enumerate(room) if left >= item[1]]
        if fits:
            chosen = min(fits, key=lambda b: (room[b], -placed[b]))
        else:
            chosen = len(bins)
            bins.append([])
            room.append(length)
            placed.append(time)
        bins[chosen].append(item)
        room[chosen] -= item[1]
        placed[chosen] = time
    return bins


def best_fit(lengths: Sequence[int], length: int, window: int = 100_000) -> list[Block]:
    """The same, packed."""
    blocks: list[Block] = []
    for begin in range(0, len(lengths), window):
        items: list[Item] = []
        for i in range(begin, min(begin + window, len(lengths))):
            full = lengths[i] // length
            blocks += [[Segment(i, f * length, length)] for f in range(full)]
            if lengths[i] % length:
                items.append((i, lengths[i] % length))
        falling = best_fit_bins(sorted(items, key=lambda item: -item[1]), length)
        given = best_fit_bins(items, length)
        for placed in falling if len(falling) <= len(given) else given:
            blocks.append([Segment(i, lengths[i] - rest, rest) for i, rest in placed])
    return blocks


class Blocks:
    """All fields of all blocks of some documents."""

    def __init__(
        self,
        documents: Sequence[Sequence[int]],
        length: int,
        packing: str = "cut",
        end: int | None = None,
        pad: int = 0,
        last: str = "drop",
        window: int = 100_000,
        shuffle_documents: int | None = None,
    ) -> None:
        order = order_of(len(documents), shuffle_documents)
        ended = [list(d) + ([end] if end is not None and len(d) else []) for d in documents]
        self.documents = [ended[i] for i in order]
        self.length, self.pad = length, pad
        lengths = [len(d) for d in self.documents]
        self.blocks = cut(lengths, length, last) if packing == "cut" else best_fit(lengths, length, window)

    def __len__(self) -> int:
        return len(self.blocks)

    def _padded(self, values: list[int], pad: int) -> list[int]:
        return values + [pad] * (self.length - len(values))

    def tokens(self, block: int) -> list[int]:
        values = [t for p, first, n in self.blocks[block] for t in self.documents[p][first : first + n]]
        return self._padded(values, self.pad)

    def positions(self, block: int) -> list[int]:
        return self._padded([i for segment in self.blocks[block] for i in range(segment.count)], 0)

    def segment_ids(self, block: int) -> list[int]:
        return self._padded([k for k, s in enumerate(self.blocks[block], 1) for _ in range(s.count)], 0)

    def cu_lengths(self, block: int) -> list[int]:
        ends = [0]
        for segment in self.blocks[block]:
            ends.append(ends[-1] + segment.count)
        return ends
