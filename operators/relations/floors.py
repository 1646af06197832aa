"""What written rules score without reading a sentence: by the rule that is most frequent for the relation.

A score of rules says little beside what comes from the relation alone: with the released rules of Tang and Surdeanu
2021, whose BLEU is 0.883 to 0.924, the most frequent training rule of the gold relation has 0.909.
"""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from tiltmeter.operators.compute.arrays import BoolArray, FloatArray
from tiltmeter.operators.relations.bleu import corpus_bleu
from tiltmeter.operators.relations.supervision import rule_relation

VERSION = "rule_floors/1"

Matched = Sequence[tuple[str, str]]
"""Of an instance: the relation and the name of each rule that matches and agrees with it, the main one first."""


class RuleScores(NamedTuple):
    """How near hypotheses come to the rules that match.

    Attributes:
        bleu: of all, with the instance's rules as references.
        exact: share of instances of which a rule was hit.
        exact_by_rule: mean over the first rules of instances of that share among their instances.
        exact_by_relation: the same over relations.
        num: instances.
    """

    bleu: float
    exact: float
    exact_by_rule: float
    exact_by_relation: float
    num: int


def relation_key(relation: str) -> str:
    """A relation without slashes, which the released training part lacks and the others have.

    >>> relation_key("org:top_members/employees")
    'org:top_membersemployees'
    """
    return relation.replace("/", "")


def relations_of_rules(known: Iterable[str], mapped: Iterable[tuple[str, str]]) -> dict[str, str]:
    """What each rule stands for: the relation that it is said to have in most matches.

    Args:
        known: relations with their slashes, which those of rules lack.
        mapped: the rule and its relation, of each match.

    >>> relations_of_rules(["a/b"], [("r", "ab"), ("r", "a/b"), ("r", "c")])
    {'r': 'a/b'}
    """
    names = {relation_key(relation): relation for relation in known}
    counts: dict[str, list[str]] = defaultdict(list)
    for rule, relation in mapped:
        counts[rule].append(names.get(relation_key(relation), relation))
    return {rule: rule_relation(relations) for rule, relations in counts.items()}


def frequent_rules(rows: Iterable[Matched]) -> dict[str, str]:
    """Of each relation, the rule that agrees with it in most instances; of several, the one that came first.

    >>> frequent_rules([[("spouse", "r1"), ("spouse", "r2")], [("spouse", "r2")]])
    {'spouse': 'r2'}
    """
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for matched in rows:
        for relation, rule in matched:
            counts[relation_key(relation)][rule] += 1
    return {relation: rules.most_common(1)[0][0] for relation, rules in counts.items()}


def most_frequent_rule(rows: Iterable[Matched]) -> str:
    """The rule that agrees with the relation in most instances of all.

    Raises:
        ValueError: if there is none.
    """
    counts = Counter(rule for matched in rows for _, rule in matched)
    if not counts:
        raise ValueError("no rule agrees with the relation of any instance")
    return counts.most_common(1)[0][0]


def floor_scores(
    rows: Sequence[Matched], frequent: Mapping[str, str], texts: Mapping[str, Sequence[str]]
) -> RuleScores:
    """The scores of the most frequent rule of the gold relation; of an unknown relation, nothing is written.

    Args:
        rows: of instances with one rule at least.
        frequent: of each relation, a rule, from other instances.
        texts: the tokens of each rule.
    """
    written = [frequent.get(relation_key(matched[0][0])) for matched in rows]
    return rule_scores(rows, [() if name is None else texts[name] for name in written], texts)


def rule_scores(
    rows: Sequence[Matched], hypotheses: Sequence[Sequence[str]], texts: Mapping[str, Sequence[str]]
) -> RuleScores:
    """How near hypotheses come to the rules of their instances.

    Args:
        rows: of instances with one rule at least.
        hypotheses: tokens of what was written for each.
        texts: the tokens of each rule.

    Raises:
        ValueError: if there is no instance, or their numbers differ.
    """
    if not rows:
        raise ValueError("there is no instance with a rule")
    references = [[list(texts[rule]) for _, rule in matched] for matched in rows]
    exact = np.array([list(written) in known for written, known in zip(hypotheses, references, strict=True)])
    return RuleScores(
        corpus_bleu(references, hypotheses),
        float(exact.mean()),
        float(mean_by([matched[0][1] for matched in rows], exact)),
        float(mean_by([relation_key(matched[0][0]) for matched in rows], exact)),
        len(rows),
    )


def mean_by(groups: Sequence[Hashable], values: BoolArray | FloatArray) -> float:
    """The mean over groups of the mean in each, so that a frequent group counts no more than a rare one.

    >>> mean_by(["a", "a", "a", "b"], np.array([1.0, 1.0, 1.0, 0.0]))
    0.5
    """
    _, numbers = np.unique(np.array([str(group) for group in groups]), return_inverse=True)
    return float((np.bincount(numbers, values) / np.bincount(numbers)).mean())
