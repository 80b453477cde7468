"""Reads datasets of Petastorm as a source: Parquet, with a schema that says how each column is encoded."""

from __future__ import annotations

import collections
import io
import os
import pathlib
import pickle
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from .._encodings import encoding_of
from .._error import made
from ._arrow_types import is_list, plain
from ._arrow_values import array_in, bytes_in, number_in
from ._columns import Column, Readers, field_name
from ._parquet import parquet, pyarrow_parquet

_SCHEMA_KEY = b"dataset-toolkit.unischema.v1"
_OLD_PACKAGES = ("av.experimental.deepdrive.dataset_toolkit.", "av.ml.dataset_toolkit.")


class UnischemaField(NamedTuple):
    """A field as Petastorm's schema describes it; `codec` and `dtype` are names."""

    name: str
    dtype: str
    shape: tuple[int | None, ...]
    codec: str
    image: str
    """For CompressedImageCodec: "png" or "jpeg"."""


def unischema_of(folder: pathlib.Path) -> bytes | None:
    """The pickled schema in `_common_metadata`; None if there is none."""
    file = folder / "_common_metadata"
    if not file.is_file():
        return None
    return (pyarrow_parquet().read_schema(file).metadata or {}).get(_SCHEMA_KEY)


class _Foreign(Exception):
    """The pickle refers to a class that is not part of a schema."""


def read_unischema(pickled: bytes) -> list[UnischemaField]:
    """Reads the schema without Petastorm, and without running code of the pickle. Every class that it names is replaced
    by a stand-in that only holds its arguments. Raises Error: unsupported, naming a class that is not part of such a
    schema; corrupt."""
    try:
        schema = _SchemaReader(pickled).load()
        fields = schema.__dict__["_fields"]
        return [_field(field) for field in fields.values()]
    except _Foreign as error:
        raise made("unsupported", str(error)) from None
    except Exception as error:
        raise made("corrupt", f"the unischema cannot be read: {type(error).__name__}: {error}") from error


def _field(field: Any) -> UnischemaField:
    name, dtype, shape, codec, *_ = field
    image = str(getattr(codec, "_image_codec", "")).lstrip(".")
    return UnischemaField(str(name), str(dtype), tuple(shape), type(codec).__name__ if codec is not None else "", image)


class _Name(str):
    """The name of a type in a schema: of NumPy, Spark or Python."""

    def __call__(self, *arguments: Any) -> _Name:  # Spark's types and numpy.dtype("u1") are called as constructors
        return _Name(arguments[0]) if self == "dtype" and arguments else self

    def __setstate__(self, state: Any) -> None:
        pass


class _SchemaReader(pickle.Unpickler):
    """Finds only stand-ins. They are created for each pickle, so that a pickle cannot change them for others."""

    _CODECS = ("ScalarCodec", "NdarrayCodec", "CompressedNdarrayCodec", "CompressedImageCodec")
    _SPARK_TYPES = (
        *("ByteType", "ShortType", "IntegerType", "LongType", "FloatType", "DoubleType", "DecimalType", "BooleanType"),
        *("StringType", "BinaryType", "DateType", "TimestampType"),
    )
    _NUMPY_TYPES = (
        *("dtype", "bool", "bool_", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
        *("float16", "float32", "float64", "str_", "unicode_", "string_", "bytes_", "datetime64", "object_"),
    )
    _PYTHON_TYPES = ("bool", "int", "float", "str", "bytes", "unicode")

    def __init__(self, pickled: bytes) -> None:
        super().__init__(io.BytesIO(pickled), encoding="latin1")
        stand_ins: dict[str, Any] = {name: type(name, (), {}) for name in (*self._CODECS, "Unischema")}
        kinds = set(stand_ins.values())
        types = {name: type(name, (), {}) for name in self._SPARK_TYPES}
        kinds |= set(types.values())

        def reconstructed(kind: Any, base: Any, state: Any) -> Any:
            if kind is _FieldTuple:
                return _FieldTuple(*state)
            if kind not in kinds:
                raise _Foreign("the unischema creates an object of a class that is not part of it")
            return kind()

        def restored(name: Any, fields: Any, values: Any) -> Any:  # Spark pickles a namedtuple in this way
            return tuple(values)

        self._known: dict[tuple[str, str], Any] = {("collections", "OrderedDict"): collections.OrderedDict}
        self._known["petastorm.unischema", "Unischema"] = stand_ins["Unischema"]
        self._known["petastorm.unischema", "UnischemaField"] = _FieldTuple
        for name in self._CODECS:
            self._known["petastorm.codecs", name] = stand_ins[name]
        for name, kind in types.items():
            self._known["pyspark.sql.types", name] = kind
        for module in ("pyspark.serializers", "pyspark.cloudpickle"):
            self._known[module, "_restore"] = restored
        for name in self._NUMPY_TYPES:
            self._known["numpy", name] = _Name(name)
        for module in ("builtins", "__builtin__"):
            self._known[module, "object"] = self._known[module, "tuple"] = _Name("object")
            for name in self._PYTHON_TYPES:
                self._known[module, name] = _Name(name)
        for module in ("copyreg", "copy_reg"):
            self._known[module, "_reconstructor"] = reconstructed
        self._known["decimal", "Decimal"] = _Name("Decimal")
        self._known["datetime", "date"] = _Name("date")

    def find_class(self, module: str, name: str) -> Any:
        for package in _OLD_PACKAGES:
            if module.startswith(package):
                module = "petastorm." + module[len(package) :]
        try:
            return self._known[module, name]
        except KeyError:
            raise _Foreign(
                f"the unischema names {module}.{name}, which is not part of Petastorm's schemas: it is not loaded"
            ) from None

    def persistent_load(self, pid: Any) -> Any:
        raise _Foreign("the unischema refers to something outside of it")


class _FieldTuple(tuple):  # type: ignore[type-arg]
    """Replaces Petastorm's UnischemaField. Its parts are passed one by one."""

    def __new__(cls, *parts: Any) -> _FieldTuple:
        return super().__new__(cls, parts)


def _uncompressed(scalar: Any) -> Any:
    """The .npy file inside the output of numpy.savez_compressed(arr=...)."""
    import zipfile

    with zipfile.ZipFile(io.BytesIO(bytes_in(scalar))) as archive:
        return archive.read("arr.npy")


class petastorm(parquet):
    """The rows of a dataset that Petastorm wrote, as samples. Petastorm itself is not needed.

    fields: maps names of the schema to fields. By default the only image is `jpg` or `png` (CompressedImageCodec; its
      bytes are kept). Arrays (NdarrayCodec, CompressedNdarrayCodec) and numbers are `NAME.npy`, strings `NAME.txt`.
    key, classes: as for penstock.sources.parquet.

    The schema is a pickle, and nothing in it is run. Raises Error: invalid_argument, if there is no schema;
    unsupported, for a codec that is not Petastorm's, and for a schema with a class that does not belong there.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        fields: Mapping[str, str] | None = None,
        key: str | None = None,
        classes: Sequence[str] = (),
    ) -> None:
        pickled = unischema_of(pathlib.Path(path))
        if pickled is None:
            raise made("invalid_argument", "_common_metadata has no Petastorm schema", dataset=str(path))
        try:
            self._unischema = {field.name: field for field in read_unischema(pickled)}
        except RuntimeError as error:
            raise made(error.kind, error.cause, dataset=str(path)) from error  # type: ignore[attr-defined]
        super().__init__(path, fields=fields, key=key, classes=classes)

    def _choose_columns(self, fields: Mapping[str, str] | None, class_columns: Readers) -> list[Column]:
        plain = super()._choose_columns(fields, class_columns)
        told = [self._encoded(column, class_columns) for column in plain]
        if fields is not None:
            return [Column(column.name, column.field, value) for column, (_, value) in zip(plain, told)]
        extensions = [extension for extension, _ in told]
        return [
            Column(column.name, field_name(column.name, extension, extensions) if extension else column.field, value)
            for column, (extension, value) in zip(plain, told)
        ]

    def _encoded(self, column: Column, class_columns: Readers) -> tuple[str, Callable[[Any], Any]]:
        """Extension and reader of a column of the schema. The extension is "" if Parquet's own type decides."""
        field = self._unischema.get(column.name)
        if field is None or column.name in class_columns:
            return "", column.value
        if field.codec == "CompressedImageCodec":
            return encoding_of(field.image).extensions[0], bytes_in
        if field.codec == "CompressedNdarrayCodec":
            return "npy", _uncompressed
        listed = is_list(plain(self._schema.field(column.name).type))
        if field.codec == "NdarrayCodec" or (not field.codec and field.shape and not listed):
            return "npy", bytes_in
        if field.codec not in ("", "ScalarCodec"):
            raise made("unsupported", f"unknown codec {field.codec} of Petastorm", dataset=self.name, field=field.name)
        return self._scalar(column, field, listed)

    def _scalar(self, column: Column, field: UnischemaField, listed: bool) -> tuple[str, Callable[[Any], Any]]:
        import numpy

        try:
            dtype = numpy.dtype(field.dtype)
        except TypeError:  # a decimal or a date
            return "", column.value
        if dtype.kind not in "biuf" or encoding_of(column.field.rpartition(".")[2]).label:
            return "", column.value
        if listed:
            return "npy", lambda scalar: array_in(scalar).astype(dtype)
        return "npy", number_in(dtype)
