"""Rules from instances whose relation is known, for corpora that come without rules.

The documents are halved by chance. In one half, each instance with a relation proposes rules: some of the tokens
between its arguments, each as its word, lemma, part of speech or type, with gaps for the rest, between arguments of its
types; or one word more in front or behind. Of those that enough instances of the relation propose, what they match in
this half says how precise they are, by Laplace's rule:

    precision = (right + 1) / (matched + 2)

Precise ones are taken greedily, whichever matches most instances that no rule matches yet. Since the best of thousands
are better by chance, each is counted again in the other half, which says how precise it is and rejects what fails.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, combinations, product
from typing import Annotated, NamedTuple

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.relations.instances import FIELDS, NO_RELATION, Instance, Role
from tiltmeter.operators.relations.rules.grammar import (
    Argument,
    Item,
    NamedRule,
    Quantifier,
    Side,
    SurfaceRule,
    Test,
    Token,
    Value,
)
from tiltmeter.operators.relations.rules.index import RuleIndex
from tiltmeter.operators.relations.rules.printing import printed, rule_symbols

VERSION = "induced_rules/1"

SOURCE = "induced"
_NO_TYPE = ("", "O")
_MOST_FORMS = 2
"""Tokens that are tried in all forms: of more there are too many, of which few have support."""


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Induction:
    """What rules are proposed and taken.

    Attributes:
        max_between: tokens between the arguments of instances that propose rules, and of a gap.
        max_kept: tokens of a rule that are no gap.
        max_instances: that propose rules for a relation; of more, some are drawn.
        min_support: instances of the relation that must propose a rule.
        min_precision: by Laplace's rule, in the half that proposes.
        min_confirmed: the same in the other half, where a rule that matches nothing has 0.5.
    """

    max_between: Annotated[int, Field(ge=0, le=50)] = 8
    max_kept: Annotated[int, Field(ge=0, le=4)] = 3
    max_instances: Annotated[int, Field(ge=1)] = 500
    min_support: Annotated[int, Field(ge=1)] = 3
    min_precision: Annotated[float, Field(ge=0, le=1)] = 0.8
    min_confirmed: Annotated[float, Field(ge=0, le=1)] = 0.5


class Matches(NamedTuple):
    """How many instances a rule matches, and how many of them have its relation."""

    matched: int
    right: int

    @property
    def laplace(self) -> float:
        """Its precision by Laplace's rule.

        >>> Matches(matched=8, right=8).laplace
        0.9
        """
        return (self.right + 1) / (self.matched + 2)


class InducedRule(NamedTuple):
    """A rule and what it matches.

    Attributes:
        proposed: in the half that proposes it; too good, for it was chosen there.
        confirmed: in the other.
    """

    rule: NamedRule
    proposed: Matches
    confirmed: Matches


def in_first_half(document: str, seed: int) -> bool:
    """Whether a document is of the half that proposes rules."""
    return document_key(f"{seed}\nhalf\n{document}") % 2 == 0


def induced_rules(instances: Sequence[Instance], induction: Induction, seed: int) -> list[InducedRule]:
    """Rules for each relation, the one that covers most first; none for ``no_relation``.

    Args:
        instances: of the training part and of no other, with and without a relation.
        seed: what halves the documents, and draws instances.
    """
    halves: tuple[list[Instance], list[Instance]] = ([], [])
    for instance in instances:
        halves[not in_first_half(instance.document, seed)].append(instance)
    candidates = [
        NamedRule(str(number), relation, rule, SOURCE)
        for number, (relation, rule) in enumerate(_supported(halves[0], induction, seed))
    ]
    matched = _matched(candidates, halves[0])
    chosen = _cover(candidates, matched, halves[0], induction)
    named = _named([candidates[number] for number in chosen])
    confirmed = _matched(named, halves[1])
    rules = [
        InducedRule(rule, _matches(rule, matched[number], halves[0]), _matches(rule, again, halves[1]))
        for rule, number, again in zip(named, chosen, confirmed, strict=True)
    ]
    return [rule for rule in rules if rule.confirmed.laplace >= induction.min_confirmed]


def _named(rules: Sequence[NamedRule]) -> list[NamedRule]:
    numbers: Counter[str] = Counter()
    named = []
    for rule in rules:
        numbers[rule.relation] += 1
        named.append(NamedRule(f"{rule.relation}#{numbers[rule.relation]}", rule.relation, rule.rule, SOURCE))
    return named


def _supported(instances: Iterable[Instance], induction: Induction, seed: int) -> Iterator[tuple[str, SurfaceRule]]:
    """The relations and rules that enough instances propose."""
    by_relation: dict[str, list[Instance]] = defaultdict(list)
    for instance in instances:
        start, end = instance.between
        if instance.relation not in (None, NO_RELATION) and end - start <= induction.max_between:
            by_relation[str(instance.relation)].append(instance)
    for relation, proposing in sorted(by_relation.items()):
        support = Counter(
            chain.from_iterable(_proposed(each, induction) for each in _drawn(proposing, induction, seed))
        )
        rules = [rule for rule, num in support.items() if num >= induction.min_support]
        # Sets of texts have another order in each process.
        yield from ((relation, rule) for rule in sorted(rules, key=printed))


def _drawn(instances: list[Instance], induction: Induction, seed: int) -> list[Instance]:
    """Some of too many: which is a matter of what they are, and not of their order."""
    if len(instances) <= induction.max_instances:
        return instances
    keys = [document_key(f"{seed}\n{each.document}\n{each.sentence.tokens}\n{each.subject}") for each in instances]
    order = sorted(range(len(instances)), key=lambda number: (keys[number], number))
    return [instances[number] for number in sorted(order[: induction.max_instances])]


def _proposed(instance: Instance, induction: Induction) -> set[SurfaceRule]:
    arguments = _arguments(instance)
    return {SurfaceRule(sides, arguments) for sides in _sides(instance, induction)}


def _arguments(instance: Instance) -> tuple[Argument, ...]:
    types = {"subject": instance.subject_type, "object": instance.object_type}
    roles: tuple[Role, Role] = ("subject", "object") if instance.is_subject_first else ("object", "subject")
    return tuple(Argument(role, () if (kind := types[role]) is None else (Test("ner", Value(kind)),)) for role in roles)


def _sides(instance: Instance, induction: Induction) -> Iterator[tuple[Side, Side, Side]]:
    start, end = instance.between
    places = range(start, end)
    before, behind = _beside(instance)
    for num in range(min(induction.max_kept, len(places)) + 1):
        for kept in combinations(places, num):
            for tokens in _forms(instance, kept):
                between = _between(tokens, kept, start, end, induction.max_between)
                yield (), between, ()
                if num < induction.max_kept:
                    yield from ((side, between, ()) for side in before)
                    yield from (((), between, side) for side in behind)
    if len(places) > induction.max_kept:
        yield (), tuple(Item(token) for token in _words(instance, places)), ()


def _beside(instance: Instance) -> tuple[list[Side], list[Side]]:
    """The word in front of the first argument and that behind the second, if there are."""
    words = instance.sentence.tokens
    first, second = sorted([instance.subject, instance.object])
    before = [(Item(_word(words[first.start - 1])),)] if first.start else []
    behind = [(Item(_word(words[second.end])),)] if second.end < len(words) else []
    return list(before), list(behind)


def _forms(instance: Instance, kept: Sequence[int]) -> Iterator[tuple[Token, ...]]:
    """The tokens in all forms; of many, as words only."""
    if len(kept) > _MOST_FORMS:
        yield tuple(_words(instance, kept))
        return
    yield from product(*(_tokens(instance, place) for place in kept))


def _words(instance: Instance, places: Iterable[int]) -> Iterator[Token]:
    return (_word(instance.sentence.tokens[place]) for place in places)


def _word(text: str) -> Token:
    return Token((Test("word", Value(text)),))


def _tokens(instance: Instance, place: int) -> list[Token]:
    """A token as its word, lemma, part of speech and type, as far as they are known."""
    tokens = [_word(instance.sentence.tokens[place])]
    for field in FIELDS[1:]:
        column = instance.values[field]
        if column is not None and not (field == "ner" and column[place] in _NO_TYPE):
            tokens.append(Token((Test(field, Value(column[place])),)))
    return tokens


def _between(tokens: Sequence[Token], kept: Sequence[int], start: int, end: int, most: int) -> Side:
    """The kept tokens with gaps where others stand."""
    gap = Item(Token(), Quantifier(0, most)) if most else None
    items: list[Item] = []
    place = start
    for token, position in zip(tokens, kept, strict=True):
        if position > place and gap:
            items.append(gap)
        items.append(Item(token))
        place = position + 1
    return tuple([*items, gap] if place < end and gap else items)


def _matched(rules: Sequence[NamedRule], instances: Sequence[Instance]) -> list[list[int]]:
    """Of each rule the instances that it matches, by their places."""
    index = RuleIndex(rules)
    matched: list[list[int]] = [[] for _ in rules]
    for place, instance in enumerate(instances):
        for number in index.matching_numbers(instance):
            matched[number].append(place)
    return matched


def _matches(rule: NamedRule, places: Sequence[int], instances: Sequence[Instance]) -> Matches:
    return Matches(len(places), sum(instances[place].relation == rule.relation for place in places))


def _cover(
    candidates: Sequence[NamedRule], matched: Sequence[list[int]], instances: Sequence[Instance], induction: Induction
) -> list[int]:
    """The candidates that are precise, each of which matches most of what those before it leave; by their places."""
    right: dict[int, set[int]] = {}
    scores = {}
    for number, (rule, places) in enumerate(zip(candidates, matched, strict=True)):
        matches = _matches(rule, places, instances)
        if matches.laplace >= induction.min_precision:
            right[number] = {place for place in places if instances[place].relation == rule.relation}
            scores[number] = (matches.laplace, -len(rule_symbols(rule.rule)))
    chosen: list[int] = []
    while right:
        best = max(right, key=lambda number: (len(right[number]), scores[number], -number))
        covered = right.pop(best)
        if not covered:
            break
        chosen.append(best)
        right = {number: places - covered for number, places in right.items()}
    return chosen
