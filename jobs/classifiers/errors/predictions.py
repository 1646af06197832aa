"""Scores of every text, labelled or not, by models that were trained without it, and the table that has them."""

import numpy as np
import polars as pl
import pyarrow as pa

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.classifiers.errors.config import ErrorCharacterisationRun
from tiltmeter.jobs.classifiers.errors.feature_columns import FULL, column_names, columns_named
from tiltmeter.jobs.classifiers.errors.material import Material, Refs, material_of, told_material
from tiltmeter.jobs.classifiers.errors.promises.trees import scored
from tiltmeter.jobs.classifiers.errors.tables import PREDICTIONS
from tiltmeter.jobs.runtime.rows import failed, table_of
from tiltmeter.operators.classifiers.errors import forest as error_forest
from tiltmeter.operators.classifiers.errors import label_errors, trees, word_model
from tiltmeter.operators.classifiers.errors.forest import folds_of_others, forest_without
from tiltmeter.operators.classifiers.errors.label_errors import suspected
from tiltmeter.operators.classifiers.errors.trees import trees_of
from tiltmeter.operators.classifiers.errors.uncertainty import UNCERTAINTIES
from tiltmeter.operators.classifiers.errors.word_model import (
    disagreement,
    out_of_fold_probabilities,
    train_word_model,
)
from tiltmeter.storage.store.ledger import Store, TableRef, Unit


def judge_texts(runner: Runner, config: ErrorCharacterisationRun, inputs: Refs) -> TableRef:
    """The table ``predictions``."""
    settings = {"forest": config.forest, "min_share": config.features.min_share, "seed": config.seed}
    folds = [
        Unit(
            "error_scores/2",
            f"fold {fold}",
            settings | {"operators": [error_forest.VERSION, trees.VERSION], "fold": fold},
            inputs,
        )
        for fold in range(config.forest.num_folds)
    ]
    scored = runner.run_whole(Stage("error scores", each(_score), {"texts": folds}))["texts"]
    judging = {
        "operators": [word_model.VERSION, label_errors.VERSION],
        "num_folds": config.forest.num_folds,
        "seed": config.seed,
    }
    unit = Unit("judged_texts/2", "texts", judging, {**inputs, "scores": [part.tables["scores"] for part in scored]})
    return runner.run_whole(Stage("judge texts", each(_judge), {"texts": [unit]}))["texts"][0].tables["predictions"]


def tell_predictions(runner: Runner, inputs: Refs, reason: str) -> TableRef:
    """The table ``predictions`` where nothing tells errors from others: what was predicted, and why that is all."""
    unit = Unit("told_texts/1", "texts", {"reason": reason}, inputs)
    return runner.run_whole(Stage("judge texts", each(_tell), {"texts": [unit]}))["texts"][0].tables["predictions"]


def _tell(store: Store, unit: Unit) -> Tables:
    material = told_material(store, unit.inputs, ["ok", "no_label"])
    is_error = material.table["predicted"] != material.table["label"]
    guesses = told_of(material).with_columns(is_error=is_error, error_score=None, reasons=None)
    texts, row = store.read(unit.input("texts")), guesses.select("row")
    alike = {number: failed("one_kind", unit.config["reason"]) for number in row["row"]}
    rows = predictions(texts, guesses, pl.DataFrame(schema={"row": row.schema["row"], "error_score": pl.Float64}))
    made = [values | alike.get(values["row"], {}) for values in rows.to_pylist()]
    yield "predictions", table_of(made, PREDICTIONS)


def _score(store: Store, unit: Unit) -> Tables:
    config, material = unit.config, material_of(store, unit)
    unlabelled = told_material(store, unit.inputs, ["no_label"])
    names, groups = column_names(material, FULL, config["min_share"]), material.column("group")
    columns, settings = columns_named(material, names), config["forest"]
    rows, forest = forest_without(columns, material.errors, groups, settings, config["seed"], config["fold"])
    others = folds_of_others(groups, unlabelled.column("group"), settings.num_folds, config["seed"]) == config["fold"]
    numbers = [material.table["row"].to_numpy()[rows], unlabelled.table["row"].to_numpy()[others]]
    values = [columns[rows], columns_named(unlabelled, names)[others]]
    yield "scores", scored(trees_of(forest.model), names, np.concatenate(numbers), np.concatenate(values))


def _judge(store: Store, unit: Unit) -> Tables:
    config, material = unit.config, material_of(store, unit)
    unlabelled = told_material(store, unit.inputs, ["no_label"])
    names, labels = material.all_classes, material.column("label")
    scores = pl.concat([pl.DataFrame(pl.from_arrow(store.read(ref))) for ref in unit.inputs["scores"]])
    rows = store.read(unit.input("texts"))
    if len(set(labels)) == 1:  # which a model of words could tell from no other
        known = [told_of(material).with_columns(is_error=material.errors), told_of(unlabelled)]
        yield "predictions", predictions(rows, pl.concat(known, how="diagonal_relaxed"), scores)
        return
    guesses = out_of_fold_probabilities(
        material.column("text"), labels, material.column("group"), names, config["num_folds"], config["seed"]
    )
    judge = train_word_model(material.column("text"), labels)
    others = judge.probabilities(unlabelled.column("text"), names) if unlabelled.table.height else guesses[:0]
    numbers = np.array([names.index(label) for label in labels], dtype=np.int64)
    made = told_of(material).with_columns(
        is_error=material.errors,
        in_domain_disagreement=disagreement(guesses, material.predicted, names),
        is_label_suspected=suspected(guesses, numbers),
    )
    more = told_of(unlabelled).with_columns(in_domain_disagreement=disagreement(others, unlabelled.predicted, names))
    yield "predictions", predictions(rows, pl.concat([made, more], how="diagonal_relaxed"), scores)


def told_of(material: Material) -> pl.DataFrame:
    """What the model has said of each text, and how unsure it was."""
    guesses, known = material.table.select("row", "predicted", "previous", "probabilities"), material.probabilities
    if known is None:
        return guesses
    return guesses.with_columns(**{name: pl.Series(measure(known)) for name, measure in UNCERTAINTIES.items()})


def predictions(texts: pa.Table, guesses: pl.DataFrame, scores: pl.DataFrame) -> pa.Table:
    """The table ``predictions``: of every row of the file, what is known of it, or why nothing is.

    Args:
        texts: of the schema ``READ``.
        guesses: of the texts of which the model has predicted something.
        scores: their scores with reasons.
    """
    ranked = scores.sort("error_score", "row", descending=[True, False]).with_row_index("rank", offset=1)
    judged = {row["row"]: row for row in guesses.join(ranked, on="row", how="left").to_dicts()}
    missing = failed("no_token", "the model reads no token of the text")
    rows = texts.select(["row", "status", "reason"]).to_pylist()
    return table_of(
        [
            judged[row["row"]] | row if row["row"] in judged else row | (missing if row["status"] == "ok" else {})
            for row in rows
        ],
        PREDICTIONS,
    )
