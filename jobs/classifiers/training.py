"""Training classifiers of texts, unit by unit."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from tiltmeter.cluster.work import Tables
from tiltmeter.jobs.classifiers.models import model_table
from tiltmeter.jobs.classifiers.networks import Encoders
from tiltmeter.operators.classifiers.records import Head
from tiltmeter.operators.classifiers.trained import weights_of
from tiltmeter.operators.classifiers.training import Labelled, train
from tiltmeter.operators.text.tokenised import Tokenise
from tiltmeter.storage.store.ledger import Store, Unit

_HEAD = "label"


@dataclass(frozen=True)
class TextTraining:
    """Trains a classifier with the texts of each unit, a table of the schema ``SPLIT``.

    Attributes:
        encoders: what makes networks.
    """

    encoders: Encoders

    def __call__(self, store: Store, units: Sequence[Unit]) -> Iterator[tuple[Unit, Tables]]:
        for unit in units:
            yield unit, [("model", self._trained(store.read(unit.input("texts")).to_pylist(), unit.config))]

    def _trained(self, rows: Sequence[Mapping[str, Any]], config: Mapping[str, Any]) -> pa.Table:
        training, development = ([row for row in rows if row["part"] == part] for part in ("training", "development"))
        heads = {_HEAD: Head(tuple(sorted({row["label"] for row in training})))}
        made = self.encoders.made([row["text"] for row in training], heads, config["seed"])
        parts = [_labelled(part, made.tokenise, heads[_HEAD]) for part in (training, development)]
        history = train(made.network, heads, parts[0], parts[1], self.encoders.models.training, config["seed"])
        return model_table(made.described(tuple(history)), weights_of(made.network))


def _labelled(rows: Sequence[Mapping[str, Any]], read: Tokenise, head: Head) -> Labelled:
    numbers = {label: number for number, label in enumerate(head.classes)}
    labels = np.array([numbers[row["label"]] for row in rows], dtype=np.int64)
    return Labelled(read([row["text"] for row in rows]), {_HEAD: labels})
