"""Files that a job starts from, found before any work."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tiltmeter.storage.corpora.sources import FoundFile, find_file
from tiltmeter.storage.records import check_columns


@dataclass(frozen=True)
class Files:
    """Files by what they hold."""

    files: Mapping[str, FoundFile]

    def record(self) -> dict[str, Any]:
        """Every file with its version, for ``run.json``."""
        return {name: file.redacted for name, file in self.files.items()}


def find_table(path: str, setting: str, columns: Sequence[str], *, header: bool = True) -> FoundFile:
    """A CSV, TSV or Parquet file that has these columns.

    Args:
        setting: that names the file, for messages.
        header: whether the first line of CSV and TSV has names.

    Raises:
        InputError: if it is missing, can't be read, or lacks a column.
    """
    file = find_file(path, setting)
    check_columns(file.uri, columns, setting, header=header)
    return file
