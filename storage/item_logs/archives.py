"""Members of a zip file, Zstandard ones (method 93) included, which Python 3.11 lists and can't read."""

import struct
import zlib
from typing import BinaryIO
from zipfile import BadZipFile, ZipFile, ZipInfo

import pyarrow as pa

from tiltmeter.storage.corpora.packed import TooTightlyPacked, check_growth
from tiltmeter.storage.errors import InputError

_HEADER_BYTES = 30
_NAMES_AT = 26
_STORED, _DEFLATED, _ZSTANDARD = 0, 8, 93


class Archive:
    """A zip file; where it has a name more than once the last one counts."""

    def __init__(self, file: BinaryIO, name: str) -> None:
        self._file, self._name = file, name
        try:
            self.members: dict[str, ZipInfo] = {info.filename: info for info in ZipFile(file).infolist()}
        except (BadZipFile, ValueError, struct.error) as error:
            raise InputError(f"{name}: is a damaged zip file: {error}", is_unreadable=True) from error

    def read(self, name: str) -> bytes:
        """The content of a member, which has the length and checksum that the file states.

        Raises:
            InputError: naming it.
        """
        info, where = self.members[name], f"{self._name}: its member {name}"
        try:
            check_growth(info.compress_size, info.file_size)
            content = _unpacked(self._raw(info), info, where)
        except (OSError, EOFError, zlib.error, struct.error, pa.ArrowException) as error:
            what = "is refused" if isinstance(error, TooTightlyPacked) else "is damaged"
            raise InputError(f"{where} {what}: {error}", is_unreadable=True) from error
        if len(content) != info.file_size or zlib.crc32(content) != info.CRC:
            message = "is damaged: its length or checksum (CRC-32) is not the one that the file states"
            raise InputError(f"{where} {message}", is_unreadable=True)
        return content

    def _raw(self, info: ZipInfo) -> bytes:
        self._file.seek(info.header_offset + _NAMES_AT)
        skipped = sum(struct.unpack("<HH", self._file.read(_HEADER_BYTES - _NAMES_AT)))
        self._file.seek(info.header_offset + _HEADER_BYTES + skipped)
        return self._file.read(info.compress_size)


def _unpacked(raw: bytes, info: ZipInfo, where: str) -> bytes:
    """No more of it than one byte above what is stated."""
    most = info.file_size + 1
    if info.compress_type == _ZSTANDARD:
        return bytes(pa.input_stream(pa.py_buffer(raw), compression="zstd").read(most))
    if info.compress_type == _DEFLATED:
        return zlib.decompressobj(-zlib.MAX_WBITS).decompress(raw, most)
    if info.compress_type == _STORED:
        return raw
    raise InputError(f"{where} is packed by method {info.compress_type}; 0, 8 and 93 (Zstandard) can be read")
