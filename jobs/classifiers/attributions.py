"""Attributions of every model's decisions about every sentence to their words, unit by unit."""

import importlib.metadata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables
from tiltmeter.jobs.classifiers.models import ExplainedModel
from tiltmeter.jobs.classifiers.tables import ATTRIBUTIONS, SENTENCES
from tiltmeter.jobs.runtime.keep_loaded import resident
from tiltmeter.jobs.runtime.resources import Device, uses_gpus
from tiltmeter.operators.classifiers.attribution import attribute as attribution
from tiltmeter.operators.classifiers.attribution.attribute import Attribution, attribute
from tiltmeter.operators.classifiers.attribution.records import AttributionConfig, TextClassifier
from tiltmeter.storage.store.identity import digest
from tiltmeter.storage.store.ledger import Store, TableRef, Unit

Explain = Literal["predicted", "gold"]

_SAMPLING = ("occlusion", "lime", "kernel_shap")
_REASONS = {
    "ok": "",
    "no_word": "the sentence is empty",
    "beyond_limit": "the sentence is longer than the model takes, and was read up to there",
    "no_token": "the model has no token for this word",
}


def explain(
    runner: Runner,
    models: Mapping[str, ExplainedModel],
    sentences: Sequence[TableRef],
    config: AttributionConfig,
    seed: int,
    *,
    explained: Explain = "predicted",
    device: Device = "cpu",
    setting: str = "device",
) -> dict[str, list[TableRef]]:
    """Tables ``attributions`` of each model, in the order of the sentences' tables; what failed is missing.

    Args:
        models: by their names.
        sentences: tables with the columns of ``SENTENCES``, each of which is a unit of work.
        config: the method.
        seed: of what it draws.
        explained: the class whose output is explained: that which is predicted, or the gold one where there is one.
        device: where models run, and the setting that chooses it.
    """
    on_gpu = uses_gpus(device, runner.pool.num_gpus, setting)
    settings = _identity(config) | {"seed": seed, "explained": explained, "on_gpu": on_gpu}
    refs: dict[str, list[TableRef]] = {}
    for name, model in models.items():
        units = [_unit(name, model, number, ref, settings) for number, ref in enumerate(sentences)]
        work = _Explaining(model, config, seed, explained, "cuda" if on_gpu else "cpu")
        stage = Stage(f"explain {name}", work, {name: units}, None, on_gpu)
        refs[name] = [unit.tables["attributions"] for unit in runner.run(stage)[name]]
    return refs


def _identity(config: AttributionConfig) -> dict[str, Any]:
    library = {"captum": importlib.metadata.version("captum")} if config.method in _SAMPLING else {}
    return {"operator": attribution.VERSION, "method": config, "library": library}


def _unit(name: str, model: ExplainedModel, number: int, ref: TableRef, settings: Mapping[str, Any]) -> Unit:
    inputs = {"sentences": [ref.select(*SENTENCES.names)]}
    if model.trained is not None:
        inputs["model"] = [model.trained]
    config = {"name": name, "model": model.identity, **settings}
    return Unit("attributions/1", f"{name} on sentences {number}", config, inputs)


@dataclass(frozen=True)
class _Explaining:
    model: ExplainedModel
    config: AttributionConfig
    seed: int
    explained: Explain
    device: str

    def __call__(self, store: Store, units: Sequence[Unit]) -> Iterator[tuple[Unit, Tables]]:
        for unit in units:
            key = digest(
                {"model": unit.config["model"], "trained": [ref.columns for ref in unit.inputs.get("model", [])]}
            )
            rows = store.read(unit.input("sentences")).to_pylist()
            with resident((key, self.device), lambda _: self.model.load(store, self.device)) as classifier:
                table = self._table(unit.config["name"], classifier, rows)
            yield unit, [("attributions", table)]

    def _table(self, name: str, classifier: TextClassifier, rows: Sequence[Mapping[str, Any]]) -> pa.Table:
        texts = [row["text"] or "" for row in rows]
        targets = [_number(classifier, row["gold"]) if self.explained == "gold" else None for row in rows]
        attributions = attribute(classifier, texts, self.config, targets=targets, seed=self.seed)
        words = [
            line
            for row, attribution in zip(rows, attributions, strict=True)
            for line in attribution_rows(name, classifier, row, attribution)
        ]
        return pa.Table.from_pylist(words, ATTRIBUTIONS)


def _number(classifier: TextClassifier, gold: str | None) -> int | None:
    if gold is None:
        return None
    if gold not in classifier.classes:
        raise ValueError(f"gold class {gold!r}: the model's classes are {', '.join(classifier.classes)}")
    return classifier.classes.index(gold)


def attribution_rows(
    model: str, classifier: TextClassifier, sentence: Mapping[str, Any], attribution: Attribution
) -> Iterator[dict[str, Any]]:
    """Rows of the table ``attributions`` of one sentence: one for each word, or one that says that there is none."""
    shared = {
        "model": model,
        "sentence": sentence["sentence"],
        "predicted": None if attribution.predicted < 0 else classifier.classes[attribution.predicted],
        "gold": sentence["gold"],
        "delta": None if np.isnan(attribution.delta) else attribution.delta,
    }
    for position, word in enumerate(attribution.words or [""]):
        status = _status(attribution, position)
        value = float(attribution.values[position]) if status == "ok" else None
        yield shared | {
            "position": position,
            "word": word,
            "attribution": value,
            "status": status,
            "reason": _REASONS[status],
        }


def _status(attribution: Attribution, position: int) -> str:
    if not attribution.words:
        return "no_word"
    if not np.isnan(attribution.values[position]):
        return "ok"
    read = np.flatnonzero(~np.isnan(attribution.values))
    return "beyond_limit" if attribution.truncated and position > read.max(initial=-1) else "no_token"
