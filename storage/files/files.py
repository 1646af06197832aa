"""Files wherever they lie: on a local disk, in an object store, behind a web server."""

import io
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, BinaryIO, NamedTuple
from urllib.parse import quote, urlsplit, urlunsplit

import pyarrow as pa
from pyarrow import fs

from tiltmeter.storage.errors import InputError

_BUFFER_BYTES = 2**20
"""Read in one request."""

_URI = re.compile(r"[A-Za-z][\w+.-]*://[^\s'\"<>]+")


class FileState(NamedTuple):
    """A file at the moment.

    Attributes:
        num_bytes: its size.
        version: see :class:`.pages.Source`.
        has_ranges: whether it can be read from any byte on.
    """

    num_bytes: int
    version: str
    has_ranges: bool


def is_web(uri: str) -> bool:
    """Whether a web server has the file."""
    return uri.startswith(("http://", "https://"))


def shown(uri: str) -> str:
    """A path or URI as messages show it: without keys and options.

    >>> shown("s3://key:secret@bucket/dump.xml?region=eu-west-1")
    's3://bucket/dump.xml'
    """
    scheme, is_uri, rest = uri.partition("://")
    if not is_uri:
        return uri
    host, slash, path = rest.partition("?")[0].rpartition("@")[2].partition("/")
    return f"{scheme}://{host}{slash}{path}"


def redacted(text: str) -> str:
    """A message or traceback in which every URI is as :func:`shown`.

    >>> redacted("cannot open s3://key:secret@bucket/a?region=eu, nor https://me:secret@example.org/b")
    'cannot open s3://bucket/a nor https://example.org/b'
    """
    return _URI.sub(lambda found: shown(found[0]), text)


def reason(error: Exception) -> str:
    """What an error says, or its kind if it says nothing; libraries quote the URI that they were given."""
    return redacted(str(error)) or type(error).__name__


def without_keys(node: Any) -> Any:
    """Nested dictionaries, lists and tuples, in whose texts every URI is as :func:`shown`."""
    match node:
        case str():
            return redacted(node)
        case dict():
            return {name: without_keys(value) for name, value in node.items()}
        case list() | tuple():
            return type(node)(map(without_keys, node))
    return node


@lru_cache(maxsize=64)
def resolve(uri: str) -> tuple[fs.FileSystem, str]:
    """The file system of a path or URI, and the path within it.

    Raises:
        InputError: if Arrow knows no such file system.
    """
    if "://" not in uri:
        return fs.LocalFileSystem(), os.path.abspath(os.path.expanduser(uri))
    try:
        filesystem, path = fs.FileSystem.from_uri(uri)
    except (pa.ArrowException, OSError) as error:
        # The error quotes the URI with its keys, and a traceback would show it.
        reason = str(error).replace(uri, shown(uri))
        raise InputError(f"{shown(uri)}: neither a path nor a URI of a known file system ({reason})") from None
    return filesystem, path


def uri_of(path: str, beside: str) -> str:
    """The URI of another path in the file system of ``beside``; of a local file, its absolute path."""
    filesystem, _ = resolve(beside)
    if isinstance(filesystem, fs.LocalFileSystem):
        return path
    parts = urlsplit(beside)
    keys, at, _ = parts.netloc.rpartition("@")
    bucket, _, inside = path.partition("/")
    return urlunsplit((parts.scheme, f"{keys}{at}{bucket}", f"/{quote(inside)}", parts.query, ""))


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
        raise InputError(f"{shown(uri)}: there is no such file")
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
        raise InputError(f"{shown(uri)}: cannot be read: {reason(error)}") from error


def read_errors(uri: str) -> tuple[type[Exception], ...]:
    """What may go wrong while a file is read."""
    errors = (OSError, EOFError, pa.ArrowException)
    if not is_web(uri):
        return errors
    from tiltmeter.storage.files.web import WebError

    return (*errors, WebError)
