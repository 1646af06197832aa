"""Rows of the table of slices."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tiltmeter.jobs.classifiers.errors.material import Material
from tiltmeter.jobs.runtime.rows import OK, Row, failed
from tiltmeter.operators.classifiers.errors.slices.confirmation import confirmed_p, rates_of, sliceline_score
from tiltmeter.operators.classifiers.errors.slices.group_flips import MIN_WITHIN
from tiltmeter.operators.classifiers.errors.slices.leading import Conjunction, rows_with
from tiltmeter.operators.classifiers.errors.slices.max_t import adjusted
from tiltmeter.operators.classifiers.errors.slices.predicates import Predicates
from tiltmeter.operators.classifiers.errors.slices.search import Candidates, SliceConfig, candidates_of, leading, plain
from tiltmeter.operators.compute.arrays import BoolArray, FloatArray, IntArray
from tiltmeter.operators.statistics.shares import Rates
from tiltmeter.operators.statistics.units import TooFew


def explored(material: Material, made: Predicates, exploring: BoolArray, config: SliceConfig) -> Candidates:
    """What is tested, of the texts that explore."""
    errors, strata, units = material.errors[exploring], material.strata[exploring], material.units.part(exploring)
    return candidates_of(made.members[:, exploring], made.predicates, errors, strata, units, config)


def slice_rows(
    material: Material,
    made: Predicates,
    confirming: BoolArray,
    hits: IntArray,
    suspected: BoolArray,
    config: SliceConfig,
    level: float,
) -> list[Row]:
    """All slices: the leading ones first, then by score.

    Args:
        confirming: ``[texts]``, whether each confirms.
        hits: of all permutations.
        suspected: ``[texts]``, whether the label is.
    """
    exploring = ~confirming
    errors, strata, units = material.errors[exploring], material.strata[exploring], material.units.part(exploring)
    candidates = explored(material, made, exploring, config)
    p_values = adjusted(hits, candidates.statistics.value, config.num_permutations)
    first = leading(candidates, p_values, made.members[:, exploring], errors, strata, units, config.alpha)
    slices = [plain(row) for row in candidates.conjunctions]
    scores = _scores(candidates, errors, config)
    rates = rates_of((rows_with(made.members, slice_)[exploring] for slice_ in slices), errors, units, level)
    rows = _explored(made, slices, candidates, p_values, scores, rates, float(errors.mean()))
    others = _confirmed(material, made, slices, first, confirming, suspected, level)
    merged = [row | other for row, other in zip(rows, others, strict=True)]
    return sorted(
        merged,
        key=lambda row: (row["leading"] or len(merged) + 1, -np.nan_to_num(row["score"], nan=-np.inf), row["slice"]),
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
    rates: Rates,
    overall: float,
) -> Iterator[Row]:
    statistics = candidates.statistics
    differences = (statistics.errors - statistics.expected) / statistics.size
    for place, conjunction in enumerate(slices):
        yield {
            "slice": name_of(made, conjunction),
            "num_predicates": len(conjunction),
            "predicates": [made.predicates[number].name for number in conjunction],
            "size": int(statistics.size[place]),
            "num_groups": _num_within(candidates, place),
            "error_rate": float(rates.rate[place]),
            "low": float(rates.low[place]),
            "high": float(rates.high[place]),
            "lift": float(rates.rate[place] / overall),
            "difference": float(differences[place]),
            "t": float(statistics.value[place]),
            "p_value": float(p_values[place]),
            "score": float(scores[place]),
            "num_folded": int(candidates.num_folded[place]),
        } | _status(candidates, place)


def _num_within(candidates: Candidates, place: int) -> int:
    grouped = candidates.grouped
    return int(candidates.statistics.size[place] if grouped is None else grouped.num_within[place])


def _status(candidates: Candidates, place: int) -> Row:
    grouped, num = candidates.grouped, _num_within(candidates, place)
    too_few = None if grouped is None else grouped.too_few
    if grouped is not None and num < MIN_WITHIN:
        too_few = too_few or TooFew(num, MIN_WITHIN, f"{grouped.units.kind} with texts in the slice")
    if too_few is not None:
        return failed("too_few_units", too_few.reason)
    if np.isnan(candidates.statistics.value[place]):
        return failed("fixed", "the predicted classes fix its errors")
    return OK


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
    wrong, strata, units = material.errors[confirming], material.strata[confirming], material.units.part(confirming)
    present = np.bincount(strata, minlength=int(material.strata.max()) + 1)
    expected = (np.bincount(strata, wrong, minlength=len(present)) / np.maximum(present, 1))[strata]
    p_values = confirmed_p(made.members[:, confirming], first, wrong, strata, units)
    rates = rates_of((rows_with(made.members, slice_)[confirming] for slice_ in slices), wrong, units, level)
    for place, conjunction in enumerate(slices):
        members = rows_with(made.members, conjunction)
        inside, errors = members[confirming], members & material.errors
        leads = conjunction in first
        yield {
            "leading": first.index(conjunction) + 1 if leads else None,
            "confirmed_size": int(inside.sum()),
            "confirmed_rate": float(rates.rate[place]),
            "confirmed_low": float(rates.low[place]),
            "confirmed_high": float(rates.high[place]),
            "confirmed_difference": float(rates.rate[place] - expected[inside].mean()) if inside.any() else np.nan,
            "confirmed_p": float(p_values[first.index(conjunction)]) if leads else None,
            "suspected_share": float(suspected[errors].mean()) if errors.any() else np.nan,
        }
