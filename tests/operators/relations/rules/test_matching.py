"""Whether rules match, one by one and by an index of many, against brute force."""

from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.operators.relations import brute_force
from tests.operators.relations.strategies import dependency_rules, instances, surface_rules
from tiltmeter.operators.relations.instances import Instance, Sentence, Span
from tiltmeter.operators.relations.rules import regexes
from tiltmeter.operators.relations.rules.grammar import NamedRule
from tiltmeter.operators.relations.rules.index import RuleIndex
from tiltmeter.operators.relations.rules.matching import matches
from tiltmeter.operators.relations.rules.parsing import parsed

SENTENCE = Sentence(
    tokens=("Ada", "Lovelace", ",", "the", "wife", "of", "William", "King", ",", "died", "."),
    lemmas=("Ada", "Lovelace", ",", "the", "wife", "of", "William", "King", ",", "die", "."),
    pos=("NNP", "NNP", ",", "DT", "NN", "IN", "NNP", "NNP", ",", "VBD", "."),
    ner=("PER", "PER", "O", "O", "O", "O", "PER", "PER", "O", "O", "O"),
    heads=(1, 9, 4, 4, 1, 7, 7, 4, 9, -1, 9),
    deprels=("compound", "nsubj", "punct", "det", "appos", "case", "compound", "nmod:of", "punct", "root", "punct"),
)
INSTANCE = Instance(SENTENCE, Span(0, 2), Span(6, 8))
MATCHING = [
    'SUBJ "," "the" "wife" "of" OBJ',
    'SUBJ "," []{0,2} [lemma="wife"] [pos=~/I./] OBJ',
    'SUBJ "," ("a" | "the" [] | "his")? "of" OBJ ","',
    "SUBJ []* OBJ [] [] []",
    'SUBJ[ner="PER"] []{4} OBJ[pos=~/NNP?/]',
    *('SUBJ ","', '"wife" "of" OBJ', 'OBJ "," "died"', "SUBJ >appos ([] >nmod:of OBJ)"),
    'OBJ </nmod.*/ ([lemma="wife"] <appos SUBJ)',
    '[pos="VBD"] >nsubj (SUBJ >appos ([] >/x|nmod:of/ OBJ) ?>obj []) >punct "."',
    "[] (>obj SUBJ | >nsubj SUBJ)",
]
OTHERS = [
    *('SUBJ "the" "wife" "of" OBJ', 'OBJ "," "the" "wife" "of" SUBJ', "SUBJ []{0,3} OBJ", "SUBJ{1} []* OBJ"),
    *('SUBJ[ner="ORG"] []* OBJ', "[] SUBJ []* OBJ", "SUBJ []* OBJ []{4}", 'SUBJ "," /wif/ OBJ', "SUBJ >nmod:of OBJ"),
    *("SUBJ >appos OBJ", "SUBJ{1} >appos []", "[] (>obj SUBJ | >nsubj SUBJ >obj [])"),
]


@pytest.mark.parametrize("text", [*MATCHING, *OTHERS])
def test_rules_that_match_and_rules_that_do_not(text):
    assert matches(parsed(text), INSTANCE) == brute_force.matches(parsed(text), INSTANCE) == (text in MATCHING)


def test_a_test_of_an_annotation_that_is_not_there_fails():
    bare = Instance(Sentence(SENTENCE.tokens), Span(0, 2), Span(6, 8))
    assert matches(parsed("SUBJ []* OBJ"), bare)
    for text in ("SUBJ []* [pos=~/.*/] OBJ", "SUBJ [ner=~/.*/]{4} OBJ", "SUBJ >appos ([] >nmod:of OBJ)"):
        assert matches(parsed(text), INSTANCE)
        assert not matches(parsed(text), bare)


def named(rules):
    return [NamedRule(f"r{number}", "x", rule) for number, rule in enumerate(rules)]


REPEATED = Instance(Sentence(("a", "a", "a", "b")), Span(0, 1), Span(3, 4))


@pytest.mark.long
@given(st.lists(surface_rules() | dependency_rules, min_size=1, max_size=6), instances(has_tree=False))
@example([parsed('SUBJ ("a"?)* OBJ'), parsed('SUBJ ("a"?){3} OBJ')], REPEATED)
@settings(max_examples=150)
def test_rules_match_as_when_all_ways_are_tried_and_the_index_finds_them(rules, instance):
    expected = [number for number, rule in enumerate(rules) if brute_force.matches(rule, instance)]
    assert [number for number, rule in enumerate(rules) if matches(rule, instance)] == expected
    assert RuleIndex(named(rules)).matching_numbers(instance) == expected


def test_a_long_sentence_and_many_ways_take_no_exponential_time():
    tokens = ("x", *["a"] * 200, "y")
    instance = Instance(Sentence(tokens), Span(0, 1), Span(201, 202))
    rule = parsed('SUBJ (("a"* "a"*)* "a"?)* (("a" | "a" "a")* "a")* "b" OBJ')
    assert not matches(rule, instance)
    assert matches(parsed('SUBJ (("a"* "a"*)* "a"?)* OBJ'), instance)


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
