"""What flagged texts promise: a forest, thresholds of its scores, and the texts that they flag."""

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.classifiers.errors.config import ErrorCharacterisationRun, Guarantees
from tiltmeter.jobs.classifiers.errors.feature_columns import FULL, column_names, columns_named
from tiltmeter.jobs.classifiers.errors.material import Refs, material_of, told_material
from tiltmeter.jobs.classifiers.errors.promises.trees import forest_table
from tiltmeter.jobs.classifiers.errors.tables import FLAGS, GUARANTEES
from tiltmeter.jobs.classifiers.errors.texts import halves
from tiltmeter.jobs.runtime.rows import OK, Row, failed, table_of
from tiltmeter.operators.classifiers.errors import forest as error_forest
from tiltmeter.operators.classifiers.errors import guarantees, trees
from tiltmeter.operators.classifiers.errors.forest import train_forest
from tiltmeter.operators.classifiers.errors.guarantees import (
    flagged,
    holds_most_errors,
    leaves_few_errors,
    most_unflagged,
)
from tiltmeter.operators.classifiers.errors.splits import is_tested
from tiltmeter.operators.classifiers.errors.trees import trees_of
from tiltmeter.operators.compute.arrays import BoolArray, FloatArray, IntArray
from tiltmeter.operators.statistics.designs import thresholds
from tiltmeter.operators.statistics.designs.thresholds import errors_needed
from tiltmeter.operators.statistics.units import TooFew, Units
from tiltmeter.storage.store.ledger import Store, TableRef, Unit

_FOREST = 7_000
"""What the draws of its forest are about, beside those of splits and folds."""
_JUDGING = 4
"""What the third that bounds an error rate is drawn about, beside other splits."""
_THIRD = 1 / 3


def promise(runner: Runner, config: ErrorCharacterisationRun, inputs: Refs) -> dict[str, Sequence[TableRef]]:
    """Tables ``guarantees``, ``error_forest``, which one half has trained, and ``flags`` of all other texts."""
    settings = {
        "operators": [module.VERSION for module in (error_forest, guarantees, thresholds, trees)],
        "forest": config.forest,
        "min_share": config.features.min_share,
        "guarantees": config.guarantees,
        "seed": config.seed,
    }
    unit = Unit("flagging/2", "guarantees", settings, inputs)
    [done] = runner.run_whole(Stage("guarantees", each(_promise), {"texts": [unit]}))["texts"]
    return {name: [ref] for name, ref in done.tables.items()}


def _promise(store: Store, unit: Unit) -> Tables:
    config, material = unit.config, material_of(store, unit)
    unlabelled = told_material(store, unit.inputs, ["no_label"])
    groups, seed = material.column("group"), config["seed"]
    calibrating = halves(groups, seed)
    training = [group for group, out in zip(groups, calibrating, strict=True) if not out]
    names = column_names(material, FULL, config["min_share"])
    columns = columns_named(material, names)
    forest = train_forest(
        columns[~calibrating], material.errors[~calibrating], training, config["forest"], seed, _FOREST
    )
    made = trees_of(forest.model)
    scores, errors = made.judged(columns[calibrating])[0], material.errors[calibrating]
    units = material.units.part(calibrating)
    rows = list(promises(scores, errors, units, config["guarantees"], seed))
    yield "guarantees", table_of(rows, GUARANTEES)
    yield "error_forest", forest_table(made, names)
    fresh = np.array([group not in {*training} for group in unlabelled.column("group")], dtype=np.bool_)
    others = made.judged(columns_named(unlabelled, names)[fresh])[0]
    numbers = [material.table["row"].to_numpy()[calibrating], unlabelled.table["row"].to_numpy()[fresh]]
    yield "flags", flags(np.concatenate(numbers), np.concatenate([scores, others]), rows)


def promises(scores: FloatArray, errors: BoolArray, units: Units, promised: Guarantees, seed: int) -> Iterator[Row]:
    """Of texts that the scores were not trained with: two thirds choose for an error rate, and one third bounds it."""
    delta, joint = promised.delta, promised.num_joint
    about = {"delta": delta, "num_joint": joint}
    for alpha in promised.missed:
        made = holds_most_errors(scores, errors, units, alpha=alpha, delta=delta, joint=joint, seed=seed)
        too_few = TooFew(made.num, errors_needed(alpha, delta, joint), f"{units.kind} with an error")
        status = OK if made.allowed >= 0 else failed("too_few_units", f"all are flagged: {too_few.reason}")
        counts = {"num_errors": made.num, "allowed": max(made.allowed, 0), "achieved_delta": made.achieved_delta}
        yield _row("missed", alpha, made.threshold, scores, errors) | about | counts | status
    judging = _third(units, seed)
    part, rest = (scores[~judging], errors[~judging]), (scores[judging], errors[judging])
    for rate in promised.unflagged:
        value = leaves_few_errors(*part, units.part(~judging), rate=rate, delta=delta, joint=joint, seed=seed)
        most = most_unflagged(value, *rest, units.part(judging), level=1.0 - delta / joint, seed=seed)
        reason = f"all are flagged: below no threshold do {int((~judging).sum()):,} texts show so few errors"
        status = OK if value > -np.inf else failed("nothing_shown", reason)
        yield _row("unflagged", rate, value, *part) | about | {"unflagged_most": most} | status


def _third(units: Units, seed: int) -> BoolArray:
    names = [str(code) for code in units.codes.tolist()]
    return is_tested(names, _THIRD, seed, _JUDGING)


def _row(name: str, level: float, threshold: float, scores: FloatArray, errors: BoolArray) -> Row:
    made = flagged(threshold, scores, errors)
    return {
        "promise": name,
        "level": level,
        "flags": made.flags,
        "threshold": threshold,
        "flagged_share": made.share,
        "missed": made.missed,
        "unflagged_rate": made.unflagged_rate,
        "num_calibration": len(errors),
    }


def flags(rows: IntArray, scores: FloatArray, promised: Sequence[Row]) -> pa.Table:
    """The table ``flags``: each text by each promise.

    Args:
        rows, scores: of the texts.
        promised: rows of ``guarantees``.
    """
    made = []
    for row in promised:
        about = {name: pa.repeat(row[name], len(rows)) for name in ("promise", "level")}
        part = {"row": pa.array(rows), "score": pa.array(scores), "is_flagged": pa.array(scores >= threshold_of(row))}
        made.append(pa.table([(about | part)[field.name] for field in FLAGS], FLAGS))
    return pa.concat_tables(made) if made else FLAGS.empty_table()


def threshold_of(row: Row) -> float:
    """Of a row of ``guarantees``, which as a table holds no infinite numbers."""
    ends = {"all": -np.inf, "none": np.inf}
    return ends[row["flags"]] if row["flags"] in ends else float(row["threshold"])
