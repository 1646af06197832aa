"""Texts that an earlier run's forest scores and its thresholds flag."""

from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.classifiers.errors.feature_columns import columns_named, probability_classes
from tiltmeter.jobs.classifiers.errors.material import Refs, told_material
from tiltmeter.jobs.classifiers.errors.predictions import predictions, told_of
from tiltmeter.jobs.classifiers.errors.promises.guarantees import flags, threshold_of
from tiltmeter.jobs.classifiers.errors.promises.trees import forest_of, scored
from tiltmeter.jobs.classifiers.errors.tables import CHECKS, ERROR_FOREST, GUARANTEES
from tiltmeter.jobs.runtime.files import Files
from tiltmeter.jobs.runtime.rows import OK, Row, failed, table_of
from tiltmeter.operators.classifiers.errors import trees
from tiltmeter.operators.classifiers.errors.guarantees import MISSED, flagged
from tiltmeter.operators.compute.arrays import BoolArray, FloatArray
from tiltmeter.operators.statistics.designs import thresholds
from tiltmeter.operators.statistics.designs.thresholds import Promise, exchangeable_p, one_per_unit
from tiltmeter.operators.statistics.units import Units
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.records import read_records
from tiltmeter.storage.store.ledger import Store, TableRef, Unit


def score_texts(runner: Runner, earlier: Files, inputs: Refs, seed: int) -> dict[str, Sequence[TableRef]]:
    """Tables ``predictions``, ``flags`` and ``checks`` of texts by an earlier run.

    Args:
        earlier: its tables ``error_forest`` and ``guarantees``.
        inputs: as for a material.
        seed: of the draw of an error of each group.
    """
    files = {name: file.identity for name, file in earlier.files.items()}
    settings = {"operators": [thresholds.VERSION, trees.VERSION], "files": files, "seed": seed}
    unit = Unit("scored_texts/1", "texts", settings, inputs)
    [done] = runner.run_whole(Stage("score texts", each(_score), {"texts": [unit]}))["texts"]
    return {name: [ref] for name, ref in done.tables.items()}


def _score(store: Store, unit: Unit) -> Tables:
    files, material = unit.config["files"], told_material(store, unit.inputs, ["ok", "no_label"])
    if material.table.is_empty():
        raise InputError("data.path: no row has a text and a prediction")
    made, names = forest_of(read_records(files["error_forest"]["uri"], ERROR_FOREST.names))
    if missing := sorted({*probability_classes(names)} - {*material.classes}):
        raise InputError(
            f"base.path: its model has no class {', '.join(missing)}, which the forest of data.scored_by looks at; "
            "name the file that the earlier run had"
        )
    rows = material.table["row"].to_numpy()
    scores = scored(made, names, rows, columns_named(material, names))
    is_error = material.table["predicted"] != material.table["label"]
    guesses = told_of(material).with_columns(is_error=is_error)
    yield "predictions", predictions(store.read(unit.input("texts")), guesses, pl.DataFrame(pl.from_arrow(scores)))
    values = scores["error_score"].to_numpy()
    promised = read_records(files["guarantees"]["uri"], GUARANTEES.names).to_dicts()
    yield "flags", flags(rows, values, promised)
    wrong, known = is_error.fill_null(value=False).to_numpy(), is_error.is_not_null().to_numpy()
    checks = _checks(values, wrong, known, material.units, promised, unit.config["seed"])
    yield "checks", table_of(list(checks), CHECKS)


def _checks(
    scores: FloatArray, wrong: BoolArray, known: BoolArray, units: Units, promised: Sequence[Row], seed: int
) -> Iterator[Row]:
    """What becomes of each promise on these texts, as far as labels tell.

    Args:
        wrong, known: ``[texts]``, whether each is an error, and whether it has a label.
    """
    rows = np.flatnonzero(wrong)
    drawn = rows[one_per_unit(units.part(rows), seed=seed, about=MISSED)] if rows.size else rows
    for promise in promised:
        threshold = threshold_of(promise)
        of_all, of_known = flagged(threshold, scores, wrong), flagged(threshold, scores[known], wrong[known])
        made = Promise(threshold, _allowed(promise), promise["num_errors"] or 0, promise["achieved_delta"] or 0.0)
        p = exchangeable_p(made, scores[drawn]) if drawn.size and made.allowed >= 0 else np.nan
        yield {
            "promise": promise["promise"],
            "level": promise["level"],
            "threshold": threshold,
            "flags": promise["flags"],
            "flagged_share": of_all.share,
            "num_errors": drawn.size,
            "missed": float((scores[drawn] < threshold).mean()) if drawn.size else np.nan,
            "unflagged_rate": of_known.unflagged_rate if known.any() else np.nan,
            "exchangeable_p": p,
        } | (OK if drawn.size else failed("no_error", "no text with a label is an error, by which a promise is judged"))


def _allowed(promise: Row) -> int:
    """Errors below the threshold that chose it; -1 where it promises nothing of errors that are missed."""
    return int(promise["allowed"]) if promise["promise"] == "missed" and promise["flags"] == "some" else -1
