"""Chooses the samples of an epoch, and how often each comes: Loader(sampler=ps.sampler.weighted("weight"))."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Union

from ._draws import numbers_of, sample_numbers
from ._words import keywords_in_words

__all__ = ["balanced", "repeated", "subset", "weighted"]

# A field that holds each sample's number; or one number for each sample, also as a file (.npy, or one a line). Or
# numbers for the values of a field: {"cat": 2, "dog": 1} for "cls", {"json:weather": {"rain": 3}} for another one.
Numbers = Union[str, "os.PathLike[str]", Mapping[Any, Any], Iterable[float]]


@dataclass(frozen=True, eq=False)
class Sampler:
    """A choice of an epoch's samples, and of how often each comes. weighted(), repeated(), balanced() and subset() make
    it."""

    kind: str
    by: Any
    num_samples: int | None
    replacement: bool = True


def _count(num_samples: int | None, function: str) -> int | None:
    if num_samples is None:
        return None
    if isinstance(num_samples, bool) or not hasattr(num_samples, "__index__") or num_samples < 1:
        raise TypeError(f"penstock.sampler.{function}(): num_samples must be 1 or more, or None, not {num_samples!r}")
    return int(num_samples)


@keywords_in_words
def weighted(weights: Numbers, *, replacement: bool = True, num_samples: int | None = None) -> Sampler:
    """Draws samples in proportion to their weights, in a new order each epoch.

    weights: a field that holds the weight: "weight", "json:score". Or one number for each sample: a list, an array, a
      tensor or a file (.npy, or one number a line). Or one number for each class: {"cat": 2, "dog": 1}. Or one for each
      value of another field: {"json:weather": {"rain": 3, "sun": 1}}.
    replacement: True: every position draws from all samples again. False: no sample comes twice in an epoch, and
      heavier samples tend to come earlier.
    num_samples: samples of an epoch. None: as many as the dataset has.
    """
    return Sampler("weighted", numbers_of(weights, "weights"), _count(num_samples, "weighted"), bool(replacement))


@keywords_in_words
def repeated(repeats: Numbers, *, num_samples: int | None = None) -> Sampler:
    """Repeats every sample as often as its number says. The counts are exact, while weights leave them to chance.

    repeats: in the forms that weighted() accepts for weights. Fractions hold on average: with 1.5, a sample comes once
      in some epochs and twice in others.
    num_samples: samples of an epoch. None: the sum of all numbers.
    """
    return Sampler("repeated", numbers_of(repeats, "repeats"), _count(num_samples, "repeated"))


@keywords_in_words
def balanced(field: str = "cls", *, num_samples: int | None = None) -> Sampler:
    """Balances the values of a field: with k values, each group of k positions has each value once. All samples of a
    value come before one comes again.

    field: such as "cls" or "json:weather".
    num_samples: samples of an epoch. None: as many as the dataset has.
    """
    if not isinstance(field, str):
        raise TypeError(f'penstock.sampler.balanced(): field must be the name of a field, such as "cls", not {field!r}')
    return Sampler("balanced", field, _count(num_samples, "balanced"))


@keywords_in_words
def subset(indices: Any) -> Sampler:
    """Restricts an epoch to the samples with these numbers, in this order unless it is shuffled.

    indices: a list, a range, an array or a tensor of sample numbers. A number may come several times; random transforms
      draw new numbers each time. Dataset.select() makes a dataset of them instead. The difference: with subset(), rows
      of ps.window() may reach into samples that are not among them.
    """
    return Sampler("subset", sample_numbers(indices, "sampler.subset"), None)


def sampler_of(given: Any) -> Sampler | None:
    """Converts the argument of Loader(sampler=given)."""
    if given is None or isinstance(given, Sampler):
        return given
    name = type(given).__name__
    of_torch = any(each.__module__.partition(".")[0] == "torch" for each in type(given).__mro__)
    if of_torch and name == "WeightedRandomSampler":
        return weighted(given.weights, replacement=given.replacement, num_samples=given.num_samples)
    if of_torch and name == "SubsetRandomSampler":
        return subset(given.indices)
    if of_torch and name == "DistributedSampler":
        raise TypeError(
            'penstock.Loader(): sampler cannot be a DistributedSampler; pass rank="env", which reads rank and '
            "world_size from "
            "torchrun, MPI or Slurm, and shuffle=True"
        )
    if of_torch and name in ("RandomSampler", "SequentialSampler"):
        raise TypeError(f"penstock.Loader(): sampler cannot be a {name}; pass shuffle={name == 'RandomSampler'}")
    raise TypeError(
        "penstock.Loader(): sampler must be ps.sampler.weighted(), repeated(), balanced() or subset(), torch's "
        "WeightedRandomSampler or "
        f"SubsetRandomSampler, or None, not a value of type {name}"
    )
