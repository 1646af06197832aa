"""A forest that tells errors of a classifier by readable features (Misra et al. 2021, section 3.3), and what it uses.

Random forests after Breiman 2001, by scikit-learn: trees on bootstrap samples, of which each cut looks at as many
features as the root of their number. How many texts a leaf has at least is chosen by the mean AUROC in cross-validation
over groups.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, NamedTuple

import numpy as np
from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from tiltmeter.operators.classifiers.errors.ranking import auroc
from tiltmeter.operators.classifiers.errors.splits import folds_of
from tiltmeter.operators.classifiers.errors.trees import Trees, trees_of
from tiltmeter.operators.compute.arrays import BoolArray, FloatArray, IntArray
from tiltmeter.operators.compute.generators import keyed_generator
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.compute.philox import Stream

if TYPE_CHECKING:
    from sklearn.ensemble import RandomForestClassifier

VERSION = "error_forest/1"

FOREST, IMPORTANCE = 2, 3
"""What is drawn; the second number of a key."""

_IMPORTANCE_TREES = 100


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class ForestConfig:
    """Attributes:
    num_trees: of the forest.
    leaf_sizes: that are tried: how many texts a leaf has at least.
    num_folds: of the cross-validation that chooses among them.
    num_search_trees: of the forests there.
    """

    num_trees: Annotated[int, Field(ge=1)] = 500
    leaf_sizes: Annotated[tuple[Annotated[int, Field(ge=1)], ...], Field(min_length=1)] = (1, 3, 10)
    num_folds: Annotated[int, Field(ge=2)] = 5
    num_search_trees: Annotated[int, Field(ge=1)] = 50


class Forest(NamedTuple):
    """Attributes:
    model: the trained forest.
    leaf_size: that was chosen.
    """

    model: "RandomForestClassifier"
    leaf_size: int

    def scores(self, features: FloatArray) -> FloatArray:
        """The forest's probability of an error, ``[texts]``."""
        return np.asarray(self.model.predict_proba(features)[:, 1], dtype=np.float64)


def train_forest(
    features: FloatArray, errors: BoolArray, groups: Sequence[str], config: ForestConfig, seed: int, about: int = 0
) -> Forest:
    """Train a forest.

    Args:
        features: ``[texts, features]``.
        errors: ``[texts]``, of both kinds.
        groups: ``[texts]``; texts of a group are in one fold.
        seed, about: of its draws.

    Raises:
        ValueError: if all texts are errors or none is.
    """
    if errors.all() or not errors.any():
        raise ValueError(f"{int(errors.sum())} of {len(errors)} texts are errors: a forest needs both kinds")
    state = int(keyed_generator(seed, Stream.ERROR_CHARACTERISATION, FOREST, about).integers(2**31))
    size = config.leaf_sizes[0]
    if len(config.leaf_sizes) > 1:
        folds = folds_of(groups, config.num_folds, seed, about)
        size = max(
            config.leaf_sizes,
            key=lambda tried: _validated(features, errors, folds, _new(config.num_search_trees, tried, state)),
        )
    return Forest(_new(config.num_trees, size, state).fit(features, errors), size)


def _new(num_trees: int, leaf_size: int, state: int) -> "RandomForestClassifier":
    from sklearn.ensemble import RandomForestClassifier  # takes seconds

    return RandomForestClassifier(
        num_trees, min_samples_leaf=leaf_size, max_features="sqrt", random_state=state, n_jobs=1
    )


def _validated(features: FloatArray, errors: BoolArray, folds: IntArray, model: "RandomForestClassifier") -> float:
    """Mean AUROC over the folds that have both kinds, in and out."""
    values = []
    for fold in range(int(folds.max()) + 1):
        is_out = folds == fold
        if errors[~is_out].any() and not errors[~is_out].all():
            scores = model.fit(features[~is_out], errors[~is_out]).predict_proba(features[is_out])[:, 1]
            values.append(auroc(scores, errors[is_out]))
    known = [value for value in values if not np.isnan(value)]
    return float(np.mean(known)) if known else 0.5


def forest_without(
    features: FloatArray, errors: BoolArray, groups: Sequence[str], config: ForestConfig, seed: int, fold: int
) -> tuple[IntArray, Forest]:
    """The rows of one fold of all texts, and a forest that was trained without them."""
    is_out = folds_of(groups, config.num_folds, seed, IMPORTANCE) == fold
    inside = [group for group, out in zip(groups, is_out, strict=True) if not out]
    forest = train_forest(features[~is_out], errors[~is_out], inside, config, seed, 1_000 + fold)
    return np.flatnonzero(is_out), forest


def folds_of_others(groups: Sequence[str], others: Sequence[str], num_folds: int, seed: int) -> IntArray:
    """Folds of texts that no forest is trained with: that of their group or, of new groups, one by key.

    >>> folds_of_others(["a", "b"], ["b", "b", "c"], 2, seed=0).tolist()
    [1, 1, 1]
    """
    known = dict(zip(groups, folds_of(groups, num_folds, seed, IMPORTANCE).tolist(), strict=True))
    return np.array(
        [known.get(group, document_key(f"{seed}\n{group}") % num_folds) for group in others], dtype=np.int64
    )


def permutation_importance(
    forest: Forest,
    features: FloatArray,
    errors: BoolArray,
    parts: Mapping[str, Sequence[int]],
    seed: int,
    num_repeats: int = 1,
    about: int = 0,
) -> dict[str, FloatArray]:
    """How much AUROC falls on held-out texts when features are shuffled (Breiman 2001, section 10).

    Features that correlate stand in for each other, so that each seems idle: they are shuffled together, as a part. The
    first 100 trees are asked, as more of them cost time and hardly change a fall.

    Args:
        features, errors: of texts that the forest was not trained with.
        parts: columns by name.
        num_repeats: shuffles of each part.

    Returns:
        ``[repeats]`` falls of AUROC for each part.
    """
    trees = trees_of(forest.model, _IMPORTANCE_TREES)
    scores, falls = trees.judged(features)[0], {}
    before = auroc(scores, errors)
    for place, (name, columns) in enumerate(parts.items()):
        orders = keyed_generator(seed, Stream.ERROR_CHARACTERISATION, IMPORTANCE, about * 100_000 + place)
        falls[name] = np.array(
            [
                before - auroc(_rescored(trees, features, scores, list(columns), order), errors)
                for order in _orders(orders, len(errors), num_repeats)
            ]
        )
    return falls


def _orders(generator: np.random.Generator, size: int, num: int) -> Iterable[IntArray]:
    return (generator.permutation(size) for _ in range(num))


def _rescored(
    trees: Trees, features: FloatArray, scores: FloatArray, columns: list[int], order: IntArray
) -> FloatArray:
    """Scores with the columns of other texts, all of one other text together; most texts have what that one has."""
    others = features[order][:, columns]
    moved = np.flatnonzero((others != features[:, columns]).any(axis=1))
    changed, made = features[moved], scores.copy()
    changed[:, columns] = others[moved]
    made[moved] = trees.judged(changed)[0]
    return made


def correlated_parts(features: FloatArray, names: Sequence[str], limit: float = 0.8) -> dict[str, list[int]]:
    """Columns that correlate by at least ``limit`` in size, directly or through others, under the name of the first.

    >>> columns = np.array([[1.0, 2.0, 0.0], [2.0, 4.0, 1.0], [3.0, 6.0, 0.0]])
    >>> correlated_parts(columns, ["a", "b", "c"])
    {'a': [0, 1], 'c': [2]}
    """
    centred = features - features.mean(axis=0)
    scales = np.sqrt((centred**2).sum(axis=0))
    unit = centred / np.where(scales > 0, scales, 1.0)
    near = np.abs(unit.T @ unit) >= limit
    parts: dict[str, list[int]] = {}
    left = list(range(len(names)))
    while left:
        part, fresh = {left[0]}, {left[0]}
        while fresh:
            fresh = {other for column in fresh for other in np.flatnonzero(near[column]).tolist()} - part
            part |= fresh
        parts[names[left[0]]] = sorted(part)
        left = [column for column in left if column not in part]
    return parts
