"""Audits the ledger of a training."""

from __future__ import annotations

import json
import os
from typing import Any

from . import _penstock
from ._words import keywords_in_words, worded

_audit = worded("penstock.audit", _penstock.audit)


class Audit(dict[str, Any]):
    """What an audit found, as plain numbers and strings; str() is the table that `penstock audit` prints.

    "good" is True without faults; "epochs" has {"epoch", "verdict", "samples", "delivered", "left_out", "bad",
    "taken_back", "restores", "worlds", "missing", "twice"} of each. "verdict" is "proved", "unfinished" or "faulty".
    "missing" and "twice" are {"count", "positions": [[first, end], ...]} of the epoch's order, with the dataset also
    "samples" and "keys". "faults" and "notes" are sentences.
    """

    def __init__(self, values: dict[str, Any], table: str) -> None:
        super().__init__(values)
        self._table = table

    def __str__(self) -> str:
        return self._table


@keywords_in_words
def audit(
    ledger: str | os.PathLike[str], *, dataset: str | os.PathLike[str] | _penstock.Dataset | None = None
) -> Audit:
    """Verifies that each sample of a ledger was delivered once an epoch, as `penstock audit` does.

        loader = ps.Loader("train.tar.d", delivery_log="run/ledger", ...)  # in every rank, in every restart
        print(ps.audit("run/ledger"))

    ledger: the folder that the loaders wrote. They may still be running.
    dataset: names samples that are missing or came twice.

    Raises Error: invalid_argument, if the folder holds no ledger or `dataset` is another one; corrupt, if it holds files
    of several datasets or orders; io.
    """
    told, table = _audit(ledger, dataset)
    return Audit(json.loads(told), table)
