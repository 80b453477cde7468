"""The programs of the guides run as they stand, each page in a folder that is empty at first."""

import pages
import pytest
from pages import ROOT, name_of


@pytest.mark.parametrize("page", pages.that_run("docs/guides/*.md"), ids=name_of)
def test_the_blocks_of_a_guide_run_in_their_order(page, tmp_path):
    pages.run_page(page, tmp_path, name_of(page))


# The tasks that newcomers come with, and the pages whose programs do them.
TASKS = {
    "classification": "classification",
    "evaluation on three ranks with exact counts": "evaluation",
    "segmentation with masks of 16 bits": "segmentation",
    "detection with boxes and their labels": "detection",
    "LAS, LAZ and OFF": "point_clouds",
    "tar, HDF5, LMDB and TFRecord of others": "others_data",
    "resuming with torchdata": "checkpoints",
    "resuming with Lightning": "lightning",
    "resuming with Accelerate": "accelerate",
    "resuming with the Trainer of transformers": "huggingface",
    "several devices of JAX": "jax",
    "mixed precision": "mixed_precision",
    "Albumentations in the middle of the chain": "albumentations",
    "two views": "contrastive",
    "subsets": "views",
    "corrupt data": "corrupt_data",
    "a cache": "cache",
    "torchrun": "several_processes",
    "a wrong URL": "debugging",
    "why is it slow": "slow",
    "debugging": "debugging",
}


@pytest.mark.parametrize("task", TASKS)
def test_a_task_has_a_guide_with_a_program_what_it_prints_and_what_to_change(task):
    page = ROOT / "docs/guides" / f"{TASKS[task]}.md"
    blocks = pages.blocks_of(page)
    assert pages.runs(page) and any(block.language == "text" for block in blocks)
    assert "**What you have:**" in page.read_text() and "\n## Common variations\n" in page.read_text()
