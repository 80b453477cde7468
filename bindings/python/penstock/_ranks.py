"""Finds the rank that holds the others up, and the reason."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from . import _penstock
from ._words import keywords_in_words


class RankTable:
    """Rows of the ranks, in order; str() is the table with a sentence below it that names the slow rank and the reason.

    slow: the slow rank, or None if no rank is slower than the others. text: the sentence.
    """

    def __init__(self, stats: list[Mapping[str, Any]]) -> None:
        self.rows = [
            {
                "rank": one["rank"],
                "samples_per_s": one["samples"] / one["wall_s"] if one["wall_s"] > 0 else 0.0,
                "data_wait": one["verdict"]["data_wait"],
                "mean_step_s": one["step_s"] / one["batches"] if one["batches"] > 0 else 0.0,
                "binds": one["verdict"]["binds"],
            }
            for one in stats
        ]
        which, self.text = _penstock.slow_rank([(row["rank"], row["data_wait"]) for row in self.rows])
        self.slow: int | None = None
        if which is not None:
            self.slow = self.rows[which]["rank"]
            self.text += "; " + stats[which]["verdict"]["text"]

    def __str__(self) -> str:
        lines = [f"{'rank':>4}  {'samples/s':>11}  {'data wait':>9}  {'step':>10}  binds"]
        for row in self.rows:
            slow = "  <- slow" if row["rank"] == self.slow else ""
            lines.append(
                f"{row['rank']:>4}  {row['samples_per_s']:>11,.1f}  {100 * row['data_wait']:>7.0f} %  "
                f"{1e3 * row['mean_step_s']:>7.1f} ms  {row['binds']}{slow}"
            )
        return "\n".join([*lines, self.text]) + "\n"


@keywords_in_words
def rank_table(stats: Iterable[Mapping[str, Any]]) -> RankTable:
    """Compares the ranks of one training by the stats() of their loaders, one per rank.

    All ranks take each step together. A rank whose batches come late waits for them, and the others wait for that rank
    in their step. Therefore the slow rank is the one that waits longest for batches. penstock.torch.rank_table()
    gathers the stats first. Raises ValueError if a rank comes twice, or if the stats are of trainings with different
    numbers of ranks.
    """
    given = sorted(stats, key=lambda one: int(one["rank"]))
    ranks = [one["rank"] for one in given]
    if len(set(ranks)) != len(ranks):
        raise ValueError(f"penstock.rank_table() requires the stats of each rank once, not of ranks {ranks}")
    if len({one["world"] for one in given}) > 1:
        raise ValueError(
            "penstock.rank_table() requires the stats of one training, in which all ranks have the same world"
        )
    return RankTable(given)
