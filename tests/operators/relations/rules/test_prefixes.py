from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.operators.relations import brute_force
from tests.operators.relations.strategies import instances, surface_rules
from tiltmeter.operators.relations.instances import Instance, Sentence, Span
from tiltmeter.operators.relations.rules.grammar import Group, SurfaceRule
from tiltmeter.operators.relations.rules.matching import matches
from tiltmeter.operators.relations.rules.parsing import from_symbols, parsed
from tiltmeter.operators.relations.rules.prefixes import END, RulePrefix, RuleVocabulary
from tiltmeter.operators.relations.rules.printing import rule_symbols
from tiltmeter.operators.relations.rules.regexes import RuleError

SYMBOLS = [
    *("SUBJ", "OBJ", 'OBJ[ner="X"]', "SUBJ{1}"),
    *('"a"', '"b"', '","', "/a|b/", "[]", '[pos="X"]', '[lemma="a" & pos=~/X|Y/]', ">obj"),
    *("?", "*", "+", "{2}", "{0,3}", "(", ")", "|"),
]
MARRIED = Instance(Sentence(("Ada", ",", "wife", "of", "King", "and")), Span(0, 1), Span(4, 5))


@given(instances(), st.data(), st.sampled_from([3, 5, 8, 40]), st.sampled_from([0, 1, 2]))
@settings(max_examples=80)
def test_whatever_is_written_becomes_a_rule_that_matches(instance, data, most_symbols, most_depth):
    prefix = RulePrefix.start(instance, RuleVocabulary(SYMBOLS), most_symbols=most_symbols, most_depth=most_depth)
    if prefix.reason is not None:
        assert prefix.allowed() == frozenset()
        return
    while not prefix.is_ended:
        allowed = sorted(prefix.allowed())
        assert allowed, prefix.symbols
        prefix = prefix.advance(data.draw(st.sampled_from(allowed)))
    assert len(prefix.symbols) <= most_symbols
    assert rule_symbols(prefix.rule()) == prefix.symbols
    assert brute_force.matches(prefix.rule(), instance)
    assert prefix.allowed() == frozenset()


def needs_all(side):
    """Whether each part of a side matches something wherever it matches."""
    return all(
        (item.quantifier is None or item.quantifier.low > 0)
        and (
            not isinstance(item.atom, Group)
            or (len(item.atom.options) == 1 and item.atom.options[0] and needs_all(item.atom.options[0]))
        )
        for item in side
    )


@given(instances(), surface_rules(least_arguments=2))
@settings(max_examples=60)
def test_a_rule_that_matches_can_be_written(instance, rule):
    sides = tuple(side if needs_all(side) else () for side in rule.sides)
    rule = SurfaceRule(sides, rule.arguments)
    symbols = [*rule_symbols(rule), "[]", "SUBJ", "OBJ"]
    prefix = RulePrefix.start(instance, RuleVocabulary(symbols), most_depth=5)
    if matches(rule, instance):
        for symbol in (*rule_symbols(rule), END):
            prefix = prefix.advance(symbol)
        assert prefix.is_ended


def test_what_is_allowed_is_exactly_what_begins_a_rule_that_matches():
    tokens = ("b", "a", "b", "a", "b")
    instance = Instance(Sentence(tokens, pos=("X", "X", "Y", "X", "X")), Span(1, 2), Span(3, 4))
    symbols, most = ["SUBJ", "OBJ", '"a"', '"b"', '[pos="Y"]', "/a|b/"], 5
    expected = set()
    for length in range(2, most + 1):
        for written in product(symbols, repeat=length):
            if {"SUBJ", "OBJ"} <= {*written} and is_match(written, instance):
                expected |= {written[:end] for end in range(length + 1)} | {(*written, END)}
    vocabulary = RuleVocabulary(symbols)
    reached, waiting = set(), [RulePrefix.start(instance, vocabulary, most_symbols=most)]
    while waiting:
        prefix = waiting.pop()
        reached.add((*prefix.symbols, END) if prefix.is_ended else prefix.symbols)
        waiting += [prefix.advance(symbol) for symbol in prefix.allowed()]
    assert reached == expected
    assert len(expected) > 50


def is_match(written, instance):
    try:
        return brute_force.matches(from_symbols(written), instance)
    except RuleError:
        return False


def test_only_words_between_the_arguments_are_written():
    prefix = RulePrefix.start(MARRIED, RuleVocabulary(["SUBJ", "OBJ", '","', '"wife"', '"of"', '"son"', '"and"', "?"]))
    assert prefix.allowed() == {"SUBJ"}
    for symbol, allowed in [
        ("SUBJ", {'","'}),
        ('","', {'"wife"', "?"}),
        ('"wife"', {'"of"', "?"}),
        ('"of"', {"OBJ", "?"}),
        ("OBJ", {'"and"', END}),
        ('"and"', {"?", END}),
    ]:
        prefix = prefix.advance(symbol)
        assert prefix.allowed() == allowed


def test_a_word_without_a_symbol_between_the_arguments_is_the_reason():
    prefix = RulePrefix.start(MARRIED, RuleVocabulary(["SUBJ", "OBJ", '","', '"of"']))
    assert prefix.reason == "no symbol fits 'wife' between the arguments"
    assert prefix.allowed() == frozenset()
    assert RulePrefix.start(MARRIED, RuleVocabulary(["SUBJ", "[]"])).reason == "no symbol fits the object"
    far = RulePrefix.start(MARRIED, RuleVocabulary(["SUBJ", "OBJ", "[]"]), most_symbols=4)
    assert far.reason == "3 tokens lie between the arguments: a rule has at most 4 symbols"


def test_what_is_not_allowed_is_refused():
    prefix = RulePrefix.start(MARRIED, RuleVocabulary(["SUBJ", "OBJ", "[]", ">obj"]))
    with pytest.raises(RuleError, match="'OBJ' may not be written behind ''"):
        prefix.advance("OBJ")
    with pytest.raises(RuleError, match=">obj"):
        prefix.advance(">obj")
    with pytest.raises(RuleError, match="is no symbol"):
        RuleVocabulary(["wife"])


def test_a_dependency_among_the_symbols_changes_nothing():
    rule = parsed('SUBJ "," "wife" "of" OBJ')
    prefix = RulePrefix.start(MARRIED, RuleVocabulary([*rule_symbols(rule), "<nsubj"]))
    for symbol in rule_symbols(rule):
        prefix = prefix.advance(symbol)
    assert prefix.is_complete
    assert prefix.rule() == rule
