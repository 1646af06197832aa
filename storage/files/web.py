"""Files behind web servers, through fsspec: their state, and their bytes from any place on."""

import re
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

import fsspec
from aiohttp import ClientError, ClientTimeout
from fsspec.asyn import sync

from tiltmeter.storage.errors import InputError
from tiltmeter.storage.files.redaction import reason, redacted
from tiltmeter.storage.files.state import FileState

WebError = ClientError

_BLOCK_BYTES = 2**20
_NO_RANGE, _PARTIAL, _NOT_FOUND, _UNSATISFIABLE = 200, 206, 404, 416

# A server that packs what it sends would change every offset. Wikimedia's servers turn away clients without a name.
_HEADERS = {"Accept-Encoding": "identity", "User-Agent": "Tiltmeter"}

_NUMBER = re.compile(r"[0-9]{1,18}")

_ADVICE = "set corpus.download=true, or download it and set corpus.path to the copy"


class WebFile(NamedTuple):
    """What a server says of a file; None where it says nothing.

    Attributes:
        num_bytes: its size.
        version: its ETag, else its time of last modification.
        has_ranges: whether the server sends parts of it.
    """

    num_bytes: int | None
    version: str | None
    has_ranges: bool


def ask(url: str) -> WebFile:
    """Ask a server for the first byte of a file, which tells everything else about it.

    Raises:
        InputError: if the server does not have the file or can't be reached.
    """
    filesystem = _filesystem(streams=True)
    try:
        status, headers = sync(filesystem.loop, _first_byte, filesystem, url)
    except (OSError, ValueError, ClientError) as error:  # a ValueError is of a URL with an impossible host or port
        raise InputError(f"{redacted(url)}: the server cannot be reached: {reason(error)}") from error
    if status not in (_NO_RANGE, _PARTIAL, _UNSATISFIABLE):
        what = "there is no such file" if status == _NOT_FOUND else "the server does not give it"
        raise InputError(f"{redacted(url)}: {what} (status {status})")
    return WebFile(_size(status, headers), version_of(headers), has_ranges=status != _NO_RANGE)


def version_of(headers: Mapping[str, str]) -> str | None:
    """What in an answer tells one version of a file from another."""
    return headers.get("ETag") or headers.get("Last-Modified")


def web_state(url: str) -> FileState:
    """The state of a file that is to be read where it lies.

    Raises:
        InputError: as :func:`ask`, and if the server gives no size or nothing that tells a change of the file.
    """
    file = ask(url)
    if file.num_bytes is None or file.version is None:
        lacking = "size" if file.num_bytes is None else "ETag or Last-Modified"
        raise InputError(
            f"{redacted(url)}: the server gives no {lacking}, so that a change of the file would go unnoticed: "
            f"{_ADVICE}"
        )
    return FileState(file.num_bytes, file.version, file.has_ranges)


def opened_from(url: str, start: int) -> Any:
    """A raw binary file from byte ``start`` on. Where the server allows, it is read in blocks, so that a slow reader
    keeps no connection waiting.

    Raises:
        InputError: as :func:`web_state`, and if the server sends whole files only and ``start`` is not 0.
    """
    state = web_state(url)
    if not state.has_ranges and start:
        raise InputError(f"{redacted(url)}: the server does not send parts of a file: {_ADVICE}")
    file = _filesystem(streams=not state.has_ranges).open(url, "rb", size=state.num_bytes)
    file.seek(start)
    return file


def opened_stream(url: str, start: int, version: str | None) -> Any:
    """One response with all bytes from ``start`` on; its ``r.status`` is 206 if the server heeded ``start``.

    With a version, the server is asked to send the whole file where that has changed.
    """
    ranges = {"Range": f"bytes={start}-"} | ({"If-Range": version} if version else {}) if start else {}
    return _filesystem(streams=True).open(url, "rb", size=1, headers=_HEADERS | ranges)


@cache
def _filesystem(*, streams: bool) -> Any:
    client = {"auto_decompress": False, "trust_env": True, "timeout": ClientTimeout(sock_connect=60, sock_read=300)}
    block_size = 0 if streams else _BLOCK_BYTES
    return fsspec.filesystem("https", block_size=block_size, headers=_HEADERS, client_kwargs=client)


async def _first_byte(filesystem: Any, url: str) -> tuple[int, Mapping[str, str]]:
    session = await filesystem.set_session()
    headers = _HEADERS | {"Range": "bytes=0-0"}
    async with session.get(filesystem.encode_url(url), headers=headers) as response:
        return response.status, response.headers


def _size(status: int, headers: Mapping[str, str]) -> int | None:
    if status == _NO_RANGE:
        size = headers.get("Content-Length", "")
    else:
        size = headers.get("Content-Range", "").rpartition("/")[2]
    return int(size) if _NUMBER.fullmatch(size) else None
