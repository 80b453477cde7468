"""Per-sample numbers, weights and repeats, in the form that the compiled loader accepts."""

from __future__ import annotations

import operator
import os
from array import array
from collections.abc import Mapping
from typing import Any

from ._error import made
from ._files import is_special_file


def _float64(numbers: Any, name: str) -> Any:
    """Returns a buffer of float64. Raises TypeError if `numbers` is not a list of numbers."""
    if hasattr(numbers, "detach"):  # a torch tensor
        numbers = numbers.detach().cpu().numpy()
    if hasattr(numbers, "to_numpy"):  # a pandas series
        numbers = numbers.to_numpy()
    if hasattr(numbers, "astype"):
        numbers = numbers.astype("float64")
        if numbers.ndim != 1:
            raise TypeError(f"{name} must have one number for each sample, not an array of {numbers.ndim} dimensions")
        return numbers if numbers.flags.c_contiguous else numbers.copy()
    try:
        return array("d", numbers)
    except TypeError:
        forms = (
            "one length for each sample" if name == "lengths" else "a number for each sample, numbers for each class"
        )
        raise TypeError(
            f"{name} must be a field, {forms} or a file of numbers, not a value of type {type(numbers).__name__}"
        ) from None


def _of_file(path: str, name: str) -> Any:
    if is_special_file(path):
        cause = f"{name}: {path} is not a regular file; pass a file, a list or an array of numbers"
        raise made("invalid_argument", cause)
    if path.endswith(".npy"):
        import numpy

        try:
            return _float64(numpy.lib.format.open_memmap(path, mode="r"), name)
        except OSError:
            raise
        except Exception as error:  # NumPy raises errors of several types for invalid files
            cause = f"{name}: cannot read numbers from {path}: {error}; write the file again with numpy.save()"
            raise made("corrupt", cause) from None
    with open(path, encoding="utf-8", errors="replace") as lines:
        numbers = array("d")
        for number, line in enumerate(lines, 1):
            try:
                numbers.append(float(line))
            except ValueError:
                cause = f"{name}: {path}, line {number}: {line.strip()[:40]!r} is not a number"
                raise made("corrupt", cause) from None
        return numbers


def _by_value(numbers: Mapping[Any, Any], name: str) -> tuple[str, dict[str, float]]:
    nested = [field for field, inner in numbers.items() if isinstance(inner, Mapping)]
    if nested and len(numbers) > 1:
        raise TypeError(f"{name} must have numbers for the values of one field, not of {len(numbers)} fields")
    field, values = (str(nested[0]), numbers[nested[0]]) if nested else ("cls", numbers)
    return field, {str(value): float(number) for value, number in values.items()}


def numbers_of(given: Any, name: str) -> Any:
    """Converts `given` for the compiled loader: a str, (field, {value: number}) or a buffer of float64."""
    if given is None or isinstance(given, str):
        return given
    if isinstance(given, Mapping):
        return _by_value(given, name)
    if isinstance(given, os.PathLike):
        return _of_file(os.fspath(given), name)
    return _float64(given, name)


def sample_numbers(indices: Any, function: str) -> list[int]:
    """The numbers in a list, a range, an array or a tensor. Raises TypeError for anything else. The text names
    `function`, the public penstock function. A boolean mask is refused too, because its True would select sample 1."""
    numbers = indices.tolist() if hasattr(indices, "tolist") else indices
    wanted = f"penstock.{function}(): indices must be a list or an array of sample numbers (whole numbers of 0 or more), not "
    if not isinstance(numbers, (list, tuple, range)):
        raise TypeError(wanted + repr(indices)[:40])
    found = []
    for number in numbers:
        if isinstance(number, bool):
            raise TypeError(
                f"penstock.{function}(): indices must be sample numbers, not a mask; numpy.flatnonzero(mask) returns "
                "the numbers"
            )
        whole = operator.index(number) if hasattr(number, "__index__") else -1
        if whole < 0:
            raise TypeError(wanted + repr(number)[:40])
        found.append(whole)
    return found
