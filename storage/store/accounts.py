"""Accounts of what was spent on something that may be spent on only so much, beside the units of a store."""

import json
import re
from typing import NamedTuple

from tiltmeter.storage.errors import StorageError
from tiltmeter.storage.files.filesystems import SETTING, delete_file, files_below, read_bytes
from tiltmeter.storage.store.ledger import Store
from tiltmeter.storage.store.tables import write_bytes

_PLAIN = re.compile(r"\w[\w.-]*")


class Balance(NamedTuple):
    """Of an account.

    Attributes:
        spent: over all entries.
        is_new: whether the last entry was not there before.
    """

    spent: float
    is_new: bool


def enter(store: Store, account: str, entry: str, amount: float, limit: float) -> Balance | None:
    """Enter an amount, before it is spent, unless all entries together would pass a limit; None if they would.

    An entry counts once however often it is entered, so that whoever goes on after a death spends nothing twice. Of two
    that are entered at the same moment, both may be turned down, and never is more spent than the limit.

    Args:
        account: its name.
        entry: what tells the entry from others.

    Raises:
        ValueError: if a name leads out of the account's folder.
        StorageError: if the store can't be written, or an entry can't be read.
    """
    for name in (account, entry):
        if not _PLAIN.fullmatch(name):
            raise ValueError(f"{name!r}: must be letters, digits, dots, hyphens and underscores")
    folder = f"{store.path}/accounts/{account}"
    path = f"{folder}/{entry}.json"
    is_new = path not in _entries(store, folder)
    if is_new:
        write_bytes(store.filesystem, path, json.dumps({"amount": amount}).encode(), setting=SETTING)
    spent = sum(_entries(store, folder).values())
    if is_new and spent > limit * (1 + 1e-12):
        delete_file(store.filesystem, path)
        return None
    return Balance(spent, is_new)


def _entries(store: Store, folder: str) -> dict[str, float]:
    return {file.path: _amount(store, file.path) for file in files_below(store.filesystem, folder) if file.is_file}


def _amount(store: Store, path: str) -> float:
    content = read_bytes(store.filesystem, path)
    try:
        return float(json.loads(content)["amount"])
    except (KeyError, TypeError, ValueError) as error:
        raise StorageError(
            f"{path}: is damaged ({error}); what was spent is not known, so nothing more may be"
        ) from error
