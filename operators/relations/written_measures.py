"""How good written rules are: shares of them that parse, match, are exact and faithful, and what they rest on.

All are means over answers; several models of one kind that write of the same instance give so many answers about it,
and how these differ is in the interval, beside the sentences or documents (:mod:`.evaluation`).
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.compute.arrays import FloatArray, IntArray
from tiltmeter.operators.relations.bleu import bleu, bleu_counts, bleu_influence, published_tokens
from tiltmeter.operators.relations.evaluation import Statistic, sentence_numbers
from tiltmeter.operators.relations.instances import NO_RELATION
from tiltmeter.operators.relations.rules.foreign.writing import foreign_print
from tiltmeter.operators.relations.rules.parsing import parsed
from tiltmeter.operators.relations.rules.regexes import RuleError
from tiltmeter.operators.statistics.resampling import Estimate, resampled_counts
from tiltmeter.operators.statistics.units import Units, units_of

VERSION = "written_measures/3"

FALLS = ("comprehensiveness", "random_comprehensiveness", "sufficiency")
"""Differences of probabilities; all others are shares."""


class Written(NamedTuple):
    """Attributes:
    measure: its name.
    statistic: over the answers that have it.
    units: of these answers.
    estimate: the same with its resamples of units.
    floor: the same where nobody reads; None without one.
    num: answers that it rests on.
    drawn: their units by the numbers that they have in the part, in the order in which they are drawn.
    """

    measure: str
    statistic: Statistic
    units: Units
    estimate: Estimate
    floor: float | None
    num: int
    drawn: list[int]


_Value = Callable[[Mapping[str, Any]], float | None]


def _number(name: str) -> _Value:
    return lambda row: None if row[name] is None else float(row[name])


_VALUES: dict[str, _Value] = {
    "writes": lambda row: float(row["rule"] is not None),
    "parses": lambda row: None if row["rule"] is None else float(bool(row["parses"])),
    "matches": lambda row: None if row["rule"] is None else float(bool(row["matches"])),
    "is_new": lambda row: None if not row["parses"] else float(row["rule_id"] is None),
    "is_faithful": lambda row: None if not row["parses"] else float(bool(row["is_faithful"])),
    "is_exact": _number("is_exact"),
    **{name: _number(name) for name in FALLS},
}


def shares_of(rows: Sequence[Mapping[str, Any]], kind: str, seed: int, num_resamples: int) -> Iterator[Written]:
    """Every measure of one model and decoder.

    ``is_exact_by_relation`` is the mean over the relations, ``is_exact_by_rule`` that over the first references, so
    that a frequent one counts no more than a rare one. ``bleu`` is of answers where a relation is predicted and there
    is a reference, as published; ``bleu_all`` of all with a reference, where no rule is an empty one.

    Args:
        rows: of explanations, with ``unit`` and ``gold``; ``references``: prints of known rules that match and
            say what holds, sorted; ``floor_rule``: that most frequent in training for the relation that holds, or "".
        kind: of the units.
        seed, num_resamples: of the resamples.
    """
    draws = _Draws(kind, seed, num_resamples)
    for name, value in _VALUES.items():
        known = [(row, number) for row in rows if (number := value(row)) is not None]
        if known:
            yield _mean(name, known, draws, lambda _: "")
    asked = [row for row in rows if row["references"]]
    if asked:
        exact = [(row, float(row["is_exact"])) for row in asked]
        yield _mean("is_exact_by_relation", exact, draws, lambda row: row["gold"])
        yield _mean("is_exact_by_rule", exact, draws, lambda row: row["references"][0])
        yield _bleu("bleu_all", asked, draws)
    if predicted := [row for row in asked if row["predicted"] != NO_RELATION]:
        yield _bleu("bleu", predicted, draws)


def floor_rules(relations: Sequence[str], rules: Sequence[Sequence[str]]) -> dict[str, str]:
    """What is written where nobody reads: of each relation the most frequent rule in training, of equals the first.

    Args:
        relations: of each training instance, what rules say.
        rules: of each, the prints of those that say it.

    >>> floor_rules(["x", "x", "y"], [["b", "a"], ["b"], []])
    {'x': 'b'}
    """
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for relation, texts in zip(relations, rules, strict=True):
        counts[relation].update(texts)
    return {name: min(texts, key=lambda text: (-texts[text], text)) for name, texts in counts.items() if texts}


class _Draws(NamedTuple):
    kind: str
    seed: int
    num: int

    def units(self, rows: Sequence[Mapping[str, Any]]) -> Units:
        return units_of(sentence_numbers([row["unit"] for row in rows]), self.kind)

    def blocks(self, units: Units) -> Iterator[NDArray[np.int32]]:
        """How often each resample has each answer."""
        return resampled_counts(np.zeros(units.num, dtype=np.int64), self.seed, 0, self.num, units.codes)


def _mean(
    name: str,
    known: Sequence[tuple[Mapping[str, Any], float]],
    draws: _Draws,
    group: Callable[[Mapping[str, Any]], object],
) -> Written:
    """The mean over groups g of means over their n_g answers of N: u_i = (x_i - mean of g) N / (n_g groups)."""
    rows, values = [row for row, _ in known], np.array([value for _, value in known])
    groups, whole = sentence_numbers([group(row) for row in rows]), np.ones((1, len(known)))
    floor = None
    if name.startswith("is_exact"):
        hits = np.array([float(row["floor_rule"] in row["references"]) for row in rows])
        floor = float(_of_groups(whole, hits, groups)[0])
    units, value, sizes = draws.units(rows), float(_of_groups(whole, values, groups)[0]), np.bincount(groups)
    influence = (values - (np.bincount(groups, values) / sizes)[groups]) * (values.size / sizes.size / sizes[groups])
    statistic = Statistic(value, _of_groups(_by_seed(rows), values, groups), influence, whole[0])
    drawn = np.concatenate([_of_groups(block.astype(np.float64), values, groups) for block in draws.blocks(units)])
    return Written(name, statistic, units, Estimate(value, drawn, units.num), floor, len(known), _drawn(rows))


def _bleu(name: str, rows: Sequence[Mapping[str, Any]], draws: _Draws) -> Written:
    counts, floors = (np.stack([_counts(row, row[text] or "") for row in rows]) for text in ("rule", "floor_rule"))
    units, value = draws.units(rows), float(bleu(counts.sum(axis=0)))
    statistic = Statistic(
        value, bleu(_by_seed(rows).astype(np.int64) @ counts), bleu_influence(counts), np.ones(len(rows))
    )
    drawn = np.concatenate([bleu(block @ counts) for block in draws.blocks(units)])
    floor = float(bleu(floors.sum(axis=0)))
    return Written(name, statistic, units, Estimate(value, drawn, units.num), floor, len(rows), _drawn(rows))


def _by_seed(rows: Sequence[Mapping[str, Any]]) -> FloatArray:
    """``[seeds, answers]``, 1 where an answer is of a seed."""
    seeds = np.array([row["seed"] for row in rows])
    return np.asarray(np.unique(seeds)[:, np.newaxis] == seeds, dtype=np.float64)


def _drawn(rows: Sequence[Mapping[str, Any]]) -> list[int]:
    return list(dict.fromkeys(row["unit"] for row in rows))


def _counts(row: Mapping[str, Any], text: str) -> IntArray:
    return bleu_counts([_tokens(reference) for reference in row["references"]], _tokens(text))


@lru_cache(maxsize=2**14)
def _tokens(text: str) -> list[str]:
    """Those of the rule as the released ones are written; what is no rule has no other form than its own."""
    try:
        return published_tokens(foreign_print(parsed(text)))
    except RuleError:
        return published_tokens(text)


def _of_groups(weights: FloatArray, values: FloatArray, groups: IntArray) -> FloatArray:
    """Mean over groups of the weighted means in them, of those groups that a resample has: ``[resamples]``."""
    member = groups[:, None] == np.arange(int(groups.max()) + 1)[None, :]
    sums, sizes = (weights * values) @ member, weights @ member
    with np.errstate(invalid="ignore"):
        return np.asarray(np.nanmean(sums / sizes, axis=1))
