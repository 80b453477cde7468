"""Hooks for mkdocs. Files outside of docs/ that pages link to are copied to repository/, and the links lead there."""

from __future__ import annotations

import pathlib
import posixpath
import re
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = pathlib.Path(__file__).resolve().parents[1]
OUTSIDE = "repository"
LINK = re.compile(r"\]\(([^)\s#]+)(#[^)\s]*)?\)")


def in_repository(page: str) -> str:
    """The source file of a page of the site."""
    return page[len(OUTSIDE) + 1 :] if page.startswith(f"{OUTSIDE}/") else f"docs/{page}"


def in_site(path: str) -> str:
    return path[len("docs/") :] if path.startswith("docs/") else f"{OUTSIDE}/{path}"


def target_of(page: str, link: str) -> str | None:
    """The file of the repository that a link of a page leads to; None for addresses."""
    if re.match(r"[a-z]+:", link):
        return None
    return posixpath.normpath(posixpath.join(posixpath.dirname(in_repository(page)), link))


def rewritten(page: str, text: str) -> str:
    def lead(match: re.Match[str]) -> str:
        target = target_of(page, match[1])
        if target is None or not (ROOT / target).is_file():
            return match[0]
        link = posixpath.relpath(in_site(target), posixpath.dirname(page) or ".")
        return f"]({link}{match[2] or ''})"

    # A link to a folder becomes plain text, because the site has no page for the folder.
    def words(match: re.Match[str]) -> str:
        target = target_of(page, match[2])
        return match[1] if target is not None and (ROOT / target).is_dir() else match[0]

    text = re.sub(r"\[([^\]\n]+)\]\(([^)\s#]+)\)", words, text)
    # In a table, GitHub requires an escaped bar inside code, but mkdocs shows the backslash.
    text = re.sub(
        r"^\|.*\|$",
        lambda row: re.sub(r"`[^`]+`", lambda code: code[0].replace("\\|", "|"), row[0]),
        text,
        flags=re.MULTILINE,
    )
    return LINK.sub(lead, text)


def on_files(files: Files, config: Any) -> Files:
    pages = [file.src_uri for file in files.documentation_pages()]
    while pages:
        page = pages.pop()
        for link, _ in LINK.findall((ROOT / in_repository(page)).read_text()):
            target = target_of(page, link)
            if target is None or target.startswith("docs/") or not (ROOT / target).is_file():
                continue
            name = in_site(target)
            if files.get_file_from_path(name) is None:
                files.append(File.generated(config, name, abs_src_path=str(ROOT / target)))
                if name.endswith(".md"):
                    pages.append(name)
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    return rewritten(page.file.src_uri, markdown)
