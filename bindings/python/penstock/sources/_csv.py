"""Reads a list of files and their labels as a source."""

from __future__ import annotations

import csv as lines
import os
import pathlib
import posixpath
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .._error import made
from .._files import is_special_file
from ._labels import Labels
from ._source import Items, Sample, Source, item_error, number_key


class csv(Source):
    """The files that a CSV file lists, with their labels, as samples.

        ps.pack(ps.sources.csv("train.csv"), "train.tar.d", format="tar")   # path,label
                                                                            # a/1.jpg,cat

    The file has a header; columns are separated by commas, tabs or semicolons. The extension of a listed file names the
    field, and the path without it is the key. Labels that are all whole numbers (also "10.0") are class numbers. Other
    labels are class names, numbered as in `classes`, else in their bytewise order. "007" is a name. A sample with an
    empty label has no label. A label such as "1.5" is an error.

    path: the column of the paths, which are relative to `root` (default: the folder of the CSV file).
    label: the column of the labels, None for no labels. If the default column is missing, the samples have no labels. A
      column that you name must exist.
    fields: maps further columns to fields, which contain their text: {"caption": "txt"}.

    Raises Error: io; invalid_argument; corrupt, naming the line.
    """

    def __init__(
        self,
        file: str | os.PathLike[str],
        *,
        path: str = "path",
        label: str | None = "label",
        root: str | os.PathLike[str] | None = None,
        classes: Sequence[str] = (),
        fields: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(os.fspath(file), classes)
        self._root = pathlib.Path(root) if root is not None else pathlib.Path(file).parent
        self._fields = dict(fields or {})
        with self._opened() as opened:
            header, separator = self._header(opened.readline())
        self._separator = separator
        self._path = self._column(header, path)
        optional = label == "label" and label not in header
        self._label = None if label is None or optional else self._column(header, label)
        self._further = [(self._column(header, name), field) for name, field in self._fields.items()]
        self._width = len(header)
        self._labels = Labels(self.classes)
        count = 0
        for line, row in self._rows():
            count += 1
            if self._label is not None and len(row) > self._label:
                try:
                    self._labels.add(row[self._label])
                except ValueError as error:
                    cause = f'line {line}: {error}; label=None, fields={{COLUMN: "NAME.txt"}} keeps the column as text'
                    raise made("corrupt", cause, dataset=self.name) from error
        self._length = count
        self.classes = self.classes or self._labels.names()

    def _opened(self) -> Any:
        if is_special_file(self.name):
            raise made("invalid_argument", "is not a regular file; pass the path of a CSV file", dataset=self.name)
        try:
            return open(self.name, encoding="utf-8-sig", newline="")
        except OSError as error:
            raise made("io", f"cannot open: {error.strerror}", dataset=self.name) from error

    def _header(self, line: str) -> tuple[list[str], str]:
        separator = max(",\t;", key=line.count)
        header = next(lines.reader([line], delimiter=separator), [])
        return [name.strip() for name in header], separator

    def _column(self, header: list[str], name: str) -> int:
        if name not in header:
            raise made(
                "invalid_argument", f"unknown column {name!r}; the columns are {', '.join(header)}", dataset=self.name
            )
        return header.index(name)

    def _rows(self) -> Iterator[tuple[int, list[str]]]:
        """(line, columns); empty lines are skipped."""
        with self._opened() as file:
            rows = lines.reader(file, delimiter=self._separator)
            next(rows)
            for row in rows:
                if row:
                    yield rows.line_num, row

    def __iter__(self) -> Iterator[Sample]:
        """Iterates over the samples."""
        return Items(self._rows(), self._sample)

    def _sample(self, task: tuple[int, list[str]]) -> Sample:
        line, row = task
        if len(row) != self._width:
            error = f"line {line} has {len(row)} columns, the header has {self._width}"
            raise item_error(self.name, number_key(line), error)
        text = row[self._path]
        stem, extension = posixpath.splitext(posixpath.normpath(text))
        if not extension:
            raise item_error(self.name, text, f"line {line}: the path has no extension, which would name the field")
        key = stem.lstrip("/")
        while key.startswith("../"):
            key = key[3:]
        sample: Sample = {"__key__": key, extension[1:]: self._root / text}
        label = None if self._label is None else self._labels.value(row[self._label])
        if label is not None:
            sample["cls"] = label
        for column, field in self._further:
            sample[field] = row[column]
        return sample
