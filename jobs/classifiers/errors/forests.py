"""Scores of texts by forests that did not see them, and what thresholds of such a score promise of flagged texts.

A forest is kept as a table, so that a later run scores and flags other texts by it.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from tiltmeter.cluster.work import Tables
from tiltmeter.jobs.classifiers.errors.config import Promises
from tiltmeter.jobs.classifiers.errors.features import DataSet, read_frame
from tiltmeter.jobs.classifiers.errors.tables import Checks, ErrorForest, Flags, Guarantees, Predictions
from tiltmeter.jobs.classifiers.errors.texts import SCORED, OfTexts, halves
from tiltmeter.jobs.runtime.table import tables_of
from tiltmeter.operators.classifiers.errors import forest as error_forest
from tiltmeter.operators.classifiers.errors import guarantees, label_errors, trees, word_model
from tiltmeter.operators.classifiers.errors.examples import FULL, probability_classes
from tiltmeter.operators.classifiers.errors.forest import ForestConfig, folds_of_others, forest_without, train_forest
from tiltmeter.operators.classifiers.errors.guarantees import holds_most_errors, leaves_few_errors, most_unflagged
from tiltmeter.operators.classifiers.errors.label_errors import suspected
from tiltmeter.operators.classifiers.errors.splits import is_tested
from tiltmeter.operators.classifiers.errors.trees import LEAF, Trees, forest_of, trees_of
from tiltmeter.operators.classifiers.errors.word_model import disagreement, out_of_fold_probabilities, train_word_model
from tiltmeter.operators.compute.arrays import BoolArray, FloatArray, IntArray
from tiltmeter.operators.statistics.designs import thresholds
from tiltmeter.operators.statistics.designs.thresholds import Promise, errors_needed, exchangeable_p, one_per_unit
from tiltmeter.operators.statistics.units import TooFew, Units
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.records import read_records
from tiltmeter.storage.store.ledger import Store, TableRef

_OF_PROMISES = tuple(one.VERSION for one in (error_forest, guarantees, thresholds, trees))
_FOREST = 7_000
"""What the draws of the kept forest are about, beside those of splits and folds."""
_JUDGING = 4
"""What the third that bounds an error rate is drawn about, beside other splits."""
_THIRD = 1 / 3


class ScoreFold(OfTexts, unit="error_scores/2", stage="error scores"):
    """Scores of the texts of a fold, labelled or not, by a forest of the other folds."""

    data: DataSet
    forest: ForestConfig
    min_share: float
    seed: int
    fold: int
    operators: Sequence[str] = (error_forest.VERSION, trees.VERSION)

    def tables(self, store: Store) -> Tables:
        """The table ``scores``."""
        data, unlabelled = self.data.load(store), self.data.load(store, "no_label")
        names, groups = data.column_names(FULL, self.min_share), data.column("group")
        columns, settings = data.columns(names), self.forest
        rows, forest = forest_without(columns, data.errors, groups, settings, self.seed, self.fold)
        others = folds_of_others(groups, unlabelled.column("group"), settings.num_folds, self.seed) == self.fold
        numbers = np.concatenate([data.rows[rows], unlabelled.rows[others]])
        values = np.concatenate([columns[rows], unlabelled.columns(names)[others]])
        yield "scores", scored(trees_of(forest.model), names, numbers, values)


class JudgeTexts(OfTexts, unit="judged_texts/2", stage="judge texts", makes=[Predictions]):
    """Ranks by these scores, and what a model of words says of each text that did not learn it."""

    data: DataSet
    scores: Sequence[TableRef]
    num_folds: int
    seed: int
    operators: Sequence[str] = (word_model.VERSION, label_errors.VERSION)

    def rows(self, store: Store) -> Iterator[Predictions]:
        """One for each text."""
        data, unlabelled = self.data.load(store), self.data.load(store, "no_label")
        names, labels = data.all_classes, data.column("label")
        made, more = data.guesses().with_columns(is_error=data.errors), unlabelled.guesses()
        if len(set(labels)) > 1:  # which a model of words could tell from another
            guesses = out_of_fold_probabilities(
                data.column("text"), labels, data.column("group"), names, self.num_folds, self.seed
            )
            judge = train_word_model(data.column("text"), labels)
            others = judge.probabilities(unlabelled.column("text"), names) if unlabelled.table.height else guesses[:0]
            numbers = np.array([names.index(label) for label in labels], dtype=np.int64)
            made = made.with_columns(
                in_domain_disagreement=disagreement(guesses, data.predicted, names),
                is_label_suspected=suspected(guesses, numbers),
            )
            more = more.with_columns(in_domain_disagreement=disagreement(others, unlabelled.predicted, names))
        known = pl.concat([made, more], how="diagonal_relaxed")
        return predictions(store, self.data.texts, known, read_frame(store, self.scores))


class ListTexts(OfTexts, unit="told_texts/1", stage="judge texts", makes=[Predictions]):
    """What was predicted where nothing tells errors from others, and why that is all."""

    data: DataSet
    reason: str

    def rows(self, store: Store) -> Iterator[Predictions]:
        """One for each text."""
        data = self.data.load(store, *SCORED)
        guesses = data.guesses().with_columns(is_error=data.table["predicted"] != data.table["label"])
        for row in predictions(store, self.data.texts, guesses):
            yield row if row.predicted is None else row.fail("one_kind", self.reason)


def predictions(
    store: Store, texts: TableRef, guesses: pl.DataFrame, scores: pl.DataFrame | None = None
) -> Iterator[Predictions]:
    """Of every row of the file, what is known of it, or why nothing is.

    Args:
        guesses: of the texts of which the model has predicted something.
        scores: their scores with reasons.
    """
    if scores is not None:
        ranked = scores.sort("error_score", "row", descending=[True, False]).with_row_index("rank", offset=1)
        guesses = guesses.join(ranked, on="row", how="left")
    known = {row["row"]: row for row in guesses.to_dicts()}
    for row in store.read(texts).select(["row", "status", "reason"]).to_pylist():
        made = Predictions(**known.get(row["row"], {}) | row)
        is_unread = row["status"] == "ok" and row["row"] not in known
        yield made.fail("no_token", "the model reads no token of the text") if is_unread else made


# --- forests as tables ------------------------------------------------------------------------------------------------


def forest_table(forest: Trees, names: Sequence[str]) -> pa.Table:
    """The table ``error_forest``.

    Args:
        names: of the columns that the trees look at.
    """
    features = [None if column == LEAF else names[column] for column in forest.feature.tolist()]
    columns = forest._asdict() | {"feature": features, "node": np.arange(len(features))}
    schema = ErrorForest.schema()
    return pa.table([pa.array(columns[field.name], field.type) for field in schema], schema)


def scored(forest: Trees, names: Sequence[str], rows: IntArray, values: FloatArray) -> pa.Table:
    """Scores of texts with their reasons.

    Args:
        names: of the columns.
        rows: ``[texts]``, their numbers.
        values: ``[texts, columns]``.
    """
    scores, why = forest.explained(names, values)
    return pa.table({"row": rows, "error_score": scores, "reasons": pa.array(why, pa.list_(pa.string()))})


# --- what flagged texts promise ---------------------------------------------------------------------------------------


class FlagTexts(OfTexts, unit="flagging/2", stage="guarantees", makes=[Guarantees, ErrorForest, Flags]):
    """A forest of one half of the texts, thresholds of its scores by the other, and the texts that they flag."""

    data: DataSet
    forest: ForestConfig
    min_share: float
    guarantees: Promises
    seed: int
    operators: Sequence[str] = _OF_PROMISES

    def tables(self, store: Store) -> Tables:
        """All three."""
        data, unlabelled = self.data.load(store), self.data.load(store, "no_label")
        groups, seed = data.column("group"), self.seed
        calibrating = halves(groups, seed)
        training = [group for group, out in zip(groups, calibrating, strict=True) if not out]
        names = data.column_names(FULL, self.min_share)
        columns = data.columns(names)
        forest = train_forest(columns[~calibrating], data.errors[~calibrating], training, self.forest, seed, _FOREST)
        made = trees_of(forest.model)
        scores, errors = made.judged(columns[calibrating])[0], data.errors[calibrating]
        rows = list(promises(scores, errors, data.units.part(calibrating), self.guarantees, seed))
        yield from tables_of(rows, [Guarantees])
        yield "error_forest", forest_table(made, names)
        fresh = np.array([group not in {*training} for group in unlabelled.column("group")], dtype=np.bool_)
        others = made.judged(unlabelled.columns(names)[fresh])[0]
        numbers = np.concatenate([data.rows[calibrating], unlabelled.rows[fresh]])
        yield "flags", flags(numbers, np.concatenate([scores, others]), rows)


def promises(
    scores: FloatArray, errors: BoolArray, units: Units, promised: Promises, seed: int
) -> Iterator[Guarantees]:
    """Of texts that the scores were not trained with: two thirds choose for an error rate, and one third bounds it."""
    delta, joint = promised.delta, promised.num_joint
    for alpha in promised.missed:
        made = holds_most_errors(scores, errors, units, alpha=alpha, delta=delta, joint=joint, seed=seed)
        row = _promise("missed", alpha, promised, made.threshold, scores, errors)
        row.num_errors, row.allowed, row.achieved_delta = made.num, max(made.allowed, 0), made.achieved_delta
        if made.allowed < 0:
            too_few = TooFew(made.num, errors_needed(alpha, delta, joint), f"{units.kind} with an error")
            row.fail("too_few_units", f"all are flagged: {too_few.reason}")
        yield row
    judging = is_tested([str(code) for code in units.codes.tolist()], _THIRD, seed, _JUDGING)
    part, rest = (scores[~judging], errors[~judging]), (scores[judging], errors[judging])
    for rate in promised.unflagged:
        value = leaves_few_errors(*part, units.part(~judging), rate=rate, delta=delta, joint=joint, seed=seed)
        row = _promise("unflagged", rate, promised, value, *part)
        row.unflagged_most = most_unflagged(value, *rest, units.part(judging), level=1.0 - delta / joint, seed=seed)
        if value == -np.inf:
            num = int((~judging).sum())
            row.fail("nothing_shown", f"all are flagged: below no threshold do {num:,} texts show so few errors")
        yield row


def _promise(
    name: str, level: float, promised: Promises, threshold: float, scores: FloatArray, errors: BoolArray
) -> Guarantees:
    """What is said of both kinds."""
    made, row = (
        guarantees.flagged(threshold, scores, errors),
        Guarantees(promise=name, level=level, threshold=threshold),
    )
    row.delta, row.num_joint, row.num_calibration = promised.delta, promised.num_joint, len(errors)
    row.flags, row.flagged_share = made.flags, made.share
    row.missed, row.unflagged_rate = made.missed, made.unflagged_rate
    return row


def flags(rows: IntArray, scores: FloatArray, promised: Sequence[Guarantees]) -> pa.Table:
    """The table ``flags``: each text by each promise.

    Args:
        rows, scores: of the texts.
    """
    made, schema = [], Flags.schema()
    for row in promised:
        about = {name: pa.repeat(getattr(row, name), len(rows)) for name in ("promise", "level")}
        part = {"row": pa.array(rows), "score": pa.array(scores), "is_flagged": pa.array(scores >= threshold_of(row))}
        made.append(pa.table([(about | part)[field.name] for field in schema], schema))
    return pa.concat_tables(made) if made else schema.empty_table()


def threshold_of(row: Guarantees) -> float:
    """Of a promise, which in a table has no infinite number."""
    ends = {"all": -np.inf, "none": np.inf}
    return ends.get(row.flags, row.threshold)


# --- texts of a later run ---------------------------------------------------------------------------------------------


class ScoreTexts(OfTexts, unit="scored_texts/1", stage="score texts", makes=[Predictions, Flags, Checks]):
    """Texts that the forest of an earlier run scores and its thresholds flag.

    Attributes:
        files: identities of its tables ``error_forest`` and ``guarantees``.
        seed: of the draw of an error of each group.
    """

    data: DataSet
    files: Mapping[str, Mapping[str, Any]]
    seed: int
    operators: Sequence[str] = (thresholds.VERSION, trees.VERSION)

    def tables(self, store: Store) -> Tables:
        """All three."""
        data = self.data.load(store, *SCORED)
        if data.table.is_empty():
            raise InputError("data.path: no row has a text and a prediction")
        forest, names = forest_of(self._read("error_forest", ErrorForest.schema()))
        if missing := sorted({*probability_classes(names)} - {*data.classes}):
            raise InputError(
                f"base.path: its model has no class {', '.join(missing)}, which the forest of data.scored_by looks at; "
                "name the file that the earlier run had"
            )
        scores = scored(forest, names, data.rows, data.columns(names))
        is_error = data.table["predicted"] != data.table["label"]
        guesses, frame = data.guesses().with_columns(is_error=is_error), pl.DataFrame(pl.from_arrow(scores))
        yield from tables_of(predictions(store, self.data.texts, guesses, frame), [Predictions])
        values = scores["error_score"].to_numpy()
        promised = [Guarantees(**row) for row in self._read("guarantees", Guarantees.schema()).to_dicts()]
        yield "flags", flags(data.rows, values, promised)
        wrong, known = is_error.fill_null(value=False).to_numpy(), is_error.is_not_null().to_numpy()
        yield from tables_of(checks(values, wrong, known, data.units, promised, self.seed), [Checks])

    def _read(self, name: str, schema: pa.Schema) -> pl.DataFrame:
        return read_records(self.files[name]["uri"], schema.names)


def checks(
    scores: FloatArray, wrong: BoolArray, known: BoolArray, units: Units, promised: Sequence[Guarantees], seed: int
) -> Iterator[Checks]:
    """What becomes of each promise on these texts, as far as labels tell.

    Args:
        wrong, known: ``[texts]``, whether each is an error, and whether it has a label.
    """
    rows = np.flatnonzero(wrong)
    drawn = rows[one_per_unit(units.part(rows), seed=seed, about=guarantees.MISSED)] if rows.size else rows
    for promise in promised:
        threshold = threshold_of(promise)
        of_all, of_known = (
            guarantees.flagged(threshold, scores, wrong),
            guarantees.flagged(threshold, scores[known], wrong[known]),
        )
        row = Checks(promise=promise.promise, level=promise.level, threshold=threshold, flags=promise.flags)
        row.flagged_share, row.num_errors = of_all.share, drawn.size
        if known.any():
            row.unflagged_rate = of_known.unflagged_rate
        if drawn.size:
            row.missed = float((scores[drawn] < threshold).mean())
            if promise.promise == "missed" and promise.flags == "some":  # else it promises nothing of missed errors
                allowed, num = int(promise.allowed or 0), promise.num_errors or 0
                made = Promise(threshold, allowed, num, promise.achieved_delta or 0.0)
                row.exchangeable_p = exchangeable_p(made, scores[drawn])
        else:
            row.fail("no_error", "no text with a label is an error, by which a promise is judged")
        yield row
