"""Pages, comments, docstrings and texts in plain sentences: scripts/prose.py counts the others, and their number only falls."""

import importlib.util
import re

import pytest
from pages import ROOT, name_of

specification = importlib.util.spec_from_file_location("prose", ROOT / "scripts/prose.py")
prose = importlib.util.module_from_spec(specification)
specification.loader.exec_module(prose)

LIMITS = ROOT / "tests/python/prose_limits.tsv"
MADE = {"command.md", "cpp.md", "options.md", "python.md", "stats.md"}  # by scripts/reference.py, in docs/reference
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *(
        page
        for page in sorted((ROOT / "docs").rglob("*.md"))
        if page.parent.name != "reference" or page.name not in MADE
    ),
]
FOR_USERS = [page for page in PAGES if page.parent.name != "spec" and page.name != "order.md"]


def test_sentences_that_must_be_read_twice_become_fewer():
    limits = dict(line.split("\t") for line in LIMITS.read_text().splitlines())
    sentences, hits, places = prose.count([])
    assert sentences.keys() == limits.keys()
    more = {kind: f"{hits[kind]}, at most {limits[kind]}" for kind in limits if hits[kind] > int(limits[kind])}
    assert not more, f"{more}: see scripts/prose.py --list {len(places)}; if you removed some, lower {LIMITS.name}"


@pytest.mark.parametrize(
    ("habit", "sentence"),
    [
        ("subject", "Of a mixture, each source has a name."),
        ("clause", "The name of what is missing helps."),
        ("where", "The loader waits, where there is no room."),
        ("is no", "A view of it is no copy."),
        ("word", "Training goes on at the next batch."),
        ("alone", "The first rank alone writes the file."),
        ("behind", "The rows behind it are read later."),
        ("long", "One " * 31),
    ],
)
def test_each_habit_is_found_in_each_kind_of_text(habit, sentence, tmp_path):
    for name, text in {
        "page.md": f"{sentence}\n",
        "header.hpp": f"/// {sentence}\nint x;\n",
        "source.cpp": f'void f() {{ refuse("{sentence}"); }}\n',
        "module.py": f'"""{sentence}"""\n',
    }.items():
        (tmp_path / name).write_text(text)
        [(_, _, read)] = prose.texts_of(tmp_path / name)
        [only] = prose.sentences_of(read)
        assert habit in prose.habits_of(only), name


def test_plain_sentences_have_no_habit():
    for sentence in ("A loader reads ahead.", "If a read fails, the loader reads again.", "What does a loader do?"):
        assert prose.habits_of(sentence) == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_prose_of_a_page_has_at_most_120_columns(page):
    fence = False
    for number, line in enumerate(page.read_text().splitlines(), 1):
        fence ^= line.lstrip().startswith("```")
        cell = fence or line.lstrip().startswith(("|", "<!--")) or "://" in line
        assert cell or len(line) <= 120, f"{name_of(page)}:{number} has {len(line)} columns"


@pytest.mark.parametrize("page", FOR_USERS, ids=name_of)
def test_a_page_for_users_has_no_sentence_of_more_than_35_words(page):
    for line, text in prose.paragraphs_of(page.read_text()):
        for sentence in prose.sentences_of(text):
            assert len(sentence.split()) <= 35, f"{name_of(page)}:{line}: {sentence}"


def test_written_pages_are_short_enough_to_be_read():
    texts = [re.sub(r"^(`{3,}).*?^\1$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL) for page in FOR_USERS]
    assert sum(len(text.replace("|", " ").split()) for text in texts) <= 52_500
