import pytest
from hypothesis import example, given, settings

from tests.operators.relations import brute_force
from tests.operators.relations.strategies import dependency_rules, instances, surface_rules
from tiltmeter.operators.relations.instances import Instance, Sentence, Span
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


@given(surface_rules(), instances())
@example(parsed('SUBJ ("a"?)* OBJ'), Instance(Sentence(("a", "a", "a", "b")), Span(0, 1), Span(3, 4)))
@example(parsed('SUBJ ("a"?){3} OBJ'), Instance(Sentence(("a", "a", "a", "b")), Span(0, 1), Span(3, 4)))
@settings(max_examples=150)
def test_surface_rules_match_as_when_all_ways_are_tried(rule, instance):
    assert matches(rule, instance) == brute_force.matches(rule, instance)


@given(dependency_rules, instances())
@settings(max_examples=150)
def test_dependency_rules_match_as_when_all_ways_are_tried(rule, instance):
    assert matches(rule, instance) == brute_force.matches(rule, instance)


def test_a_long_sentence_and_many_ways_take_no_exponential_time():
    tokens = ("x", *["a"] * 200, "y")
    instance = Instance(Sentence(tokens), Span(0, 1), Span(201, 202))
    rule = parsed('SUBJ (("a"* "a"*)* "a"?)* (("a" | "a" "a")* "a")* "b" OBJ')
    assert not matches(rule, instance)
    assert matches(parsed('SUBJ (("a"* "a"*)* "a"?)* OBJ'), instance)
