"""How good written rules are: shares of them that parse, match, are exact and faithful, and what they rest on.

All are means over instances, whose sentences are resampled as wholes; several models of one kind that write of the same
instance count as so many answers about it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.compute.arrays import FloatArray, IntArray
from tiltmeter.operators.relations.bleu import bleu, bleu_counts, published_tokens
from tiltmeter.operators.relations.evaluation import sentence_numbers
from tiltmeter.operators.relations.instances import NO_RELATION
from tiltmeter.operators.relations.rules.foreign.writing import foreign_print
from tiltmeter.operators.relations.rules.parsing import parsed
from tiltmeter.operators.relations.rules.regexes import RuleError
from tiltmeter.operators.statistics.resampling import Estimate, resampled_counts

VERSION = "written_measures/2"

FALLS = ("comprehensiveness", "random_comprehensiveness", "sufficiency")
"""Differences of probabilities; all others are shares."""


class Written(NamedTuple):
    """Attributes:
    measure: its name.
    estimate: over the answers that have it.
    floor: the same where nobody reads; None without one.
    num: answers that it rests on.
    sentences: of these, each once, in the order in which they are drawn.
    """

    measure: str
    estimate: Estimate
    floor: float | None
    num: int
    sentences: list[int]


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


def shares_of(rows: Sequence[Mapping[str, Any]], seed: int, num_resamples: int) -> Iterator[Written]:
    """Every measure of one model and decoder.

    ``is_exact_by_relation`` is the mean over the relations, ``is_exact_by_rule`` that over the first references, so
    that a frequent one counts no more than a rare one. ``bleu`` is of answers where a relation is predicted and there
    is a reference, as published; ``bleu_all`` of all with a reference, where no rule is an empty one.

    Args:
        rows: of explanations, with ``sentence`` and ``gold``; ``references``: prints of known rules that match and
            say what holds, sorted; ``floor_rule``: that most frequent in training for the relation that holds, or "".
    """
    for name, value in _VALUES.items():
        known = [(row, number) for row in rows if (number := value(row)) is not None]
        if known:
            yield _mean(name, known, seed, num_resamples, _all)
    asked = [row for row in rows if row["references"]]
    if asked:
        exact = [(row, float(row["is_exact"])) for row in asked]
        yield _mean("is_exact_by_relation", exact, seed, num_resamples, lambda row: row["gold"])
        yield _mean("is_exact_by_rule", exact, seed, num_resamples, lambda row: row["references"][0])
        yield _bleu("bleu_all", asked, seed, num_resamples)
    if predicted := [row for row in asked if row["predicted"] != NO_RELATION]:
        yield _bleu("bleu", predicted, seed, num_resamples)


def _all(_: Mapping[str, Any]) -> str:
    return ""


def _mean(
    name: str,
    known: Sequence[tuple[Mapping[str, Any], float]],
    seed: int,
    num_resamples: int,
    group: Callable[[Mapping[str, Any]], object],
) -> Written:
    groups = sentence_numbers([group(row) for row, _ in known])
    named = [row["sentence"] for row, _ in known]
    values = np.array([value for _, value in known])
    floors = (
        np.array([float(row["floor_rule"] in row["references"]) for row, _ in known])
        if name.startswith("is_exact")
        else None
    )
    floor = None if floors is None else float(_of_groups(np.ones((1, values.size)), floors, groups)[0])
    estimate = _estimate(values, sentence_numbers(named), groups, seed, num_resamples)
    return Written(name, estimate, floor, len(known), list(dict.fromkeys(named)))


def _bleu(name: str, rows: Sequence[Mapping[str, Any]], seed: int, num_resamples: int) -> Written:
    named = [row["sentence"] for row in rows]
    sentences = sentence_numbers(named)
    counts, floors = (np.stack([_counts(row, row[text] or "") for row in rows]) for text in ("rule", "floor_rule"))
    drawn = np.concatenate([bleu(block @ counts) for block in _blocks(sentences, seed, num_resamples)])
    estimate = Estimate(float(bleu(counts.sum(axis=0))), drawn, int(sentences.max()) + 1)
    return Written(name, estimate, float(bleu(floors.sum(axis=0))), len(rows), list(dict.fromkeys(named)))


def _counts(row: Mapping[str, Any], text: str) -> IntArray:
    return bleu_counts([_tokens(reference) for reference in row["references"]], _tokens(text))


@lru_cache(maxsize=2**14)
def _tokens(text: str) -> list[str]:
    """Those of the rule as the released ones are written; what is no rule has no other form than its own."""
    try:
        return published_tokens(foreign_print(parsed(text)))
    except RuleError:
        return published_tokens(text)


def _blocks(sentences: IntArray, seed: int, num_resamples: int) -> Iterator[NDArray[np.int32]]:
    """How often each resample has each answer."""
    strata = np.zeros(int(sentences.max()) + 1, dtype=np.int64)
    return resampled_counts(strata, seed, 0, num_resamples, sentences)


def _estimate(values: FloatArray, sentences: IntArray, groups: IntArray, seed: int, num_resamples: int) -> Estimate:
    blocks = _blocks(sentences, seed, num_resamples)
    drawn = np.concatenate([_of_groups(block.astype(np.float64), values, groups) for block in blocks])
    whole = _of_groups(np.ones((1, values.size)), values, groups)[0]
    return Estimate(float(whole), drawn, int(sentences.max()) + 1)


def _of_groups(weights: FloatArray, values: FloatArray, groups: IntArray) -> FloatArray:
    """Mean over groups of the weighted means in them, of those groups that a resample has: ``[resamples]``."""
    member = groups[:, None] == np.arange(int(groups.max()) + 1)[None, :]
    sums, sizes = (weights * values) @ member, weights @ member
    with np.errstate(invalid="ignore"):
        return np.asarray(np.nanmean(sums / sizes, axis=1))
