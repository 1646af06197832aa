"""Digests: what a thing is, as 32 hexadecimal digits that are the same on every machine and in every run."""

import dataclasses
import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_DIGEST_BYTES = 16

_BLOCK_ROWS = 32_768
_MOST_WAITING = 256
"""A table takes memory, however few its rows are."""

Canonical = None | bool | int | float | str | list["Canonical"] | dict[str, "Canonical"]


class UnstableValue(TypeError):
    """A value that has no stable serialisation was about to become part of an identity."""


def canonical(value: Any, key: str = "config") -> Canonical:
    """The plain form of a config: None, booleans, numbers, strings, lists, and dictionaries with string keys.

    Raises:
        UnstableValue: for any other type, and for NaN and infinities, naming the key. Nothing is ever stringified,
            because a ``repr`` may hold an address or change with a library.
    """
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: canonical(getattr(value, f.name), f"{key}.{f.name}") for f in dataclasses.fields(value)}
    if isinstance(value, Mapping) and all(isinstance(name, str) for name in value):
        return {name: canonical(item, f"{key}.{name}") for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [canonical(item, f"{key}[{index}]") for index, item in enumerate(value)]
    raise UnstableValue(
        f"{key}={value!r} ({type(value).__name__}) has no stable serialisation; an identity takes None, booleans, "
        "finite numbers, strings, lists, dictionaries with string keys, and dataclasses of these"
    )


def digest(value: Any) -> str:
    """Digest of the canonical form of a value.

    >>> digest({"window": 10, "seed": 0}) == digest({"seed": 0, "window": 10})
    True
    """
    text = json.dumps(canonical(value), sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return hashlib.blake2b(text.encode(), digest_size=_DIGEST_BYTES).hexdigest()


def column_digests(table: pa.Table) -> dict[str, str]:
    """Digest of each column's type and values; chunks, buffer padding, file encoding and which NaN do not enter.

    Raises:
        UnstableValue: for a column whose type is neither fixed-width, string, binary, nor a list of these.
    """
    return {name: _column_digest(table.schema.field(name).type, table[name]) for name in table.column_names}


def blocks(pieces: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """The rows of several tables of one schema in tables of 32,768 rows, however they were cut before.

    The last may have fewer rows; it has none if there are none at all.
    """
    waiting: list[pa.Table] = []
    num_waiting = num_blocks = 0
    for piece in pieces:
        for part in _parts(piece, _BLOCK_ROWS - num_waiting):
            waiting.append(part)
            num_waiting += part.num_rows
            if num_waiting == _BLOCK_ROWS:
                yield _joined(waiting)
                waiting, num_waiting, num_blocks = [], 0, num_blocks + 1
        if len(waiting) > _MOST_WAITING:
            waiting = [_joined(waiting)]
    if num_waiting or not num_blocks:
        yield _joined(waiting)


def _parts(piece: pa.Table, room: int) -> Iterator[pa.Table]:
    """What fills a block that has some room left, and then whole blocks."""
    yield piece.slice(0, room)
    for start in range(room, piece.num_rows, _BLOCK_ROWS):
        yield piece.slice(start, _BLOCK_ROWS)


def _joined(tables: list[pa.Table]) -> pa.Table:
    return pa.concat_tables(tables).combine_chunks()


class TableDigest:
    """Digest of a whole table that comes in :func:`blocks`: names, types and values of its columns, in their order."""

    def __init__(self) -> None:
        self._columns: dict[str, hashlib.blake2b] = {}

    def add(self, block: pa.Table) -> None:
        """Take the next rows in."""
        for name, value in column_digests(block).items():
            self._columns.setdefault(name, hashlib.blake2b(digest_size=_DIGEST_BYTES)).update(value.encode())

    def hexdigest(self) -> str:
        """Of the rows so far."""
        return digest([[name, hasher.hexdigest()] for name, hasher in self._columns.items()])


def table_digest(table: pa.Table) -> str:
    """Digest of a whole table, as :class:`TableDigest` gives it.

    >>> table_digest(pa.table({"n": [1, 2]})) == table_digest(pa.table({"n": pa.chunked_array([[1], [2]])}))
    True
    """
    whole = TableDigest()
    for block in blocks([table]):
        whole.add(block)
    return whole.hexdigest()


def _column_digest(declared: pa.DataType, column: pa.ChunkedArray) -> str:
    hasher = hashlib.blake2b(str(declared).encode(), digest_size=_DIGEST_BYTES)
    hasher.update(len(column).to_bytes(8, "little"))
    merged = column.combine_chunks()
    _update(hasher, merged.combine_chunks() if isinstance(merged, pa.ChunkedArray) else merged)
    return hasher.hexdigest()


def _update(hasher: "hashlib.blake2b", array: pa.Array) -> None:
    kind = array.type
    if pa.types.is_dictionary(kind):
        return _update(hasher, array.dictionary_decode())
    hasher.update(np.packbits(array.is_valid().to_numpy(zero_copy_only=False)).data)
    if pa.types.is_fixed_size_list(kind):
        return _update(hasher, array.drop_null().flatten())
    if pa.types.is_list(kind):
        hasher.update(array.value_lengths().drop_null().to_numpy().astype(np.int64).data)
        return _update(hasher, array.drop_null().flatten())
    present = array.drop_null()
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        return _update_text(hasher, present)
    if pa.types.is_temporal(kind):
        return _update(hasher, present.view(pa.int32() if kind.bit_width == 32 else pa.int64()))
    if pa.types.is_primitive(kind):
        values = present.to_numpy(zero_copy_only=False)
        if pa.types.is_floating(kind):
            # 0/0 has a sign on one kind of processor and none on another.
            values = np.where(np.isnan(values), values.dtype.type(np.nan), values)
        return hasher.update(np.ascontiguousarray(values).data)
    raise UnstableValue(f"a column of type {kind} has no digest; use a fixed-width type, string, binary or list")


def _update_text(hasher: "hashlib.blake2b", array: pa.Array) -> None:
    hasher.update(pc.binary_length(array).to_numpy().astype(np.int64).data)
    if len(array):
        offsets = np.frombuffer(array.buffers()[1], dtype=np.int32)[array.offset : array.offset + len(array) + 1]
        hasher.update(memoryview(array.buffers()[2])[offsets[0] : offsets[-1]])
