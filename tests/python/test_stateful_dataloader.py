"""penstock.torch in torchdata's StatefulDataLoader: its state is the loader's position, also in worker processes."""

import shutil

import penstock as ps
import pytest

torch = pytest.importorskip("torch")
stateful_dataloader = pytest.importorskip("torchdata.stateful_dataloader")


def loader(arrays, workers):
    dataset = ps.torch.Loader(arrays, batch_size=4, shuffle=True, seed=1, transforms={"cls": ps.label()})
    return stateful_dataloader.StatefulDataLoader(dataset, batch_size=None, num_workers=workers)


def keys(batches):
    return [tuple(batch["__key__"]) for batch in batches]


@pytest.mark.parametrize("workers", [0, 2])
def test_a_state_continues_at_the_next_batch_and_then_in_the_next_epoch(workers, arrays):
    whole = loader(arrays, workers)
    epochs = [keys(whole) for _ in range(3)]
    for epoch in epochs:
        assert sorted(key for batch in epoch for key in batch) == [f"{i:03}" for i in range(40)]
    assert epochs[0] != epochs[1] != epochs[2]

    for taken in (0, 1, 5, 9, 10):
        first = loader(arrays, workers)
        iterator = iter(first)
        assert keys(next(iterator) for _ in range(taken)) == epochs[0][:taken]
        state = first.state_dict()
        second = loader(arrays, workers)
        second.load_state_dict(state)
        assert [keys(second), keys(second)] == [epochs[0][taken:], epochs[1]], f"after {taken} batches"


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("failed", [0, 4, 9])
def test_a_state_behind_an_exception_continues_at_the_batch_that_failed(failed, workers, arrays, tmp_path):
    folder = tmp_path / "arrays"
    shutil.copytree(arrays, folder)
    epochs = [keys(whole) for whole in [loader(folder, workers)] for _ in range(2)]
    file = folder / f"{epochs[0][failed][1]}.cls"
    good = file.read_text()
    file.write_text("x" * len(good))
    first, got = loader(folder, workers), []
    with pytest.raises(Exception, match="corrupt"):
        for batch in first:
            got += keys([batch])
    assert got == epochs[0][:failed]
    state = first.state_dict()
    file.write_text(good)
    second = loader(folder, workers)
    second.load_state_dict(state)
    assert got + keys(second) == epochs[0]
    assert keys(second) == epochs[1]
