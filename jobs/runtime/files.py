"""Files that a job starts from, found before any work."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tiltmeter.jobs.runtime.work import Subject
from tiltmeter.storage.corpora.sources import FoundFile, find_file
from tiltmeter.storage.records import check_columns, look_through
from tiltmeter.storage.records.cells import NO_RULES, Rules


@dataclass(frozen=True)
class InputFile(Subject):
    """A file that a unit reads."""

    file: FoundFile

    @property
    def identity(self) -> dict[str, Any]:
        """Where it is and what it is at the moment."""
        return self.file.identity


@dataclass(frozen=True)
class Files:
    """Files by what they hold."""

    files: Mapping[str, FoundFile]

    def record(self) -> dict[str, Any]:
        """Every file with its version, for ``run.json``."""
        return {name: file.redacted for name, file in self.files.items()}


def find_table(
    path: str,
    setting: str,
    columns: Sequence[str],
    *,
    header: bool = True,
    rules: Rules = NO_RULES,
    once: Sequence[str] = (),
) -> FoundFile:
    """A CSV, TSV, JSON, Parquet or Arrow file that has these columns; its bad records are counted.

    Args:
        setting: that names the file, for messages.
        header: whether the first line of CSV and TSV has names.
        rules: for cells, by column.
        once: a column of which no value may come again, or may not with another value in the columns after it.

    Raises:
        InputError: if it is missing, can't be read, or lacks a column or has lists in one.
    """
    file = find_file(path, setting)
    check_columns(file.uri, columns, setting, header=header)
    look_through(file.uri, columns, setting, header=header, rules=rules, once=once)
    return file
