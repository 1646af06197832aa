"""Measures of bias that others have defined, each with its source, its direction, and what a p-value of it is against.

All take vectors ``[embeddings, words, dims]`` and give float64 ``[embeddings]``, or ``[embeddings, words of X and Y]``
where said; u(v) is v / |v|, mu the plain mean of a set. Whether vectors are scaled to length 1 first is part of the
definition, and the largest silent difference between programs: here it is as the paper has it, and ``_raw`` in a name
says that a widely used program does without.
"""

import math
from collections.abc import Mapping
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from scipy.stats import rankdata

from tiltmeter.operators.association.measures import BiasMeasure, Exchange, Groups
from tiltmeter.operators.association.scores import associations, effect_scale, effect_size, wefat
from tiltmeter.operators.compute.arrays import BoolArray, FloatArray
from tiltmeter.operators.compute.generators import keyed_generator
from tiltmeter.operators.compute.philox import Stream
from tiltmeter.operators.embedding.similarity import pairwise
from tiltmeter.operators.statistics.intervals import FISHER, LOG
from tiltmeter.operators.statistics.text_intervals import cut

_NUM_SPLITS, _SHARE_HELD_OUT = 10, 0.2
_LEAST_ATTRIBUTES = 3
_MOST_STEPS, _FLAT, _NUMBERS_AT_ONCE = 50, 1e-10, 4_000_000

Vectors = NDArray[np.floating]


def relative_norm_distance(groups: Groups, *, is_raw: bool = False) -> FloatArray:
    """RND = mean_{a in A} (|a - mu_X| - |a - mu_Y|), of unit vectors (Garg, Schiebinger, Jurafsky and Zou 2018).

    Args:
        is_raw: of vectors as they are, as WEFE has it by default.

    >>> he_she = np.eye(2)[np.newaxis]
    >>> groups = Groups(he_she[:, :1], he_she[:, 1:], he_she[:, 1:], he_she[:, :0])
    >>> relative_norm_distance(groups).round(3)
    array([1.414])
    """
    x, y, a = (vectors if is_raw else _unit(vectors) for vectors in groups[:3])
    return np.asarray((_distances(a, x) - _distances(a, y)).mean(axis=1))


def embedding_coherence(groups: Groups) -> FloatArray:
    """ECT = Spearman's rho of cos(mu_X, a) and cos(mu_Y, a) over a in A, raw means (Dev and Phillips 2019).

    NaN with fewer than three attributes, of which the order says nothing, or where one side is as near to all.
    """
    return _in_one_order(*(_cosines(_mean(vectors), groups.a)[:, 0] for vectors in (groups.x, groups.y)))


def relational_inner_product(groups: Groups) -> FloatArray:
    """RIPA = mean over pairs and a in A of a . (x - y) / |x - y|, raw (Ethayarajh, Duvenaud and Hirst 2019).

    Their relation vector of several pairs is a first principal component; the mean over pairs, as WEFE has it, needs
    no choice of its sign.
    """
    return np.asarray((groups.a @ np.swapaxes(_unit(groups.x - groups.y), 1, 2)).mean(axis=(1, 2)))


def relational_component(groups: Groups) -> FloatArray:
    """RIPA by the first principal component b of the pairs' x - y, uncentred: mean over a in A of a . b, raw.

    As its paper has it for several pairs; b is of length 1 and turned so that the mean of (x - y) . b is above 0.
    """
    pairs = (groups.x - groups.y).astype(np.float64)
    known = np.where(np.isfinite(pairs).all(axis=(1, 2), keepdims=True), pairs, 0.0)
    component = np.linalg.svd(known, full_matrices=False)[2][:, 0]
    sign = np.sign(np.einsum("ed,ed->e", pairs.mean(axis=1), component))
    return np.asarray(sign * np.einsum("ewd,ed->e", groups.a, component) / groups.a.shape[1])


def mean_average_cosine(groups: Groups) -> FloatArray:
    """MAC = mean over targets t and sets of attributes A_j of mean_{a in A_j} (1 - cos(t, a)) (Manzini et al. 2019)."""
    targets = np.concatenate(groups[:2], axis=1)
    return np.asarray(1.0 - np.stack([_cosines(targets, side).mean(axis=(1, 2)) for side in groups[2:]]).mean(axis=0))


def negative_sentiment(groups: Groups, *, is_penalised: bool = False) -> FloatArray:
    """RNSB = sum_i P_i ln(n P_i), P_i = f(t_i) / sum_j f(t_j), over the n words t of X and Y (Sweeney, Najafian 2019).

    f is P(negative) of a logistic regression (L2, C = 1) on all words of A, the positive ones, and B, the negative.

    Args:
        is_penalised: its intercept too, as liblinear has it, which WEFE takes.
    """
    within = groups.in_their_span()
    return _divergence(_negative(within, within.a, within.b, is_penalised))


def spread_of_splits(groups: Groups) -> FloatArray:
    """Standard deviation of RNSB over ten fits on 80 % of the words of A and of B: what the choice of a split adds."""
    generator = keyed_generator(0, Stream.EXCHANGE)
    within = groups.in_their_span()
    splits = [(_most(generator, within.a), _most(generator, within.b)) for _ in range(_NUM_SPLITS)]
    values = [_divergence(_negative(within, *split)) for split in splits]
    return np.asarray(np.std(values, axis=0, ddof=1))


def semantic_axis(groups: Groups) -> FloatArray:
    """SemAxis: cos(w, mu_A - mu_B) of each word of X and Y, raw means (An, Kwak and Ahn 2018); ``[embeddings, words]``.

    Without neighbours (k = 0): the words of A and B as they are.
    """
    axis = _mean(groups.a) - _mean(groups.b)
    return _cosines(np.concatenate(groups[:2], axis=1), axis)[:, :, 0]


def normalised_association(groups: Groups) -> FloatArray:
    """NAS, which is WEFAT, of each word of X and Y, by the sample's deviation (Caliskan et al. 2017)."""
    return wefat(*_to_attributes(groups), "cosine", ddof=1)


def weat_effect(groups: Groups) -> FloatArray:
    """WEAT's effect size by the deviation of the population, as WEFE has it (Caliskan et al. 2017)."""
    scores = associations(*_to_attributes(groups), "mean", "cosine")
    return effect_size(scores, groups.x.shape[1], ddof=0)


# --- of many partitions at once, by the weights of words: see BiasMeasure.dealt ---------------------------------------


def _weat_dealt(groups: Groups, first: FloatArray, second: FloatArray) -> FloatArray:
    [scores] = associations(*_to_attributes(groups), "mean", "cosine")
    return np.asarray((first - second) @ scores / scores.std())[:, np.newaxis]


def _rnd_dealt(groups: Groups, first: FloatArray, second: FloatArray, *, is_raw: bool = False) -> FloatArray:
    x, y, a = (vectors[0] if is_raw else _unit(vectors)[0] for vectors in groups[:3])
    targets, squares = np.concatenate([x, y]), (a**2).sum(axis=1)

    def distances(weights: FloatArray) -> FloatArray:
        means = weights @ targets
        return np.asarray(np.sqrt(np.maximum(squares - 2.0 * means @ a.T + (means**2).sum(axis=1, keepdims=True), 0.0)))

    return np.asarray((distances(first) - distances(second)).mean(axis=1, keepdims=True))


def _ect_dealt(groups: Groups, first: FloatArray, second: FloatArray) -> FloatArray:
    targets = np.concatenate(groups[:2], axis=1)[0]
    near = (_cosines((weights @ targets)[np.newaxis], groups.a)[0] for weights in (first, second))
    return _in_one_order(*near)[:, np.newaxis]


def _ripa_dealt(groups: Groups, first: FloatArray, second: FloatArray) -> FloatArray:
    of_pairs = (groups.a @ np.swapaxes(_unit(groups.x - groups.y), 1, 2)).mean(axis=(0, 1))
    return np.asarray((first - second)[:, : of_pairs.size] @ of_pairs[:, np.newaxis])


def _semaxis_dealt(groups: Groups, first: FloatArray, second: FloatArray) -> FloatArray:
    axes = (first - second) @ np.concatenate(groups[2:], axis=1)[0]
    near = _cosines(axes[np.newaxis], np.concatenate(groups[:2], axis=1))
    return np.asarray(near[0])


def _nas_dealt(groups: Groups, first: FloatArray, second: FloatArray) -> FloatArray:
    [near] = np.concatenate(_to_attributes(groups), axis=2)
    return np.asarray((first - second) @ near.T / near.std(axis=1, ddof=1))


def _in_one_order(first: FloatArray, second: FloatArray) -> FloatArray:
    """Spearman's rho of ``[rows, attributes]``, row by row."""
    if first.shape[1] < _LEAST_ATTRIBUTES:
        return np.full(len(first), np.nan)
    ranks = [rankdata(near, axis=1) - (near.shape[1] + 1) / 2 for near in (first, second)]
    with np.errstate(invalid="ignore"):
        rho = (ranks[0] * ranks[1]).sum(axis=1) / np.sqrt((ranks[0] ** 2).sum(axis=1) * (ranks[1] ** 2).sum(axis=1))
    return np.asarray(np.where(np.isnan(first + second).any(axis=1), np.nan, rho))


def _unit(vectors: Vectors) -> FloatArray:
    with np.errstate(invalid="ignore"):
        return np.asarray(vectors / np.linalg.norm(vectors, axis=2, keepdims=True), dtype=np.float64)


def _mean(vectors: Vectors) -> FloatArray:
    return np.asarray(vectors.mean(axis=1, keepdims=True), dtype=np.float64)


def _cosines(words: Vectors, others: Vectors) -> FloatArray:
    """``[embeddings, words, others]``; NaN of a vector of length 0."""
    return np.asarray(_unit(words) @ np.swapaxes(_unit(others), 1, 2))


def _distances(words: Vectors, group: Vectors) -> FloatArray:
    """``[embeddings, words]``, from the mean of a group."""
    return np.asarray(np.linalg.norm(words - _mean(group), axis=2))


def _to_attributes(groups: Groups) -> tuple[FloatArray, FloatArray]:
    targets = np.concatenate(groups[:2], axis=1)
    return pairwise(targets, groups.a, "cosine"), pairwise(targets, groups.b, "cosine")


def _most(generator: np.random.Generator, side: Vectors) -> Vectors:
    num = side.shape[1]
    return side[:, np.sort(generator.permutation(num)[: num - math.ceil(_SHARE_HELD_OUT * num)])]


def _negative(groups: Groups, positive: Vectors, negative: Vectors, is_penalised: bool = False) -> FloatArray:
    """``[embeddings, words]``, f of each word of X and Y."""
    targets, known = (np.concatenate(sides, axis=1).astype(float) for sides in (groups[:2], (positive, negative)))
    is_negative = np.arange(known.shape[1]) >= positive.shape[1]
    chances = np.full(targets.shape[:2], np.nan)
    whole = np.flatnonzero(np.isfinite(targets).all(axis=(1, 2)) & np.isfinite(known).all(axis=(1, 2)))
    at_once = max(1, _NUMBERS_AT_ONCE // known[0].size)
    for some in np.array_split(whole, math.ceil(len(whole) / at_once)):
        basis, within = np.linalg.qr(np.swapaxes(known[some], 1, 2))
        weights = _logistic(_with_one(np.swapaxes(within, 1, 2)), is_negative, is_penalised)
        chances[some] = expit((_with_one(targets[some] @ basis) @ weights[:, :, np.newaxis])[:, :, 0])
    return chances


def _logistic(words: FloatArray, labels: BoolArray, is_penalised: bool) -> FloatArray:
    """``[embeddings, dims]``, the minima w of sum log(1 + exp(f)) - l f + |w|^2 / 2, f = x.w, by Newton's method.

    Args:
        words: ``[embeddings, words, dims]``; the last dimension is 1 and its weight the intercept.
        labels: l of each word.
        is_penalised: whether the intercept counts in |w|^2.
    """
    ridge = np.ones(words.shape[2])
    ridge[-1] = 1.0 if is_penalised else 1e-12
    weights = np.zeros((len(words), words.shape[2]))
    for _ in range(_MOST_STEPS):
        chances = expit(_products(words, weights))
        slope = _products(np.swapaxes(words, 1, 2), chances - labels) + ridge * weights
        if np.abs(slope).max(initial=0.0) < _FLAT:
            break
        curvature = np.swapaxes(words * (chances * (1.0 - chances))[:, :, np.newaxis], 1, 2) @ words + np.diag(ridge)
        step = np.linalg.solve(curvature, slope[:, :, np.newaxis])[:, :, 0]
        before, share = _loss(words, labels, ridge, weights), np.ones((len(words), 1))
        for _ in range(_MOST_STEPS):
            # To rounding: at the minimum no step makes it less.
            is_worse = _loss(words, labels, ridge, weights - share * step) > before * (1.0 + 1e-12)
            if not is_worse.any():
                break
            share[is_worse] /= 2.0
        weights = weights - share * step
    return weights


def _products(rows: FloatArray, weights: FloatArray) -> FloatArray:
    return np.asarray((rows @ weights[:, :, np.newaxis])[:, :, 0])


def _loss(words: FloatArray, labels: BoolArray, ridge: FloatArray, weights: FloatArray) -> FloatArray:
    scores = _products(words, weights)
    return np.asarray(
        (np.logaddexp(0.0, scores) - labels * scores).sum(axis=1) + (ridge * weights**2).sum(axis=1) / 2.0
    )


def _with_one(words: Vectors) -> FloatArray:
    return np.concatenate([words, np.ones((*words.shape[:2], 1))], axis=2)


def _divergence(chances: FloatArray) -> FloatArray:
    shares = chances / chances.sum(axis=1, keepdims=True)
    return np.asarray((shares * np.log(shares.shape[1] * shares)).sum(axis=1))


_TARGETS, _ATTRIBUTES = Exchange("targets"), Exchange("attributes")
_NEARER_Y = "the attributes lie nearer to the words of Y"
_UNEQUAL = "some targets are taken for more negative than others"
_ALWAYS_ABOVE = "it is above 0 for any words"

KNOWN: Mapping[str, BiasMeasure] = {
    "weat": BiasMeasure(
        "weat_effect/1",
        "the words of X go with A",
        weat_effect,
        scale=lambda groups: effect_scale(groups.x.shape[1], groups.y.shape[1], 0),
        null=_TARGETS,
        dealt=_weat_dealt,
    ),
    "rnd": BiasMeasure(
        "rnd/1",
        _NEARER_Y,
        relative_norm_distance,
        scale=cut(-2.0, 2.0),
        null=_TARGETS,
        takes="each",
        dealt=_rnd_dealt,
    ),
    "rnd_raw": BiasMeasure(
        "rnd_raw/1",
        _NEARER_Y,
        partial(relative_norm_distance, is_raw=True),
        null=_TARGETS,
        takes="each",
        dealt=partial(_rnd_dealt, is_raw=True),
    ),
    "rnsb": BiasMeasure("rnsb/1", _UNEQUAL, negative_sentiment, scale=LOG._replace(is_size=True), null=_ALWAYS_ABOVE),
    "rnsb_penalised": BiasMeasure(
        "rnsb_penalised/1",
        _UNEQUAL,
        partial(negative_sentiment, is_penalised=True),
        scale=LOG._replace(is_size=True),
        null=_ALWAYS_ABOVE,
    ),
    "rnsb_splits": BiasMeasure(
        "rnsb_splits/1",
        "the choice of a split moves RNSB more",
        spread_of_splits,
        None,
        LOG._replace(is_size=True),
        null="splits are no sample of anything",
    ),
    "mac": BiasMeasure(
        "mac/1",
        "the targets lie further from the attributes",
        mean_average_cosine,
        1.0,
        cut(0.0, 2.0),
        null="nothing would make it 1: cosines of unrelated words are above 0",
    ),
    "ect": BiasMeasure(
        "ect/1",
        "X and Y are near to the attributes in one order, which is less bias",
        embedding_coherence,
        1.0,
        FISHER,
        null=Exchange("targets", "less"),
        takes="each",
        dealt=_ect_dealt,
    ),
    "ripa": BiasMeasure(
        "ripa/1",
        "the attributes go with the words of X",
        relational_inner_product,
        null=Exchange("pairs"),
        takes="each",
        in_pairs=True,
        dealt=_ripa_dealt,
    ),
    "ripa_component": BiasMeasure(
        "ripa_component/1",
        "the attributes go with the words of X",
        relational_component,
        null="an exchange of words leaves the component of the pairs as a line as it is",
        takes="each",
        in_pairs=True,
    ),
    "semaxis": BiasMeasure(
        "semaxis/1",
        "the word goes with A",
        semantic_axis,
        scale=FISHER,
        null=_ATTRIBUTES,
        of_words=True,
        dealt=_semaxis_dealt,
    ),
    "nas": BiasMeasure(
        "nas/1",
        "the word goes with A",
        normalised_association,
        scale=lambda groups: effect_scale(groups.a.shape[1], groups.b.shape[1], 1),
        null=_ATTRIBUTES,
        of_words=True,
        dealt=_nas_dealt,
    ),
}
"""By the name in ``measures``."""
