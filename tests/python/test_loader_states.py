"""Tests saved states of penstock.Loader: where they continue, and which are refused."""

import json
import warnings

import penstock as ps
import pytest
from loading import FIELDS


@pytest.mark.parametrize("load_after_iter", [False, True])
def test_a_saved_state_continues_at_the_next_batch(arrays, load_after_iter):
    options = {"batch_size": 8, "shuffle": True, "seed": 5, "transforms": FIELDS}
    whole = ps.Loader(arrays, **options)
    epochs = [[batch["__key__"] for batch in whole] for _ in range(2)]
    saved = ps.Loader(arrays, **options)
    for number, _ in enumerate(saved):
        if number == 1:
            break
    state = json.loads(json.dumps(saved.state_dict()))
    restored = ps.Loader(arrays, **options)
    if load_after_iter:
        iterator = iter(restored)
        restored.load_state_dict(state)
        rest = [batch["__key__"] for batch in iterator]
    else:
        restored.load_state_dict(state)
        rest = [batch["__key__"] for batch in restored]
    assert rest == epochs[0][2:]
    assert [batch["__key__"] for batch in restored] == epochs[1]


def test_a_state_of_another_dataset_or_of_nothing_is_refused(arrays, icons):
    loader = ps.Loader(arrays, transforms=FIELDS)
    with pytest.raises(ps.Error, match="dataset"):
        loader.load_state_dict(ps.Loader(icons, transforms={"cls": ps.label()}).state_dict())
    with pytest.raises(ps.Error, match="loader state"):
        loader.load_state_dict({})


def test_a_state_of_another_order_is_refused_and_another_seed_or_chain_is_told(arrays):
    options = {"batch_size": 8, "shuffle": True, "transforms": FIELDS}
    blocks = {**options, "shuffle": ps.shuffle.blocks(16)}
    state = json.loads(json.dumps(ps.Loader(arrays, seed=7, **blocks).state_dict()))
    loader = ps.Loader(arrays, **options)
    with pytest.raises(ps.Error, match="saved with shuffle_block=16, this loader has none") as raised:
        loader.load_state_dict(state)
    assert raised.value.kind == "invalid_argument"
    state = ps.Loader(arrays, seed=7, batch_size=8, shuffle=True, transforms={"cls": ps.label()}).state_dict()
    with pytest.warns(UserWarning, match="its own seed=7 instead of this loader's seed=0.*other codecs or transforms"):
        loader.load_state_dict(state)
    assert "seed=7" in loader.stats()["notes"]
    with pytest.warns(UserWarning, match="version 1, which does not record shuffle"):
        loader.load_state_dict({**state, "penstock_state": 1})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loader.load_state_dict({**ps.Loader(arrays, **options).state_dict(), "of a later penstock": [1]})
    assert loader.stats()["notes"] == ""
    with pytest.raises(ps.Error, match="version 3 was written by a newer penstock"):
        loader.load_state_dict({**state, "penstock_state": 3})
