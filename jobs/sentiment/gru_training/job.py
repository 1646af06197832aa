"""Job `gru_training`: a recurrent sentiment system from labelled texts, in a file that `sentiment_rating` takes."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
import pyarrow as pa

from tiltmeter.cluster.work import Tables
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.files import Files
from tiltmeter.jobs.runtime.job import Job
from tiltmeter.jobs.runtime.table import Table, doc, key, schemas, tables_of
from tiltmeter.jobs.runtime.work import Work
from tiltmeter.jobs.sentiment.gru_training.config import GRUTrainingRun, TrainingData, find_labelled
from tiltmeter.operators.sentiment import gru, gru_training
from tiltmeter.operators.sentiment.gru import GRUConfig, TrainedGRU
from tiltmeter.operators.sentiment.gru_training import LabelledTexts, numeric_values, train
from tiltmeter.storage.models.described_weights import DescribedWeights
from tiltmeter.storage.models.gru_files import gru_content
from tiltmeter.storage.records import read_records
from tiltmeter.storage.records.cells import spelled
from tiltmeter.storage.store.ledger import Store

_FILE = "gru.safetensors"
_HELD_OUT = 10
"""Every so many-th text tells when to stop, where no file is given for that."""


class Epochs(Table, name="training", has_status=False):
    epoch: int = key("pass over the training texts, from 1")
    loss: float = doc("mean cross entropy of the training texts during the pass", "nats", digits=4)
    development_loss: float = doc("that of the development texts after it", "nats", digits=4)
    development_accuracy: float = doc("share of the development texts whose class is the most probable one", digits=4)


class Evaluation(Table, name="evaluation", has_status=False):
    part: str = key("training, development or test")
    num_texts: int = doc("texts", "texts")
    sign_agreement: float | None = doc(
        "share of the texts not labelled neutral whose score has the sign of its value", heading="right sign"
    )
    mean_absolute_error: float = doc("mean distance between score and the label's value")


TABLES = schemas(Epochs, Evaluation)


class TrainNetwork(Work, unit=gru_training.VERSION, stage="train", makes=[Epochs, Evaluation]):
    """A network in a file, how its training went, and how well it labels what it has not seen."""

    data: TrainingData
    files: Mapping[str, Any]
    uris: Mapping[str, str]
    network: GRUConfig
    seed: int
    scores: str = gru.VERSION

    def tables(self, store: Store) -> Tables:  # noqa: ARG002
        """Its file too."""
        parts = self._parts()
        values = self.data.values or numeric_values(label for part in parts.values() for label in part.labels)
        trained = train(parts["training"], parts["development"], values, self.network, self.seed)
        content = gru_content(DescribedWeights(asdict(trained.description), trained.weights))
        yield "model", pa.table({"content": pa.array([content], pa.binary())})
        yield from tables_of(_rows_of(trained, parts, values), self.makes)

    def _parts(self) -> dict[str, LabelledTexts]:
        """Training, development and, if there is one, test texts."""
        parts = {part: _labelled(uri, self.data) for part, uri in self.uris.items()}
        if "development" not in parts:
            texts, labels = parts["training"]
            is_held_out = np.arange(len(texts)) % _HELD_OUT == _HELD_OUT - 1
            for part, kept in (("training", ~is_held_out), ("development", is_held_out)):
                rows = np.flatnonzero(kept).tolist()
                parts[part] = LabelledTexts([texts[row] for row in rows], [labels[row] for row in rows])
        return parts


def _labelled(uri: str, data: TrainingData) -> LabelledTexts:
    rows = read_records(uri, [data.text, data.label], header=data.header, rules=data.rules)
    return LabelledTexts(
        rows[data.text].cast(str).to_list(), spelled(rows[data.label], list(data.values or ())).to_list()
    )


def _rows_of(
    trained: TrainedGRU, parts: Mapping[str, LabelledTexts], values: Mapping[str, float]
) -> Iterator[Epochs | Evaluation]:
    for number, epoch in enumerate(trained.description.history, start=1):
        yield Epochs(epoch=number, **epoch._asdict())
    for name, part in parts.items():
        yield _evaluation(name, trained, part, values)


def _evaluation(name: str, trained: TrainedGRU, part: LabelledTexts, values: Mapping[str, float]) -> Evaluation:
    """How the scores agree with what the labels are worth: in sign, and on average."""
    scores = gru.score(trained, part.texts)
    gold = np.array([values[label] for label in part.labels])
    row = Evaluation(part=name, num_texts=len(part.texts), mean_absolute_error=float(np.abs(scores - gold).mean()))
    is_signed = gold != 0.0
    if is_signed.any():
        row.sign_agreement = float((np.sign(scores[is_signed]) == np.sign(gold[is_signed])).mean())
    return row


def run(run: Run[GRUTrainingRun, Files]) -> None:
    """Train in one worker; publish how training went, how well the model labels what it has not seen, and the model."""
    config, files = run.config, run.sources.files
    done = run.do(
        [
            TrainNetwork(
                label="gru",
                group="gru",
                data=config.labelled,
                files=run.sources.record(),
                uris={part: file.uri for part, file in files.items()},
                network=config.gru,
                seed=config.seed,
            )
        ]
    )
    [content] = run.runner.store.read(done.one("model"))["content"].to_pylist()
    run.directory.export_bytes(_FILE, content)
    run.console.print(f"trained: {run.directory.path / 'exports' / _FILE}", soft_wrap=True, highlight=False)


JOB = Job(
    GRUTrainingRun, find_labelled, run, TABLES, "tiltmeter.jobs.sentiment.gru_training.page:page", extras=["models"]
)
