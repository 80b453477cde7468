"""Packs samples that a program makes in Python."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any

from . import _penstock
from ._encode import encode
from ._error import made
from ._packing import packing_options, with_options
from ._progress import Bar
from ._words import keywords_in_words, worded

_PackOptions = worded("penstock.Writer", _penstock.PackOptions)


@with_options("Writer")
class Writer:
    """Writes a packed dataset from samples that come in any order, from any thread.

        with ps.Writer("train.tar.d", format="tar", classes=["cat", "dog"]) as writer:
            writer.add("0001", {"jpg": image, "cls": "dog", "json": {"source": "web"}})

    The dataset appears when the block ends, with its samples in bytewise order of their keys. After an exception in the
    block, or Ctrl-C, nothing is left. The bytes depend only on the samples, not on the order in which they came. Until
    the end, samples are in an unnamed file in the folder `temp_dir`, so that twice the space is in use. The memory in
    use is 24 bytes per field, and about 20 bytes and the key per sample.

    With `classes`, `cls` may be given by name. Raises Error: invalid_argument, if the destination exists; io.

    {options}
    """

    @keywords_in_words
    def __init__(
        self,
        destination: str | os.PathLike[str],
        *,
        format: str = "tar",
        shard_size: int | str = 256 << 20,
        align: int | str = 1,
        labels: str = "",
        classes: Sequence[str] = (),
        jpeg: str = "keep",
        max_side: int = 0,
        decode: int | str | bool | None = None,
        presample: str = "",
        point_order: str = "keep",
        point_attributes: str = "none",
        workers: int = 0,
        overwrite: bool = False,
        temp_dir: str | os.PathLike[str] | None = None,
        quality: int = 95,
        progress: bool | Callable[[int, int, int], object] = True,
    ) -> None:
        self._begin(destination, {**packing_options(locals()), "classes": []}, classes, quality, progress)

    @classmethod
    def _made(cls, *given: Any) -> Writer:
        """A Writer with all options of penstock.pack. pack_items() needs on_error, and classes that class numbers must
        follow."""
        writer = cls.__new__(cls)
        writer._begin(*given)
        return writer

    def _begin(
        self,
        destination: str | os.PathLike[str],
        options: Mapping[str, Any],
        classes: Sequence[str],
        quality: int,
        progress: bool | Callable[[int, int, int], object],
    ) -> None:
        self._destination = _penstock.shown_place(destination)
        self._classes = {name: number for number, name in enumerate(classes)}
        self._quality = quality
        self._progress = progress
        self._result: dict[str, Any] | None = None
        self._writer: _penstock.Writer | None = _penstock.Writer(
            destination, _PackOptions(**options), classes=list(classes)
        )

    def add(self, key: str, fields: Mapping[str, Any]) -> None:
        """Adds a sample. `fields` maps names to values, which `penstock.encode` encodes. For a path (os.PathLike), the
        bytes of that file are packed; it is read at the end.

        Raises Error: invalid_argument, with `key` and `field`, for a key that was added before or a value that cannot
        be encoded; the writer then continues without that sample. After io (a full disk), each later call raises it
        again.
        """
        writer = self._open()
        if not isinstance(key, str):
            raise made("invalid_argument", f"a key must be a str, not {key!r}", dataset=self._destination)
        encoded = {}
        for name, value in fields.items():
            if not isinstance(name, str):
                raise made(
                    "invalid_argument",
                    f"the name of a field must be a str, not {name!r}",
                    dataset=self._destination,
                    key=key,
                )
            try:
                encoded[name] = encode(name, value, quality=self._quality, classes=self._classes)
            except Exception as error:
                cause = str(error) or type(error).__name__
                raise made("invalid_argument", cause, dataset=self._destination, key=key, field=name) from error
        writer.add(key, encoded)

    def write(self, sample: Mapping[str, Any]) -> None:
        """Adds a sample in the form of WebDataset's writers: the key is `sample["__key__"]`, and other names that begin
        with an underscore are left out."""
        if "__key__" not in sample:
            raise made("invalid_argument", "the sample has no __key__", dataset=self._destination)
        self.add(sample["__key__"], {name: value for name, value in sample.items() if name[:1] != "_"})

    def finish(self) -> dict[str, Any]:
        """Packs the dataset; the end of the `with` block does that. Returns what penstock.pack returns. Raises Error."""
        writer = self._open()
        bar = Bar("packing") if self._progress is True else None
        try:
            self._result = writer.finish(bar or self._progress or None)
        finally:
            self._writer = None
            if bar is not None:
                bar.end()
        return self._result

    def abandon(self) -> None:
        """Removes all samples and leaves no file. An exception in the `with` block does this too."""
        self._writer = None

    @property
    def samples(self) -> int:
        """Samples added so far."""
        return self._open().samples

    @property
    def bytes(self) -> int:
        """Bytes of all values added so far."""
        return self._open().bytes

    @property
    def result(self) -> dict[str, Any] | None:
        """The value that finish() returned; None before."""
        return self._result

    def __enter__(self) -> Writer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if kind is not None:
            self.abandon()
        elif self._writer is not None:
            self.finish()

    def _open(self) -> _penstock.Writer:
        writer = self._writer
        if writer is None:
            raise made("invalid_argument", "the writer is finished, or was abandoned", dataset=self._destination)
        return writer
