"""Loaders over datasets of Hugging Face in the form of public training scripts, for test_run_replace_huggingface.py. Each
function makes one from a dataset with the columns image, label and name."""

import argparse
import dataclasses
import functools

import datasets
import torch
import torchvision.transforms as T
from replace_recipes import EVAL, NORMALIZED, TRAIN
from torch.utils import data
from torch.utils.data import DataLoader
from torchvision.transforms import v2


def collate_fn(examples):
    pixel_values = torch.stack([example["pixel_values"] for example in examples])
    labels = torch.tensor([example["label"] for example in examples])
    return {"pixel_values": pixel_values, "labels": labels}


def shuffled(rows, **options):
    return DataLoader(rows, **{"batch_size": 8, "shuffle": True, "num_workers": 2, "collate_fn": collate_fn, **options})


def to_rgb(examples):
    """Another docstring."""
    examples["pixel_values"] = [TRAIN(image.convert("RGB")) for image in examples["image"]]
    return examples


def evaluated(examples):  # refused for its dataset
    examples["pixel_values"] = [EVAL(image.convert("RGB")) for image in examples["image"]]
    del examples["image"]
    return examples


# ---- Replaced --------------------------------------------------------------------------------------------------------


@dataclasses.dataclass
class DataArguments:
    image_column_name: str = "image"
    label_column_name: str = "label"


def trainer_example(rows):
    data_args = DataArguments()
    _train_transforms = T.Compose(TRAIN.transforms)

    def collate_fn(examples):
        pixel_values = torch.stack([example["pixel_values"] for example in examples])
        labels = torch.tensor([example[data_args.label_column_name] for example in examples])
        return {"pixel_values": pixel_values, "labels": labels}

    def train_transforms(example_batch):
        """Apply _train_transforms across a batch."""
        example_batch["pixel_values"] = [
            _train_transforms(pil_img.convert("RGB")) for pil_img in example_batch[data_args.image_column_name]
        ]
        return example_batch

    rows.set_transform(train_transforms)
    return shuffled(rows, collate_fn=collate_fn)


def no_trainer_example(rows):
    args = argparse.Namespace(image_column_name="image", label_column_name="label")
    val_transforms = T.Compose(EVAL.transforms)

    def preprocess_val(example_batch):
        example_batch["pixel_values"] = [
            val_transforms(image.convert("RGB")) for image in example_batch[args.image_column_name]
        ]
        return example_batch

    def collate_fn(examples):
        pixel_values = torch.stack([example["pixel_values"] for example in examples])
        labels = torch.tensor([example[args.label_column_name] for example in examples])
        return {"pixel_values": pixel_values, "labels": labels}

    return shuffled(rows.with_transform(preprocess_val), collate_fn=collate_fn, shuffle=False, num_workers=0)


def deleted_image(rows):
    return shuffled(rows.remove_columns("name").with_transform(evaluated), collate_fn=None)


def documented_loops(rows):
    def collate(examples):
        images = []
        labels = []
        for example in examples:
            images.append((example["pixel_values"]))  # noqa: UP034
            labels.append(example["label"])

        pixel_values = torch.stack(images)
        labels = torch.tensor(labels)
        return {"pixel_values": pixel_values, "labels": labels}

    return shuffled(rows.with_transform(evaluated), collate_fn=collate, batch_size=5, drop_last=True)


def overwritten_image(rows):
    def apply(examples):
        examples["image"] = [EVAL(image.convert("RGB")) for image in examples["image"]]
        return examples

    rows.set_transform(apply, columns=["image", "label"])
    return shuffled(rows, collate_fn=None)


def returned_dict(rows):
    def apply(batch):
        images = batch["image"]
        return {"labels": batch["label"], "pixel_values": [TRAIN(x.convert("RGB")) for x in images]}

    return shuffled(rows.with_transform(apply), collate_fn=None, pin_memory=True)


def without_labels(rows):
    augmentations = T.Compose([T.Resize(64), T.CenterCrop(64), T.RandomHorizontalFlip(), T.ToTensor()])

    def transform_images(examples):
        images = [augmentations(image.convert("RGB")) for image in examples["image"]]
        return {"input": images}

    return shuffled(rows.with_transform(transform_images), collate_fn=None)


def images_as_they_are(rows):
    def apply(examples):
        examples["pixel_values"] = [EVAL(image) for image in examples["image"]]
        return examples

    return shuffled(rows.with_transform(apply))


def rgb_feature(rows):
    def apply(examples):
        examples["pixel_values"] = [EVAL(image) for image in examples["image"]]
        return examples

    return shuffled(rows.cast_column("image", datasets.Image(mode="RGB")).with_transform(apply))


def split_and_selected(rows):
    part = rows.shuffle(seed=3).train_test_split(0.2, seed=4)["train"].select(range(2, 20))
    return shuffled(part.with_transform(evaluated), batch_size=3)


def random_split(rows):
    part, _ = data.random_split(rows.with_transform(evaluated), [0.7, 0.3], torch.Generator().manual_seed(2))
    return shuffled(part, batch_size=3)


def own_generator(rows):
    return shuffled(rows.with_transform(evaluated), generator=torch.Generator().manual_seed(9))


def own_generator_without_workers(rows):
    return shuffled(rows.with_transform(to_rgb), generator=torch.Generator().manual_seed(9), num_workers=0)


def persistent_workers(rows):
    return shuffled(rows.with_transform(to_rgb), persistent_workers=True, prefetch_factor=3)


def distributed(rows):
    rows = rows.with_transform(evaluated)
    sampler = data.distributed.DistributedSampler(rows, num_replicas=2, rank=1)
    return DataLoader(rows, 4, sampler=sampler, num_workers=1, collate_fn=collate_fn)


def other_strides(rows):
    permuted = v2.Compose([v2.Resize((64, 48)), v2.ToImage()])

    def apply(examples):
        examples["pixel_values"] = [permuted(image.convert("RGB")) for image in examples["image"]]
        return examples

    return shuffled(rows.with_transform(apply), shuffle=False)


def weighted(rows):
    rows = rows.with_transform(evaluated)
    sampler = data.WeightedRandomSampler([1.0] * len(rows), 20)
    return DataLoader(rows, 4, sampler=sampler, collate_fn=collate_fn)


REPLACED = [
    trainer_example,
    no_trainer_example,
    deleted_image,
    documented_loops,
    overwritten_image,
    returned_dict,
    without_labels,
    images_as_they_are,
    rgb_feature,
    split_and_selected,
    random_split,
    own_generator,
    own_generator_without_workers,
    persistent_workers,
    distributed,
    other_strides,
    weighted,
]

# ---- Not replaced ----------------------------------------------------------------------------------------------------

SEEN = []
KEEP = {"enabled": True}


def counts_rows(examples):
    SEEN.append(len(examples["image"]))  # refused
    examples["pixel_values"] = [EVAL(image.convert("RGB")) for image in examples["image"]]
    return examples


def side_effect(rows):
    return shuffled(rows.with_transform(counts_rows))


def filtered(examples):
    examples["pixel_values"] = [EVAL(x.convert("RGB")) for x in examples["image"] if KEEP["enabled"]]  # refused
    return examples


def filter_with_state(rows):
    return shuffled(rows.with_transform(filtered))


def with_sizes(examples):
    examples["pixel_values"] = [EVAL(image.convert("RGB")) for image in examples["image"]]
    examples["size"] = [image.size[0] for image in examples["image"]]  # refused
    return examples


def extra_column(rows):
    return shuffled(rows.with_transform(with_sizes))


def in_reverse(examples):
    examples["pixel_values"] = [EVAL(image.convert("RGB")) for image in reversed(examples["image"])]  # refused
    return examples


def batch_dependent(rows):
    return shuffled(rows.with_transform(in_reverse))


def shifted(examples):
    examples["pixel_values"] = [EVAL(image.convert("RGB")) for image in examples["image"]]
    examples["label"] = [label + 1 for label in examples["label"]]  # refused
    return examples


def changed_labels(rows):
    return shuffled(rows.with_transform(shifted))


def own_transform(image):  # refused
    SEEN.append(image.size)
    return EVAL(image)


def by_own_transform(examples):
    examples["pixel_values"] = [own_transform(image.convert("RGB")) for image in examples["image"]]
    return examples


def transform_of_the_program(rows):
    return shuffled(rows.with_transform(by_own_transform))


def gray(examples):
    examples["pixel_values"] = [EVAL(image.convert("L")) for image in examples["image"]]  # refused
    return examples


def other_conversion(rows):
    return shuffled(rows.with_transform(gray))


def by_branch(examples):
    if KEEP["enabled"]:  # refused
        examples["pixel_values"] = [EVAL(image.convert("RGB")) for image in examples["image"]]
    return examples


def branch(rows):
    return shuffled(rows.with_transform(by_branch))


def rebound(examples):
    EVAL = TRAIN  # refused
    examples["pixel_values"] = [EVAL(image.convert("RGB")) for image in examples["image"]]
    return examples


def local_transform(rows):
    return shuffled(rows.with_transform(rebound))


def hidden(examples):
    EVAL = examples["label"]
    examples["pixel_values"] = [EVAL(image.convert("RGB")) for image in examples["image"]]  # refused
    return examples


def hidden_transform(rows):
    return shuffled(rows.with_transform(hidden))


def second_image(rows):
    masks = datasets.concatenate_datasets([rows, rows.select_columns("image").rename_column("image", "mask")], axis=1)
    return shuffled(masks.with_transform(evaluated))


def mixed(examples):
    images = torch.stack([example["pixel_values"] for example in examples])
    labels = torch.tensor([example["label"] for example in examples])
    images, labels = v2.MixUp(num_classes=4)(images, labels)  # refused
    return {"pixel_values": images, "labels": labels}


def collate_that_mixes(rows):
    return shuffled(rows.with_transform(to_rgb), collate_fn=mixed)


def halved(examples):
    images = torch.stack([example["pixel_values"] for example in examples])
    return {"pixel_values": images / 2}  # refused


def collate_that_computes(rows):
    return shuffled(rows.with_transform(to_rgb), collate_fn=halved)


def of_names(examples):  # refused
    return {
        "pixel_values": torch.stack([example["pixel_values"] for example in examples]),
        "names": torch.tensor([example["name"] for example in examples]),
    }


def number_of_a_text(rows):
    return shuffled(rows.with_transform(to_rgb), collate_fn=of_names)


def default_collate_of_a_text(rows):
    def apply(examples):  # refused
        return {"pixel_values": [EVAL(x.convert("RGB")) for x in examples["image"]], "name": examples["name"]}

    return shuffled(rows.with_transform(apply), collate_fn=None)


def two_views(rows):
    def apply(examples):
        first = [TRAIN(image.convert("RGB")) for image in examples["image"]]
        return {"one": first, "two": [TRAIN(image.convert("RGB")) for image in examples["image"]]}  # refused

    return shuffled(rows.with_transform(apply), collate_fn=None)


def two_keys_of_one_image(rows):
    def apply(examples):  # refused
        images = [TRAIN(image.convert("RGB")) for image in examples["image"]]
        return {"one": images, "two": images}

    return shuffled(rows.with_transform(apply), collate_fn=None)


def thrown_away(rows):
    def apply(examples):
        examples["pixel_values"] = [TRAIN(image.convert("RGB")) for image in examples["image"]]
        examples["pixel_values"] = [EVAL(image.convert("RGB")) for image in examples["image"]]  # refused
        return examples

    return shuffled(rows.with_transform(apply))


def text_column(rows):
    def apply(examples):  # refused
        examples["pixel_values"] = [EVAL(name) for name in examples["name"]]
        return examples

    return DataLoader(rows.with_transform(apply), batch_size=8, collate_fn=collate_fn)


def a_lambda(rows):
    apply = lambda batch: {"pixel_values": [EVAL(x.convert("RGB")) for x in batch["image"]]}  # refused
    return shuffled(rows.with_transform(apply), collate_fn=None)


class Applied:
    def __call__(self, batch):
        return to_rgb(batch)


def an_object(rows):
    return shuffled(rows.with_transform(Applied()))  # refused


def a_partial(rows):
    return shuffled(rows.with_transform(functools.partial(to_rgb)))  # refused


def two_parameters(examples, size=64):  # refused
    examples["pixel_values"] = [EVAL(image.convert("RGB")) for image in examples["image"]]
    return examples


def with_a_default(rows):
    return shuffled(rows.with_transform(two_parameters))


class Column:
    @property
    def name(self):
        SEEN.append("name")
        return "image"


COLUMN = Column()


def by_property(examples):
    examples["pixel_values"] = [EVAL(image.convert("RGB")) for image in examples[COLUMN.name]]  # refused
    return examples


def column_of_a_property(rows):
    return shuffled(rows.with_transform(by_property))


def no_transform(rows):
    return DataLoader(rows.with_format("torch"), batch_size=1)  # refused


def all_columns(rows):
    rows.set_transform(evaluated, columns=["image"], output_all_columns=True)
    return shuffled(rows, collate_fn=collate_fn)


def a_stream(rows):
    return DataLoader(rows.to_iterable_dataset().map(to_rgb, batched=True), batch_size=8, collate_fn=collate_fn)


def started_by_spawn(rows):
    return shuffled(rows.with_transform(evaluated), multiprocessing_context="spawn", num_workers=1)


ROW = argparse.Namespace(key="label")


def shadowing(examples):
    images = torch.stack([example["pixel_values"] for example in examples])
    labels = torch.tensor([ROW[ROW.key] for ROW in examples])  # refused
    return {"pixel_values": images, "labels": labels}


def shadowed_name(rows):
    return shuffled(rows.with_transform(to_rgb), collate_fn=shadowing)


def sequence_column(rows):
    rows = rows.add_column("boxes", [[1, 2]] * len(rows))
    return shuffled(rows.with_transform(evaluated))


def untranslated(examples):
    examples["pixel_values"] = [AUTO(image.convert("RGB")) for image in examples["image"]]
    return examples


AUTO = T.Compose([T.AutoAugment(), T.Resize((64, 64)), *NORMALIZED])  # refused


def transform_without_translation(rows):
    return shuffled(rows.with_transform(untranslated))


NOT_REPLACED = {
    side_effect: "set_transform(counts_rows): SEEN.append(len(examples['image'])): may have effects",
    filter_with_state: "may have effects",
    extra_column: "may have effects",
    batch_dependent: "reversed(examples['image']): may have effects",
    changed_labels: "may have effects",
    transform_of_the_program: "own_transform() (huggingface_recipes.py:",
    other_conversion: "may have effects",
    branch: "if KEEP['enabled']:: may have effects",
    local_transform: "TRAIN: may have effects",
    hidden_transform: "EVAL: may have effects",
    second_image: "column 'mask': is a second image",
    collate_that_mixes: "collate_fn(mixed): ",
    collate_that_computes: "images / 2: may have effects",
    number_of_a_text: "'name': is Value('string'), not an integer",
    default_collate_of_a_text: "'name': is Value('string'), not an integer",
    two_views: "is a second list of images",
    two_keys_of_one_image: "has 2 lists of images",
    thrown_away: "is a second list of images",
    text_column: "column 'name' is Value",
    a_lambda: "is a lambda",
    an_object: "is not a function with a def",
    a_partial: "is not a function with a def",
    with_a_default: "does not have one parameter",
    column_of_a_property: "COLUMN.name: is not the name of a column",
    no_transform: "has no set_transform()",
    all_columns: "adds columns",
    a_stream: "IterableDataset: is not a datasets.Dataset",
    started_by_spawn: "starts workers that import your functions again",
    shadowed_name: "ROW: may have effects",
    sequence_column: "column 'boxes'",
    transform_without_translation: "AutoAugment",
}
"""A part of the reason. The line has the comment "refused", or makes the loader."""
