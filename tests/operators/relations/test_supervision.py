"""What rules tell a model, rules made of tags or mined, and tokens that rules name and that are hidden."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.operators.relations import brute_force
from tiltmeter.operators.compute.generators import keyed_generator
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.compute.philox import Stream
from tiltmeter.operators.relations.induction import Induction, Matches, induced_rules
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


# --- rules that are mined ---------------------------------------------------------------------------------------------

FILLERS = ["the", "a", "old", "of", "and", "with", "new", "big"]


def corpus(num, relation_of):
    """Sentences of two names with up to four words between, of which "sails" and "for" may be some."""
    generator = keyed_generator(0, Stream.RELATION_RULES, 1)
    instances = []
    for number in range(num):
        middle = [str(word) for word in generator.choice(FILLERS, generator.integers(0, 3))]
        sails = bool(generator.integers(2))
        words = [*middle[:1], *(["sails", "for"] if sails else ["waits", "for"]), *middle[1:]]
        tokens = ("Ada", *words, "Acme", ".")
        spans = Span(0, 1), Span(len(tokens) - 2, len(tokens) - 1)
        about = {"document": f"d{number}", "row": number}
        instances.append(
            Instance(Sentence(tokens), *spans, relation_of(sails, generator), "PERSON", "COMPANY", **about)
        )
    return instances


def test_what_tells_a_relation_becomes_its_rule():
    instances = corpus(80, lambda sails, _: "employee" if sails else "no_relation")
    [rule] = induced_rules(instances, Induction(), seed=2)
    assert (rule.rule.rule_id, rule.rule.relation, rule.rule.source) == ("employee#1", "employee", "induced")
    assert '"sails"' in printed(rule.rule.rule)
    assert 'OBJ[ner="COMPANY"]' in printed(rule.rule.rule)
    for counts, is_first in ((rule.proposed, True), (rule.confirmed, False)):
        half = [one for one in instances if document_key(f"2\nhalf\n{one.document}") % 2 != is_first]
        matched = [one for one in half if brute_force.matches(rule.rule.rule, one)]
        assert counts == (len(matched), sum(one.relation == "employee" for one in matched))
        assert counts.matched == counts.right > 10


def test_chance_is_precise_where_it_was_chosen_and_not_in_the_other_half():
    instances = corpus(400, lambda _, generator: "x" if generator.random() < 0.5 else "no_relation")
    taken = Induction(min_precision=0.7, min_confirmed=0.0)
    rules = induced_rules(instances, taken, seed=0)
    matched, right = (sum(rule.confirmed[place] for rule in rules) for place in (0, 1))
    proposed = Matches(*(sum(rule.proposed[place] for rule in rules) for place in (0, 1)))
    assert len(rules) > 3
    assert proposed.laplace > 0.7
    assert Matches(matched, right).laplace < 0.6
    strict = induced_rules(instances, Induction(min_precision=0.7, min_confirmed=0.7), seed=0)
    assert len(strict) < len(rules) / 2


def test_the_order_of_instances_does_not_matter():
    instances = corpus(60, lambda sails, _: "employee" if sails else "no_relation")
    texts = [
        {(printed(rule.rule.rule), rule.confirmed) for rule in induced_rules(each, Induction(max_instances=10), seed=3)}
        for each in (instances, instances[::-1])
    ]
    assert texts[0] == texts[1]
    assert texts[0]


def of_verb(document, relation, verb, **annotations):
    sentence = Sentence(("Ada", verb, "Acme"), **annotations)
    return Instance(sentence, Span(0, 1), Span(2, 3), relation, document=document)


def test_annotations_generalise_words():
    sails = {"lemmas": ("Ada", "sail", "Acme"), "pos": ("N", "V", "N")}
    instances = [of_verb(f"d{number}", "x", f"sail{number}", **sails) for number in range(30)]
    sees = sails | {"lemmas": ("Ada", "see", "Acme")}
    instances += [of_verb(f"o{number}", "no_relation", "saw", **sees) for number in range(30)]
    [rule] = induced_rules(instances, Induction(), seed=0)
    assert printed(rule.rule.rule) == 'SUBJ [lemma="sail"] OBJ'


@pytest.mark.parametrize("no_type", ["O", ""])
def test_no_type_is_none_that_a_rule_could_ask_for(no_type):
    def told(name, lemma, ner, relation):
        columns = {"lemmas": ("Ada", lemma, "Acme"), "ner": ("PERSON", ner, "COMPANY")}
        return of_verb(name, relation, name, **columns)

    instances = [told(f"d{at}", ("sail", "steer")[at % 2], no_type, "x") for at in range(60)]
    instances += [told(f"o{at}", "see", "DATE", "no_relation") for at in range(30)]
    rules = {printed(rule.rule.rule) for rule in induced_rules(instances, Induction(), seed=0)}
    assert rules == {'SUBJ [lemma="sail"] OBJ', 'SUBJ [lemma="steer"] OBJ'}


@pytest.mark.parametrize("change", [{"min_support": 40}, {"max_between": 1}, {"min_precision": 1.0}])
def test_what_is_too_rare_too_far_or_not_precise_is_not_taken(change):
    instances = corpus(60, lambda sails, _: "employee" if sails else "no_relation")
    assert induced_rules(instances, Induction(**change), seed=0) == []
    for relation in ("no_relation", None):
        assert induced_rules(corpus(20, lambda *_, relation=relation: relation), Induction(), seed=0) == []
