"""Orders drawn at random: what a loader takes for one, and the model of it that docs/order.md is."""

import draws_model
import order_model
import penstock as ps
import schedule_model

ONE = ["plain", "shuffle", "block", "window", "weights", "once", "repeats", "balance"]  # of one dataset
MIXED = ["shares", "random", "schedule"]  # of several


def order_of_one(draw, kind, numbers, serve, classes, seed):
    """(options, order) for the samples `serve`; `numbers` of all samples, of whole numbers, and `classes`, texts, which
    are the dataset's fields json:weight and json:kind. None where no sample has a number."""
    mine = [numbers[s] for s in serve]
    if not serve or (kind in ("weights", "once", "repeats") and not any(mine)):
        return None
    count = draw.choice([None, draw.randint(1, 90)])
    if kind == "weights":
        return {"shuffle": True, "sampler": ps.sampler.weighted(numbers, num_samples=count)}, draws_model.Weighted(
            mine, seed, count
        )
    if kind == "once":
        options = {"shuffle": True, "sampler": ps.sampler.weighted("json:weight", replacement=False)}
        return options, draws_model.Once(mine, seed)
    if kind == "repeats":
        return {"shuffle": True, "sampler": ps.sampler.repeated(numbers, num_samples=count)}, draws_model.Repeated(
            mine, seed, True, samples=count
        )
    if kind == "balance":
        order = draws_model.Balanced([classes[s] for s in serve], seed, True, samples=count)
        return {"shuffle": True, "sampler": ps.sampler.balanced("json:kind", num_samples=count)}, order
    size = draw.randint(1, 20)
    if kind == "block":
        return {"shuffle": ps.shuffle.blocks(size)}, order_model.One(len(serve), True, size, seed)
    if kind == "window":
        return {"shuffle": ps.shuffle.window(size)}, order_model.One(len(serve), True, 0, seed, size)
    return {"shuffle": kind == "shuffle"}, order_model.One(len(serve), kind == "shuffle", 0, seed)


def order_of_mixture(draw, kind, serve, seed):
    """(make, options, order) of sources that have the samples `serve[name]`; `make(datasets)` is the mixture. None where
    a source has none, or an epoch no position."""
    if not all(serve.values()):
        return None
    weights = {name: draw.randint(1, 5) for name in serve}
    options = {"sampling": kind, "stop": draw.choice(["first_exhausted", "all_exhausted", draw.randint(1, 150)])}
    model = order_model.Mixture
    if kind == "schedule":
        begins = sorted(draw.sample(range(1, 400), draw.randint(1, 3)))
        changes = [(begin, {name: draw.randint(1, 5) for name in serve}) for begin in begins]
        options = {"schedule": changes, "stop": draw.randint(50, 150)}
        model = schedule_model.Scheduled
    order = model(serve, weights, shuffle=True, seed=seed, **options)
    return (
        (lambda datasets: ps.mixture(datasets, weights, **options), {"shuffle": True}, order) if order.length else None
    )
