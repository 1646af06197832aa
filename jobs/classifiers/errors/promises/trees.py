"""A forest of errors as a table, and back."""

from collections.abc import Sequence

import numpy as np
import polars as pl
import pyarrow as pa

from tiltmeter.jobs.classifiers.errors.tables import ERROR_FOREST
from tiltmeter.operators.classifiers.errors.trees import LEAF, Trees, reasons
from tiltmeter.operators.compute.arrays import FloatArray, IntArray

_AT_ONCE = 20_000
"""Texts whose reasons are held together."""


def forest_table(trees: Trees, names: Sequence[str]) -> pa.Table:
    """Of the schema ``ERROR_FOREST``.

    Args:
        names: of the columns that the trees look at.
    """
    features = [None if column == LEAF else names[column] for column in trees.feature.tolist()]
    columns = trees._asdict() | {"feature": features, "node": np.arange(len(features))}
    return pa.table([pa.array(columns[field.name], field.type) for field in ERROR_FOREST], ERROR_FOREST)


def forest_of(table: pl.DataFrame) -> tuple[Trees, list[str]]:
    """The trees of a table, and the names of the columns that they look at."""
    rows = table.sort("node")
    names = sorted(rows["feature"].drop_nulls().unique().to_list())
    places = {name: place for place, name in enumerate(names)}
    columns = {name: rows[name].to_numpy() for name in Trees._fields if name != "feature"}
    feature = np.array([LEAF if name is None else places[name] for name in rows["feature"].to_list()], dtype=np.int64)
    return Trees(**columns, feature=feature), names


def scored(trees: Trees, names: Sequence[str], rows: IntArray, values: FloatArray) -> pa.Table:
    """Scores of texts with their reasons.

    Args:
        names: of the columns.
        rows: ``[texts]``, their numbers.
        values: ``[texts, columns]``.
    """
    scores, why = np.zeros(len(rows)), list[list[str]]()
    for start in range(0, len(rows), _AT_ONCE):
        part = values[start : start + _AT_ONCE]
        scores[start : start + _AT_ONCE], added = trees.judged(part)
        why += reasons(names, part, added)
    return pa.table({"row": rows, "error_score": scores, "reasons": pa.array(why, pa.list_(pa.string()))})
