"""Issues warnings that point to the program's own line, however deep in the package the reason was found."""

from __future__ import annotations

import sys
import warnings

_PACKAGE = __name__.split(".", 1)[0]


def warn(text: str, category: type[Warning] = UserWarning) -> None:
    """Like warnings.warn(), at the nearest caller outside penstock."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".", 1)[0] == _PACKAGE:
        level, frame = level + 1, frame.f_back
    warnings.warn(text, category, stacklevel=level)
