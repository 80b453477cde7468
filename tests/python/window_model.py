"""What docs/spec/windows.md defines, written from that page alone: which samples a row of a window has."""


class Window:
    """Samples are numbered as in the dataset, or the view. `groups` is a list of names by sample; `numbers` of order_by
    or at; `has` says which samples have the field, and the fields of the outputs that follow it."""

    def __init__(self, groups, offsets, edge="pad", order_by=None, at=None, has=None):
        self.groups, self.offsets, self.edge, self.at = groups, offsets, edge, at
        self.numbers = at or order_by
        self.samples = [sample for sample in range(len(groups)) if has is None or has[sample]]

    def stands(self, sample):
        """What samples of a group are sorted by."""
        return (self.numbers[sample], sample) if self.numbers else (sample,)

    def steps(self, sample):
        """The steps of the sample's group."""
        return sorted((step for step in self.samples if self.groups[step] == self.groups[sample]), key=self.stands)

    def places(self, sample):
        """Where its steps stand in the group, which need not have such places."""
        steps = self.steps(sample)
        if self.at:
            until = [self.at[sample] + offset for offset in self.offsets]
            return [sum(self.at[step] <= time for step in steps) - 1 for time in until]
        own = sum(self.stands(step) <= self.stands(sample) for step in steps) - 1
        return [own + offset for offset in self.offsets]

    def serves(self, sample):
        """Whether the sample has a row."""
        steps = self.steps(sample)
        if self.edge == "pad":
            return len(steps) > 0
        return all(0 <= place < len(steps) for place in self.places(sample))

    def row(self, sample):
        """(step, inside) for each offset."""
        steps = self.steps(sample)
        return [(steps[max(0, min(place, len(steps) - 1))], 0 <= place < len(steps)) for place in self.places(sample)]
