"""Defines what all sources have in common."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from .._error import Error, made
from .._warn import warn

Sample = dict[str, Any]


class ItemError(Error):
    """An item of a source could not be read. The source continues with the next one."""


def item_error(name: str, key: str, error: Exception | str, field: str = "", *, where: str = "") -> ItemError:
    """Wraps `error` for the item `key` of the source `name`, located at `where`. Raise it from `error`.

    A text is the cause itself: the item has not the form that the source needs.
    """
    if isinstance(error, str):
        cause, kind = error, "shape"
    elif isinstance(error, Error):
        field, cause, kind = error.field or field, error.cause, error.kind
    else:
        cause, kind = f"{type(error).__name__}: {error}", "corrupt"
    plain = made(kind, f"{where}: {cause}" if where else cause, dataset=name, key=key, field=field)
    wrapped = ItemError(str(plain))
    wrapped.__dict__.update(plain.__dict__)
    return wrapped


class Told:
    """Columns that are not kept as they are. They are reported in one warning after the last row."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lines: dict[str, str] = {}
        self._is_said = False
        self.with_values: set[str] = set()
        """Columns in which a value was seen."""

    def say(self, column: str, what: str) -> None:
        """Notes something about a column. Only the first note about a column is kept."""
        self._lines.setdefault(column, what)

    def warn(self) -> None:
        if self._lines and not self._is_said:
            self._is_said = True
            lines = "; ".join(f"column {column!r} {what}" for column, what in self._lines.items())
            warn(f"{self._name}: {lines}", RuntimeWarning)


def number_key(number: int) -> str:
    """The default key of an item."""
    return f"{number:012}"


class Source:
    """An iterable of samples, each a dict of `"__key__"` and values as penstock.encode takes them.

    May be iterated over repeatedly. next() raises the error of an invalid item, and the following call continues after
    that item. `len()` raises TypeError if the number of samples is not known in advance.
    """

    name: str
    """For messages: a path, or the kind of object."""
    classes: list[str]
    """Names of the class numbers; empty if there are none."""

    def __init__(self, name: str, classes: Iterable[str] = (), length: int | None = None) -> None:
        self.name = name
        self.classes = list(classes)
        self._length = length

    def __len__(self) -> int:
        if self._length is None:
            raise TypeError(f"the number of samples in {self.name} is unknown")
        return self._length

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[Sample]:
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"penstock.sources.{type(self).__name__}({self.name})"


class Items:
    """Calls `make` for each task in turn. Unlike a generator, the iterator continues after `make` has raised."""

    def __init__(self, tasks: Iterable[Any], make: Callable[[Any], Sample]) -> None:
        self._tasks = iter(tasks)
        self._make = make

    def __iter__(self) -> Items:
        return self

    def __next__(self) -> Sample:
        return self._make(next(self._tasks))


def named(item: Any, fields: Any) -> Sample:
    """Converts a Python item to a dict of fields: `fields` may rename the keys of a dict ({NAME: FIELD}), and names the
    parts of a tuple."""
    if isinstance(item, Mapping):
        if not fields:
            return dict(item)
        if not isinstance(fields, Mapping):
            raise made(
                "invalid_argument",
                'the items are dicts, so fields must be a dict that renames their entries: fields={"image": "jpg", '
                "...}",
            )
        sample = {field: item[name] for name, field in fields.items() if name in item}
        if "__key__" in item:
            sample["__key__"] = item["__key__"]
        return sample
    if not isinstance(item, (tuple, list)):
        raise made("invalid_argument", f"an item must be a dict or a tuple, not {type(item).__qualname__}")
    if not fields or isinstance(fields, (str, Mapping)):
        raise made("invalid_argument", 'the items are tuples, so fields must name their parts: fields=("jpg", "cls")')
    if len(fields) != len(item):
        raise made("invalid_argument", f"an item has {len(item)} parts, but fields names {len(fields)}")
    return dict(zip(fields, item))


class Plain(Source):
    """Any iterable of dicts, or of tuples whose parts `fields` names."""

    def __init__(self, items: Iterable[Any], fields: Any = None) -> None:
        try:
            length: int | None = len(items)  # type: ignore[arg-type]
        except Exception:  # pipelines of several libraries have a len() that raises
            length = None
        super().__init__(type(items).__qualname__, length=length)
        self._items = items
        self._fields = fields

    def __iter__(self) -> Iterator[Sample]:
        return Items(zip(itertools.count(), self._items), self._sample)

    def _sample(self, task: tuple[int, Any]) -> Sample:
        number, item = task
        try:
            sample = named(item, self._fields)
        except Error as error:
            raise item_error(self.name, number_key(number), error) from error
        sample.setdefault("__key__", number_key(number))
        return sample
