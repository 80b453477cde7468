"""Reads map-style datasets, such as those of torch, as a source."""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from .._encode import encode
from .._error import made
from ._source import ItemError, Items, Sample, Source, item_error, named, number_key


class torch(Source):
    """The items `dataset[0]` to `dataset[len(dataset) - 1]`, as samples: dicts, or tuples whose parts `fields` names.

        ps.pack(ps.sources.torch(ImageFolder("photos"), fields=("jpg", "cls"), threads=8), "photos.tar.d", format="tar")

    Values are encoded by the same threads or processes that read the items, with penstock.encode and, for jpg and webp,
    `quality`. The key is the item's `"__key__"`, else its number as 12 digits. Class names are the dataset's attribute
    `classes`, if it has one, or the given ones. By default, items are read one by one. The samples are the same in any
    case.

    threads: reads items in this many threads, if the dataset is thread-safe and releases the GIL (decoding, reading).
    processes: reads items in this many worker processes of torch's DataLoader, for other datasets.

    About two items per thread or process are in memory. Raises Error: invalid_argument.
    """

    def __init__(
        self,
        dataset: Any,
        *,
        fields: Sequence[str] | Mapping[str, str] | None = None,
        threads: int = 0,
        processes: int = 0,
        classes: Sequence[str] = (),
        quality: int = 95,
    ) -> None:
        name = type(dataset).__qualname__
        if threads and processes:
            raise made("invalid_argument", "threads cannot be combined with processes", dataset=name)
        if not classes:
            own = getattr(dataset, "classes", ())
            classes = own if isinstance(own, (list, tuple)) and all(isinstance(one, str) for one in own) else ()
        super().__init__(name, classes, len(dataset))
        self._read = _Read(dataset, fields, {one: number for number, one in enumerate(self.classes)}, quality, name)
        self._threads = threads
        self._processes = processes

    def __iter__(self) -> Iterator[Sample]:
        """Iterates over the samples."""
        count = len(self)
        if self._threads:
            return Items(_in_threads(self._read, count, self._threads), lambda future: future.result())
        if self._processes:
            return Items(_in_processes(self._read, count, self._processes), _result)
        return Items(range(count), self._read)


class _Read:
    """Reads and encodes an item of the dataset. Worker processes receive it by pickling."""

    def __init__(self, dataset: Any, fields: Any, classes: Mapping[str, int], quality: int, name: str) -> None:
        self.dataset, self.fields, self.classes, self.quality, self.name = dataset, fields, classes, quality, name

    def __call__(self, number: int) -> Sample:
        key, field = number_key(number), ""
        try:
            sample = named(self.dataset[number], self.fields)
            key = sample.pop("__key__", key)
            encoded: Sample = {"__key__": key}
            for field, value in sample.items():
                if field[:1] != "_":
                    encoded[field] = encode(field, value, quality=self.quality, classes=self.classes)
            return encoded
        except Exception as error:
            raise item_error(self.name, str(key), error, field) from error


def _in_threads(read: Callable[[int], Sample], count: int, threads: int) -> Iterator[Any]:
    import concurrent.futures

    executor = concurrent.futures.ThreadPoolExecutor(threads, "penstock-items")
    try:
        waiting: collections.deque[Any] = collections.deque()
        for number in range(count):
            waiting.append(executor.submit(read, number))
            if len(waiting) >= 2 * threads:
                yield waiting.popleft()
        while waiting:
            yield waiting.popleft()
    finally:
        executor.shutdown(wait=False, cancel_futures=True)


class _Guarded:
    """Returns a failure as a value, because an exception would end the DataLoader."""

    def __init__(self, read: Callable[[int], Sample], count: int) -> None:
        self._read, self._count = read, count

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, number: int) -> Any:
        try:
            return self._read(number)
        except ItemError as error:
            error.__cause__ = None  # it may not survive pickling
            return error


def _as_it_is(item: Any) -> Any:
    return item


def _in_processes(read: Callable[[int], Sample], count: int, processes: int) -> Iterator[Any]:
    try:
        from torch.utils.data import DataLoader
    except ImportError:
        raise ImportError("processes needs torch: pip install torch") from None
    guarded: Any = _Guarded(read, count)  # a DataLoader needs no more of a dataset
    return iter(DataLoader(guarded, batch_size=None, num_workers=processes, collate_fn=_as_it_is))


def _result(item: Any) -> Sample:
    if isinstance(item, ItemError):
        raise item
    return item  # type: ignore[no-any-return]
