"""Removes the frames of `penstock run` from tracebacks, so that users see only their own code and its libraries."""

from __future__ import annotations

import os
from types import TracebackType

_HERE = os.path.dirname(__file__) + os.sep


def drop_frame(raised: BaseException) -> None:
    """Call it in an `except` of a function that is put between the program and a library; a bare `raise` must follow.
    Python 3.11 and later then show no frame of this function. Older ones add the frame again, and cut() removes it."""
    if raised.__traceback__ is not None:
        raised.__traceback__ = raised.__traceback__.tb_next


def is_ours(traceback: TracebackType) -> bool:
    return traceback.tb_frame.f_code.co_filename.startswith(_HERE)


def cut(raised: BaseException, start: bool) -> None:
    """Removes our frames from the exception, its cause and its context. start: also removes the frames before our first
    one. They belong to the start of the interpreter."""
    seen: set[int] = set()
    left: list[BaseException | None] = [raised]
    while left:
        one = left.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        kept = list(_entries(one.__traceback__))
        if start and one is raised:
            ours = [place for place, entry in enumerate(kept) if is_ours(entry)]
            kept = kept[ours[0] :] if ours else kept
        kept = [entry for entry in kept if not is_ours(entry)]
        for entry, following in zip(kept, [*kept[1:], None]):
            entry.tb_next = following
        one.__traceback__ = kept[0] if kept else None
        left += [one.__cause__, one.__context__]


def _entries(traceback: TracebackType | None) -> list[TracebackType]:
    entries = []
    while traceback is not None:
        entries.append(traceback)
        traceback = traceback.tb_next
    return entries
