"""Copies of files from web servers, kept in the store: each is either whole or absent."""

import hashlib
import os
import re
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path, PurePosixPath
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from filelock import FileLock
from pyarrow import fs

from tiltmeter.storage.errors import InputError, StorageError
from tiltmeter.storage.files.files import resolve, uri_of
from tiltmeter.storage.files.links import unlinked
from tiltmeter.storage.files.redaction import reason, redacted
from tiltmeter.storage.files.web import WebError, ask, opened_stream, version_of

_SETTING = "store=<path or URI>"
_CHUNK_BYTES = 2**20
_MAX_FAILURES = 5
_PAUSE_SECONDS = 1.0
_PARTIAL_CONTENT = 206

_UNFIT = re.compile(r"[^\w.()+,-]")
_MOST_CHARACTERS = 60
"""The ending tells the format; of 255 bytes that a name may have, a character can take 4."""


class _Remote(NamedTuple):
    """A file that a server announces."""

    url: str
    num_bytes: int
    version: str | None


def copy_of(url: str, store: str) -> str:
    """Path or URI of a copy of a web server's file under ``downloads`` of a store; made unless it is there.

    A copy is of one version of the file, told by ETag or time of modification; where a server gives neither, by the
    size. What is copied to a local disk and was interrupted goes on where it stopped, if the server allows.

    Args:
        url: of the file.
        store: root of the store, a path or URI.

    Raises:
        InputError: if the file is missing, its size is not announced, or the connection keeps breaking.
        StorageError: if the store can't be written, or a part of the copy's path in it is a symbolic link.
    """
    remote = _remote(url)
    filesystem, root = resolve(store)
    place = _place(filesystem, root, remote)
    if not _is_whole(filesystem, place, remote):
        try:
            if isinstance(filesystem, fs.LocalFileSystem):
                _copy_to_disk(remote, filesystem, place)
            else:
                _upload(remote, filesystem, place)
        except OSError as error:
            raise StorageError.writing(redacted(uri_of(place, store)), error, _SETTING) from error
    return uri_of(place, store)


def has_copy(url: str, store: str) -> bool:
    """Whether a store has a whole copy of the version that the server has now.

    Raises:
        InputError: if the file is missing, or its size is not announced.
    """
    remote = _remote(url)
    filesystem, root = resolve(store)
    return _is_whole(filesystem, _place(filesystem, root, remote), remote)


def _remote(url: str) -> _Remote:
    asked = ask(url)
    if asked.num_bytes is None:
        raise InputError(
            f"{redacted(url)}: the server announces no size by which to check a copy: download it by other means and "
            "set corpus.path to your copy"
        )
    return _Remote(url, asked.num_bytes, asked.version)


def _place(filesystem: fs.FileSystem, root: str, remote: _Remote) -> str:
    inside = f"downloads/{_digest(remote)}/{_name(remote.url)}"
    if isinstance(filesystem, fs.LocalFileSystem):
        unlinked(root, f"{inside}.partial")
        return unlinked(root, inside)
    return f"{root}/{inside}"


def _digest(remote: _Remote) -> str:
    what = "\n".join((remote.url, remote.version or "", str(remote.num_bytes)))
    return hashlib.blake2b(what.encode(), digest_size=16).hexdigest()


def _name(url: str) -> str:
    """The last part of the path, as a file may be called everywhere.

    >>> _name("https://example.org/dumps/%2e%2e%2fenwiki.xml.bz2?key=1"), _name("https://example.org/..")
    ('enwiki.xml.bz2', 'file')
    """
    name = _UNFIT.sub("_", PurePosixPath(unquote(urlsplit(url).path)).name)[-_MOST_CHARACTERS:]
    return name if name.strip(".") else "file"


def _is_whole(filesystem: fs.FileSystem, place: str, remote: _Remote) -> bool:
    info = filesystem.get_file_info(place)
    return bool(info.is_file and info.size == remote.num_bytes)


def _copy_to_disk(remote: _Remote, filesystem: fs.FileSystem, place: str) -> None:
    os.makedirs(os.path.dirname(place), exist_ok=True)
    partial = Path(f"{place}.partial")
    with FileLock(f"{place}.lock"):
        if _is_whole(filesystem, place, remote):  # another process has just made it
            return
        partial.touch()
        with partial.open("r+b") as sink:
            for offset, chunk in _received(remote, sink.seek(0, os.SEEK_END)):
                sink.seek(offset)
                sink.write(chunk)
            sink.truncate()
            sink.flush()
            os.fsync(sink.fileno())
        os.replace(partial, place)


def _upload(remote: _Remote, filesystem: fs.FileSystem, place: str) -> None:
    try:
        with filesystem.open_output_stream(place) as sink:
            position = 0
            for offset, chunk in _received(remote, 0):
                if offset != position:
                    raise InputError(
                        f"{redacted(remote.url)}: the connection broke at byte {position:,}, and the server does not "
                        "go on from there: run again, or choose a local store"
                    )
                sink.write(chunk)
                position += len(chunk)
    except BaseException:
        # Closing the stream has completed its upload. Nobody takes an object of a wrong size for a copy.
        filesystem.delete_file(place)
        raise


def _received(remote: _Remote, start: int) -> Iterator[tuple[int, bytes]]:
    """Offset and content of pieces up to the end; the offset goes back to 0 where the server sends all of it again."""
    position = furthest = start if start <= remote.num_bytes else 0
    num_failures = 0
    while position < remote.num_bytes:
        try:
            for offset, chunk in _response(remote, position):
                yield offset, chunk
                position = offset + len(chunk)
            if position < remote.num_bytes:
                raise ConnectionError(f"the connection ended at byte {position:,} of {remote.num_bytes:,}")
        except (OSError, WebError) as error:
            num_failures = 0 if position > furthest else num_failures + 1
            furthest = max(furthest, position)
            if num_failures > _MAX_FAILURES:
                raise InputError(f"{redacted(remote.url)}: cannot be downloaded: {reason(error)}") from error
            time.sleep(_PAUSE_SECONDS * 2**num_failures)
    if position > remote.num_bytes:
        raise InputError(
            f"{redacted(remote.url)}: the server sent more than the {remote.num_bytes:,} bytes it announced"
        )


def _response(remote: _Remote, start: int) -> Iterator[tuple[int, bytes]]:
    with closing(opened_stream(remote.url, start, remote.version)) as stream:
        if version_of(stream.r.headers) != remote.version:
            raise InputError(f"{redacted(remote.url)}: changed while it was downloaded: run again")
        offset = start if stream.r.status == _PARTIAL_CONTENT else 0
        while chunk := stream.read(_CHUNK_BYTES):
            yield offset, chunk
            offset += len(chunk)
