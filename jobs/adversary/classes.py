"""Data of one class are refused: by the file before anything is started, and by what is left of it to learn."""

from collections.abc import Iterable

import polars as pl

from tiltmeter.jobs.classifiers.labelled_data import LabelledData
from tiltmeter.jobs.runtime.files import Files
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.records import read_records


def check_file(data: LabelledData, files: Files) -> None:
    """Refuse a file of training texts with one class, for which no more than its column is read.

    Raises:
        InputError: naming the class.
    """
    name = data.columns["label"]
    column = read_records(files.files["training"].uri, [name], header=data.header)[name]
    check_labels(column.cast(pl.String).str.strip_chars().drop_nulls())


def check_labels(labels: Iterable[str]) -> None:
    """Refuse labels that are all the same.

    Raises:
        InputError: naming the class.
    """
    classes = {label for label in labels if label}
    if not classes:
        raise InputError("data.label: no text has a class; choose another column, or a file with rows")
    if len(classes) < 2:
        raise InputError(
            f"data.label: all texts that a victim learns are of the class {', '.join(sorted(classes))!r}, so that "
            "nothing could flip it; choose another column, or a file with several classes"
        )
