"""Beginnings of rules over tokens that can still become a rule that matches a given sentence.

What has been written is a state of the automaton of :mod:`.matching`: the places where it may have arrived in the
sentence, in each bracket that is open. A symbol is allowed if places remain from which symbols of the vocabulary lead
to the second argument, one for each token, within as many symbols as are left. So each prefix can be completed. What is
allowed takes time proportional to the number of symbols that pass somewhere, and not to the length of the prefix.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from tiltmeter.operators.relations.instances import Role, Span
from tiltmeter.operators.relations.rules.grammar import Group, Item, Quantifier, Side
from tiltmeter.operators.relations.rules.matching import places_after_item
from tiltmeter.operators.relations.rules.reading import Reading, span_bits
from tiltmeter.operators.relations.rules.vocabulary import RuleVocabulary

_BEFORE, _BETWEEN, _BEHIND = range(3)


class _Level(NamedTuple):
    """A bracket that is open; the lowest is the side itself.

    Attributes:
        entry: places where it starts.
        places: where its current option may have arrived.
        before: where its last item started; None: there is none that could be repeated.
        items: of the current option.
        options, ends: the options that are complete, and where they may have ended.
    """

    entry: int
    places: int
    before: int | None = None
    items: Side = ()
    options: tuple[Side, ...] = ()
    ends: int = 0


class _Sentence:
    """What all prefixes of one instance share."""

    def __init__(self, reading: Reading, vocabulary: RuleVocabulary, most_symbols: int, most_depth: int) -> None:
        self.reading, instance = reading, reading.instance
        self.vocabulary, self.most_symbols, self.most_depth = vocabulary, most_symbols, most_depth
        self.roles = self.reading.roles()
        first, second = (instance.span(role) for role in self.roles)
        self.borders = (first.start, second.start)
        self.starts = (first.end, second.end)
        length = self.reading.length
        self.regions = (
            span_bits(Span(0, first.start)),
            span_bits(instance.between),
            span_bits(Span(second.end, length)),
        )
        self.passing = vocabulary.passing(self.reading)
        self.arguments: dict[Role, frozenset[str]] = {
            role: frozenset(
                symbol
                for symbol, argument in vocabulary.arguments.items()
                if argument.role == role and self.reading.holds(argument)
            )
            for role in self.roles
        }

    @cached_property
    def reason(self) -> str | None:
        """Why no rule can be written."""
        for role in self.roles:
            if not self.arguments[role]:
                return f"no symbol fits the {role}"
        start, end = self.starts[0], self.borders[1]
        for position in range(start, end):
            if not self.passing[position]:
                return f"no symbol fits {self.reading.instance.sentence.tokens[position]!r} between the arguments"
        if end - start + 2 > self.most_symbols:
            return f"{end - start} tokens lie between the arguments: a rule has at most {self.most_symbols} symbols"
        return None

    @cached_property
    def earliest(self) -> int:
        """From which place on each token before the first argument passes some symbol."""
        place = self.borders[0]
        while place and self.passing[place - 1]:
            place -= 1
        return place

    def viable(self, phase: int, left: int) -> int:
        """The places from which so many symbols suffice to complete a rule."""
        if left < 0:
            return 0
        if phase == _BEHIND:
            return span_bits(Span(self.starts[1], self.reading.length + 1))
        if phase == _BETWEEN:
            first, last = self.starts[0], self.borders[1]
            reserve = left - 1
        else:
            first, last = self.earliest, self.borders[0]
            reserve = left - 2 - (self.borders[1] - self.starts[0])
        return ((2 << last) - (1 << max(first, last - reserve))) if reserve >= 0 else 0


@dataclass(frozen=True)
class SurfacePrefix:
    """The symbols that have been written of a rule over tokens."""

    _sentence: _Sentence
    _phase: int
    _levels: tuple[_Level, ...]
    symbols: tuple[str, ...] = ()

    @classmethod
    def start(cls, reading: Reading, vocabulary: RuleVocabulary, most_symbols: int, most_depth: int) -> "SurfacePrefix":
        """The empty prefix."""
        sentence = _Sentence(reading, vocabulary, most_symbols, most_depth)
        places = sentence.viable(_BEFORE, most_symbols)
        return cls(sentence, _BEFORE, (_Level(places, places),))

    @property
    def reason(self) -> str | None:
        """Why no rule can be written for this instance; None: one can."""
        return self._sentence.reason

    @property
    def is_complete(self) -> bool:
        """Whether what has been written is a rule."""
        return self._phase == _BEHIND and len(self._levels) == 1

    def allowed(self) -> frozenset[str]:
        """The symbols that may be written next, without the end."""
        if self.reason is not None:
            return frozenset()
        return self._argument_symbols() | self._token_symbols() | frozenset(self._marks()) | frozenset(self._repeats())

    def advance(self, symbol: str) -> "SurfacePrefix":
        """The prefix with one more symbol, which is allowed."""
        vocabulary, phase, levels = self._sentence.vocabulary, self._phase, self._levels
        if symbol in vocabulary.arguments:
            places = 1 << self._sentence.starts[phase]
            phase, levels = phase + 1, (_Level(places, places),)
        elif symbol in vocabulary.tokens:
            levels = self._with_item(levels, Item(vocabulary.tokens[symbol]))
        elif symbol in vocabulary.quantifiers:
            levels = self._repeated(vocabulary.quantifiers[symbol])
        else:
            levels = self._after_mark(symbol)
        return SurfacePrefix(self._sentence, phase, levels, (*self.symbols, symbol))

    @property
    def _level(self) -> _Level:
        return self._levels[-1]

    @property
    def _left(self) -> int:
        """The symbols that may still be written, besides the brackets that must close."""
        return self._sentence.most_symbols - len(self.symbols) - (len(self._levels) - 1)

    def _viable(self, left: int) -> int:
        return self._sentence.viable(self._phase, left)

    def _argument_symbols(self) -> frozenset[str]:
        is_there = self._phase < _BEHIND and len(self._levels) == 1
        if not is_there or not self._level.places >> self._sentence.borders[self._phase] & 1:
            return frozenset()
        return self._sentence.arguments[self._sentence.roles[self._phase]]

    def _steps(self, places: int, left: int) -> Iterator[int]:
        """The tokens of which the next may be read, where so many symbols are left behind it."""
        bits = places & self._sentence.regions[self._phase] & (self._viable(left) >> 1)
        while bits:
            lowest = bits & -bits
            yield lowest.bit_length() - 1
            bits ^= lowest

    def _token_symbols(self) -> frozenset[str]:
        passing = self._sentence.passing
        return frozenset().union(*(passing[place] for place in self._steps(self._level.places, self._left - 1)))

    def _can_read(self, places: int, left: int) -> bool:
        return any(self._sentence.passing[place] for place in self._steps(places, left))

    def _marks(self) -> Iterator[str]:
        """Brackets and ``|``, of which an option has an item at least."""
        level, marks = self._level, self._sentence.vocabulary.marks
        may_close = {"(", ")"} <= marks
        if (
            may_close
            and len(self._levels) <= self._sentence.most_depth
            and self._can_read(level.places, self._left - 3)
        ):
            yield "("
        if len(self._levels) > 1 and level.items:
            yield ")"
            if "|" in marks and self._can_read(level.entry, self._left - 2):
                yield "|"

    def _repeats(self) -> Iterator[str]:
        if self._level.before is None:
            return
        for symbol, quantifier in self._sentence.vocabulary.quantifiers.items():
            if self._repeated(quantifier)[-1].places & self._viable(self._left - 1):
                yield symbol

    def _repeated(self, quantifier: Quantifier) -> tuple[_Level, ...]:
        """With the last item repeated."""
        level = self._level
        item = replace(level.items[-1], quantifier=quantifier)
        places = self._after(item, level.before or 0)
        return (*self._levels[:-1], level._replace(places=places, before=None, items=(*level.items[:-1], item)))

    def _with_item(self, levels: tuple[_Level, ...], item: Item) -> tuple[_Level, ...]:
        level = levels[-1]
        places = self._after(item, level.places)
        return (*levels[:-1], level._replace(places=places, before=level.places, items=(*level.items, item)))

    def _after(self, item: Item, places: int) -> int:
        return places_after_item(item, places, self._sentence.regions[self._phase], self._sentence.reading)

    def _after_mark(self, mark: str) -> tuple[_Level, ...]:
        level, outer = self._level, self._levels[:-1]
        if mark == "(":
            return (*self._levels, _Level(level.places, level.places))
        options = (*level.options, level.items)
        if mark == "|":
            ends = level.ends | level.places
            return (*outer, _Level(level.entry, level.entry, options=options, ends=ends))
        return self._with_item(outer, Item(Group(options)))
