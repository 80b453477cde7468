"""Audits the delivery log of a training."""

from __future__ import annotations

import json
import os
from typing import Any

from . import _penstock
from ._words import keywords_in_words, worded

_audit = worded("penstock.audit", _penstock.audit)


class Audit(dict[str, Any]):
    """Result of an audit, as plain numbers and strings; str() is the table that `penstock audit` prints.

    "good" is True if no fault was found. "epochs" has {"epoch", "verdict", "samples", "delivered", "left_out", "bad",
    "taken_back", "restores", "worlds", "missing", "twice"} for each epoch. "verdict" is "proved", "unfinished" or
    "faulty". "missing" and "twice" are {"count", "positions": [[first, end], ...]} in the epoch's order. With the
    dataset, they also have "samples" and "keys". "faults" and "notes" are sentences.
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
    """Verifies that each sample in a delivery log was delivered once per epoch, as `penstock audit` does.

        loader = ps.Loader("train.tar.d", delivery_log="run/ledger", ...)  # in every rank, in every restart
        print(ps.audit("run/ledger"))

    ledger: the folder that the loaders wrote. They may still be running.
    dataset: gives the names of samples that are missing or came twice.

    Raises Error: invalid_argument, if the folder holds no delivery log or `dataset` is a different dataset; corrupt, if
    the folder has files of several datasets or orders; io.
    """
    told, table = _audit(ledger, dataset)
    return Audit(json.loads(told), table)
