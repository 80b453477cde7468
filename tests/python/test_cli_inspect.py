"""penstock inspect: the sample behind a row of a batch, and what the steps drew for it."""

import json
import re

import pytest
from command import FORMATS, fails, run
from PIL import Image

SHOWN = ["--seed", 7, "--epoch", 3, "--batch", 1, "--row", 5, "--batch-size", 8]


def test_show_tells_the_sample_behind_a_row_and_writes_its_pixels(images, tmp_path):
    chain = "image.random_resized_crop(64) | image.random_horizontal_flip() | image.normalize((0.5, 0.5, 0.5), (0.2, 0.2, 0.2))"
    picture = tmp_path / "row.png"
    text = run("inspect", images, *SHOWN, "--fields", f"jpg={chain}", "--picture", picture).stdout.decode()
    key = re.search(r"^sample +(\S+) \(number \d+\)$", text, re.M)[1]
    width, height, x, y = map(int, re.search(r"drew (\d+) x (\d+) at x (\d+), y (\d+) of", text).groups())
    flipped = "not flipped" not in text
    with Image.open(images / f"{key}.jpg") as image, Image.open(picture) as shown:
        cut = image.convert("RGB").crop((x, y, x + width, y + height)).resize((64, 64), Image.Resampling.BILINEAR)
        cut = cut.transpose(Image.Transpose.FLIP_LEFT_RIGHT) if flipped else cut
        assert shown.tobytes() == cut.tobytes()
    assert "float32 (3, 64, 64): from -2." in text
    assert "\x1b" not in text


def test_show_takes_everything_from_a_loaders_state(images, tmp_path):
    state = {
        "penstock_state": 1,
        "dataset": "0" * 16,
        "samples": 60,
        "seed": 7,
        "epoch": 3,
        "start": 0,
        "batch": 1,
        "world": 1,
        "batch_size": 8,
        "transforms": "transforms 1; jpeg 1; jpg = image.resize(8, 8); cls = label()",
    }
    (tmp_path / "state.json").write_text(json.dumps(state))
    told = run("inspect", images, "--state", tmp_path / "state.json", "--row", 5).stdout
    assert (
        told == run("inspect", images, *SHOWN, "--fields", "jpg=image.resize(8, 8)", "--fields", "cls=label()").stdout
    )
    assert b"row 5 of batch 1, epoch 3, seed 7" in told
    (tmp_path / "state.json").write_text(json.dumps({**state, "start": 16}))
    assert "another world or batch size" in fails("inspect", images, "--state", tmp_path / "state.json", code=2)


def test_show_takes_the_order_from_a_state_that_says_it(images, tmp_path):
    state = {
        "penstock_state": 2,
        "dataset": "0" * 16,
        "samples": 60,
        "seed": 7,
        "epoch": 3,
        "start": 0,
        "batch": 1,
        "world": 1,
        "batch_size": 8,
        "transforms": "transforms 1; jpeg 1; cls = label()",
        "shuffle": True,
        "shuffle_block": 4,
        "subset": None,
        "last": "drop",
    }
    chosen = ["--fields", "cls=label()"]
    for changed, words in (
        ({}, ["--shuffle", "--shuffle-block", 4]),
        ({"shuffle": False, "shuffle_block": 0}, ["--no-shuffle"]),
    ):
        (tmp_path / "state.json").write_text(json.dumps({**state, **changed}))
        told = run("inspect", images, "--state", tmp_path / "state.json", "--row", 5).stdout
        assert told == run("inspect", images, *SHOWN, *words, *chosen).stdout
    (tmp_path / "state.json").write_text(json.dumps({**state, "subset": "0" * 16}))
    assert "saved with a subset" in fails("inspect", images, "--state", tmp_path / "state.json", code=2)


def test_show_guesses_the_task_and_names_classes(packed):
    texts = {run("inspect", packed[format], "--batch", 2).stdout.decode().split("stored")[0] for format in FORMATS}
    assert len(texts) == 1
    text = run("inspect", packed["tar"], "--batch", 2).stdout.decode()
    assert re.search(r"values +int64 \(\): \d+ \(\S+\)", text)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--row", 64], "there is no row 64: the batch has 64 rows"),
        (["--batch", 1000], "there is no batch 1000: the epoch has 8 batches"),
        (["--fields", "png=image.rezise(3)"], 'there is no step "image.rezise"'),
        (["--fields", "=image.resize(3)"], "is not NAME=CHAIN"),
        (["--fields", "cls=label()", "--picture", "row.png"], "no output of this row is a picture"),
        (["--state", "nowhere.json"], "cannot read nowhere.json"),
    ],
)
def test_show_refuses_what_is_not_there(packed, words, text):
    assert text in fails("inspect", packed["tar"], *words, code=1 if "--state" in words else 2)


def test_show_shuffles_where_the_loader_is_told_to(arrays):
    shown = ["--seed", 7, "--epoch", 3, "--batch", 1, "--row", 5, "--batch-size", 8, "--fields", "cls=label()"]
    texts = {
        words: run("inspect", arrays, *shown, *words).stdout.decode()
        for words in ((), ("--no-shuffle",), ("--shuffle",))
    }
    assert texts[()] == texts[("--no-shuffle",)] and ", not shuffled" in texts[()]
    assert re.search(r"^sample +013 ", texts[()], re.M)
    assert texts[("--shuffle",)] != texts[()] and ", shuffled" in texts[("--shuffle",)]


# Old options and commands, and what they are now.
@pytest.mark.parametrize(
    ("words", "now"),
    [
        (["inspect", "DATASET", "--field", "cls=label()"], "--fields"),
        (["bench", "DATASET", "--consumer", "sleep:1"], "--train-step"),
        (["bench", "DATASET", "--check"], "--verify-predictions"),
        (["bench-sampling", "DATASET", "--compared", "3"], "--coverage-clouds"),
        (["pack", "--finish", "DATASET"], "penstock pack-join"),
        (["pack", "DATASET", "DATASET", "--spool", "x"], "--temp-dir"),
        (["synth", "icons", "DATASET", "--classes", "3"], "--num-classes"),
        (["top", "--every", "1"], "--interval"),
        (["tune", "DATASET", "--consumer", "sleep:1"], "--train-step"),
        (["show", "DATASET", "--row", "3"], "inspect"),
    ],
)
def test_old_options_are_refused_with_the_present_ones_and_not_advertised(tmp_path, words, now):
    said = fails(*(tmp_path / "none" if word == "DATASET" else word for word in words), code=2)
    assert f": use {now}" in said
    old = words[0] if words[0] == "show" else next(word for word in words if word.startswith("--"))
    told = run(*([words[0]] if words[0] != "show" else []), "--help").stdout.decode()
    assert not re.search(rf"^  (-\w,)?{re.escape(old)}\b(?!-)", told, re.M)
