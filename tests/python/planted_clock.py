"""A clock that a test moves, and a loader that takes as long as it is told, for tests of ps.profile()."""

import pytest
from penstock._profile import profile, scheduling

MS = 1_000_000


class Clock:
    """Stands still, but for what a test says."""

    def __init__(self):
        self.now, self.calls = 1000 * MS, 0

    def __call__(self):
        self.calls += 1
        return self.now

    def passes(self, milliseconds):
        self.now += int(milliseconds * MS)


@pytest.fixture(name="clock")
def clock_fixture(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(profile, "_now", clock)
    monkeypatch.setattr(scheduling, "_now", clock)
    return clock


class Planted:
    """A loader whose batches take as long as is said; any number of epochs."""

    def __init__(self, clock, waits, ends=0, begins=0):
        self.clock, self.waits, self.ends, self.begins = clock, waits, ends, begins

    def __iter__(self):
        self.clock.passes(self.begins)
        return self._batches()

    def _batches(self):
        for wait in self.waits:
            self.clock.passes(wait)
            yield wait
        self.clock.passes(self.ends)

    def __len__(self):
        return len(self.waits)


def run(loader, clock, step, epochs=1):
    for _ in range(epochs):
        for _ in loader:
            clock.passes(step)


@pytest.fixture(name="torch_data")
def torch_data_fixture():
    return pytest.importorskip("torch.utils.data")
