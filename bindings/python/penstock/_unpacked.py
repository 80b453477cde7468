"""Unpacks files that are compressed as a whole, so that penstock.pack can read their samples in any order."""

from __future__ import annotations

import contextlib
import fcntl
import gzip
import os
import pathlib
import shutil
import tempfile
import zlib
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

from ._error import Error, made

_MAGIC = b"\x1f\x8b"
_PIECE = 1 << 20
_PREFIX = ".penstock-unpacked-"


def compressed_files(source: Any) -> list[pathlib.Path]:
    """The gzip files that a path is, or, where it is a folder of nothing else, holds; none for anything else.

    Of a folder only names count that say so, `.tar.gz`, `.tgz`, or `tfrecord` somewhere: all its other files, but hidden
    ones, keep it a folder of files.
    """
    if not isinstance(source, (str, os.PathLike)):
        return []
    path = pathlib.Path(source)
    try:
        if path.is_file():
            return [path] if _is_gzip(path) else []
        if not path.is_dir():
            return []
        files = []
        for entry in os.scandir(path):
            if entry.name[0] == ".":
                continue
            if not (entry.is_file() and _is_shard_name(entry.name)):
                return []
            files.append(path / entry.name)
        return sorted(files) if any(map(_is_gzip, files)) else []
    except OSError:
        return []  # opening it says why


def _is_shard_name(name: str) -> bool:
    name = name.lower()
    return name.endswith((".tar", ".tar.gz", ".tgz")) or "tfrec" in name


def _is_gzip(path: pathlib.Path) -> bool:
    with open(path, "rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC


def _plain_name(name: str) -> str:
    lower = name.lower()
    return name[:-4] + ".tar" if lower.endswith(".tgz") else name[:-3] if lower.endswith(".gz") else name


@contextlib.contextmanager
def unpacked(
    source: str | os.PathLike[str],
    files: list[pathlib.Path],
    folder: pathlib.Path,
    tell: Callable[[int, int, int], object],
) -> Iterator[pathlib.Path]:
    """`files` of `source`, unpacked into a folder of their own inside `folder`, which is removed at the end, or by the
    next call where the process is killed: what takes the place of `source`. They keep their times, so that a packing can be
    resumed. Errors inside the block that name that place name `source`.

    Raises Error: io; corrupt, naming the file, where it ends early, is damaged, or goes on behind its end with anything but
    zeros.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _remove_left_behind(folder)
        place, held = _folder_in(folder)
    except OSError as error:
        raise made(
            "io", f"cannot make a temporary folder in {folder}: {error.strerror}", dataset=str(source)
        ) from error
    try:
        total, done = sum(file.stat().st_size for file in files), 0
        for file in files:
            if _is_gzip(file):
                _unpack(
                    file, place / _plain_name(file.name), lambda read, now=done: tell(now + read, total, now + read)
                )
            else:
                os.symlink(file.resolve(), place / file.name)
            done += file.stat().st_size
        taking = place if pathlib.Path(source).is_dir() else place / _plain_name(files[0].name)
        try:
            yield taking
        except Error as error:
            raise _of_source(error, str(taking), os.fspath(source)) from None
    finally:
        shutil.rmtree(place, ignore_errors=True)
        if held is not None:
            os.close(held)


def _remove_left_behind(folder: pathlib.Path) -> None:
    """What processes that were killed had unpacked there: their folders are locked by nobody any more."""
    for place in folder.glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):  # in use, of another user, or gone meanwhile
            held = _taken(place)
            if held is not None:
                shutil.rmtree(place, ignore_errors=True)
                os.close(held)


def _folder_in(folder: pathlib.Path) -> tuple[pathlib.Path, int | None]:
    while True:
        place = pathlib.Path(tempfile.mkdtemp(prefix=_PREFIX, dir=folder))
        try:
            return place, _taken(place)
        except (BlockingIOError, FileNotFoundError):
            pass  # another process took it for left behind, before it had a lock


def _taken(place: pathlib.Path) -> int | None:
    """The folder's descriptor, which is its lock as long as it is open; None where the file system knows no locks: then
    nobody but its owner removes the folder. Raises BlockingIOError where another process has the lock."""
    descriptor = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def _of_source(error: Error, taken: str, source: str) -> Error:
    told = type(error)(str(error).replace(taken, source))
    told.__dict__.update(error.__dict__)
    told.dataset = error.dataset.replace(taken, source)
    told.cause = error.cause.replace(taken, source)
    return told


def _unpack(file: pathlib.Path, to: pathlib.Path, tell: Callable[[int], object]) -> None:
    if to.exists() or to.is_symlink():
        raise made(
            "invalid_argument", f"there is a file {to.name} beside it, which it would unpack to", dataset=str(file)
        )
    with open(file, "rb") as stored:
        try:
            with gzip.GzipFile(fileobj=stored) as plain, open(to, "xb") as out:
                while piece := plain.read(_PIECE):
                    out.write(piece)
                    tell(stored.tell())
        except EOFError:
            raise _corrupt(file, stored, "the gzip data ends early") from None
        except gzip.BadGzipFile as error:
            behind = "Not a gzipped file" in str(error)  # of the first member the magic was seen
            cause = "bytes that are no gzip data follow behind it" if behind else f"broken gzip data: {error}"
            raise _corrupt(file, stored, cause) from None
        except zlib.error as error:
            raise _corrupt(file, stored, f"broken gzip data: {error}") from None
        except OSError as error:
            raise made("io", f"cannot unpack into {to.parent}: {error.strerror or error}", dataset=str(file)) from error
        times = os.fstat(stored.fileno())
    os.utime(to, ns=(times.st_atime_ns, times.st_mtime_ns))


def _corrupt(file: pathlib.Path, stored: BinaryIO, cause: str) -> Error:
    return made("corrupt", f"{cause} (within the first {stored.tell()} bytes)", dataset=str(file))
