"""Models that are trained with each decoy, and without one."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables
from tiltmeter.jobs.classifiers.decoys.config import BenchmarkSources, DecoyBenchmarkRun
from tiltmeter.jobs.classifiers.models import model_table
from tiltmeter.jobs.classifiers.networks import Encoders
from tiltmeter.jobs.runtime.resources import uses_gpus
from tiltmeter.operators.classifiers.records import Head
from tiltmeter.operators.classifiers.trained import weights_of
from tiltmeter.operators.classifiers.training import Labelled, train
from tiltmeter.operators.text.tokenised import Tokenise
from tiltmeter.storage.store.ledger import Store, TableRef, Unit

ORIGINAL = ""
"""In place of a decoy's name: the texts as they are."""

_HEAD = "label"


class Lesson(NamedTuple):
    """What a model is trained with.

    Attributes:
        name: of the unit.
        number: of the model, which decides its random numbers.
        texts: of the schema ``SPLIT``.
    """

    name: str
    number: int
    texts: TableRef


def train_models(
    runner: Runner, config: DecoyBenchmarkRun, sources: BenchmarkSources, texts: Mapping[str, TableRef]
) -> dict[str, list[TableRef]]:
    """Tables of models (see :func:`.models.model_table`), as many of each data set as are asked for.

    Args:
        texts: by decoy, of the schema ``SPLIT``; those without one are ``ORIGINAL``.
    """
    numbers = range(config.models.number)
    lessons = {
        name: [Lesson(f"{name or 'no decoy'}, model {number}", number, ref) for number in numbers]
        for name, ref in texts.items()
    }
    return train_with(runner, config, sources, "train", lessons)


def train_with(
    runner: Runner,
    config: DecoyBenchmarkRun,
    sources: BenchmarkSources,
    stage: str,
    lessons: Mapping[str, Sequence[Lesson]],
) -> dict[str, list[TableRef]]:
    """Tables of models, one for each lesson, in the groups of the lessons.

    Args:
        stage: its name.
    """
    on_gpu = uses_gpus(config.models.device, runner.pool.num_gpus, "models.device")
    encoders = Encoders(config.models, sources.encoder, on_gpu)
    units = {
        group: [
            Unit("decoy_model/1", name, {"seed": config.seed + number, **encoders.identity}, {"texts": [ref]})
            for name, number, ref in parts
        ]
        for group, parts in lessons.items()
    }
    done = runner.run_whole(Stage(stage, _Training(encoders), units, on_gpu=on_gpu))
    return {group: [unit.tables["model"] for unit in finished] for group, finished in done.items()}


@dataclass(frozen=True)
class _Training:
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
