"""What docs/windows.md defines, written from that page alone: which samples a row of a window has."""

import bisect


class Window:
    """Samples are numbered as in the dataset. `groups` is a list of names by sample; `numbers` of order_by or at;
    `has` says which samples have the field."""

    def __init__(self, groups, offsets, edge="pad", order_by=None, at=None, has=None):
        self.offsets, self.edge, self.at = offsets, edge, at
        numbers = at or order_by or list(range(len(groups)))
        self.numbers = numbers
        self.groups = groups
        self.steps = {}
        for sample in sorted(range(len(groups)), key=lambda sample: (numbers[sample], sample)):
            if has is None or has[sample]:
                self.steps.setdefault(groups[sample], []).append(sample)

    def places(self, sample):
        steps = self.steps.get(self.groups[sample], [])
        order = [(self.numbers[step], step) for step in steps]
        if self.at:
            return [
                bisect.bisect_right([n for n, _ in order], self.numbers[sample] + offset) - 1 for offset in self.offsets
            ]
        own = bisect.bisect_right(order, (self.numbers[sample], sample)) - 1
        return [own + offset for offset in self.offsets]

    def serves(self, sample):
        steps = self.steps.get(self.groups[sample], [])
        if not steps:
            return False
        return self.edge == "pad" or all(0 <= place < len(steps) for place in self.places(sample))

    def row(self, sample):
        """(step, inside) for each offset."""
        steps = self.steps[self.groups[sample]]
        return [(steps[min(max(place, 0), len(steps) - 1)], 0 <= place < len(steps)) for place in self.places(sample)]
