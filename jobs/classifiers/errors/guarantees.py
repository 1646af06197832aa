"""What flagged texts promise: thresholds of the scores, and how often a promise is broken."""

from collections.abc import Iterator

import numpy as np

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.classifiers.errors.config import ErrorCharacterisationRun, Guarantees
from tiltmeter.jobs.classifiers.errors.error_models import FULL, columns_of
from tiltmeter.jobs.classifiers.errors.material import Refs, material_of
from tiltmeter.jobs.classifiers.errors.tables import GUARANTEES
from tiltmeter.jobs.classifiers.errors.texts import halves
from tiltmeter.jobs.runtime.rows import Row, table_of
from tiltmeter.operators.classifiers.errors import forest as error_forest
from tiltmeter.operators.classifiers.errors import guarantees
from tiltmeter.operators.classifiers.errors.forest import train_forest
from tiltmeter.operators.classifiers.errors.guarantees import broken_share, holds_most_errors, leaves_few_errors
from tiltmeter.operators.compute.arrays import BoolArray, FloatArray
from tiltmeter.storage.store.ledger import Store, TableRef, Unit

_FOREST = 7_000
"""What the draws of its forest are about, beside those of splits and folds."""


def promise(runner: Runner, config: ErrorCharacterisationRun, inputs: Refs) -> TableRef:
    """The table ``guarantees``: of a forest that one half has trained, and thresholds that the other has chosen."""
    settings = {
        "operators": [error_forest.VERSION, guarantees.VERSION],
        "forest": config.forest,
        "min_share": config.features.min_share,
        "guarantees": config.guarantees,
        "seed": config.seed,
    }
    unit = Unit("flagging/1", "guarantees", settings, inputs)
    return runner.run_whole(Stage("guarantees", each(_promise), {"texts": [unit]}))["texts"][0].tables["guarantees"]


def _promise(store: Store, unit: Unit) -> Tables:
    config, material = unit.config, material_of(store, unit)
    calibrating = halves(material.column("group"), config["seed"])
    groups = [group for group, out in zip(material.column("group"), calibrating, strict=True) if not out]
    columns = columns_of(material, FULL, config["min_share"])
    forest = train_forest(
        columns[~calibrating], material.errors[~calibrating], groups, config["forest"], config["seed"], _FOREST
    )
    scores, errors = forest.scores(columns[calibrating]), material.errors[calibrating]
    yield "guarantees", table_of(list(_rows(scores, errors, config["guarantees"], config["seed"])), GUARANTEES)


def _rows(scores: FloatArray, errors: BoolArray, promised: Guarantees, seed: int) -> Iterator[Row]:
    delta = promised.delta
    for name, choose, levels in (
        ("missed", holds_most_errors, promised.missed),
        ("unflagged", leaves_few_errors, promised.unflagged),
    ):
        for level in levels:
            threshold = choose(scores, errors, level, delta)
            yield {
                "promise": name,
                "level": level,
                "delta": delta,
                "threshold": threshold.value if np.isfinite(threshold.value) else None,
                "flagged_share": threshold.flagged_share,
                "missed": threshold.missed,
                "unflagged_rate": threshold.unflagged_rate,
                "broken_share": broken_share(choose, scores, errors, level, delta, promised.num_resplits, seed),
                "num_calibration": len(errors),
            }
