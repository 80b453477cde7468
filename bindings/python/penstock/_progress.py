"""Shows the progress of long work on stderr."""

from __future__ import annotations

import sys
import time


class Bar:
    """A bar on a terminal; otherwise a plain line now and then. Both go to stderr."""

    def __init__(self, doing: str, unit: str = "samples") -> None:
        """If `unit` is "bytes", progress is shown in MB."""
        self.doing = doing
        self._unit = unit
        self._terminal = sys.stderr.isatty()
        self._began = self._shown = time.monotonic()
        self._drawn = False

    def __call__(self, samples: int, total: int, nbytes: int) -> None:
        """`total` is 0 if the total is unknown."""
        now = time.monotonic()
        last = samples >= total > 0
        if now - self._shown < (0.1 if self._terminal else 5.0) and not (last and (self._drawn or self._terminal)):
            return
        self._shown = now
        seconds = max(now - self._began, 1e-3)
        share = samples / total if total else 0.0
        shown = (
            f"{samples / 1e6:,.0f}/{total / 1e6:,.0f} MB" if self._unit == "bytes" else f"{samples:,}/{total:,} samples"
        )
        text = f"{self.doing}  {shown}  {share:.0%}" if total else f"{self.doing}  {samples:,} {self._unit}"
        text += f"  {nbytes / seconds / 1e6:,.0f} MB/s"
        if total and not last and samples:
            text += f"  {seconds * (total - samples) / samples:,.0f} s left"
        if self._terminal:
            full = int(30 * share)
            bar = f"[{'=' * full}{' ' * (30 - full)}] " if total else ""
            print(f"\r{bar}{text}\x1b[K", end="", file=sys.stderr, flush=True)
            self._drawn = True
        else:
            print(f"penstock: {text}", file=sys.stderr)

    def end(self) -> None:
        """Ends the bar. May be called repeatedly."""
        if self._drawn:
            self._drawn = False
            print(file=sys.stderr)
