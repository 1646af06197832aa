"""Labelled texts that a user brings, in CSV, TSV or Parquet files: their config, and how they are read."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import polars as pl
import pyarrow as pa
import pydantic
from pydantic import ConfigDict, Field

from tiltmeter.cluster.stages import Runner
from tiltmeter.cluster.work import Tables
from tiltmeter.jobs.classifiers.splits import check_known
from tiltmeter.jobs.classifiers.tables import LABELLED, TAGGED, Labelled
from tiltmeter.jobs.runtime.files import Files, find_table
from tiltmeter.jobs.runtime.work import Work, do
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.records import one_spelling, read_records
from tiltmeter.storage.records.cells import TEXT, is_empty
from tiltmeter.storage.store.ledger import Store, TableRef

_Path = Annotated[str, Field(min_length=1)]
_REASONS = {"ok": "", "no_text": "the text is empty", "no_label": "the row has no label"}


@pydantic.dataclasses.dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class LabelledData:
    """Labelled texts in CSV, TSV or Parquet files.

    Attributes:
        path: what models are trained with.
        development: what tells when training stops; None: a part of ``path``.
        test: what is not trained with; None: a part of ``path``.
        header: whether the first line of CSV and TSV has names; if not, columns are column_1, column_2, ...
        text, label: what the files call their columns.
        gender, group: further columns; None: there are none.
        limit: rows that are taken of each file at most, drawn by their content; None: all.
    """

    path: _Path
    development: _Path | None = None
    test: _Path | None = None
    header: bool = True
    text: _Path = "text"
    label: _Path = "label"
    gender: _Path | None = None
    group: _Path | None = None
    limit: Annotated[int, Field(ge=1)] | None = None

    @property
    def paths(self) -> dict[str, str]:
        """Those that are given, by the part that they hold."""
        parts = {"training": self.path, "development": self.development, "test": self.test}
        return {part: path for part, path in parts.items() if path is not None}

    @property
    def columns(self) -> dict[str, str]:
        """What the files call each column of ``LABELLED`` that they have."""
        names = {"text": self.text, "label": self.label, "gender": self.gender, "group": self.group}
        return {name: called for name, called in names.items() if called is not None}


def find_labelled_data(data: LabelledData, group: str = "data") -> Files:
    """Look for the files.

    Args:
        group: of the settings that name them.

    Raises:
        InputError: if one is missing, can't be read, or lacks a column, or has lists in one.
    """
    columns, files = list(dict.fromkeys(data.columns.values())), {}
    for part, path in data.paths.items():
        setting = f"{group}.path" if part == "training" else f"{group}.{part}"
        files[part] = find_table(path, setting, columns, header=data.header, rules={data.text: [TEXT]})
    return Files(files)


def find_classified_data(data: LabelledData) -> Files:
    """The same, of texts whose labels are classes.

    Raises:
        InputError: as :func:`find_labelled_data`, and if another file has a class that the training texts lack.
    """
    files = find_labelled_data(data)
    uris = {part: file.uri for part, file in files.files.items()}
    given = [_cells(read_records(uri, [data.label], header=data.header)[data.label]) for uri in uris.values()]
    training, *others = ({*column.drop_nulls()} for column in one_spelling(*given))
    for part, labels in zip([part for part in uris if part != "training"], others, strict=True):
        try:
            check_known(labels, training, part)
        except ValueError as error:
            raise InputError(str(error)) from error
    return files


class ReadTexts(Work, unit="labelled_data/2", stage="read texts", makes=[Labelled]):
    """The rows of all files; those without a text or a label say so.

    Attributes:
        columns: what the files call each column that they have.
        files: identities by part.
        seed: of what is drawn; None: nothing is.
    """

    columns: Mapping[str, str]
    header: bool
    limit: int | None
    files: Mapping[str, Mapping[str, Any]]
    seed: int | None

    def tables(self, _: Store) -> Tables:
        """The table ``rows``."""
        schema = TAGGED if "tags" in self.columns else LABELLED
        yield "rows", pa.Table.from_pylist(list(self._rows()), schema)

    def _rows(self) -> Iterator[dict[str, Any]]:
        names = list(dict.fromkeys(self.columns.values()))
        tables = [read_records(file["uri"], names, header=self.header) for file in self.files.values()]
        cells = {name: [_cells(table[called]) for table in tables] for name, called in self.columns.items()}
        cells |= {name: one_spelling(*cells[name]) for name in ("label", "gender") if name in cells}
        for part, of_part in zip(self.files, zip(*cells.values(), strict=True), strict=True):
            table = pl.DataFrame(dict(zip(cells, of_part, strict=True)))
            rows = [{"part": part, "row": number} | row for number, row in enumerate(table.to_dicts())]
            yield from map(_judged, _drawn(rows, self.limit, self.seed))


def read_labelled_data(runner: Runner, data: LabelledData, sources: Files, seed: int) -> TableRef:
    """The rows of all files, as a table of the schema ``LABELLED``, or ``TAGGED`` if the files have parts of speech.

    Raises:
        UnitsFailed: if a file can't be read.
    """
    work = ReadTexts(
        label="labelled texts",
        columns=data.columns,
        header=data.header,
        limit=data.limit,
        files={part: file.identity for part, file in sources.files.items()},
        seed=None if data.limit is None else seed,
    )
    return do(runner, [work]).one(Labelled)


def _cells(column: pl.Series) -> pl.Series:
    """As strings; null where nothing is seen."""
    return column.cast(pl.String).str.strip_chars().set(is_empty(column), None)


def _drawn(rows: list[dict[str, Any]], limit: int | None, seed: int | None) -> list[dict[str, Any]]:
    """So many of them, in their order: which ones is a matter of what they say, and not of where they stand."""
    if limit is None or limit >= len(rows):
        return rows
    by_key = sorted(rows, key=lambda row: (document_key(f"{seed}\n{row['label']}\n{row['text']}"), row["row"]))
    return sorted(by_key[:limit], key=lambda row: row["row"])


def _judged(row: dict[str, Any]) -> dict[str, Any]:
    status = "no_text" if row["text"] is None else "no_label" if row["label"] is None else "ok"
    return row | {"text": row["text"] or "", "status": status, "reason": _REASONS[status]}
