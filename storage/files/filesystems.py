"""The file system that a store lies on, a local disk or an object store, and reading from it with retries."""

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
from pyarrow import fs

from tiltmeter.storage.errors import StorageError
from tiltmeter.storage.files.files import in_utf8
from tiltmeter.storage.files.redaction import redacted
from tiltmeter.storage.files.retries import is_transient, with_retries

SETTING = "store=<path or URI>"

_WITH_BUCKETS = ("s3", "gcs")
"""File systems, by the names that Arrow gives them."""

T = TypeVar("T")

_S3: dict[str, Any] = {
    "connect_timeout": 5,
    "request_timeout": 20,  # without a byte; Arrow's own 1 and 3 seconds are little for a busy server
    "allow_delayed_open": True,  # a small object is one request, and leaves no half-done upload
}


def filesystem_of(root: str) -> tuple[fs.FileSystem, str]:
    """The file system of a store, and the store's path on it.

    Args:
        root: a local path, which may begin with ``~``, or a URI that Arrow knows.

    Raises:
        StorageError: if the root is empty or of no known file system; the message has neither credentials nor options.
        InputError: if a local path is not in UTF-8.
    """
    if not root.strip():
        raise StorageError(f"store={root!r} is empty: set {SETTING}")
    try:
        if "://" not in root:
            return fs.LocalFileSystem(), in_utf8(str(Path(root).expanduser().absolute()))
        # Arrow asks the server where a bucket is whose region the URI does not tell.
        filesystem, path = with_retries(lambda: fs.FileSystem.from_uri(root))
        return _with_timeouts(filesystem), path
    except (pa.ArrowException, OSError, RuntimeError) as error:
        name = redacted(root)
        message = str(error).replace(root, name)
        # The error itself quotes the URI, and a traceback would show it.
        raise StorageError(
            f"store={name}: not a path or a URI of a known file system ({message}); set {SETTING}"
        ) from None


def _with_timeouts(filesystem: fs.FileSystem) -> fs.FileSystem:
    """Arrow's URIs can't hold the timeouts of S3, so that the file system is made again from what pickle would keep."""
    if not isinstance(filesystem, fs.S3FileSystem):
        return filesystem
    rebuild, (settings,) = filesystem.__reduce__()
    return rebuild(settings | _S3)


def open_file(filesystem: fs.FileSystem, path: str) -> pa.NativeFile:
    """A file, to be read.

    Raises:
        FileNotFoundError: if there is no such file.
        StorageError: if it can't be opened.
    """
    return _named(path, lambda: filesystem.open_input_file(path))


def read_file(filesystem: fs.FileSystem, path: str, read: Callable[[pa.NativeFile], T]) -> T:
    """What a function makes of a file; it is called again while its error is transient.

    Raises:
        FileNotFoundError: if there is no such file.
        StorageError: if it can't be read.
    """

    def attempt() -> T:
        with filesystem.open_input_file(path) as source:
            return read(source)

    return _named(path, attempt)


def read_bytes(filesystem: fs.FileSystem, path: str) -> bytes:
    """As :func:`read_file`, all of it."""
    return read_file(filesystem, path, lambda source: bytes(source.read()))


def file_information(filesystem: fs.FileSystem, paths: Sequence[str]) -> list[fs.FileInfo]:
    """Kind, size and time of files, of those that are not there as well.

    Raises:
        StorageError: if the file system can't be asked.
    """
    return _named(paths[0], lambda: filesystem.get_file_info(list(paths))) if paths else []


def check_bucket(filesystem: fs.FileSystem, path: str, name: str) -> None:
    """Refuse a store in a bucket that there is not: a run makes folders, but no bucket.

    Args:
        path: of the store on its file system.
        name: of the store, for messages.

    Raises:
        StorageError: if there is no such bucket.
    """
    if filesystem.type_name not in _WITH_BUCKETS:
        return
    bucket = path.partition("/")[0]
    try:
        [folder] = file_information(filesystem, [bucket])
    except StorageError:
        return  # whoever may not look at the bucket may have a folder in it
    if folder.type == fs.FileType.NotFound:
        raise StorageError(f"store={name}: there is no bucket {bucket}; make it, or choose another place: {SETTING}")


def files_below(
    filesystem: fs.FileSystem, folder: str, root: str | None = None, *, is_recursive: bool = True
) -> list[fs.FileInfo]:
    """Everything below a folder, but for what links lead to; nothing if it is not there.

    Args:
        filesystem: where.
        folder: on it.
        root: the folder itself, or one above it, which may be a link; of others below it, nothing is taken.
        is_recursive: at any depth, or in the folder itself alone.

    Raises:
        StorageError: as :func:`file_information`.
    """
    if not isinstance(filesystem, fs.LocalFileSystem):
        selector = fs.FileSelector(folder, allow_not_found=True, recursive=is_recursive)
        files: list[fs.FileInfo] = _named(folder, lambda: filesystem.get_file_info(selector))
        return files
    if not _is_below_on_disk(folder, root or folder):
        return []
    paths = _named(folder, lambda: _paths_below(folder, is_recursive))
    return [file for file in file_information(filesystem, paths) if file.type != fs.FileType.NotFound]


def _paths_below(folder: str, is_recursive: bool) -> list[str]:
    """What is below a folder on a disk, where others may be at work.

    Arrow's own listing fails for a folder that is made while it looks: it finds none, then that there is one.
    """
    levels = os.walk(folder, onerror=_raise_unless_gone)
    chosen = levels if is_recursive else islice(levels, 1)
    return [f"{place}/{name}" for place, folders, files in chosen for name in (*folders, *files)]


def _raise_unless_gone(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):
        raise error


def _is_below_on_disk(folder: str, root: str) -> bool:
    """Whether a folder lies there below another, and not elsewhere, where a link has led."""
    return os.path.realpath(folder) == os.path.realpath(root) + folder.removeprefix(root)


def delete_file(filesystem: fs.FileSystem, path: str) -> None:
    """Remove a file that may be gone already.

    Raises:
        StorageError: if it stays.
    """
    with suppress(FileNotFoundError):
        _named(path, lambda: filesystem.delete_file(path))


def _named(place: str, operation: Callable[[], T]) -> T:
    try:
        return with_retries(operation)
    except FileNotFoundError:
        raise
    except OSError as error:
        waited = f", tried for {with_retries.seconds:.0f} seconds" if is_transient(error) else ""
        raise StorageError(f"cannot reach {place}: {error}{waited}; choose another place with {SETTING}") from error
