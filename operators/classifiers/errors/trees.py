"""A forest as plain arrays, which says of each text how likely an error is, and which features say so.

A tree goes to the left where a feature, in single precision as scikit-learn has it, is at most the threshold. The
forest's probability is the mean over trees of the share of errors at the leaf that a text comes to. On the way, each
cut moves that share from a node's to its child's: these moves, summed by feature, say what made a text's probability
differ from that of all training texts (Saabas 2014; Palczewska et al. 2014, *Interpreting random forest classification
models using a feature contribution method*).
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numba
import numpy as np
import polars as pl
from numpy.typing import NDArray

from tiltmeter.operators.compute.arrays import FloatArray, IntArray

if TYPE_CHECKING:
    from sklearn.ensemble import RandomForestClassifier

VERSION = "error_trees/1"

LEAF = -1

_AT_ONCE = 20_000
"""Texts whose reasons are held together."""

_LEAST = 0.005
"""What is nothing in two decimals is no reason."""


class Trees(NamedTuple):
    """Nodes of all trees, one tree after the other.

    Attributes:
        tree: number of the tree of each node.
        feature: column that a node looks at; -1: it is a leaf.
        threshold: of the feature.
        left, right: places of the children among all nodes; -1 of a leaf.
        share: of errors among the training texts there.
    """

    tree: IntArray
    feature: IntArray
    threshold: FloatArray
    left: IntArray
    right: IntArray
    share: FloatArray

    @property
    def starts(self) -> IntArray:
        """Place of each tree's root."""
        return np.flatnonzero(np.diff(self.tree, prepend=-1)).astype(np.int64)

    def judged(self, features: FloatArray) -> tuple[FloatArray, FloatArray]:
        """``[texts]`` probabilities of an error, and ``[texts, features]`` what each feature adds to the mean's."""
        values = np.ascontiguousarray(features, dtype=np.float32)
        return _walked(values, self.starts, self.feature, self.threshold, self.left, self.right, self.share)

    def explained(self, names: Sequence[str], features: FloatArray) -> tuple[FloatArray, list[list[str]]]:
        """``[texts]`` probabilities of an error, with what says most of each; see :func:`reasons`."""
        scores, why = np.zeros(len(features)), list[list[str]]()
        for start in range(0, len(features), _AT_ONCE):
            part = features[start : start + _AT_ONCE]
            scores[start : start + _AT_ONCE], added = self.judged(part)
            why += reasons(names, part, added)
        return scores, why


def trees_of(model: "RandomForestClassifier", most: int | None = None) -> Trees:
    """The trees of a forest that tells errors, or the first of them; they score as it does, to the last bit."""
    trees = [estimator.tree_ for estimator in model.estimators_[:most]]
    counts = np.array([nodes.node_count for nodes in trees], dtype=np.int64)
    tree, start = np.repeat(np.arange(len(trees)), counts), np.repeat(np.cumsum(counts) - counts, counts)
    left, right, feature = (
        np.concatenate([np.asarray(getattr(nodes, name), dtype=np.int64) for nodes in trees])
        for name in ("children_left", "children_right", "feature")
    )
    threshold = np.concatenate([np.asarray(nodes.threshold, dtype=np.float64) for nodes in trees])
    of_kinds = np.concatenate([np.asarray(nodes.value[:, 0, :], dtype=np.float64) for nodes in trees])
    is_leaf = left < 0
    return Trees(
        tree,
        np.where(is_leaf, LEAF, feature),
        np.where(is_leaf, 0.0, threshold),
        np.where(is_leaf, LEAF, left + start),
        np.where(is_leaf, LEAF, right + start),
        of_kinds[:, 1] / of_kinds.sum(axis=1).round(9),  # counts, or shares that sum to nearly 1
    )


def forest_of(table: pl.DataFrame) -> tuple[Trees, list[str]]:
    """The trees of a table of nodes, and the names of the columns that they look at."""
    rows = table.sort("node")
    names = sorted(rows["feature"].drop_nulls().unique().to_list())
    places = {name: place for place, name in enumerate(names)}
    columns = {name: rows[name].to_numpy() for name in Trees._fields if name != "feature"}
    feature = np.array([LEAF if name is None else places[name] for name in rows["feature"].to_list()], dtype=np.int64)
    return Trees(**columns, feature=feature), names


@numba.njit(cache=True)
def _walked(
    values: NDArray[np.float32],
    starts: IntArray,
    feature: IntArray,
    threshold: FloatArray,
    left: IntArray,
    right: IntArray,
    share: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    scores, added = np.zeros(values.shape[0]), np.zeros(values.shape)
    for row in range(values.shape[0]):
        for start in starts:
            node = start
            while feature[node] >= 0:
                column = feature[node]
                below = left[node] if np.float64(values[row, column]) <= threshold[node] else right[node]
                added[row, column] += share[below] - share[node]
                node = below
            scores[row] += share[node]
        scores[row] /= starts.size
        for column in range(values.shape[1]):
            added[row, column] /= starts.size
    return scores, added


def reasons(names: Sequence[str], values: FloatArray, added: FloatArray, most: int = 3) -> list[list[str]]:
    """What says most of each text, with its sign: features, or that they are not there.

    Args:
        names: of the columns.
        values, added: ``[texts, columns]``.

    >>> reasons(["numbers", "thanks", "links"], np.array([[1.0, 0.0, 0.0]]), np.array([[0.1, -0.2, 0.0]]))
    [['no thanks -0.20', 'numbers +0.10']]
    """
    order = np.argsort(-np.abs(added), axis=1, kind="stable")[:, :most]
    return [
        [
            f"{names[column] if value[column] else f'no {names[column]}'} {part[column]:+.2f}"
            for column in row.tolist()
            if abs(part[column]) >= _LEAST
        ]
        for row, value, part in zip(order, values, added, strict=True)
    ]
