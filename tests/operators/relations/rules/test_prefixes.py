from itertools import pairwise, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.operators.relations import brute_force
from tests.operators.relations.strategies import instances, surface_rules
from tiltmeter.operators.relations.instances import Instance, Sentence, Span
from tiltmeter.operators.relations.rules import grammar
from tiltmeter.operators.relations.rules.matching import matches
from tiltmeter.operators.relations.rules.parsing import from_symbols, parsed
from tiltmeter.operators.relations.rules.prefixes import END, RulePrefix, RuleVocabulary
from tiltmeter.operators.relations.rules.printing import rule_symbols
from tiltmeter.operators.relations.rules.regexes import RuleError
from tiltmeter.operators.relations.rules.tree_prefixes import MOST_STEPS

SYMBOLS = [
    *("SUBJ", "OBJ", 'OBJ[ner="X"]', "SUBJ{1}"),
    *('"a"', '"b"', '","', "/a|b/", "[]", '[pos="X"]', '[lemma="a" & pos=~/X|Y/]', ">obj"),
    *("?", "*", "+", "{2}", "{0,3}", "(", ")", "|"),
    *(">nsubj", "<obj", "<nsubj", ">/n.*/", "?>obj", "</nmod:of|obj/"),
]
MARRIED = Instance(Sentence(("Ada", ",", "wife", "of", "King", "and")), Span(0, 1), Span(4, 5))


@pytest.mark.long
@given(instances(), st.data(), st.sampled_from([3, 5, 8, 20]), st.sampled_from([0, 1, 2]))
@settings(max_examples=60)
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
    assert {*grammar.roles(prefix.rule())} == {"subject", "object"}
    assert prefix.allowed() == frozenset()


def needs_all(side):
    """Whether each part of a side matches something wherever it matches."""
    return all(
        (item.quantifier is None or item.quantifier.low > 0)
        and (
            not isinstance(item.atom, grammar.Group)
            or (len(item.atom.options) == 1 and item.atom.options[0] and needs_all(item.atom.options[0]))
        )
        for item in side
    )


@pytest.mark.long
@given(instances(), surface_rules(least_arguments=2))
@settings(max_examples=60)
def test_a_rule_that_matches_can_be_written(instance, rule):
    sides = tuple(side if needs_all(side) else () for side in rule.sides)
    rule = grammar.SurfaceRule(sides, rule.arguments)
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


@pytest.mark.parametrize("text", ['SUBJ "," "wife" "of" OBJ "and"', 'SUBJ ( "," | "," "wife" ) "wife" ? "of" OBJ'])
def test_words_and_options_between_the_arguments_are_written_beside_a_dependency(text):
    rule = parsed(text)
    prefix = RulePrefix.start(MARRIED, RuleVocabulary([*rule_symbols(rule), '"son"', "<nsubj"]))
    for symbol in rule_symbols(rule):
        assert symbol in prefix.allowed()
        assert '"son"' not in prefix.allowed()
        prefix = prefix.advance(symbol)
    assert prefix.is_complete
    assert prefix.rule() == rule


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


def way(sentence, start, end):
    """The tokens of a tree from one to another."""
    above = [start]
    while sentence.heads[above[-1]] != -1:
        above.append(sentence.heads[above[-1]])
    below = [end]
    while below[-1] not in above:
        below.append(sentence.heads[below[-1]])
    return above[: above.index(below[-1])] + below[::-1]


def chain(sentence, places, argument):
    """The branch that leads from the first token to the argument at the last."""
    node = grammar.Node(argument)
    for start, target in list(pairwise(places))[::-1]:
        is_to_head = sentence.heads[start] == target
        relation = grammar.Value(sentence.deprels[start if is_to_head else target])
        edge = grammar.Edge(relation, node, is_to_head)
        node = grammar.Node(grammar.Token((grammar.Test("word", grammar.Value(sentence.tokens[start])),)), (edge,))
    return edge


@given(instances(most=10), st.data())
@settings(max_examples=60)
def test_each_tree_that_leads_to_both_arguments_can_be_written(instance, data):
    sentence = instance.sentence
    ends = {role: data.draw(st.sampled_from(range(*instance.span(role)))) for role in ("subject", "object")}
    root = data.draw(st.sampled_from(range(len(sentence.tokens))))
    ways = {role: way(sentence, root, end) for role, end in ends.items()}
    if any(len(places) - 1 > MOST_STEPS for places in ways.values()):
        return
    branches = [chain(sentence, places, grammar.Argument(role)) for role, places in ways.items() if len(places) > 1]
    here = [grammar.Argument(role) for role, places in ways.items() if len(places) == 1]
    rule = grammar.DependencyRule(grammar.Node(here[0] if here else grammar.Token(), tuple(branches)))
    assert brute_force.matches(rule, instance)
    prefix = RulePrefix.start(instance, RuleVocabulary({*rule_symbols(rule), "[]", "SUBJ", "OBJ", "(", ")"}))
    for symbol in (*rule_symbols(rule), END):
        prefix = prefix.advance(symbol)
    assert prefix.is_ended


def test_words_of_a_tree_are_written_where_it_has_them():
    sentence = Sentence(
        ("Ada", "quickly", "wed", "King"), heads=(2, 2, -1, 2), deprels=("nsubj", "advmod", "root", "obj")
    )
    instance = Instance(sentence, Span(0, 1), Span(3, 4))
    symbols = ["SUBJ", "OBJ", '"wed"', '"quickly"', "<nsubj", ">obj", ">advmod", ">iobj", "(", ")"]
    vocabulary = RuleVocabulary(symbols)
    prefix = RulePrefix.start(instance, vocabulary)
    for symbol, allowed in [
        ("SUBJ", {"<nsubj", '"quickly"', "("}),
        ("<nsubj", {'"wed"', "("}),
        ("(", {'"wed"'}),
        ('"wed"', {">obj", ">advmod"}),
        (">obj", {"OBJ"}),
        ("OBJ", {">advmod", ")"}),
        (")", {"<nsubj", END}),
    ]:
        prefix = prefix.advance(symbol)
        assert prefix.allowed() == allowed
    assert brute_force.matches(prefix.rule(), instance)
    short = RulePrefix.start(instance, vocabulary, most_symbols=4).advance("SUBJ")
    assert "<nsubj" not in short.allowed()
