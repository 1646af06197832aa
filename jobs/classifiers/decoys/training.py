"""Models that are trained with each decoy, and without one."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.jobs.classifiers.decoys.config import BenchmarkSources, DecoyBenchmarkRun
from tiltmeter.jobs.classifiers.networks import Encoders
from tiltmeter.jobs.classifiers.training import TextTraining
from tiltmeter.jobs.runtime.resources import uses_gpus
from tiltmeter.storage.store.ledger import TableRef, Unit

ORIGINAL = ""
"""In place of a decoy's name: the texts as they are."""


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

    Raises:
        UnitsFailed: if no model is left, or none without a decoy, which all others are held against.
    """
    numbers = range(config.models.number)
    lessons = {
        name: [Lesson(f"{name or 'no decoy'}, model {number}", number, ref) for number in numbers]
        for name, ref in texts.items()
    }
    models = train_with(runner, config, sources, "train", lessons)
    if ORIGINAL not in models:
        runner.check()
    return models


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
    done = runner.run_whole(Stage(stage, TextTraining(encoders), units, on_gpu=on_gpu))
    return {group: [unit.tables["model"] for unit in finished] for group, finished in done.items()}
