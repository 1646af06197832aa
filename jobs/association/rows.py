"""One association test on one model: how it is made, and a row for every measure of similarity and statistic."""

import math
from collections.abc import Iterator, Sequence
from itertools import product
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from tiltmeter.jobs.association.config import AssociationConfig
from tiltmeter.jobs.embedding.lookup import Lookup, estimate
from tiltmeter.jobs.runtime.rows import Row, failed
from tiltmeter.operators.association.scores import Statistic, associations, effect_scale, effect_size, weat_score
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.embedding.bootstrap import ORIGINAL
from tiltmeter.operators.embedding.similarity import Measure, pairwise
from tiltmeter.operators.statistics.partitions.permutation import MAX_WORDS, monte_carlo_p_value, permutation_p_value
from tiltmeter.operators.text.wordsets import Association

SIDES = ("target_x", "target_y", "attribute_a", "attribute_b")


class Precisions(NamedTuple):
    """Of both attribute sets, ``[embeddings, dims, dims]``, or why there are none."""

    of_a: NDArray[np.float64] | None
    of_b: NDArray[np.float64] | None
    problem: str


def associate(
    lookup: Lookup,
    name: str,
    test: Association,
    config: AssociationConfig,
    precisions: Precisions | None = None,
    seed: int | None = None,
) -> list[Row]:
    """A row for every measure of similarity and statistic.

    Args:
        lookup: the vectors.
        name: of the test.
        test: its word sets.
        config: how it is made.
        precisions: for the Mahalanobis distance.
        seed: for Monte Carlo p-values.
    """
    sets = [getattr(test, side).words for side in SIDES]
    present = [lookup.present(words) for words in sets]
    row = {
        "test": name,
        **{side: getattr(test, side).name for side in SIDES},
        "ddof": config.ddof,
        "alternative": config.alternative,
        "num_targets": len(present[0]) + len(present[1]),
        "num_attributes": len(present[2]) + len(present[3]),
        "missing_words": lookup.missing([word for words in sets for word in words]),
    }
    reason = _unusable(lookup, test, present, config)
    results = _without_result(config, reason) if reason else _sweep(lookup, present, config, precisions)
    return [row | measured | _p_value(scores, len(present[0]), name, config, seed) for measured, scores in results]


def _unusable(lookup: Lookup, test: Association, present: Sequence[list[str]], config: AssociationConfig) -> Row:
    """Why the words that are left can't be tested; empty if they can."""
    for side, words in zip(SIDES, present, strict=True):
        listed = getattr(test, side)
        needed = num_needed(len(listed.words), config)
        if len(words) < needed:
            left = f"{side} ({listed.name}) has {len(words)} of its {len(listed.words)} words left"
            return failed("too_few_words", f"{left}, and needs {needed}")
    if shared := lookup.shared(present[0], present[1]):
        return failed("same_words", f"the embedding spells {shared} of target_x like words of target_y")
    return {}


def num_needed(num_words: int, config: AssociationConfig) -> int:
    """Words that must be left of a set of so many."""
    # The product of a share such as 0.28 and 25 may lie a rounding error above 7.
    return max(config.min_words, math.ceil(config.min_share * num_words - 1e-9))


_Scores = NDArray[np.float64]


def _without_result(config: AssociationConfig, reason: Row) -> Iterator[tuple[Row, _Scores]]:
    for similarity, statistic in product(config.similarities, config.statistics):
        row = {**_method(similarity, statistic, config), "num_replicas": 0}
        yield row | reason, np.array([np.nan])


def _sweep(
    lookup: Lookup, present: Sequence[Sequence[str]], config: AssociationConfig, precisions: Precisions | None
) -> Iterator[tuple[Row, _Scores]]:
    """A row for every measure of similarity and statistic, with the original's associations ``[targets]``."""
    x, y, a, b = present
    targets, to_a, to_b = lookup([*x, *y]), lookup(a), lookup(b)
    for similarity in config.similarities:
        near = precisions if similarity == "mahalanobis" and precisions else Precisions(None, None, "")
        near_a = pairwise(targets, to_a, similarity, near.of_a)
        near_b = pairwise(targets, to_b, similarity, near.of_b)
        for statistic in config.statistics:
            scores = associations(near_a, near_b, statistic, similarity)
            row = {**_method(similarity, statistic, config), **_result(lookup, scores, len(x), config)}
            yield row | (failed("no_covariance", near.problem) if near.problem else {}), scores[ORIGINAL]


def _method(similarity: Measure, statistic: Statistic, config: AssociationConfig) -> Row:
    covariance = config.covariance if similarity == "mahalanobis" else None
    return {"similarity": similarity, "statistic": statistic, "covariance": covariance}


def _result(lookup: Lookup, scores: _Scores, num_x: int, config: AssociationConfig) -> Row:
    effects = effect_size(scores, num_x, config.ddof)
    scale = effect_scale(num_x, scores.shape[1] - num_x, config.ddof)
    row = {
        **estimate("score", lookup.taken_apart(weat_score(scores, num_x)), config),
        **estimate("effect_size", lookup.taken_apart(effects), config, scale),
        "absolute_effect_size": abs(float(effects[ORIGINAL])),
        **lookup.basis(effects),
    }
    if np.isfinite(scores[ORIGINAL]).all() and np.isnan(effects[ORIGINAL]):
        row |= failed("no_spread", "all target words are associated alike, so there is no effect size")
    return row


def _p_value(scores: _Scores, num_x: int, name: str, config: AssociationConfig, seed: int | None) -> Row:
    if not np.isfinite(scores).all():
        return {}
    most = MAX_WORDS[config.p_value]
    if scores.size > most:
        advice = "draw some instead (job.p_value=monte_carlo)" if config.p_value == "certified" else "take fewer"
        return failed("too_many_words", f"the partitions of over {most} targets are too many for a p-value: {advice}")
    x, y = scores[:num_x], scores[num_x:]
    if config.p_value == "monte_carlo":
        # The same test draws the same partitions, whatever else is measured.
        key = document_key(name)
        p = monte_carlo_p_value(x, y, config.num_draws, cast(int, seed), key, config.alternative)
    else:
        p = permutation_p_value(x, y, config.relative_width, config.alternative)
    names = ("p_value", "p_low", "p_high", "p_method", "p_standard_error")
    return dict(zip(names, p, strict=True))
