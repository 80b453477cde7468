#!/usr/bin/env python3
"""Usage: python scripts/prose.py [--list N] [PATH...]

Counts sentences that have one of the habits below: sentences that a reader must read twice. Reads the tracked pages, comments,
docstrings and texts (help, messages) of penstock, or those in the PATHs. --list prints N of the sentences with their places.
The test python_prose compares the counts with tests/python/prose_limits.tsv."""

import argparse
import ast
import collections
import io
import pathlib
import re
import subprocess
import tokenize

ROOT = pathlib.Path(__file__).resolve().parents[1]
LONGEST = 30  # words of a sentence
HABITS = {  # name: pattern of one sentence, cure
    "subject": (r"^(As|Else|It|Of|So|That|Those|What|Which|Who|Whoever|Whose) (?!.*\?$)", "begin with the subject"),
    "clause": (
        r"\b(is|are|was|of|by|from|with|than|for|and|or|but|to|on|in) what\b(?!.*\?$)|[,;:(] ?(what|whatever|whoever) ",
        "name the thing instead of 'what ...'",
    ),
    "where": (r"[,(] where (a|an|both|it|no|none|nothing|one|that|the|there|they|this) ", "'if' or 'when'"),
    "is no": (r"\b(are|is|was|were) no (?!better|fewer|less|longer|more|such|worse)\w", "'is not a'"),
    "word": (
        r"\b(anew|believed?|but for|doubts?|giants?|goe?s? on|in place of|makes? over|made over|minds?|nobody|"
        r"(of|on) (its|their|one's) own|prove[ds]?|so (many|much)|(stands?|lies?) (at|behind|beside|for|in|on|there)|"
        r"taken back|tells?|told|undo(es|ne)?)\b",
        "the word of the field",
    ),
    "alone": (r"\b(?!leave|left|let|stands?)[a-z]+ alone\b", "'only'"),
    "behind": (r"\bbehind (a|each|it|one|the|them|which)\b", "'after'"),
}
PATTERNS = {name: re.compile(pattern) for name, (pattern, _) in HABITS.items()}


def sentences_of(text):
    """Sentences, with `x` in place of code."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", re.sub(r"`[^`]*`", "`x`", text))
    for sentence in re.split(r"(?<=[.!?])\s+(?=[A-Z`\"'(])|\n\s*\n", text):
        words = sentence.split()
        if len(words) > 1:
            yield " ".join(words)


def habits_of(sentence):
    found = [name for name, pattern in PATTERNS.items() if pattern.search(sentence)]
    return found + ["long"] if len(sentence.split()) > LONGEST else found


def paragraphs_of(page):
    """(line, text) of each paragraph, item and cell of Markdown outside blocks of code and headings."""
    fence, start, held = False, 0, []
    for number, line in enumerate([*page.splitlines(), ""], 1):
        edge = line.lstrip().startswith("```")
        fence ^= edge
        begins = bool(re.match(r"\s*([-*|#]|\d+\.|<!--)", line))
        if held and (fence or edge or not line.strip() or begins):
            yield start, " ".join(held)
            held = []
        if fence or edge or not line.strip() or re.match(r"\s*(#|<!--)", line):
            continue
        if line.lstrip().startswith("|"):
            for cell in line.strip().strip("|").split("|"):
                if len(cell.split()) > 5:
                    yield number, cell
            continue
        if not held:
            start = number
        held.append(re.sub(r"^([-*]|\d+\.) ", "", line.strip()))


def of_python(code):
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            if text := ast.get_docstring(node):
                yield node.body[0].lineno, "docstring", text
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value.split()) > 5:
            if not node.value.startswith(("\n", " ")):
                yield node.lineno, "text", node.value
    comments = [
        token for token in tokenize.generate_tokens(io.StringIO(code).readline) if token.type == tokenize.COMMENT
    ]
    yield from joined((token.start[0], token.string.lstrip("# ")) for token in comments)


def joined(lines, kind="comment"):
    """Comments on lines that follow each other are one text."""
    start, end, held = 0, -1, []
    for number, text in lines:
        if number != end + 1 and held:
            yield start, kind, " ".join(held)
            held = []
        start, end = (start if held else number), number
        held.append(text)
    if held:
        yield start, kind, " ".join(held)


def of_cpp(code, kind):
    lines = [
        (number, match[2])
        for number, line in enumerate(code.splitlines(), 1)
        if (match := re.search(r"(^|[;{},()]\s*)///?<?\s+(.*)$", line))
    ]
    yield from joined(lines, kind)
    for match in re.finditer(r'"(?:[^"\\\n]|\\.)*"(?:\s*"(?:[^"\\\n]|\\.)*")*', code):
        text = "".join(re.findall(r'"((?:[^"\\\n]|\\.)*)"', match[0])).replace("\\n", " ").replace('\\"', '"')
        if len(text.split()) > 5:
            yield code.count("\n", 0, match.start()) + 1, "text", text


def texts_of(path):
    """(line, kind, text) of each text in a file; kinds are page, header, comment, docstring and text."""
    content = path.read_text()
    if path.suffix == ".md":
        return [(line, "page", text) for line, text in paragraphs_of(content)]
    if path.suffix == ".py":
        docstrings = set()
        found = []
        for line, kind, text in of_python(content):
            if kind == "docstring":
                docstrings.add(" ".join(text.split()))
            if kind != "text" or " ".join(text.split()) not in docstrings:
                found.append((line, kind, text))
        return found
    return list(of_cpp(content, "header" if path.suffix == ".hpp" else "comment"))


def files(paths):
    listed = subprocess.run(
        ["git", "ls-files", "--", *(paths or ["."])], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True
    ).stdout.splitlines()
    left_out = re.compile(r"tests/|docs/reference/(command|cpp|options|python|stats)\.md|bench/RESULTS\.md")
    wanted = [name for name in listed if re.search(r"\.(md|py|hpp|cpp|cu|cuh)$", name) and not left_out.match(name)]
    return [ROOT / name for name in wanted if (ROOT / name).exists()]


def count(paths):
    """Sentences and those with habits, by kind, and (path, line, habits, sentence) of the latter."""
    sentences, hits, places = collections.Counter(), collections.Counter(), []
    for path in files(paths):
        for line, kind, text in texts_of(path):
            for sentence in sentences_of(text):
                sentences[kind] += 1
                if found := habits_of(sentence):
                    hits[kind] += 1
                    places.append((path.relative_to(ROOT), line, found, sentence))
    return sentences, hits, places


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", 1)[1])
    parser.add_argument("paths", nargs="*", metavar="PATH")
    parser.add_argument("--list", type=int, default=0, metavar="N", help="sentences to print")
    options = parser.parse_args()
    sentences, hits, places = count(options.paths)
    for path, line, found, sentence in places[: options.list]:
        print(f"{path}:{line}: [{', '.join(found)}] {sentence}")
    for kind in sorted(sentences):
        print(
            f"{kind:10} {hits[kind]:5} of {sentences[kind]:5} sentences, {1000 * hits[kind] / sentences[kind]:.0f} in 1,000"
        )


if __name__ == "__main__":
    main()
