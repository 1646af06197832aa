"""How good relations are that a model or rules give: counts by sentence, and what is made of them and their resamples.

Of the instances of a relation, ``gold`` have it, ``predicted`` are given it, and ``right`` are both:

    P = right / predicted,    R = right / gold,    F1 = 2 right / (predicted + gold),

with sums over all relations but ``no_relation`` (micro, as for TACRED; Zhang et al. 2017), over one, or as a mean of F1
over relations (macro). The official score of SemEval-2010 task 8 (Hendrickx et al. 2010) is a macro F1 over relations
of both directions taken together, where an instance is right if its direction is.

Sentences are resampled as wholes, since their instances share words (:mod:`.statistics.resampling`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest

from tiltmeter.operators.compute.arrays import BoolArray, FloatArray, IntArray
from tiltmeter.operators.relations.instances import NO_RELATION
from tiltmeter.operators.statistics.resampling import Estimate, resampled_counts

VERSION = "relation_evaluation/1"

ALL, MACRO, OFFICIAL = "all", "macro", "official"
"""In place of a relation: micro over all, the mean over relations, and that of SemEval."""

MEASURES = ("precision", "recall", "f1")


@dataclass(frozen=True)
class Counts:
    """Attributes:
    relations: in the order of the numbers, without ``no_relation``.
    right, predicted, gold: ``[sentences, relations]``.
    """

    relations: tuple[str, ...]
    right: FloatArray
    predicted: FloatArray
    gold: FloatArray

    def totals(self, weights: NDArray[np.integer] | None = None) -> "Counts":
        """Sums over sentences: ``[relations]``, or ``[resamples, relations]`` for how often each resample has each."""
        times = np.ones((1, len(self.right))) if weights is None else np.asarray(weights, dtype=np.float64)
        sums = (times @ table for table in (self.right, self.predicted, self.gold))
        return Counts(self.relations, *(table[0] if weights is None else table for table in sums))


def count_relations(
    gold: Sequence[str], predicted: Sequence[str], sentences: NDArray[np.integer], relations: Sequence[str]
) -> Counts:
    """Count by sentence.

    Args:
        gold, predicted: of each instance.
        sentences: ``[instances]``, numbers of their sentences from 0, all of which occur.
        relations: that are counted; ``no_relation`` is left out.

    >>> counts = count_relations(["a", "b", "no_relation"], ["a", "a", "a"], np.array([0, 0, 1]), ["a", "b"])
    >>> counts.totals().right.tolist(), counts.totals().predicted.tolist(), counts.totals().gold.tolist()
    ([1.0, 0.0], [3.0, 0.0], [1.0, 1.0])
    """
    names = tuple(sorted({*relations} - {NO_RELATION}))
    places = {name: place for place, name in enumerate(names)}
    tables = np.zeros((3, int(sentences.max(initial=-1)) + 1, len(names)))
    for sentence, true, given in zip(sentences.tolist(), gold, predicted, strict=True):
        if given in places:
            tables[1, sentence, places[given]] += 1.0
            tables[0, sentence, places[given]] += given == true
        if true in places:
            tables[2, sentence, places[true]] += 1.0
    return Counts(names, *tables)


def measured(counts: Counts) -> dict[tuple[str, str], FloatArray]:
    """Every measure by (relation, measure), of totals: numbers, or ``[resamples]``. NaN where nothing is counted.

    >>> counts = count_relations(["a", "b", "b"], ["a", "a", "b"], np.array([0, 0, 1]), ["a", "b"])
    >>> {key[0]: round(float(value), 4) for key, value in measured(counts.totals()).items() if key[1] == "f1"}
    {'all': 0.6667, 'macro': 0.6667, 'official': 0.6667, 'a': 0.6667, 'b': 0.6667}
    """
    tables = (counts.right, counts.predicted, counts.gold)
    values = {(ALL, name): value for name, value in _scores(*(table.sum(axis=-1) for table in tables)).items()}
    of_each = _scores(*tables)
    values[MACRO, "f1"] = np.asarray(_known(of_each["f1"]).mean(axis=-1))
    values[OFFICIAL, "f1"] = _official(counts)
    for place, relation in enumerate(counts.relations):
        values |= {(relation, name): of_each[name][..., place] for name in MEASURES}
    return values


def _scores(right: FloatArray, predicted: FloatArray, gold: FloatArray) -> dict[str, FloatArray]:
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = right / predicted, right / gold, 2.0 * right / (predicted + gold)
    return dict(zip(MEASURES, (np.asarray(share) for share in shares), strict=True))


def sentences_counted(counts: Sequence[Counts]) -> dict[tuple[str, str], int]:
    """How many sentences have an instance that a measure counts, of any run, by (relation, measure).

    >>> counts = count_relations(["a", "b", "b"], ["a", "a", "b"], np.array([0, 0, 1]), ["a", "b"])
    >>> nums = sentences_counted([counts])
    >>> nums["all", "f1"], nums["a", "precision"], nums["b", "precision"], nums["b", "recall"]
    (2, 1, 1, 2)
    """
    predicted = np.any([one.predicted > 0.0 for one in counts], axis=0)
    gold = counts[0].gold > 0.0
    kept = dict(zip(MEASURES, (predicted, gold, predicted | gold), strict=True))
    nums = {(ALL, name): int(table.any(axis=1).sum()) for name, table in kept.items()}
    nums |= {(means, "f1"): nums[ALL, "f1"] for means in (MACRO, OFFICIAL)}
    for place, relation in enumerate(counts[0].relations):
        nums |= {(relation, name): int(table[:, place].sum()) for name, table in kept.items()}
    return nums


def _official(counts: Counts) -> FloatArray:
    """Directions such as ``(e1,e2)`` behind the name of a relation are taken together."""
    names = [name.partition("(")[0] for name in counts.relations]
    groups = np.array([[name == group for group in sorted({*names})] for name in names], dtype=np.float64)
    tables = (table @ groups for table in (counts.right, counts.predicted, counts.gold))
    return np.asarray(_known(_scores(*tables)["f1"]).mean(axis=-1))


def _known(f1: FloatArray) -> FloatArray:
    """A relation that nothing has and nothing is given counts 0, as in the official scorers."""
    return np.nan_to_num(f1, nan=0.0)


def estimates(counts: Sequence[Counts], seed: int, about: int, num_resamples: int) -> dict[tuple[str, str], Estimate]:
    """Every measure, as a mean over runs, with its resamples of sentences: the same ones for all models of one key.

    Args:
        counts: of runs that differ by their seeds alone.
        seed, about: as for :func:`.resampled_counts`.
    """
    num_sentences = len(counts[0].right)
    blocks = list(resampled_counts(np.zeros(num_sentences, dtype=np.int64), seed, about, num_resamples))
    values = _mean([measured(one.totals()) for one in counts])
    drawn = [_mean([measured(one.totals(block)) for one in counts]) for block in blocks]
    return {
        key: Estimate(value, np.concatenate([np.atleast_1d(block[key]) for block in drawn]), num_sentences)
        for key, value in values.items()
    }


def _mean(runs: Sequence[Mapping[tuple[str, str], FloatArray]]) -> dict[tuple[str, str], FloatArray]:
    return {key: np.asarray(np.mean([run[key] for run in runs], axis=0)) for key in runs[0]}


class Difference(NamedTuple):
    """Of two models on the same instances.

    Attributes:
        num_first, num_second: instances that the first alone has right, and the second alone.
        p_value: of McNemar's exact test (1947), two-sided; 1 where both have the same ones right.
    """

    num_first: int
    num_second: int
    p_value: float


def mcnemar(first: BoolArray, second: BoolArray) -> Difference:
    """Whether one of two models has more of the same instances right.

    Args:
        first, second: ``[instances]``, whether each is right.

    >>> mcnemar(np.array([True, True, True, True, True, True]), np.array([True] + 5 * [False]))
    Difference(num_first=5, num_second=0, p_value=0.0625)
    """
    alone = int((first & ~second).sum()), int((second & ~first).sum())
    return Difference(*alone, float(binomtest(alone[0], sum(alone)).pvalue) if sum(alone) else 1.0)


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
