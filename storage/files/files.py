"""Files wherever they lie: on a local disk, in an object store, behind a web server."""

import io
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import BinaryIO
from urllib.parse import quote, urlsplit, urlunsplit

import pyarrow as pa
from pyarrow import fs

from tiltmeter.storage.errors import InputError
from tiltmeter.storage.files.redaction import reason, redacted
from tiltmeter.storage.files.state import FileState

_KEPT = "%/?:@!$&'()*+,;=~"
_NO_ESCAPE = re.compile("%(?![0-9A-Fa-f]{2})")
_BUFFER_BYTES = 2**20
"""Read in one request."""


def is_web(uri: str) -> bool:
    """Whether a web server has the file."""
    return uri.startswith(("http://", "https://"))


@lru_cache(maxsize=64)
def resolve(uri: str) -> tuple[fs.FileSystem, str]:
    """The file system of a path or URI, and the path within it.

    Raises:
        InputError: if Arrow knows no such file system, or a path is not UTF-8.
    """
    if "://" not in uri:
        return fs.LocalFileSystem(), in_utf8(os.path.abspath(os.path.expanduser(uri)))
    quoted = _quoted(uri)
    try:
        filesystem, path = fs.FileSystem.from_uri(quoted)
    except (pa.ArrowException, OSError) as error:
        name = redacted(uri)
        # The error quotes the URI with its credentials, and a traceback would show it.
        message = str(error).replace(quoted, name)
        raise InputError(f"{name}: neither a path nor a URI of a known file system ({message})") from None
    return filesystem, path


def _quoted(uri: str) -> str:
    """A URI in whose path a space, a bracket, # and the like may be written as they are; ? begins its options."""
    scheme, _, rest = uri.partition("://")
    host, slash, place = rest.partition("/")
    return f"{scheme}://{host}{slash}{quote(_NO_ESCAPE.sub('%25', place), _KEPT)}"


def in_utf8(path: str) -> str:
    """A local path, if it can be written in UTF-8, as tables and records are.

    Raises:
        InputError: if it can't: Python has the other bytes of a name as halves of surrogate pairs.
    """
    try:
        path.encode()
    except UnicodeEncodeError:
        shown = os.fsencode(path).decode(errors="backslashreplace")
        raise InputError(f"{shown}: this path is not in UTF-8; rename it, or choose another") from None
    return path


def uri_of(path: str, beside: str) -> str:
    """The URI of another path in the file system of ``beside``; of a local file, its absolute path."""
    filesystem, _ = resolve(beside)
    if isinstance(filesystem, fs.LocalFileSystem):
        return path
    parts = urlsplit(_quoted(beside))
    credentials, separator, _ = parts.netloc.rpartition("@")
    bucket, _, inside = path.partition("/")
    return urlunsplit((parts.scheme, f"{credentials}{separator}{bucket}", f"/{quote(inside)}", parts.query, ""))


def state_of(info: fs.FileInfo) -> FileState:
    """The state of a file that is not behind a web server."""
    return FileState(info.size, str(info.mtime_ns), has_ranges=True)


def file_state(uri: str) -> FileState:
    """The state of a file.

    Raises:
        InputError: if there is no such file, or its size and version cannot be told.
    """
    if is_web(uri):
        from tiltmeter.storage.files.web import web_state  # its libraries take 0.2 s to import

        return web_state(uri)
    filesystem, path = resolve(uri)
    with reading(uri):
        info = filesystem.get_file_info(path)
    if not info.is_file:
        raise InputError(f"{redacted(uri)}: there is no such file")
    return state_of(info)


@contextmanager
def opened(uri: str, start: int = 0) -> Iterator[BinaryIO]:
    """A file, to be read from byte ``start`` on in large pieces; ``tell()`` counts from the file's beginning.

    Raises:
        InputError: if there is no such file, it can be read from its beginning only, or it can't be read on.
    """
    with reading(uri):
        if is_web(uri):
            from tiltmeter.storage.files.web import opened_from

            raw = opened_from(uri, start)
        else:
            filesystem, path = resolve(uri)
            raw = filesystem.open_input_file(path)
            raw.seek(start)
        with io.BufferedReader(raw, _BUFFER_BYTES) as file:
            yield file


@contextmanager
def reading(uri: str) -> Iterator[None]:
    """Turn what goes wrong while a file is read into an error that names it."""
    try:
        yield
    except read_errors(uri) as error:
        raise InputError(f"{redacted(uri)}: cannot be read: {reason(error)}", is_unreadable=True) from error


def read_errors(uri: str) -> tuple[type[Exception], ...]:
    """What may go wrong while a file is read."""
    errors = (OSError, EOFError, pa.ArrowException)
    if not is_web(uri):
        return errors
    from tiltmeter.storage.files.web import WebError

    return (*errors, WebError)
