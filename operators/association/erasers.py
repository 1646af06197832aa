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
        apart = unit_vectors(self.first) - unit_vectors(self.second)
        found = np.linalg.svd(apart, full_matrices=False)[2][0]
        return np.asarray(-found if (apart @ found).sum() < 0 else found)


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
    signs = np.where((first - second) @ direction < 0, -1.0, 1.0)
    along = (signs * reach)[:, np.newaxis] * direction
    return Pairs(middle + along, middle - along)


def without(words: FloatArray, directions: FloatArray) -> FloatArray:
    """w less its parts along orthonormal directions, ``[dims]`` or ``[directions, dims]``."""
    basis = np.atleast_2d(directions)
    return np.asarray(words - (words @ basis.T) @ basis)


class DoubleHard(NamedTuple):
    """Attributes:
    mean, component: ``[dims]``, what is taken off all words, and the frequency direction that is removed then.
    direction: ``[dims]`` of the pairs after it.
    number: of the component, from 0.
    """

    mean: FloatArray
    component: FloatArray
    direction: FloatArray
    number: int

    def centred(self, words: FloatArray) -> FloatArray:
        """(w - mu) - ((w - mu).p) p, for words that keep the attribute: in the coordinates of the others."""
        return without(words - self.mean, self.component)

    def neutral(self, words: FloatArray) -> FloatArray:
        """The same without the direction of the pairs; not scaled."""
        return without(self.centred(words), self.direction)


def double_hard(words: FloatArray, pairs: Pairs, number: int) -> DoubleHard:
    """Double-hard debiasing by one frequency direction (Wang et al. 2020): a principal component of all words.

    Centred before the removal, and the direction of the pairs taken after it, as the paper has both; it is the first
    component of the pairs, each around its middle, in the lengths that they have then.

    Args:
        words: ``[words, dims]``, all of the embedding.
        pairs: what defines the attribute.
        number: of the component, from 0.
    """
    mean = words.mean(axis=0)
    component = np.linalg.eigh(np.cov(words.T, bias=True))[1][:, -1 - number]
    removed = DoubleHard(mean, component, component, number)
    apart = removed.centred(pairs.first) - removed.centred(pairs.second)
    return removed._replace(direction=np.linalg.svd(apart, full_matrices=False)[2][0])


def chosen_double_hard(
    words: FloatArray,
    pairs: Pairs,
    extremes: FloatArray,
    is_first: BoolArray,
    num_components: int,
    generator: np.random.Generator,
) -> DoubleHard:
    """The one of the first components after whose removal two clusters of the most biased words tell the sides least.

    Args:
        words, pairs: as of :func:`double_hard`.
        extremes: ``[extremes, dims]``, the words that it is chosen by; they say nothing of the result any more.
        is_first: ``[extremes]``, their sides.
        num_components: that are tried.
        generator: of the starts of clusters.
    """
    tried = [double_hard(words, pairs, number) for number in range(min(num_components, words.shape[1] - 1))]
    left = [accuracy_of_clusters(one.neutral(extremes), is_first, generator) for one in tried]
    return tried[int(np.argmin(left))]


def half_sibling(words: FloatArray, definitional: FloatArray, ridge: float) -> FloatArray:
    """N - D (D'D + alpha I)^-1 D'N, each word a column (Yang and Feng 2020): the ridge regression of each word on those
    that define the attribute, whose dimensions are its samples.

    Args:
        words: ``[words, dims]``, as rows.
        definitional: ``[others, dims]``, D as rows.
        ridge: alpha.

    >>> half_sibling(np.array([[2.0, 1.0]]), np.array([[1.0, 0.0]]), 1.0)
    array([[1., 1.]])
    """
    inner = definitional @ definitional.T + ridge * np.eye(len(definitional))
    return np.asarray(words - np.linalg.solve(inner, definitional @ words.T).T @ definitional)


def inlp(words: FloatArray, is_first: BoolArray, num_rounds: int, is_judge: BoolArray | None = None) -> FloatArray:
    """Directions ``[rounds, dims]``, orthonormal, whose removal is iterative null space projection (Ravfogel 2020).

    In each round a logistic regression (L2, C = 1, free intercept) tells the sides from the words without the
    directions so far; its weights are the next one. It ends where one tells judges no better than by the larger side.

    Args:
        words: ``[words, dims]`` of both sides.
        is_first: ``[words]``, their sides.
        num_rounds: at most.
        is_judge: ``[words]``, those that no round learns from; None: no round is judged.
    """
    from sklearn.linear_model import LogisticRegression  # takes a second

    judges = np.zeros(len(words), bool) if is_judge is None else is_judge
    majority = max(is_first[judges].mean(), 1.0 - is_first[judges].mean()) if judges.any() else -1.0
    fit = LogisticRegression(C=1.0, tol=1e-10, max_iter=1000, solver="newton-cholesky")
    found = np.empty((0, words.shape[1]))
    for _ in range(min(num_rounds, words.shape[1])):
        left = without(words, found)
        fit.fit(left[~judges], is_first[~judges])
        weights = without(fit.coef_, found)
        length = np.linalg.norm(weights)
        if not length > _ROUNDING or (judges.any() and fit.score(left[judges], is_first[judges]) <= majority):
            break
        found = np.concatenate([found, weights / length])
    return found


class Leace(NamedTuple):
    """x <- mean + P (x - mean), the least change after which no linear classifier of the fit beats a constant one.

    Attributes:
        mean: ``[dims]`` of the words that it was fitted to.
        projection: ``[dims, dims]``, P.
        rank: how many dimensions it takes, at most classes - 1.
    """

    mean: FloatArray
    projection: FloatArray
    rank: int

    def erased(self, words: FloatArray) -> FloatArray:
        """``[words, dims]``."""
        return np.asarray(self.mean + (words - self.mean) @ self.projection.T)


def leace(words: FloatArray, classes: FloatArray) -> Leace:
    """Least-squares concept erasure in closed form (Belrose et al. 2023, theorem 4.3).

    P = I - W^+ U U' W with W = Sigma_xx^(-1/2) and U a basis of the columns of W Sigma_xz. On the words of the fit
    Cov(P x, z) = 0, so that all classes have one mean; of other words, and of classifiers that bend, nothing is said.

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

Method = Literal["hard", "double_hard", "half_sibling", "inlp", "leace"]
METHODS: tuple[Method, ...] = get_args(Method)


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
    """What erasers are fitted to.

    Attributes:
        words: ``[words, dims]``, of the whole embedding.
        pairs: that define the attribute.
        extremes, is_first: ``[extremes, dims]`` and ``[extremes]``, words of both sides.
        is_judge: ``[extremes]``, those that INLP judges its rounds by.
    """

    words: FloatArray
    pairs: Pairs
    extremes: FloatArray
    is_first: BoolArray
    is_judge: BoolArray


class Eraser(NamedTuple):
    """What becomes of words.

    Attributes:
        neutral: of words that don't have the attribute by meaning.
        specific: of those that do, and keep it.
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


def fit_eraser(method: Method, sample: Sample, settings: EraserSettings, generator: np.random.Generator) -> Eraser:
    """The eraser of a method; INLP and LEACE change words that have the attribute by meaning like all others.

    Args:
        method: one of five.
        sample: what it is fitted to.
        settings: of the methods.
        generator: of starts of clusters, by which double-hard debiasing chooses.
    """
    _, pairs, extremes, is_first, is_judge = sample
    if method == "hard":
        direction = pairs.direction
        return Eraser(lambda w: neutralised(w, direction), lambda w: w, 1, equalised(pairs, direction))
    if method == "double_hard":
        made = chosen_double_hard(sample.words, pairs, extremes, is_first, settings.components, generator)
        return Eraser(made.neutral, made.centred, 2)
    if method == "half_sibling":
        defining = np.concatenate(pairs)
        ridge = settings.ridge * float(np.linalg.eigvalsh(defining @ defining.T)[-1])
        return Eraser(lambda w: half_sibling(w, defining, ridge), lambda w: w, len(defining))
    if method == "inlp":
        found = inlp(extremes, is_first, settings.rounds, is_judge)
        return Eraser(lambda w: without(w, found), lambda w: without(w, found), len(found))
    fitted = leace(extremes, is_first.astype(np.float64))
    return Eraser(fitted.erased, fitted.erased, fitted.rank)
