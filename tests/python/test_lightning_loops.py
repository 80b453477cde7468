"""penstock.torch in all loops of Lightning: which sample comes next after limits, reloads, sanity steps and restarts."""

import json
import os
import subprocess
import sys

import penstock as ps
import pytest

torch = pytest.importorskip("torch")
lightning = pytest.importorskip("lightning")

pytestmark = pytest.mark.filterwarnings("ignore::Warning:lightning")


class Model(lightning.LightningModule):
    """Notes the keys of every batch."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(5, 4)
        self.seen = []
        self.validated = []

    def training_step(self, batch, index):
        self.seen.append((self.current_epoch, tuple(batch["__key__"])))
        return torch.nn.functional.cross_entropy(self.layer(batch["npy"]), batch["cls"])

    def validation_step(self, batch, index, dataloader_idx=0):
        self.validated.append((self.trainer.sanity_checking, dataloader_idx, tuple(batch["__key__"])))

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 1e-3)


def loader(arrays, **options):
    fields = {"npy": ps.array.decode(), "cls": ps.label()}
    return ps.torch.Loader(arrays, batch_size=8, seed=1, transforms=fields, **options)


class Data(lightning.LightningDataModule):
    """Makes new loaders whenever Lightning asks for them."""

    def __init__(self, arrays):
        super().__init__()
        self.arrays = arrays
        self.made = 0

    def train_dataloader(self):
        self.made += 1
        return loader(self.arrays, shuffle=True)

    def val_dataloader(self):
        return [loader(self.arrays), loader(self.arrays, shuffle=True)]


def fit(data, folder, ckpt_path=None, **options):
    model = Model()
    trainer = lightning.Trainer(
        accelerator="cpu",
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        default_root_dir=folder,
        **{"max_epochs": 3, "enable_checkpointing": "callbacks" in options, **options},
    )
    trainer.fit(model, datamodule=data, ckpt_path=ckpt_path, weights_only=False)
    return model


def epochs_of(arrays, number, **options):
    """The keys of each batch of the first epochs, without Lightning."""
    whole = loader(arrays, **options)
    return [[tuple(batch["__key__"]) for batch in whole] for _ in range(number)]


LIMITS = {
    "whole epochs": {},
    "limited epochs": {"limit_train_batches": 3},
    "loaders that each epoch makes anew": {"reload_dataloaders_every_n_epochs": 1},
    "validation in the middle of an epoch": {"val_check_interval": 2},
    "a distributed sampler, which no loader gets": {"use_distributed_sampler": False},
}


@pytest.mark.parametrize("limit", LIMITS)
def test_each_epoch_has_its_order_and_every_checkpoint_continues_it(limit, arrays, tmp_path):
    options = LIMITS[limit]
    steps = options.get("limit_train_batches", 5)
    expected = [
        (number, keys) for number, epoch in enumerate(epochs_of(arrays, 3, shuffle=True)) for keys in epoch[:steps]
    ]
    data = Data(arrays)
    callback = lightning.pytorch.callbacks.ModelCheckpoint
    inside = callback(dirpath=tmp_path, every_n_train_steps=1, save_top_k=-1, filename="{step}")
    ends = callback(dirpath=tmp_path, every_n_epochs=1, save_top_k=-1, filename="{epoch}", save_on_train_epoch_end=True)
    assert fit(data, tmp_path, callbacks=[inside, ends], **options).seen == expected
    assert data.made == (3 if "reload_dataloaders_every_n_epochs" in options else 1)

    places = {f"step={step}": step for step in range(1, 3 * steps) if step % steps}
    places |= {f"epoch={epoch}": (epoch + 1) * steps for epoch in range(2)}
    for name, step in places.items():
        rest = fit(Data(arrays), tmp_path, ckpt_path=tmp_path / f"{name}.ckpt", **options)
        assert rest.seen == expected[step:], name


def test_validation_restarts_after_the_sanity_steps_and_follows_the_epoch(arrays, tmp_path):
    model = fit(Data(arrays), tmp_path, max_epochs=2, num_sanity_val_steps=2)
    ordered = epochs_of(arrays, 1)[0]
    shuffled = epochs_of(arrays, 2, shuffle=True)
    sanity = [(0, keys) for keys in ordered[:2]] + [(1, keys) for keys in shuffled[0][:2]]
    assert [(source, keys) for checking, source, keys in model.validated if checking] == sanity
    expected = [
        (source, keys)
        for epoch in range(2)
        for source, keys in [(0, keys) for keys in ordered] + [(1, keys) for keys in shuffled[epoch]]
    ]
    assert [(source, keys) for checking, source, keys in model.validated if not checking] == expected


TWO_PROCESSES = """
import json, sys, lightning, torch, penstock as ps

folder, given = sys.argv[1], sys.argv[2] == "given"


class Model(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(5, 4)
        self.seen = {}

    def loader(self, **options):
        if given:
            options.update(rank=self.trainer.global_rank, world_size=self.trainer.world_size)
        return ps.torch.Loader(folder, batch_size=8, seed=1,
                               transforms={"npy": ps.array.decode(), "cls": ps.label()}, **options)

    def train_dataloader(self):
        return self.loader(shuffle=True, last_batch="drop")

    def evaluated(self):
        return [self.loader(), self.loader(shuffle=True)]

    val_dataloader = test_dataloader = predict_dataloader = evaluated

    def note(self, batch, source=0):
        keys = [key for key, valid in zip(batch["__key__"], batch["__valid__"].tolist()) if valid]
        if not self.trainer.sanity_checking:
            self.seen.setdefault(f"{self.trainer.state.stage.value} {self.current_epoch} {source}", []).extend(keys)
        return torch.nn.functional.cross_entropy(self.layer(batch["npy"]), batch["cls"])

    def training_step(self, batch, index):
        return self.note(batch)

    def evaluation_step(self, batch, index, dataloader_idx=0):
        self.note(batch, dataloader_idx)

    validation_step = test_step = predict_step = evaluation_step

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 1e-3)


model = Model()
trainer = lightning.Trainer(
    max_epochs=2, accelerator="cpu", devices=2, strategy="ddp", logger=False, enable_checkpointing=False,
    enable_progress_bar=False, enable_model_summary=False)
trainer.fit(model)
trainer.test(model, verbose=False)
trainer.predict(model)
gathered = [None, None]
torch.distributed.all_gather_object(gathered, model.seen)
if trainer.is_global_zero:
    print(json.dumps(gathered))
"""


def run_two(arrays, tmp_path, way):
    (tmp_path / "train.py").write_text(TWO_PROCESSES)
    alone = {name: value for name, value in os.environ.items() if name not in ("RANK", "WORLD_SIZE", "LOCAL_RANK")}
    run = [sys.executable, "train.py", str(arrays), way]
    done = subprocess.run(run, cwd=tmp_path, env=alone, capture_output=True, text=True, check=False, timeout=240)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1]), done.stderr


def test_two_processes_share_every_loop(arrays, tmp_path):
    seen, told = run_two(arrays, tmp_path, "given")
    assert "torch.distributed says" not in told
    everything = [f"{i:03}" for i in range(40)]
    loops = [
        (stage, epoch, source) for stage in ("validate", "test", "predict") for epoch in (0, 1) for source in (0, 1)
    ]
    loops = [loop for loop in loops if loop[0] == "validate" or loop[1] == 0]
    for stage, epoch, source in loops:
        name = f"{stage} {epoch if stage == 'validate' else 2} {source}"
        assert sorted(seen[0][name] + seen[1][name]) == everything, name
    for epoch in range(2):  # two ranks make two steps of eight samples each: 32 of 40
        name = f"train {epoch} 0"
        assert len(seen[0][name]) == len(seen[1][name]) == 16
        assert len({*seen[0][name], *seen[1][name]}) == 32


def test_processes_that_read_the_same_are_warned_of(arrays, tmp_path):
    seen, told = run_two(arrays, tmp_path, "left out")
    assert seen[0] == seen[1]
    assert "torch.distributed says that this is process 1 of 2" in told
