"""Settings of `gru_training`; what each means, and what it usually is, stands in ``conf/job/gru_training.yaml``."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from tiltmeter.jobs.runtime.config import CommonConfig
from tiltmeter.jobs.runtime.files import Files, find_table
from tiltmeter.jobs.runtime.settings.fields import Text, settings
from tiltmeter.operators.sentiment.gru import GRUConfig
from tiltmeter.operators.text.normalisation import as_labels
from tiltmeter.storage.records.cells import LABEL, TEXT, Rules, between, one_of

Value = Annotated[float, Field(ge=-1.0, le=1.0)]


@settings
class JobName:
    name: Literal["gru_training"]


@settings
class TrainingData:
    path: Text
    development: Text | None
    test: Text | None
    header: bool
    text: Text
    label: Text
    values: Annotated[dict[str, Value], BeforeValidator(as_labels)] | None

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


@settings
class GRUTrainingRun(CommonConfig):
    job: JobName
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
