"""The config of `gru_training`: labelled texts, and the network that learns them."""

from typing import Annotated, Literal

import pydantic
from pydantic import BeforeValidator, ConfigDict, Field

from tiltmeter.jobs.runtime.config import CommonConfig
from tiltmeter.jobs.runtime.files import Files, find_table
from tiltmeter.operators.sentiment.gru import GRUConfig
from tiltmeter.operators.text.normalisation import as_labels
from tiltmeter.storage.records.cells import LABEL, TEXT, Rules, between, one_of

_Path = Annotated[str, Field(min_length=1)]
Value = Annotated[float, Field(ge=-1.0, le=1.0)]


@pydantic.dataclasses.dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class GRUTrainingJob:
    """``job=gru_training``"""

    name: Literal["gru_training"] = "gru_training"


@pydantic.dataclasses.dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class TrainingData:
    """Labelled texts in CSV, TSV or Parquet files.

    Attributes:
        path: what is learnt from.
        development: what tells when to stop; None: every tenth text of ``path``.
        test: what is not seen until training has ended; None: nothing.
        header: whether the first line of CSV and TSV has names; if not, columns are column_1, column_2, ...
        text, label: what the files call their columns.
        values: what each label is worth, from -1 (negative) to 1 (positive); None: labels are such numbers.
    """

    path: _Path
    development: _Path | None = None
    test: _Path | None = None
    header: bool = True
    text: _Path = "text"
    label: _Path = "label"
    values: Annotated[dict[str, Value], BeforeValidator(as_labels)] | None = None

    @property
    def paths(self) -> dict[str, str]:
        """Those that are given, by the part that they hold."""
        parts = {"training": self.path, "development": self.development, "test": self.test}
        return {part: path for part, path in parts.items() if path is not None}

    @property
    def rules(self) -> Rules:
        """Of the cells of both columns."""
        known = between(-1, 1) if self.values is None else one_of([*self.values])
        return {self.text: [TEXT], self.label: [LABEL, known]}


@pydantic.dataclasses.dataclass(frozen=True, kw_only=True, config=ConfigDict(extra="forbid"))
class GRUTrainingRun(CommonConfig):
    """A run of ``gru_training``."""

    job: GRUTrainingJob
    labelled: TrainingData
    gru: GRUConfig


def find_labelled(config: GRUTrainingRun) -> Files:
    """Look for the files.

    Raises:
        InputError: if one is missing, can't be read, or lacks a column.
    """
    data, files = config.labelled, {}
    for part, path in data.paths.items():
        setting = "labelled.path" if part == "training" else f"labelled.{part}"
        files[part] = find_table(path, setting, [data.text, data.label], header=data.header, rules=data.rules)
    return Files(files)
