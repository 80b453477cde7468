"""States that go on from anywhere: loaders are left and taken up again on other ranks, and each batch is a model's."""

import json
import os
import random

import order_model

WORLDS = [1, 2, 3, 8]
LEGS = 3  # a loader begins, another goes on, and a third one after that


def positions(seed, few=25):
    """A source of chance for each position that is resumed from: few, or PENSTOCK_POSITIONS of them (the campaign: 1000)."""
    for number in range(int(os.environ.get("PENSTOCK_POSITIONS", str(few)))):
        yield random.Random(f"{seed} {number}")


class Epochs:
    """What a loader delivers by a model of the order: `row(epoch, position)` is what a row shows, as a tuple."""

    def __init__(self, order, row, last="keep"):
        self.order, self.row, self.last = order, row, last

    def begin(self, epoch, batch_size, world):
        """Where an epoch begins for ranks of that shape."""
        return epoch, 0

    def after(self, where, batches, batch_size, world):
        """Where others go on, after so many batches of ranks of that shape from there."""
        epoch, start = where
        return epoch, start + batches * batch_size * world

    def rest(self, where, batch_size, rank, world):
        """The batches of a rank from there on, to the end of the epoch: (what the row shows, valid) for each row."""
        epoch, start = where
        batches = order_model.batches(self.order, epoch, batch_size, rank, world, self.last, start)
        return [[(*self.row(epoch, position), valid) for position, valid in rows] for rows in batches]

    def epoch(self, epoch, batch_size, rank=0, world=1):
        """The batches of a rank of an epoch."""
        return self.rest(self.begin(epoch, batch_size, world), batch_size, rank, world)


def any_shape(draw):
    """(batch_size, world)"""
    return draw.randint(1, 9), draw.choice(WORLDS)


def goes_on(draw, model, loader_of, rows_of, shape_of=any_shape, epochs=4):
    """A loader is left somewhere in an epoch, others take it up and are left themselves, mostly with another shape.

    `loader_of(batch_size=, rank=, world=)` makes one, `rows_of(batch)` is compared with `model` (as Epochs). All ranks of
    the second shape go on to the end, one of the third also through the next epoch.
    """
    epoch, shape, state, passed = draw.randrange(epochs), shape_of(draw), None, 0
    where = model.begin(epoch, *shape)
    for leg in range(LEGS):
        if leg > 0 and draw.random() < 0.8:
            other = shape_of(draw)
            if other != shape:
                where, passed, shape = model.after(where, passed, *shape), 0, other
        batch_size, world = shape

        def taken_up(rank, batch_size=batch_size, world=world, state=state):
            loader = loader_of(batch_size=batch_size, rank=rank, world_size=world)
            if state is None:
                loader.set_epoch(epoch)
            else:
                loader.load_state_dict(state)
            return loader

        def told(rank, at):
            return f"rank {rank} of {world}, batch_size {batch_size}, batch {at} of epoch {epoch}, leg {leg}"

        rank = draw.randrange(world)
        wanted = {r: model.rest(where, batch_size, r, world)[passed:] for r in range(world)}
        if leg == LEGS - 1:
            loader = taken_up(rank)
            assert [rows_of(batch) for batch in loader] == wanted[rank], told(rank, passed)
            begin = model.begin(epoch + 1, batch_size, world)
            assert [rows_of(batch) for batch in loader] == model.rest(begin, batch_size, rank, world), told(rank, "all")
            return
        if leg > 0:
            for every in range(world):
                got = [rows_of(batch) for batch in taken_up(every)]
                assert got == wanted[every], told(every, passed)
        if not wanted[rank]:
            return
        loader = taken_up(rank)
        batches = iter(loader)
        taken = draw.randrange(len(wanted[rank]))
        for at in range(taken):
            assert rows_of(next(batches)) == wanted[rank][at], told(rank, passed + at)
        state = json.loads(json.dumps(loader.state_dict()))
        passed += taken
