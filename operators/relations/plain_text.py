"""Sentences of plain text, and the pairs of arguments in them that rules may be about, without any annotation.

Arguments are told by a list of mentions with their types, or by the rules themselves: the longest runs of tokens that
pass what a rule says of its argument's words, and where it says nothing of them, the longest runs of names (words that
begin with a capital) and of numbers. What a rule says of an argument's type is then left aside, since nothing tells it.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from typing import Any, NamedTuple

import regex

from tiltmeter.operators.relations.instances import Instance, Sentence, Span
from tiltmeter.operators.relations.rules.grammar import Argument, DependencyRule, NamedRule, SurfaceRule, Test
from tiltmeter.operators.relations.rules.index import RuleIndex
from tiltmeter.operators.relations.rules.regexes import RegexTimeout, full_match
from tiltmeter.operators.text.sentences import sentences, tokens_of

VERSION = "text_arguments/1"

_KINDS = regex.compile(r"[\p{Lu}\p{Lt}]"), regex.compile(r"\p{N}")
"""How names begin, and numbers."""


class Mention(NamedTuple):
    """Tokens that can be an argument, and of which type; None: unknown."""

    span: Span
    type: str | None


class MentionList:
    """Arguments by their words.

    Args:
        mentions: text and type of each; of several types of one text, the first counts.

    >>> MentionList([("Vela Moras", "PERSON"), ("Vela", "PLACE")]).mentions(("Vela", "Moras", "left", "Vela"))
    [Mention(span=Span(start=0, end=2), type='PERSON'), Mention(span=Span(start=3, end=4), type='PLACE')]
    """

    def __init__(self, mentions: Iterable[tuple[str, str]]) -> None:
        self._types: dict[tuple[str, ...], str] = {}
        self._lengths: dict[str, set[int]] = defaultdict(set)
        for text, kind in mentions:
            tokens = tuple(tokens_of(text))
            if tokens:
                self._types.setdefault(tokens, kind)
                self._lengths[tokens[0]].add(len(tokens))

    def mentions(self, tokens: Sequence[str]) -> list[Mention]:
        """From left to right the longest that start where the one before has ended."""
        made: list[Mention] = []
        place = 0
        while place < len(tokens):
            mention = self._longest(tokens, place)
            made += [] if mention is None else [mention]
            place = place + 1 if mention is None else mention.span.end
        return made

    def _longest(self, tokens: Sequence[str], place: int) -> Mention | None:
        for length in sorted(self._lengths.get(tokens[place], ()), reverse=True):
            span = Span(place, min(place + length, len(tokens)))
            if (kind := self._types.get(tuple(tokens[span.start : span.end]))) is not None:
                return Mention(span, kind)
        return None


class RuleArguments:
    """Arguments by what rules say of their words.

    Attributes:
        timeouts: why, by name, of rules with an expression that took too long; their arguments are looked for no more.
    """

    def __init__(self, rules: Iterable[NamedRule]) -> None:
        self.timeouts: dict[str, str] = {}
        self._rules: dict[tuple[Test, ...], set[str]] = defaultdict(set)
        for named in rules:
            for argument in named.rule.arguments if isinstance(named.rule, SurfaceRule) else ():
                self._rules[_tests_of_words(argument)].add(named.rule_id)

    def mentions(self, tokens: Sequence[str], common: Collection[str]) -> list[Mention]:
        """Longest runs, in their order.

        Args:
            common: words in lower case; one of them begins a sentence with a capital and is no name for that.
        """
        spans: set[Span] = set()
        for tests in list(self._rules):
            spans.update(self._passing(tests, tokens) if tests else _names(tokens, common))
        return [Mention(span, None) for span in sorted(spans)]

    def _passing(self, tests: tuple[Test, ...], tokens: Sequence[str]) -> list[Span]:
        try:
            return list(_runs(tokens, lambda word: all(_passes(test, word) for test in tests)))
        except RegexTimeout as error:
            self.timeouts |= dict.fromkeys(self._rules.pop(tests), f"{error}; leave the rule out")
            return []


def _names(tokens: Sequence[str], common: Collection[str]) -> Iterator[Span]:
    """Runs of names and of numbers; a common word that begins the sentence is no part of one."""
    first = int(tokens[0].lower() in common)
    for expression in _KINDS:
        runs = _runs(tokens[first:], partial(_begins, expression))
        yield from (Span(start + first, end + first) for start, end in runs)


def _begins(expression: Any, word: str) -> bool:
    return expression.match(word) is not None


def _tests_of_words(argument: Argument) -> tuple[Test, ...]:
    return tuple(test for test in argument.tests if test.field != "ner")


def _passes(test: Test, word: str) -> bool:
    if test.field != "word":
        return False
    return full_match(test.value.text, word) if test.value.is_regex else word == test.value.text


def _runs(tokens: Sequence[str], is_part: Callable[[str], bool]) -> Iterator[Span]:
    start = 0
    for is_run, run in groupby(map(is_part, tokens)):
        end = start + len(list(run))
        if is_run:
            yield Span(start, end)
        start = end


def untyped(named: NamedRule) -> NamedRule:
    """The rule without the types of its arguments.

    >>> from tiltmeter.operators.relations.rules.parsing import parsed
    >>> from tiltmeter.operators.relations.rules.printing import printed
    >>> printed(untyped(NamedRule("r", "spouse", parsed('SUBJ[ner="PERSON"] "met" OBJ'))).rule)
    'SUBJ "met" OBJ'
    """
    if not isinstance(named.rule, SurfaceRule):
        return named
    arguments = tuple(replace(argument, tests=_tests_of_words(argument)) for argument in named.rule.arguments)
    return replace(named, rule=replace(named.rule, arguments=arguments))


def paired(tokens: tuple[str, ...], mentions: Sequence[Mention], max_between: int) -> Iterator[Instance]:
    """Both orders of every two mentions that don't overlap and have so many tokens between them at most.

    Args:
        mentions: in the order of their first tokens.
    """
    ner = ["O"] * len(tokens)
    for mention in mentions:
        ner[mention.span.start : mention.span.end] = [mention.type or "O"] * (mention.span.end - mention.span.start)
    sentence = Sentence(tokens, ner=tuple(ner) if any(mention.type for mention in mentions) else None)
    for number, first in enumerate(mentions):
        for second in mentions[number + 1 :]:
            distance = second.span.start - first.span.end
            if distance > max_between:
                break
            if distance >= 0:
                for subject, object_ in ((first, second), (second, first)):
                    spans = subject.span, object_.span
                    yield Instance(sentence, *spans, subject_type=subject.type, object_type=object_.type)


class Match(NamedTuple):
    """Where a sentence is, and a pair in it: ``rules`` are those that match."""

    document: str
    line: int
    sentence: int
    instance: Instance
    rules: Sequence[NamedRule]


class RuleSearch:
    """Rules run over lines of text; those about trees, which texts have not, are left out.

    Args:
        listed: what arguments are; None: the rules say it.

    Attributes:
        totals: ``num_sentences`` and ``num_pairs`` so far, and ``num_matched`` of the pairs.
    """

    def __init__(self, rules: Iterable[NamedRule], listed: MentionList | None) -> None:
        kept = [rule for rule in rules if not isinstance(rule.rule, DependencyRule)]
        self._listed = listed
        self._index = RuleIndex(kept if listed else [untyped(rule) for rule in kept])
        self._arguments = RuleArguments(kept)
        self.totals: Counter[str] = Counter(num_sentences=0, num_pairs=0, num_matched=0)

    @property
    def timeouts(self) -> Mapping[str, str]:
        """Why rules are not run to the end, by name."""
        return self._arguments.timeouts | self._index.timeouts

    def matches(self, lines: Iterable[Mapping[str, Any]], max_between: int) -> Iterator[Match]:
        """Pairs that any rule matches, of lines with ``document``, ``line`` and ``text``, those of a document together.

        Args:
            max_between: as for :func:`paired`.
        """
        for document, rows in groupby(lines, key=lambda row: row["document"]):
            lines_of_one = [(row["line"], list(sentences(row["text"]))) for row in rows]
            common = {word for _, inner in lines_of_one for tokens in inner for word in tokens if word.islower()}
            for line, inner in lines_of_one:
                for number, tokens in enumerate(inner):
                    pairs = paired(tokens, self._mentions(tokens, common), max_between)
                    yield from self._matched(document, line, number, pairs)

    def _mentions(self, tokens: Sequence[str], common: set[str]) -> list[Mention]:
        return self._listed.mentions(tokens) if self._listed else self._arguments.mentions(tokens, common)

    def _matched(self, document: str, line: int, number: int, pairs: Iterator[Instance]) -> Iterator[Match]:
        self.totals["num_sentences"] += 1
        for instance in pairs:
            self.totals["num_pairs"] += 1
            if rules := self._index.matching(instance):
                self.totals["num_matched"] += 1
                yield Match(document, line, number, instance, rules)


Facts = Mapping[tuple[str, str], set[str]]


def known_facts(rows: Iterable[Mapping[str, str]]) -> Facts:
    """Relations by the subject and the object, in lower case.

    >>> known_facts([{"subject": "Ada", "relation": "spouse", "object": "King"}])
    {('ada', 'king'): {'spouse'}}
    """
    facts: dict[tuple[str, str], set[str]] = {}
    for row in rows:
        facts.setdefault((row["subject"].lower(), row["object"].lower()), set()).add(row["relation"])
    return facts
