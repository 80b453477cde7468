"""What resuming.py would tell: states, orders and batches that are not quite those of the model."""

import functools

import numpy as np
import order_model
import penstock as ps
import pytest
from resuming import Epochs, goes_on, positions

SIZE = 61


@pytest.fixture(name="dataset", scope="module")
def dataset_fixture(tmp_path_factory):
    folder = tmp_path_factory.mktemp("resuming")
    for i in range(SIZE):
        np.save(folder / f"{i:03}.npy", np.full(1, i, np.int32))
    return ps.open(folder)


class Mistaken:
    """A loader whose state is read, or written, with one number changed; or that loses a row."""

    def __init__(self, dataset, wrong, **options):
        self.loader = ps.Loader(dataset, shuffle=True, workers=1, **options)
        self.wrong = wrong

    def set_epoch(self, epoch):
        self.loader.set_epoch(epoch)

    def __iter__(self):
        return iter(self.loader)

    def state_dict(self):
        state = self.loader.state_dict()
        return {**state, "batch": max(state["batch"] - 1, 0)} if self.wrong == "written" else state

    def load_state_dict(self, state):
        if self.wrong in ("batch", "start", "epoch", "seed"):
            self.loader.load_state_dict({**state, self.wrong: int(state[self.wrong]) + 1})
        elif self.wrong != "forgotten":
            self.loader.load_state_dict(state)


def rows_of(batch):
    return list(zip(batch["npy"].numpy()[:, 0].tolist(), batch["__valid__"].tolist()))


def model_of(seed):
    order = order_model.One(SIZE, shuffle=True, seed=seed)
    return Epochs(order, lambda epoch, position: (order.sample_at(epoch, position),))


def test_loaders_are_what_the_model_says(dataset):
    for draw in positions("right"):
        goes_on(draw, model_of(3), functools.partial(Mistaken, dataset, None, seed=3), rows_of)


@pytest.mark.parametrize("wrong", ["batch", "start", "epoch", "seed", "written", "forgotten"])
def test_a_changed_state_is_told(dataset, wrong):
    told, draws = 0, list(positions("wrong"))
    for draw in draws:
        try:
            goes_on(draw, model_of(3), functools.partial(Mistaken, dataset, wrong, seed=3), rows_of)
        except (AssertionError, ps.Error):
            told += 1
    assert told > 0.6 * len(draws)


def test_another_order_is_told(dataset):
    for draw in positions("order"):
        with pytest.raises(AssertionError):
            goes_on(draw, model_of(4), functools.partial(Mistaken, dataset, None, seed=3), rows_of)
