"""The mark of a store: a file that says that a folder is one, and without which nothing is removed from it."""

import json
import re

from tiltmeter.storage.errors import StorageError
from tiltmeter.storage.files.filesystems import SETTING, files_below
from tiltmeter.storage.store.ledger import FOLDERS, MARK, Store
from tiltmeter.storage.store.tables import write_bytes

FORMAT = 2
"""Of stores that this version makes and reads; units of another are never found."""


def open_store(store: Store) -> None:
    """Mark a store that has no mark.

    A run may use any folder: what lies there and has not the name, the depth and the content of our files stays.

    Raises:
        StorageError: if the store can't be written, is of another format, or one of its folders is a symbolic link.
    """
    if not _has_mark(store):
        content = json.dumps({"format": FORMAT, "made_by": "tiltmeter"}) + "\n"
        write_bytes(store.filesystem, store.inside(MARK), content.encode(), setting=SETTING)


def require_store(store: Store) -> None:
    """Make sure that a folder is a store, or that nothing is there yet.

    Raises:
        StorageError: if it is none; or as for :func:`open_store`.
    """
    if not _has_mark(store):
        files = files_below(store.filesystem, store.path, is_recursive=False)
        # The directory of a run that has just begun may be in it.
        if foreign := next((file.base_name for file in files if file.base_name != "runs"), None):
            raise StorageError(
                f"store={store.name}: is not a store: it has no {MARK}, but {foreign}; nothing was removed. Choose a "
                f"store with {SETTING}"
            )


def _has_mark(store: Store) -> bool:
    for folder in FOLDERS:
        store.inside(folder)
    if (mark := store.mark) is None:
        return False
    number = re.search(rb'"format": (\d+)\b', mark)
    if number and int(number[1]) < FORMAT:
        raise StorageError(
            f"store={store.name}: is of format {int(number[1])}, that of Tiltmeter before 0.3.0, none of whose results "
            f"is found any more: choose another with {SETTING}. If vectors were released from it, copy its folder "
            "accounts into the new one, so that what was spent stays spent"
        )
    if not number or int(number[1]) > FORMAT:
        raise StorageError(
            f"{store.path}/{MARK}: names no format that this version of Tiltmeter knows ({FORMAT}): use a later one, "
            "or if it is damaged, remove it, which is safe: the next run writes it"
        )
    return True
