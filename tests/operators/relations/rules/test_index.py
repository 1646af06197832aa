from itertools import permutations, product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.operators.relations import brute_force
from tests.operators.relations.strategies import dependency_rules, instances, surface_rules
from tiltmeter.operators.relations.instances import Instance, Sentence, Span
from tiltmeter.operators.relations.rules import regexes
from tiltmeter.operators.relations.rules.grammar import NamedRule
from tiltmeter.operators.relations.rules.index import RuleIndex
from tiltmeter.operators.relations.rules.parsing import parsed


def named(rules):
    return [NamedRule(f"r{number}", "x", rule) for number, rule in enumerate(rules)]


@given(st.lists(surface_rules() | dependency_rules, max_size=6), instances(has_tree=False))
@settings(max_examples=100)
def test_the_index_finds_what_matches(rules, instance):
    expected = [number for number, rule in enumerate(rules) if brute_force.matches(rule, instance)]
    assert RuleIndex(named(rules)).matching_numbers(instance) == expected


SHAPES = ["{0} {1}", "{0}", "[] {0}", "{0} []{{0,4}} {1}", "{0} {1} ?", "({0} | {1}) {0}", "[]{{2}}"]
ATOMS = ['"wife"', '"of"', '[lemma="the"]', "/born|of/", "[pos=~/N.*/]", "/c.*/"]
WORDS = ["wife", "of", "the", ",", "born", "company"]


def made_instances(num):
    draws = np.random.default_rng(1)
    for _ in range(num):
        tokens = tuple(map(str, draws.choice(WORDS, 12)))
        tags = tuple("NN" if len(word) > 3 else "IN" for word in tokens)
        start, distance, turn = (int(draws.integers(*bounds)) for bounds in ((1, 4), (0, 4), (0, 2)))
        pair = [Span(start, start + 1), Span(start + 1 + distance, start + 2 + distance)][:: 1 - 2 * turn]
        yield Instance(Sentence(tokens, tokens, tags), *pair, object_type=str(draws.choice(["PERSON", "CITY"])))


def test_rules_of_the_released_shapes_match_as_by_brute_force():
    pairs = [("SUBJ", 'OBJ[ner="CITY"]'), ('OBJ[ner="PERSON"]', "SUBJ"), ('"of" SUBJ', "OBJ"), ("OBJ", 'SUBJ "the"')]
    parts = product(SHAPES, permutations(ATOMS, 2), pairs)
    rules = [parsed(f"{first} {shape.format(*atoms)} {last}") for shape, atoms, (first, last) in parts]
    index, sentences = RuleIndex(named(rules)), list(made_instances(20))
    expected = [[number for number, rule in enumerate(rules) if brute_force.matches(rule, each)] for each in sentences]
    assert [index.matching_numbers(each) for each in sentences] == expected
    assert sum(map(len, expected)) > 100


def test_a_rule_that_takes_too_long_is_named_and_the_others_go_on(monkeypatch):
    monkeypatch.setattr(regexes, "SECONDS", 0.05)
    slow = NamedRule("slow", "x", parsed("SUBJ /(?:[ab]|[ab][ab])+c/ OBJ"))
    index = RuleIndex([slow, NamedRule("quick", "x", parsed("SUBJ [] OBJ"))])
    spans = Span(0, 1), Span(2, 3)
    assert [rule.rule_id for rule in index.matching(Instance(Sentence(("x", "abc", "y")), *spans))] == ["slow", "quick"]
    long = Instance(Sentence(("x", "b" * 61 + "xc", "y")), *spans)
    assert [rule.rule_id for rule in index.matching(long)] == ["quick"]
    assert list(index.timeouts) == ["slow"]
    assert "takes more than 0.05 seconds with 'bbbb" in index.timeouts["slow"]
    assert index.matching_numbers(Instance(Sentence(("x", "abc", "y")), *spans)) == [1], "it is run no more"
