"""What rules tell a model, rules made of tags, and tokens that rules name and that are hidden."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiltmeter.operators.relations.instances import Instance, Sentence, Span
from tiltmeter.operators.relations.masking import masked_tokens
from tiltmeter.operators.relations.naming import named_tokens
from tiltmeter.operators.relations.rules.matching import matches
from tiltmeter.operators.relations.rules.parsing import parsed
from tiltmeter.operators.relations.rules.printing import printed
from tiltmeter.operators.relations.supervision import supervised_by_rules
from tiltmeter.operators.relations.tagged import tag_rule

WORDS = ("At", "home", "Ada", ",", "young", "wife", "of", "King", ",", "wrote")
SENTENCE = Sentence(WORDS)


def instance(subject=(2, 3), object_=(7, 8)):
    return Instance(SENTENCE, Span(*subject), Span(*object_), subject_type="Peop", object_type="Peop", row=3)


@given(st.sets(st.integers(0, len(WORDS) - 1)), st.booleans())
def test_rule_of_tags_parses_and_matches_its_own_sentence(tokens, is_turned):
    one = instance((7, 8), (2, 3)) if is_turned else instance()
    rule = tag_rule(one, tokens)
    assert parsed(printed(rule)) == rule
    assert matches(rule, one)


def test_rule_of_tags_has_their_words_where_they_stand():
    text = printed(tag_rule(instance(), [0, 5, 8]))
    assert text == '"At" [] * SUBJ[ner="Peop"] [] * "wife" [] * OBJ[ner="Peop"] ","'


def test_other_pairs_of_a_sentence_are_told_but_for_the_other_direction():
    pairs = [((2, 3), (7, 8)), ((7, 8), (2, 3)), ((2, 3), (9, 10)), ((2, 3), (7, 8))]
    told = supervised_by_rules(
        [instance(*pair) for pair in pairs], [0, 0, 0, 1], ["x", "no_relation", "no_relation", "no_relation"]
    )
    assert told.tolist() == [True, False, True, False]


def test_the_other_direction_teaches_where_no_rule_may_hold_it_too():
    pairs = [instance((2, 3), (7, 8)), instance((7, 8), (2, 3))]
    for inverses, expected in ((None, [True, False]), ({"spouse"}, [True, False]), ({"parents"}, [True, True])):
        told = supervised_by_rules(pairs, [0, 0], ["spouse", "no_relation"], inverses)
        assert told.tolist() == expected


@pytest.mark.parametrize(
    ("rule", "places"),
    [
        ('SUBJ []* "wife" []* OBJ', (5,)),
        ('"home" SUBJ []* ("wife"|"of")+ OBJ ","', (1, 5, 6, 8)),
        ('SUBJ []* OBJ "," "wrote"', (8, 9)),
        ("SUBJ []* OBJ", ()),
    ],
)
def test_named_tokens_are_those_that_a_test_holds_of(rule, places):
    assert named_tokens(parsed(rule), instance()) == places


def test_tokens_of_a_tree_are_named_too():
    heads = (-1, 0, 5, 5, 5, -1, 5, 5, 5, 5)
    sentence = Sentence(WORDS, heads=heads, deprels=("dep",) * len(WORDS))
    one = Instance(sentence, Span(2, 3), Span(7, 8))
    rule = parsed('"wife" >dep SUBJ >dep OBJ >dep "of"')
    assert matches(rule, one)
    assert named_tokens(rule, one) == (5, 6)


def test_hidden_tokens_are_as_many_and_never_arguments():
    masked = masked_tokens(instance(), (5, 6), seed=0)
    assert masked == masked_tokens(instance(), (5, 6), seed=0)
    assert len(masked.drawn) == 2
    assert not {2, 7} & {*masked.drawn, *masked.others}
    assert sorted({*masked.others, 5, 6, 2, 7}) == list(range(len(WORDS)))
    drawn = [masked_tokens(instance(), (5, 6), seed).drawn for seed in range(12)]
    assert {place for places in drawn for place in places} == {*range(len(WORDS))} - {2, 7}
