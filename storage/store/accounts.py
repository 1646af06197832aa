"""Accounts of what was spent on something that may be spent on only so much, beside the units of a store."""

import json
import re
import uuid
from collections.abc import Iterator, Mapping
from contextlib import suppress
from math import isfinite
from typing import NamedTuple

from tiltmeter.storage.errors import Refusal, StorageError
from tiltmeter.storage.files.filesystems import SETTING, delete_file, files_below, read_bytes
from tiltmeter.storage.store.ledger import ACCOUNTS, Store
from tiltmeter.storage.store.tables import write_bytes

_PLAIN = re.compile(r"\w[\w.-]*")
_ENDING, _CLAIM = ".json", ".claim"
_ROUNDING = 1 + 1e-12
"""Sums of decimal amounts may exceed their limit by it."""


class Balance(NamedTuple):
    """Of an account.

    Attributes:
        spent: over all entries.
        is_new: whether the last entry was not there before.
    """

    spent: float
    is_new: bool


def enter(
    store: Store, account: str, entry: str, amount: float, limit: float, *, unit: str, setting: str
) -> Balance | None:
    """Enter an amount, before it is spent, unless all entries together would pass a limit; None if they would.

    An entry counts once however often it is entered, so that whoever goes on after a death spends nothing twice. Who
    enters it claims it first, in a file of their own that nobody else takes back: two may enter the same at once, and
    one of them be turned down. It counts from the first claim, and allows nothing until it is confirmed: one that a
    death left unconfirmed is held against the limit again. Of two that are entered at the same moment, both may be
    turned down, and never is more spent than the limit.

    Args:
        account: its name.
        entry: what tells the entry from others.
        unit: of the amount; those of other units can't be added.
        setting: that names the account, for messages.

    Raises:
        Refusal: if the account has an entry of another unit.
        ValueError: if a name leads out of the account's folder.
        StorageError: if the store can't be written, or an entry can't be read.
    """
    for name in (account, entry):
        if not _PLAIN.fullmatch(name):
            raise ValueError(f"{name!r}: must be letters, digits, dots, hyphens and underscores")
    folder = f"{store.path}/{ACCOUNTS}/{account}"
    entries, new = _entries(store, folder), _Entry(amount, unit, is_confirmed=False)
    if other := next((known.unit for known in entries.values() if known.unit != unit), None):
        raise Refusal(
            f"{setting}={account}: what was spent of it is measured in {other}, to which {unit} can't be added; "
            f"set {setting} to a name of its own, and count both"
        )
    if entry in entries and entries[entry].is_confirmed:
        return Balance(_total(entries), is_new=False)
    if _total(entries | {entry: new}) > limit * _ROUNDING:
        return None
    claim = f"{folder}/{entry}.{uuid.uuid4().hex}{_CLAIM}"
    _write(store, claim, entry, new)
    entries = _entries(store, folder)
    if _total(entries) > limit * _ROUNDING:
        delete_file(store.filesystem, claim)
        return None
    # The claim stays: between its end and the entry's beginning, somebody who reads the folder could miss both.
    _write(store, f"{folder}/{entry}{_ENDING}", entry, new._replace(is_confirmed=True))
    return Balance(_total(entries), is_new=True)


class _Entry(NamedTuple):
    amount: float
    unit: str
    is_confirmed: bool


def _total(entries: Mapping[str, _Entry]) -> float:
    return sum(entry.amount for entry in entries.values())


def _write(store: Store, path: str, name: str, entry: _Entry) -> None:
    content = json.dumps({"entry": name, "amount": entry.amount, "unit": entry.unit, "confirmed": entry.is_confirmed})
    write_bytes(store.filesystem, path, content.encode(), setting=SETTING)


def _entries(store: Store, folder: str) -> dict[str, _Entry]:
    """By name, all that are whole: beside them may lie what a killed process has half written."""
    entries: dict[str, _Entry] = {}
    for name, entry in _read_all(store, folder):
        if name not in entries or (entry.is_confirmed, entry.amount) > (
            entries[name].is_confirmed,
            entries[name].amount,
        ):
            entries[name] = entry
    return entries


def _read_all(store: Store, folder: str) -> Iterator[tuple[str, _Entry]]:
    for file in files_below(store.filesystem, folder):
        if file.is_file and file.path.endswith((_ENDING, _CLAIM)):
            # A claim may be taken back before it is read.
            with suppress(FileNotFoundError):
                yield _entry(store, file.path)


def _entry(store: Store, path: str) -> tuple[str, _Entry]:
    content = read_bytes(store.filesystem, path)
    try:
        written = json.loads(content)
        amount = float(written["amount"])
        if not (isfinite(amount) and amount >= 0):
            raise ValueError(f"an amount of {amount}")
        # Entries of earlier versions are named by their file alone.
        name = written.get("entry", path.rpartition("/")[2].removesuffix(_ENDING))
        return str(name), _Entry(amount, str(written["unit"]), bool(written["confirmed"]))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise StorageError(
            f"{path}: is damaged ({error}); what was spent is not known, so nothing more may be"
        ) from error
