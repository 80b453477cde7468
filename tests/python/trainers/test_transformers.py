"""penstock.torch in the Trainer of transformers: which sample comes next after each of its checkpoints."""

import json
import pathlib
import subprocess
import sys

import pages
import penstock as ps
import pytest
import torch
import transformers


class Model(torch.nn.Module):
    """Notes the first value of every row that it is trained on."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(5, 4)
        self.seen = []

    def forward(self, values, labels):
        if self.training:
            self.seen.append(values[:, 0].int().tolist())
        logits = self.layer(values)
        return {"loss": torch.nn.functional.cross_entropy(logits, labels), "logits": logits}


def loader(arrays):
    return ps.torch.Loader(
        arrays,
        batch_size=8,
        shuffle=True,
        seed=1,
        transforms={"npy": ps.array.decode(), "cls": ps.label()},
        batch_transform=lambda batch: {"values": batch["npy"], "labels": batch["cls"]},
    )


class ItsState(transformers.Trainer):
    """The loader continues at its own saved position."""

    def get_train_dataloader(self):
        train = loader(self.arrays)
        if self.checkpoint is not None:
            train.load_state_dict(json.loads((self.checkpoint / "loader.json").read_text()))
        return train


class Skipping(transformers.Trainer):
    """Trainer skips the first batches of the epoch."""

    def get_train_dataloader(self):
        return self.accelerator.prepare(torch.utils.data.DataLoader(loader(self.arrays), batch_size=None))


class SavePosition(transformers.TrainerCallback):
    def on_save(self, args, state, control, train_dataloader, **_):
        if hasattr(train_dataloader, "state_dict"):
            folder = pathlib.Path(args.output_dir, f"checkpoint-{state.global_step}")
            (folder / "loader.json").write_text(json.dumps(train_dataloader.state_dict()))


def fit(kind, arrays, folder, checkpoint=None, accumulate=1, **given):
    transformers.set_seed(0)
    arguments = transformers.TrainingArguments(
        str(folder),
        num_train_epochs=3,
        per_device_train_batch_size=8,
        gradient_accumulation_steps=accumulate,
        save_steps=1,
        ignore_data_skip=kind is ItsState,
        remove_unused_columns=False,
        use_cpu=True,
        disable_tqdm=True,
        report_to=[],
    )
    trainer = kind(Model(), arguments, callbacks=[SavePosition()] if kind is ItsState else [], **given)
    trainer.arrays, trainer.checkpoint = arrays, checkpoint
    trainer.train(resume_from_checkpoint=None if checkpoint is None else str(checkpoint))
    return trainer


# 5 batches in an epoch: 5 divides them, 2 does not.
@pytest.mark.parametrize(("kind", "accumulate"), [(ItsState, 1), (ItsState, 5), (Skipping, 1), (Skipping, 2)])
def test_every_checkpoint_continues_at_the_next_batch_with_the_same_model(kind, accumulate, arrays, tmp_path):
    whole = fit(kind, arrays, tmp_path / "whole", accumulate=accumulate)
    batches = whole.model.seen
    assert batches == [batch["values"][:, 0].tolist() for each in [loader(arrays)] for _ in range(3) for batch in each]
    for step in range(1, whole.state.global_step):
        rest = fit(kind, arrays, tmp_path / "rest", tmp_path / f"whole/checkpoint-{step}", accumulate)
        epoch, steps = divmod(step, -(-5 // accumulate))
        assert rest.model.seen == batches[5 * epoch + steps * accumulate :], step
        assert rest.state.global_step == whole.state.global_step
        weights = zip(whole.model.parameters(), rest.model.parameters())
        assert all(torch.equal(expected, found) for expected, found in weights), step


def test_a_loader_as_the_dataset_is_refused(arrays, tmp_path):
    with pytest.raises(TypeError, match="returns whole batches, and this DataLoader would batch them again"):
        fit(transformers.Trainer, arrays, tmp_path, train_dataset=loader(arrays))


def test_a_dataset_that_decodes_in_its_transform_trains(arrays, tmp_path):
    datasets = pytest.importorskip("datasets")
    paths = sorted(str(path) for path in pathlib.Path(arrays).glob("*.npy"))
    data = datasets.Dataset.from_dict({"path": paths, "cls": [number % 4 for number in range(40)]})
    data.set_transform(
        lambda rows: {
            "values": ps.torch.decode_batch(rows["path"], ps.array.decode("float32")),
            "labels": torch.tensor(rows["cls"]),
        }
    )
    trainer = fit(transformers.Trainer, arrays, tmp_path, train_dataset=data)
    for epoch in range(3):
        rows = trainer.model.seen[5 * epoch : 5 * epoch + 5]
        assert sorted(value for row in rows for value in row) == list(range(40))


def test_the_guide_shares_the_samples_of_two_processes(tmp_path):
    """500 samples in batches of 32: evaluation pads, and each sample counts once."""
    program = next(block.text for block in pages.blocks_of(pages.ROOT / "docs/guides/huggingface.md") if block.title)
    (tmp_path / "tune.py").write_text(program)
    subprocess.run(
        [pages.COMMAND, "synth", "icons", "icons", "-n", "500", "--num-classes", "4"], cwd=tmp_path, check=True
    )
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", "tune.py"]
    for checkpoint in ([], ["run/checkpoint-10"]):
        done = subprocess.run(
            [*launcher, *checkpoint], cwd=tmp_path, env=pages.environment(), capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.count("step 14, evaluated 500") == 2  # an epoch has 7 steps
    whole, resumed = ((tmp_path / name / "model.safetensors").read_bytes() for name in ("whole", "resumed"))
    assert whole == resumed
