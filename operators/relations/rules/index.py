"""Thousands of rules at once: only those are run of which a rare word, and the distance, are there.

A rule can't match without the tokens that it needs. It is filed under that one of them which the fewest rules share,
with the side on which it stands and the order of the arguments; and it is looked at where that token stands there and
the number of tokens between the arguments fits.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tiltmeter.operators.relations.instances import Field, Instance, Role, Span
from tiltmeter.operators.relations.rules.grammar import (
    DependencyRule,
    Group,
    Item,
    NamedRule,
    Side,
    SurfaceRule,
    Test,
    Token,
    roles,
)
from tiltmeter.operators.relations.rules.matching import matches_reading
from tiltmeter.operators.relations.rules.reading import Reading
from tiltmeter.operators.relations.rules.regexes import RegexTimeout, alternatives

_FAR = 10**6
_MOST_KEYS = 60

_Place = tuple[Role, Role | None, int]
"""The arguments in their order, and the number of the side."""


class _Key(NamedTuple):
    place: _Place
    field: Field
    value: str


class _Filed(NamedTuple):
    """A rule by its number, and how many tokens may lie between its arguments."""

    number: int
    least: int
    most: int


class RuleIndex:
    """Rules that are looked up by what a sentence has.

    Attributes:
        timeouts: why, by name, of rules with an expression that took too long: from then on, they are not run.

    >>> from tiltmeter.operators.relations.instances import Sentence
    >>> from tiltmeter.operators.relations.rules.parsing import parsed
    >>> texts = {"r1": 'SUBJ "," "wife" "of" OBJ', "r2": "SUBJ OBJ"}
    >>> rules = [NamedRule(name, "spouse", parsed(text)) for name, text in texts.items()]
    >>> instance = Instance(Sentence(("Ada", ",", "wife", "of", "King")), Span(0, 1), Span(4, 5))
    >>> [rule.rule_id for rule in RuleIndex(rules).matching(instance)]
    ['r1']
    """

    def __init__(self, rules: Sequence[NamedRule]) -> None:
        self.rules = tuple(rules)
        self.timeouts: dict[str, str] = {}
        self._by_key: dict[_Key, list[_Filed]] = defaultdict(list)
        self._by_place: dict[_Place, list[_Filed]] = defaultdict(list)
        self._in_trees: list[int] = []
        self._reach: Counter[_Place] = Counter()
        options = [_options(named.rule) if isinstance(named.rule, SurfaceRule) else [] for named in self.rules]
        shares = Counter(key for sets in options for keys in sets for key in keys)
        for number, (named, sets) in enumerate(zip(self.rules, options, strict=True)):
            if isinstance(named.rule, DependencyRule):
                self._in_trees.append(number)
            else:
                self._file(number, named.rule, min(sets, key=lambda keys: sum(shares[key] for key in keys), default=()))

    def matching(self, instance: Instance) -> tuple[NamedRule, ...]:
        """The rules that match an instance, in their order; the same as :func:`.matching.matches` says of each but
        those in ``timeouts``."""
        return tuple(self.rules[number] for number in self.matching_numbers(instance))

    def matching_numbers(self, instance: Instance) -> list[int]:
        """Their places in ``rules``, from 0."""
        reading = Reading(instance)
        candidates = {*self._candidates(reading), *(self._in_trees if instance.sentence.heads is not None else ())}
        return [number for number in sorted(candidates) if self._matches(number, reading)]

    def _matches(self, number: int, reading: Reading) -> bool:
        named = self.rules[number]
        if named.rule_id in self.timeouts:
            return False
        try:
            return matches_reading(named.rule, reading)
        except RegexTimeout as error:
            self.timeouts[named.rule_id] = f"{error}; leave the rule out, or write it more plainly"
            return False

    def _file(self, number: int, rule: SurfaceRule, keys: Sequence[_Key]) -> None:
        least, most = _lengths(rule.sides[1]) if len(rule.arguments) > 1 else (0, _FAR)
        filed = _Filed(number, least, most)
        for key in keys:
            self._by_key[key].append(filed)
        if not keys:
            self._by_place[_place(rule, 0)].append(filed)
        for side in (0, len(rule.arguments)):
            place = _place(rule, side)
            self._reach[place] = max(self._reach[place], _lengths(rule.sides[side])[1])

    def _candidates(self, reading: Reading) -> Iterator[int]:
        first, second = reading.roles()
        span = reading.instance.between
        distance = span.end - span.start
        for order in ((first, second), (first, None), (second, None)):
            yield from _near(self._by_place.get((*order, 0), ()), distance)
            for side, tokens in enumerate(self._sides(order, reading)):
                for position in range(*tokens):
                    for field, value in reading.values_at(position):
                        yield from _near(self._by_key.get(_Key((*order, side), field, value), ()), distance)

    def _sides(self, order: tuple[Role, Role | None], reading: Reading) -> list[Span]:
        """The tokens that rules of these arguments read, by the side."""
        spans = [reading.instance.span(role) for role in order if role is not None]
        before = min(self._reach[(*order, 0)], spans[0].start)
        behind = min(self._reach[(*order, len(spans))], reading.length - spans[-1].end)
        middle = [Span(spans[0].end, spans[1].start)] if len(spans) > 1 else []
        ends = Span(spans[0].start - before, spans[0].start), Span(spans[-1].end, spans[-1].end + behind)
        return [ends[0], *middle, ends[1]]


def _near(filed: Sequence[_Filed], distance: int) -> Iterator[int]:
    return (number for number, least, most in filed if least <= distance <= most)


def _place(rule: SurfaceRule, side: int) -> _Place:
    names = roles(rule)
    return names[0], names[1] if len(names) > 1 else None, side


def _options(rule: SurfaceRule) -> list[tuple[_Key, ...]]:
    """For each token that must be there, the keys of which one must be there."""
    options = []
    for number, side in enumerate(rule.sides):
        for test in _needed(side):
            values = _values(test)
            if values is not None and len(values) <= _MOST_KEYS:
                place = _place(rule, number)
                options.append(tuple(_Key(place, test.field, value) for value in sorted(values)))
    return options


def _needed(side: Side) -> Iterator[Test]:
    """Tests that some token of the side passes wherever it matches."""
    for item in side:
        if item.quantifier is not None and item.quantifier.low == 0:
            continue
        if isinstance(item.atom, Token):
            yield from item.atom.tests
        elif len(item.atom.options) == 1:
            yield from _needed(item.atom.options[0])


def _values(test: Test) -> frozenset[str] | None:
    return alternatives(test.value.text) if test.value.is_regex else frozenset([test.value.text])


def _lengths(side: Side) -> tuple[int, int]:
    """The fewest and the most tokens that a side can cover."""
    pairs = [_item_lengths(item) for item in side]
    return sum(least for least, _ in pairs), min(_FAR, sum(most for _, most in pairs))


def _item_lengths(item: Item) -> tuple[int, int]:
    low, high = (1, 1) if item.quantifier is None else (item.quantifier.low, item.quantifier.high)
    least, most = 1, 1
    if isinstance(item.atom, Group):
        lengths = [_lengths(option) for option in item.atom.options]
        least, most = min(least for least, _ in lengths), max(most for _, most in lengths)
    return low * least, (_FAR if most else 0) if high is None else high * most
