"""penstock.torch in PyTorch Lightning: epochs advance, and a checkpoint made in the middle of one continues there."""

import os
import re
import subprocess
import sys

import pages
import penstock as ps
import pytest

torch = pytest.importorskip("torch")
lightning = pytest.importorskip("lightning")
stateful_dataloader = pytest.importorskip("torchdata.stateful_dataloader")

pytestmark = pytest.mark.filterwarnings("ignore::Warning:lightning")


class Model(lightning.LightningModule):
    """Notes the keys of every batch it is trained on."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(5, 4)
        self.seen = []
        self.evaluated = []

    def rows(self, batch, loader=0):
        values, labels = (batch["npy"], batch["cls"]) if isinstance(batch, dict) else batch
        values, labels = torch.as_tensor(values), torch.as_tensor(labels)
        self.evaluated.append((loader, values[:, 0].int().tolist()))
        return values, labels

    def validation_step(self, batch, index, dataloader_idx=0):
        values, labels = self.rows(batch, dataloader_idx)
        right = (self.layer(values).argmax(1) == labels).float().mean()
        self.log("right", right, batch_size=len(labels))

    test_step = validation_step

    def predict_step(self, batch, index, dataloader_idx=0):
        return self.rows(batch, dataloader_idx)

    def training_step(self, batch, index):
        self.seen.append((self.current_epoch, index, tuple(batch["__key__"])))
        return torch.nn.functional.cross_entropy(self.layer(batch["npy"]), batch["cls"])

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 1e-3)


def dataset(arrays, **options):
    fields = {"npy": ps.array.decode(), "cls": ps.label()}
    return ps.torch.Loader(arrays, batch_size=8, shuffle=True, seed=1, transforms=fields, **options)


def trainer(folder, **options):
    return lightning.Trainer(
        max_epochs=2,
        accelerator="cpu",
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        default_root_dir=folder,
        **options,
    )


LOADERS = {
    "the dataset itself": dataset,
    "StatefulDataLoader": lambda arrays, **options: stateful_dataloader.StatefulDataLoader(
        dataset(arrays, **options), batch_size=None
    ),
}


@pytest.mark.parametrize("loader", LOADERS)
def test_a_checkpoint_continues_at_the_next_batch(loader, arrays, tmp_path):
    whole = Model()
    checkpoint = lightning.pytorch.callbacks.ModelCheckpoint
    inside = checkpoint(dirpath=tmp_path, every_n_train_steps=1, save_top_k=-1, filename="{step}")
    at_end = checkpoint(dirpath=tmp_path, every_n_epochs=1, save_top_k=-1, filename="{epoch}")
    trainer(tmp_path, callbacks=[inside, at_end]).fit(whole, LOADERS[loader](arrays))
    epochs = [[key for epoch, _, keys in whole.seen if epoch == e for key in keys] for e in range(2)]
    assert sorted(epochs[0]) == sorted(epochs[1]) == [f"{i:03}" for i in range(40)]
    assert epochs[0] != epochs[1]

    # Without step=5: one that Lightning makes at the last step of an epoch, before it counts the epoch, skips the next
    # epoch with every loader that has a state, torch's own too (2.6).
    steps_before = {"step=1": 1, "step=4": 4, "step=6": 6, "step=9": 9}
    if (
        loader == "the dataset itself"
    ):  # a checkpoint between epochs: Lightning restores no loader, but calls set_epoch()
        steps_before["epoch=0"] = 5
    for name, steps in steps_before.items():
        rest = Model()
        options = {"ckpt_path": tmp_path / f"{name}.ckpt", "weights_only": False}
        trainer(tmp_path, enable_checkpointing=False).fit(rest, LOADERS[loader](arrays), **options)
        assert rest.seen == whole.seen[steps:], name


@pytest.mark.parametrize("loader", LOADERS)
@pytest.mark.parametrize("failed", [0, 3, 4, 7])
def test_a_checkpoint_of_an_exception_continues_at_the_batch_that_failed(loader, failed, arrays, tmp_path):
    whole = Model()
    trainer(tmp_path, enable_checkpointing=False).fit(whole, LOADERS[loader](arrays))

    def fails(batch):
        if tuple(batch["__key__"]) == whole.seen[failed][2]:
            raise KeyError("failed")
        return batch

    first = Model()
    on_exception = lightning.pytorch.callbacks.OnExceptionCheckpoint(tmp_path, "failed")
    with pytest.raises(KeyError, match="failed"):
        trainer(tmp_path, callbacks=[on_exception]).fit(first, LOADERS[loader](arrays, batch_transform=fails))
    assert first.seen == whole.seen[:failed]
    rest = Model()
    options = {"ckpt_path": tmp_path / "failed.ckpt", "weights_only": False}
    trainer(tmp_path, enable_checkpointing=False).fit(rest, LOADERS[loader](arrays), **options)
    assert first.seen + rest.seen == whole.seen


def plain(arrays, **options):
    return {"batch_size": 8, "transforms": {"npy": ps.array.decode(), "cls": ps.label()}, **options}


EVALUATED = {
    "the dataset itself": lambda arrays: ps.torch.Loader(arrays, **plain(arrays)),
    "columns": lambda arrays: ps.torch.Loader(arrays, **plain(arrays, as_tuple=("npy", "cls"))),
    "DataLoader": lambda arrays: torch.utils.data.DataLoader(ps.torch.Loader(arrays, **plain(arrays)), batch_size=None),
    "ps.Loader": lambda arrays: ps.Loader(arrays, **plain(arrays)),
}
ALL = [list(range(first, first + 8)) for first in range(0, 40, 8)]


@pytest.mark.parametrize("loader", EVALUATED)
@pytest.mark.parametrize("stage", ["validate", "test", "predict"])
def test_evaluation_sees_every_sample_once_in_order(loader, stage, arrays, tmp_path):
    make = EVALUATED[loader]
    for loaders, expected in (
        (make(arrays), [(0, rows) for rows in ALL]),
        ([make(arrays), make(arrays)], [(0, rows) for rows in ALL] + [(1, rows) for rows in ALL]),
    ):
        model = Model()
        told = getattr(trainer(tmp_path, enable_checkpointing=False), stage)(model, loaders)
        assert model.evaluated == expected
        if stage == "predict" and not isinstance(loaders, list):
            assert torch.cat([labels for _, labels in told]).tolist() == [i % 4 for i in range(40)]


@pytest.mark.parametrize("loader", EVALUATED)
def test_fit_validates_with_sanity_steps_and_a_limit(loader, arrays, tmp_path):
    model = Model()
    options = {"num_sanity_val_steps": 1, "limit_val_batches": 2, "enable_checkpointing": False}
    trainer(tmp_path, **options).fit(model, dataset(arrays), EVALUATED[loader](arrays))
    assert [rows for _, rows in model.evaluated] == ALL[:1] + ALL[:2] + ALL[:2]
    assert len(model.seen) == 10


def test_several_training_loaders_and_overfitting(arrays, tmp_path):
    class Both(Model):
        def training_step(self, batch, index):
            self.seen.append(batch["a"]["__key__"] == batch["b"]["__key__"])
            return self.layer(batch["a"]["npy"]).sum()

    model = Both()
    trainer(tmp_path, enable_checkpointing=False).fit(model, {"a": dataset(arrays), "b": dataset(arrays)})
    assert model.seen == [True] * 10
    model = Model()
    trainer(tmp_path, enable_checkpointing=False, overfit_batches=2).fit(model, dataset(arrays))
    assert len(model.seen) == 4


def test_the_guide_counts_where_a_rank_has_a_batch_without_a_valid_row(tmp_path):
    """80 samples in batches of 32 on two ranks: the last batch of the second one has rows that pad alone."""
    program = next(block.text for block in pages.blocks_of(pages.ROOT / "docs/guides/lightning.md") if block.title)
    model = program[: program.index("def trainer")]
    (tmp_path / "validate.py").write_text(f"""{model}
devices = int(sys.argv[1])
torch.manual_seed(0)
trainer = lightning.Trainer(accelerator="cpu", devices=devices, strategy="ddp" if devices > 1 else "auto", logger=False,
                            enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False)
told = trainer.validate(Model(), Data(), verbose=False)[0]["accuracy_0"]
if trainer.is_global_zero:
    print("accuracy", told)
""")
    subprocess.run(
        [pages.COMMAND, "synth", "icons", "icons", "-n", "80", "--num-classes", "4"], cwd=tmp_path, check=True
    )
    told = []
    for devices in ("1", "2"):
        run = [sys.executable, "validate.py", devices]
        alone = {name: value for name, value in os.environ.items() if name not in ("RANK", "WORLD_SIZE", "LOCAL_RANK")}
        done = subprocess.run(run, cwd=tmp_path, env=alone, capture_output=True, text=True, check=False, timeout=240)
        assert done.returncode == 0, done.stderr
        told.append(float(re.search(r"^accuracy (.*)$", done.stdout, re.MULTILINE)[1]))
    assert told[0] == told[1]
    assert 0 <= told[0] <= 1
