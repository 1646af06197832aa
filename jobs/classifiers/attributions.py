"""Attributions of every model's decisions about every sentence to their words, unit by unit."""

import importlib.metadata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from tiltmeter.cluster.work import Tables
from tiltmeter.jobs.classifiers.models import TextModel
from tiltmeter.jobs.classifiers.tables import ATTRIBUTIONS, SENTENCES, Attributed
from tiltmeter.jobs.runtime.rows import Row
from tiltmeter.jobs.runtime.work import Work
from tiltmeter.operators.classifiers.attribution.attribute import VERSION, Attribution, Networked, attribute
from tiltmeter.operators.classifiers.attribution.records import AttributionConfig, TextClassifier
from tiltmeter.storage.store.ledger import Store, TableRef

Explain = Literal["predicted", "gold"]

_SAMPLING = ("occlusion", "lime", "kernel_shap")
_REASONS = {
    "ok": "",
    "no_word": "the sentence is empty",
    "beyond_limit": "the sentence is longer than the model takes, and was read up to there",
    "no_token": "the model has no token for this word",
}


@dataclass(frozen=True)
class NamedModel(TextModel[Networked]):
    """A model of which units have a name: what decides its outputs stands by itself in their identity."""

    @property
    def identity(self) -> Mapping[str, Any]:
        """Where it runs, and what else decides its outputs under one key."""
        return {"on_gpu": self.on_gpu, "model": self.source.identity}


class ExplainWith(Work):
    """What each word of sentences adds to a model's decisions; a job's own says its unit.

    Attributes:
        sentences: tables with the columns of ``SENTENCES``.
        attribution: the method.
        seed: of what it draws.
    """

    model: TextModel[Networked]
    sentences: Sequence[TableRef]
    attribution: AttributionConfig
    seed: int
    operator: str = VERSION

    def explained(self, store: Store, name: str, target: Explain = "predicted") -> Iterator[list[Row]]:
        """Rows of the table ``attributions`` of each table of sentences.

        Args:
            name: of the model in the rows.
            target: the class whose output is explained: that which is predicted, or the gold one where there is one.

        Raises:
            ValueError: for a gold class that the model has not.
        """
        with self.model.ready(store) as classifier:
            network = classifier.network
            for ref in self.sentences:
                rows = store.read(ref).to_pylist()
                texts = [row["text"] or "" for row in rows]
                targets = [_number(network, row["gold"]) if target == "gold" else None for row in rows]
                made = attribute(network, texts, self.attribution, targets=targets, seed=self.seed)
                pairs = zip(rows, made, strict=True)
                yield [line for row, one in pairs for line in attribution_rows(name, network, row, one)]


class ExplainTexts(ExplainWith, unit="attributions/1", makes=[Attributed]):
    """Attributions of a model's decisions about the sentences of one table."""

    name: str
    model: NamedModel
    attribution: AttributionConfig
    target: Explain
    library: Mapping[str, str]

    def tables(self, store: Store) -> Tables:
        """The table ``attributions``."""
        [rows] = self.explained(store, self.name, self.target)
        yield "attributions", pa.Table.from_pylist(rows, ATTRIBUTIONS)


def explanations(
    models: Mapping[str, NamedModel],
    sentences: Sequence[TableRef],
    config: AttributionConfig,
    seed: int,
    explained: Explain = "predicted",
) -> Iterator[ExplainTexts]:
    """Units by model, in the order of the sentences' tables.

    Args:
        models: by their names, which are the groups.
        sentences: tables with the columns of ``SENTENCES``, each of which is a unit of work.
        config: the method.
        seed: of what it draws.
        explained: the class whose output is explained: that which is predicted, or the gold one where there is one.
    """
    library = {"captum": importlib.metadata.version("captum")} if config.method in _SAMPLING else {}
    for name, model in models.items():
        for number, ref in enumerate(sentences):
            yield ExplainTexts(
                label=f"{name} on sentences {number}",
                group=name,
                name=name,
                model=model,
                sentences=[ref.select(*SENTENCES.names)],
                attribution=config,
                seed=seed,
                target=explained,
                library=library,
            )


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
