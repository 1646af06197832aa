"""Rows of the table of slices."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tiltmeter.jobs.classifiers.errors.material import Material
from tiltmeter.operators.classifiers.errors.slices.confirmation import confirmed_p, sliceline_score
from tiltmeter.operators.classifiers.errors.slices.leading import Conjunction
from tiltmeter.operators.classifiers.errors.slices.max_t import adjusted
from tiltmeter.operators.classifiers.errors.slices.predicates import Predicates
from tiltmeter.operators.classifiers.errors.slices.search import (
    Candidates,
    SliceConfig,
    candidates_of,
    confirming_values,
    leading,
    plain,
)
from tiltmeter.operators.compute.arrays import BoolArray, FloatArray, IntArray
from tiltmeter.operators.statistics.shares import clopper_pearson


def slice_rows(
    material: Material,
    made: Predicates,
    confirming: BoolArray,
    hits: IntArray,
    suspected: BoolArray,
    config: SliceConfig,
    level: float,
) -> list[dict[str, Any]]:
    """All slices: the leading ones first, then by score.

    Args:
        confirming: ``[texts]``, whether each confirms.
        hits: of all permutations.
        suspected: ``[texts]``, whether the label is.
    """
    exploring = ~confirming
    explored = made.members[:, exploring], material.errors[exploring], material.strata[exploring]
    candidates = candidates_of(explored[0], made.predicates, explored[1], explored[2], config)
    p_values = adjusted(hits, candidates.statistics.value, config.num_permutations)
    first = leading(candidates, p_values, *explored, config.alpha)
    slices = [plain(row) for row in candidates.conjunctions]
    scores = _scores(candidates, explored[1], config)
    rows = list(_explored(made, slices, candidates, p_values, scores, explored[1], level))
    others = _confirmed(material, made, slices, first, confirming, suspected, level)
    merged = [row | other for row, other in zip(rows, others, strict=True)]
    return sorted(
        merged,
        key=lambda row: (row["leading"] or len(rows) + 1, -np.nan_to_num(row["score"], nan=-np.inf), row["slice"]),
    )


def name_of(made: Predicates, conjunction: Conjunction) -> str:
    """A slice as tables name it."""
    return " and ".join(made.predicates[number].name for number in conjunction)


def _scores(candidates: Candidates, errors: BoolArray, config: SliceConfig) -> FloatArray:
    statistics = candidates.statistics
    if config.score == "max_t":
        return statistics.value
    return sliceline_score(statistics.errors, statistics.size, int(errors.sum()), len(errors))


def _explored(
    made: Predicates,
    slices: Sequence[Conjunction],
    candidates: Candidates,
    p_values: FloatArray,
    scores: FloatArray,
    errors: BoolArray,
    level: float,
) -> Iterator[dict[str, Any]]:
    statistics = candidates.statistics
    rates = clopper_pearson(statistics.errors, statistics.size, level)
    differences = (statistics.errors - statistics.expected) / statistics.size
    for place, conjunction in enumerate(slices):
        yield {
            "slice": name_of(made, conjunction),
            "num_predicates": len(conjunction),
            "predicates": [made.predicates[number].name for number in conjunction],
            "size": int(statistics.size[place]),
            "error_rate": float(rates.rate[place]),
            "low": float(rates.low[place]),
            "high": float(rates.high[place]),
            "lift": float(rates.rate[place] / errors.mean()),
            "difference": float(differences[place]),
            "t": float(statistics.value[place]),
            "p_value": float(p_values[place]),
            "score": float(scores[place]),
            "num_folded": int(candidates.num_folded[place]),
        }


def _confirmed(
    material: Material,
    made: Predicates,
    slices: Sequence[Conjunction],
    first: Sequence[Conjunction],
    confirming: BoolArray,
    suspected: BoolArray,
    level: float,
) -> Iterator[dict[str, Any]]:
    """What texts say of each slice that did not choose it."""
    errors, strata = material.errors, material.strata
    members, wrong = made.members[:, confirming], errors[confirming]
    class_rate = np.array(
        [
            wrong[strata[confirming] == number].mean() if (strata[confirming] == number).any() else 0.0
            for number in range(strata.max() + 1)
        ]
    )
    p_values = (
        dict(zip(first, confirmed_p(confirming_values(members, first, wrong, strata[confirming])), strict=True))
        if first
        else {}
    )
    for conjunction in slices:
        inside = members[list(conjunction)].all(axis=0)
        rates = clopper_pearson(np.array([(inside & wrong).sum()]), np.array([inside.sum()]), level)
        everywhere = made.members[list(conjunction)].all(axis=0) & errors
        rate, expected = float(rates.rate[0]), class_rate[strata[confirming]][inside]
        yield {
            "leading": first.index(conjunction) + 1 if conjunction in p_values else None,
            "confirmed_size": int(inside.sum()),
            "confirmed_rate": rate,
            "confirmed_low": float(rates.low[0]),
            "confirmed_high": float(rates.high[0]),
            "confirmed_difference": rate - float(expected.mean()) if expected.size else np.nan,
            "confirmed_p": float(p_values[conjunction]) if conjunction in p_values else None,
            "suspected_share": float(suspected[everywhere].mean()) if everywhere.any() else np.nan,
        }
