"""Scores of every text by models that were trained without it, and the table of predictions with them."""

import numpy as np
import polars as pl
import pyarrow as pa

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.classifiers.errors.config import ErrorCharacterisationRun
from tiltmeter.jobs.classifiers.errors.error_models import FULL, columns_of
from tiltmeter.jobs.classifiers.errors.material import Refs, material_of
from tiltmeter.jobs.classifiers.errors.tables import PREDICTIONS
from tiltmeter.jobs.runtime.rows import OK, failed, table_of
from tiltmeter.operators.classifiers.errors import forest as error_forest
from tiltmeter.operators.classifiers.errors import label_errors, word_model
from tiltmeter.operators.classifiers.errors.forest import out_of_fold_scores
from tiltmeter.operators.classifiers.errors.label_errors import suspected
from tiltmeter.operators.classifiers.errors.uncertainty import UNCERTAINTIES
from tiltmeter.operators.classifiers.errors.word_model import disagreement, out_of_fold_probabilities
from tiltmeter.storage.store.ledger import Store, TableRef, Unit


def judge_texts(runner: Runner, config: ErrorCharacterisationRun, inputs: Refs) -> TableRef:
    """The table ``predictions``."""
    settings = {"forest": config.forest, "min_share": config.features.min_share, "seed": config.seed}
    folds = [
        Unit("error_scores/1", f"fold {fold}", settings | {"operator": error_forest.VERSION, "fold": fold}, inputs)
        for fold in range(config.forest.num_folds)
    ]
    scored = runner.run_whole(Stage("error scores", each(_score), {"texts": folds}))["texts"]
    judging = {
        "operators": [word_model.VERSION, label_errors.VERSION],
        "num_folds": config.forest.num_folds,
        "seed": config.seed,
    }
    unit = Unit("judged_texts/1", "texts", judging, {**inputs, "scores": [part.tables["scores"] for part in scored]})
    return runner.run_whole(Stage("judge texts", each(_judge), {"texts": [unit]}))["texts"][0].tables["predictions"]


def _score(store: Store, unit: Unit) -> Tables:
    config, material = unit.config, material_of(store, unit)
    columns = columns_of(material, FULL, config["min_share"])
    groups = material.column("group")
    rows, scores = out_of_fold_scores(
        columns, material.errors, groups, config["forest"], config["seed"], config["fold"]
    )
    yield "scores", pa.table({"row": material.table["row"].to_numpy()[rows], "error_score": scores})


def _judge(store: Store, unit: Unit) -> Tables:
    config, material = unit.config, material_of(store, unit)
    names, labels = material.all_classes, material.column("label")
    guesses = out_of_fold_probabilities(
        material.column("text"), labels, material.column("group"), names, config["num_folds"], config["seed"]
    )
    numbers = np.array([names.index(label) for label in labels], dtype=np.int64)
    known = (
        {name: measure(material.probabilities) for name, measure in UNCERTAINTIES.items()}
        if material.probabilities is not None
        else {}
    )
    made = material.table.select("row", "predicted", "previous", "probabilities").with_columns(
        is_error=material.errors,
        in_domain_disagreement=disagreement(guesses, material.predicted, names),
        is_label_suspected=suspected(guesses, numbers),
        **{name: pl.Series(values) for name, values in known.items()},
    )
    scores = pl.concat([pl.DataFrame(pl.from_arrow(store.read(ref))) for ref in unit.inputs["scores"]])
    judged = {row["row"]: row | OK for row in made.join(scores, on="row", how="left").to_dicts()}
    rows = store.read(unit.input("texts")).select(["row", "status", "reason"]).to_pylist()
    missing = failed("no_token", "the model reads no token of the text")
    yield (
        "predictions",
        table_of(
            [judged.get(row["row"], row if row["status"] != "ok" else row | missing) for row in rows], PREDICTIONS
        ),
    )
