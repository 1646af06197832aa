"""The mark of a store: a file that says that a folder is one, and without which nothing is removed from it."""

import json
import re

from tiltmeter.storage.errors import StorageError
from tiltmeter.storage.files.filesystems import SETTING, files_below, read_bytes
from tiltmeter.storage.store.ledger import FOLDERS, MARK, Store
from tiltmeter.storage.store.tables import write_bytes

FORMAT = 1
"""Of stores that this version makes and reads."""

EARLIER_VERSION = f"store={{}}: a store of an earlier version; its mark, {MARK}, was added"

_ENTRIES = (("registry", "/run.json", "key"), ("ledger", ".json", "place"))
"""Files by which a store of an earlier version is known: each says itself, under this key, where it lies."""


def open_store(store: Store) -> bool:
    """Mark a store that has no mark; returns whether it is one of an earlier version, which had none.

    A run may use any folder: what lies there and has not the name, the depth and the content of our files stays.

    Raises:
        StorageError: if the store can't be written, is of a later format, or one of its folders is a symbolic link.
    """
    if _has_mark(store):
        return False
    is_of_earlier_version = _holds_entries(store)
    content = json.dumps({"format": FORMAT, "made_by": "tiltmeter"}) + "\n"
    write_bytes(store.filesystem, store.inside(MARK), content.encode(), setting=SETTING)
    return is_of_earlier_version


def require_store(store: Store) -> None:
    """Make sure that a folder is a store, or one of an earlier version, or that nothing is there yet.

    Raises:
        StorageError: if it is none; or as for :func:`open_store`.
    """
    if not _has_mark(store) and not _holds_entries(store):
        files = files_below(store.filesystem, store.path, is_recursive=False)
        # The directory of a run that has just begun may be in it.
        if foreign := next((file.base_name for file in files if file.base_name != "runs"), None):
            raise StorageError(
                f"store={store.name}: is not a store: it has neither {MARK} nor a finished unit or a run in its "
                f"register, but {foreign}; nothing was removed. Choose a store with {SETTING}"
            )


def _has_mark(store: Store) -> bool:
    for folder in FOLDERS:
        store.inside(folder)
    if (mark := store.mark) is None:
        return False
    if not (match := re.search(rb'"format": (\d+)\b', mark)) or int(match[1]) > FORMAT:
        raise StorageError(
            f"{store.path}/{MARK}: names no format that this version of Tiltmeter knows (up to {FORMAT}): use a later "
            "one, or if it is damaged, remove it, which is safe: the next run writes it"
        )
    return True


def _holds_entries(store: Store) -> bool:
    for folder, ending, key in _ENTRIES:
        below = store.inside(folder)
        for file in files_below(store.filesystem, below):
            place = file.path.removeprefix(f"{below}/").removesuffix(ending)
            if file.is_file and f'"{key}": "{place}"'.encode() in read_bytes(store.filesystem, file.path):
                return True
    return False
