"""Tar and zip archives, whose members are files of a corpus.

They are read one after the other, as none can be looked up in a packed tar. A member that is being read lies in memory
or a temporary file, and is opened by its name like any other file.
"""

import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import PurePosixPath
from tempfile import SpooledTemporaryFile
from typing import IO, BinaryIO, NamedTuple, cast
from urllib.parse import quote

from tiltmeter.storage.corpora.packed import MAGIC_BYTES, Codec, check_growth, codec_of, unpacked_by
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.files import files
from tiltmeter.storage.files.files import reading
from tiltmeter.storage.files.redaction import reason, redacted

ZIP_MAGICS = (b"PK\x03\x04", b"PK\x05\x06")
TAR_MAGIC, TAR_PLACE = b"ustar", 257

_MEMORY_BYTES = 2**24
_PIECE_BYTES = 2**17
_SHOWN_CHARACTERS = 200
"""Of the name of a member, which may have thousands, in messages."""
_DAMAGE = (
    *(tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, NotImplementedError, EOFError),
    *(IndexError, UnicodeDecodeError),
)
"""What the libraries raise; the last two of a zip's names."""

_OPEN: dict[str, BinaryIO] = {}


class Member(NamedTuple):
    """A file of an archive.

    Attributes:
        uri: by which it is opened while it is read.
        name: within the archive.
        num_bytes: of it.
    """

    uri: str
    name: str
    num_bytes: int


@contextmanager
def opened(uri: str, start: int = 0) -> Iterator[BinaryIO]:
    """As :func:`.files.files.opened`, of members of archives too, while they are read."""
    if uri in _OPEN:
        with reading(uri):
            _OPEN[uri].seek(start)
            yield _OPEN[uri]
    else:
        with files.opened(uri, start) as file:
            yield file


@contextmanager
def opened_in_parts(uri: str) -> Iterator[BinaryIO]:
    """A file that is read here and there, which not every server allows.

    Raises:
        InputError: as :func:`opened`, and if the server sends whole files only.
    """
    with opened(uri, 1) as file:
        file.seek(0)
        yield file


def first_bytes(uri: str) -> bytes:
    """The first bytes of a file, which say what it is or how it is packed."""
    with opened(uri) as file:
        return file.read(MAGIC_BYTES)


def members(uri: str) -> Iterator[Member]:
    """The files in a tar, packed or not, or a zip, each of which is open until the next one is asked for.

    Hidden ones are passed over, as they are in a folder.

    Raises:
        InputError: if the archive is damaged, encrypted, in another or packed far too tightly.
    """
    if uri in _OPEN:
        raise InputError(f"{redacted(uri)}: is an archive within an archive; name it as a file of its own")
    start, num_packed = first_bytes(uri), files.file_state(uri).num_bytes
    is_zip = start.startswith(ZIP_MAGICS)
    with opened_in_parts(uri) if is_zip else opened(uri) as raw:
        try:
            num_bytes = 0
            for name, content in _zipped(raw, uri) if is_zip else _tarred(raw, codec_of(start)):
                shown = "".join(character if character.isprintable() else "?" for character in name)
                shown = shown[-_SHOWN_CHARACTERS:]
                member = f"{redacted(uri)}/{quote(shown) if '://' in uri else shown}"
                with SpooledTemporaryFile(_MEMORY_BYTES) as copy:
                    while piece := content.read(_PIECE_BYTES):
                        num_bytes += copy.write(piece)
                        check_growth(num_packed, num_bytes)
                    _OPEN[member] = cast(BinaryIO, copy)
                    try:
                        yield Member(member, name, copy.tell())
                    finally:
                        del _OPEN[member]
        except _DAMAGE as error:
            problem = reason(error)[:_SHOWN_CHARACTERS]
            raise InputError(f"{redacted(uri)}: the archive is damaged: {problem}", is_unreadable=True) from error


def _zipped(raw: BinaryIO, uri: str) -> Iterator[tuple[str, IO[bytes]]]:
    with zipfile.ZipFile(raw) as archive:
        for info in archive.infolist():
            if info.flag_bits & 1:
                name = repr(info.filename[:_SHOWN_CHARACTERS])
                raise InputError(f"{redacted(uri)}: {name} in it is encrypted: unpack the archive yourself")
            if not (info.is_dir() or _is_hidden(info.filename)):
                with archive.open(info) as content:
                    yield info.filename, content


def _tarred(raw: BinaryIO, codec: Codec | None) -> Iterator[tuple[str, IO[bytes]]]:
    with tarfile.open(fileobj=unpacked_by(raw, codec), mode="r|") as archive:
        for info in archive:
            name = info.name.encode(errors="backslashreplace").decode()
            if info.isfile() and not _is_hidden(name) and (content := archive.extractfile(info)):
                yield name, content


def _is_hidden(name: str) -> bool:
    return any(part.startswith((".", "_")) and part not in (".", "..") for part in PurePosixPath(name).parts)
