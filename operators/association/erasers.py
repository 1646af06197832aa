"""Erasers of an attribute such as gender from word vectors, by pairs of words that differ in it, or by words of sides.

All are float64, vectors are rows, and u(v) is v / |v|. What an eraser promises holds of what it was fitted to alone: of
other words say those that were kept out. RAN (Kumar et al. 2020) is left out: it minimises absolute values of cosines
by steps that don't become smaller, so that its last iterate goes round a kink, and nothing bounds how far a word goes.
"""

from collections.abc import Callable
from typing import Annotated, Literal, NamedTuple, get_args

import numpy as np
from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from tiltmeter.operators.association.remains import accuracy_of_clusters
from tiltmeter.operators.compute.arrays import BoolArray, FloatArray
from tiltmeter.operators.embedding.similarity import unit_vectors

VERSION = "erasers/1"

Method = Literal["hard", "double_hard", "half_sibling", "inlp", "leace"]
METHODS: tuple[Method, ...] = get_args(Method)

_ROUNDING = 1e-10
"""Singular values that are as small beside the largest are rounding."""


class Pairs(NamedTuple):
    """Vectors ``[pairs, dims]`` of words that differ in the attribute: she and he."""

    first: FloatArray
    second: FloatArray

    @property
    def direction(self) -> FloatArray:
        """``[dims]``, first component of the pairs, each of unit vectors around its middle (Bolukbasi 2016, 5.1); it
        points to where the first words lie on the whole."""
        return _component(unit_vectors(self.first) - unit_vectors(self.second))


def _component(apart: FloatArray) -> FloatArray:
    axis = np.linalg.svd(apart, full_matrices=False)[2][0]
    return np.asarray(-axis if (apart @ axis).sum() < 0 else axis)


class Eraser(NamedTuple):
    """What becomes of words.

    Attributes:
        neutral, specific: of words without the attribute by meaning, and of those that have it and keep it.
        rank: how many dimensions it takes.
        pairs: what becomes of those that define it, where that is another thing.
    """

    neutral: Callable[[FloatArray], FloatArray]
    specific: Callable[[FloatArray], FloatArray]
    rank: int
    pairs: Pairs | None = None

    def __call__(self, words: FloatArray, is_specific: BoolArray) -> FloatArray:
        """``[words, dims]``."""
        return np.where(is_specific[:, np.newaxis], self.specific(words), self.neutral(words))


def without(words: FloatArray, directions: FloatArray) -> FloatArray:
    """w less its parts along orthonormal directions, ``[dims]`` or ``[directions, dims]``."""
    basis = np.atleast_2d(directions)
    return np.asarray(words - (words @ basis.T) @ basis)


def neutralised(words: FloatArray, direction: FloatArray) -> FloatArray:
    """u(w - (w.g) g) ``[words, dims]`` (Bolukbasi et al. 2016, section 6); NaN of what lies along g alone.

    >>> neutralised(np.array([[3.0, 4.0]]), np.array([1.0, 0.0]))
    array([[0., 1.]])
    """
    return unit_vectors(without(words, direction))


def equalised(pairs: Pairs, direction: FloatArray) -> Pairs:
    """Both words of each pair the same but for g (Bolukbasi et al. 2016, section 6).

    With unit vectors, y = (a + b) / 2 less its part along g and z = sqrt(1 - |y|^2): y + z g and y - z g, the first
    where a lies further along g, or as far.
    """
    first, second = (unit_vectors(side) for side in pairs)
    middle = without((first + second) / 2.0, direction)
    reach = np.sqrt(np.maximum(1.0 - (middle**2).sum(axis=1), 0.0))
    along = (np.where((first - second) @ direction < 0, -reach, reach))[:, np.newaxis] * direction
    return Pairs(middle + along, middle - along)


def double_hard(words: FloatArray, pairs: Pairs, number: int) -> Eraser:
    """Double-hard debiasing by one frequency direction, a principal component of all words (Wang et al. 2020).

    v = (w - mu) - ((w - mu).p) p, and without the direction g' of the pairs of such v, in the lengths that they have
    then. Words that keep the attribute are v: in the coordinates of the others.

    Args:
        words: ``[words, dims]``, all of the embedding.
        pairs: that define the attribute.
        number: of the component, from 0.
    """
    mean = words.mean(axis=0)
    component = np.linalg.eigh(np.cov(words.T, bias=True))[1][:, -1 - number]

    def centred(vectors: FloatArray) -> FloatArray:
        return without(vectors - mean, component)

    direction = _component(centred(pairs.first) - centred(pairs.second))
    return Eraser(lambda vectors: without(centred(vectors), direction), centred, 2)


def half_sibling(words: FloatArray, definitional: FloatArray, ridge: float) -> FloatArray:
    """N - D (D'D + alpha I)^-1 D'N, each word a column (Yang and Feng 2020): the ridge regression of each word on those
    that define the attribute, whose dimensions are its samples.

    Args:
        words, definitional: ``[words, dims]`` and D ``[others, dims]``, as rows.
        ridge: alpha.

    >>> half_sibling(np.array([[2.0, 1.0]]), np.array([[1.0, 0.0]]), 1.0)
    array([[1., 1.]])
    """
    inner = definitional @ definitional.T + ridge * np.eye(len(definitional))
    return np.asarray(words - np.linalg.solve(inner, definitional @ words.T).T @ definitional)


def inlp(words: FloatArray, is_first: BoolArray, num_rounds: int, is_judge: BoolArray) -> FloatArray:
    """Directions ``[rounds, dims]``, orthonormal, whose removal is iterative null space projection (Ravfogel 2020).

    In each round a logistic regression (L2, C = 1, free intercept) tells the sides from the words without the
    directions so far; its weights are the next one. It ends where one tells judges no better than by the larger side.

    Args:
        words, is_first: ``[words, dims]`` of both sides, and their sides.
        num_rounds: at most.
        is_judge: ``[words]``, those that no round learns from; without any no round is judged.
    """
    from sklearn.linear_model import LogisticRegression  # takes a second

    learnt, judged = is_first[~is_judge], is_first[is_judge]
    majority = max(judged.mean(), 1.0 - judged.mean()) if judged.size else -1.0
    fit = LogisticRegression(C=1.0, tol=1e-10, max_iter=1000, solver="newton-cholesky")
    directions = np.empty((0, words.shape[1]))
    for _ in range(min(num_rounds, words.shape[1]) if 0 < learnt.sum() < learnt.size else 0):
        left = without(words, directions)
        weights = without(fit.fit(left[~is_judge], learnt).coef_, directions)
        length = np.linalg.norm(weights)
        if not length > _ROUNDING or (judged.size and fit.score(left[is_judge], judged) <= majority):
            break
        directions = np.concatenate([directions, weights / length])
    return directions


class Leace(NamedTuple):
    """x <- mean + P (x - mean): ``[dims]``, ``[dims, dims]``, and how many dimensions it takes."""

    mean: FloatArray
    projection: FloatArray
    rank: int

    def erased(self, words: FloatArray) -> FloatArray:
        """``[words, dims]``."""
        return np.asarray(self.mean + (words - self.mean) @ self.projection.T)


def leace(words: FloatArray, classes: FloatArray) -> Leace:
    """Least-squares concept erasure in closed form (Belrose et al. 2023, theorem 4.3).

    P = I - W^+ U U' W with W = Sigma_xx^(-1/2) and U a basis of the columns of W Sigma_xz. On the words of the fit
    Cov(P x, z) = 0, so that all classes have one mean, and no linear classifier beats a constant; of all changes with
    that, it is the least. Of other words, and of classifiers that bend, nothing is said.

    Args:
        words: ``[words, dims]``.
        classes: ``[words]``, numbers, or ``[words, columns]``, such as one of 0 and 1 for each class.
    """
    mean, columns = words.mean(axis=0), np.asarray(classes, dtype=np.float64).reshape(len(words), -1)
    centred = words - mean
    cross = centred.T @ (columns - columns.mean(axis=0)) / len(words)
    values, axes = np.linalg.eigh(centred.T @ centred / len(words))
    is_there = values > _ROUNDING * max(values[-1], 0.0)
    roots, axes = np.sqrt(values[is_there]), axes[:, is_there]
    whiten, colour = axes / roots @ axes.T, axes * roots @ axes.T
    basis, sizes, _ = np.linalg.svd(whiten @ cross, full_matrices=False)
    basis = basis[:, sizes > _ROUNDING * max(float(sizes.max(initial=0.0)), _ROUNDING)]
    return Leace(mean, np.eye(len(mean)) - colour @ basis @ basis.T @ whiten, basis.shape[1])


# --- all alike ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, config=ConfigDict(extra="forbid"))
class EraserSettings:
    """Attributes:
    components: frequency directions that double-hard debiasing chooses among.
    ridge: of half-sibling regression, alpha as a share of the largest eigenvalue of D'D.
    rounds: of INLP, at most.
    """

    components: Annotated[int, Field(ge=1)]
    ridge: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    rounds: Annotated[int, Field(ge=1)]


class Sample(NamedTuple):
    """What erasers are fitted to: all ``words`` and ``extremes`` of both sides ``[words, dims]``, those of the extremes
    that are on the first, and those that INLP judges its rounds by."""

    words: FloatArray
    pairs: Pairs
    extremes: FloatArray
    is_first: BoolArray
    is_judge: BoolArray


def fit_eraser(method: Method, sample: Sample, settings: EraserSettings, generator: np.random.Generator) -> Eraser:
    """The eraser of a method; INLP and LEACE change words that have the attribute by meaning like all others.

    Double-hard debiasing takes the component after whose removal two clusters of the extremes tell their sides least.

    Args:
        generator: of starts of these clusters.
    """
    words, pairs, extremes, is_first, is_judge = sample
    if method == "hard":
        direction = pairs.direction
        return Eraser(lambda w: neutralised(w, direction), lambda w: w, 1, equalised(pairs, direction))
    if method == "double_hard":
        numbers = range(min(settings.components, words.shape[1] - 1))
        tried = [double_hard(words, pairs, number) for number in numbers]
        left = [accuracy_of_clusters(one.neutral(extremes), is_first, generator) for one in tried]
        return tried[int(np.argmin(left))]
    if method == "half_sibling":
        defining = np.concatenate(pairs)
        ridge = settings.ridge * float(np.linalg.eigvalsh(defining @ defining.T)[-1])
        return Eraser(lambda w: half_sibling(w, defining, ridge), lambda w: w, len(defining))
    if method == "inlp":
        directions = inlp(extremes, is_first, settings.rounds, is_judge)
        return Eraser(lambda w: without(w, directions), lambda w: without(w, directions), len(directions))
    fitted = leace(extremes, is_first.astype(np.float64))
    return Eraser(fitted.erased, fitted.erased, fitted.rank)
