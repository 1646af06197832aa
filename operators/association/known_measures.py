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
from scipy.stats import rankdata

from tiltmeter.operators.association.measures import BiasMeasure, Exchange, Groups
from tiltmeter.operators.association.scores import associations, effect_scale, effect_size, wefat
from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.compute.generators import keyed_generator
from tiltmeter.operators.compute.philox import Stream
from tiltmeter.operators.embedding.similarity import pairwise
from tiltmeter.operators.statistics.intervals import FISHER, LOG
from tiltmeter.operators.statistics.text_intervals import cut

_NUM_SPLITS, _SHARE_HELD_OUT = 10, 0.2
_LEAST_ATTRIBUTES = 3

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
    to_x, to_y = (_cosines(_mean(vectors), groups.a)[:, 0] for vectors in (groups.x, groups.y))
    if to_x.shape[1] < _LEAST_ATTRIBUTES:
        return np.full(len(to_x), np.nan)
    first, second = (rankdata(near, axis=1) - (near.shape[1] + 1) / 2 for near in (to_x, to_y))
    with np.errstate(invalid="ignore"):
        rho = (first * second).sum(axis=1) / np.sqrt((first**2).sum(axis=1) * (second**2).sum(axis=1))
    return np.asarray(np.where(np.isnan(to_x + to_y).any(axis=1), np.nan, rho))


def relational_inner_product(groups: Groups) -> FloatArray:
    """RIPA = mean over pairs and a in A of a . (x - y) / |x - y|, raw (Ethayarajh, Duvenaud and Hirst 2019).

    Their relation vector of several pairs is a first principal component; the mean over pairs, as WEFE has it, needs
    no choice of its sign.
    """
    return np.asarray((groups.a @ np.swapaxes(_unit(groups.x - groups.y), 1, 2)).mean(axis=(1, 2)))


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
    from sklearn.linear_model import LogisticRegression  # takes a second

    targets, known = (np.concatenate(sides, axis=1).astype(float) for sides in (groups[:2], (positive, negative)))
    is_negative = np.arange(known.shape[1]) >= positive.shape[1]
    fit = LogisticRegression(C=1.0, tol=1e-10, max_iter=1000, solver="newton-cholesky", fit_intercept=not is_penalised)
    chances = np.full(targets.shape[:2], np.nan)
    with_one = _with_one if is_penalised else np.asarray
    for number, (asked, given) in enumerate(zip(targets, known, strict=True)):
        if np.isfinite(asked).all() and np.isfinite(given).all():
            chances[number] = fit.fit(with_one(given), is_negative).predict_proba(with_one(asked))[:, 1]
    return chances


def _with_one(words: Vectors) -> FloatArray:
    return np.hstack([words, np.ones((len(words), 1))])


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
    ),
    "rnd": BiasMeasure("rnd/1", _NEARER_Y, relative_norm_distance, scale=cut(-2.0, 2.0), null=_TARGETS, takes="each"),
    "rnd_raw": BiasMeasure(
        "rnd_raw/1", _NEARER_Y, partial(relative_norm_distance, is_raw=True), null=_TARGETS, takes="each"
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
    ),
    "ripa": BiasMeasure(
        "ripa/1",
        "the attributes go with the words of X",
        relational_inner_product,
        null=Exchange("pairs"),
        takes="each",
        in_pairs=True,
    ),
    "semaxis": BiasMeasure(
        "semaxis/1", "the word goes with A", semantic_axis, scale=FISHER, null=_ATTRIBUTES, of_words=True
    ),
    "nas": BiasMeasure(
        "nas/1",
        "the word goes with A",
        normalised_association,
        scale=lambda groups: effect_scale(groups.a.shape[1], groups.b.shape[1], 1),
        null=_ATTRIBUTES,
        of_words=True,
    ),
}
"""By the name in ``measures``."""
