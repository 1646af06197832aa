"""What the model has predicted: as the file says, or by a base model that is trained on another file."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.classifiers.errors.config import ErrorCharacterisationRun, ErrorSources
from tiltmeter.jobs.classifiers.models import model_table, trained_model
from tiltmeter.jobs.classifiers.networks import Encoders
from tiltmeter.jobs.runtime.resources import uses_gpus
from tiltmeter.operators.classifiers.attribution.attribute import predict
from tiltmeter.operators.classifiers.errors import word_model
from tiltmeter.operators.classifiers.errors.splits import is_tested
from tiltmeter.operators.classifiers.errors.uncertainty import checked_probabilities
from tiltmeter.operators.classifiers.errors.word_model import train_word_model
from tiltmeter.operators.classifiers.records import Head
from tiltmeter.operators.classifiers.trained import weights_of
from tiltmeter.operators.classifiers.training import Labelled, train
from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.text.tokenised import Tokenise
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.store.ledger import Store, TableRef, Unit
from tiltmeter.storage.store.tables import column

_HEAD = "label"
_DEVELOPMENT = 2
"""What the development part is drawn about, beside other splits."""

PREDICTED = pa.schema(
    [
        column("row", pa.int64(), "number of the row", key=True),
        column("predicted", pa.string(), "the most probable class; null where the model reads no token"),
        column("previous", pa.string(), "what the version before has predicted"),
        column("probabilities", pa.list_(pa.float64()), "of the classes in alphabetical order; null if unknown"),
    ]
)
"""What is known of each text's prediction; the metadata's ``classes`` name what the probabilities are of."""


def predict_texts(
    runner: Runner, config: ErrorCharacterisationRun, sources: ErrorSources, texts: Mapping[str, TableRef]
) -> TableRef:
    """A table of the schema ``PREDICTED``, for the texts of which something can be told.

    Args:
        texts: by file, of the schema ``READ``.
    """
    if "base" not in texts:
        settings = {"classes": sorted(config.data.probabilities or {})}
        unit = Unit("given_predictions/2", "predictions", settings, {"texts": [texts["data"]]})
        return runner.run_whole(Stage("predictions", each(_given), {"texts": [unit]}))["texts"][0].tables["predicted"]
    if config.base.model == "words":
        inputs = {"texts": [texts["data"]], "base": [texts["base"]]}
        unit = Unit("word_predictions/2", "base model of words", {"operator": word_model.VERSION}, inputs)
        return runner.run_whole(Stage("predict", each(_by_words), {"texts": [unit]}))["texts"][0].tables["predicted"]
    return _by_network(runner, config, sources, texts)


def usable(rows: pa.Table) -> list[dict[str, Any]]:
    """The rows whose status is ok."""
    return [row for row in rows.to_pylist() if row["status"] == "ok"]


def scorable(rows: pa.Table) -> list[dict[str, Any]]:
    """The rows of which something can be told: those that are ok, and those that lack no more than a label."""
    return [row for row in rows.to_pylist() if row["status"] in ("ok", "no_label")]


def _given(store: Store, unit: Unit) -> Tables:
    rows = scorable(store.read(unit.input("texts")))
    classes = unit.config["classes"]
    if classes and rows:
        values = _checked(np.array([row["probabilities"] for row in rows], dtype=np.float64))
        rows = [row | {"probabilities": value} for row, value in zip(rows, values.tolist(), strict=True)]
    made = [
        {"predicted": row["prediction"]} | {name: row[name] for name in ("row", "previous", "probabilities")}
        for row in rows
    ]
    yield "predicted", _named(pa.Table.from_pylist(made, PREDICTED), classes)


def _checked(probabilities: FloatArray) -> FloatArray:
    try:
        return checked_probabilities(probabilities)
    except ValueError as error:
        raise InputError(f"data.probabilities: {error}") from error


def _by_words(store: Store, unit: Unit) -> Tables:
    base, rows = usable(store.read(unit.input("base"))), scorable(store.read(unit.input("texts")))
    model = train_word_model([row["text"] for row in base], [row["label"] for row in base])
    yield (
        "predicted",
        _predicted(rows, model.probabilities([row["text"] for row in rows], model.classes), model.classes),
    )


def _predicted(rows: Sequence[Mapping[str, Any]], probabilities: FloatArray, classes: Sequence[str]) -> pa.Table:
    made = []
    for row, values in zip(rows, probabilities, strict=True):
        known = not np.isnan(values).any()
        guess = {"predicted": classes[int(values.argmax())], "probabilities": values.tolist()} if known else {}
        made.append({"row": row["row"]} | guess)
    return _named(pa.Table.from_pylist(made, PREDICTED), classes)


def _named(table: pa.Table, classes: Sequence[str]) -> pa.Table:
    """With a column of the classes' names, as the store keeps columns and no metadata of tables."""
    return table.append_column("classes", pa.array([list(classes)] * table.num_rows, pa.list_(pa.string())))


# --- the network ------------------------------------------------------------------------------------------------------


def _by_network(
    runner: Runner, config: ErrorCharacterisationRun, sources: ErrorSources, texts: Mapping[str, TableRef]
) -> TableRef:
    on_gpu = uses_gpus(config.models.device, runner.pool.num_gpus, "models.device")
    encoders = Encoders(config.models, sources.encoder, on_gpu)
    settings = {"seed": config.seed, "development": config.base.development, **encoders.identity}
    training = Unit("base_model/1", "base model", settings, {"texts": [texts["base"]]})
    [trained] = runner.run_whole(Stage("train", _Training(encoders), {"base": [training]}, on_gpu=on_gpu))["base"]
    model = trained.tables["model"]
    inputs = {"texts": [texts["data"]], "model": [model]}
    unit = Unit("base_predictions/2", "predictions of the base model", {"on_gpu": on_gpu}, inputs)
    stage = Stage("predict", _Predicting(model, "cuda" if on_gpu else "cpu"), {"texts": [unit]}, on_gpu=on_gpu)
    return runner.run_whole(stage)["texts"][0].tables["predicted"]


@dataclass(frozen=True)
class _Training:
    encoders: Encoders

    def __call__(self, store: Store, units: Sequence[Unit]) -> Iterator[tuple[Unit, Tables]]:
        for unit in units:
            yield unit, [("model", self._trained(usable(store.read(unit.input("texts"))), unit.config))]

    def _trained(self, rows: Sequence[Mapping[str, Any]], config: Mapping[str, Any]) -> pa.Table:
        seed = config["seed"]
        aside = is_tested([row["group"] for row in rows], config["development"], seed, _DEVELOPMENT)
        training, development = (
            [row for row, out in zip(rows, aside, strict=True) if out == part] for part in (False, True)
        )
        heads = {_HEAD: Head(tuple(sorted({row["label"] for row in training})))}
        made = self.encoders.made([row["text"] for row in training], heads, seed)
        parts = [_labelled(part, made.tokenise, heads[_HEAD]) for part in (training, development)]
        history = train(made.network, heads, parts[0], parts[1], self.encoders.models.training, seed)
        return model_table(made.described(tuple(history)), weights_of(made.network))


def _labelled(rows: Sequence[Mapping[str, Any]], read: Tokenise, head: Head) -> Labelled:
    places = {name: place for place, name in enumerate(head.classes)}
    known = [row for row in rows if row["label"] in places]
    return Labelled(
        read([row["text"] for row in known]), {_HEAD: np.array([places[row["label"]] for row in known], dtype=np.int64)}
    )


@dataclass(frozen=True)
class _Predicting:
    model: TableRef
    device: str

    def __call__(self, store: Store, units: Sequence[Unit]) -> Iterator[tuple[Unit, Tables]]:
        classifier = trained_model(self.model).load(store, self.device)
        for unit in units:
            rows = scorable(store.read(unit.input("texts")))
            probabilities = predict(classifier, [row["text"] for row in rows])
            yield unit, [("predicted", _predicted(rows, probabilities, classifier.classes))]
