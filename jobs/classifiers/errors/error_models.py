"""The forest of errors and what it is held against, split by split."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.classifiers.errors.config import ErrorCharacterisationRun
from tiltmeter.jobs.classifiers.errors.feature_columns import FULL, PUBLISHED, READABLE, WITH_CLASS, columns_of
from tiltmeter.jobs.classifiers.errors.material import Material, Refs, material_of
from tiltmeter.operators.classifiers.errors import forest as error_forest
from tiltmeter.operators.classifiers.errors import ranking, splits, uncertainty, word_model
from tiltmeter.operators.classifiers.errors.forest import (
    Forest,
    correlated_parts,
    permutation_importance,
    train_forest,
)
from tiltmeter.operators.classifiers.errors.ranking import aurc, auroc, first_weights, risk_coverage
from tiltmeter.operators.classifiers.errors.splits import balanced_rows, is_tested
from tiltmeter.operators.classifiers.errors.uncertainty import UNCERTAINTIES, class_rates, rated
from tiltmeter.operators.classifiers.errors.word_model import disagreement, train_word_model
from tiltmeter.operators.compute.arrays import BoolArray, FloatArray, IntArray
from tiltmeter.operators.compute.generators import keyed_generator
from tiltmeter.operators.compute.philox import Stream
from tiltmeter.operators.statistics.means import share_of_counts
from tiltmeter.operators.statistics.units import Units, kish
from tiltmeter.storage.store.ledger import Store, TableRef, Unit

CLASS, IN_DOMAIN, RANDOM = "predicted_class", "in_domain_disagreement", "random"
BASELINES = (*UNCERTAINTIES, CLASS, IN_DOMAIN, RANDOM)

_PERCENT = np.arange(1, 101)
"""Shares of the texts that are kept, in whole percent: 0.07 times 100 is more than 7."""

_CHANCE = 5
"""What random scores are drawn about; the second number of a key."""


def model_errors(runner: Runner, config: ErrorCharacterisationRun, inputs: Refs) -> list[dict[str, TableRef]]:
    """Tables ``measures``, ``precision``, ``coverage`` and ``features`` of each split."""
    settings = {
        "operators": [module.VERSION for module in (error_forest, ranking, splits, uncertainty, word_model)],
        "forest": config.forest,
        "min_share": config.features.min_share,
        "splits": {"test": config.splits.test, "balance": config.splits.balance},
        "precision": {"sizes": config.precision.sizes},
        "level": config.job.level,
        "seed": config.seed,
    }
    units = [
        Unit("error_models/4", f"split {number}", settings | {"split": number}, inputs)
        for number in range(config.splits.number)
    ]
    done = runner.run_whole(Stage("error models", each(_split), {"texts": units}))["texts"]
    return [dict(unit.tables) for unit in done]


def _split(store: Store, unit: Unit) -> Tables:
    config, material = unit.config, material_of(store, unit)
    rows = _rows(material, config)
    groups = material.column("group")
    tested = is_tested([groups[row] for row in rows], config["splits"]["test"], config["seed"], 100 + config["split"])
    inside, outside = rows[~tested], rows[tested]
    scores, forest, columns = _scores(material, inside, outside, config)
    errors, units = material.errors[outside], material.units.part(outside)
    yield "measures", _measures(scores, errors, units, config["split"])
    yield "precision", _precision(scores, errors, units, config)
    yield "coverage", _coverage(scores, errors, config["split"])
    yield "features", _features(material, forest, columns, outside, config)


def _rows(material: Material, config: Mapping[str, Any]) -> IntArray:
    if not config["splits"]["balance"]:
        return np.arange(len(material.errors))
    return balanced_rows(material.errors, config["seed"], config["split"])


def _scores(
    material: Material, inside: IntArray, outside: IntArray, config: Mapping[str, Any]
) -> tuple[dict[str, FloatArray], Forest, list[int]]:
    """Of the test texts, by what each ranks; the forest of readable features; and their columns.

    The leaf size that suits readable features is taken for the forests that see the prediction as well.
    """
    everywhere = material.column("group")
    groups = [everywhere[row] for row in inside]
    forests, scores = dict[str, Forest](), dict[str, FloatArray]()
    settings = config["forest"]
    for kind in (PUBLISHED, READABLE, WITH_CLASS, *([FULL] if material.classes else [])):
        columns = columns_of(material, kind, config["min_share"])
        if not columns.shape[1]:
            continue
        forests[kind] = train_forest(
            columns[inside], material.errors[inside], groups, settings, config["seed"], config["split"]
        )
        scores[kind] = forests[kind].scores(columns[outside])
        if kind == READABLE:
            settings = replace(settings, leaf_sizes=(forests[kind].leaf_size,))
    if material.probabilities is not None:
        scores |= {name: measure(material.probabilities[outside]) for name, measure in UNCERTAINTIES.items()}
    scores[CLASS] = _by_class(material, inside, outside)
    labels = material.column("label")
    if len({labels[row] for row in inside}) > 1:  # which a model of words has to tell apart
        scores[IN_DOMAIN] = _by_words(material, inside, outside)
    chance = keyed_generator(config["seed"], Stream.ERROR_CHARACTERISATION, _CHANCE, config["split"])
    scores[RANDOM] = chance.random(len(outside))
    return scores, forests[READABLE], material.frequent(config["min_share"])


def _by_class(material: Material, inside: IntArray, outside: IntArray) -> FloatArray:
    """The error rate that the predicted class has among the training texts."""
    rates = class_rates([material.predicted[row] for row in inside], material.errors[inside])
    return rated([material.predicted[row] for row in outside], rates)


def _by_words(material: Material, inside: IntArray, outside: IntArray) -> FloatArray:
    """How far a model of words, of the training texts' labels, is from the prediction."""
    texts, labels = material.column("text"), material.column("label")
    judge = train_word_model([texts[row] for row in inside], [labels[row] for row in inside])
    guesses = judge.probabilities([texts[row] for row in outside], material.all_classes)
    return disagreement(guesses, [material.predicted[row] for row in outside], material.all_classes)


def _measures(scores: Mapping[str, FloatArray], errors: BoolArray, units: Units, split: int) -> pa.Table:
    measures = {"auroc": auroc, "aurc": aurc, "error_rate": _error_rate}
    num = {"auroc": units_of_both(errors, units)}
    rows = [
        {"score": name, "split": split, "measure": measure, "value": function(values, errors)}
        | {"num_units": float(num.get(measure, units.num))}
        for name, values in scores.items()
        for measure, function in measures.items()
    ]
    return pa.Table.from_pylist(rows)


def units_of_both(errors: BoolArray, units: Units) -> int:
    """Units with an error, or with a text that is none, whichever are fewer: an AUROC is of pairs of both."""
    return min(units.part(errors).num, units.part(~errors).num)


def _error_rate(_: FloatArray, errors: BoolArray) -> float:
    return float(errors.mean())


def _precision(
    scores: Mapping[str, FloatArray], errors: BoolArray, units: Units, config: Mapping[str, Any]
) -> pa.Table:
    """P@K of a split, with the interval of the groups that the first K are of."""
    sizes, split = [size for size in config["precision"]["sizes"] if size <= len(errors)], config["split"]
    rows = []
    for name, values in scores.items():
        for size in sizes:
            weights = first_weights(values, size)
            parts = units.sums(weights * errors), units.sums(weights)
            precision = share_of_counts(*parts, level=config["level"], kind=units.kind)
            about = {"score": name, "split": split, "k": size, "num_units": min(kish(parts[1]), float(size))}
            rows.append(about | {"precision": precision.value, "low": precision.low, "high": precision.high})
    return pa.Table.from_pylist(rows)


def _coverage(scores: Mapping[str, FloatArray], errors: BoolArray, split: int) -> pa.Table:
    places = -(-_PERCENT * len(errors) // 100) - 1
    rows = [
        {"score": name, "split": split, "coverage": coverage, "risk": risk}
        for name, values in scores.items()
        for coverage, risk in zip(
            (_PERCENT / 100).tolist(), risk_coverage(values, errors)[places].tolist(), strict=True
        )
    ]
    return pa.Table.from_pylist(rows)


def _features(
    material: Material, forest: Forest, columns: list[int], outside: IntArray, config: Mapping[str, Any]
) -> pa.Table:
    """Of each feature that the forest sees: AUROC alone, and how much the forest's falls without it."""
    values, errors, units = material.values[:, columns], material.errors[outside], material.units.part(outside)
    names = [material.names[column] for column in columns]
    parts = correlated_parts(values, names)
    gini = forest.model.feature_importances_
    falls = permutation_importance(forest, values[outside], errors, parts, config["seed"], about=config["split"])
    rows = [
        {
            "feature": names[column],
            "split": config["split"],
            "share": float((values[:, column] != 0).mean()),
            "auroc": auroc(values[outside, column], errors),
            "part": part,
            "importance": float(falls[part].mean()),
            "gini_importance": float(gini[column]),
            "num_units": float(units_of_both(errors, units)),
        }
        for part, members in parts.items()
        for column in members
    ]
    return pa.Table.from_pylist(rows)
