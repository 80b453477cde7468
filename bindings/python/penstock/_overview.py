"""The overview of a training, from traces of PyTorch's profiler or reports."""

from __future__ import annotations

import html
import json
import os
import pathlib
import tempfile
from collections.abc import Sequence
from typing import Any

from . import _error, _penstock
from ._progress import Bar
from ._words import keywords_in_words


class Overview:
    """Result of `ps.overview()`. str() of it is one screen of text; notebooks show its page."""

    def __init__(self, screen: str, page: str, figures: dict[str, Any]) -> None:
        self._screen, self._page = screen, page
        self.figures = figures
        """All figures, as `penstock overview --json` writes them. Times are seconds, and shares are between 0 and
        1. A figure that the trace does not record is None. Two reports have only "comparison"."""

    @property
    def diagnosis(self) -> dict[str, Any]:
        """{"cause", "share", "why", "not_the_cause", "remedies"}. `cause` is "loading", "copies", "communication",
        "synchronisation", "host", "other" or "none"; `share` is its part of a step. Reports have none."""
        if "diagnosis" not in self.figures:
            raise _error.made("unsupported", "two reports have no diagnosis; use figures['comparison']")
        found: dict[str, Any] = self.figures["diagnosis"]
        return found

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the page: one HTML file without external references, for light and dark screens."""
        pathlib.Path(path).write_text(self._page, encoding="utf-8", errors="replace")

    def __str__(self) -> str:
        return self._screen

    def __repr__(self) -> str:
        traces = [rank["trace"] for rank in self.figures.get("ranks", ())]
        return f"penstock.Overview({traces or [self.figures['comparison'][run] for run in ('before', 'after')]})"

    def _repr_html_(self) -> str:
        framed = html.escape(self._page, quote=True)
        return f'<iframe srcdoc="{framed}" style="width:100%;height:700px;border:0" title="Overview"></iframe>'


@keywords_in_words
def overview(
    trace: Any | str | os.PathLike[str] | Sequence[str | os.PathLike[str]], *, progress: bool = False
) -> Overview:
    """Explains where a training loses time: the step time in eight categories, the use and the idle time of the GPUs, the
    cause, and a remedy. Works with every data loader.

        with torch.profiler.profile(schedule=torch.profiler.schedule(wait=1, warmup=1, active=5, repeat=1)) as profiler:
            for batch in loader:
                train(batch)
                profiler.step()
        print(ps.overview(profiler))

    trace: a torch.profiler.profile that has ended. Or the path of a trace (export_chrome_trace(),
      tensorboard_trace_handler()), plain or with gzip. Or a list of paths: two runs, or the ranks of a training.
      Two runs may also be JSON reports of `penstock run`, or of `penstock bench` and `tune`.
    progress: True shows a bar on stderr.

    A trace that ends early or is broken is read up to that place, and the overview says so. Raises Error: io; corrupt,
    if a file is not JSON; unsupported, if it is not a trace, or has neither steps nor operators; invalid_argument, for
    files of several kinds.
    """
    if hasattr(trace, "export_chrome_trace"):
        with tempfile.TemporaryDirectory(prefix="penstock-") as folder:
            file = os.path.join(folder, "profiler.json")
            trace.export_chrome_trace(file)
            return overview(file, progress=progress)
    paths = [trace] if isinstance(trace, (str, os.PathLike)) else trace
    if not isinstance(paths, (list, tuple)):
        kind = type(trace).__name__
        raise TypeError(f"penstock.overview(): trace must be a profiler, a path or a list of paths, not {kind}")
    bar = Bar("reading", unit="bytes") if progress else None
    try:
        screen, page, figures = _penstock.read_overview(paths, bar)
    finally:
        if bar is not None:
            bar.end()
    return Overview(screen, page, json.loads(figures))
