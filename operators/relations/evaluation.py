"""How good relations are that a model or rules give: counts by what was drawn independently, and what is made of them.

Of the instances of a relation, ``gold`` have it, ``predicted`` are given it, and ``right`` are both:

    P = right / predicted,    R = right / gold,    F1 = 2 right / (predicted + gold),

with sums over all relations but ``no_relation`` (micro, as for TACRED; Zhang et al. 2017), over one, or as a mean of F1
over relations (macro). The official score of SemEval-2010 task 8 (Hendrickx et al. 2010) is a macro F1 over relations
of both directions taken together, where an instance is right if its direction is.

Instances of one sentence share words, and sentences of one document a topic. So units are documents where they hold
several sentences, else sentences; each measure is a ratio A / B of sums over units i and moves by

    u_i = (a_i - A / B b_i) N / B

(:func:`.means.influenced`); a mean over relations or seeds moves by the mean of theirs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.compute.arrays import BoolArray, FloatArray, IntArray
from tiltmeter.operators.relations.instances import NO_RELATION
from tiltmeter.operators.statistics import means
from tiltmeter.operators.statistics.intervals import LOGIT, Scale
from tiltmeter.operators.statistics.resampling import Estimate, resampled_counts
from tiltmeter.operators.statistics.units import Inferred, Units, each, units_of

VERSION = "relation_evaluation/2"

ALL, MACRO, OFFICIAL = "all", "macro", "official"
"""In place of a relation: micro over all, the mean over relations, and that of SemEval."""

MEASURES = ("precision", "recall", "f1")

LEAST = {"sentence": means.MIN_SENTENCES, "document": 6}
"""Units of one size that an interval needs, by their kind: linearised ratios of fewer spread too little."""


def independent_units(documents: Sequence[str | None], sentences: Sequence[int]) -> Units:
    """Documents, where some hold several sentences, else sentences. A sentence of no document is a unit of its own.

    Args:
        documents, sentences: of each instance, names (None or "" without one) and numbers.

    >>> independent_units(["a", "a", "", "b"], [0, 1, 2, 3])
    Units(codes=array([0, 0, 1, 2]), num=3, kind='document')
    >>> independent_units(["a", "a", "b"], [0, 0, 3])
    Units(codes=array([0, 0, 1]), num=2, kind='sentence')
    """
    places = {(document, sentence) for document, sentence in zip(documents, sentences, strict=True) if document}
    if len(places) == len({document for document, _ in places}):
        return units_of(sentence_numbers(sentences), "sentence")
    names = [document or ("no document", sentence) for document, sentence in zip(documents, sentences, strict=True)]
    return units_of(names, "document")


@dataclass(frozen=True)
class Counts:
    """Attributes:
    relations: in the order of the numbers, without ``no_relation``.
    right, predicted, gold: ``[units, relations]``.
    """

    relations: tuple[str, ...]
    right: FloatArray
    predicted: FloatArray
    gold: FloatArray

    def totals(self, weights: NDArray[np.integer] | None = None) -> "Counts":
        """Sums over units: ``[relations]``, or ``[resamples, relations]`` for how often each resample has each."""
        times = np.ones((1, len(self.right))) if weights is None else np.asarray(weights, dtype=np.float64)
        sums = (times @ table for table in (self.right, self.predicted, self.gold))
        return Counts(self.relations, *(table[0] if weights is None else table for table in sums))


def count_relations(gold: Sequence[str], predicted: Sequence[str], units: Units, relations: Sequence[str]) -> Counts:
    """Count by unit.

    Args:
        gold, predicted: of each instance.
        units: of the instances.
        relations: that are counted; ``no_relation`` is left out.

    >>> from tiltmeter.operators.statistics.units import units_of
    >>> counts = count_relations(["a", "b", "no_relation"], ["a"] * 3, units_of([0, 0, 1], "sentence"), ["a", "b"])
    >>> counts.totals().right.tolist(), counts.totals().predicted.tolist(), counts.totals().gold.tolist()
    ([1.0, 0.0], [3.0, 0.0], [1.0, 1.0])
    """
    names = tuple(sorted({*relations} - {NO_RELATION}))
    places = {name: place for place, name in enumerate(names)}
    tables = np.zeros((3, units.num, len(names)))
    for unit, true, given in zip(units.codes.tolist(), gold, predicted, strict=True):
        if given in places:
            tables[1, unit, places[given]] += 1.0
            tables[0, unit, places[given]] += given == true
        if true in places:
            tables[2, unit, places[true]] += 1.0
    return Counts(names, *tables)


def measured(counts: Counts) -> dict[tuple[str, str], FloatArray]:
    """Every measure by (relation, measure), of totals: numbers, or ``[resamples]``. NaN where nothing is counted.

    >>> from tiltmeter.operators.statistics.units import units_of
    >>> counts = count_relations(["a", "b", "b"], ["a", "a", "b"], units_of([0, 0, 1], "sentence"), ["a", "b"])
    >>> {key[0]: round(float(value), 4) for key, value in measured(counts.totals()).items() if key[1] == "f1"}
    {'all': 0.6667, 'macro': 0.6667, 'official': 0.6667, 'a': 0.6667, 'b': 0.6667}
    """
    tables = (counts.right, counts.predicted, counts.gold)
    values = {(ALL, name): value for name, value in _scores(*(table.sum(axis=-1) for table in tables)).items()}
    of_each = _scores(*tables)
    values[MACRO, "f1"] = _mean_of_known(of_each["f1"])
    values[OFFICIAL, "f1"] = _official(counts)
    for place, relation in enumerate(counts.relations):
        values |= {(relation, name): of_each[name][..., place] for name in MEASURES}
    return values


def _scores(right: FloatArray, predicted: FloatArray, gold: FloatArray) -> dict[str, FloatArray]:
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = right / predicted, right / gold, 2.0 * right / (predicted + gold)
    return dict(zip(MEASURES, (np.asarray(share) for share in shares), strict=True))


class Statistic(NamedTuple):
    """A measure of models of one kind, or of what they write.

    Attributes:
        value: what is published.
        seeds: ``[seeds]``, by each training; one without several.
        influence: ``[items]``, u_i as above, mean over seeds.
        weights: ``[items]``, how much each counts for.
    """

    value: float
    seeds: FloatArray
    influence: FloatArray
    weights: FloatArray

    def inferred(self, units: Units, level: float, scale: Scale = LOGIT) -> Inferred:
        """With the interval over units of the items and over seeds; none where nothing is counted or units are few."""
        value, seeds, influence, weights = self
        least = LEAST[units.kind]
        return means.influenced(
            value, influence, units, level=level, scale=scale, seeds=seeds, weights=weights, least=least
        )

    @property
    def spread(self) -> float:
        """Standard deviation over seeds; NaN of one."""
        return float(np.std(self.seeds, ddof=1)) if self.seeds.size > 1 else float("nan")


def statistics(counts: Sequence[Counts]) -> dict[tuple[str, str], Statistic]:
    """Every measure of :func:`measured` by (relation, measure), of runs that differ by their seeds alone.

    >>> from tiltmeter.operators.statistics.units import units_of
    >>> counts = count_relations(["a", "b", "b"], ["a", "a", "b"], units_of([0, 0, 1], "sentence"), ["a", "b"])
    >>> statistics([counts])["all", "precision"].influence.round(3).tolist()
    [-0.222, 0.222]
    """
    right, predicted, gold = (
        np.stack([getattr(one, name) for one in counts]) for name in ("right", "predicted", "gold")
    )
    ratios = dict(zip(MEASURES, ((right, predicted), (right, gold), (2.0 * right, predicted + gold)), strict=True))
    relations = counts[0].relations
    single, above, below = np.eye(len(relations)), *ratios["f1"]
    made = {
        (ALL, name): _ratio(a.sum(axis=2, keepdims=True), b.sum(axis=2, keepdims=True))
        for name, (a, b) in ratios.items()
    }
    for name, columns in ((MACRO, single), (OFFICIAL, _directions(relations))):
        made[name, "f1"] = _ratio(above @ columns, below @ columns, unknown=0.0)
    for place, relation in enumerate(relations):
        made |= {(relation, name): _ratio(a[:, :, [place]], b[:, :, [place]]) for name, (a, b) in ratios.items()}
    return made


def _ratio(above: FloatArray, below: FloatArray, unknown: float = float("nan")) -> Statistic:
    """The mean over columns and runs of ratios of sums over units; ``[runs, units, columns]`` both."""
    totals = below.sum(axis=1)
    values = np.where(totals > 0.0, above.sum(axis=1) / np.maximum(totals, 1.0), unknown)
    moved = above - np.nan_to_num(values)[:, np.newaxis, :] * below
    influence = moved * (below.shape[1] / np.maximum(totals, 1.0))[:, np.newaxis, :]
    num = max(1, values.shape[1])
    seeds = values.sum(axis=1) / num
    moved = influence.mean(axis=0).sum(axis=1) / num
    return Statistic(float(seeds.mean()), seeds, moved, below.mean(axis=0).sum(axis=1))


def f1_difference(first: Sequence[Counts], second: Sequence[Counts], kind: str, level: float) -> Inferred:
    """Micro F1 of the first runs less that of the second, with interval and p (:func:`.means.f1_difference`).

    Args:
        first, second: of the same instances, each of runs that differ by their seeds alone.
        kind: of the units by which they are counted.
    """
    units = each(len(first[0].right), kind)
    return means.f1_difference(_together(first), _together(second), units, level=level, least=LEAST[kind])


def _together(counts: Sequence[Counts]) -> means.Counts:
    """Of all relations, ``[runs, units]``."""
    tables = ([getattr(one, name).sum(axis=1) for one in counts] for name in ("right", "predicted", "gold"))
    return means.Counts(*(np.stack(table) for table in tables))


def _official(counts: Counts) -> FloatArray:
    """Directions such as ``(e1,e2)`` behind the name of a relation are taken together."""
    groups = _directions(counts.relations)
    tables = (table @ groups for table in (counts.right, counts.predicted, counts.gold))
    return _mean_of_known(_scores(*tables)["f1"])


def _directions(relations: Sequence[str]) -> FloatArray:
    """``[relations, names]``, which names they have without their directions."""
    names = [name.partition("(")[0] for name in relations]
    groups = sorted({*names})
    return np.array([[name == group for group in groups] for name in names], dtype=float).reshape(
        len(names), len(groups)
    )


def _mean_of_known(f1: FloatArray) -> FloatArray:
    """A relation that nothing has and nothing is given counts 0, as in the official scorers; so do no relations."""
    return np.asarray(np.nan_to_num(f1, nan=0.0).sum(axis=-1) / max(1, f1.shape[-1]))


def estimates(counts: Sequence[Counts], seed: int, about: int, num_resamples: int) -> dict[tuple[str, str], Estimate]:
    """Every measure, as a mean over runs, with its resamples of units: the same ones for all models of one key.

    Args:
        counts: of runs that differ by their seeds alone.
        seed, about: as for :func:`.resampled_counts`.
    """
    num_units = len(counts[0].right)
    blocks = list(resampled_counts(np.zeros(num_units, dtype=np.int64), seed, about, num_resamples))
    values = _mean([measured(one.totals()) for one in counts])
    drawn = [_mean([measured(one.totals(block)) for one in counts]) for block in blocks]
    return {
        key: Estimate(value, np.concatenate([np.atleast_1d(block[key]) for block in drawn]), num_units)
        for key, value in values.items()
    }


def _mean(runs: Sequence[Mapping[tuple[str, str], FloatArray]]) -> dict[tuple[str, str], FloatArray]:
    return {key: np.asarray(np.mean([run[key] for run in runs], axis=0)) for key in runs[0]}


def calibration_error(probabilities: FloatArray, right: BoolArray, num_bins: int = 10) -> float:
    """Mean distance of confidence and accuracy over bins of confidence of one width (Naeini et al. 2015).

    >>> calibration_error(np.array([0.9, 0.9, 0.9, 0.9]), np.array([True, True, True, False]))
    0.15
    """
    if not right.size:
        return float("nan")
    bins: IntArray = np.minimum((probabilities * num_bins).astype(np.int64), num_bins - 1)
    gaps = [abs(probabilities[bins == place].sum() - right[bins == place].sum()) for place in np.unique(bins)]
    return round(float(sum(gaps)) / right.size, 12)


def sentence_numbers(keys: Sequence[object]) -> IntArray:
    """Numbers of sentences from 0, in the order of their first instances.

    >>> sentence_numbers(["x", "y", "x"]).tolist()
    [0, 1, 0]
    """
    numbers: dict[object, int] = {}
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.int64)
