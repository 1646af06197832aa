"""Accounts of what was spent on something that may be spent on only so much, beside the units of a store."""

import json
import re
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from math import isfinite
from typing import Any, NamedTuple

from tiltmeter.storage.errors import StorageError
from tiltmeter.storage.files.filesystems import SETTING, delete_file, files_below, read_bytes
from tiltmeter.storage.store.ledger import ACCOUNTS, Store
from tiltmeter.storage.store.tables import write_bytes

_PLAIN = re.compile(r"\w[\w.-]*")
_ENDING, _CLAIM = ".json", ".claim"

Amount = Mapping[str, Any]
"""What is known of something that was spent, such as its epsilon and delta: finite numbers from 0 on, and words."""


class Balance(NamedTuple):
    """Of an account.

    Attributes:
        amounts: of all entries.
        is_new: whether the last entry was not there before.
    """

    amounts: Sequence[Amount]
    is_new: bool


def enter(
    store: Store, account: str, entry: str, amount: Amount, allows: Callable[[Sequence[Amount]], bool]
) -> Balance | None:
    """Enter an amount, before it is spent, unless all entries together would not be allowed; None if they would not.

    An entry counts once however often it is entered, so that whoever goes on after a death spends nothing twice. Who
    enters it claims it first, in a file of their own that nobody else takes back: two may enter the same at once, and
    one of them be turned down. It counts from the first claim, and allows nothing until it is confirmed: one that a
    death left unconfirmed is held against the limit again. Of two that are entered at the same moment, both may be
    turned down, and never is more spent than is allowed.

    Args:
        account: its name.
        entry: what tells the entry from others.
        amount: of the entry; amounts are kept as they are, and put together by ``allows`` alone.
        allows: whether all of these may be spent.

    Raises:
        ValueError: if a name leads out of the account's folder.
        StorageError: if the store can't be written, an entry can't be read, or it or the account is a symbolic link.
    """
    for name in (account, entry):
        if not _PLAIN.fullmatch(name):
            raise ValueError(f"{name!r}: must be letters, digits, dots, hyphens and underscores")
    folder = store.inside(f"{ACCOUNTS}/{account}")
    entries, new = _entries(store, folder), _Entry(amount, is_confirmed=False)
    if entry in entries and entries[entry].is_confirmed:
        return Balance(_amounts(entries), is_new=False)
    if not allows(_amounts(entries | {entry: new})):
        return None
    claim = f"{folder}/{entry}.{uuid.uuid4().hex}{_CLAIM}"
    _write(store, claim, entry, new)
    entries = _entries(store, folder)
    if not allows(_amounts(entries)):
        delete_file(store.filesystem, claim)
        return None
    # The claim stays: between its end and the entry's beginning, somebody who reads the folder could miss both.
    _write(store, f"{folder}/{entry}{_ENDING}", entry, new._replace(is_confirmed=True))
    return Balance(_amounts(entries), is_new=True)


class _Entry(NamedTuple):
    amount: Amount
    is_confirmed: bool


def _amounts(entries: Mapping[str, _Entry]) -> list[Amount]:
    return [entries[name].amount for name in sorted(entries)]


def _write(store: Store, path: str, name: str, entry: _Entry) -> None:
    content = json.dumps({"entry": name, "amount": dict(entry.amount), "confirmed": entry.is_confirmed})
    write_bytes(store.filesystem, path, content.encode(), setting=SETTING)


def _entries(store: Store, folder: str) -> dict[str, _Entry]:
    """By name, all that are whole: beside them may lie what a killed process has half written."""
    entries: dict[str, _Entry] = {}
    files = [file for file in files_below(store.filesystem, folder) if file.is_file]
    for file in (file for file in files if file.path.endswith((_ENDING, _CLAIM))):
        # A claim may be taken back before it is read.
        with suppress(FileNotFoundError):
            name, entry = _entry(store, store.inside(file.path.removeprefix(f"{store.path}/")))
            if name not in entries or entry.is_confirmed > entries[name].is_confirmed:
                entries[name] = entry
    return entries


def _entry(store: Store, path: str) -> tuple[str, _Entry]:
    content = read_bytes(store.filesystem, path)
    try:
        written = json.loads(content)
        amount = written["amount"]
        if not isinstance(amount, dict):
            # Entries of earlier versions are a number and its unit.
            amount = {"epsilon": float(amount), "unit": str(written["unit"])}
        for number in (part for part in amount.values() if not isinstance(part, str)):
            if not (isfinite(number) and number >= 0):
                raise ValueError(f"an amount of {number}")
        # These are named by their file alone.
        name = written.get("entry", path.rpartition("/")[2].removesuffix(_ENDING))
        return str(name), _Entry(amount, bool(written["confirmed"]))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise StorageError(
            f"{path}: is damaged ({error}); what was spent is not known, so nothing more may be"
        ) from error
