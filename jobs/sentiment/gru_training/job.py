"""Job `gru_training`: a recurrent sentiment system from labelled texts, in a file that `sentiment_rating` takes."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
import pyarrow as pa

from tiltmeter.cluster.stages import Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.files import Files
from tiltmeter.jobs.runtime.job import Job
from tiltmeter.jobs.sentiment.gru_training import tables
from tiltmeter.jobs.sentiment.gru_training.config import GRUTrainingRun, TrainingData, find_labelled
from tiltmeter.jobs.sentiment.gru_training.tables import TABLES
from tiltmeter.operators.sentiment import gru, gru_training
from tiltmeter.operators.sentiment.gru import TrainedGRU
from tiltmeter.operators.sentiment.gru_training import LabelledTexts, numeric_values, train
from tiltmeter.storage.models.described_weights import DescribedWeights
from tiltmeter.storage.models.gru_files import gru_content
from tiltmeter.storage.records import read_records
from tiltmeter.storage.records.cells import spelled
from tiltmeter.storage.store.ledger import Store, Unit

_FILE = "gru.safetensors"
_HELD_OUT = 10
"""Every so many-th text tells when to stop, where no file is given for that."""


def run(run: Run[GRUTrainingRun, Files]) -> None:
    """Train in one worker; publish how training went, how well the model labels what it has not seen, and the model."""
    config, files = run.config, run.sources.files
    settings = {
        "data": config.labelled,
        "files": run.sources.record(),
        "uris": {part: file.uri for part, file in files.items()},
        "gru": config.gru,
        "scores": gru.VERSION,
        "seed": config.seed,
    }
    unit = Unit(gru_training.VERSION, "gru", settings)
    [finished] = run.runner.run_whole(Stage("train", each(_train), {"gru": [unit]}))["gru"]
    run.publish_all({name: [finished.tables[name]] for name in TABLES})
    [content] = run.runner.store.read(finished.tables["model"])["content"].to_pylist()
    run.directory.export_bytes(_FILE, content)
    run.console.print(f"trained: {run.directory.path / 'exports' / _FILE}", soft_wrap=True, highlight=False)


def _train(_: Store, unit: Unit) -> Tables:
    data: TrainingData = unit.config["data"]
    parts = _parts(data, unit.config["uris"])
    values = data.values or numeric_values(label for part in parts.values() for label in part.labels)
    trained = train(parts["training"], parts["development"], values, unit.config["gru"], unit.config["seed"])
    content = gru_content(DescribedWeights(asdict(trained.description), trained.weights))
    yield "model", pa.table({"content": pa.array([content], pa.binary())})
    history = [
        {"epoch": number, **epoch._asdict()} for number, epoch in enumerate(trained.description.history, start=1)
    ]
    yield "training", pa.Table.from_pylist(history, tables.TRAINING)
    evaluation = [{"part": name} | _evaluation(trained, part, values) for name, part in parts.items()]
    yield "evaluation", pa.Table.from_pylist(evaluation, tables.EVALUATION)


def _parts(data: TrainingData, uris: Mapping[str, str]) -> dict[str, LabelledTexts]:
    """Training, development and, if there is one, test texts."""
    parts = {part: _labelled(uri, data) for part, uri in uris.items()}
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


def _evaluation(trained: TrainedGRU, part: LabelledTexts, values: Mapping[str, float]) -> dict[str, Any]:
    """How the scores agree with what the labels are worth: in sign, and on average."""
    scores = gru.score(trained, part.texts)
    gold = np.array([values[label] for label in part.labels])
    is_signed = gold != 0.0
    agree = float((np.sign(scores[is_signed]) == np.sign(gold[is_signed])).mean()) if is_signed.any() else None
    error = float(np.abs(scores - gold).mean())
    return {"num_texts": len(part.texts), "sign_agreement": agree, "mean_absolute_error": error}


JOB = Job(GRUTrainingRun, find_labelled, run, TABLES, "tiltmeter.jobs.sentiment.gru_training.page:page")
